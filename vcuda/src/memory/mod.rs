//! Device memory: address ranges with a shadow, and the heaps in them.

mod arena;
mod heap;

pub use arena::Arena;
pub use heap::{Block, Heap, Neighbour, Owner};

/// The shadow of a byte that no live allocation covers.
pub const NONE: u8 = 0;
/// The shadow of a byte that is allocated but was never written.
pub const RAW: u8 = 1;
/// The shadow of a byte that holds data.
pub const DATA: u8 = 3;
