//! Writes the CUDA C++ of a form: a struct with everything that is specific to the kernel, for the skeletons in
//! `cuda/map.cuh` and `cuda/reduce.cuh`.

use std::fmt::Write;

use super::THREADS;
use super::class::{Class, Walk};
use super::form::{Adders, Finish, Form, KernelKind, calls_large};
use crate::DType;
use crate::op::ElementOp;
use crate::plan::OUT;
use crate::program::{Action, Input, Value};

/// The parts that all generated kernels include.
pub(in crate::backend::cuda) const COMMON: &str =
    include_str!(concat!(env!("OUT_DIR"), "/generated.cuh"));
/// Further parts of kernels that call one of the large functions.
const FUNCTIONS: &str = include_str!(concat!(env!("OUT_DIR"), "/functions.cuh"));
/// The skeletons of elementwise kernels.
const MAP: &str = include_str!(concat!(env!("OUT_DIR"), "/map.cuh"));
/// The skeleton of elementwise kernels with turned operands.
const TILES: &str = include_str!(concat!(env!("OUT_DIR"), "/tiles.cuh"));
/// The skeletons of reductions.
const REDUCE: &str = include_str!(concat!(env!("OUT_DIR"), "/reduce.cuh"));

/// The parts of reductions, for kernels that are not generated.
pub(in crate::backend::cuda) const REDUCE_SOURCE: [&str; 2] = [COMMON, REDUCE];

/// Returns the complete source that NVRTC compiles.
pub(in crate::backend::cuda) fn source(form: &Form<'_>) -> String {
    let functions = if calls_large(form.program) { FUNCTIONS } else { "" };
    let skeleton = if form.kind == KernelKind::Map { MAP } else { REDUCE };
    let tiles = if form.walk == Walk::Tiles { TILES } else { "" };
    [COMMON, functions, skeleton, tiles, "#line 1 \"generated\"\n", &kernel(form)].concat()
}

/// Returns the part of the source that is specific to this kernel.
pub(in crate::backend::cuda) fn kernel(form: &Form<'_>) -> String {
    let mut text = Text { form, out: String::new() };
    for line in form.program.to_string().lines() {
        text.line(&format!("// {line}"));
    }
    text.line("namespace bl {\nstruct K {");
    text.constants();
    text.params();
    text.kept();
    match form.walk {
        Walk::Tiles => text.places_in_tile(),
        _ => text.places(),
    }
    text.group();
    if form.walk == Walk::Tiles {
        text.turned();
    }
    text.compute();
    match form.kind {
        KernelKind::Map => text.store(),
        KernelKind::Sum(_, _, finish) => text.finish(finish),
    }
    text.line("};\n}  // namespace bl\n");
    let skeleton = match (form.kind, form.walk) {
        (KernelKind::Map, Walk::Linear | Walk::Groups) => "map_groups",
        (KernelKind::Map, Walk::Elements) => "map_elements",
        (KernelKind::Map, Walk::Tiles) => "map_tiles",
        (KernelKind::Sum(Adders::Thread, ..), _) => "sum_by_threads",
        (KernelKind::Sum(Adders::Lanes, ..), _) => "sum_by_lanes",
        (KernelKind::Sum(Adders::Block, ..), _) => "sum_by_blocks",
    };
    let name = form.name();
    text.line(&format!(
        "extern \"C\" __global__ void __launch_bounds__(BL_THREADS) {name}(const __grid_constant__ bl::K::Params p) {{\n    \
         bl::{skeleton}<bl::K>(p);\n}}"
    ));
    text.out
}

/// The kind of the last rounding, which is left to the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// Of a conversion, which preserves the sign of a NaN.
    OfCast,
    /// Of an arithmetic result, where a NaN may have either sign.
    OfArithmetic,
}

/// The source of a kernel as it is being written.
struct Text<'a> {
    form: &'a Form<'a>,
    out: String,
}

