//! A reference model: docs/semantics.md implemented for one element at a time, as plainly as possible. The tests
//! compare the crate with it. It uses nothing of the crate except the names of dtypes and operations, and the common
//! dtype of a pair of operands.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod arbitrary;
pub mod element;
pub mod functions;
pub mod losses;
pub mod modular;
pub mod ops;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod ternary;
pub mod unary;
pub mod view;
