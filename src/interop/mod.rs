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
