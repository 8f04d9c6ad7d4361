//! Operations of `bitlane eval` on whole arrays, of which expressions cannot be made: scans, look-ups by index and
//! losses. Their operands are computed before them.

use bitlane::loss::{self, PoissonNll, Reduction::Mean};
use bitlane::{Result, Tensor};

/// An operation on two arrays, and perhaps an axis.
#[derive(Debug)]
pub struct Pair {
    pub name: &'static str,
    pub takes_axis: bool,
    pub apply: fn(&Tensor, &Tensor, i64) -> Result<Tensor>,
}

const fn pair(
    name: &'static str,
    takes_axis: bool,
    apply: fn(&Tensor, &Tensor, i64) -> Result<Tensor>,
) -> Pair {
    Pair { name, takes_axis, apply }
}

/// Every operation on two arrays.
pub static PAIRS: [Pair; 9] = [
    pair("take", true, |x, indices, axis| x.take(indices, axis)),
    pair("take_clamped", true, |x, indices, axis| x.take_clamped(indices, axis)),
    pair("take_along_axis", true, |x, indices, axis| x.take_along_axis(indices, axis)),
    pair("compress", false, |x, mask, _| x.compress(mask)),
    pair("l1_loss", false, |x, y, _| loss::l1(x, y, Mean)),
    pair("mse_loss", false, |x, y, _| loss::mse(x, y, Mean)),
    pair("huber_loss", false, |x, y, _| loss::huber(x, y, 1.0, Mean)),
    pair("smooth_l1_loss", false, |x, y, _| loss::smooth_l1(x, y, 1.0, Mean)),
    pair("poisson_nll_loss", false, |x, y, _| loss::poisson_nll(x, y, PoissonNll::default(), Mean)),
];
