//! The long form behind every binary operation.

use crate::backend::{self, BinaryCall, Source};
use crate::layout::{Layout, Shape, boxed, broadcast};
use crate::op::BinaryOp;
use crate::operand::{Operand, Placed};
use crate::overlap::{Alias, alias};
use crate::plan::{Plan, ROLES, Role};
use crate::promote::{Compute, Resolved, Rules, resolve};
use crate::scalar::ElementBytes;
use crate::storage::{Access, Part};
use crate::{DType, Device, Error, Result, Scalar, Tensor};

/// A binary operation before it runs: choose the rulebook, a destination and a mask, then
/// [`run`](Binary::run) it.
///
/// ```
/// use bitlane::{BinaryOp, Device, Rules, Tensor, binary};
/// let device = Device::cpu();
/// let x = Tensor::from_slice(&[1i32, 2, 3], [3], &device)?;
/// let y = Tensor::from_slice(&[0.5f32, 0.5, 0.5], [3], &device)?;
/// let mask = Tensor::from_slice(&[true, false, true], [3], &device)?;
/// let mut out = Tensor::from_slice(&[-1.0f32, -1.0, -1.0], [3], &device)?;
/// binary(BinaryOp::Add, &x, &y).rules(Rules::Torch).out(&mut out).mask(&mask).run()?;
/// assert_eq!(out.to_vec::<f32>()?, [1.5, -1.0, 3.5]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is run"]
pub struct Binary<'a> {
    op: BinaryOp,
    lhs: Operand<'a>,
    rhs: Operand<'a>,
    rules: Rules,
    out: Option<&'a Tensor>,
    mask: Option<&'a Tensor>,
}

/// Prepares an operation on two operands; see [`Binary`].
pub fn binary<'a>(
    op: BinaryOp,
    lhs: impl Into<Operand<'a>>,
    rhs: impl Into<Operand<'a>>,
) -> Binary<'a> {
    Binary { op, lhs: lhs.into(), rhs: rhs.into(), rules: Rules::default(), out: None, mask: None }
}

impl<'a> Binary<'a> {
    /// Promotes by this rulebook instead of Paddle's.
    pub fn rules(self, rules: Rules) -> Self {
        Binary { rules, ..self }
    }

    /// Writes to this tensor instead of a new one. It keeps its dtype and shape: the result must
    /// have that shape and a dtype of the same category or a lower one. It may be any view, and
    /// may share storage with the operands.
    pub fn out(self, out: &'a mut Tensor) -> Self {
        self.into_tensor(out)
    }

    /// As [`Binary::out`], for those who have shown otherwise that they may write.
    pub(super) fn into_tensor(self, out: &'a Tensor) -> Self {
        Binary { out: Some(out), ..self }
    }

    /// Writes only where the mask, a bool tensor that broadcasts to the result, is true. Needs an
    /// [`out`](Binary::out), so that what is left alone is defined.
    pub fn mask(self, mask: &'a Tensor) -> Self {
        Binary { mask: Some(mask), ..self }
    }

