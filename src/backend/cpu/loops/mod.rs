//! The loops over contiguous elements, one for each operation, dtype and set of vector instructions.
//!
//! `table` says which loop computes an operation in a dtype, and `convert` which loops lead from one dtype to another.
//! `vector` compiles a loop for every set of instructions from a function of `element`. Three loops are written by hand
//! because the compiler's code is slow: those over `f16` in `halves`, a shift of `i8` in `bytes`, and shifts of 16-bit
//! integers in `words`.

mod bytes;
pub(crate) mod convert;
pub(crate) mod element;
pub(crate) mod fold;
mod halves;
pub(crate) mod table;
pub(crate) mod vector;
mod words;
