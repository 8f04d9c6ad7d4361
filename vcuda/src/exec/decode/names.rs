//! Names and operands: resolves names, and finds the slots that hold operands.

use super::{Decoded, Decoder};
use crate::exec::program::Special;
use crate::ptx::ast::{Arg, Class, Space};
use std::collections::HashMap;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    Register(Class, u32),
    /// A vector register: the class, the slot of its first element, and the number of elements.
    Vector(Class, u32, u32),
    /// A variable: its space and its address there.
    Memory(Space, u64),
}

/// Nested scopes of names.
#[derive(Default)]
pub(super) struct Scopes {
    levels: Vec<Level>,
    /// Whether a vector register was declared, which is rare.
    pub vectors: bool,
}

#[derive(Default)]
struct Level {
    names: HashMap<String, Symbol>,
    /// Ranges such as `%r<5>`: by prefix, the class, the first slot and the count.
    ranges: HashMap<String, (Class, u32, u32)>,
}

impl Scopes {
    pub fn open(&mut self) {
        self.levels.push(Level::default());
    }

    pub fn close(&mut self) {
        self.levels.pop();
    }

    pub fn insert(&mut self, name: &str, symbol: Symbol) {
        self.vectors |= matches!(symbol, Symbol::Vector(..));
        if let Some(level) = self.levels.last_mut() {
            level.names.insert(name.to_string(), symbol);
        }
    }

    pub fn insert_range(&mut self, prefix: &str, class: Class, first: u32, count: u32) {
        if let Some(level) = self.levels.last_mut() {
            level.ranges.insert(prefix.to_string(), (class, first, count));
        }
    }

    /// Resolves a name, innermost scope first. `v.y` is an element of the vector `v`.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.whole(name).or_else(|| {
            let (vector, lane) = name.rsplit_once('.')?;
            let named = |names: [&str; 4]| names.iter().position(|n| *n == lane);
            let lane = named(["x", "y", "z", "w"]).or(named(["r", "g", "b", "a"]))? as u32;
            match self.whole(vector)? {
                Symbol::Vector(class, first, lanes) if lane < lanes => {
                    Some(Symbol::Register(class, first + lane))
                }
                _ => None,
            }
        })
    }

    fn whole(&self, name: &str) -> Option<Symbol> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: Option<u32> = name[prefix.len()..].parse().ok();
        self.levels.iter().rev().find_map(|level| {
            level.names.get(name).copied().or_else(|| {
                let &(class, first, count) = level.ranges.get(prefix)?;
                number.filter(|&n| n < count).map(|n| Symbol::Register(class, first + n))
            })
        })
    }
}

fn special(name: &str) -> Option<Special> {
    Some(match name {
        "%tid.x" | "%tid" => Special::ThreadX,
        "%tid.y" => Special::ThreadY,
        "%tid.z" => Special::ThreadZ,
        "%ntid.x" | "%ntid" => Special::BlockSizeX,
        "%ntid.y" => Special::BlockSizeY,
        "%ntid.z" => Special::BlockSizeZ,
        "%ctaid.x" | "%ctaid" => Special::BlockX,
        "%ctaid.y" => Special::BlockY,
        "%ctaid.z" => Special::BlockZ,
        "%nctaid.x" | "%nctaid" => Special::GridX,
        "%nctaid.y" => Special::GridY,
        "%nctaid.z" => Special::GridZ,
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::Warps,
        "%smid" => Special::Multiprocessor,
        "%nsmid" => Special::Multiprocessors,
        "%gridid" => Special::Grid,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" => Special::TotalShared,
        "%lanemask_eq" => Special::MaskEq,
        "%lanemask_le" => Special::MaskLe,
        "%lanemask_lt" => Special::MaskLt,
        "%lanemask_ge" => Special::MaskGe,
        "%lanemask_gt" => Special::MaskGt,
        "%envreg1" => Special::WorkspaceHigh,
        "%envreg2" => Special::WorkspaceLow,
        name if name.starts_with("%envreg") => Special::Zero,
        _ => return None,
    })
}

