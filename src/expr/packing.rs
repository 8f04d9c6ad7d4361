//! Packing and unpacking as steps of expressions.
//!
//! Values of a group of words are a dimension of their own. To unpack, each word is broadcast along it and shifted by an
//! amount that depends on the value alone. A value that crosses words is the rotation of bits that two words have at
//! different places. To pack, each value is brought to its place, and the bits of a word are joined: by shifts (`joining.rs`) if the
//! values are in memory, else by a reduction, in the pass that computes the values.

use super::Expr;
use super::lower::{Lowering, Packings, Stages};
use super::split::Split;
use super::views::ViewStep;
use crate::call::{Call, Elements, ReduceArguments, Term};
use crate::layout::{MAX_RANK, Shape, checked_axis, checked_len};
use crate::packing::{Constants, Group, Packing};
use crate::promote::Rules;
use crate::tensor::IntoAxis;
use crate::{BinaryOp, DType, Device, Error, ReduceOp, Result, Shift, Tensor};

/// A step that packs or unpacks, along an axis.
pub(super) struct PackingStep {
    kind: PackingKind,
    axis: i128,
}

enum PackingKind {
    Pack(Packing),
    Unpack(Packing),
    Repack(Packing, Packing),
}

/// # Packing
impl<'a> Expr<'a> {
    /// Packs values of a few bits into words, along one dimension; see [`Tensor::pack`](crate::Tensor::pack).
    ///
    /// What comes before it is computed in the same pass, which this ends, as a reduction does. Values in memory are joined in the pass
    /// of what follows, and several times as fast.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let x = Tensor::from_nested([0.1f32, 0.9, -0.6, 0.4], &Device::cpu())?;
    /// let steps = (x.expr() * 7).round().cast(DType::I8);
    /// let words = steps.pack(&Packing::new(4, DType::U16), 0).run()?;
    /// assert_eq!(words.to_vec::<u16>()?, [0x3c61]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn pack(&self, packing: &Packing, axis: impl IntoAxis) -> Expr<'a> {
        self.packing_step("pack", PackingKind::Pack(packing.clone()), axis)
    }

    /// Unpacks the values of words, along one dimension; see [`Tensor::unpack`](crate::Tensor::unpack).
    ///
    /// What follows is computed in the same pass, so that the values are not stored.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let words = Tensor::from_nested([0x3210u16, 0x7654], &Device::cpu())?;
    /// let scales = Tensor::arange(8, DType::F32, &Device::cpu())?;
    /// let values = words.expr().unpack(&Packing::new(4, DType::U16), 0);
    /// let weights = (values.cast(DType::F32) - 4) * &scales;
    /// assert_eq!(weights.run()?.to_vec::<f32>()?, [0.0, -3.0, -4.0, -3.0, 0.0, 5.0, 12.0, 21.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn unpack(&self, packing: &Packing, axis: impl IntoAxis) -> Expr<'a> {
        self.packing_step("unpack", PackingKind::Unpack(packing.clone()), axis)
    }

    /// Converts words from one packing to another, along one dimension; see [`Tensor::repack`](crate::Tensor::repack).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let words = Tensor::from_nested([0x76543210u32], &Device::cpu())?;
    /// let (four, other) = (Packing::new(4, DType::U32), Packing::new(4, DType::U8));
    /// let bytes = (words.expr() ^ 0x88888888u32).repack(&four, &other, 0).run()?;
    /// assert_eq!(bytes.to_vec::<u8>()?, [0x98, 0xba, 0xdc, 0xfe]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn repack(&self, from: &Packing, to: &Packing, axis: impl IntoAxis) -> Expr<'a> {
        self.packing_step("repack", PackingKind::Repack(from.clone(), to.clone()), axis)
    }

    fn packing_step(&self, name: &'static str, kind: PackingKind, axis: impl IntoAxis) -> Expr<'a> {
        let axis = axis.number();
        let arguments = match &kind {
            PackingKind::Pack(packing) | PackingKind::Unpack(packing) => {
                format!("{packing}, {axis}")
            }
            PackingKind::Repack(from, to) => format!("{from}, {to}, {axis}"),
        };
        self.step(name, arguments, ViewStep::Packing(PackingStep { kind, axis }.into()))
    }
}

