//! Branches, barriers and the exits of threads.

use super::{Decoded, Decoder, Jump};
use crate::error::ERROR_LAUNCH_FAILED;
use crate::exec::program::{Barrier, Op};
use crate::isa::lane::Operands;
use crate::ptx::ast::{Arg, Class, Instruction};

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
                self.program.fences_between_blocks |= !parts.contains(&"cta");
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
}
