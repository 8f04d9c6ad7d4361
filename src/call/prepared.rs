//! Calls on contiguous tensors of one shape, which are promoted and translated once and then remembered.
//!
//! Programs make the same few calls again and again, and on few elements promoting the operands and translating the
//! program takes longer than running it or, on CUDA, than launching its kernel. A prepared call has been put together by [`Call`] like any other; whatever
//! cannot be prepared, and every error, is left to the general path.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::{Call, Conversion, Elements, Target, Term};
use crate::backend::{Executable, Memory};
use crate::expr::graph::{Located, Node};
use crate::operand::{InMemory, Operand};
use crate::plan::OUT;
use crate::promote::Rules;
use crate::storage::{self, Destination, Storage};
use crate::{DType, Result, Scalar, Tensor};

/// The most operations of a prepared call.
pub(crate) const MAX_PREPARED: usize = 8;

/// The most different tensors, and the most numbers.
const MAX_TENSORS: usize = 8;

/// The most operands, of which several may be the same tensor.
const MAX_OPERANDS: usize = 2 * MAX_TENSORS;

/// The most calls that a thread remembers.
const MAX_KNOWN: usize = 32;

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent::new()) };
}

/// The operands of a call that may be prepared.
pub(crate) struct Operands<'a> {
    /// Each tensor once, at the front. All are contiguous and on one device.
    tensors: [Option<&'a Tensor>; MAX_TENSORS],
    /// One that has the shape of the result. The others have it too, or no dimensions.
    like: Option<&'a Tensor>,
    numbers: [Option<&'a Scalar>; MAX_TENSORS],
    signature: Signature,
    len: usize,
}

/// Everything that a prepared call depends on in its operands, as bytes, which are compared quickly.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Signature {
    /// The dtype of each tensor, counted from 1, and whether it has no dimensions ([`ZERO_D`]); 0 where there is none.
    tensors: [u8; MAX_TENSORS],
    /// The category of each number, counted from 1; 0 where there is none.
    numbers: [u8; MAX_TENSORS],
    /// The index of each operand among the tensors, or behind them among the numbers, counted from 1; 0 where there is
    /// none.
    operands: [u8; MAX_OPERANDS],
    /// Whether the tensors are on a CUDA device.
    #[cfg(feature = "cuda")]
    is_cuda: bool,
}

/// Marks a tensor without dimensions in a [`Signature`].
const ZERO_D: u8 = 0x80;

impl<'a> Operands<'a> {
    #[inline]
    pub(crate) fn new() -> Operands<'a> {
        let signature = Signature {
            tensors: [0; MAX_TENSORS],
            numbers: [0; MAX_TENSORS],
            operands: [0; MAX_OPERANDS],
            #[cfg(feature = "cuda")]
            is_cuda: false,
        };
        Operands {
            tensors: [None; MAX_TENSORS],
            like: None,
            numbers: [None; MAX_TENSORS],
            signature,
            len: 0,
        }
    }

    /// Adds an operand; returns `None` if it differs from the others in device or, unless it has no dimensions, in shape,
    /// if it is not contiguous, or if it is one too many.
    #[inline(always)]
    pub(crate) fn add(&mut self, operand: &'a Operand<'_>) -> Option<()> {
        let index = match operand.source() {
            Ok(InMemory::Tensor(tensor)) => self.tensor(tensor)?,
            #[cfg(feature = "ndarray")]
            Ok(InMemory::Array(_)) => return None,
            Err(number) => {
                let index = self.numbers.iter().position(Option::is_none)?;
                self.numbers[index] = Some(number);
                self.signature.numbers[index] = number.category() as u8 + 1;
                MAX_TENSORS + index
            }
        };
        *self.signature.operands.get_mut(self.len)? = index as u8 + 1;
        self.len += 1;
        Some(())
    }

    #[inline(always)]
    fn tensor(&mut self, tensor: &'a Tensor) -> Option<usize> {
        let is_it = |known: &&Tensor| std::ptr::eq(*known, tensor);
        let index = self.tensors.iter().position(|known| known.as_ref().is_none_or(is_it))?;
        if self.tensors[index].is_none() {
            let is_zero_d = tensor.rank() == 0;
            let (is_alike, has_shape) = match self.like {
                None => {
                    #[cfg(feature = "cuda")]
                    {
                        self.signature.is_cuda = tensor.device().is_cuda();
                    }
                    (true, true)
                }
                Some(like) if like.has_shape_and_device_of(tensor) => (true, false),
                Some(like) => {
                    let has_shape = like.rank() == 0;
                    (like.device() == tensor.device() && (has_shape || is_zero_d), has_shape)
                }
            };
            if !is_alike || !tensor.is_contiguous() {
                return None;
            }
            #[cfg(feature = "cuda")]
            if self.signature.is_cuda && !self.is_plain_on_cuda(tensor) {
                return None;
            }
            if has_shape {
                self.like = Some(tensor);
            }
            self.tensors[index] = Some(tensor);
            self.signature.tensors[index] = tensor.dtype() as u8 + 1 + u8::from(is_zero_d) * ZERO_D;
        }
        Some(index)
    }

    /// Whether a further tensor runs on the stream of the others, so that it does not matter whose stream the call takes, and
    /// shares no storage with them: a view that is read twice is one input of a kernel.
    #[cfg(feature = "cuda")]
    fn is_plain_on_cuda(&self, tensor: &Tensor) -> bool {
        self.tensors().all(|known| {
            known.device().has_stream_of(tensor.device()) && !known.shares_storage(tensor)
        })
    }

    /// Returns the number of operands.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[cfg(feature = "cuda")]
    fn tensors(&self) -> impl Iterator<Item = &'a Tensor> + Clone {
        self.tensors.iter().map_while(|tensor| *tensor)
    }

    /// Whether a tensor has no dimensions.
    fn is_zero_d(&self, tensor: usize) -> bool {
        self.signature.tensors[tensor] & ZERO_D != 0
    }

    /// Returns an operand, by the order in which they were added: a tensor by its index, or a number.
    fn get(&self, index: usize) -> Option<std::result::Result<usize, (usize, Scalar)>> {
        let index = usize::from(self.signature.operands.get(index)?.checked_sub(1)?);
        Some(match index.checked_sub(MAX_TENSORS) {
            None => Ok(index),
            Some(number) => Err((number, *self.numbers[number]?)),
        })
    }
}

