//! The custom operations.

use bitlane::{BinaryOp, Expr, Rules, Scalar, UnaryOp};
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, InplaceOp1, InplaceOp2, InplaceOp3, Layout,
    Result, Tensor,
};

use crate::evaluate::{Output, assign_one, assign_three, assign_two};
use crate::evaluate::{copysign_gradient, with_one, with_three, with_two};

/// Defines the forward passes of a custom operation on every device. They pass the operands to a function of
/// [`evaluate`](crate::evaluate), which evaluates the expression that the method `expr` makes of them.
macro_rules! forward {
    ($with:ident($($storage:ident $layout:ident: $x:ident),+)) => {
        fn cpu_fwd(&self, $($storage: &CpuStorage, $layout: &Layout),+) -> Output<CpuStorage> {
            $with(self.label(), $(($storage, $layout),)+ |$($x),+| self.expr($($x),+))
        }

        #[cfg(feature = "cuda")]
        fn cuda_fwd(&self, $($storage: &CudaStorage, $layout: &Layout),+) -> Output<CudaStorage> {
            $with(self.label(), $(($storage, $layout),)+ |$($x),+| self.expr($($x),+))
        }
    };
}

/// Defines the forward passes of an operation whose first operand is replaced by the result.
macro_rules! forward_in_place {
    ($with:ident($s1:ident $l1:ident: $first:ident $(, $storage:ident $layout:ident: $x:ident)*)) => {
        fn cpu_fwd(
            &self,
            $s1: &mut CpuStorage,
            $l1: &Layout,
            $($storage: &CpuStorage, $layout: &Layout),*
        ) -> Result<()> {
            $with(self.label(), ($s1, $l1), $(($storage, $layout),)* |$first $(, $x)*| self.expr($first $(, $x)*))
        }

        #[cfg(feature = "cuda")]
        fn cuda_fwd(
            &self,
            $s1: &mut CudaStorage,
            $l1: &Layout,
            $($storage: &CudaStorage, $layout: &Layout),*
        ) -> Result<()> {
            $with(self.label(), ($s1, $l1), $(($storage, $layout),)* |$first $(, $x)*| self.expr($first $(, $x)*))
        }
    };
}

/// A unary operation on a tensor, under PyTorch's promotion rules by default. A bool result becomes a `u8` of 0 or 1.
///
/// # Examples
///
/// ```
/// use bitlane::UnaryOp;
/// use bitlane_candle::Unary;
/// use candle_core::{Device, Tensor};
/// let x = Tensor::new(&[0i64, 1, -6], &Device::Cpu)?;
/// assert_eq!(x.apply_op1(Unary::new(UnaryOp::BitwiseNot))?.to_vec1::<i64>()?, [-1, -2, 5]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Unary {
    op: UnaryOp,
    rules: Rules,
}

impl Unary {
    /// Creates the operation, with PyTorch's promotion rules.
    pub fn new(op: UnaryOp) -> Unary {
        Unary { op, rules: Rules::Torch }
    }

    /// Sets the promotion rules.
    pub fn rules(self, rules: Rules) -> Unary {
        Unary { rules, ..self }
    }
}

impl Unary {
    fn label(&self) -> &'static str {
        self.op.name()
    }

    fn expr<'a>(&self, x: Expr<'a>) -> Expr<'a> {
        x.unary(self.op).rules(self.rules)
    }
}

impl CustomOp1 for Unary {
    fn name(&self) -> &'static str {
        self.label()
    }

    forward!(with_one(s1 l1: x));
}

impl InplaceOp1 for Unary {
    fn name(&self) -> &'static str {
        self.label()
    }

    forward_in_place!(assign_one(s1 l1: x));
}

/// A binary operation on two tensors, under PyTorch's promotion rules by default.
///
/// # Examples
///
/// ```
/// use bitlane::{BinaryOp, Shift};
/// use bitlane_candle::Binary;
/// use candle_core::{Device, Tensor};
/// let x = Tensor::new(&[[-8i32], [8]], &Device::Cpu)?;
/// let y = Tensor::new(&[1i32, 2], &Device::Cpu)?;
/// let shifted = x.apply_op2(&y, Binary::new(BinaryOp::RightShift(Shift::Arithmetic)))?;
/// assert_eq!(shifted.to_vec2::<i32>()?, [[-4, -2], [4, 2]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Binary {
    op: BinaryOp,
    rules: Rules,
}

