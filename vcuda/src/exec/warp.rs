//! A warp: 32 threads, in groups with the same program counter.
//!
//! The group with the lowest program counter runs until it reaches another group, branches or waits. The way compilers
//! lay out code, diverged threads thus reconverge at the first instruction they share.

use super::access::{Fault, Way};
use super::block::BlockState;
use super::program::{ALWAYS, Barrier, Inst, Op, Program, Special};
use crate::error::ERROR_ASSERT;
use crate::isa::lane::{LANES, Lane, Registers, lanes};
use crate::ptx::ast::Class;
use crate::sanitizer::{Finding, Kind, Place};

/// Bytes, and whether each has been written.
#[derive(Debug, Default)]
pub struct LocalMemory {
    pub bytes: Vec<u8>,
    pub holds: Vec<bool>,
}

/// Why a group does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Ready,
    /// At the barrier with this number, by the instruction before `pc`.
    Barrier(u32),
    /// For other lanes of the warp.
    Lanes,
}

/// Threads with the same program counter.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub pc: u32,
    pub mask: u32,
    pub wait: Wait,
}

impl Group {
    /// Returns the instruction that the group waits at or runs next.
    fn stands_at<'p>(&self, code: &'p [Inst]) -> &'p Inst {
        let waited = matches!(self.wait, Wait::Barrier(_));
        &code[self.pc as usize - usize::from(waited)]
    }
}

/// Why a warp stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// All threads have exited.
    Ended,
    /// Every group waits.
    Waiting,
    /// The instructions of its turn are used up.
    Turn,
}

/// A warp.
#[derive(Debug)]
pub struct Warp {
    pub index: usize,
    pub regs: Registers,
    pub groups: Vec<Group>,
    pub local: LocalMemory,
    /// PTX instructions run, summed over threads.
    pub executed: u64,
    /// Instructions run in this block, each counted once however many threads took part.
    pub steps: u64,
    picks: u32,
}

