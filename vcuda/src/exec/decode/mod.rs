//! Decodes the syntax tree of a kernel to a [`Program`]: names become slots, labels become indices, calls are inlined.

mod calls;
mod control;
mod copies;
mod memory;
mod names;
mod table;

use super::program::{ALWAYS, Inst, Op, Param, Program, SHARED_GAP, SharedVariable, Special};
use crate::isa::lane::Operands;
use crate::ptx::ast::{Arg, Class, Function, Instruction, Module, Space, Statement, Variable};
use names::{Scopes, Symbol};
use std::collections::{HashMap, HashSet};
pub use table::row_name;

/// Programs with more instructions are refused; inlining calls can make them large.
const MAX_CODE: usize = 4_000_000;

type Decoded<T> = Result<T, String>;

/// Decodes a kernel of a module whose variables are at the given addresses.
pub fn decode(
    module: &Module,
    kernel: &Function,
    addresses: &HashMap<String, u64>,
) -> Decoded<Program> {
    let mut decoder = Decoder {
        module,
        program: Program {
            name: kernel.name.clone(),
            max_threads: kernel.max_threads,
            required_block: kernel.required_block,
            ..Program::default()
        },
        scopes: Scopes::default(),
        constants: HashMap::new(),
        specials: HashMap::new(),
        calls: Vec::new(),
        statics: HashMap::new(),
        frames: Vec::new(),
        guard: (ALWAYS, false),
        line: 0,
        first: true,
    };
    decoder.scopes.open();
    for (name, &address) in addresses {
        decoder.scopes.insert(name, Symbol::Memory(Space::Global, address));
    }
    decoder.module_variables()?;
    decoder.scopes.open();
    let mut offset: u64 = 0;
    for param in &kernel.params {
        offset = offset.next_multiple_of(param.align.max(1));
        decoder.scopes.insert(&param.name, Symbol::Memory(Space::Param, offset));
        decoder.program.params.push(Param { offset, size: param.size });
        offset += param.size;
    }
    decoder.program.param_bytes = offset;
    decoder.body(kernel, true)?;
    decoder.program.code.push(Inst {
        guard: ALWAYS,
        negated: false,
        extra: true,
        op: Op::Exit,
        o: Operands::default(),
        line: decoder.line,
    });
    Ok(decoder.program)
}

pub(super) struct Decoder<'m> {
    module: &'m Module,
    program: Program,
    scopes: Scopes,
    constants: HashMap<(Class, u64), u32>,
    specials: HashMap<Special, u32>,
    /// The functions being expanded.
    calls: Vec<String>,
    /// Shared variables of functions, one for all calls of a function: by function, scope and name.
    statics: HashMap<(String, u32, String), u64>,
    /// Labels and unresolved jumps of the functions being expanded.
    frames: Vec<Frame>,
    guard: (u32, bool),
    line: u32,
    /// Whether nothing has been emitted for the current instruction yet.
    first: bool,
}

#[derive(Default)]
struct Frame {
    entry: bool,
    looked_at: HashSet<String>,
    /// Labels, by scope and name: a label is visible only inside its braces.
    labels: HashMap<(u32, String), u32>,
    tables: HashMap<(u32, String), Vec<String>>,
    /// Branch instructions, with their targets and the scopes they are in.
    jumps: Vec<(usize, Jump, Vec<u32>)>,
    /// The open scopes, by number, outermost first.
    open: Vec<u32>,
    braces: u32,
}

impl Frame {
    fn inside(&self) -> u32 {
        self.open.last().copied().unwrap_or(0)
    }
}

/// Resolves a name in the open scopes, innermost first.
fn named<'a, T>(of: &'a HashMap<(u32, String), T>, name: &str, open: &[u32]) -> Option<&'a T> {
    open.iter().rev().chain(&[0]).find_map(|&brace| of.get(&(brace, name.to_string())))
}

enum Jump {
    Label(String),
    Table(String),
    /// To the end of the function.
    End,
}

