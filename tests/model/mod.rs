//! docs/semantics.md once more, for one element at a time and as plainly as it can be said: what
//! the tests compare the crate with. Nothing here calls the crate, but for its names of dtypes and
//! operations, and its answer to which dtype a pair of operands has in common.

#![allow(dead_code, reason = "each test file takes what it needs")]

pub mod arbitrary;
pub mod element;
pub mod functions;
pub mod losses;
pub mod modular;
pub mod ops;
pub mod random;
pub mod unary;
pub mod view;
