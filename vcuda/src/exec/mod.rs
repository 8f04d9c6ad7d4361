//! Interpreting kernels: decoding to a program, warps and their divergence, blocks and barriers, the grid.

mod access;
mod atomic;
mod block;
mod decode;
mod launch;
mod print;
mod program;
mod track;
mod warp;

pub use decode::{decode, row_name};
pub use launch::{Launch, Region, Tolerance, run};
pub use program::{LOCAL_WINDOW, PARAM_WINDOW, Program, SHARED_WINDOW};
pub use track::{Earlier, number};
