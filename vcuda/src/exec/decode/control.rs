//! Branches, calls, barriers and the ends of threads.

use super::names::Symbol;
use super::{Decoded, Decoder, Jump};
use crate::error::{ERROR_ASSERT, ERROR_LAUNCH_FAILED};
use crate::exec::program::{Access, Barrier, Op};
use crate::isa::lane::Operands;
use crate::ptx::ast::{Arg, Class, Instruction, Space};

impl Decoder<'_> {
    pub(super) fn control(&mut self, parts: &[&str], i: &Instruction) -> Decoded<()> {
        match parts[0] {
            "bra" => match i.args.first() {
                Some(Arg::Name(label)) => {
                    self.jump(Jump::Label(label.clone()), Operands::default())
                }
                _ => return Err("a label is expected".into()),
            },
            "brx" => {
                let [index, Arg::Name(table)] = &i.args[..] else {
                    return Err("an index and a table are expected".into());
                };
                let mut o = Operands::default();
                o.s[0] = self.source(index, Class::Word)?;
                self.first = true;
                self.jump(Jump::Table(table.clone()), o);
            }
            "call" => return self.call(i),
            "ret" if self.frames.last().is_some_and(|f| !f.entry) => {
                self.jump(Jump::End, Operands::default())
            }
            "ret" | "exit" => {
                self.emit(Op::Exit, Operands::default());
            }
            "trap" | "brkpt" => {
                self.emit(Op::Trap(ERROR_LAUNCH_FAILED, "trap"), Operands::default());
            }
            "bar" | "barrier" => return self.barrier(parts, i),
            "membar" | "fence" => {
                self.program.fences = true;
                self.program.fenced |= !parts.contains(&"cta");
                self.emit(Op::Fence, Operands::default());
            }
            _ => {
                self.emit(Op::Nothing, Operands::default());
            }
        }
        Ok(())
    }

    fn jump(&mut self, jump: Jump, o: Operands) {
        let at = self.emit(Op::Nothing, o);
        if let Some(frame) = self.frames.last_mut() {
            frame.jumps.push((at, jump, frame.open.clone()));
        }
    }

    fn barrier(&mut self, parts: &[&str], i: &Instruction) -> Decoded<()> {
        let mut o = Operands::default();
        if parts.contains(&"warp") {
            o.s[4] = self.source(i.args.first().ok_or("no member mask")?, Class::Word)?;
            self.first = true;
            self.emit(Op::WarpBarrier, o);
            return Ok(());
        }
        self.program.takes_turns = true;
        let kind = match parts {
            p if p.contains(&"arrive") && !p.contains(&"cluster") => Barrier::Arrive,
            p if p.contains(&"popc") => Barrier::Count,
            p if p.contains(&"red") && p.contains(&"and") => Barrier::All,
            p if p.contains(&"red") && p.contains(&"or") => Barrier::Any,
            p if p.contains(&"sync") && !p.contains(&"cluster") => Barrier::Sync,
            _ => return Err("unknown instruction".into()),
        };
        let mut args = i.args.clone();
        let mut resize = None;
        if !matches!(kind, Barrier::Sync | Barrier::Arrive) {
            let to = args.remove(0);
            let condition = args.pop().ok_or("no predicate")?;
            o.s[2] = self.source(&condition, Class::Pred)?;
            (o.d[0], resize) = self.result(
                &to,
                if kind == Barrier::Count { Class::Word } else { Class::Pred },
                false,
            )?;
        }
        let zero = Arg::Int(0);
        o.s[0] = self.source(args.first().unwrap_or(&zero), Class::Word)?;
        o.s[1] = self.source(args.get(1).unwrap_or(&zero), Class::Word)?;
        o.imm = u64::from(parts[0] == "bar" || parts.contains(&"aligned"));
        self.first = true;
        self.emit(Op::Barrier(kind), o);
        self.resize(resize)
    }

    /// Expands a call: the callee's parameters are the caller's variables, so nothing is copied.
    fn call(&mut self, i: &Instruction) -> Decoded<()> {
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
                return Ok(());
            }
            // Printing is not done, and the answer is that no arguments were printed.
            "vprintf" => {
                let mut o = Operands::default();
                let Some(Arg::Name(answer)) = results.first() else {
                    self.emit(Op::Nothing, o);
                    return Ok(());
                };
                let Some(Symbol::Memory(space @ Space::Local, address)) = self.scopes.find(answer)
                else {
                    return Err(format!("{answer} is not a parameter variable"));
                };
                o.s[0] = self.constant(Class::Wide, address);
                o.d[0] = self.constant(Class::Word, 0);
                self.emit(Op::Store(Access::word(space)), o);
                return Ok(());
            }
            _ => {}
        }
        if self.calls.iter().any(|open| open == name) {
            return Err(format!("{name} calls itself, which is not supported"));
        }
        let module = self.module;
        let function = module.functions.iter().find(|f| f.name == *name && !f.entry).ok_or_else(
            || match self.scopes.find(name) {
                Some(_) => "calls through pointers are not supported".to_string(),
                None => format!("unknown function {name}: it has no body in this module"),
            },
        )?;
        if function.results.len() != results.len() || function.params.len() != given.len() {
            return Err(format!("{name} takes other parameters"));
        }
        let mut bound = Vec::new();
        for (formal, actual) in
            function.results.iter().chain(&function.params).zip(results.iter().chain(&given))
        {
            let place = match actual {
                Arg::Name(actual) => self.scopes.find(actual),
                _ => None,
            };
            match place {
                Some(symbol @ Symbol::Memory(Space::Local, _)) => {
                    bound.push((formal.name.as_str(), symbol))
                }
                _ => return Err(format!("argument {actual:?} is not a parameter variable")),
            }
        }
        // A guarded call jumps over the body.
        let (guard, negated) = self.guard;
        let skip = (guard != crate::exec::program::ALWAYS).then(|| {
            self.guard = (guard, !negated);
            let at = self.emit(Op::Nothing, Operands::default());
            self.guard = (crate::exec::program::ALWAYS, false);
            at
        });
        if skip.is_none() {
            self.emit(Op::Nothing, Operands::default());
        }
        self.scopes.open();
        for (name, symbol) in bound {
            self.scopes.insert(name, symbol);
        }
        self.calls.push(name.clone());
        self.body(function, false)?;
        self.calls.pop();
        self.scopes.close();
        if let Some(at) = skip {
            self.program.code[at].op = Op::Branch(self.program.code.len() as u32);
        }
        Ok(())
    }
}
