//! Extremes of floats: NaN wins, and −0 is below +0.
//!
//! Floats are compared as integers in their order, which are two instructions away and need no more rules. NaNs are beyond
//! both infinities there: the largest and the smallest integer tell whether there is one.

use half::{bf16, f16};

use super::ROWS;
use crate::backend::cpu::loops::element::Apply;
use crate::backend::cpu::loops::vector::{read, write};
use crate::cast::Cast;

/// A float with an integer in the order of the floats. −0 is just below +0.
pub(super) trait Keyed: Copy {
    type Key: Copy + Ord;
    const INFINITIES: [Self::Key; 2];
    /// The smallest and the largest key, of NaNs.
    const OUTERMOST: [Self::Key; 2];
    fn key(self) -> Self::Key;
    fn of(key: Self::Key) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! keyed {
    ($($float:ident $key:ident;)*) => {$(
        impl Keyed for $float {
            type Key = $key;
            const INFINITIES: [$key; 2] = [
                $float::NEG_INFINITY.to_bits() as $key ^ $key::MAX,
                $float::INFINITY.to_bits() as $key,
            ];
            const OUTERMOST: [$key; 2] = [$key::MIN, $key::MAX];

            #[inline(always)]
            fn key(self) -> $key {
                let bits = self.to_bits() as $key;
                // The bits of negative numbers run the other way.
                bits ^ (bits >> ($key::BITS - 1) & $key::MAX)
            }

            #[inline(always)]
            fn of(key: $key) -> $float {
                $float::from_bits((key ^ (key >> ($key::BITS - 1) & $key::MAX)) as _)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }
    )*};
}

keyed! { f16 i16; bf16 i16; f32 i32; f64 i64; }

/// Whether keys between these include one of a NaN.
#[inline(always)]
fn has_nan<T: Keyed>(low: T::Key, high: T::Key) -> bool {
    let [lowest, highest] = T::INFINITIES;
    low < lowest || high > highest
}

/// Finds the largest or smallest of some elements, at least one: the first NaN if there is one.
///
/// # Safety
///
/// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel); `out` is one element.
#[inline(always)]
pub(super) unsafe fn fold<T: Keyed, const LARGEST: bool>(
    args: &[*const u8; 3],
    out: *mut u8,
    len: usize,
) {
    // SAFETY: the caller vouches for the elements.
    let x = unsafe { read::<T>(args[0], len) };
    let Some(first) = x.first() else { return };
    let (mut low, mut high) = (first.key(), first.key());
    for x in x {
        low = low.min(x.key());
        high = high.max(x.key());
    }
    let nan = match has_nan::<T>(low, high) {
        true => x.iter().copied().find(|x| x.is_nan()),
        false => None,
    };
    let extreme = nan.unwrap_or(T::of(if LARGEST { high } else { low }));
    // SAFETY: the caller vouches for the room.
    unsafe { out.cast::<T>().write(extreme) };
}

/// Finds the largest or smallest element of each place in several rows; `F` does so for two of them.
///
/// # Safety
///
/// See [`RowKernel`](super::RowKernel).
#[inline(always)]
pub(super) unsafe fn rows<T: Keyed + Cast<T>, F: Apply<T, Output = T>, const LARGEST: bool>(
    rows: &[*const u8; ROWS],
    out: *mut u8,
    len: usize,
) {
    // SAFETY: the caller vouches for the elements.
    let [a, b, c, d, e, f, g, h] = rows.map(|row| unsafe { read::<T>(row, len) });
    // SAFETY: the caller vouches for the room.
    let places = unsafe { write::<T>(out, len) };
    let Some(first) = a.first() else { return };
    let (mut low, mut high) = (first.key(), first.key());
    for (index, out) in places.iter_mut().enumerate() {
        let pair = |x: &[T], y: &[T]| {
            let (x, y) = (x[index].key(), y[index].key());
            (x.min(y), x.max(y))
        };
        let join = |x: (T::Key, T::Key), y: (T::Key, T::Key)| (x.0.min(y.0), x.1.max(y.1));
        let (least, most) = join(join(pair(a, b), pair(c, d)), join(pair(e, f), pair(g, h)));
        low = low.min(least);
        high = high.max(most);
        out.write(T::of(if LARGEST { most } else { least }));
    }
    if has_nan::<T>(low, high) {
        // SAFETY: the caller's promise. Elements that have been written are written again.
        unsafe { super::rows::<T, T, F>(rows, out, len) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold;
    use crate::DType;
    use crate::backend::cpu::settings::Level;
    use crate::op::ElementOp;

    /// Every placement of the rare values among others, at lengths around the lanes.
    #[test]
    fn nan_wins_and_zeros_have_their_order() {
        for len in [1, 2, 63, 64, 65, 200] {
            for place in 0..len {
                for (common, rare, largest, smallest) in [
                    (-1.0f32, -0.0f32, -0.0f32, -1.0f32),
                    (-0.0, 0.0, 0.0, -0.0),
                    (0.0, -0.0, 0.0, -0.0),
                    (1.0, -0.0, 1.0, -0.0),
                    (f32::INFINITY, f32::NAN, f32::NAN, f32::NAN),
                    (-1.0, -f32::NAN, -f32::NAN, -f32::NAN),
                ] {
                    let mut x = vec![common; len];
                    x[place] = rare;
                    let halves: Vec<half::f16> =
                        x.iter().map(|&x| half::f16::from_f32(x)).collect();
                    for (combine, extreme) in
                        [(ElementOp::Maximum, largest), (ElementOp::Minimum, smallest)]
                    {
                        let expected = if len == 1 { rare } else { extreme };
                        for level in Level::available() {
                            let first = |dtype| fold(combine, dtype).unwrap().first[level as usize];
                            let (mut wide, mut narrow) = (7.0f32, half::f16::ONE);
                            // SAFETY: there are so many elements, and room for one.
                            unsafe {
                                let to = (&raw mut wide).cast();
                                first(DType::F32)(&[x.as_ptr().cast(); 3], to, len);
                                let to = (&raw mut narrow).cast();
                                first(DType::F16)(&[halves.as_ptr().cast(); 3], to, len);
                            }
                            let case =
                                format!("{combine:?} of {len}, {rare} at {place}, {level:?}");
                            assert_eq!(wide.to_bits(), expected.to_bits(), "{case}");
                            let expected = half::f16::from_f32(expected);
                            assert_eq!(narrow.to_bits(), expected.to_bits(), "{case}");
                        }
                    }
                }
            }
        }
    }
}
