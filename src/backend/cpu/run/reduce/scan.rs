//! Scans, in the order that [`ScanRequest`] fixes.
//!
//! Along a dimension that is contiguous, runs of elements are converted, combined up to each one, and then combined with the
//! totals of the runs before them. If the elements of one scan are apart, many scans are computed at a time, an element of
//! each after another. Where every order gives the same, one total goes along instead of those of a tree.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use num_complex::Complex;
use smallvec::SmallVec;

use super::totals::Totals;
use super::tree::{self, Forest, RUN_BYTES, Room, Tree};
use super::{SHARE, route, share_units};
use crate::DType;
use crate::backend::cpu::loops::element;
use crate::backend::cpu::loops::fold::running::running;
use crate::backend::cpu::loops::table::{Recipe, recipe};
use crate::backend::cpu::loops::vector::{Kernel, Kernels, Versions};
use crate::backend::cpu::settings::Settings;
use crate::backend::cpu::threads::sharing::Team;
use crate::op::ElementOp;
use crate::scan::ScanRequest;

/// How many totals are computed at a time: a power of two.
const fn run_len<A>() -> usize {
    RUN_BYTES / size_of::<A>()
}

/// The loops from one dtype to another.
type Loops = SmallVec<[Kernel; 2]>;

/// Runs a scan from one address to another; returns `None` if it is not defined for its dtype.
///
/// # Safety
///
/// The elements of the request must be at `from`, and there must be room for as many results at `to`, which nothing else
/// accesses.
pub(crate) unsafe fn run(
    request: &ScanRequest,
    from: *const u8,
    to: *mut u8,
    settings: &Settings,
) -> Option<()> {
    let totals = Totals::new(request.combine, request.terms, settings.level)?;
    match totals.dtype.size() {
        1 => Scans::<u8>::new(request, from, to, totals, settings)?.run(),
        2 => Scans::<u16>::new(request, from, to, totals, settings)?.run(),
        4 => Scans::<u32>::new(request, from, to, totals, settings)?.run(),
        8 => Scans::<u64>::new(request, from, to, totals, settings)?.run(),
        // Complex numbers of 128 bits are aligned to 64.
        _ => Scans::<[u64; 2]>::new(request, from, to, totals, settings)?.run(),
    }
    Some(())
}

/// Scans with totals of the size of `A`.
struct Scans<'a, A> {
    request: &'a ScanRequest,
    from: *const u8,
    to: *mut u8,
    totals: Totals,
    settings: &'a Settings,
    /// The loops that convert elements to totals.
    widening: Loops,
    /// The loops that convert elements to what is folded.
    folding: Loops,
    /// The loops that convert totals to results.
    rounding: Loops,
    prefixes: Prefixes,
    total: PhantomData<A>,
}

// SAFETY: the caller of `run` vouches for the memory, and threads write disjoint parts of it.
unsafe impl<A> Sync for Scans<'_, A> {}

/// How the elements of a run are combined up to each one.
#[derive(Clone, Copy)]
enum Prefixes {
    /// By the first loop, as a tree; the second one combines all of them with a total.
    Tree(Kernel, Kernel),
    /// By a loop that takes the total of what is before them.
    Running(Kernel),
}

impl Prefixes {
    fn new(combine: ElementOp, dtype: DType, settings: &Settings) -> Option<Prefixes> {
        let level = settings.level as usize;
        let tree: Option<Versions> = match (combine, dtype) {
            (ElementOp::Add, DType::F64) => {
                Some(const { Kernels::prefixes::<f64, element::Add>() })
            }
            (ElementOp::Add, DType::C128) => {
                Some(const { Kernels::prefixes::<Complex<f64>, element::Add>() })
            }
            (ElementOp::Multiply, DType::F64) => {
                Some(const { Kernels::prefixes::<f64, element::Multiply>() })
            }
            (ElementOp::Multiply, DType::C128) => {
                Some(const { Kernels::prefixes::<Complex<f64>, element::Multiply>() })
            }
            _ => None,
        };
        let Some(tree) = tree else {
            return running(combine, dtype).map(|loops| Prefixes::Running(loops[level]));
        };
        // Addition and multiplication commute, so that the total may be the right argument.
        let Recipe::Loop(loops) = recipe(combine, dtype)? else { return None };
        Some(Prefixes::Tree(tree[level], loops.constant_rhs.as_ref()?[level]))
    }
}

