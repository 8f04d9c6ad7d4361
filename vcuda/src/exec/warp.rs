//! A warp: 32 threads in groups that stand at the same instruction.
//!
//! The group with the lowest program counter runs until it meets another, branches or waits. Threads that
//! diverged thus join again at the first instruction they share, as compilers lay code out.

use super::access::Fault;
use super::block::BlockState;
use super::program::{ALWAYS, Barrier, Inst, Op, Program, Special};
use crate::error::{Code, ERROR_ILLEGAL_INSTRUCTION, ERROR_LAUNCH_TIMEOUT};
use crate::isa::lane::{LANES, Lane, Registers, lanes};
use crate::ptx::ast::Class;
use crate::sanitizer::{Finding, Kind, Place};

/// Bytes and whether each was written.
#[derive(Debug, Default)]
pub struct LocalMemory {
    pub bytes: Vec<u8>,
    pub holds: Vec<bool>,
}

/// Why a group does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Ready,
    /// At the barrier of this number, set by the instruction before `pc`.
    Barrier(u32),
    /// For other lanes of the warp.
    Lanes,
}

/// Threads that stand at the same instruction.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub pc: u32,
    pub mask: u32,
    pub wait: Wait,
}

/// Why a warp stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// All threads have ended.
    Ended,
    /// Every group waits.
    Waiting,
    /// The turn is over.
    Turn,
}

/// A warp.
#[derive(Debug)]
pub struct Warp {
    pub index: usize,
    pub regs: Registers,
    pub groups: Vec<Group>,
    pub local: LocalMemory,
    /// Instructions run, summed over threads.
    pub executed: u64,
    picks: u32,
}

impl Warp {
    /// A warp with the registers and constants of a program.
    pub fn new(program: &Program) -> Warp {
        let [words, wides, preds] = class_counts(program);
        let mut regs = Registers {
            word: vec![[0xbaad_f00d; LANES]; words],
            wide: vec![[0xbaad_f00d_baad_f00d; LANES]; wides],
            pred: vec![0; preds],
            carry: 0,
        };
        for &(class, slot, value) in &program.constants {
            let slot = slot as usize;
            match class {
                Class::Word => regs.word[slot] = [value as u32; LANES],
                Class::Wide => regs.wide[slot] = [value; LANES],
                Class::Pred => regs.pred[slot] = if value != 0 { u32::MAX } else { 0 },
            }
        }
        let frame = program.local_bytes as usize * LANES;
        Warp {
            index: 0,
            regs,
            groups: Vec::new(),
            local: LocalMemory { bytes: vec![0; frame], holds: vec![false; frame] },
            executed: 0,
            picks: 0,
        }
    }

    /// Places the warp at the start of the program.
    pub fn start(&mut self, index: usize, block: &BlockState<'_>) {
        self.index = index;
        self.groups.clear();
        let first = (index * LANES) as u32;
        let count = (block.threads - first).min(LANES as u32);
        let mask = if count == 32 { u32::MAX } else { (1 << count) - 1 };
        self.groups.push(Group { pc: 0, mask, wait: Wait::Ready });
        self.local.holds.fill(false);
        for &(special, slot) in &block.launch.program.specials {
            self.regs.word[slot as usize] =
                std::array::from_fn(|lane| block.special(special, first, lane as u32));
        }
    }

    /// Joins groups that stand at one place, and picks the one to run.
    fn pick(&mut self) -> Option<usize> {
        if self.groups.len() > 1 {
            self.groups.sort_unstable_by_key(|g| (matches!(g.wait, Wait::Barrier(_)), g.pc));
            let mut k = 1;
            while k < self.groups.len() {
                let (a, b) = (self.groups[k - 1], self.groups[k]);
                if a.pc == b.pc
                    && !matches!(a.wait, Wait::Barrier(_))
                    && !matches!(b.wait, Wait::Barrier(_))
                {
                    self.groups[k - 1] =
                        Group { pc: a.pc, mask: a.mask | b.mask, wait: Wait::Ready };
                    self.groups.remove(k);
                } else {
                    k += 1;
                }
            }
        }
        self.picks = self.picks.wrapping_add(1);
        let ready = |g: &Group| g.wait == Wait::Ready;
        // Now and then the last group has a go: the first may be waiting for it in a loop.
        if self.picks.is_multiple_of(1024) {
            self.groups.iter().rposition(ready)
        } else {
            self.groups.iter().position(ready)
        }
    }

