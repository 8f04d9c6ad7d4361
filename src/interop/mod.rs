//! Meeting other crates and formats, each behind a feature of its name.

#[cfg(feature = "dlpack")]
pub mod dlpack;
#[cfg(any(feature = "npy", feature = "safetensors"))]
mod file;
#[cfg(feature = "ndarray")]
pub(crate) mod ndarray;
#[cfg(feature = "npy")]
pub mod npy;
#[cfg(feature = "safetensors")]
pub mod safetensors;
#[cfg(feature = "serde")]
mod serde;

#[cfg(any(feature = "npy", feature = "safetensors", feature = "serde"))]
use crate::DType;

/// Turns the bytes of every number around, between little-endian and big-endian.
#[cfg(any(feature = "npy", feature = "safetensors", feature = "serde"))]
fn swap_bytes(dtype: DType, bytes: &mut [u8]) {
    // A complex number is two numbers.
    let size = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}
