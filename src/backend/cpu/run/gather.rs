//! Look-ups by index, and the places of what is true.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::nest::{Nest, SharedSlots};
use super::reduce::share_units;
use crate::DType;
use crate::backend::cpu::address;
use crate::backend::cpu::settings::Settings;
use crate::backend::cpu::threads::sharing::Team;
use crate::gather::GatherRequest;
use crate::plan::OUT;
use crate::storage::Access;

/// The slots of a look-up beside the destination.
const OPERAND: usize = 1;
const INDICES: usize = 2;

/// Elements of a unit of work.
const UNIT: usize = 4096;

/// Runs a look-up on memory that the caller has locked.
pub(crate) fn run(request: &GatherRequest<'_>, access: &Access<'_>, settings: &Settings) {
    match (request.dtype.size(), request.indices) {
        (1, DType::I32) => look_up::<u8, i32>(request, access, settings),
        (2, DType::I32) => look_up::<u16, i32>(request, access, settings),
        (4, DType::I32) => look_up::<u32, i32>(request, access, settings),
        (8, DType::I32) => look_up::<u64, i32>(request, access, settings),
        // Complex numbers of 128 bits are aligned to 64.
        (_, DType::I32) => look_up::<[u64; 2], i32>(request, access, settings),
        (1, _) => look_up::<u8, i64>(request, access, settings),
        (2, _) => look_up::<u16, i64>(request, access, settings),
        (4, _) => look_up::<u32, i64>(request, access, settings),
        (8, _) => look_up::<u64, i64>(request, access, settings),
        _ => look_up::<[u64; 2], i64>(request, access, settings),
    }
}

fn look_up<T: Copy, I: Copy + Into<i64>>(
    request: &GatherRequest<'_>,
    access: &Access<'_>,
    settings: &Settings,
) {
    let GatherRequest { plan, stride, len, .. } = *request;
    let sizes = [size_of::<T>(), size_of::<T>(), size_of::<I>()];
    let base = |slot: usize| address(access, slot, plan.slots[slot].offset * sizes[slot]);
    let bases = SharedSlots::new((0..sizes.len()).map(base).collect());
    let nest = Nest::new(plan, &sizes, UNIT, None);
    let steps = nest.steps();
    let steps = [steps[OUT].inner, steps[OPERAND].inner, steps[INDICES].inner];
    let stride = stride * size_of::<T>() as isize;
    let team = Team::new(plan.len.saturating_mul(sizes.iter().sum()), settings);
    // An index below 0 counts from the end; whatever it is, the place is inside the axis.
    let displacement = |index: I| {
        let index: i64 = index.into();
        let place = if index < 0 { index.saturating_add(len as i64) } else { index };
        place.clamp(0, len as i64 - 1) as isize * stride
    };
    share_units(nest.units, team, &|range| {
        nest.walk(bases.get(), range, |slots, extent| {
            let (to, from, at) = (slots[OUT], slots[OPERAND], slots[INDICES]);
            let count = extent.inner;
            // SAFETY: the plan is inside the storages, whose locks are held, and so are all places along the axis. The
            // elements are aligned, and no other thread writes those of this unit; the destination is a new tensor.
            unsafe {
                if steps[2] == 0 {
                    let from = from.wrapping_offset(displacement(at.cast::<I>().read()));
                    if steps[0] == size_of::<T>() as isize && steps[1] == steps[0] {
                        to.cast::<T>().copy_from_nonoverlapping(from.cast(), count);
                        return;
                    }
                    for k in 0..count as isize {
                        let element = from.wrapping_offset(k * steps[1]).cast::<T>().read();
                        to.wrapping_offset(k * steps[0]).cast::<T>().write(element);
                    }
                    return;
                }
                for k in 0..count as isize {
                    let index = at.wrapping_offset(k * steps[2]).cast::<I>().read();
                    let from = from.wrapping_offset(k * steps[1]);
                    let element = from.wrapping_offset(displacement(index)).cast::<T>().read();
                    to.wrapping_offset(k * steps[0]).cast::<T>().write(element);
                }
            }
        });
    });
}

/// Writes the places of the bytes that are 1, of which there must be as many as the destination has room for.
pub(crate) fn places(len: usize, access: &Access<'_>, settings: &Settings) {
    let bases =
        SharedSlots::new([OUT, OPERAND].iter().map(|&slot| address(access, slot, 0)).collect());
    let bytes = |range: Range<usize>| {
        let from = bases.get()[OPERAND];
        // SAFETY: the operand has `len` bytes, of which the range is a part.
        range.map(move |place| (place, unsafe { from.add(place).read() }))
    };
    let write = |range: Range<usize>, first: usize| {
        let ones = bytes(range).filter(|(_, byte)| *byte == 1);
        for (index, (place, _)) in (first..).zip(ones) {
            // SAFETY: the caller has counted the bytes that are 1, so that there is room for each.
            unsafe { bases.get()[OUT].cast::<i64>().add(index).write(place as i64) };
        }
    };
    let team = Team::new(len.saturating_mul(size_of::<i64>()), settings);
    if team.parts == 1 {
        return write(0..len, 0);
    }
    // Each part begins where those before it end, which is found by counting first.
    let share = len.div_ceil(team.parts);
    let part_of = |part: usize| (part * share).min(len)..((part + 1) * share).min(len);
    let ends: Vec<AtomicUsize> = (0..team.parts).map(|_| AtomicUsize::new(0)).collect();
    team.share(team.parts, &|part| {
        let ones = bytes(part_of(part)).filter(|(_, byte)| *byte == 1).count();
        ends[part].store(ones, Ordering::Relaxed); // read after all parts are done
    });
    let mut end = 0;
    for count in &ends {
        end += count.load(Ordering::Relaxed);
        count.store(end, Ordering::Relaxed);
    }
    team.share(team.parts, &|part| {
        let first = part.checked_sub(1).map_or(0, |before| ends[before].load(Ordering::Relaxed));
        write(part_of(part), first);
    });
}
