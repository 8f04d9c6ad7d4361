//! Packing values that are in memory: shifts join the bits of a word, so that no reduction is needed.
//!
//! Bytes that lie side by side are read up to eight at a time, as one number, and their fields are moved together. Other
//! values are joined from as many views as a word has fields. Both are steps like any others: what follows is the same pass.

use super::lower::Lowering;
use super::packing::PackedAxis;
use crate::call::{Elements, Term};
use crate::packing::Packing;
use crate::promote::Rules;
use crate::scalar::Scalar;
use crate::{BinaryOp, DType, Result, Shift, Tensor, UnaryOp};

/// The largest number of views that are joined, which is that of the tensors of a pass.
const MAX_VIEWS: usize = 16;

/// The order in which the fields of a word hold its values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
    Other,
}

impl Order {
    fn of(starts: &[usize], bits: usize) -> Order {
        let is = |place: &dyn Fn(usize) -> usize| {
            starts.iter().enumerate().all(|(value, &start)| start == place(value) * bits)
        };
        match starts.len() {
            _ if is(&|value| value) => Order::Ascending,
            len if is(&|value| len - 1 - value) => Order::Descending,
            _ => Order::Other,
        }
    }
}

/// Returns a number of `width` bits whose lanes of `lane` bits have their lowest `kept` bits set.
fn lanes(width: usize, lane: usize, kept: usize) -> u64 {
    let one = (1u128 << kept) - 1;
    (0..width).step_by(lane).fold(0, |all, place| all | (one << place) as u64)
}

