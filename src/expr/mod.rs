//! Expressions: operations that are recorded first and computed in one pass.

mod display;
mod flat;
pub(crate) mod graph;
mod joining;
mod lower;
mod methods;
mod packing;
mod split;
mod temporaries;
mod views;
mod walk;

use self::graph::Root;
use self::lower::Stages;
use self::temporaries::Temporaries;
use crate::call::Target;
use crate::promote::Rules;
use crate::{DType, Operand, Result, Tensor};

/// A chain or graph of operations, computed in one pass over memory: every input is read once, the result is written
/// once, and nothing in between is stored, except results of reductions and what the [limits](#limits) say.
///
/// It starts with [`Tensor::expr`] and has every operation as a method of the same name without `?`, and as an operator
/// where Rust has one. Building computes nothing and cannot fail; [`run`](Expr::run) does both. Operators and methods
/// borrow the expression, so it can be used again; used twice, it is computed once.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// let device = Device::best()?;
/// // Eight 4-bit weights in a word, to be scaled.
/// let words = Tensor::from_slice(&[0x7654_3210u32, 0xfedc_ba98], [2, 1], &device)?;
/// let amounts = Tensor::from_slice(&[0u32, 4, 8, 12, 16, 20, 24, 28], [8], &device)?;
/// let scale = Tensor::from_slice(&[0.5f32, 0.25], [2, 1], &device)?;
/// let nibbles = (words.expr() >> &amounts) & 0xf;
/// let weights = (nibbles.cast(DType::F32) - 8).multiply(&scale).run()?;
/// assert_eq!(weights.shape(), [2, 8]);
/// assert_eq!(weights.to_vec::<f32>()?[..3], [-4.0, -3.5, -3.0]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Results
///
/// The result is bit-identical to calling the operations one by one under the same rulebook, on every device: each step
/// has the dtype that [`promote::result_type`](crate::promote::result_type) says and is rounded to it, and nothing is
/// contracted, reordered or left out. So expressions are also how operators are used with another rulebook
/// ([`rules`](Expr::rules)), and how [`select`](Expr::select) gets a destination and a mask ([`out`](Expr::out)).
///
/// # Reductions
///
/// A reduction may stand anywhere. It ends a pass: what comes before it is computed in one pass, and the rest reads its
/// result. A value that both passes need is computed in each, so that nothing but results of reductions is stored:
///
/// ```
/// # use bitlane::{Device, Tensor};
/// let x = Tensor::from_nested([[0.0f32, 1.0, 2.0], [5.0, 5.0, 5.0]], &Device::cpu())?;
/// let e = (x.expr() - x.expr().max_keepdims(-1)).exp();
/// let softmax = (&e / &e.sum_keepdims(-1)).run()?;
/// assert_eq!(softmax.slice(0, 1..)?.to_vec::<f32>()?, [1.0 / 3.0; 3]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Views
///
/// Views are steps that move no data ([`reshape`](Expr::reshape), [`transpose`](Expr::transpose) and so on), and so is
/// [`unpack`](Expr::unpack) of values of a few bits:
///
/// ```
/// # use bitlane::{DType, Device, Tensor};
/// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
/// let y = x.expr().reshape((2, 3)).transpose(0, 1) * 10;
/// assert_eq!(y.run()?.to_vec::<i32>()?, [0, 30, 10, 40, 20, 50]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Limits
///
/// An expression has up to 256 operations, and one pass reads up to 16 different tensors and 128 numbers. A view repeats
/// the steps of its operand, each once however many views there are of it in the same place; an operand of more than 256
/// steps (conversions count) is computed and stored first.
///
/// # Compilation
///
/// On the CPU nothing is compiled at run time. On CUDA the first run of an expression compiles a kernel, for 0.1 to 0.3 s. Kernels are kept in memory and on disk,
/// and serve every expression that differs only in its numbers, sizes and strides; [`prepare`](Expr::prepare)
/// compiles ahead of time.
#[derive(Clone)]
#[must_use = "nothing is computed until it is run"]
pub struct Expr<'a> {
    root: Root<'a>,
    rules: Rules,
}

