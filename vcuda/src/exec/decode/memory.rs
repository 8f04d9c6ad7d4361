//! Loads, stores and atomics.

use super::{Decoded, Decoder};
use crate::exec::atomic;
use crate::exec::program::{Access, Op};
use crate::isa::lane::Operands;
use crate::ptx::ast::{Arg, Class, Instruction, Space};

fn type_of(name: &str) -> Option<(u8, bool)> {
    let bytes = match name.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
        "8" => 1,
        "16" => 2,
        "32" | "16x2" => 4,
        "64" => 8,
        _ => return None,
    };
    Some((bytes, name.starts_with('s')))
}

impl Decoder<'_> {
    pub(super) fn memory(&mut self, parts: &[&str], i: &Instruction) -> Decoded<()> {
        let mut args = i.args.clone();
        if parts.contains(&"L2::cache_hint") {
            // The cache policy is the last operand; it has no effect here.
            args.pop();
        }
        let entry = self.frames.last().is_some_and(|f| f.entry);
        // `bytes` stays zero until a type is seen.
        let mut access = Access { bytes: 0, ..Access::word(Space::Generic) };
        let atomic = matches!(parts[0], "atom" | "red");
        let mut operation = Vec::new();
        for &part in &parts[1..] {
            match part {
                "global" => access.space = Space::Global,
                "shared" | "shared::cta" | "shared::cluster" => access.space = Space::Shared,
                "local" => access.space = Space::Local,
                "const" => access.space = Space::Const,
                "param" | "param::entry" | "param::func" => {
                    access.space = if entry { Space::Param } else { Space::Local }
                }
                "nc" => access.readonly = true,
                "volatile" | "relaxed" | "acquire" | "release" | "acq_rel" | "mmio" => {
                    access.strong = true;
                    access.fence |= matches!(part, "acquire" | "release" | "acq_rel");
                    self.program.fences |= access.fence;
                    self.program.fences_between_blocks |= access.fence && !parts.contains(&"cta");
                    // Another warp may be spinning on it.
                    self.program.takes_turns = true;
                }
                "v2" => access.count = 2,
                "v4" => access.count = 4,
                "v8" => access.count = 8,
                "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "weak" | "cta" | "cluster"
                | "gpu" | "sys" | "noftz" => {}
                part if part.starts_with("L1::") || part.starts_with("L2::") => {}
                part if atomic && type_of(part).is_none() => operation.push(part),
                part => {
                    (access.bytes, access.signed) =
                        type_of(part).ok_or_else(|| format!("unknown modifier .{part}"))?;
                    operation.push(part);
                }
            }
        }
        if access.bytes == 0 {
            return Err("no type".into());
        }
        access.class = if access.bytes == 8 { Class::Wide } else { Class::Word };
        match parts[0] {
            "ld" | "ldu" => self.load(access, &args, i.used),
            "st" => self.store(access, &args),
            _ => self.atomic(access, &operation.join("."), parts[0] == "red", args),
        }
    }

    fn addressed(&mut self, access: &mut Access, arg: &Arg, o: &mut Operands) -> Decoded<()> {
        let (slot, offset, space) = self.address(arg)?;
        (o.s[0], o.imm) = (slot, offset);
        // Parameters of a call are in local memory; the symbol says so.
        if let (Space::Param, Some(Space::Local)) = (access.space, space) {
            access.space = Space::Local;
        }
        if let (Space::Generic, Some(space @ (Space::Shared | Space::Local | Space::Param))) =
            (access.space, space)
        {
            access.space = space;
        }
        Ok(())
    }

    fn load(&mut self, mut access: Access, args: &[Arg], used: Option<u64>) -> Decoded<()> {
        let [to, from] = args else { return Err("two operands are expected".into()) };
        let mut o = Operands::default();
        self.addressed(&mut access, from, &mut o)?;
        let results: Vec<Arg> =
            if let Arg::Vector(items) = to { items.clone() } else { vec![to.clone()] };
        if results.len() != usize::from(access.count) {
            return Err("the vector's length does not match".into());
        }
        let mut resizes = Vec::new();
        for (k, arg) in results.iter().enumerate() {
            let (slot, resize) = self.result(arg, access.class, access.signed)?;
            o.d[k] = slot;
            resizes.push(resize);
            if let (Arg::Name(name), Some(frame)) = (arg, self.frames.last()) {
                access.moved |= u8::from(!frame.looked_at.contains(name)) << k;
            }
        }
        self.first = true;
        match used {
            Some(used) => self.load_used(access, o, used),
            None => {
                self.emit(Op::Load(access), o);
            }
        }
        resizes.into_iter().try_for_each(|resize| self.resize(resize))
    }

    /// Loads only the bytes that the program uses: the others may be unwritten, or be written concurrently.
    fn load_used(&mut self, access: Access, o: Operands, used: u64) {
        let all = (1u64 << access.bytes) - 1;
        for k in 0..access.count {
            let at = u64::from(k * access.bytes);
            let bytes = match used >> at & all {
                0 => continue,
                // Load only the lower bytes, if their number is one that a load may have.
                part => match part.trailing_ones() {
                    n if n == part.count_ones() && n.is_power_of_two() => n as u8,
                    _ => access.bytes,
                },
            };
            let mut one = Operands { imm: o.imm.wrapping_add(at), ..o };
            one.d[0] = o.d[usize::from(k)];
            let moved = access.moved >> k & 1;
            self.emit(Op::Load(Access { bytes, count: 1, moved, ..access }), one);
        }
    }

    fn store(&mut self, mut access: Access, args: &[Arg]) -> Decoded<()> {
        let [to, from] = args else { return Err("two operands are expected".into()) };
        let mut o = Operands::default();
        if access.space == Space::Param {
            access.space = Space::Local;
        }
        self.addressed(&mut access, to, &mut o)?;
        let values: Vec<Arg> =
            if let Arg::Vector(items) = from { items.clone() } else { vec![from.clone()] };
        if values.len() != usize::from(access.count) {
            return Err("the vector's length does not match".into());
        }
        for (k, arg) in values.iter().enumerate() {
            o.d[k] = self.source(arg, access.class)?;
        }
        self.first = true;
        self.emit(Op::Store(access), o);
        Ok(())
    }

    fn atomic(
        &mut self,
        mut access: Access,
        operation: &str,
        reduction: bool,
        mut args: Vec<Arg>,
    ) -> Decoded<()> {
        let change = atomic::change(operation).ok_or("unknown instruction")?;
        if access.count != 1 {
            return self.atomics(access, operation, reduction, &args);
        }
        if reduction {
            args.insert(0, Arg::Name("_".into()));
        }
        let [to, at, operands @ ..] = &args[..] else { return Err("operands are missing".into()) };
        let mut o = Operands::default();
        self.addressed(&mut access, at, &mut o)?;
        for (k, arg) in operands.iter().enumerate().take(2) {
            o.s[k + 1] = self.source(arg, access.class)?;
        }
        if operands.len() == 1 {
            o.s[2] = o.s[1];
        }
        let (slot, resize) = self.result(to, access.class, access.signed)?;
        o.d[0] = slot;
        self.program.takes_turns |= !reduction;
        self.program.compares |= operation.starts_with("cas");
        self.first = true;
        self.emit(Op::Atomic(access, change), o);
        self.resize(resize)
    }

    /// Decodes a vector of atomics to one atomic per element.
    fn atomics(
        &mut self,
        access: Access,
        operation: &str,
        reduction: bool,
        args: &[Arg],
    ) -> Decoded<()> {
        let count = usize::from(access.count);
        let (to, rest) = match args {
            [Arg::Vector(to), rest @ ..] if !reduction => (Some(to), rest),
            rest => (None, rest),
        };
        let [Arg::Memory(base, offset), Arg::Vector(values)] = rest else {
            return Err("an address and a vector are expected".into());
        };
        if values.len() != count || to.is_some_and(|to| to.len() != count) {
            return Err("the vector's length does not match".into());
        }
        for (k, value) in values.iter().enumerate() {
            let at = Arg::Memory(base.clone(), offset + (k * usize::from(access.bytes)) as i64);
            let one: Vec<Arg> =
                to.map(|to| to[k].clone()).into_iter().chain([at, value.clone()]).collect();
            self.atomic(Access { count: 1, ..access }, operation, to.is_none(), one)?;
        }
        Ok(())
    }
}
