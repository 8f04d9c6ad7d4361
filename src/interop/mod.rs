//! Interoperability with other crates and file formats, each behind the feature of the same name.

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

/// Swaps the byte order of every number between little-endian and big-endian.
#[cfg(any(feature = "npy", feature = "safetensors", feature = "serde"))]
fn swap_bytes(dtype: DType, bytes: &mut [u8]) {
    // A complex number consists of two numbers.
    let size = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}