impl Binary {
    /// Creates the operation, with PyTorch's promotion rules.
    pub fn new(op: BinaryOp) -> Binary {
        Binary { op, rules: Rules::Torch }
    }

    /// Sets the promotion rules.
    pub fn rules(self, rules: Rules) -> Binary {
        Binary { rules, ..self }
    }
}

impl Binary {
    fn label(&self) -> &'static str {
        self.op.name()
    }

    fn expr<'a>(&self, x: Expr<'a>, y: Expr<'a>) -> Expr<'a> {
        x.binary(self.op, y).rules(self.rules)
    }
}

impl InplaceOp2 for Binary {
    fn name(&self) -> &'static str {
        self.label()
    }

    forward_in_place!(assign_two(s1 l1: x, s2 l2: y));
}

impl CustomOp2 for Binary {
    fn name(&self) -> &'static str {
        self.label()
    }

    forward!(with_two(s1 l1: x, s2 l2: y));

    fn bwd(
        &self,
        x: &Tensor,
        y: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        if self.op != BinaryOp::Copysign {
            return Err(candle_core::Error::BackwardNotSupported { op: self.label() });
        }
        // The result depends on `y` only through its sign, whose derivative is zero.
        Ok((Some(x.apply_op3_no_bwd(y, gradient, &CopysignGradient)?), None))
    }
}

/// The gradient of `copysign` with respect to its first operand.
struct CopysignGradient;

impl CustomOp3 for CopysignGradient {
    fn name(&self) -> &'static str {
        "copysign_grad"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Output<CpuStorage> {
        copysign_gradient(self.name(), (s1, l1), (s2, l2), (s3, l3))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        s1: &CudaStorage,
        l1: &Layout,
        s2: &CudaStorage,
        l2: &Layout,
        s3: &CudaStorage,
        l3: &Layout,
    ) -> Output<CudaStorage> {
        copysign_gradient(self.name(), (s1, l1), (s2, l2), (s3, l3))
    }
}

/// A binary operation on a tensor and a number, under PyTorch's promotion rules by default.
///
/// # Examples
///
/// ```
/// use bitlane::{BinaryOp, Shift};
/// use bitlane_candle::WithScalar;
/// use candle_core::{Device, Tensor};
/// let x = Tensor::new(&[1u8, 3], &Device::Cpu)?;
/// let shifted = x.apply_op1(WithScalar::new(BinaryOp::LeftShift(Shift::Logical), 2))?;
/// assert_eq!(shifted.to_vec1::<u8>()?, [4, 12]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WithScalar {
    op: BinaryOp,
    scalar: Scalar,
    rules: Rules,
}

impl WithScalar {
    /// Creates the operation, with PyTorch's promotion rules.
    pub fn new(op: BinaryOp, scalar: impl Into<Scalar>) -> WithScalar {
        WithScalar { op, scalar: scalar.into(), rules: Rules::Torch }
    }

    /// Sets the promotion rules.
    pub fn rules(self, rules: Rules) -> WithScalar {
        WithScalar { rules, ..self }
    }
}

impl WithScalar {
    fn label(&self) -> &'static str {
        self.op.name()
    }

    fn expr<'a>(&self, x: Expr<'a>) -> Expr<'a> {
        x.binary(self.op, self.scalar).rules(self.rules)
    }
}

impl CustomOp1 for WithScalar {
    fn name(&self) -> &'static str {
        self.label()
    }

    forward!(with_one(s1 l1: x));
}

impl InplaceOp1 for WithScalar {
    fn name(&self) -> &'static str {
        self.label()
    }

    forward_in_place!(assign_one(s1 l1: x));
}

/// Selects the second operand where the first, of any dtype, is nonzero, else the third.
///
/// # Examples
///
/// ```
/// use bitlane_candle::Select;
/// use candle_core::{Device, Tensor};
/// let condition = Tensor::new(&[1u8, 0], &Device::Cpu)?;
/// let (x, y) = (Tensor::new(&[1.5f32, 2.5], &Device::Cpu)?, Tensor::new(-1f32, &Device::Cpu)?);
/// assert_eq!(condition.apply_op3(&x, &y, Select)?.to_vec1::<f32>()?, [1.5, -1.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Select;

