//! Overlap: whether elements share memory, within a destination and between a destination and an operand.

use crate::layout::{Layout, MAX_RANK};

/// The relation between a destination and an operand in the same storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alias {
    /// They share no memory.
    Disjoint,
    /// They are the same view. Each element is read before it is written, so this is safe.
    Same,
    /// Anything else. The operation needs a temporary.
    Overlapping,
}

/// Determines the relation between a destination and an operand in the same storage, each with the size of its elements
/// in bytes. Interleaved views that share no memory count as overlapping, which is correct and only costs a temporary.
pub(crate) fn alias(
    (destination, written_size): (&Layout, usize),
    (operand, read_size): (&Layout, usize),
) -> Alias {
    let (written, read) = (destination.reach(), operand.reach());
    // The storage has so many bytes, so nothing overflows.
    let [written_start, written_end] = [written.start, written.end].map(|end| end * written_size);
    let [read_start, read_end] = [read.start, read.end].map(|end| end * read_size);
    if written_end <= read_start || read_end <= written_start {
        Alias::Disjoint
    } else if written_size == read_size && destination.is_same_view(operand) {
        Alias::Same
    } else {
        Alias::Overlapping
    }
}

impl Layout {
    /// Returns `true` if two elements share memory, or if that cannot be decided within a fixed number of steps.
    ///
    /// The time is bounded for every layout, whatever its length and span; [`solve`] says when the answer is exact.
    /// When it is not, a destination without overlap may be rejected, but one with overlap is never accepted.
    pub(crate) fn overlaps_itself(&self) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut axes = Axes::default();
        for (&size, &stride) in self.shape().iter().zip(self.strides()) {
            if size > 1 {
                axes.push(Axis { stride: stride.unsigned_abs() as i128, last: size as i128 - 1 });
            }
        }
        solve(axes, self.len(), LIMIT).0 != Answer::Distinct
    }
}

/// The maximum number of steps to decide whether elements share memory.
const LIMIT: usize = 1 << 16;

/// Whether two elements share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Distinct,
    Shared,
    /// Not decided within the limit.
    Unknown,
}

/// A dimension with more than one element: its stride, and the index of its last element.
#[derive(Clone, Copy, Debug, Default)]
struct Axis {
    stride: i128,
    last: i128,
}

impl Axis {
    fn reach(self) -> i128 {
        self.stride * self.last
    }
}

/// Up to [`MAX_RANK`] axes.
#[derive(Clone, Copy, Default)]
struct Axes {
    axes: [Axis; MAX_RANK],
    len: usize,
}

impl Axes {
    fn push(&mut self, axis: Axis) {
        self.axes[self.len] = axis;
        self.len += 1;
    }

    fn remove(&mut self, index: usize) {
        self.axes.copy_within(index + 1..self.len, index);
        self.len -= 1;
    }

    fn as_slice(&self) -> &[Axis] {
        &self.axes[..self.len]
    }
}

/// Decides whether two of `len` elements share memory. Also returns the number of steps taken.
///
/// Two elements share memory if the difference `d` of their indices is not zero and the sum of `d * stride` over all
/// axes is zero, where `d` is within `-last..=last` on every axis. The answer is exact if
///
/// - at most two axes remain after removing those that cannot contribute to such a sum, as in every view made by
///   slicing, transposing and windows (no search is needed);
/// - or a search over the differences of all but two axes ends within the limit;
/// - or there are at most as many elements as the limit.
fn solve(mut axes: Axes, len: usize, limit: usize) -> (Answer, usize) {
    if axes.as_slice().iter().any(|axis| axis.stride == 0) {
        return (Answer::Shared, 0);
    }
    let span: i128 = axes.as_slice().iter().map(|axis| axis.reach()).sum();
    if len as i128 > span + 1 {
        return (Answer::Shared, 0);
    }
    let all = axes;
    simplify(&mut axes);
    match axes.len {
        0 => return (Answer::Distinct, 0),
        // `simplify` has made each stride a multiple of the other, so both are equal.
        2 => return (Answer::Shared, 0),
        _ => {}
    }
    // The longest axes come last, because the last two are solved and not searched.
    axes.axes[..axes.len].sort_unstable_by_key(|axis| axis.last);
    let mut search = Search::new(axes.as_slice(), limit);
    match search.run(0, 0, false) {
        Answer::Unknown if len <= limit => (by_sorting(all.as_slice(), len), search.steps + len),
        answer => (answer, search.steps),
    }
}

/// Removes the axes whose difference must be zero in every sum that is zero, and multiplies the strides of the others
/// by the smallest difference that is possible. The set of sums that are zero does not change.
fn simplify(axes: &mut Axes) {
    let mut index = 0;
    while index < axes.len {
        let axis = axes.axes[index];
        let others = || {
            let others = axes.as_slice().iter().enumerate();
            others.filter(move |(other, _)| *other != index).map(|(_, axis)| *axis)
        };
        let divisor = others().fold(0, |divisor, other| gcd(divisor, other.stride));
        let reach: i128 = others().map(Axis::reach).sum();
        // The other axes can only compensate for multiples of their greatest common divisor, up to their reach.
        let least = divisor / gcd(divisor, axis.stride);
        if divisor == 0 || least > axis.last || least * axis.stride > reach {
            axes.remove(index);
            index = 0;
        } else if least > 1 {
            let last = axis.last / least;
            axes.axes[index] = Axis { stride: axis.stride * least, last };
            index = 0;
        } else {
            index += 1;
        }
    }
}

