//! How tensors are made, refused, shared, printed and exchanged.

mod atleast;
mod concurrency;
mod construction;
#[cfg(all(feature = "npy", feature = "safetensors", feature = "cpu"))]
#[path = "../corpus/mod.rs"]
mod corpus;
#[cfg(all(feature = "npy", feature = "safetensors", feature = "cpu"))]
mod counting;
#[path = "../devices/mod.rs"]
mod devices;
mod environment;
mod errors;
#[cfg(feature = "dlpack")]
mod interop_dlpack;
#[cfg(all(feature = "npy", feature = "safetensors", feature = "cpu"))]
mod interop_files;
#[cfg(feature = "serde")]
mod interop_serde;
mod links;
#[cfg(all(feature = "ndarray", feature = "cpu"))]
mod ndarray;
#[cfg(feature = "cpu")]
mod printing;
mod promotion_page;
mod refused_destinations;
#[cfg(all(feature = "npy", feature = "safetensors", feature = "cpu"))]
mod stranger;