impl Warp {
    /// Creates a warp with the registers and constants of a program.
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
            steps: 0,
            picks: 0,
        }
    }

    /// Puts the warp at the start of the program.
    pub fn start(&mut self, index: usize, block: &BlockState<'_>) {
        (self.index, self.steps) = (index, 0);
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

    /// Merges groups with the same program counter, and picks the one to run.
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
        // Every 1024th time the last group runs instead: the first may be spinning on it.
        if self.picks.is_multiple_of(1024) {
            self.groups.iter().rposition(ready)
        } else {
            self.groups.iter().position(ready)
        }
    }

    /// Runs until every group waits or has exited, or the turn is used up.
    pub fn run(&mut self, block: &mut BlockState<'_>, turn: u64) -> Result<Stop, Fault> {
        let mut left = turn;
        let stop = self.run_groups(block, &mut left);
        self.steps += turn - left;
        stop
    }

    fn run_groups(&mut self, block: &mut BlockState<'_>, left: &mut u64) -> Result<Stop, Fault> {
        loop {
            let Some(k) = self.pick() else {
                if self.groups.is_empty() {
                    return Ok(Stop::Ended);
                }
                if self.meet_apart(block) {
                    continue;
                }
                return Ok(Stop::Waiting);
            };
            let group = self.groups.swap_remove(k);
            // Run up to the next instruction where another group is, to join it.
            let meet = self
                .groups
                .iter()
                .filter(|g| !matches!(g.wait, Wait::Barrier(_)) && g.pc > group.pc)
                .map(|g| g.pc)
                .min()
                .unwrap_or(u32::MAX);
            self.run_group(block, group, meet, left)?;
            if *left == 0 {
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
                        && let Err(fault) = self.access(block, inst, a, m, Way::Read, None)
                    {
                        break Err(fault);
                    }
                }
                Op::Store(a) => {
                    if m != 0
                        && let Err(fault) = self.access(block, inst, a, m, Way::Write, None)
                    {
                        break Err(fault);
                    }
                }
                Op::Atomic(a, change) => {
                    if m != 0
                        && let Err(fault) = self.access(block, inst, a, m, Way::Both, Some(*change))
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
                    let named = match self.named(block, inst, m) {
                        Ok(named) => named,
                        Err(fault) => break Err(fault),
                    };
                    let alive = self.alive() | g.mask;
                    if named & alive & !m != 0 {
                        self.groups.push(Group { pc: g.pc - 1, mask: m, wait: Wait::Lanes });
                        if g.mask != m {
                            self.groups.push(Group { mask: g.mask & !m, ..g });
                        }
                        break Ok(());
                    }
                    self.meet(block, inst, m, alive);
                }
                Op::Fence if m == 0 => {}
                Op::Fence => block.order(|track| track.publish(self.index, m)),
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
                    let wait = *kind != Barrier::Arrive;
                    // Not all threads of the block need to arrive, or to wait.
                    if expected != 0 || !wait {
                        block.order(|track| track.publish(self.index, m));
                    }
                    block.arrive(number, expected, m, votes, wait);
                    if !wait {
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
                        Some(lane) => {
                            let text = format!("branch index {} of {}", index[lane], targets.len());
                            Err(self.fault(block, inst, lane, Kind::IllegalInstruction, text))
                        }
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
                Op::Print => {
                    if m != 0
                        && let Err(fault) = self.print(block, inst, m)
                    {
                        break Err(fault);
                    }
                }
                Op::Trap(code, why) => {
                    if m != 0 {
                        let kind = if *code == ERROR_ASSERT { Kind::Assert } else { Kind::Trap };
                        let lane = m.trailing_zeros() as usize;
                        break Err(self.fault(block, inst, lane, kind, (*why).into()));
                    }
                }
                Op::Nothing => {}
            }
        };
        self.executed += count;
        outcome
    }

    /// Returns the threads that have not exited, leaving out the group that is running.
    fn alive(&self) -> u32 {
        self.groups.iter().fold(0, |all, group| all | group.mask)
    }

    /// Returns all lanes that a warp instruction waits for: the union of the masks of the lanes that run it.
    fn named(&self, block: &BlockState<'_>, inst: &Inst, m: u32) -> Result<u32, Fault> {
        let masks = &self.regs.word[inst.o.s[4] as usize];
        if let Some(lane) = lanes(m).find(|&lane| masks[lane] >> lane & 1 == 0) {
            let text = format!("the mask {:#x} lacks the lane {lane} that uses it", masks[lane]);
            let found = self.fault(block, inst, lane, Kind::WrongSync, text);
            block.launch.tolerance.judge(found)?;
        }
        Ok(lanes(m).fold(0, |all, lane| all | masks[lane]))
    }

    /// Runs a warp instruction, once for each set of lanes with the same mask.
    fn meet(&mut self, block: &mut BlockState<'_>, inst: &Inst, m: u32, alive: u32) {
        let masks = self.regs.word[inst.o.s[4] as usize];
        let mut rest = m;
        while rest != 0 {
            let mask = masks[rest.trailing_zeros() as usize];
            let set = lanes(rest).filter(|&lane| masks[lane] == mask).fold(0, |s, l| s | 1 << l);
            match &inst.op {
                Op::Together(body) => body(&mut self.regs, &inst.o, set),
                _ => block.order(|track| track.lanes_met(self.index, set | !alive)),
            }
            rest &= !set;
        }
    }

    /// Called when all groups wait. The lanes that a warp instruction waits for may have exited meanwhile, or wait at
    /// another warp barrier, which releases both. Returns whether a group can continue.
    fn meet_apart(&mut self, block: &mut BlockState<'_>) -> bool {
        let code = &block.launch.program.code[..];
        let alive = self.alive();
        let masks_of = |warp: &Warp, group: &Group| {
            let masks = &warp.regs.word[code[group.pc as usize].o.s[4] as usize];
            lanes(group.mask).fold(0, |all, lane| all | masks[lane])
        };
        let waits = |group: &Group| group.wait == Wait::Lanes;
        let complete = (0..self.groups.len()).find(|&k| {
            let group = &self.groups[k];
            waits(group) && masks_of(self, group) & alive & !group.mask == 0
        });
        if let Some(k) = complete {
            self.groups[k].wait = Wait::Ready;
            return true;
        }
        let barrier = |g: &Group| waits(g) && matches!(code[g.pc as usize].op, Op::WarpBarrier);
        let (there, named) = self
            .groups
            .iter()
            .filter(|g| barrier(g))
            .fold((0, 0), |(there, named), g| (there | g.mask, named | masks_of(self, g)));
        if there == 0 || named & alive & !there != 0 {
            return false;
        }
        for group in self.groups.iter_mut().filter(|g| barrier(g)) {
            *group = Group { pc: group.pc + 1, wait: Wait::Ready, ..*group };
        }
        block.order(|track| track.lanes_met(self.index, there | !alive));
        true
    }

    /// Fails if threads of the warp arrived at a barrier by different instructions where that is not allowed.
    pub fn is_together_at(&self, block: &BlockState<'_>, number: u32) -> Result<(), Fault> {
        let code = &block.launch.program.code;
        let mut there = self
            .groups
            .iter()
            .filter(|g| g.wait == Wait::Barrier(number) && g.stands_at(code).o.imm != 0);
        let Some(first) = there.next() else { return Ok(()) };
        let Some(other) = there.find(|g| g.pc != first.pc) else { return Ok(()) };
        let text = format!(
            "threads of a warp come to barrier {number} at different places, this one and PTX line {}",
            other.stands_at(code).line
        );
        let lane = first.mask.trailing_zeros() as usize;
        let found = self.fault(block, first.stands_at(code), lane, Kind::WrongSync, text);
        block.launch.tolerance.judge(found)
    }

    /// Creates a finding at an instruction of a lane.
    #[cold]
    pub fn fault(
        &self,
        block: &BlockState<'_>,
        inst: &Inst,
        lane: usize,
        kind: Kind,
        text: String,
    ) -> Fault {
        let thread = block.thread((self.index * LANES + lane) as u32);
        let place = Place {
            kernel: block.launch.program.name.clone(),
            block: block.at,
            thread,
            line: inst.line,
        };
        Box::new(Finding { kind, code: kind.code(), place: Some(place), text })
    }

    /// Creates the finding that this warp runs for too long or waits for ever.
    pub fn stuck(&self, block: &BlockState<'_>, kind: Kind) -> Fault {
        let group = self.groups.iter().min_by_key(|g| g.wait == Wait::Ready).copied();
        let group = group.unwrap_or(Group { pc: 0, mask: 1, wait: Wait::Ready });
        let text = match (kind, group.wait) {
            (Kind::Timeout, _) => "the kernel runs for too long",
            (_, Wait::Lanes) => "threads wait for others of their warp that never come",
            _ => "threads wait at a barrier that others never reach",
        };
        let lane = group.mask.trailing_zeros() as usize % LANES;
        self.fault(block, group.stands_at(&block.launch.program.code), lane, kind, text.into())
    }
}

fn class_counts(program: &Program) -> [usize; 3] {
    let count = |class: Class| program.registers[class as usize] as usize;
    [count(Class::Word), count(Class::Wide), count(Class::Pred)]
}

impl BlockState<'_> {
    /// Returns the value of a special register.
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
            Special::WorkspaceHigh => (launch.workspace >> 32) as u32,
            Special::WorkspaceLow => launch.workspace as u32,
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