impl<'a, A: Copy + Send + Sync> Scans<'a, A> {
    fn new(
        request: &'a ScanRequest,
        from: *const u8,
        to: *mut u8,
        totals: Totals,
        settings: &'a Settings,
    ) -> Option<Self> {
        let loops = |from, to| -> Loops {
            route(from, to).iter().map(|(loops, _)| loops.all[settings.level as usize]).collect()
        };
        Some(Scans {
            request,
            from,
            to,
            totals,
            settings,
            widening: loops(request.terms, totals.dtype),
            folding: loops(request.terms, totals.terms),
            rounding: loops(totals.dtype, request.out),
            prefixes: Prefixes::new(request.combine, totals.dtype, settings)?,
            total: PhantomData,
        })
    }

    fn run(&self) {
        let ScanRequest { outer, len, inner, .. } = *self.request;
        let bytes = self.request.terms.size() + self.request.out.size();
        let elements = outer.saturating_mul(len).saturating_mul(inner);
        let team = Team::new(elements.saturating_mul(bytes), self.settings);
        if inner > 1 {
            self.across(team);
        } else if outer >= team.parts || len <= SHARE {
            share_units(outer, team, &|rows| {
                for row in rows {
                    // SAFETY: the row is one of the request's, and no other thread has it.
                    unsafe { self.along(row, 0, len, Tree::new()) };
                }
            });
        } else {
            (0..outer).for_each(|row| self.shared(row, team));
        }
    }

    /// Scans one long row: first the totals of its parts, then all parts, each with the totals of those before it.
    fn shared(&self, row: usize, team: Team) {
        let len = self.request.len;
        let share = len.div_ceil(team.parts).next_power_of_two().max(SHARE);
        let count = len.div_ceil(share);
        let totals = Mutex::new(vec![None; count - 1]);
        team.share(count - 1, &|part| {
            // SAFETY: all parts but the last are whole.
            let total = unsafe { self.total_of(row, part * share, share) };
            totals.lock().unwrap_or_else(PoisonError::into_inner)[part] = Some(total);
        });
        let totals = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut before = vec![Tree::new()];
        for total in totals.into_iter().flatten() {
            let mut tree: Tree<A> = before[before.len() - 1].clone();
            // SAFETY: these are totals.
            unsafe { tree.push(&self.totals, total, share.ilog2()) };
            before.push(tree);
        }
        team.share(before.len(), &|part| {
            let start = part * share;
            // SAFETY: the part is inside the row, and no other thread has it.
            unsafe { self.along(row, start, share.min(len - start), before[part].clone()) };
        });
    }

    /// Returns the address of an element, counted from the first one of the request.
    fn element(&self, index: usize) -> *const u8 {
        self.from.wrapping_add(index * self.request.terms.size())
    }

    /// Converts elements to totals. Returns them, in one of the rooms or where they were.
    ///
    /// # Safety
    ///
    /// There must be as many elements, and room for as many totals.
    unsafe fn widened(&self, from: *const u8, rooms: [*mut A; 2], count: usize) -> *const A {
        // SAFETY: the caller's promise.
        unsafe { converted(&self.widening, from, rooms.map(<*mut A>::cast), count) }.cast()
    }

    /// Rounds totals and writes them to the results, from the given one on.
    ///
    /// # Safety
    ///
    /// There must be as many totals, rooms for as many, and as many results, which no other thread accesses.
    unsafe fn store(&self, totals: *const A, rooms: [*mut A; 2], index: usize, count: usize) {
        let size = self.request.out.size();
        let to = self.to.wrapping_add(index * size);
        // SAFETY: the caller's promise; the loops convert from the totals' dtype on to that of the results.
        unsafe {
            match self.rounding.split_last() {
                None => to.copy_from_nonoverlapping(totals.cast(), count * size),
                Some((last, loops)) => {
                    let rooms = rooms.map(<*mut A>::cast);
                    let from = converted(loops, totals.cast(), rooms, count);
                    last(&[from; 3], to, count);
                }
            }
        }
    }

    /// Scans a part of a row, given the totals of what is before it.
    ///
    /// # Safety
    ///
    /// The part must be inside the row, begin at a multiple of the length of a run, and belong to no other thread.
    unsafe fn along(&self, row: usize, start: usize, len: usize, before: Tree<A>) {
        let mut before = before;
        let [mut a, mut b, mut c, mut d] = [const { Room::new() }; 4];
        let rooms = [a.as_ptr::<A>(), b.as_ptr::<A>()];
        let [mut results, mut other] = [c.as_ptr::<A>(), d.as_ptr::<A>()];
        let first = row * self.request.len + start;
        // SAFETY: something is waiting, so that there is a total.
        let mut total = before.waiting().next().map(|_| unsafe { before.total(&self.totals) });
        let mut done = 0;
        while done < len {
            let count = (len - done).min(run_len::<A>());
            // SAFETY: the elements are the caller's, the rooms are apart and have room for a run of totals, and so many
            // have been written when they are read.
            unsafe {
                let terms = self.widened(self.element(first + done), rooms, count).cast();
                match self.prefixes {
                    Prefixes::Tree(prefixes, with_total) => {
                        prefixes(&[terms; 3], results.cast(), count);
                        let sum = results.add(count - 1).read();
                        for left in before.waiting() {
                            let arguments = [results.cast_const().cast(), (&raw const left).cast()];
                            let arguments = [arguments[0], arguments[1], arguments[1]];
                            with_total(&arguments, other.cast(), count);
                            std::mem::swap(&mut results, &mut other);
                        }
                        // Nothing follows a run that is not whole.
                        before.push(&self.totals, sum, run_len::<A>().ilog2());
                    }
                    Prefixes::Running(running) => {
                        let left = match &total {
                            Some(total) => std::ptr::from_ref(total).cast(),
                            None => std::ptr::null(),
                        };
                        running(&[terms, left, left], results.cast(), count);
                        total = Some(results.add(count - 1).read());
                    }
                }
                self.store(results, rooms, first + done, count);
            }
            done += count;
        }
    }