    /// Runs until everything waits or has ended, or the turn is over.
    pub fn run(&mut self, block: &mut BlockState<'_>, turn: u64) -> Result<Stop, Fault> {
        let mut left = turn;
        loop {
            let Some(k) = self.pick() else {
                return Ok(if self.groups.is_empty() { Stop::Ended } else { Stop::Waiting });
            };
            let group = self.groups.swap_remove(k);
            // Where another group stands, this one joins it.
            let meet = self
                .groups
                .iter()
                .filter(|g| !matches!(g.wait, Wait::Barrier(_)) && g.pc > group.pc)
                .map(|g| g.pc)
                .min()
                .unwrap_or(u32::MAX);
            self.run_group(block, group, meet, &mut left)?;
            if left == 0 {
                return Ok(if self.groups.is_empty() { Stop::Ended } else { Stop::Turn });
            }
        }
    }

    fn run_group(
        &mut self,
        block: &mut BlockState<'_>,
        mut g: Group,
        meet: u32,
        left: &mut u64,
    ) -> Result<(), Fault> {
        let program = block.launch.program;
        let code = &program.code[..];
        let mut count = 0;
        let alone = self.groups.is_empty();
        let outcome = loop {
            if g.pc == meet || *left == 0 {
                self.groups.push(g);
                break Ok(());
            }
            let inst = &code[g.pc as usize];
            *left -= 1;
            let mut m = g.mask;
            if inst.guard != ALWAYS {
                let p = self.regs.pred[inst.guard as usize];
                m &= if inst.negated { !p } else { p };
            }
            count += if inst.extra { 0 } else { u64::from(g.mask.count_ones()) };
            g.pc += 1;
            match &inst.op {
                Op::Row(body) => {
                    if m != 0 {
                        body(&mut self.regs, &inst.o, m);
                    }
                }
                Op::Branch(target) => {
                    if m == g.mask {
                        let back = *target < g.pc;
                        g.pc = *target;
                        if !alone || back && block.launch.stopped() {
                            self.groups.push(g);
                            break Ok(());
                        }
                    } else if m != 0 {
                        self.groups.push(Group { pc: *target, mask: m, wait: Wait::Ready });
                        self.groups.push(Group { mask: g.mask & !m, ..g });
                        break Ok(());
                    }
                }
                Op::Load(a) => {
                    if m != 0
                        && let Err(fault) = self.access(block, inst, a, m, false, None)
                    {
                        break Err(fault);
                    }
                }
                Op::Store(a) => {
                    if m != 0
                        && let Err(fault) = self.access(block, inst, a, m, true, None)
                    {
                        break Err(fault);
                    }
                }
                Op::Atomic(a, change) => {
                    if m != 0
                        && let Err(fault) = self.access(block, inst, a, m, false, Some(*change))
                    {
                        break Err(fault);
                    }
                }
                Op::Exit => {
                    g.mask &= !m;
                    block.ended += m.count_ones();
                    if g.mask == 0 {
                        break Ok(());
                    }
                }
                Op::Together(_) | Op::WarpBarrier => {
                    if m == 0 {
                        continue;
                    }
                    let first = m.trailing_zeros() as usize;
                    let members = self.regs.word[inst.o.s[4] as usize][first];
                    let alive = self.groups.iter().fold(g.mask, |all, other| all | other.mask);
                    if members & alive & !m != 0 && !alone {
                        g.pc -= 1;
                        self.groups.push(Group { wait: Wait::Lanes, ..g });
                        break Ok(());
                    }
                    match &inst.op {
                        Op::Together(body) => body(&mut self.regs, &inst.o, m),
                        _ => block.warp_met(self.index),
                    }
                }
                Op::Barrier(kind) => {
                    if m == 0 {
                        continue;
                    }
                    let number = self.regs.word[inst.o.s[0] as usize][m.trailing_zeros() as usize];
                    let expected =
                        self.regs.word[inst.o.s[1] as usize][m.trailing_zeros() as usize];
                    let votes = if matches!(kind, Barrier::Sync | Barrier::Arrive) {
                        0
                    } else {
                        self.regs.pred[inst.o.s[2] as usize] & m
                    };
                    block.arrive(number, expected, m, votes);
                    if *kind == Barrier::Arrive {
                        continue;
                    }
                    if g.mask != m {
                        self.groups.push(Group { mask: g.mask & !m, ..g });
                    }
                    self.groups.push(Group { pc: g.pc, mask: m, wait: Wait::Barrier(number) });
                    break Ok(());
                }
                Op::Table(targets) => {
                    let index = self.regs.word[inst.o.s[0] as usize];
                    if m != g.mask {
                        self.groups.push(Group { mask: g.mask & !m, ..g });
                    }
                    let mut bad = None;
                    for lane in lanes(m) {
                        match targets.get(index[lane] as usize) {
                            Some(&pc) => {
                                self.groups.push(Group { pc, mask: 1 << lane, wait: Wait::Ready })
                            }
                            None => bad = Some(lane),
                        }
                    }
                    break match bad {
                        Some(lane) => Err(self.fault(
                            block,
                            inst,
                            lane,
                            Kind::Trap,
                            ERROR_ILLEGAL_INSTRUCTION,
                            format!("branch index {} of {}", index[lane], targets.len()),
                        )),
                        None => Ok(()),
                    };
                }
                Op::Clock(class) => {
                    let now = block.launch.began.elapsed().as_nanos() as u64;
                    for lane in lanes(m) {
                        if *class == Class::Wide {
                            now.write(&mut self.regs, inst.o.d[0], lane)
                        } else {
                            (now as u32).write(&mut self.regs, inst.o.d[0], lane)
                        }
                    }
                }
                Op::Trap(code, why) => {
                    if m != 0 {
                        let kind = if *code == crate::error::ERROR_ASSERT {
                            Kind::Assert
                        } else {
                            Kind::Trap
                        };
                        break Err(self.fault(
                            block,
                            inst,
                            m.trailing_zeros() as usize,
                            kind,
                            *code,
                            (*why).into(),
                        ));
                    }
                }
                Op::Nothing => {}
            }
        };
        self.executed += count;
        outcome
    }