/// A search for differences whose sum is zero.
struct Search<'a> {
    axes: &'a [Axis],
    /// For each axis, the total reach of this and all later axes, and the greatest common divisor of their strides.
    rest: [(i128, i128); MAX_RANK + 1],
    steps: usize,
    limit: usize,
}

impl Search<'_> {
    fn new(axes: &[Axis], limit: usize) -> Search<'_> {
        let mut rest = [(0, 0); MAX_RANK + 1];
        for (index, axis) in axes.iter().enumerate().rev() {
            let (reach, divisor) = rest[index + 1];
            rest[index] = (reach + axis.reach(), gcd(divisor, axis.stride));
        }
        Search { axes, rest, steps: 0, limit }
    }

    /// Decides whether the axes from `first` on can add up to `target`. `moved` says whether an earlier difference is
    /// not zero. Of a difference and its negative only one is tried.
    fn run(&mut self, first: usize, target: i128, moved: bool) -> Answer {
        if let [x, y] = self.axes[first..] {
            self.steps += 1;
            let found = if moved { meet(x, y, target) } else { cancel(x, y) };
            return if found { Answer::Shared } else { Answer::Distinct };
        }
        let Axis { stride, last } = self.axes[first];
        let (reach, divisor) = self.rest[first + 1];
        let lowest = if moved { ceil_div(target - reach, stride).max(-last) } else { 0 };
        let highest = (target + reach).div_euclid(stride).min(last);
        let mut difference = lowest;
        while difference <= highest {
            self.steps += 1;
            if self.steps >= self.limit {
                return Answer::Unknown;
            }
            let left = target - difference * stride;
            if left % divisor == 0 {
                match self.run(first + 1, left, moved || difference != 0) {
                    Answer::Distinct => {}
                    answer => return answer,
                }
            }
            difference += 1;
        }
        Answer::Distinct
    }
}

/// Returns `true` if two axes can add up to zero with differences that are not both zero.
fn cancel(x: Axis, y: Axis) -> bool {
    let divisor = gcd(x.stride, y.stride);
    y.stride / divisor <= x.last && x.stride / divisor <= y.last
}

/// Returns `true` if two axes can add up to `target`.
fn meet(x: Axis, y: Axis, target: i128) -> bool {
    let divisor = gcd(x.stride, y.stride);
    if target % divisor != 0 {
        return false;
    }
    let (a, b, target) = (x.stride / divisor, y.stride / divisor, target / divisor);
    // All solutions of `a * u + b * v == target` are `u + k * b` and `v - k * a`, for the `u` and `v` below.
    let u = (target.rem_euclid(b) * inverse(a, b)).rem_euclid(b);
    let v = (target - a * u) / b;
    let least = ceil_div(-x.last - u, b).max(ceil_div(v - y.last, a));
    let most = (x.last - u).div_euclid(b).min((v + y.last).div_euclid(a));
    least <= most
}

