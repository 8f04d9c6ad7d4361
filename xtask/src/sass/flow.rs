//! The control flow of a kernel, and the hot path through it.
//!
//! The code is split into basic blocks. The hot path is found without knowing which case is the fast one: first, the
//! path from entry to exit with the fewest instructions per byte loaded is searched (a bounds-checked tail needs more
//! than the vector path, so it loses); then, among the paths through these loads, the one with the fewest instructions
//! per byte stored. If that runs through a loop that stores, the hot path is one iteration of that loop.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::listing::Instruction;

/// A successor of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Next {
    Block(usize),
    Exit,
}

/// Basic blocks and the edges between them.
struct Flow<'a> {
    code: &'a [Instruction],
    blocks: Vec<(usize, usize)>,
    next: Vec<Vec<Next>>,
    /// Back edges, whose target dominates their source.
    back: HashSet<(usize, usize)>,
}

/// A path: the bytes it moves, its length in instructions, and its blocks in order.
#[derive(Clone, Debug)]
struct Path {
    value: u32,
    length: usize,
    blocks: Vec<usize>,
}

/// A region in which a path is searched.
struct Region<'a> {
    start: usize,
    ends: &'a HashSet<Next>,
    inside: &'a HashSet<usize>,
}

/// Returns the instructions of the hot path, in order. The hot loop of a reduction is one that loads, not one that stores.
pub fn hot_path(code: &[Instruction], reduces: bool) -> Vec<&Instruction> {
    let flow = Flow::new(code);
    let everything: HashSet<usize> = (0..flow.blocks.len()).collect();
    let exit = HashSet::from([Next::Exit]);
    let straight = flow.best(&Region { start: 0, ends: &exit, inside: &everything });
    let on_path = |block: usize| straight.as_ref().is_none_or(|path| path.blocks.contains(&block));

    let headers: BTreeSet<usize> = flow.back.iter().map(|&(_, header)| header).collect();
    let mut hottest: Option<Path> = None;
    for header in headers.into_iter().filter(|&header| on_path(header)) {
        let latches: Vec<usize> =
            flow.back.iter().filter(|edge| edge.1 == header).map(|edge| edge.0).collect();
        let inside = flow.natural_loop(header, &latches);
        let ends = latches.iter().map(|&latch| Next::Block(latch)).collect();
        let turn = flow.best(&Region { start: header, ends: &ends, inside: &inside });
        let Some(mut turn) = turn else { continue };
        if reduces {
            turn.value = turn.blocks.iter().map(|&block| flow.loaded(block)).sum();
        }
        let better = |old: &Path| {
            (turn.value, -(turn.length as isize)) > (old.value, -(old.length as isize))
        };
        if turn.value > 0 && hottest.as_ref().is_none_or(better) {
            hottest = Some(turn);
        }
    }
    let blocks = hottest.or(straight).map_or_else(Vec::new, |path| path.blocks);
    blocks.iter().flat_map(|&block| flow.instructions(block)).collect()
}

/// Returns the instructions of the shortest path that passes as many loads as any, in order. This is the path of a warp in which
/// some threads add up the terms that vectors leave over.
pub fn full_path(code: &[Instruction]) -> Vec<&Instruction> {
    let flow = Flow::new(code);
    let everything: HashSet<usize> = (0..flow.blocks.len()).collect();
    let loading = everything.iter().copied().filter(|&block| flow.loaded(block) > 0).collect();
    let exit = HashSet::from([Next::Exit]);
    let region = Region { start: 0, ends: &exit, inside: &everything };
    let path = flow.fewest(&region, &loading, |block| flow.stored(block));
    let blocks = path.map_or_else(Vec::new, |path| path.blocks);
    blocks.iter().flat_map(|&block| flow.instructions(block)).collect()
}