    /// Returns the total of a part of a row.
    ///
    /// # Safety
    ///
    /// As for [`Scans::along`]; the part must have an element.
    unsafe fn total_of(&self, row: usize, start: usize, len: usize) -> A {
        let [mut a, mut b] = [const { Room::new() }; 2];
        let mut rooms = [const { Room::new() }; 2];
        let mut tree = Tree::new();
        let mut done = 0;
        while done < len {
            let count = (len - done).min(run_len::<A>());
            let from = self.element(row * self.request.len + start + done);
            // SAFETY: as in `along`.
            unsafe {
                let terms = converted(&self.folding, from, [a.as_ptr(), b.as_ptr()], count);
                let total: A = self.totals.folded(terms, &mut rooms, count);
                tree.push(&self.totals, total, run_len::<A>().ilog2());
            }
            done += count;
        }
        // SAFETY: there has been a push.
        unsafe { tree.total(&self.totals) }
    }

    /// Computes many scans at a time, an element of each after another.
    fn across(&self, team: Team) {
        let ScanRequest { outer, len, inner, .. } = *self.request;
        let width = tree::width::<A>(len)
            .min(run_len::<A>())
            .min(outer.saturating_mul(inner).div_ceil(team.parts))
            .clamp(1, inner);
        let strips = inner.div_ceil(width);
        share_units(outer * strips, team, &|units| {
            let mut forest = Forest::<A>::new(self.totals.rows, len, width);
            let [mut a, mut b, mut c, mut d] = [const { Room::new() }; 4];
            let rooms = [a.as_ptr::<A>(), b.as_ptr::<A>()];
            let [mut results, mut other] = [c.as_ptr::<A>(), d.as_ptr::<A>()];
            for unit in units {
                let column = unit % strips * width;
                let count = width.min(inner - column);
                forest.clear();
                for term in 0..len {
                    let index = (unit / strips * len + term) * inner + column;
                    // SAFETY: the elements are those of this unit, which no other thread has. The rooms and the rows of
                    // the forest are apart and have room for a row of totals, and so many have been written when they
                    // are read.
                    unsafe {
                        let terms = self.widened(self.element(index), rooms, count);
                        let prefix = match self.prefixes {
                            Prefixes::Tree(..) => {
                                forest.next(0).copy_from_nonoverlapping(terms, count);
                                let prefix = forest.prefix(count, [results, other]);
                                // The terms stay where they are until they are pushed.
                                self.store(prefix, rooms, index, count);
                                forest.push(0, count);
                                continue;
                            }
                            Prefixes::Running(_) if term == 0 => {
                                results.copy_from_nonoverlapping(terms, count);
                                results
                            }
                            Prefixes::Running(_) => {
                                let left = results.cast_const().cast();
                                let arguments = [left, terms.cast(), terms.cast()];
                                (self.totals.rows)(&arguments, other.cast(), count);
                                std::mem::swap(&mut results, &mut other);
                                results
                            }
                        };
                        self.store(prefix, rooms, index, count);
                    }
                }
            }
        });
    }
}

/// Runs loops one after another. Returns the results of the last, in one of the rooms, or what is given to the first if
/// there is none.
///
/// # Safety
///
/// Each loop must take what the one before it gives, of which the rooms have room for as many.
pub(super) unsafe fn converted(
    loops: &[Kernel],
    from: *const u8,
    rooms: [*mut u8; 2],
    count: usize,
) -> *const u8 {
    let [mut to, mut other] = rooms;
    let mut from = from;
    for kernel in loops {
        // SAFETY: the caller's promise; the rooms are apart.
        unsafe { kernel(&[from; 3], to, count) };
        from = to;
        std::mem::swap(&mut to, &mut other);
    }
    from
}