/// # Running, and what a result will be
impl<'a> Expr<'a> {
    /// Returns an expression with the rulebook of the thread, whatever those of its operands were.
    #[inline]
    fn of(root: Root<'a>) -> Expr<'a> {
        Expr { root, rules: Rules::current() }
    }

    /// Promotes by this rulebook instead of the thread's ([`Rules::current`]), in the whole expression. On a part of a
    /// larger expression it has no effect.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Rules, Tensor};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_slice(&[1i32, 2], [2], &device)?;
    /// let y = Tensor::from_slice(&[0.5f32, 0.5], [2], &device)?;
    /// let sum = x.expr() + &y;
    /// assert!(sum.dtype().is_err()); // Paddle does not mix integers with floats
    /// assert_eq!(sum.rules(Rules::Torch).run()?.to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn rules(self, rules: Rules) -> Expr<'a> {
        Expr { rules, ..self }
    }

    /// Returns the dtype of the result, without computing it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_nested([1u8, 2], &Device::cpu())?;
    /// assert_eq!((x.expr() * 2).dtype()?, DType::U8);
    /// assert_eq!(x.expr().sum(..).dtype()?, DType::U64);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same operand errors as [`run`](Expr::run).
    pub fn dtype(&self) -> Result<DType> {
        let temporaries = Temporaries::default();
        self.lower(&temporaries, &mut Stages::Describe).map(|lowered| lowered.dtype())
    }

    /// Returns the shape of the result, without computing it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let column = Tensor::zeros([4, 1], DType::I32, &Device::cpu())?;
    /// let row = Tensor::zeros(3, DType::I32, &Device::cpu())?;
    /// let sum = column.expr() + &row;
    /// assert_eq!(sum.shape()?, [4, 3]);
    /// assert_eq!(sum.sum(0).shape()?, [3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same operand errors as [`run`](Expr::run).
    pub fn shape(&self) -> Result<Vec<usize>> {
        let temporaries = Temporaries::default();
        self.lower(&temporaries, &mut Stages::Describe).map(|lowered| lowered.shape().to_vec())
    }

    /// Computes the expression.
    ///
    /// # Errors
    ///
    /// The first error of the operations called one after another, left operand, right operand, operation, as
    /// [`Binary::run`](crate::Binary::run) lists them; [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an
    /// expression that is too large or made of numbers alone.
    pub fn run(&self) -> Result<Tensor> {
        self.run_into(Target::default())
    }

    #[inline]
    fn run_into(&self, target: Target<'_>) -> Result<Tensor> {
        if let Some(output) = self.run_prepared(target) {
            return Ok(output?.tensor());
        }
        self.run_general(target)
    }

    #[cold]
    fn run_general(&self, target: Target<'_>) -> Result<Tensor> {
        self.lower(&Temporaries::default(), &mut Stages::Run)?.run(target)
    }

    /// Writes the result to a tensor instead of a new one. It keeps its dtype and shape: the result must have that
    /// shape and a dtype of the same category or a lower one. It may be any view, and may share storage with what the
    /// expression reads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// # let device = Device::cpu();
    /// let mut x = Tensor::from_slice(&[1.0f32, -2.0, 3.0], [3], &device)?;
    /// let (old, negative) = (x.clone(), x.less_than(0)?);
    /// (old.expr() * 10).out(&mut x).mask(&negative).run()?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, -20.0, 3.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn out<'b>(self, out: &'b mut Tensor) -> Evaluation<'b>
    where
        'a: 'b,
    {
        Evaluation { expr: self, target: Target { out: Some(out), mask: None } }
    }