impl Decoder<'_> {
    /// Returns the slot of a constant.
    pub(super) fn constant(&mut self, class: Class, value: u64) -> u32 {
        let value = if class == Class::Word { u64::from(value as u32) } else { value };
        if let Some(&slot) = self.constants.get(&(class, value)) {
            return slot;
        }
        let slot = self.slots(class, 1);
        self.constants.insert((class, value), slot);
        self.program.constants.push((class, slot, value));
        slot
    }

    fn special(&mut self, special: Special) -> u32 {
        if let Some(&slot) = self.specials.get(&special) {
            return slot;
        }
        let slot = self.slots(Class::Word, 1);
        self.specials.insert(special, slot);
        self.program.specials.push((special, slot));
        slot
    }

    /// Returns the class and slot of a register or special register.
    pub(super) fn register(&mut self, name: &str) -> Option<(Class, u32)> {
        match self.scopes.find(name) {
            Some(Symbol::Register(class, slot)) => Some((class, slot)),
            _ => special(name).map(|s| (Class::Word, self.special(s))),
        }
    }

    /// Returns the slot of an operand that is read as the given class.
    pub(super) fn source(&mut self, arg: &Arg, class: Class) -> Decoded<u32> {
        Ok(match arg {
            Arg::Int(value) => self.constant(
                class,
                if class == Class::Pred { u64::from(*value != 0) } else { *value as u64 },
            ),
            Arg::Single(bits) if class == Class::Wide => {
                self.constant(class, f64::from(f32::from_bits(*bits)).to_bits())
            }
            Arg::Single(bits) => self.constant(class, (*bits).into()),
            Arg::Double(bits) if class == Class::Word => {
                self.constant(class, (f64::from_bits(*bits) as f32).to_bits().into())
            }
            Arg::Double(bits) => self.constant(class, *bits),
            Arg::Not(name) => {
                let slot = self.source(&Arg::Name(name.clone()), Class::Pred)?;
                let to = self.slots(Class::Pred, 1);
                self.row("not.pred", &[to], &[slot], 0)?;
                to
            }
            Arg::Memory(base, offset) => match base.as_ref() {
                Arg::Name(name) => match self.scopes.find(name) {
                    Some(Symbol::Memory(_, address)) => {
                        self.constant(class, address.wrapping_add_signed(*offset))
                    }
                    _ => return Err(format!("{name} is not a variable")),
                },
                _ => return Err("an address where a value is expected".into()),
            },
            Arg::Name(name) if name == "WARP_SZ" => self.constant(class, 32),
            // Shared memory reserved by the system: an address outside of what exists here.
            Arg::Name(name) if name.starts_with("%reserved_smem_offset") => {
                self.constant(class, 0xffff_0000)
            }
            Arg::Name(name) => {
                if let Some(Symbol::Memory(_, address)) = self.scopes.find(name) {
                    return Ok(self.constant(class, address));
                }
                let (found, slot) = self.register(name).ok_or_else(|| {
                    if self.module.functions.iter().any(|f| f.name == *name) {
                        format!("{name} is a function: calls through pointers are not supported")
                    } else {
                        format!("unknown name {name}")
                    }
                })?;
                match (found, class) {
                    (a, b) if a == b => slot,
                    (Class::Wide, Class::Word) => {
                        let to = self.slots(Class::Word, 1);
                        self.row("cvt.u32.u64", &[to], &[slot], 0)?;
                        to
                    }
                    (Class::Word, Class::Wide) => self.widened(slot, false)?,
                    _ => return Err(format!("{name} is of the wrong kind")),
                }
            }
            other => return Err(format!("operand {other:?} is not expected here")),
        })
    }

    /// Emits the extension of a word to 64 bits and returns its slot.
    fn widened(&mut self, slot: u32, signed: bool) -> Decoded<u32> {
        let to = self.slots(Class::Wide, 1);
        self.row(if signed { "cvt.s64.s32" } else { "cvt.u64.u32" }, &[to], &[slot], 0)?;
        Ok(to)
    }

    /// Returns the slot for a result of a class, and the conversion that must follow: a result narrower or wider than
    /// its register goes through a temporary one.
    pub(super) fn result(
        &mut self,
        arg: &Arg,
        class: Class,
        signed: bool,
    ) -> Decoded<(u32, Option<Resize>)> {
        let Arg::Name(name) = arg else { return Err("a result that is not a register".into()) };
        if name == "_" {
            return Ok((self.slots(class, 1), None));
        }
        let Some(Symbol::Register(found, slot)) = self.scopes.find(name) else {
            return Err(format!("unknown register {name}"));
        };
        if found == class {
            return Ok((slot, None));
        }
        let row = match (class, found) {
            (Class::Word, Class::Wide) if signed => "cvt.s64.s32",
            (Class::Word, Class::Wide) => "cvt.u64.u32",
            (Class::Wide, Class::Word) => "cvt.u32.u64",
            _ => return Err(format!("{name} is of the wrong kind")),
        };
        let from = self.slots(class, 1);
        Ok((from, Some(Resize { row, from, to: slot })))
    }

    pub(super) fn resize(&mut self, resize: Option<Resize>) -> Decoded<()> {
        match resize {
            Some(r) => self.row(r.row, &[r.to], &[r.from], 0),
            None => Ok(()),
        }
    }

    /// Returns the slot of an address's base, the offset to add and, if known, the space.
    pub(super) fn address(&mut self, arg: &Arg) -> Decoded<(u32, u64, Option<Space>)> {
        let Arg::Memory(base, offset) = arg else {
            return Err("expected an address in brackets".into());
        };
        let offset = *offset as u64;
        match base.as_ref() {
            Arg::Int(value) => Ok((self.constant(Class::Wide, *value as u64), offset, None)),
            Arg::Name(name) => match self.scopes.find(name) {
                Some(Symbol::Memory(space, address)) => {
                    Ok((self.constant(Class::Wide, address.wrapping_add(offset)), 0, Some(space)))
                }
                _ => Ok((self.source(base, Class::Wide)?, offset, None)),
            },
            other => Err(format!("{other:?} is no address")),
        }
    }
}

/// A conversion that follows an instruction.
pub(super) struct Resize {
    row: &'static str,
    from: u32,
    to: u32,
}
