//! Meeting other crates, each behind a feature of its name.

#[cfg(feature = "ndarray")]
pub(crate) mod ndarray;
