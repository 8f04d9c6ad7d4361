//! Views with at least one, two or three dimensions.

use crate::operand::{InMemory, Operand};
use crate::{Device, Result, Tensor};

/// # Views with at least a given rank
///
/// These methods copy nothing. A tensor that already has the rank is returned unchanged.
impl Tensor {
    /// Returns a view with at least one dimension: shape `[]` becomes `[1]`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[7], (), &Device::cpu())?;
    /// assert_eq!(x.atleast_1d().shape(), [1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn atleast_1d(&self) -> Tensor {
        self.with_unit_axes(1, |_| 0)
    }

    /// Returns a view with at least two dimensions: shape `[]` becomes `[1, 1]`, and `[n]` becomes `[1, n]`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.atleast_2d().shape(), [1, 3]);
    /// assert!(x.atleast_2d().shares_storage(&x));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn atleast_2d(&self) -> Tensor {
        self.with_unit_axes(2, |_| 0)
    }

    /// Returns a view with at least three dimensions: shape `[]` becomes `[1, 1, 1]`, `[n]` becomes `[1, n, 1]`, and
    /// `[m, n]` becomes `[m, n, 1]`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.atleast_3d().shape(), [1, 3, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn atleast_3d(&self) -> Tensor {
        // A vector gets its first new dimension in front; all other dimensions are appended.
        self.with_unit_axes(3, |rank| if rank == 1 { 0 } else { rank })
    }

    fn with_unit_axes(&self, rank: usize, place: impl Fn(usize) -> usize) -> Tensor {
        let mut layout = *self.layout();
        while layout.rank() < rank {
            layout = layout.with_unit_axis(place(layout.rank()));
        }
        self.with_layout(layout)
    }
}

macro_rules! atleast_of_many {
    ($($name:ident $example:literal;)*) => {$(
        #[doc = concat!("Applies [`Tensor::", stringify!($name), "`] to each operand, in order.")]
        ///
        /// A number becomes a tensor of the dtype that [`Scalar::dtype`](crate::Scalar::dtype) returns, and an array a
        /// tensor of its own dtype. They are created on the device of the first tensor or, if no operand is a tensor,
        /// on [`Device::best`]. Convert operands of different types to [`Operand`] to pass them together.
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::{DType, Device, Operand, Tensor};
        /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
        #[doc = concat!("let views = bitlane::", stringify!($name), "([Operand::from(&x), 2.5.into()])?;")]
        #[doc = concat!("assert_eq!(views[0].shape(), ", $example, ");")]
        /// assert_eq!(views[1].dtype(), DType::F32);
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the tensor for a number or an array cannot be
        /// allocated, [`Error::InvalidShape`](crate::Error::InvalidShape) if an array has a rank above 8, and the errors
        /// of [`Device::best`].
        pub fn $name<'a, O: Into<Operand<'a>>>(
            operands: impl IntoIterator<Item = O>,
        ) -> Result<Vec<Tensor>> {
            each(operands.into_iter().map(Into::into).collect(), Tensor::$name)
        }
    )*};
}

atleast_of_many! {
    atleast_1d "[3]";
    atleast_2d "[1, 3]";
    atleast_3d "[1, 3, 1]";
}

fn each(operands: Vec<Operand<'_>>, view: fn(&Tensor) -> Tensor) -> Result<Vec<Tensor>> {
    let mut device = operands.iter().find_map(Operand::device).cloned();
    let mut views = Vec::with_capacity(operands.len());
    for operand in &operands {
        let source = operand.source();
        if let Ok(InMemory::Tensor(tensor)) = source {
            views.push(view(tensor));
            continue;
        }
        // `Device::best` is only called if an operand has to be uploaded.
        let device = match &device {
            Some(device) => device,
            None => device.insert(Device::best()?),
        };
        match source {
            Ok(source) => {
                if let Some(array) = source.upload(device) {
                    views.push(view(&array?));
                }
            }
            Err(scalar) => views.push(view(&Tensor::full((), *scalar, scalar.dtype(), device)?)),
        }
    }
    Ok(views)
}