impl PackingStep {
    /// Adds the step.
    pub(super) fn lower<'b>(
        &self,
        lowering: &mut Lowering<'b, '_>,
        x: Split<'b>,
        is_root: bool,
    ) -> Result<Split<'b>> {
        let axis = self.axis;
        match &self.kind {
            PackingKind::Pack(packing) => lowering.pack("pack", x, packing, axis, is_root),
            PackingKind::Unpack(packing) => lowering.unpack("unpack", x, packing, axis, is_root),
            PackingKind::Repack(from, to) => {
                let op = "repack";
                let (source, _) = (from.group(op)?, to.group(op)?);
                if from.bits() != to.bits() {
                    let (from, to) = (from.bits(), to.bits());
                    let reason = format!("values of {from} bits cannot be packed as {to} bits");
                    return Err(Error::InvalidArgument { op, reason });
                }
                let mut values = lowering.unpack(op, x, from, axis, false)?;
                // A value that crosses words would be computed anew for every word of its group.
                if source.words > 1 {
                    values = lowering.settled(op, values)?.into();
                }
                lowering.pack(op, values, to, axis, is_root)
            }
        }
    }
}

/// The dimension along which values are packed, with the words and values there.
pub(super) struct PackedAxis {
    pub(super) axis: usize,
    shape: Shape,
    pub(super) group: Group,
    /// The number of groups.
    groups: usize,
}

impl PackedAxis {
    /// Returns the dimensions after the axis.
    fn inner(&self) -> usize {
        self.shape.len() - 1 - self.axis
    }

    /// Returns the shape with the groups and their values in place of the axis.
    pub(super) fn split(&self) -> Vec<usize> {
        self.with(&[self.groups, self.group.values()])
    }

    /// Returns the shape with other sizes in place of that of the axis.
    fn with(&self, sizes: &[usize]) -> Vec<usize> {
        [&self.shape[..self.axis], sizes, &self.shape[self.axis + 1..]].concat()
    }
}

/// Splits a length into groups; what is shorter than a group is a smaller one. Returns `None` if a part would be left.
fn grouped(len: usize, of_group: usize) -> Option<usize> {
    if len < of_group { Some(1) } else { len.is_multiple_of(of_group).then(|| len / of_group) }
}