    /// A finding at an instruction of a lane.
    #[cold]
    pub fn fault(
        &self,
        block: &BlockState<'_>,
        inst: &Inst,
        lane: usize,
        kind: Kind,
        code: Code,
        text: String,
    ) -> Fault {
        let thread = block.thread((self.index * LANES + lane) as u32);
        let place = Place {
            kernel: block.launch.program.name.clone(),
            block: block.at,
            thread,
            line: inst.line,
        };
        Box::new(Finding { kind, code, place: Some(place), text })
    }

    /// The finding that this warp takes too long or waits for ever.
    pub fn stuck(&self, block: &BlockState<'_>, kind: Kind, text: &str) -> Fault {
        let group =
            self.groups.first().copied().unwrap_or(Group { pc: 0, mask: 1, wait: Wait::Ready });
        let code = &block.launch.program.code;
        let inst = &code[(group.pc as usize).saturating_sub(1).min(code.len() - 1)];
        self.fault(
            block,
            inst,
            group.mask.trailing_zeros() as usize % LANES,
            kind,
            ERROR_LAUNCH_TIMEOUT,
            text.into(),
        )
    }
}

fn class_counts(program: &Program) -> [usize; 3] {
    let count = |class: Class| program.registers[class as usize] as usize;
    [count(Class::Word), count(Class::Wide), count(Class::Pred)]
}

/// The value of a special register.
impl BlockState<'_> {
    fn special(&self, special: Special, first: u32, lane: u32) -> u32 {
        let [x, y, z] = self.thread(first + lane);
        let launch = self.launch;
        match special {
            Special::ThreadX => x,
            Special::ThreadY => y,
            Special::ThreadZ => z,
            Special::BlockSizeX => launch.block[0],
            Special::BlockSizeY => launch.block[1],
            Special::BlockSizeZ => launch.block[2],
            Special::BlockX => self.at[0],
            Special::BlockY => self.at[1],
            Special::BlockZ => self.at[2],
            Special::GridX => launch.grid[0],
            Special::GridY => launch.grid[1],
            Special::GridZ => launch.grid[2],
            Special::Lane => lane,
            Special::Warp => first / LANES as u32,
            Special::Warps => self.threads.div_ceil(LANES as u32),
            Special::Multiprocessor | Special::Grid | Special::Zero => 0,
            Special::Multiprocessors => 1,
            Special::DynamicShared => launch.dynamic_shared,
            Special::TotalShared => launch.dynamic_shared + launch.program.shared_bytes as u32,
            Special::MaskEq => 1 << lane,
            Special::MaskLe => u32::MAX >> (31 - lane),
            Special::MaskLt => (1 << lane) - 1,
            Special::MaskGe => u32::MAX << lane,
            Special::MaskGt => (u32::MAX << lane) & !(1 << lane),
        }
    }
}
