//! Instructions that are rows of the table: finding the row, and instructions that expand to several rows.

use super::{Decoded, Decoder};
use crate::exec::program::{LOCAL_WINDOW, Op, PARAM_WINDOW, SHARED_WINDOW};
use crate::isa::convert::{SATURATE, TO_WHOLE};
use crate::isa::lane::Operands;
use crate::isa::warp::RELU;
use crate::isa::{self, Row};
use crate::ptx::ast::{Arg, Class, Instruction};

/// Properties of an opcode beyond the name of its row.
#[derive(Default)]
struct Form {
    name: String,
    imm: u64,
    flush: bool,
    saturate: bool,
    together: bool,
    row: Option<&'static Row>,
}

/// Returns the name of the row to which an opcode, as written, is decoded.
pub fn row_name(opcode: &str) -> Option<&'static str> {
    let parts: Vec<&str> = opcode.split('.').collect();
    form(&parts).row.map(|row| row.name)
}

fn form(parts: &[&str]) -> Form {
    let mut form = Form::default();
    if let Some(row) = isa::find(&parts.join(".")) {
        form.row = Some(row);
        return form;
    }
    if let Some((name, how)) = isa::video::form(parts) {
        form.row = isa::find(&name);
        form.imm = how;
        return form;
    }
    let convert = parts[0] == "cvt";
    let mut kept: Vec<&str> = Vec::new();
    for &part in parts {
        match part {
            "rn" | "approx" | "full" | "aligned" | "noftz" => {}
            "rz" | "rm" | "rp" => {
                form.imm |= match part {
                    "rz" => 1,
                    "rm" => 2,
                    _ => 3,
                };
                if !convert {
                    kept.push("round");
                }
            }
            "rni" => form.imm |= TO_WHOLE,
            "rzi" => form.imm |= TO_WHOLE | 1,
            "rmi" => form.imm |= TO_WHOLE | 2,
            "rpi" => form.imm |= TO_WHOLE | 3,
            "relu" if convert => form.imm |= RELU,
            "ftz" => form.flush = true,
            "sat" => form.saturate = true,
            "sync" => form.together = true,
            "and" | "or" | "xor" if parts[0] == "setp" || parts[0] == "set" => {
                form.imm = match part {
                    "and" => 1,
                    "or" => 2,
                    _ => 3,
                };
            }
            "cc" => {
                form.imm = 1;
                if !parts[0].ends_with('c') {
                    kept.push("carry");
                }
            }
            _ => kept.push(part),
        }
    }
    // Carry arithmetic is the same for signed and unsigned types.
    if kept.contains(&"carry") || matches!(parts[0], "addc" | "subc" | "madc") {
        for part in &mut kept {
            match *part {
                "s32" | "b32" => *part = "u32",
                "s64" | "b64" => *part = "u64",
                _ => {}
            }
        }
    }
    match kept[..] {
        ["slct", value, by] => kept = vec!["slct", by, value],
        ["prmt", kind, mode] => kept = vec!["prmt", mode, kind],
        ["isspacep", space] => {
            kept = vec!["isspacep", space.split("::").next().unwrap_or(space), "u64"]
        }
        // `min.s32.relu`, the order that CUDA's headers use.
        [name, kind, "relu"] => kept = vec![name, "relu", kind],
        _ => {}
    }
    form.name = kept.join(".");
    form.row = isa::find(&form.name);
    // The saturation of an integer is part of the row.
    if form.saturate
        && let Some(kind) = kept.last()
        && !kind.starts_with(['f', 'b'])
        && !convert
    {
        kept.insert(kept.len() - 1, "sat");
        form.row = isa::find(&kept.join("."));
        form.saturate = false;
    }
    if convert && form.saturate && kept.get(1).is_some_and(|kind| kind.starts_with(['u', 's'])) {
        form.imm |= SATURATE;
        form.saturate = false;
    }
    form
}