/// Returns the inverse of `a` modulo `b`, which must be coprime.
fn inverse(a: i128, b: i128) -> i128 {
    let (mut rest, mut next) = (a.rem_euclid(b), b);
    let (mut factor, mut next_factor) = (1, 0);
    while rest > 1 {
        let quotient = next / rest;
        (rest, next) = (next - quotient * rest, rest);
        (factor, next_factor) = (next_factor - quotient * factor, factor);
    }
    factor.rem_euclid(b)
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn ceil_div(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

/// Decides by sorting the positions of all elements. The answer is unknown if memory for them cannot be allocated.
fn by_sorting(axes: &[Axis], len: usize) -> Answer {
    let mut places: Vec<i128> = Vec::new();
    if places.try_reserve_exact(len).is_err() {
        return Answer::Unknown;
    }
    places.push(0);
    for axis in axes {
        for index in 0..places.len() * axis.last as usize {
            places.push(places[index] + axis.stride);
        }
    }
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0] == pair[1]) { Answer::Shared } else { Answer::Distinct }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_told_apart() {
        let all = Layout::row_major(&[10]);
        let front = all.narrow(0, 0, 5).unwrap();
        let back = all.narrow(0, 5, 5).unwrap();
        let alias = |x: &Layout, y: &Layout| alias((x, 4), (y, 4));
        assert_eq!(alias(&front, &back), Alias::Disjoint);
        assert_eq!(alias(&front, &front), Alias::Same);
        assert_eq!(alias(&front, &all.narrow(0, 1, 5).unwrap()), Alias::Overlapping);
        assert_eq!(alias(&front, &front.flip(0).unwrap()), Alias::Overlapping);
    }

    #[test]
    fn elements_of_different_sizes_overlap_in_bytes() {
        let all = Layout::row_major(&[10]);
        let (front, back) = (all.narrow(0, 0, 5).unwrap(), all.narrow(0, 5, 5).unwrap());
        assert_eq!(alias((&front, 8), (&back, 4)), Alias::Overlapping);
        assert_eq!(alias((&front, 8), (&front, 4)), Alias::Overlapping);
        assert_eq!(alias((&front, 4), (&back, 8)), Alias::Disjoint);
        assert_eq!(alias((&back, 8), (&all, 4)), Alias::Disjoint);
    }

    #[test]
    fn self_overlap_is_exact() {
        let strided = |shape: &[usize], strides: &[isize]| {
            Layout::strided("test", shape, strides, 0, 1000).unwrap()
        };
        assert!(!strided(&[3, 2], &[2, 3]).overlaps_itself());
        assert!(strided(&[4, 2], &[2, 4]).overlaps_itself());
        assert!(strided(&[2], &[0]).overlaps_itself());
        assert!(!strided(&[1, 3], &[0, 2]).overlaps_itself());
        assert!(strided(&[3, 3], &[1, 2]).overlaps_itself());
    }

    fn axes(pairs: &[(usize, usize)]) -> Axes {
        let mut axes = Axes::default();
        for &(size, stride) in pairs.iter().filter(|(size, _)| *size > 1) {
            axes.push(Axis { stride: stride as i128, last: size as i128 - 1 });
        }
        axes
    }

    fn len(pairs: &[(usize, usize)]) -> usize {
        pairs.iter().map(|(size, _)| size).product()
    }

    /// The answer within the limit, and the steps it took.
    fn answer(pairs: &[(usize, usize)]) -> (Answer, usize) {
        let (answer, steps) = solve(axes(pairs), len(pairs), LIMIT);
        assert!(steps <= 2 * LIMIT, "{pairs:?} took {steps} steps");
        (answer, steps)
    }

    #[test]
    fn every_way_to_answer_gives_the_same() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as usize
        };
        let mut seen = [0; 2];
        for _ in 0..30_000 {
            let rank = 1 + next(5);
            let pairs: Vec<_> =
                (0..rank).map(|_| (1 + next(6), 1 + next([8, 40, 400][rank % 3]))).collect();
            let expected = by_sorting(axes(&pairs).as_slice(), len(&pairs));
            assert_eq!(answer(&pairs).0, expected, "{pairs:?}");
            seen[usize::from(expected == Answer::Shared)] += 1;
            // With a limit this small, many searches give up and sorting decides.
            let (sorted, _) = solve(axes(&pairs), len(&pairs), len(&pairs));
            assert_eq!(sorted, expected, "{pairs:?}");
        }
        assert!(seen[0] > 5000 && seen[1] > 5000, "{seen:?}");
    }

    #[test]
    fn the_work_is_bounded_by_neither_elements_nor_span() {
        const GIB: usize = 1 << 30;
        // Six elements over two gibibytes, and a quarter of a gibibyte of them.
        assert_eq!(answer(&[(3, GIB - 1), (2, GIB)]), (Answer::Distinct, 0));
        assert_eq!(answer(&[(3, GIB / 2), (2, GIB)]), (Answer::Shared, 0));
        assert_eq!(answer(&[(1 << 14, 3), (1 << 14, 49_157)]).0, Answer::Distinct);
        assert_eq!(answer(&[(1 << 14, 49_157), (1 << 14, 49_156)]).0, Answer::Distinct);
        assert_eq!(answer(&[(1 << 14, 9), (1 << 14, 6)]).0, Answer::Shared);
        // Windows over a signal, and a transposed cube.
        assert_eq!(answer(&[(GIB, 1), (8, 1)]).0, Answer::Shared);
        assert_eq!(
            answer(&[(1 << 10, 1 << 20), (1 << 10, 1), (1 << 10, 1 << 10)]),
            (Answer::Distinct, 0)
        );
        // The largest strides that there can be.
        let huge = isize::MAX as usize / 4;
        assert_eq!(answer(&[(2, huge), (2, huge - 1), (2, huge - 2)]).0, Answer::Distinct);
        assert_eq!(answer(&[(2, huge), (2, huge / 2), (2, huge - huge / 2)]).0, Answer::Shared);
    }

    #[test]
    fn beyond_the_bound_a_destination_counts_as_overlapping() {
        // Four axes, none of which can be removed, with more elements than the limit.
        let stride = |k: u32| 1_000_003usize.pow(k / 2) * (997 + k as usize);
        let digits: Vec<_> = (0..4).map(|k| (1000, stride(k))).collect();
        let (found, steps) = answer(&digits);
        assert!(steps <= 2 * LIMIT);
        assert_ne!(found, Answer::Distinct);
        let (unknown, steps) = solve(axes(&digits), len(&digits), 1);
        assert_eq!((unknown, steps), (Answer::Unknown, 1));
    }
}
