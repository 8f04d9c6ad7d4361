//! Loss functions: the distance between predictions `x` and targets `y`, per element, summed or averaged.
//!
//! Each function makes one pass over memory. The formulas below use `z = x − y`; products and sums are evaluated from
//! left to right. They are computed in the dtype to which `x` and `y` promote, except that floats of 8 and
//! 16 bits are computed in `f32`, and parameters are rounded to the dtype of the computation. The result is rounded once, after the
//! sum if there is one. Sums are computed as by [`Tensor::sum`].
//!
//! # Examples
//!
//! ```
//! use bitlane::{Device, Tensor, loss};
//! let device = Device::cpu();
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 4.0], [3], &device)?;
//! let y = Tensor::from_slice(&[1.0f32, 0.0, 0.0], [3], &device)?;
//! let squares = loss::mse(&x, &y, loss::Reduction::None)?;
//! assert_eq!(squares.to_vec::<f32>()?, [0.0, 4.0, 16.0]);
//! assert_eq!(loss::l1(&x, &y, loss::Reduction::Mean)?.to_vec::<f32>()?, [2.0]);
//! # Ok::<(), bitlane::Error>(())
//! ```

use crate::call::{Call, Elements, ReduceAxes, Target};
use crate::layout::MAX_RANK;
use crate::op::{ElementOp, OtherOp, ReduceOp};
use crate::program::Value;
use crate::{DType, Error, Result, Tensor};

/// How the losses of the elements are combined.
///
/// # Examples
///
/// ```
/// use bitlane::loss::Reduction;
/// assert_eq!(Reduction::default(), Reduction::Mean);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Not at all: the result has the shape to which `x` and `y` broadcast.
    None,
    /// The result is their mean, a tensor without dimensions. The mean of no elements is NaN.
    #[default]
    Mean,
    /// The result is their sum, a tensor without dimensions.
    Sum,
}

/// The parameters of [`poisson_nll`].
///
/// # Examples
///
/// ```
/// use bitlane::loss::PoissonNll;
/// let parameters = PoissonNll { full: true, ..PoissonNll::default() };
/// assert!(parameters.log_input);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoissonNll {
    /// Whether `x` is the logarithm of the rate rather than the rate. The default is `true`.
    pub log_input: bool,
    /// Whether to add Stirling's approximation of `log(y!)` where `y > 1`. The default is `false`.
    pub full: bool,
    /// The number added to a rate before its logarithm is taken; unused with `log_input`. The default is `1e-8`.
    pub epsilon: f64,
}

impl Default for PoissonNll {
    fn default() -> Self {
        PoissonNll { log_input: true, full: false, epsilon: 1e-8 }
    }
}

/// Computes the absolute error `|z|`.
///
/// # Examples
///
/// ```
/// # use bitlane::{Device, Tensor, loss};
/// # let device = Device::cpu();
/// let x = Tensor::from_slice(&[1.0f32, -2.0], [2], &device)?;
/// let y = Tensor::from_slice(&[0.5f32], (), &device)?;
/// assert_eq!(loss::l1(&x, &y, loss::Reduction::Sum)?.to_vec::<f32>()?, [3.0]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`Binary::run`](crate::Binary::run) without a destination; in particular [`Error::UnsupportedDType`] if the
/// operands do not promote to a float.
pub fn l1(x: &Tensor, y: &Tensor, reduction: Reduction) -> Result<Tensor> {
    run(OtherOp::L1Loss, x, y, reduction, |loss| {
        let z = loss.difference();
        loss.apply(ElementOp::Abs, [z])
    })
}

/// Computes the squared error `z·z`.
///
/// # Examples
///
/// ```
/// # use bitlane::{Device, Tensor, loss};
/// # let device = Device::cpu();
/// let x = Tensor::from_slice(&[1.0f32, -2.0], [2], &device)?;
/// let y = Tensor::from_slice(&[0.0f32, 0.0], [2], &device)?;
/// assert_eq!(loss::mse(&x, &y, loss::Reduction::Mean)?.to_vec::<f32>()?, [2.5]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`l1`].
pub fn mse(x: &Tensor, y: &Tensor, reduction: Reduction) -> Result<Tensor> {
    run(OtherOp::MseLoss, x, y, reduction, |loss| {
        let z = loss.difference();
        loss.apply(ElementOp::Multiply, [z, z])
    })
}

