//! The public operations, which are thin wrappers over the op table and `call`.

// Rustdoc shows the methods of a tensor in the order of these modules.
mod methods;
pub(crate) mod operators;

mod unary;

mod reduce;

mod partial;

mod scan;

mod take;

mod gradient;

mod atleast;
mod binary;
pub mod loss;
mod packing;
mod ternary;

pub use self::atleast::{atleast_1d, atleast_2d, atleast_3d};
pub use self::binary::{Binary, binary};
pub use self::partial::PartialSum;
pub use self::reduce::{Reduce, reduce};
pub use self::scan::{Scan, scan};
pub use self::ternary::{clip, select};
pub use self::unary::{Unary, unary};
