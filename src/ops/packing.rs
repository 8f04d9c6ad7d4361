//! Packing values into words, and unpacking them.
//!
//! Both are expressions of shifts: the values of a group of words are one dimension and its words another, each value is
//! shifted to its place in each word, and an amount out of range gives 0 where it is not there.

use crate::layout::{MAX_RANK, checked_axis};
use crate::packing::{Group, Packing};
use crate::tensor::IntoAxis;
use crate::{DType, Error, Expr, ReduceOp, Result, Rules, Shift, Tensor};

/// # Packing
impl Tensor {
    /// Packs values of a few bits into words, along one dimension.
    ///
    /// Higher bits of a value are dropped, and the last word is filled up with zeros.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let weights = Tensor::from_nested([[1u8, 2, 3], [15, 0, 16]], &Device::cpu())?;
    /// let words = weights.pack(&Packing::new(4, DType::U16), -1)?;
    /// assert_eq!(words.to_vec::<u16>()?, [0x321, 0x00f]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] if the values are neither integers nor bools, [`Error::InvalidArgument`] for a packing
    /// that makes no sense, and [`Error::OutOfBounds`] for an axis that does not exist.
    pub fn pack(&self, packing: &Packing, axis: impl IntoAxis) -> Result<Tensor> {
        let op = "pack";
        if !(self.dtype().is_int() || self.dtype() == DType::Bool) {
            let allowed = "bool and integers";
            return Err(Error::UnsupportedDType { op, dtype: self.dtype(), allowed });
        }
        let group = packing.group(op)?;
        let (values, own_axis, axis) = self.with_room(axis, op)?;
        let len = values.shape()[axis];
        let mut shape = values.shape().to_vec();
        shape[axis] = packing.words_for(len);
        let words = Tensor::undefined(op, self.device(), &shape, packing.word())?;
        let whole = len / group.values();
        let (done, written) = (whole * group.values(), whole * group.words);
        let rest = group.part(shape[axis] - written, len - done);
        for (group, count, from, to) in [(&group, whole, 0, 0), (&rest, 1, done, written)] {
            if count * group.values() == 0 {
                continue;
            }
            let values = values.narrow(axis, from, count * group.values())?;
            let mut words = words.narrow(axis, to, count * group.words)?;
            packed(packing, group, &values, axis, &mut words)?;
        }
        words.with_dimensions_of(self, own_axis, shape[axis])
    }

    /// Unpacks the values of words, along one dimension, to `u8` or, for a signed packing, to `i8`.
    ///
    /// The result has every whole value that the words hold; [`Tensor::narrow`] drops those that filled the last word.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let words = Tensor::from_nested([0x7654_3210u32], &Device::cpu())?;
    /// let values = words.unpack(&Packing::new(4, DType::U32), 0)?;
    /// assert_eq!(values.to_vec::<u8>()?, [0, 1, 2, 3, 4, 5, 6, 7]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the tensor does not hold the words of the packing, or the packing makes no sense, and
    /// [`Error::OutOfBounds`] for an axis that does not exist.
    pub fn unpack(&self, packing: &Packing, axis: impl IntoAxis) -> Result<Tensor> {
        let op = "unpack";
        let group = packing.group(op)?;
        self.expect_words(op, packing)?;
        let (words, own_axis, axis) = self.with_room(axis, op)?;
        let len = words.shape()[axis];
        let mut shape = words.shape().to_vec();
        shape[axis] = packing.values_in(len).unwrap_or(usize::MAX);
        let values = Tensor::undefined(op, self.device(), &shape, packing.value_dtype())?;
        let whole = len / group.words;
        let (done, written) = (whole * group.words, whole * group.values());
        let rest = group.part(len - done, shape[axis] - written);
        for (group, count, from, to) in [(&group, whole, 0, 0), (&rest, 1, done, written)] {
            if count * group.values() == 0 {
                continue;
            }
            let words = words.narrow(axis, from, count * group.words)?;
            let mut values = values.narrow(axis, to, count * group.values())?;
            unpacked(packing, group, &words, axis, &mut values)?;
        }
        values.with_dimensions_of(self, own_axis, shape[axis])
    }

