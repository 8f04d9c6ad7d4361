//! Bringing elements into the form that the inner loops take, and results into memory.

use super::kernels::write;
use crate::DType;
use crate::cast::Cast;
use crate::dtype::for_each_dtype;
use crate::promote::Compute;

/// Reads `len` elements, `stride` bytes apart, and writes them converted, side by side.
///
/// # Safety
///
/// Every element read must be valid and aligned, `to` must be aligned and have room for `len`
/// elements of the target type, and must not overlap what is read.
pub(super) type Convert = unsafe fn(from: *const u8, stride: isize, to: *mut u8, len: usize);

/// The conversion of memory of `from` for a computation in `compute`; none exists for an exact
/// comparison of what is not an integer.
pub(super) fn converter(from: DType, compute: Compute) -> Option<Convert> {
    match compute {
        Compute::In(to) => Some(convert_to(from, to)),
        Compute::ExactIntegers => convert_to_exact(from),
    }
}

/// The conversion between two dtypes.
pub(super) fn convert_to(from: DType, to: DType) -> Convert {
    macro_rules! from_each {
        ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
            match from {
                $(DType::$variant => for_each_dtype!(to_each $rust;),)*
            }
        };
    }
    macro_rules! to_each {
        ($from:ty; $($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
            match to {
                $(DType::$variant => convert::<$from, $rust> as Convert,)*
            }
        };
    }
    for_each_dtype!(from_each)
}

fn convert_to_exact(from: DType) -> Option<Convert> {
    macro_rules! from_each {
        ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
            match from {
                $(DType::$variant => {
                    crate::op::in_domain!(Integers $class widen::<$rust> as Convert)
                })*
            }
        };
    }
    for_each_dtype!(from_each)
}

/// # Safety
///
/// See [`Convert`].
unsafe fn convert<S: Cast<T> + Copy, T>(from: *const u8, stride: isize, to: *mut u8, len: usize) {
    // SAFETY: the caller's promises are those of `each`.
    unsafe { each(from, stride, to, len, |value: S| -> T { value.cast() }) }
}

/// # Safety
///
/// See [`Convert`].
unsafe fn widen<S: Into<i128> + Copy>(from: *const u8, stride: isize, to: *mut u8, len: usize) {
    // SAFETY: the caller's promises are those of `each`.
    unsafe { each(from, stride, to, len, |value: S| -> i128 { value.into() }) }
}

/// # Safety
///
/// See [`Convert`].
#[inline(always)]
unsafe fn each<S: Copy, T>(
    from: *const u8,
    stride: isize,
    to: *mut u8,
    len: usize,
    function: impl Fn(S) -> T,
) {
    // SAFETY: the caller vouches for room for `len` elements that nothing else touches.
    let to = unsafe { write::<T>(to, len) };
    if stride == size_of::<S>() as isize {
        // SAFETY: the caller vouches for `len` elements, and this stride puts them side by side.
        let from = unsafe { super::kernels::read::<S>(from, len) };
        for (to, &value) in to.iter_mut().zip(from) {
            to.write(function(value));
        }
        return;
    }
    for (index, to) in to.iter_mut().enumerate() {
        // SAFETY: element `index` is one of the `len` elements that the caller vouches for.
        let value = unsafe { from.offset(index as isize * stride).cast::<S>().read() };
        to.write(function(value));
    }
}

/// Writes `len` elements that lie side by side to places `stride` bytes apart, where the mask,
/// `mask_stride` bytes apart, is true; no mask means everywhere.
///
/// # Safety
///
/// Every element read must be initialised, every place written valid, and the two apart; the mask
/// must hold bools and be apart from what is written, unless it is the very same memory.
pub(super) type Scatter = unsafe fn(
    from: *const u8,
    to: *mut u8,
    stride: isize,
    mask: Option<(*const u8, isize)>,
    len: usize,
);

/// Places elements of a size; what they are does not matter.
pub(super) fn scatterer(element_size: usize) -> Scatter {
    match element_size {
        1 => scatter::<u8>,
        2 => scatter::<u16>,
        4 => scatter::<u32>,
        8 => scatter::<u64>,
        // Complex numbers of 128 bits are aligned to 64.
        _ => scatter::<[u64; 2]>,
    }
}

/// # Safety
///
/// See [`Scatter`].
unsafe fn scatter<T: Copy>(
    from: *const u8,
    to: *mut u8,
    stride: isize,
    mask: Option<(*const u8, isize)>,
    len: usize,
) {
    let from = from.cast::<T>();
    for index in 0..len {
        // SAFETY: the caller vouches for element `index` of the mask, the source and the target.
        unsafe {
            if let Some((mask, step)) = mask
                && mask.offset(index as isize * step).read() == 0
            {
                continue;
            }
            to.offset(index as isize * stride).cast::<T>().write(from.add(index).read());
        }
    }
}