impl<'b> Lowering<'b, '_> {
    /// Returns the words of whole groups of values in memory, or `None` where a reduction does as well.
    pub(super) fn joined(
        &mut self,
        op: &'static str,
        x: Elements<'b>,
        line: &PackedAxis,
        packing: &Packing,
    ) -> Result<Option<Elements<'b>>> {
        let group = &line.group;
        let (count, bits) = (group.values(), packing.bits());
        let Some(tensor) = self.call.memory(x).filter(|_| group.words == 1) else {
            return Ok(None);
        };
        let order = Order::of(&group.starts, bits);
        if let Some(bytes) = bytes_as_numbers(tensor, line.axis, count) {
            // They are read in place of the values.
            self.is_cut = true;
            if order != Order::Other {
                let is_descending = order == Order::Descending;
                return self.folded(op, bytes, line, packing, is_descending).map(Some);
            }
            if count <= 8 {
                return self.moved(bytes, &group.starts, packing).map(Some);
            }
        }
        if count > MAX_VIEWS {
            return Ok(None);
        }
        let split = line.split();
        let mut words = None;
        for (value, &start) in group.starts.iter().enumerate() {
            let own = self.view(op, x, |tensor| {
                tensor.reshape(&*split)?.narrow(line.axis + 1, value, 1)?.squeeze(line.axis + 1)
            })?;
            let own = self.call.cast(own, packing.word());
            let own = self.masked(own, packing)?;
            words = Some(self.placed(words, own, start)?);
        }
        Ok(words)
    }

    /// Joins the fields of bytes that follow one another: those of two bytes first, then those of four and of eight.
    fn folded(
        &mut self,
        op: &'static str,
        numbers: Tensor,
        PackedAxis { axis, group, .. }: &PackedAxis,
        packing: &Packing,
        is_descending: bool,
    ) -> Result<Elements<'b>> {
        let (bits, bytes) = (packing.bits(), numbers.dtype().size());
        let (axis, parts) = (*axis, group.values() / bytes);
        let mut shape = numbers.shape().to_vec();
        shape[axis] /= parts;
        shape.insert(axis + 1, parts);
        let numbers = numbers.reshape(shape)?;
        let mut words = None;
        for part in 0..parts {
            let own = numbers.narrow(axis + 1, part, 1)?.squeeze(axis + 1)?;
            let mut own = self.call.tensor(self.temporaries.keep(own));
            if is_descending {
                own = self.call.unary(UnaryOp::SwapBytes, own, Rules::Paddle)?;
            }
            let (mut lane, mut kept) = (8, bits);
            if bits < 8 {
                own = self.number(BinaryOp::BitwiseAnd, own, lanes(8 * bytes, lane, kept))?;
            }
            while kept < lane && lane < 8 * bytes {
                let moved =
                    self.number(BinaryOp::RightShift(Shift::Logical), own, (lane - kept) as u64)?;
                own = self.call.binary(
                    BinaryOp::BitwiseOr,
                    own.into(),
                    moved.into(),
                    Rules::Paddle,
                )?;
                (lane, kept) = (2 * lane, 2 * kept);
                // A conversion to a word of this size drops what is above.
                if lane < 8 * bytes || parts > 1 {
                    own = self.number(BinaryOp::BitwiseAnd, own, lanes(8 * bytes, lane, kept))?;
                }
            }
            let own = self.call.cast(own, packing.word());
            let place = if is_descending { parts - 1 - part } else { part };
            words = Some(self.placed(words, own, place * bytes * bits)?);
        }
        words.ok_or_else(|| crate::Error::InvalidArgument {
            op,
            reason: "a word has no values".into(),
        })
    }

    /// Moves the fields of up to eight bytes to their places, those together that move equally far.
    fn moved(
        &mut self,
        numbers: Tensor,
        starts: &[usize],
        packing: &Packing,
    ) -> Result<Elements<'b>> {
        let numbers = self.call.tensor(self.temporaries.keep(numbers));
        let mut words: Option<Elements<'b>> = None;
        for (value, &start) in starts.iter().enumerate() {
            let mask = (packing.mask() as u64) << (8 * value);
            let own = self.number(BinaryOp::BitwiseAnd, numbers, mask)?;
            let own = match start.checked_sub(8 * value) {
                Some(0) => own,
                Some(left) => self.number(BinaryOp::LeftShift(Shift::Logical), own, left as u64)?,
                None => {
                    let right = (8 * value - start) as u64;
                    self.number(BinaryOp::RightShift(Shift::Logical), own, right)?
                }
            };
            words = Some(self.placed(words, own, 0)?);
        }
        Ok(self.call.cast(words.unwrap_or(numbers), packing.word()))
    }

    /// Shifts a field to its place, and joins it with others.
    fn placed(
        &mut self,
        others: Option<Elements<'b>>,
        field: Elements<'b>,
        place: usize,
    ) -> Result<Elements<'b>> {
        let field = match place {
            0 => field,
            place => self.number(BinaryOp::LeftShift(Shift::Logical), field, place as u64)?,
        };
        let Some(others) = others else { return Ok(field) };
        self.call.binary(BinaryOp::BitwiseOr, others.into(), field.into(), Rules::Paddle)
    }

    /// Adds a binary operation with a number.
    fn number(&mut self, op: BinaryOp, x: Elements<'b>, number: u64) -> Result<Elements<'b>> {
        let number = Term::Number(Scalar::from(number));
        self.call.binary(op, x.into(), number, Rules::Paddle)
    }
}

/// Returns bytes that lie side by side along an axis as numbers of up to eight of them, or `None` if they do not.
fn bytes_as_numbers(tensor: &Tensor, axis: usize, count: usize) -> Option<Tensor> {
    let is_little = cfg!(target_endian = "little");
    if !is_little || tensor.strides()[axis] != 1 || tensor.dtype().size() != 1 {
        return None;
    }
    let numbers = match count {
        2 => DType::U16,
        4 => DType::U32,
        8 | 16 | 32 | 64 => DType::U64,
        _ => return None,
    };
    // Memory that begins anywhere cannot be read like this.
    let last = tensor.rank() - 1;
    tensor.transpose(axis, last).ok()?.bitcast(numbers).ok()?.transpose(axis, last).ok()
}