impl Select {
    fn label(&self) -> &'static str {
        "select"
    }

    fn expr<'a>(&self, condition: Expr<'a>, x: Expr<'a>, y: Expr<'a>) -> Expr<'a> {
        condition.cast(bitlane::DType::Bool).select(x, y).rules(Rules::Torch)
    }
}

impl CustomOp3 for Select {
    fn name(&self) -> &'static str {
        self.label()
    }

    forward!(with_three(s1 l1: condition, s2 l2: x, s3 l3: y));
}

macro_rules! fused {
    ($($name:ident $custom:ident $in_place:ident $with:ident $assign:ident($($storage:ident $layout:ident: $x:ident),*),
        $doc:literal, $example:literal;)*) => {$(
        #[doc = $doc]
        ///
        /// The function takes the operands as expressions and returns the expression to compute; see [`Expr`]. It is
        /// called every time the operation runs. Dtypes are promoted by Paddle's rules unless it ends with
        /// [`rules`](Expr::rules).
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::DType;
        #[doc = concat!("use bitlane_candle::", stringify!($name), ";")]
        /// use candle_core::{Device, Tensor};
        #[doc = $example]
        /// # Ok::<(), candle_core::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug)]
        pub struct $name<F> {
            name: &'static str,
            build: F,
        }

        impl<F: for<'a> Fn($(fused!(@type Expr<'a>, $x)),*) -> Expr<'a>> $name<F> {
            /// Creates an operation; `name` appears in error messages.
            pub fn new(name: &'static str, build: F) -> Self {
                $name { name, build }
            }
        }

        impl<F: for<'a> Fn($(fused!(@type Expr<'a>, $x)),*) -> Expr<'a>> $name<F> {
            fn label(&self) -> &'static str {
                self.name
            }

            fn expr<'a>(&self, $($x: Expr<'a>),*) -> Expr<'a> {
                (self.build)($($x),*)
            }
        }

        impl<F: for<'a> Fn($(fused!(@type Expr<'a>, $x)),*) -> Expr<'a>> $custom for $name<F> {
            fn name(&self) -> &'static str {
                self.name
            }

            forward!($with($($storage $layout: $x),*));
        }

        impl<F: for<'a> Fn($(fused!(@type Expr<'a>, $x)),*) -> Expr<'a>> $in_place for $name<F> {
            fn name(&self) -> &'static str {
                self.name
            }

            forward_in_place!($assign($($storage $layout: $x),*));
        }
    )*};
    (@type $type:ty, $x:ident) => { $type };
}

fused! {
    Fused1 CustomOp1 InplaceOp1 with_one assign_one(s1 l1: x),
        "An expression of one tensor as a single operation, computed in one pass over memory.",
        "let words = Tensor::new(&[0x21u32, 0x43], &Device::Cpu)?;
let high = words.apply_op1(Fused1::new(\"high\", |w| ((w >> 4) & 0xf).cast(DType::F32) * 0.5))?;
assert_eq!(high.to_vec1::<f32>()?, [1.0, 2.0]);";
    Fused2 CustomOp2 InplaceOp2 with_two assign_two(s1 l1: x, s2 l2: y),
        "An expression of two tensors as a single operation, computed in one pass over memory.",
        "let words = Tensor::new(&[[0x21u32], [0x43]], &Device::Cpu)?;
let amounts = Tensor::new(&[0u32, 4], &Device::Cpu)?;
let nibbles = Fused2::new(\"nibbles\", |w, a| ((w >> a) & 0xf).cast(DType::F32));
assert_eq!(words.apply_op2(&amounts, nibbles)?.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);";
    Fused3 CustomOp3 InplaceOp3 with_three assign_three(s1 l1: x, s2 l2: y, s3 l3: z),
        "An expression of three tensors as a single operation, computed in one pass over memory.",
        "let words = Tensor::new(&[[0x21u32], [0x43]], &Device::Cpu)?;
let amounts = Tensor::new(&[0u32, 4], &Device::Cpu)?;
let scales = Tensor::new(&[[0.5f32], [0.25]], &Device::Cpu)?;
let weights = Fused3::new(\"weights\", |w, a, s| (((w >> a) & 0xf).cast(DType::F32) - 8) * s);
let weights = words.apply_op3(&amounts, &scales, weights)?;
assert_eq!(weights.to_vec2::<f32>()?, [[-3.5, -3.0], [-1.25, -1.0]]);";
}