    /// Converts words from one packing to another, along one dimension.
    ///
    /// If both have as many bits and as wide words, which no value crosses, this is one pass over memory. Otherwise the
    /// values are unpacked in between.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let plain = Packing::new(4, DType::I32);
    /// let interleaved = Packing::new(4, DType::I32).order([0, 2, 4, 6, 1, 3, 5, 7]);
    /// let words = Tensor::from_nested([0x7654_3210], &Device::cpu())?;
    /// assert_eq!(words.repack(&plain, &interleaved, 0)?.to_vec::<i32>()?, [0x7531_6420]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::unpack`], and [`Error::InvalidArgument`] if the values have another number of bits.
    pub fn repack(&self, from: &Packing, to: &Packing, axis: impl IntoAxis) -> Result<Tensor> {
        let op = "repack";
        let (source, target) = (from.group(op)?, to.group(op)?);
        if from.bits() != to.bits() {
            let (from, to) = (from.bits(), to.bits());
            let reason = format!("values of {from} bits cannot be packed as {to} bits");
            return Err(Error::InvalidArgument { op, reason });
        }
        self.expect_words(op, from)?;
        if source.words > 1 || target.words > 1 || from.word().size() != to.word().size() {
            return self.unpack(from, axis)?.pack(to, axis);
        }
        let (words, own_axis, axis) = self.with_room(axis, op)?;
        let inner = words.rank() - 1 - axis;
        let [amounts, _] = source.shifts(from.word(), inner, self.device())?;
        let [places, _] = target.shifts(to.word(), inner, self.device())?;
        let fields = words.unsqueeze(axis + 1)?;
        let values = fields.expr().bitwise_right_shift(&amounts, Shift::Logical) & from.mask();
        let words = (values.cast(to.word()) << &places).reduce(ReduceOp::BitwiseOr, axis + 1);
        let words = words.rules(Rules::Paddle).run()?;
        words.with_dimensions_of(self, own_axis, self.shape()[own_axis])
    }

    fn expect_words(&self, op: &'static str, packing: &Packing) -> Result<()> {
        if self.dtype() == packing.word() {
            return Ok(());
        }
        let (own, word) = (self.dtype(), packing.word());
        let reason =
            format!("the words are {own}, and those of the packing {word}; `bitcast` them");
        Err(Error::InvalidArgument { op, reason })
    }

    /// Returns the tensor with room for two more dimensions, the axis, and its place there. Of the other dimensions, those
    /// before and after the axis become one each if there are too many.
    fn with_room(&self, axis: impl IntoAxis, op: &'static str) -> Result<(Tensor, usize, usize)> {
        let axis = checked_axis(op, axis.number(), self.shape())?;
        if self.rank() + 2 <= MAX_RANK {
            return Ok((self.clone(), axis, axis));
        }
        let (before, after) = (&self.shape()[..axis], &self.shape()[axis + 1..]);
        let shape = [before.iter().product(), self.shape()[axis], after.iter().product()];
        Ok((self.contiguous()?.reshape(shape)?, axis, 1))
    }

    /// Gives a result of [`with_room`](Tensor::with_room) the dimensions of the operand, except for the size of the axis.
    fn with_dimensions_of(self, operand: &Tensor, axis: usize, len: usize) -> Result<Tensor> {
        if self.rank() == operand.rank() {
            return Ok(self);
        }
        let mut shape = operand.shape().to_vec();
        shape[axis] = len;
        self.reshape(shape)
    }
}

/// Writes groups of values to words.
fn packed(
    packing: &Packing,
    group: &Group,
    values: &Tensor,
    axis: usize,
    words: &mut Tensor,
) -> Result<()> {
    let inner = values.rank() - 1 - axis;
    let [left, right] = group.shifts(packing.word(), inner, values.device())?;
    let values = split(values, axis, group.values())?;
    let values = if group.words > 1 { values.unsqueeze(axis + 2)? } else { values };
    let masked = values.expr().cast(packing.word()) & packing.mask();
    let placed = if group.words > 1 {
        (&masked << &left) | masked.bitwise_right_shift(&right, Shift::Logical)
    } else {
        masked << &left
    };
    let mut out = if group.words > 1 { split(words, axis, group.words)? } else { words.clone() };
    let words = placed.reduce(ReduceOp::BitwiseOr, axis + 1);
    words.rules(Rules::Paddle).out(&mut out).run()?;
    Ok(())
}

/// Writes the values of groups of words.
fn unpacked(
    packing: &Packing,
    group: &Group,
    words: &Tensor,
    axis: usize,
    values: &mut Tensor,
) -> Result<()> {
    let inner = words.rank() - 1 - axis;
    let [right, left] = group.shifts(packing.word(), inner, words.device())?;
    let mut out = split(values, axis, group.values())?;
    let crosses = group.words > 1;
    let words = if crosses { split(words, axis, group.words)? } else { words.clone() };
    let words = words.unsqueeze(axis + 1)?;
    let low = words.expr().bitwise_right_shift(&right, Shift::Logical);
    let fields = if crosses { low | (words.expr() << &left) } else { low };
    let fields = (fields & packing.mask()).cast(packing.value_dtype());
    let fields = if crosses { fields.reduce(ReduceOp::BitwiseOr, axis + 2) } else { fields };
    extended(packing, fields).rules(Rules::Paddle).out(&mut out).run()?;
    Ok(())
}

/// Extends the sign of signed values, which have been unpacked to `i8`.
fn extended<'a>(packing: &Packing, fields: Expr<'a>) -> Expr<'a> {
    let unused = 8 - packing.bits() as i64;
    if packing.value_dtype() == DType::U8 || unused == 0 {
        return fields;
    }
    (fields << unused) >> unused
}

/// Splits an axis into groups of `len` elements, as a view.
fn split(tensor: &Tensor, axis: usize, len: usize) -> Result<Tensor> {
    let mut shape = tensor.shape().to_vec();
    shape[axis] /= len.max(1);
    shape.insert(axis + 1, len);
    tensor.reshape(shape)
}
