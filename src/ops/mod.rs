//! The public operations: thin, since the op table and `call` do the work.

mod atleast;
mod binary;
mod extremes;
mod gradient;
pub mod loss;
mod methods;
pub(crate) mod operators;
mod select;
mod sums;

pub use self::atleast::{atleast_1d, atleast_2d, atleast_3d};
pub use self::binary::{Binary, binary};
pub use self::select::select;
pub(crate) use self::sums::Reduce;