    /// Compiles the kernel that [`run`](Expr::run) will need, and runs nothing. On the CPU there is nothing to compile.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// // At start-up, with tensors of the dtypes and the rank that will come.
    /// let x = Tensor::zeros([2, 2], DType::F32, &Device::cpu())?;
    /// (x.expr() * 2 + 1).sum(-1).prepare()?;
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same operand errors as [`run`](Expr::run), [`Error::Compile`](crate::Error::Compile) and
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn prepare(&self) -> Result<()> {
        self.lower(&Temporaries::default(), &mut Stages::Prepare)?.prepare()
    }

    /// Returns the kernels that [`run`](Expr::run) would launch on CUDA.
    #[cfg(feature = "cuda")]
    pub(crate) fn kernels(&self) -> Result<Vec<crate::introspect::Kernel>> {
        let (temporaries, mut stages) = (Temporaries::default(), Stages::List(Vec::new()));
        let last = self.lower(&temporaries, &mut stages)?.kernels()?;
        let Stages::List(mut kernels) = stages else { return Ok(last) };
        kernels.extend(last);
        Ok(kernels)
    }
}

/// An expression with a destination.
///
/// Made by [`Expr::out`].
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Rules, Tensor};
/// let device = Device::cpu();
/// let x = Tensor::from_nested([1, 2, 3], &device)?;
/// let mut out = Tensor::from_nested([0.0f32, 0.0, 0.0], &device)?;
/// let mask = Tensor::from_nested([true, true, false], &device)?;
/// (x.expr() * 0.5).out(&mut out).mask(&mask).rules(Rules::Torch).run()?;
/// assert_eq!(out.to_vec::<f32>()?, [0.5, 1.0, 0.0]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is computed until it is run"]
pub struct Evaluation<'a> {
    expr: Expr<'a>,
    target: Target<'a>,
}

impl<'a> Evaluation<'a> {
    /// Writes only where the mask, a bool tensor that broadcasts to the result, is true.
    pub fn mask(self, mask: &'a Tensor) -> Evaluation<'a> {
        Evaluation { target: Target { mask: Some(mask), ..self.target }, ..self }
    }

    /// Promotes by this rulebook instead of the expression's.
    pub fn rules(self, rules: Rules) -> Evaluation<'a> {
        Evaluation { expr: self.expr.rules(rules), ..self }
    }

    /// Computes the expression and returns the destination.
    ///
    /// # Errors
    ///
    /// As for [`Expr::run`], and for the destination [`Error::InplaceShape`](crate::Error::InplaceShape),
    /// [`Error::InplaceDtype`](crate::Error::InplaceDtype),
    /// [`Error::OverlappingDestination`](crate::Error::OverlappingDestination). The destination is then as it was.
    pub fn run(self) -> Result<Tensor> {
        self.expr.run_into(self.target)
    }
}

/// # Expressions
impl Tensor {
    /// Starts an [expression](Expr) with this tensor.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[0b1011u8, 0b0110], [2], &Device::cpu())?;
    /// let gray = x.expr() ^ (x.expr() >> 1);
    /// assert_eq!(gray.run()?.to_vec::<u8>()?, [0b1110, 0b0101]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn expr(&self) -> Expr<'_> {
        Expr::from(self)
    }

    /// Starts an [expression](Expr) that owns this tensor, so that it can outlive the variable.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Expr, Tensor};
    /// fn doubled(values: &[f32]) -> bitlane::Result<Expr<'static>> {
    ///     let x = Tensor::from_slice(values, values.len(), &Device::cpu())?;
    ///     Ok(2.0 * x.into_expr())
    /// }
    /// assert_eq!(doubled(&[1.5, 2.0])?.run()?.to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn into_expr(self) -> Expr<'static> {
        Expr::from(self)
    }
}

impl<'a> From<&Expr<'a>> for Expr<'a> {
    /// Returns the same expression: used twice, it is computed once.
    fn from(expr: &Expr<'a>) -> Self {
        expr.clone()
    }
}

impl<'a, T: Into<Operand<'a>>> From<T> for Expr<'a> {
    fn from(operand: T) -> Self {
        Expr::of(Root::Input(operand.into()))
    }
}
