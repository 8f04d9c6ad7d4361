//! Calls, which are expanded inline, and the functions that the device runtime provides.
//!
//! An argument that is a variable is aliased by a parameter in memory, so nothing is copied. All other arguments are
//! copied: a register or a constant passed for a parameter in memory, and any argument for a parameter in a register.

use super::names::{Resize, Symbol};
use super::{Decoded, Decoder};
use crate::error::ERROR_ASSERT;
use crate::exec::program::{ALWAYS, Access, Op};
use crate::isa::lane::Operands;
use crate::ptx::ast::{Arg, Class, Instruction, Space, Variable};

/// How a result is copied to the caller after the body of a function.
enum After {
    /// From a register to another one.
    Move { class: Class, from: u32, to: u32, resize: Option<Resize> },
    /// From memory to a register.
    Load { access: Access, from: u64, to: u32, resize: Option<Resize> },
    /// From a register to memory.
    Store { access: Access, from: u32, to: u64 },
}

/// Returns the access to a parameter of this many bytes.
fn access(size: u64) -> Decoded<Access> {
    let bytes = u8::try_from(size).ok().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8));
    let bytes = bytes.ok_or("a structure is given as a variable only")?;
    let class = if bytes == 8 { Class::Wide } else { Class::Word };
    Ok(Access { bytes, class, ..Access::word(Space::Local) })
}