    /// Runs the operation and gives the result: the destination if there is one, else a new tensor.
    ///
    /// # Errors
    ///
    /// [`Error::Promotion`] or [`Error::UnsupportedDType`] if the rules or the operation refuse the
    /// dtypes, [`Error::Broadcast`] if the shapes do not fit, [`Error::ScalarOverflow`] for a number
    /// that does not fit, [`Error::DeviceMismatch`] for operands on different devices, and for the
    /// destination [`Error::InplaceShape`], [`Error::InplaceDtype`],
    /// [`Error::OverlappingDestination`]; [`Error::InvalidArgument`] for two numbers, or for a mask
    /// that is not bool or has no destination; [`Error::InvalidShape`] or [`Error::OutOfMemory`] for
    /// a result that is too large; and on CUDA [`Error::Compile`] or [`Error::Driver`]. The
    /// destination is then as it was.
    pub fn run(self) -> Result<Tensor> {
        let Binary { op, lhs, rhs, rules, out, mask } = self;
        let name = op.name();
        // Numbers and arrays go to where a tensor is.
        let others = out.or(mask).map(Tensor::device);
        let device = match lhs.device().or(rhs.device()).or(others) {
            Some(device) => device.clone(),
            None => Device::best()?,
        };
        let (lhs, rhs) = (lhs.place(&device)?, rhs.place(&device)?);
        for tensor in [lhs.tensor(), rhs.tensor(), out, mask].into_iter().flatten() {
            device.expect_same(name, tensor.device())?;
        }
        let resolved = resolve(op.into(), lhs.kind(), rhs.kind(), rules)?;
        let shape = broadcast(name, lhs.shape(), rhs.shape())?;
        let call = Prepared {
            op,
            device: &device,
            resolved,
            shape,
            lhs: Input::new(op, &lhs, Side::Left, &shape, resolved.compute)?,
            rhs: Input::new(op, &rhs, Side::Right, &shape, resolved.compute)?,
        };
        match out {
            Some(out) => {
                call.check_destination(out)?;
                let mask = mask.map(|mask| call.broadcast_mask(mask)).transpose()?;
                call.run_into(out, mask.as_ref())?;
                Ok(out.clone())
            }
            None if mask.is_some() => Err(Error::InvalidArgument {
                op: name,
                reason: "a mask needs a destination, which holds what the mask leaves alone; \
                         give one with `out`"
                    .into(),
            }),
            None => call.run_fresh(resolved.result),
        }
    }
}

/// Which operand of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// An operand as the backends take it: a tensor broadcast to the result's shape, or a number.
struct Input<'a> {
    tensor: Option<(&'a Tensor, Layout)>,
    source: Source,
}

impl<'a> Input<'a> {
    fn new(
        op: BinaryOp,
        operand: &'a Placed<'_>,
        side: Side,
        shape: &[usize],
        compute: Compute,
    ) -> Result<Input<'a>> {
        if let Placed::Scalar(scalar) = operand {
            let bytes = scalar_element(op, *scalar, side, compute)?;
            return Ok(Input { tensor: None, source: Source::Scalar(bytes) });
        }
        let tensor = operand.tensor().map(|tensor| {
            let layout = tensor.layout().broadcast_to(op.name(), shape)?;
            Ok((tensor, layout))
        });
        let tensor = tensor.transpose()?;
        let dtype = tensor.map_or(DType::Bool, |(tensor, _)| tensor.dtype());
        Ok(Input { tensor, source: Source::Memory(dtype) })
    }

    fn layout(&self) -> Option<&Layout> {
        self.tensor.as_ref().map(|(_, layout)| layout)
    }

    /// How a destination relates to this operand's memory.
    fn alias(&self, out: &Tensor) -> Alias {
        match &self.tensor {
            Some((tensor, layout)) if tensor.shares_storage(out) => alias(out.layout(), layout),
            _ => Alias::Disjoint,
        }
    }
}

/// A number in the dtype of the computation. A shift amount is never wrapped, and copysign takes
/// the sign that the number has before it is converted.
fn scalar_element(
    op: BinaryOp,
    scalar: Scalar,
    side: Side,
    compute: Compute,
) -> Result<ElementBytes> {
    // Only tensors are compared exactly; a number has been given the tensor's dtype.
    let Compute::In(dtype) = compute else {
        return scalar.to_element(op.name(), scalar.dtype());
    };
    match (op, side) {
        (BinaryOp::LeftShift(_) | BinaryOp::RightShift(_), Side::Right) => {
            Ok(scalar.to_shift_amount(dtype))
        }
        (BinaryOp::Copysign, Side::Right) => Ok(scalar.to_sign(dtype)),
        _ => scalar.to_element(op.name(), dtype),
    }
}

/// A checked operation, for any destination.
struct Prepared<'a> {
    op: BinaryOp,
    device: &'a Device,
    resolved: Resolved,
    shape: Shape,
    lhs: Input<'a>,
    rhs: Input<'a>,
}

