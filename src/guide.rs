// The pages of `docs/` end with the definitions of their links, which lead to files beside them. Of two definitions of
// a link the first one counts: those given here, and at `mod guide`, lead to the pages beside this one, or to files of this version.

#![doc = include_str!("../docs/guide.md")]

#[doc = "[bitlane-quant]: https://docs.rs/bitlane-quant"]
#[doc = of_this_version!("vcuda", "vcuda/README.md")]
#[doc = ""]
#[doc = include_str!("../docs/cookbook.md")]
pub mod cookbook {}

#[doc = of_this_version!("requirements", "docs/gpu.md#requirements")]
#[doc = of_this_version!("vcuda", "vcuda/README.md#settings")]
#[doc = ""]
#[doc = include_str!("../docs/environment.md")]
pub mod environment {}

#[doc = of_this_version!("requirements", "docs/gpu.md#requirements")]
#[doc = ""]
#[doc = include_str!("../docs/errors.md")]
pub mod errors {}

#[doc = "[formulas]: crate::guide#formulas-in-one-pass"]
#[doc = "[bitlane-candle]: https://docs.rs/bitlane-candle"]
#[doc = of_this_version!("bitlane-python", "bitlane-python/README.md")]
#[doc = of_this_version!("bits", "docs/release.md#bits")]
#[doc = of_this_version!("caches", "docs/gpu.md#compilation-and-caches")]
#[doc = of_this_version!("differences", "docs/semantics.md#13-differences-from-other-libraries")]
#[doc = of_this_version!("help-wanted", "docs/gpu.md#help-wanted")]
#[doc = of_this_version!("vcuda", "vcuda/README.md")]
#[doc = ""]
#[doc = include_str!("../docs/faq.md")]
pub mod faq {}

#[doc = "[bitlane-candle]: https://docs.rs/bitlane-candle"]
#[doc = "[bitlane-quant]: https://docs.rs/bitlane-quant"]
#[doc = of_this_version!("differences", "docs/semantics.md#13-differences-from-other-libraries")]
#[doc = ""]
#[doc = include_str!("../docs/porting.md")]
pub mod porting {}