impl Decoder<'_> {
    pub(super) fn call(&mut self, i: &Instruction) -> Decoded<()> {
        let mut args = i.args.iter().peekable();
        let results = match args.peek() {
            Some(Arg::List(items)) => {
                args.next();
                items.clone()
            }
            _ => Vec::new(),
        };
        let Some(Arg::Name(name)) = args.next() else {
            return Err("a function is expected".into());
        };
        let given = match args.next() {
            Some(Arg::List(items)) => items.clone(),
            _ => Vec::new(),
        };
        match name.as_str() {
            "__assertfail" => {
                self.emit(Op::Trap(ERROR_ASSERT, "an assertion failed"), Operands::default());
                Ok(())
            }
            "vprintf" => self.print(&results, &given),
            _ => self.expand(name, &results, &given),
        }
    }

    /// Expands the body of a function inline.
    fn expand(&mut self, name: &str, results: &[Arg], given: &[Arg]) -> Decoded<()> {
        if self.calls.iter().any(|open| open == name) {
            return Err(format!("{name} calls itself, which is not supported"));
        }
        let module = self.module;
        let function = module.functions.iter().find(|f| f.name == name && !f.entry);
        let function = function.ok_or_else(|| match self.scopes.find(name) {
            Some(_) => "calls through pointers are not supported".to_string(),
            None => format!("unknown function {name}: it has no body in this module"),
        })?;
        // A function without a result may be declared and called as if it had one, which is then undefined.
        let has_results = function.results.is_empty() || function.results.len() == results.len();
        if !has_results || function.params.len() != given.len() {
            return Err(format!("{name} takes other parameters"));
        }
        // The inverted guard branches over the body.
        let (guard, negated) = self.guard;
        self.guard = (guard, !negated);
        let skip = self.emit(Op::Nothing, Operands::default());
        self.guard = (ALWAYS, false);
        let mut bound = Vec::new();
        for (formal, actual) in function.params.iter().zip(given) {
            bound.push((formal.name.as_str(), self.pass(formal, actual)?));
        }
        let mut afters = Vec::new();
        for (formal, actual) in function.results.iter().zip(results) {
            let (symbol, after) = self.result_of(formal, actual)?;
            bound.push((formal.name.as_str(), symbol));
            afters.extend(after);
        }
        self.scopes.open();
        bound.into_iter().for_each(|(name, symbol)| self.scopes.insert(name, symbol));
        self.calls.push(name.to_string());
        self.body(function, false)?;
        self.calls.pop();
        self.scopes.close();
        self.guard = (ALWAYS, false);
        afters.into_iter().try_for_each(|after| self.finish(after))?;
        if guard != ALWAYS {
            self.program.code[skip].op = Op::Branch(self.program.code.len() as u32);
        }
        Ok(())
    }

    /// Passes an argument and returns the symbol under which the function finds it.
    fn pass(&mut self, formal: &Variable, actual: &Arg) -> Decoded<Symbol> {
        match (formal.register, self.variable(actual)) {
            (None, Some(address)) => Ok(Symbol::Memory(Space::Local, address)),
            (None, None) => {
                let (access, address) = (access(formal.size)?, self.local_variable(formal));
                let from = self.source(actual, access.class)?;
                self.store_to(access, address, from);
                Ok(Symbol::Memory(Space::Local, address))
            }
            (Some(class), Some(address)) => {
                let to = self.slots(class, 1);
                self.load_from(access(formal.size)?, address, to);
                Ok(Symbol::Register(class, to))
            }
            (Some(class), None) => {
                let from = self.source(actual, class)?;
                let to = self.slots(class, 1);
                self.copy(class, from, to)?;
                Ok(Symbol::Register(class, to))
            }
        }
    }

    /// Returns the symbol under which the function leaves a result, and how it is copied to the caller afterwards.
    fn result_of(&mut self, formal: &Variable, actual: &Arg) -> Decoded<(Symbol, Option<After>)> {
        match (formal.register, self.variable(actual)) {
            (None, Some(address)) => Ok((Symbol::Memory(Space::Local, address), None)),
            (None, None) => {
                let (access, from) = (access(formal.size)?, self.local_variable(formal));
                let (to, resize) = self.result(actual, access.class, false)?;
                let after = After::Load { access, from, to, resize };
                Ok((Symbol::Memory(Space::Local, from), Some(after)))
            }
            (Some(class), Some(to)) => {
                let (access, from) = (access(formal.size)?, self.slots(class, 1));
                Ok((Symbol::Register(class, from), Some(After::Store { access, from, to })))
            }
            (Some(class), None) => {
                let from = self.slots(class, 1);
                let (to, resize) = self.result(actual, class, false)?;
                Ok((Symbol::Register(class, from), Some(After::Move { class, from, to, resize })))
            }
        }
    }

    fn finish(&mut self, after: After) -> Decoded<()> {
        match after {
            After::Move { class, from, to, resize } => {
                self.copy(class, from, to)?;
                self.resize(resize)
            }
            After::Load { access, from, to, resize } => {
                self.load_from(access, from, to);
                self.resize(resize)
            }
            After::Store { access, from, to } => {
                self.store_to(access, to, from);
                Ok(())
            }
        }
    }

    /// Returns the address of an argument that is a parameter variable.
    fn variable(&self, actual: &Arg) -> Option<u64> {
        match actual {
            Arg::Name(name) => match self.scopes.find(name) {
                Some(Symbol::Memory(Space::Local, address)) => Some(address),
                _ => None,
            },
            _ => None,
        }
    }

    fn copy(&mut self, class: Class, from: u32, to: u32) -> Decoded<()> {
        let row = match class {
            Class::Pred => "mov.pred",
            Class::Word => "mov.b32",
            Class::Wide => "mov.b64",
        };
        self.row(row, &[to], &[from], 0)
    }

    fn load_from(&mut self, access: Access, address: u64, to: u32) {
        let mut o = Operands::default();
        o.s[0] = self.constant(Class::Wide, address);
        o.d[0] = to;
        self.emit(Op::Load(access), o);
    }

    fn store_to(&mut self, access: Access, address: u64, from: u32) {
        let mut o = Operands::default();
        o.s[0] = self.constant(Class::Wide, address);
        o.d[0] = from;
        self.emit(Op::Store(access), o);
    }

    /// `vprintf(format, arguments)`: the arguments are stored consecutively in memory.
    fn print(&mut self, results: &[Arg], given: &[Arg]) -> Decoded<()> {
        let [format, arguments] = given else { return Err("vprintf takes two parameters".into()) };
        let mut o = Operands::default();
        for (k, arg) in [format, arguments].into_iter().enumerate() {
            o.s[k] = match self.variable(arg) {
                Some(address) => {
                    let to = self.slots(Class::Wide, 1);
                    self.load_from(access(8)?, address, to);
                    to
                }
                None => self.source(arg, Class::Wide)?,
            };
        }
        o.d[0] = self.slots(Class::Word, 1);
        self.emit(Op::Print, o);
        match results {
            [] => Ok(()),
            [result, ..] => match self.variable(result) {
                Some(address) => {
                    self.store_to(Access::word(Space::Local), address, o.d[0]);
                    Ok(())
                }
                None => {
                    let (to, resize) = self.result(result, Class::Word, true)?;
                    self.copy(Class::Word, o.d[0], to)?;
                    self.resize(resize)
                }
            },
        }
    }
}
