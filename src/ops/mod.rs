//! The public operations: thin, since the op table and `call` do the work.

// In the order in which the documentation shows the methods of a tensor.
mod methods;
pub(crate) mod operators;

mod sums;

mod extremes;
mod gradient;

mod atleast;
mod binary;
pub mod loss;
mod select;

pub use self::atleast::{atleast_1d, atleast_2d, atleast_3d};
pub use self::binary::{Binary, binary};
pub use self::select::select;
pub(crate) use self::sums::Reduce;