impl<'a> Flow<'a> {
    fn new(code: &'a [Instruction]) -> Flow<'a> {
        let place: HashMap<u64, usize> =
            code.iter().enumerate().map(|(index, i)| (i.address, index)).collect();
        let target = |i: &Instruction| i.target().and_then(|address| place.get(&address).copied());
        let mut leaders = BTreeSet::from([0]);
        for (index, instruction) in code.iter().enumerate() {
            if instruction.is_branch() {
                leaders.extend(target(instruction));
                leaders.insert(index + 1);
            } else if matches!(instruction.base(), "EXIT" | "RET" | "BRX") {
                leaders.insert(index + 1);
            }
        }
        let starts: Vec<usize> = leaders.into_iter().filter(|&start| start < code.len()).collect();
        let block_at: HashMap<usize, usize> =
            starts.iter().enumerate().map(|(block, &start)| (start, block)).collect();
        let (mut blocks, mut next) = (Vec::new(), Vec::new());
        for (block, &start) in starts.iter().enumerate() {
            let end = starts.get(block + 1).copied().unwrap_or(code.len());
            let last = &code[end - 1];
            let through = block_at.get(&end).map(|&block| Next::Block(block));
            let mut edges = Vec::new();
            if last.is_branch() {
                edges.extend(target(last).map(|index| Next::Block(block_at[&index])));
                edges.extend(through.filter(|_| last.is_conditional()));
            } else if matches!(last.base(), "EXIT" | "RET") {
                edges.extend(through.filter(|_| last.is_conditional()));
                edges.push(Next::Exit);
            } else {
                edges.extend(through);
            }
            blocks.push((start, end));
            next.push(edges);
        }
        let mut flow = Flow { code, blocks, next, back: HashSet::new() };
        let dominators = flow.dominators();
        for (source, edges) in flow.next.iter().enumerate() {
            for edge in edges {
                if let Next::Block(target) = *edge
                    && dominators[source].contains(&target)
                {
                    flow.back.insert((source, target));
                }
            }
        }
        flow
    }

    fn instructions(&self, block: usize) -> &'a [Instruction] {
        &self.code[self.blocks[block].0..self.blocks[block].1]
    }

    fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.blocks.len()];
        for (source, edges) in self.next.iter().enumerate() {
            for edge in edges {
                if let Next::Block(target) = *edge {
                    all[target].push(source);
                }
            }
        }
        all
    }

    /// Returns the dominators of every block.
    fn dominators(&self) -> Vec<HashSet<usize>> {
        let count = self.blocks.len();
        let predecessors = self.predecessors();
        let mut all: Vec<HashSet<usize>> = vec![(0..count).collect(); count];
        all[0] = HashSet::from([0]);
        loop {
            let mut changed = false;
            for block in 1..count {
                let mut sources = predecessors[block].iter();
                let mut common =
                    sources.next().map_or_else(HashSet::new, |&first| all[first].clone());
                for &source in sources {
                    common.retain(|dominator| all[source].contains(dominator));
                }
                common.insert(block);
                if common != all[block] {
                    all[block] = common;
                    changed = true;
                }
            }
            if !changed {
                return all;
            }
        }
    }

    /// Returns the natural loop: the header, and the blocks from which a latch can be reached without passing the
    /// header.
    fn natural_loop(&self, header: usize, latches: &[usize]) -> HashSet<usize> {
        let predecessors = self.predecessors();
        let mut inside = HashSet::from([header]);
        let mut open = latches.to_vec();
        while let Some(block) = open.pop() {
            if inside.insert(block) {
                open.extend(&predecessors[block]);
            }
        }
        inside
    }

    fn loaded(&self, block: usize) -> u32 {
        self.instructions(block).iter().filter(|i| i.is_global_load()).map(Instruction::width).sum()
    }

    fn stored(&self, block: usize) -> u32 {
        self.instructions(block)
            .iter()
            .filter(|i| i.is_global_store())
            .map(Instruction::width)
            .sum()
    }

    /// Returns the hot path through a region; its value is the bytes stored.
    fn best(&self, region: &Region) -> Option<Path> {
        let loads = region.inside.iter().any(|&block| self.loaded(block) > 0);
        let none = HashSet::new();
        let first = if loads {
            self.fewest(region, &none, |block| self.loaded(block))?
        } else {
            self.fewest(region, &none, |block| self.stored(block))?
        };
        let loading: HashSet<usize> =
            first.blocks.iter().copied().filter(|&block| self.loaded(block) > 0).collect();
        let mut path = self.fewest(region, &loading, |block| self.stored(block)).unwrap_or(first);
        path.value = path.blocks.iter().map(|&block| self.stored(block)).sum();
        Some(path)
    }

    /// Finds the path with the fewest instructions per unit of value (Dinkelbach's method), through as many blocks of
    /// `through` as possible.
    fn fewest(
        &self,
        region: &Region,
        through: &HashSet<usize>,
        value: impl Fn(usize) -> u32,
    ) -> Option<Path> {
        let (mut price, mut last) = (1e9, None);
        loop {
            let path = self.cheapest(region, through, price, &value);
            match path {
                Some(path)
                    if path.value > 0
                        && (path.length as f64 / f64::from(path.value)) < price - 1e-9 =>
                {
                    price = path.length as f64 / f64::from(path.value);
                    last = Some(path);
                }
                path => return last.or(path),
            }
        }
    }

    /// Finds the acyclic path with the least `length - price * value`.
    fn cheapest(
        &self,
        region: &Region,
        through: &HashSet<usize>,
        price: f64,
        value: &impl Fn(usize) -> u32,
    ) -> Option<Path> {
        let mut search =
            Search { flow: self, region, through, price, value, known: HashMap::new() };
        search.from(region.start)?;
        let (mut path, mut at) =
            (Path { value: 0, length: 0, blocks: Vec::new() }, Some(region.start));
        while let Some(block) = at {
            let found = search.known[&block]?;
            if path.blocks.is_empty() {
                (path.value, path.length) = (found.value, found.length);
            }
            path.blocks.push(block);
            at = found.next;
        }
        Some(path)
    }
}

/// The best continuation from a block.
#[derive(Clone, Copy)]
struct Way {
    passed: usize,
    value: u32,
    length: usize,
    next: Option<usize>,
}

struct Search<'a, 'b, V> {
    flow: &'a Flow<'b>,
    region: &'a Region<'a>,
    through: &'a HashSet<usize>,
    price: f64,
    value: &'a V,
    /// `None` while a block is being visited, and if no end can be reached from it.
    known: HashMap<usize, Option<Way>>,
}

impl<V: Fn(usize) -> u32> Search<'_, '_, V> {
    fn from(&mut self, block: usize) -> Option<Way> {
        if let Some(&way) = self.known.get(&block) {
            return way;
        }
        self.known.insert(block, None);
        let end = Way { passed: 0, value: 0, length: 0, next: None };
        let mut best: Option<Way> = self.region.ends.contains(&Next::Block(block)).then_some(end);
        for edge in self.flow.next[block].clone() {
            let way = match edge {
                Next::Exit => self.region.ends.contains(&Next::Exit).then_some(end),
                Next::Block(next)
                    if !self.region.inside.contains(&next)
                        || self.flow.back.contains(&(block, next)) =>
                {
                    None
                }
                Next::Block(next) => self.from(next).map(|way| Way { next: Some(next), ..way }),
            };
            let cost = |way: &Way| way.length as f64 - self.price * f64::from(way.value);
            if let Some(way) = way
                && best.is_none_or(|best| {
                    way.passed > best.passed
                        || (way.passed == best.passed && cost(&way) < cost(&best))
                })
            {
                best = Some(way);
            }
        }
        let (start, stop) = self.flow.blocks[block];
        let way = best.map(|way| Way {
            passed: way.passed + usize::from(self.through.contains(&block)),
            value: way.value + (self.value)(block),
            length: way.length + stop - start,
            next: way.next,
        });
        self.known.insert(block, way);
        way
    }
}
