//! Runs programs on memory, block by block.
//!
//! `script` translates a program to instructions on registers. Elementwise requests go to `walk`, and reductions and
//! scans to `reduce`, which combines the terms in a fixed tree. Both iterate over the plan's loops with `nest` and run
//! the instructions on one block after another with `blocks`. `transfer` moves elements between blocks and memory, in
//! `vectors` where it can, and `repeat` fills blocks with repeated elements or rows. `gather` looks elements up by their
//! indices, without a program. `rows` runs several requests on one block of rows after another.

pub(crate) mod blocks;
pub(crate) mod gather;
pub(crate) mod nest;
pub(crate) mod reduce;
mod repeat;
pub(crate) mod rows;
pub(crate) mod script;
pub(crate) mod transfer;
mod vectors;
pub(crate) mod walk;