/// The result of a prepared call. A tensor is large, and is therefore made where the caller wants it.
pub(crate) enum Outcome<'a> {
    /// The result was written to this destination.
    Given(&'a Tensor),
    /// The result is in new memory, and has the shape and the device of another tensor.
    New { memory: Memory, dtype: DType, like: &'a Tensor },
}

impl Outcome<'_> {
    #[inline]
    pub(crate) fn tensor(self) -> Tensor {
        match self {
            Outcome::Given(out) => out.clone(),
            Outcome::New { memory, dtype, like } => {
                let storage = Storage::new(like.device(), like.len() * dtype.size(), memory);
                Tensor::row_major(storage, like.shape(), dtype)
            }
        }
    }
}

/// Computes operations on operands, the last of which is the result. Returns `None` if the general path has to,
/// including for every error but a lack of memory and what a device says.
#[inline(always)]
pub(crate) fn run<'a>(
    nodes: &[Node],
    operands: &Operands<'a>,
    rules: Rules,
    target: Target<'a>,
) -> Option<Result<Outcome<'a>>> {
    if target.mask.is_some() {
        return None;
    }
    // The result goes where it is wanted, since passing it on through `try_with` would move it several times.
    let mut result = None;
    let run = |recent: &RefCell<Recent>| {
        let mut recent = recent.try_borrow_mut().ok()?;
        let done = recent.get(nodes, operands, rules)?.run(operands, target);
        // There is nothing to drop yet.
        std::mem::forget(std::mem::replace(&mut result, done));
        Some(())
    };
    // A thread that is ending may have forgotten everything already.
    RECENT.try_with(run).ok()??;
    result
}

/// The calls that a thread has made last.
struct Recent {
    known: Vec<Prepared>,
    /// The one that was made last.
    last: usize,
    /// The one that is forgotten next.
    oldest: usize,
}