impl Text<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Writes a line inside the struct.
    fn member(&mut self, line: &str) {
        let _ = writeln!(self.out, "    {line}");
    }

    /// Returns the dtype of a slot; `Bool` for the mask.
    fn dtype(&self, slot: usize) -> DType {
        if slot == OUT {
            return self.form.out;
        }
        let in_slot = |input: &&Input| matches!(input, Input::Memory(_, other) if *other == slot);
        self.form.program.inputs().iter().find(in_slot).map_or(DType::Bool, Input::dtype)
    }

    /// Iterates over the inputs in memory, as (index, slot, class).
    fn in_memory(&self) -> impl Iterator<Item = (usize, usize, Class)> {
        let inputs = self.form.program.inputs().iter().enumerate();
        inputs.filter_map(|(index, input)| match input {
            Input::Memory(_, slot) => Some((index, *slot, self.form.classes[*slot])),
            Input::Number(..) => None,
        })
    }

    /// Returns the operands that a group holds, which are all that are not constant, as (name, dtype, slot, class).
    fn grouped(&self) -> Vec<(String, DType, usize, Class)> {
        let inputs = self
            .in_memory()
            .map(|(index, slot, class)| (format!("x{index}"), self.dtype(slot), slot, class));
        let mask = self
            .form
            .mask()
            .map(|slot| ("mask".into(), DType::Bool, slot, self.form.classes[slot]));
        inputs.chain(mask).filter(|(.., class)| *class != Class::Constant).collect()
    }

    fn constants(&mut self) {
        let form = self.form;
        let index = if form.wide { "u64" } else { "u32" };
        self.member(&format!("typedef {index} Index;"));
        let straddles = form.walk == Walk::Elements;
        let edges = form.walk == Walk::Linear;
        let (group, depth, slots) = (form.group, form.depth, form.classes.len());
        self.member(&format!(
            "enum {{ GROUP = {group}, DEPTH = {depth}, SLOTS = {slots}, EDGES = {}, STRADDLES = {}, COUNTS_GROUPS = {} }};",
            u8::from(edges),
            u8::from(straddles),
            u8::from(!straddles),
        ));
        if form.walk == Walk::Tiles {
            let parts =
                usize::from(form.tile) * usize::from(form.tile) / THREADS / usize::from(group);
            let shared: Vec<_> = self.staged().map(|(.., tile)| format!("{tile}::BYTES")).collect();
            self.member(&format!(
                "enum {{ TILE = {}, LOCATED = {}, PARTS = {parts} }};\n    enum {{ SHARED = {} }};",
                form.tile,
                form.located(),
                shared.join(" + "),
            ));
        }
        let result = match self.last_rounding() {
            None => form.program.dtype(form.program.result()),
            Some(Rounding::OfCast | Rounding::OfArithmetic) => DType::F32,
        };
        self.member(&format!("typedef dtype_{result} Result;"));
        if let KernelKind::Sum(_, fold, _) = form.kind {
            let total = fold.type_of(form.program.dtype(form.program.result()));
            self.member(&format!("typedef {total} Sum;"));
        }
    }

    /// Writes the parameters.
    fn params(&mut self) {
        let form = self.form;
        self.member("struct Params {");
        for &field in form.fields() {
            if let Some((declaration, _)) = form.declared(field) {
                self.member(&format!("    {declaration}"));
            }
        }
        self.member("};");
        self.member(&format!(
            "static_assert(sizeof(Params) == {}, \"the parameters are those of the launch\");",
            8 * form.words()
        ));
        if form.walk == Walk::Tiles {
            return;
        }
        for name in ["inner_size", "inner_starts"] {
            self.member(&format!(
                "static BL_FN Index {name}(const Params& p) {{ return Index(p.{name}); }}"
            ));
        }
    }

    /// Writes the values that are the same for all elements: numbers and constant operands.
    fn kept(&mut self) {
        let form = self.form;
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        let mut numbers = 0;
        for (index, input) in form.program.inputs().iter().enumerate() {
            let dtype = input.dtype();
            match input {
                Input::Number(..) => {
                    values.push(format!("immediate<dtype_{dtype}>(p.number[{numbers}])"));
                    numbers += 1;
                }
                Input::Memory(_, slot) if form.classes[*slot] == Class::Constant => {
                    values.push(format!("bl::load<dtype_{dtype}>(at[{slot}])"));
                }
                Input::Memory(..) => continue,
            }
            fields.push(format!("dtype_{dtype} x{index};"));
        }
        if let Some(slot) = form.mask().filter(|&slot| form.classes[slot] == Class::Constant) {
            fields.push("One<boolean> mask;".into());
            values.push(format!("One<boolean>::load(at[{slot}])"));
        }
        self.member(&format!("struct Kept {{ {} }};", fields.join(" ")));
        self.member("static BL_FN Kept keep(const Params& p, const u64 (&at)[SLOTS]) {");
        self.member(&format!("    return Kept{{{}}};", values.join(", ")));
        self.member("}");
    }

    /// Writes the function that computes the addresses of the operands of a group or of a single element.
    fn places(&mut self) {
        let form = self.form;
        self.member("struct Places { u64 address[SLOTS]; Index outer; };");
        self.member("template <int N, class I> static BL_FN Places places(const Params& p, const u64 (&at)[SLOTS], I n) {");
        self.member("    Places places;");
        let located = form.located();
        if located > 0 {
            self.member(&format!("    Index offset[{located}];"));
            self.member("    places.outer = locate(p.loops, Index(n), offset);");
        } else {
            self.member("    places.outer = 0;");
        }
        let mut next = 0;
        for (slot, class) in form.classes.iter().enumerate() {
            let size = self.dtype(slot).size();
            let run = match form.walk {
                Walk::Linear => format!("N * {size}"),
                Walk::Groups => format!("GROUP * {size}"),
                Walk::Elements | Walk::Tiles => format!("{size}"),
            };
            let address = match class {
                // Not used: constant operands are loaded by `keep`.
                Class::Constant => "at[".to_owned() + &slot.to_string() + "]",
                Class::DenseAligned | Class::Dense => format!("advance<{run}>(at[{slot}], n)"),
                Class::RunAligned | Class::Run | Class::Column | Class::Strided | Class::Turned => {
                    next += 1;
                    format!("displace<{size}>(at[{slot}], offset[{}])", next - 1)
                }
            };
            self.member(&format!("    places.address[{slot}] = {address};"));
        }
        self.member("    return places;\n    }");
        if form.depth > 1 && form.kind == KernelKind::Map {
            self.later();
        }
    }

    /// Iterates over the located slots, as (slot, place among them).
    fn located(&self) -> impl Iterator<Item = (usize, usize)> {
        let classes = self.form.classes.iter().enumerate();
        classes.filter(|(_, class)| class.is_located()).map(|(slot, _)| slot).zip(0..)
    }

    /// Iterates over the turned operands, as (name, slot, type of their elements in a tile).
    fn staged(&self) -> impl Iterator<Item = (String, usize, String)> {
        let turned = self.grouped().into_iter().filter(|(.., class)| *class == Class::Turned);
        turned.map(|(name, dtype, slot, _)| {
            (name, slot, format!("Turned<dtype_{dtype}, {}>", self.form.tile))
        })
    }

    /// Writes the function that computes the addresses of the operands of a group in a tile.
    fn places_in_tile(&mut self) {
        self.member("struct Places { u64 address[SLOTS]; };");
        self.member("static BL_FN Places in_tile(const Params& p, const Index (&origin)[LOCATED + 2], u32 i, u32 j) {");
        self.member("    Places places;");
        let located: Vec<_> = self.located().collect();
        for (slot, place) in located {
            let along = match self.form.classes[slot] {
                // They are read by `stage`.
                Class::Turned => continue,
                Class::Column => String::new(),
                Class::Strided => format!(" + Index(i) * Index(p.step[{place}][0])"),
                _ => " + Index(i)".into(),
            };
            let size = self.dtype(slot).size();
            self.member(&format!(
                "    places.address[{slot}] = displace<{size}>(p.at[{slot}], \
                 origin[{place}]{along} + Index(j) * Index(p.step[{place}][1]));"
            ));
        }
        self.member("    return places;\n    }");
    }

    /// Writes the struct of a thread's elements of the turned operands, and the functions that load them and read those of a
    /// group from shared memory.
    fn turned(&mut self) {
        let staged: Vec<_> = self.staged().collect();
        let places: Vec<_> = self.located().collect();
        let (mut fields, mut keeps, mut loads, mut turns) =
            (String::new(), String::new(), Vec::new(), Vec::new());
        let mut before = String::from("0");
        for (name, slot, tile) in &staged {
            let size = self.dtype(*slot).size();
            let place = places.iter().find(|(of, _)| of == slot).map_or(0, |(_, place)| *place);
            let _ = write!(fields, "{tile} {name}; ");
            let _ = write!(keeps, "{name}.keep(shared + {before}); ");
            loads.push(format!(
                "{tile}::load<FULL>(displace<{size}>(p.at[{slot}], origin[{place}]), p.step[{place}][0] * {size}, inner, across)"
            ));
            turns.push(format!("group.{name} = {tile}::read<N>(shared + {before}, i, j);"));
            let _ = write!(before, " + {tile}::BYTES");
        }
        self.member(&format!(
            "struct Staged {{ {fields}BL_FN void keep(unsigned char* shared) const {{ {keeps}}} }};"
        ));
        self.member("template <bool FULL> static BL_FN Staged stage(const Params& p, const Index (&origin)[LOCATED + 2], u32 inner, u32 across) {");
        self.member(&format!(
            "    return Staged{{{}}};\n    }}",
            loads.join(",\n                  ")
        ));
        self.member("template <int N> static BL_FN void turn(Group<N>& group, const unsigned char* shared, u32 i, u32 j) {");
        self.member(&format!("    {}\n    }}", turns.join("\n        ")));
    }

    /// Writes the function that computes the addresses of the further groups of a thread, which for contiguous operands
    /// lie at a constant distance from the first.
    fn later(&mut self) {
        let form = self.form;
        self.member(
            "static BL_FN Places later(const Params& p, Index n, const Places& first, int k) {",
        );
        if form.classes.iter().any(|class| class.is_located()) {
            self.member("    Places places = k == 0 ? first : bl::K::places<GROUP>(p, p.at, Index(n + k * BL_THREADS));");
        } else {
            self.member("    Places places = first;");
        }
        for (slot, class) in form.classes.iter().enumerate() {
            if matches!(class, Class::DenseAligned | Class::Dense) {
                let size = self.dtype(slot).size();
                self.member(&format!(
                    "    places.address[{slot}] = first.address[{slot}] + u64(k) * (BL_THREADS * GROUP * {size});"
                ));
            }
        }
        self.member("    return places;\n    }");
    }

    /// Returns the stride in bytes of a slot along the inner loop.
    fn inner_step(&self, slot: usize) -> String {
        if self.form.walk == Walk::Tiles {
            let place = self.located().find(|(of, _)| *of == slot).map_or(0, |(_, place)| place);
            return format!("p.step[{place}][0] * {}", self.dtype(slot).size());
        }
        let before = self.form.classes[..slot].iter().filter(|&&class| class == Class::Strided);
        format!("p.inner[{}]", before.count())
    }

    /// Writes the struct of a group's operands and the function that loads it.
    fn group(&mut self) {
        let (mut fields, mut loads) = (String::new(), Vec::new());
        for (name, dtype, slot, class) in self.grouped() {
            let (held, step) = match class {
                Class::DenseAligned | Class::RunAligned => (format!("Run<dtype_{dtype}, N>"), None),
                Class::Dense | Class::Run => (format!("Each<dtype_{dtype}, N>"), None),
                Class::Strided => (format!("Each<dtype_{dtype}, N>"), Some(self.inner_step(slot))),
                Class::Constant | Class::Column => (format!("One<dtype_{dtype}>"), None),
                Class::Turned => {
                    let _ = write!(fields, "Each<dtype_{dtype}, N> {name}; ");
                    loads.push(format!("Each<dtype_{dtype}, N>{{}}"));
                    continue;
                }
            };
            let step = step.map_or(String::new(), |step| format!(", {step}"));
            let _ = write!(fields, "{held} {name}; ");
            loads.push(format!("{held}::load(at.address[{slot}]{step})"));
        }
        self.member(&format!("template <int N> struct Group {{ {fields}}};"));
        self.member(
            "template <int N> static BL_FN Group<N> load(const Params& p, const Places& at) {",
        );
        self.member(&format!("    return Group<N>{{{}}};", loads.join(", ")));
        self.member("}");
    }

    /// Returns the expression for a value inside `compute`.
    fn value(&self, value: Value) -> String {
        match value {
            Value::Step(index) => format!("t{index}"),
            Value::Input(index) => match self.form.program.inputs()[usize::from(index)] {
                Input::Memory(_, slot) if self.form.classes[slot] != Class::Constant => {
                    format!("group.x{index}.get(k)")
                }
                Input::Memory(..) | Input::Number(..) => format!("kept.x{index}"),
            },
        }
    }

    /// Returns the rounding of the last step if it is left to the store, which rounds two elements with one
    /// instruction. This applies to steps whose result is f16 or bf16 and which are computed in f32.
    fn last_rounding(&self) -> Option<Rounding> {
        use ElementOp::{Add, Divide, Multiply, Subtract};
        let form = self.form;
        let steps = form.program.steps();
        let last = steps.last().filter(|step| matches!(step.result, DType::F16 | DType::BF16))?;
        let possible = form.program.result() == Value::Step(steps.len() as u16 - 1)
            && form.kind == KernelKind::Map
            && !form.masked
            && matches!(form.classes[OUT], Class::DenseAligned | Class::RunAligned);
        match last.action {
            Action::Cast if possible && last.dtype == DType::F32 => Some(Rounding::OfCast),
            Action::Apply(Add | Subtract | Multiply | Divide) if possible => {
                Some(Rounding::OfArithmetic)
            }
            _ => None,
        }
    }

    /// Writes the function that computes one element of a group.
    fn compute(&mut self) {
        self.member("template <int N> static BL_FN Result compute(const Kept& kept, const Group<N>& group, int k) {");
        let steps = self.form.program.steps();
        let rounding = self.last_rounding();
        for (index, step) in steps.iter().enumerate() {
            let mut arguments: Vec<_> =
                step.arguments().iter().map(|&argument| self.value(argument)).collect();
            let mut result = step.result;
            if rounding.is_some() && index + 1 == steps.len() {
                result = DType::F32;
                if rounding == Some(Rounding::OfArithmetic) {
                    arguments
                        .iter_mut()
                        .for_each(|argument| *argument = format!("widen({argument})"));
                }
            }
            let arguments = arguments.join(", ");
            let call = match step.action {
                Action::Cast => format!("convert<dtype_{result}>({arguments})"),
                Action::Bitcast => format!("from_bits<dtype_{result}>(bits_of({arguments}))"),
                Action::Apply(op) => format!("op::{}::apply({arguments})", op.name()),
            };
            self.member(&format!("    const dtype_{result} t{index} = {call};"));
        }
        let result = self.value(self.form.program.result());
        self.member(&format!("    return {result};"));
        self.member("}");
    }

    /// Writes the function that stores the results of a group.
    fn store(&mut self) {
        let form = self.form;
        let rounded = format!(
            "store_run_rounded<dtype_{}, {}>",
            form.out,
            self.last_rounding() == Some(Rounding::OfCast)
        );
        let (function, step) = match form.classes[OUT] {
            _ if self.last_rounding().is_some() => (rounded.as_str(), None),
            Class::DenseAligned | Class::RunAligned => ("store_run", None),
            Class::Strided => ("store_each", Some(self.inner_step(OUT))),
            Class::Constant | Class::Dense | Class::Run | Class::Column | Class::Turned => {
                ("store_each", None)
            }
        };
        let (function, mask) = match form.mask().map(|slot| form.classes[slot]) {
            None => (function.to_owned(), ""),
            Some(Class::Constant) => (format!("{function}_where"), ", kept.mask"),
            Some(_) => (format!("{function}_where"), ", group.mask"),
        };
        let step = step.map_or(String::new(), |step| format!(", {step}"));
        self.member("template <int N> static BL_FN void store(const Params& p, const Kept& kept, const Group<N>& group,");
        self.member(
            "                                         u64 address, const Result (&result)[N]) {",
        );
        self.member(&format!("    {function}(address, result{mask}{step});"));
        self.member("}");
    }

    /// Writes the functions that locate an output of a sum and store its total.
    fn finish(&mut self, finish: Finish) {
        let form = self.form;
        self.member("static BL_FN Places output_places(const Params& p, Index output) {");
        self.member("    Places places;");
        self.member("    Index offset[SLOTS];");
        self.member("    places.outer = locate(p.outer, output, offset);");
        for slot in 0..form.classes.len() {
            let size = self.dtype(slot).size();
            self.member(&format!(
                "    places.address[{slot}] = displace<{size}>(p.at[{slot}], offset[{slot}]);"
            ));
        }
        self.member("    return places;\n    }");
        self.member("static BL_FN void finish(const Params& p, const Places& at, Index output, Index segment, Sum sum) {");
        let out = form.out;
        self.member(&match finish {
            Finish::Part => "    bl::store(p.at[0] + (u64(output) * p.segments + segment) * sizeof(sum.packed()), sum.packed());".into(),
            Finish::Whole => {
                format!("    bl::store(at.address[0], convert<dtype_{out}>(sum.total()));")
            }
            Finish::Quotient => format!(
                "    bl::store(at.address[0], convert<dtype_{out}>(quotient(sum.total(), p.divisor)));"
            ),
            Finish::Root => format!(
                "    bl::store(at.address[0], convert<dtype_{out}>(square_root(quotient(sum.total(), p.divisor))));"
            ),
        });
        self.member("}");
    }
}
