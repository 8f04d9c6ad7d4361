#![doc = include_str!("../docs/guide.md")]

#[doc = include_str!("../docs/cookbook.md")]
pub mod cookbook {}

#[doc = include_str!("../docs/errors.md")]
pub mod errors {}

#[doc = include_str!("../docs/faq.md")]
pub mod faq {}