impl Recent {
    const fn new() -> Recent {
        Recent { known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Finds a call, or prepares it; `None` if it cannot be prepared.
    #[inline]
    fn get(
        &mut self,
        nodes: &[Node],
        operands: &Operands<'_>,
        rules: Rules,
    ) -> Option<&mut Prepared> {
        let last = self.known.get(self.last);
        if !last.is_some_and(|known| known.is_for(nodes, operands, rules)) {
            self.last = self.find(nodes, operands, rules)?;
        }
        self.known.get_mut(self.last)
    }

    /// Returns the place of a call that is not the last one.
    #[inline(never)]
    fn find(&mut self, nodes: &[Node], operands: &Operands<'_>, rules: Rules) -> Option<usize> {
        if !nodes.iter().all(|node| node.operation.is_elementwise()) {
            return None;
        }
        // Calls tend to come in the same order, so the next one is tried first.
        let (before, after) = self.known.split_at(self.last);
        let mut others = (self.last..).zip(after).chain((0..).zip(before));
        match others.find(|(_, known)| known.is_for(nodes, operands, rules)) {
            Some((index, _)) => Some(index),
            None => Some(self.add(Prepared::new(nodes, operands, rules)?)),
        }
    }

    /// Adds a call, in place of the oldest if there are too many.
    fn add(&mut self, prepared: Prepared) -> usize {
        let index = self.oldest;
        self.oldest = (index + 1) % MAX_KNOWN;
        match self.known.get_mut(index) {
            Some(oldest) => *oldest = prepared,
            None => self.known.push(prepared),
        }
        index
    }
}

/// A call that has been promoted and translated. It serves all operands with the same signature: elements, sizes and the
/// values of numbers are not part of it.
struct Prepared {
    nodes: Box<[Node]>,
    signature: Signature,
    rules: Rules,
    /// How each number becomes an input of the program.
    conversions: Box<[Conversion]>,
    /// The tensor in each of the program's slots but the first.
    slots: Box<[u8]>,
    /// The dtype of the result.
    dtype: DType,
    executable: Executable,
}

impl Prepared {
    /// Whether it serves these operations and operands.
    #[inline(always)]
    fn is_for(&self, nodes: &[Node], operands: &Operands<'_>, rules: Rules) -> bool {
        let mut both = self.nodes.iter().zip(nodes);
        self.nodes.len() == nodes.len()
            && self.signature == operands.signature
            && self.rules == rules
            // A loop, since a call to compare so few operations would take longer.
            && both.all(|(own, node)| own == node)
    }

    #[cold]
    fn new(nodes: &[Node], operands: &Operands<'_>, rules: Rules) -> Option<Prepared> {
        if nodes.len() > MAX_PREPARED {
            return None;
        }
        let mut call = Call::new();
        // Tensors become inputs where they are first used, as on the general path, whose kernels serve here, too.
        let mut tensors: [Option<Elements<'_>>; MAX_TENSORS] = [None; MAX_TENSORS];
        let mut slots: SmallVec<[u8; MAX_TENSORS]> = SmallVec::new();
        let mut results: SmallVec<[Elements<'_>; MAX_PREPARED]> = SmallVec::new();
        // A number is an operand of one operation alone, so there is one dtype to convert it to.
        let mut numbers = 0;
        for node in nodes {
            let mut term = |index: usize| {
                Some(match node.place(index).located() {
                    Located::Node(node) => Term::Elements(*results.get(node)?),
                    Located::Input(operand) => match operands.get(operand)? {
                        Ok(index) => {
                            let tensor = operands.tensors[index]?;
                            Term::Elements(*tensors[index].get_or_insert_with(|| {
                                slots.push(index as u8);
                                call.tensor_apart(tensor)
                            }))
                        }
                        Err((number, scalar)) if number == numbers => {
                            numbers += 1;
                            Term::Number(scalar)
                        }
                        Err(_) => return None,
                    },
                    Located::Part(_) => return None,
                })
            };
            let mut terms = [term(0)?; 3];
            let arity = node.operation.arity();
            for (index, place) in terms.iter_mut().enumerate().take(arity).skip(1) {
                *place = term(index)?;
            }
            results.push(call.operation(node.operation, terms, rules).ok()?);
            // Each number has been converted where it is used.
            if call.conversions.len() != numbers {
                return None;
            }
        }
        let Call { mut program, conversions, .. } = call;
        program.finish(results.last()?.value);
        let like = operands.like?;
        let is_one =
            |input: usize| like.rank() > 0 && operands.is_zero_d(usize::from(slots[input]));
        let op = nodes.last()?.operation.name();
        Some(Prepared {
            nodes: nodes.into(),
            signature: operands.signature,
            rules,
            conversions: conversions.into_vec().into(),
            dtype: program.dtype(program.result()),
            executable: Executable::new(like.device(), op, program, is_one)?,
            slots: slots.into_vec().into(),
        })
    }

    /// Computes the result. Returns `None` if there are too many elements, if a number does not fit, or if the
    /// destination differs from the operands in shape, device or layout, has another dtype than the result, or shares
    /// storage with an operand.
    #[inline(always)]
    fn run<'a>(
        &mut self,
        operands: &Operands<'a>,
        target: Target<'a>,
    ) -> Option<Result<Outcome<'a>>> {
        let like = operands.like?;
        let len = like.len();
        if !self.executable.takes(len) {
            return None;
        }
        for (number, conversion) in operands.numbers.iter().zip(&self.conversions) {
            self.executable.set_number(conversion.input, conversion.element(**number.as_ref()?)?);
        }
        let mut storages = [like.storage(); MAX_TENSORS];
        let mut offsets = [0; 1 + MAX_TENSORS];
        let mut count = 0;
        let mut is_apart = true;
        for &index in &self.slots {
            let tensor = operands.tensors[usize::from(index)]?;
            is_apart &= target.out.is_none_or(|out| !tensor.shares_storage(out));
            storages[count] = tensor.storage();
            count += 1;
            offsets[count] = tensor.layout().offset();
        }
        let mut output = match target.out {
            Some(out) => {
                let is_direct = is_apart
                    && out.dtype() == self.dtype
                    && like.has_shape_and_device_of(out)
                    && out.is_contiguous();
                if !is_direct {
                    return None;
                }
                offsets[OUT] = out.layout().offset();
                Outcome::Given(out)
            }
            None => match like.device().allocate(len * self.dtype.size()) {
                Ok(memory) => Outcome::New { memory, dtype: self.dtype, like },
                Err(error) => return Some(Err(error)),
            },
        };
        let destination = match &mut output {
            Outcome::Given(out) => Destination::Shared(out.storage()),
            Outcome::New { memory, .. } => Destination::New(memory),
        };
        let done = storage::with_locked(destination, &storages[..count], |out, memories| {
            self.executable.run(like.device(), len, out, memories, &offsets)
        });
        Some(match done {
            Ok(()) => Ok(output),
            Err(error) => Err(*error),
        })
    }
}