impl Prepared<'_> {
    /// Refuses a destination that the result does not fit.
    fn check_destination(&self, out: &Tensor) -> Result<()> {
        let op = self.op.name();
        if out.shape() != &*self.shape {
            let (destination, result) = (boxed(out.shape()), boxed(&self.shape));
            return Err(Error::InplaceShape { op, destination, result });
        }
        let (destination, result) = (out.dtype(), self.resolved.result);
        if result.category() > destination.category() {
            return Err(Error::InplaceDtype { op, destination, result });
        }
        if out.layout().overlaps_itself() {
            let (shape, strides) = (boxed(out.shape()), out.strides().into());
            return Err(Error::OverlappingDestination { op, shape, strides });
        }
        Ok(())
    }

    /// The mask as a bool tensor of the result's shape.
    fn broadcast_mask(&self, mask: &Tensor) -> Result<Tensor> {
        let op = self.op.name();
        if mask.dtype() != DType::Bool {
            let reason = format!("the mask is {}, not bool; cast or compare it", mask.dtype());
            return Err(Error::InvalidArgument { op, reason });
        }
        Ok(mask.with_layout(mask.layout().broadcast_to("mask", &self.shape)?))
    }

    /// Writes a new tensor.
    fn run_fresh(&self, dtype: DType) -> Result<Tensor> {
        let out = self.undefined(dtype)?;
        self.launch(&out, None, &self.lock(&out, None))?;
        Ok(out)
    }

    /// A tensor of the result's shape, to be written.
    fn undefined(&self, dtype: DType) -> Result<Tensor> {
        Tensor::undefined(self.op.name(), self.device, &self.shape, dtype)
    }

    /// Writes a given tensor, through a temporary if it partly overlaps what is read.
    fn run_into(&self, out: &Tensor, mask: Option<&Tensor>) -> Result<()> {
        let mask_alias = match mask {
            Some(mask) if mask.shares_storage(out) => alias(out.layout(), mask.layout()),
            _ => Alias::Disjoint,
        };
        let aliases = [self.lhs.alias(out), self.rhs.alias(out), mask_alias];
        if !aliases.contains(&Alias::Overlapping) {
            return self.launch(out, mask, &self.lock(out, mask));
        }
        let result = self.undefined(out.dtype())?;
        // The mask has to be read before the destination is written, too.
        let mask_copy = match mask_alias {
            Alias::Overlapping => Some(self.undefined(DType::Bool)?),
            _ => None,
        };
        // To everybody else the two or three calls are one.
        let access = self.lock(out, mask);
        let [written, lhs, rhs, masking] =
            [Role::Out, Role::Lhs, Role::Rhs, Role::Mask].map(|role| Some(Part::Held(role)));
        let private = Some(Part::Private(result.storage()));
        self.launch(&result, None, &access.for_part([private, lhs, rhs, None]))?;
        if let (Some(copy), Some(mask)) = (&mask_copy, mask) {
            let private_mask = Some(Part::Private(copy.storage()));
            copy.copy_from(mask, None, &access.for_part([private_mask, masking, None, None]))?;
            let parts = [written, private, None, private_mask];
            return out.copy_from(&result, Some(copy), &access.for_part(parts));
        }
        out.copy_from(&result, mask, &access.for_part([written, private, None, masking]))
    }

    /// Locks what a launch reads and writes.
    fn lock<'a>(&'a self, out: &'a Tensor, mask: Option<&'a Tensor>) -> Access<'a> {
        Access::new([
            Some(out.storage()),
            self.lhs.tensor.as_ref().map(|(tensor, _)| tensor.storage()),
            self.rhs.tensor.as_ref().map(|(tensor, _)| tensor.storage()),
            mask.map(Tensor::storage),
        ])
    }

    fn launch(&self, out: &Tensor, mask: Option<&Tensor>, access: &Access<'_>) -> Result<()> {
        let layouts: [Option<&Layout>; ROLES] =
            [Some(out.layout()), self.lhs.layout(), self.rhs.layout(), mask.map(Tensor::layout)];
        let plan = Plan::new(&self.shape, layouts);
        if plan.len == 0 {
            return Ok(());
        }
        let call = BinaryCall {
            op: self.op,
            compute: self.resolved.compute,
            result: self.resolved.result,
            lhs: self.lhs.source,
            rhs: self.rhs.source,
            out: out.dtype(),
            masked: mask.is_some(),
            plan: &plan,
        };
        backend::binary(self.device, &call, access)
    }
}
