//! The public operations: thin, all of them ways into [`binary`] or a view.

mod atleast;
mod binary;
mod methods;
mod operators;
mod sign;

pub use self::atleast::{atleast_1d, atleast_2d, atleast_3d};
pub use self::binary::{Binary, binary};