impl Decoder<'_> {
    /// Emits a row, by name, with the given slots.
    pub(super) fn row(&mut self, name: &str, d: &[u32], s: &[u32], imm: u64) -> Decoded<()> {
        let row = isa::find(name).ok_or_else(|| format!("no row {name}"))?;
        let mut o = Operands { imm, ..Operands::default() };
        o.d[..d.len()].copy_from_slice(d);
        o.s[..s.len()].copy_from_slice(s);
        let was_first = self.first;
        self.emit(Op::Row(row.body), o);
        // A conversion before the instruction is the uncounted extra, not the instruction itself.
        if was_first {
            self.first = true;
            if let Some(last) = self.program.code.last_mut() {
                last.extra = true;
            }
        }
        Ok(())
    }

    pub(super) fn table(&mut self, parts: &[&str], i: &Instruction) -> Decoded<()> {
        match parts[0] {
            "mov" if i.args.len() == 2 => match (&i.args[0], &i.args[1]) {
                (Arg::Vector(to), from) => return self.unpack(parts, to, from),
                (to, Arg::Vector(from)) => return self.pack(parts, to, from),
                (to, Arg::Name(clock))
                    if clock.starts_with("%clock") || clock.starts_with("%globaltimer") =>
                {
                    return self.clock(parts, to, clock);
                }
                _ => {}
            },
            "cvta" => return self.convert_address(parts, i),
            "set" => return self.set(parts, i),
            _ => {}
        }
        let form = form(parts);
        let row = form.row.ok_or("unknown instruction")?;
        if let ("min" | "max", [to, a, b, c]) = (parts[0], &i.args[..]) {
            // The minimum of three operands is the minimum of the third and that of the first two.
            let slot = self.slots(row.d[0], 1);
            let name = "%of.two";
            self.scopes.insert(name, super::names::Symbol::Register(row.d[0], slot));
            let two = Arg::Name(name.into());
            self.apply(row, &form, parts, &[two.clone(), a.clone(), b.clone()])?;
            return self.apply(row, &form, parts, &[to.clone(), two, c.clone()]);
        }
        self.apply(row, &form, parts, &i.args)
    }

    fn apply(
        &mut self,
        row: &'static Row,
        form: &Form,
        parts: &[&str],
        args: &[Arg],
    ) -> Decoded<()> {
        let mut o = Operands { imm: form.imm, ..Operands::default() };
        let kind = *parts.last().unwrap_or(&"");
        let mut args = args.to_vec();
        // Results: `p|q` gives two; with a single name the second is unused.
        let first = if args.is_empty() { return Err("no operands".into()) } else { args.remove(0) };
        let results = match &first {
            Arg::Pair(a, b) if row.d.len() == 2 => vec![Arg::Name(a.clone()), Arg::Name(b.clone())],
            Arg::Pair(..) => return Err("this form has one result".into()),
            other => vec![other.clone()],
        };
        if form.together {
            let mask = args.pop().ok_or("no member mask")?;
            o.s[4] = self.source(&mask, Class::Word)?;
        }
        if parts[0] == "lop3" {
            match args.pop() {
                Some(Arg::Int(table)) => o.imm = table as u64 & 0xff,
                _ => return Err("the table must be a constant".into()),
            }
        }
        if parts[0] == "setp" && args.len() == 2 {
            args.push(Arg::Int(0));
        }
        if args.len() != row.s.len() {
            return Err(format!("{} operands where {} are expected", args.len(), row.s.len()));
        }
        for (k, (arg, &class)) in args.iter().zip(row.s).enumerate() {
            let slot = self.source(arg, class)?;
            o.s[k] = if form.flush && self.flushes(parts, k) {
                self.flushed(slot, kind, class)?
            } else {
                slot
            };
        }
        let signed = parts
            .get(parts.len().saturating_sub(2))
            .is_some_and(|p| parts[0] == "cvt" && p.starts_with('s'));
        let mut resizes = Vec::new();
        for (k, &class) in row.d.iter().enumerate() {
            let (slot, resize) = match results.get(k) {
                Some(arg) => self.result(arg, class, signed)?,
                None => (self.slots(class, 1), None),
            };
            o.d[k] = slot;
            resizes.push(resize);
        }
        self.first = true;
        self.emit(if form.together { Op::Together(row.body) } else { Op::Row(row.body) }, o);
        let result_kind = if parts[0] == "cvt" { parts[parts.len() - 2] } else { kind };
        let flushed = match result_kind {
            "f32" => true,
            "f32x2" | "f16" | "f16x2" | "bf16" | "bf16x2" => parts[0] != "cvt",
            _ => false,
        };
        if form.flush && flushed && row.d[0] != Class::Pred {
            self.row(&format!("flush.{result_kind}"), &[o.d[0]], &[o.d[0]], 0)?;
        }
        if form.saturate {
            self.row(&format!("saturate.{result_kind}"), &[o.d[0]], &[o.d[0]], 0)?;
        }
        resizes.into_iter().try_for_each(|resize| self.resize(resize))
    }

    /// Returns whether `.ftz` applies to this operand.
    fn flushes(&self, parts: &[&str], operand: usize) -> bool {
        match parts[0] {
            // A conversion flushes only `f32`.
            "cvt" => parts.last() == Some(&"f32"),
            "slct" => operand == 2,
            // The third operand of a comparison is a predicate.
            "setp" if operand == 2 => false,
            _ => matches!(
                parts.last(),
                Some(&("f32" | "f32x2" | "f16" | "f16x2" | "bf16" | "bf16x2"))
            ),
        }
    }

    fn flushed(&mut self, slot: u32, kind: &str, class: Class) -> Decoded<u32> {
        let to = self.slots(class, 1);
        self.row(&format!("flush.{kind}"), &[to], &[slot], 0)?;
        Ok(to)
    }

    /// `set`: a comparison whose result is a number.
    fn set(&mut self, parts: &[&str], i: &Instruction) -> Decoded<()> {
        if parts.len() < 4 || i.args.len() < 3 {
            return Err("unknown instruction".into());
        }
        let result = parts[parts.len() - 2];
        let mut compare: Vec<&str> = parts.to_vec();
        compare[0] = "setp";
        compare.remove(parts.len() - 2);
        let form = form(&compare);
        let row = form.row.ok_or("unknown instruction")?;
        let p = self.slots(Class::Pred, 2);
        let names = ["%set.first", "%set.second"];
        for (slot, name) in (p..).zip(names) {
            self.scopes.insert(name, super::names::Symbol::Register(Class::Pred, slot));
        }
        let mut args = i.args.clone();
        args[0] = Arg::Pair(names[0].into(), names[1].into());
        self.apply(row, &form, &compare, &args)?;
        let pairs = compare.last().is_some_and(|kind| kind.ends_with("x2"));
        let truth = match result {
            "f32" => 1f32.to_bits(),
            "f16" | "f16x2" => 0x3c00,
            "bf16" | "bf16x2" => 0x3f80,
            _ if pairs => 0xffff,
            "u16" | "s16" => 0xffff,
            "u32" | "s32" => u32::MAX,
            _ => return Err("unknown instruction".into()),
        };
        let (yes, no) = (self.constant(Class::Word, truth.into()), self.constant(Class::Word, 0));
        let (to, resize) = self.result(&i.args[0], Class::Word, false)?;
        if pairs {
            let halves = self.slots(Class::Word, 2);
            self.row("selp.b32", &[halves], &[yes, no, p], 0)?;
            self.row("selp.b32", &[halves + 1], &[yes, no, p + 1], 0)?;
            self.row("pack.b16x2.b32", &[to], &[halves, halves + 1], 0)?;
        } else {
            self.row("selp.b32", &[to], &[yes, no, p], 0)?;
        }
        self.resize(resize)
    }

    fn pack(&mut self, parts: &[&str], to: &Arg, from: &[Arg]) -> Decoded<()> {
        let name = match (parts.last(), from.len()) {
            (Some(&("b16" | "u16" | "s16")), 2) => "pack.b8x2.b16",
            (Some(&("b32" | "u32" | "s32" | "f32")), 2) => "pack.b16x2.b32",
            (Some(&("b32" | "u32" | "s32")), 4) => "pack.b8x4.b32",
            (Some(&("b64" | "u64" | "s64" | "f64")), 2) => "pack.b32x2.b64",
            (Some(&("b64" | "u64" | "s64")), 4) => "pack.b16x4.b64",
            _ => return Err("unknown instruction: this packing".into()),
        };
        let slots =
            from.iter().map(|arg| self.source(arg, Class::Word)).collect::<Decoded<Vec<_>>>()?;
        let class = if name.ends_with("b64") { Class::Wide } else { Class::Word };
        let (slot, resize) = self.result(to, class, false)?;
        self.row(name, &[slot], &slots, 0)?;
        self.count_last();
        self.resize(resize)
    }

    fn unpack(&mut self, parts: &[&str], to: &[Arg], from: &Arg) -> Decoded<()> {
        let (name, class) = match (parts.last(), to.len()) {
            (Some(&("b16" | "u16" | "s16")), 2) => ("unpack.b8.b16", Class::Word),
            (Some(&("b32" | "u32" | "s32" | "f32")), 2) => ("unpack.b16.b32", Class::Word),
            (Some(&("b32" | "u32" | "s32")), 4) => ("unpack.b8.b32", Class::Word),
            (Some(&("b64" | "u64" | "s64" | "f64")), 2) => ("unpack.b32.b64", Class::Wide),
            (Some(&("b64" | "u64" | "s64")), 4) => ("unpack.b16.b64", Class::Wide),
            _ => return Err("unknown instruction: this unpacking".into()),
        };
        let source = self.source(from, class)?;
        // Go through temporary slots, since a result may also be the source.
        let mut moves = Vec::new();
        for (k, arg) in to.iter().enumerate() {
            if matches!(arg, Arg::Name(name) if name == "_") {
                continue;
            }
            let fresh = self.slots(Class::Word, 1);
            self.row(name, &[fresh], &[source], k as u64)?;
            if k == 0 {
                self.count_last();
            }
            moves.push((arg, fresh));
        }
        for (arg, fresh) in moves {
            let (slot, resize) = self.result(arg, Class::Word, false)?;
            self.row("mov.b32", &[slot], &[fresh], 0)?;
            self.resize(resize)?;
        }
        Ok(())
    }

    /// Makes the instruction emitted last the one that is counted.
    fn count_last(&mut self) {
        self.first = false;
        if let Some(last) = self.program.code.last_mut() {
            last.extra = false;
        }
    }

    fn clock(&mut self, parts: &[&str], to: &Arg, _name: &str) -> Decoded<()> {
        let class = if parts.last().is_some_and(|kind| kind.ends_with("64")) {
            Class::Wide
        } else {
            Class::Word
        };
        let (slot, resize) = self.result(to, class, false)?;
        let mut o = Operands::default();
        o.d[0] = slot;
        self.emit(Op::Clock(class), o);
        self.resize(resize)
    }

    /// `cvta`: converts between an address in its space and a generic one, which differ by an offset.
    fn convert_address(&mut self, parts: &[&str], i: &Instruction) -> Decoded<()> {
        let to_space = parts.get(1) == Some(&"to");
        let space = parts.get(if to_space { 2 } else { 1 }).copied().unwrap_or("");
        let window = match space.split("::").next().unwrap_or("") {
            "global" | "const" => 0,
            "shared" => SHARED_WINDOW,
            "local" => LOCAL_WINDOW,
            "param" => PARAM_WINDOW,
            other => return Err(format!("unknown space {other}")),
        };
        let [to, from] = &i.args[..] else { return Err("two operands are expected".into()) };
        let from = self.source(from, Class::Wide)?;
        let by = self.constant(Class::Wide, if to_space { window.wrapping_neg() } else { window });
        let (slot, resize) = self.result(to, Class::Wide, false)?;
        self.row("add.u64", &[slot], &[from, by], 0)?;
        self.count_last();
        self.resize(resize)
    }
}