/// Computes the Huber loss: `0.5·z·z` where `|z| ≤ delta`, and `delta·(|z| − 0.5·delta)` elsewhere.
///
/// # Examples
///
/// ```
/// # use bitlane::{Device, Tensor, loss};
/// # let device = Device::cpu();
/// let x = Tensor::from_slice(&[1.0f32, 4.0], [2], &device)?;
/// let y = Tensor::from_slice(&[0.0f32, 0.0], [2], &device)?;
/// assert_eq!(loss::huber(&x, &y, 2.0, loss::Reduction::None)?.to_vec::<f32>()?, [0.5, 6.0]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`l1`], and [`Error::InvalidArgument`] if `delta` is not positive.
pub fn huber(x: &Tensor, y: &Tensor, delta: f64, reduction: Reduction) -> Result<Tensor> {
    let op = OtherOp::HuberLoss;
    in_range(op, "delta", delta, "above 0", delta > 0.0)?;
    run(op, x, y, reduction, |loss| {
        let z = loss.difference();
        let [magnitude, square] = [loss.apply(ElementOp::Abs, [z]), loss.half_square(z)];
        let (half, delta) = (loss.constant(0.5), loss.constant(delta));
        let is_near = loss.apply(ElementOp::LessEqual, [magnitude, delta]);
        let half_delta = loss.apply(ElementOp::Multiply, [half, delta]);
        let beyond = loss.apply(ElementOp::Subtract, [magnitude, half_delta]);
        let linear = loss.apply(ElementOp::Multiply, [delta, beyond]);
        loss.apply(ElementOp::Select, [is_near, square, linear])
    })
}

/// Computes the smooth L1 loss: `0.5·z·z / beta` where `|z| < beta`, and `|z| − 0.5·beta` elsewhere.
///
/// This is PyTorch's definition. Paddle's `smooth_l1_loss` is [`huber`].
///
/// # Examples
///
/// ```
/// # use bitlane::{Device, Tensor, loss};
/// # let device = Device::cpu();
/// let x = Tensor::from_slice(&[1.0f32, 4.0], [2], &device)?;
/// let y = Tensor::from_slice(&[0.0f32, 0.0], [2], &device)?;
/// let losses = loss::smooth_l1(&x, &y, 2.0, loss::Reduction::None)?;
/// assert_eq!(losses.to_vec::<f32>()?, [0.25, 3.0]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`l1`], and [`Error::InvalidArgument`] if `beta` is negative or NaN.
pub fn smooth_l1(x: &Tensor, y: &Tensor, beta: f64, reduction: Reduction) -> Result<Tensor> {
    let op = OtherOp::SmoothL1Loss;
    in_range(op, "beta", beta, "at least 0", beta >= 0.0)?;
    run(op, x, y, reduction, |loss| {
        let z = loss.difference();
        let [magnitude, square] = [loss.apply(ElementOp::Abs, [z]), loss.half_square(z)];
        let (half, beta) = (loss.constant(0.5), loss.constant(beta));
        let is_near = loss.apply(ElementOp::LessThan, [magnitude, beta]);
        let scaled = loss.apply(ElementOp::Divide, [square, beta]);
        let half_beta = loss.apply(ElementOp::Multiply, [half, beta]);
        let linear = loss.apply(ElementOp::Subtract, [magnitude, half_beta]);
        loss.apply(ElementOp::Select, [is_near, scaled, linear])
    })
}