impl<'b> Lowering<'b, '_> {
    fn unpack(
        &mut self,
        op: &'static str,
        x: Split<'b>,
        packing: &Packing,
        axis: i128,
        is_root: bool,
    ) -> Result<Split<'b>> {
        let group = packing.group(op)?;
        let dtype = self.call.program.dtype(x.elements.value);
        if dtype != packing.word() {
            let word = packing.word();
            let reason =
                format!("the words are {dtype}, and those of the packing {word}; `bitcast` them");
            return Err(Error::InvalidArgument { op, reason });
        }
        let shape = self.shape(&x);
        let axis = checked_axis(op, axis, &shape)?;
        let words = shape[axis];
        let values = packing.values_in(words).unwrap_or(usize::MAX);
        let mut whole = shape.to_vec();
        whole[axis] = values;
        checked_len(op, &whole, 1)?;
        let is_short = words < group.words;
        let groups = grouped(words, group.words).filter(|_| shape.len() < MAX_RANK);
        let Some(groups) = groups.filter(|_| values > 0 || words == 0) else {
            let result = self.by_parts(op, x, packing, axis, whole, Direction::Unpack)?;
            return Ok(self.finished(result, is_root));
        };
        let group = if is_short { group.part(words, values) } else { group };
        let x = self.operand(op, x)?;
        let x = self.settled(op, x)?;
        let line = PackedAxis { axis, shape, group, groups };
        let fields = if line.group.words > 1 {
            self.crossing_fields(op, x, &line, packing)?
        } else {
            let places = line.group.places(packing.word(), line.inner());
            let words = self.view(op, x, |tensor| tensor.unsqueeze(axis + 1))?;
            self.with(BinaryOp::RightShift(Shift::Logical), words, places)?
        };
        // What is beyond a byte is dropped, and then what is beyond the value.
        let mut values = self.call.cast(fields, packing.value_dtype());
        let unused = 8 - packing.bits() as i64;
        if packing.value_dtype() == DType::U8 && unused > 0 && line.group.words == 1 {
            values = self.masked(values, packing)?;
        }
        if packing.value_dtype() == DType::I8 && unused > 0 {
            let ops =
                [BinaryOp::LeftShift(Shift::Arithmetic), BinaryOp::RightShift(Shift::Arithmetic)];
            for op in ops {
                let amount = Term::Number(unused.into());
                values = self.call.binary(op, values.into(), amount, Rules::Paddle)?;
            }
        }
        // No elements have every shape without elements.
        if whole.contains(&0) {
            return Ok(self.view(op, values, |tensor| tensor.reshape(&*whole))?.into());
        }
        let values = Split { elements: values, whole: Some(self.call.add_shape(&whole)) };
        self.operand(op, values)
    }

    /// Returns a value that has been computed if packings are apart from the passes around them.
    fn operand(&mut self, op: &'static str, x: Split<'b>) -> Result<Split<'b>> {
        if *self.packings != Packings::Apart {
            *self.packings = Packings::Within;
            return Ok(x);
        }
        if x.whole.is_none() && self.call.memory(x.elements).is_some() {
            return Ok(x);
        }
        let whole = x.whole.map(|_| self.shape(&x));
        self.staged(op, x.elements, None, whole)
    }

    /// Returns values that may cross words: of each word the bits of the value, joined and rotated to the lowest place.
    fn crossing_fields(
        &mut self,
        op: &'static str,
        x: Elements<'b>,
        line: &PackedAxis,
        packing: &Packing,
    ) -> Result<Elements<'b>> {
        let (axis, group) = (line.axis, &line.group);
        let split = line.with(&[line.groups, group.words]);
        let mut joined: Option<Elements<'b>> = None;
        for word in 0..group.words {
            let own =
                self.view(op, x, |tensor| tensor.reshape(&split)?.narrow(axis + 1, word, 1))?;
            let masks = group.masks(packing, word..word + 1, line.inner());
            let own = self.with(BinaryOp::BitwiseAnd, own, masks)?;
            joined = Some(match joined {
                None => own,
                Some(others) => {
                    let op = BinaryOp::BitwiseOr;
                    self.call.binary(op, others.into(), own.into(), Rules::Paddle)?
                }
            });
        }
        let places = group.places(packing.word(), line.inner());
        self.with(BinaryOp::RotateRight, joined.unwrap_or(x), places)
    }

    fn pack(
        &mut self,
        op: &'static str,
        x: Split<'b>,
        packing: &Packing,
        axis: i128,
        is_root: bool,
    ) -> Result<Split<'b>> {
        let dtype = self.call.program.dtype(x.elements.value);
        if !(dtype.is_int() || dtype == DType::Bool) {
            return Err(Error::UnsupportedDType { op, dtype, allowed: "bool and integers" });
        }
        let group = packing.group(op)?;
        let shape = self.shape(&x);
        let axis = checked_axis(op, axis, &shape)?;
        let values = shape[axis];
        let words = packing.words_for(values);
        let mut whole = shape.to_vec();
        whole[axis] = words;
        checked_len(op, &whole, packing.word().size())?;
        let room = if group.words > 1 { 2 } else { 1 };
        let groups = grouped(values, group.values()).filter(|_| shape.len() + room <= MAX_RANK);
        let Some(groups) = groups.filter(|_| values > 0) else {
            let result = self.by_parts(op, x, packing, axis, whole, Direction::Pack)?;
            return Ok(self.finished(result, is_root));
        };
        let is_short = values < group.values();
        let group = if is_short { group.part(words, values) } else { group };
        let line = PackedAxis { axis, shape, group, groups };
        let x = self.operand(op, x)?;
        let is_joined = !is_short && x.whole.is_none();
        let joined = is_joined.then(|| self.joined(op, x.elements, &line, packing)).transpose()?;
        if let Some(words) = joined.flatten() {
            return self.operand(op, words.into());
        }
        let split: Vec<_> = line.split().into_iter().map(Some).collect();
        let x = self.reshaped(x, &split)?;
        let x = self.settled(op, x)?;
        let x = self.call.cast(x, packing.word());
        let x = self.masked(x, packing)?;
        let places = line.group.places(packing.word(), line.inner());
        let placed = if line.group.words > 1 {
            let turned = self.with(BinaryOp::RotateLeft, x, places)?;
            let turned = self.view(op, turned, |tensor| tensor.unsqueeze(axis + 2))?;
            let masks = line.group.masks(packing, 0..line.group.words, line.inner());
            self.with(BinaryOp::BitwiseAnd, turned, masks)?
        } else {
            self.with(BinaryOp::LeftShift(Shift::Logical), x, places)?
        };
        let arguments = ReduceArguments::new(axis + 1);
        let reduce = ReduceOp::BitwiseOr;
        let (terms, over) = self.call.reduce(reduce, placed, &arguments, Rules::Paddle)?;
        let whole = (line.group.words > 1).then(|| Shape::of(&whole));
        self.reduced(op, terms, over, whole, is_root)
    }

    /// Adds a binary operation with constants of the dtype of the elements.
    fn with(
        &mut self,
        op: BinaryOp,
        x: Elements<'b>,
        constants: Constants,
    ) -> Result<Elements<'b>> {
        let device = x.device.cloned().map_or_else(Device::best, Ok)?;
        let tensor = match self.stages.is_run() {
            true => constants.upload(&device)?,
            false => {
                let (shape, dtype) = (&constants.shape, constants.dtype);
                Tensor::without_memory(op.name(), &device, shape, dtype)?
            }
        };
        let tensor = self.call.tensor(self.temporaries.keep(tensor));
        self.call.binary(op, x.into(), tensor.into(), Rules::Paddle)
    }

    /// Clears the bits beyond those of a value.
    pub(super) fn masked(&mut self, x: Elements<'b>, packing: &Packing) -> Result<Elements<'b>> {
        if is_byte(packing) {
            return Ok(x);
        }
        let mask = Term::Number(packing.mask().into());
        self.call.binary(BinaryOp::BitwiseAnd, x.into(), mask, Rules::Paddle)
    }

    /// Computes the operand, and packs or unpacks whole groups and what is left one after the other.
    fn by_parts(
        &mut self,
        op: &'static str,
        x: Split<'b>,
        packing: &Packing,
        axis: usize,
        whole: Vec<usize>,
        direction: Direction,
    ) -> Result<Tensor> {
        self.run_pending()?;
        let own = self.shape(&x);
        let tensor = match (x.whole, self.call.memory(x.elements)) {
            (None, Some(tensor)) => tensor.clone(),
            _ => {
                let whole = x.whole.map(|_| own);
                let settled = self.staged(op, x.elements, None, whole)?.elements;
                self.call.memory(settled).cloned().ok_or_else(|| Error::InvalidArgument {
                    op,
                    reason: "the operand is missing".into(),
                })?
            }
        };
        // Other dimensions become one on each side if there would be too many.
        let (before, after) = (&own[..axis], &own[axis + 1..]);
        let (before, after): (usize, usize) = (before.iter().product(), after.iter().product());
        let source = if own.len() + 2 <= MAX_RANK && before * after > 0 {
            tensor.reshape(&*own)?
        } else {
            self.without_gaps(&tensor)?.reshape([before, own[axis], after])?
        };
        let axis = if source.rank() == own.len() { axis } else { 1 };
        let mut shape = source.shape().to_vec();
        shape[axis] = whole.iter().product::<usize>() / (before * after).max(1);
        let dtype = direction.dtype(packing);
        let result = match self.stages.is_run() {
            true => Tensor::undefined(op, tensor.device(), &whole, dtype)?,
            false => Tensor::without_memory(op, tensor.device(), &whole, dtype)?,
        };
        if result.is_empty() {
            return Ok(result);
        }
        let target = result.reshape(&shape)?;
        let group = packing.group(op)?;
        let (from, to) = match direction {
            Direction::Pack => (group.values(), group.words),
            Direction::Unpack => (group.words, group.values()),
        };
        let groups = source.shape()[axis] / from;
        let mut done = (0, 0);
        for len in [(groups * from, groups * to), (usize::MAX, usize::MAX)] {
            let len = (len.0.min(source.shape()[axis] - done.0), len.1.min(shape[axis] - done.1));
            if len.1 == 0 {
                continue;
            }
            let part = source.narrow(axis, done.0, len.0)?;
            let mut out = target.narrow(axis, done.1, len.1)?;
            let part = match direction {
                Direction::Pack => part.expr().pack(packing, axis),
                Direction::Unpack => part.expr().unpack(packing, axis),
            };
            match self.stages {
                Stages::Run => drop(part.out(&mut out).run()?),
                Stages::Describe => {}
                Stages::Prepare => part.prepare()?,
                #[cfg(feature = "cuda")]
                Stages::List(kernels) => kernels.extend(part.kernels()?),
            }
            done = (done.0 + len.0, done.1 + len.1);
        }
        Ok(result)
    }

    /// Copies a tensor unless its elements are without gaps, or prepares to.
    fn without_gaps(&mut self, tensor: &Tensor) -> Result<Tensor> {
        if self.stages.is_run() || tensor.is_contiguous() {
            return tensor.contiguous();
        }
        let (op, shape, dtype) = ("contiguous", tensor.shape(), tensor.dtype());
        let mut call = Call::new();
        let elements = call.tensor(tensor);
        match self.stages {
            Stages::Run | Stages::Describe => {}
            Stages::Prepare => call.prepare(op, elements, None)?,
            #[cfg(feature = "cuda")]
            Stages::List(kernels) => kernels.extend(call.kernels(op, elements, None)?),
        }
        Tensor::without_memory(op, tensor.device(), shape, dtype)
    }

    /// Adds a tensor that has been computed; at the root, it is the result.
    fn finished(&mut self, result: Tensor, is_root: bool) -> Split<'b> {
        self.is_cut = true;
        self.finished = is_root.then(|| result.clone());
        self.call.tensor(self.temporaries.keep(result)).into()
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Pack,
    Unpack,
}

impl Direction {
    /// Returns the dtype of the result.
    fn dtype(self, packing: &Packing) -> DType {
        match self {
            Direction::Pack => packing.word(),
            Direction::Unpack => packing.value_dtype(),
        }
    }
}

/// Whether a word is one value of eight bits, which need not be masked.
fn is_byte(packing: &Packing) -> bool {
    packing.bits() == 8 && packing.word().size() == 1
}