impl Decoder<'_> {
    fn module_variables(&mut self) -> Decoded<()> {
        for variable in &self.module.variables {
            if variable.space == Space::Shared {
                let offset = self.shared_variable(variable);
                self.scopes.insert(&variable.name, Symbol::Memory(Space::Shared, offset));
            }
            if variable.space == Space::Const {
                let packed = self.program.const_bytes.next_multiple_of(variable.align.max(1));
                self.program.const_bytes = packed + variable.size;
            }
        }
        Ok(())
    }

    fn shared_variable(&mut self, variable: &Variable) -> u64 {
        // Dynamic shared memory starts where the static part ends, which is not known yet; hence a fixed address far
        // above what static memory may use.
        if variable.unsized_array {
            return super::block::DYNAMIC_SHARED;
        }
        let packed = self.program.shared_bytes.next_multiple_of(variable.align.max(1));
        self.program.shared_bytes = packed + variable.size;
        let end = self.program.shared.last().map_or(0, |v| v.offset + v.size + SHARED_GAP);
        let offset = end.next_multiple_of(variable.align.max(16));
        let (name, size) = (variable.name.clone(), variable.size);
        self.program.shared.push(SharedVariable { name, offset, size });
        offset
    }

    fn local_variable(&mut self, variable: &Variable) -> u64 {
        let offset = self.program.local_bytes.next_multiple_of(variable.align.max(1));
        self.program.local_bytes = offset + variable.size;
        offset
    }

    fn body(&mut self, function: &Function, entry: bool) -> Decoded<()> {
        let looked_at = copies::looked_at(function);
        self.frames.push(Frame { entry, looked_at, ..Frame::default() });
        self.scopes.open();
        for statement in &function.body {
            self.statement(statement)?;
            if self.program.code.len() > MAX_CODE {
                return Err(format!(
                    "line {}: {} is too large with its calls expanded",
                    self.line, self.program.name
                ));
            }
        }
        self.scopes.close();
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let end = self.program.code.len() as u32;
        for (at, jump, open) in &frame.jumps {
            let line = self.program.code[*at].line;
            let place = |label: &String| {
                named(&frame.labels, label, open)
                    .copied()
                    .ok_or_else(|| format!("line {line}: unknown label {label}"))
            };
            self.program.code[*at].op = match jump {
                Jump::Label(label) => Op::Branch(place(label)?),
                Jump::End => Op::Branch(end),
                Jump::Table(name) => {
                    let labels = named(&frame.tables, name, open)
                        .ok_or_else(|| format!("line {line}: unknown branch table {name}"))?;
                    Op::Table(labels.iter().map(place).collect::<Decoded<_>>()?)
                }
            };
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Decoded<()> {
        match statement {
            Statement::Open => {
                self.scopes.open();
                if let Some(frame) = self.frames.last_mut() {
                    frame.braces += 1;
                    frame.open.push(frame.braces);
                }
            }
            Statement::Close => {
                self.scopes.close();
                if let Some(frame) = self.frames.last_mut() {
                    frame.open.pop();
                }
            }
            Statement::Registers { class, lanes, names } if *lanes > 1 => {
                for (name, count) in names {
                    let plain = || vec![name.clone()];
                    let numbered = |n: &u32| (0..*n).map(|k| format!("{name}{k}")).collect();
                    for name in count.as_ref().map_or_else(plain, numbered) {
                        let first = self.slots(*class, *lanes);
                        self.scopes.insert(&name, Symbol::Vector(*class, first, *lanes));
                    }
                }
            }
            Statement::Registers { class, names, .. } => {
                for (name, count) in names {
                    let first = self.slots(*class, count.unwrap_or(1));
                    match count {
                        Some(count) => self.scopes.insert_range(name, *class, first, *count),
                        None => self.scopes.insert(name, Symbol::Register(*class, first)),
                    }
                }
            }
            Statement::Variable(variable) => match variable.space {
                Space::Shared => {
                    let function = self.calls.last().cloned().unwrap_or_default();
                    let braces = self.frames.last().map_or(0, Frame::inside);
                    let key = (function, braces, variable.name.clone());
                    let offset = match self.statics.get(&key) {
                        Some(&offset) => offset,
                        None => {
                            let offset = self.shared_variable(variable);
                            self.statics.insert(key, offset);
                            offset
                        }
                    };
                    self.scopes.insert(&variable.name, Symbol::Memory(Space::Shared, offset));
                }
                Space::Local | Space::Param => {
                    let offset = self.local_variable(variable);
                    self.scopes.insert(&variable.name, Symbol::Memory(Space::Local, offset));
                }
                _ => {
                    return Err(format!(
                        "line {}: a {:?} variable inside a function",
                        self.line, variable.space
                    ));
                }
            },
            Statement::Label(name) => {
                let at = self.program.code.len() as u32;
                if let Some(frame) = self.frames.last_mut() {
                    frame.labels.insert((frame.inside(), name.clone()), at);
                }
            }
            Statement::Targets(name, labels) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.tables.insert((frame.inside(), name.clone()), labels.clone());
                }
            }
            Statement::Instruction(instruction) => {
                self.line = instruction.line;
                self.first = true;
                self.guard = match &instruction.guard {
                    None => (ALWAYS, false),
                    Some((name, negated)) => match self.scopes.find(name) {
                        Some(Symbol::Register(Class::Pred, slot)) => (slot, *negated),
                        _ => return Err(format!("line {}: {name} is not a predicate", self.line)),
                    },
                };
                self.instruction(instruction).map_err(|e| {
                    if e.starts_with("line ") {
                        format!("{e}, called at line {}", instruction.line)
                    } else {
                        format!("line {}: {e} in `{}`", instruction.line, instruction.opcode)
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Allocates registers of a class and returns the slot of the first one.
    fn slots(&mut self, class: Class, count: u32) -> u32 {
        let next = &mut self.program.registers[class as usize];
        let first = *next;
        *next += count;
        first
    }

    fn emit(&mut self, op: Op, o: Operands) -> usize {
        let (guard, negated) = self.guard;
        self.program.code.push(Inst { guard, negated, extra: !self.first, op, o, line: self.line });
        self.first = false;
        self.program.code.len() - 1
    }

    /// Replaces the vector registers among the operands of an instruction by lists of their elements.
    fn in_lanes(&self, i: &Instruction) -> Option<Instruction> {
        if !self.scopes.vectors {
            return None;
        }
        let vector = |arg: &Arg| match arg {
            Arg::Name(name) => match self.scopes.find(name) {
                Some(Symbol::Vector(_, _, lanes)) => {
                    let lanes = ["x", "y", "z", "w"].iter().take(lanes as usize);
                    Some(Arg::Vector(lanes.map(|l| Arg::Name(format!("{name}.{l}"))).collect()))
                }
                _ => None,
            },
            _ => None,
        };
        i.args.iter().any(|arg| vector(arg).is_some()).then(|| Instruction {
            line: i.line,
            guard: i.guard.clone(),
            opcode: i.opcode.clone(),
            args: i.args.iter().map(|arg| vector(arg).unwrap_or_else(|| arg.clone())).collect(),
            used: i.used,
        })
    }

    fn instruction(&mut self, i: &Instruction) -> Decoded<()> {
        let in_lanes = self.in_lanes(i);
        let i = in_lanes.as_ref().unwrap_or(i);
        let parts: Vec<&str> = i.opcode.split('.').collect();
        match parts[0] {
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(&parts, i),
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "bar" | "barrier"
            | "membar" | "fence" | "nanosleep" | "pmevent" | "prefetch" | "prefetchu"
            | "griddepcontrol" | "applypriority" | "discard" | "createpolicy" => {
                self.control(&parts, i)
            }
            _ => self.table(&parts, i),
        }
    }
}