/// Computes the negative log-likelihood of targets `y` under Poisson distributions whose rates are given by `x`.
///
/// The loss is `exp(x) − y·x` if [`log_input`](PoissonNll::log_input) is set, and `x − y·log(x + epsilon)` otherwise.
/// If [`full`](PoissonNll::full) is set, `y·log(y) − y + 0.5·log(2π·y)` is added where `y > 1`.
///
/// # Examples
///
/// ```
/// # use bitlane::{Device, Tensor, loss};
/// # let device = Device::cpu();
/// let x = Tensor::from_slice(&[0.0f32, 0.0], [2], &device)?;
/// let y = Tensor::from_slice(&[1.0f32, 3.0], [2], &device)?;
/// let losses = loss::poisson_nll(&x, &y, loss::PoissonNll::default(), loss::Reduction::None)?;
/// assert_eq!(losses.to_vec::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`l1`], and [`Error::InvalidArgument`] if `epsilon` is negative or NaN.
pub fn poisson_nll(
    x: &Tensor,
    y: &Tensor,
    parameters: PoissonNll,
    reduction: Reduction,
) -> Result<Tensor> {
    let op = OtherOp::PoissonNllLoss;
    let PoissonNll { log_input, full, epsilon } = parameters;
    in_range(op, "epsilon", epsilon, "at least 0", epsilon >= 0.0)?;
    run(op, x, y, reduction, |loss| {
        let (x, y) = (loss.x, loss.y);
        let likelihood = if log_input {
            let rate = loss.apply(ElementOp::Exp, [x]);
            let product = loss.apply(ElementOp::Multiply, [y, x]);
            loss.apply(ElementOp::Subtract, [rate, product])
        } else {
            let epsilon = loss.constant(epsilon);
            let rate = loss.apply(ElementOp::Add, [x, epsilon]);
            let logarithm = loss.apply(ElementOp::Log, [rate]);
            let product = loss.apply(ElementOp::Multiply, [y, logarithm]);
            loss.apply(ElementOp::Subtract, [x, product])
        };
        if !full {
            return likelihood;
        }
        let logarithm = loss.apply(ElementOp::Log, [y]);
        let product = loss.apply(ElementOp::Multiply, [y, logarithm]);
        let difference = loss.apply(ElementOp::Subtract, [product, y]);
        let (half, one) = (loss.constant(0.5), loss.constant(1.0));
        let full_turn = loss.constant(std::f64::consts::TAU);
        let scaled = loss.apply(ElementOp::Multiply, [full_turn, y]);
        let logarithm = loss.apply(ElementOp::Log, [scaled]);
        let correction = loss.apply(ElementOp::Multiply, [half, logarithm]);
        let stirling = loss.apply(ElementOp::Add, [difference, correction]);
        let is_large = loss.apply(ElementOp::GreaterThan, [y, one]);
        let sum = loss.apply(ElementOp::Add, [likelihood, stirling]);
        loss.apply(ElementOp::Select, [is_large, sum, likelihood])
    })
}

/// Rejects a parameter that is out of range or NaN.
fn in_range(op: OtherOp, name: &str, value: f64, range: &str, is_inside: bool) -> Result<()> {
    if is_inside {
        return Ok(());
    }
    let reason = format!("{name} is {value:?}, but must be {range}");
    Err(Error::InvalidArgument { op: op.name(), reason })
}

/// A loss whose program is being built.
struct Loss<'a, 'b> {
    call: &'b mut Call<'a>,
    /// The dtype of the computation.
    dtype: DType,
    /// The predictions and targets, converted to that dtype.
    x: Value,
    y: Value,
}

impl Loss<'_, '_> {
    fn apply<const N: usize>(&mut self, op: ElementOp, arguments: [Value; N]) -> Value {
        self.call.program.apply(op, arguments)
    }

    fn constant(&mut self, value: f64) -> Value {
        self.call.constant(value, self.dtype)
    }

    /// `x − y`.
    fn difference(&mut self) -> Value {
        self.apply(ElementOp::Subtract, [self.x, self.y])
    }

    /// `0.5·z·z`.
    fn half_square(&mut self, z: Value) -> Value {
        let half = self.constant(0.5);
        let halved = self.apply(ElementOp::Multiply, [half, z]);
        self.apply(ElementOp::Multiply, [halved, z])
    }
}

/// Promotes the operands, appends the steps of a loss to the program, and runs it.
fn run(
    op: OtherOp,
    x: &Tensor,
    y: &Tensor,
    reduction: Reduction,
    steps: impl FnOnce(&mut Loss<'_, '_>) -> Value,
) -> Result<Tensor> {
    let mut call = Call::new();
    let [x, y] = [call.tensor(x), call.tensor(y)];
    let (resolved, shape, device) = call.resolve_pair(op, &x.into(), &y.into())?;
    let dtype = resolved.result.working();
    let [x, y] = [x, y].map(|term| {
        let promoted = call.cast(term, resolved.result);
        call.cast(promoted, dtype).value
    });
    let value = steps(&mut Loss { call: &mut call, dtype, x, y });
    let reduce = match reduction {
        Reduction::None => None,
        Reduction::Mean => Some(ReduceOp::Mean),
        Reduction::Sum => Some(ReduceOp::Sum),
    };
    let over = reduce.map(|op| ReduceAxes {
        op,
        axes: [true; MAX_RANK],
        keepdims: false,
        rounded: resolved.result,
        correction: 0.0,
    });
    let mut losses = Elements { value, shape, device };
    if over.is_none() {
        losses = call.cast(losses, resolved.result);
    }
    call.run(op.name(), losses, over, Target::default())
}
