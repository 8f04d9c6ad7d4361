//! Storages of candle as bitlane tensors for the duration of a call, on every device.

use bitlane::{DType, Expr, Tensor};
use candle_core::{Layout, Result, Shape};

use crate::evaluate::{failed, refused};

/// Calls `$callback!` with every dtype that both libraries have on every device: candle's variant, the Rust type, bitlane's
/// variant, and DLPack's type code. On the CPU, there is also candle's `F8E4M3`.
macro_rules! for_each_dtype {
    ($callback:ident) => {
        $callback! {
            U8: u8 = U8, 1;
            U32: u32 = U32, 1;
            I16: i16 = I16, 0;
            I32: i32 = I32, 0;
            I64: i64 = I64, 0;
            BF16: bf16 = BF16, 4;
            F16: f16 = F16, 2;
            F32: f32 = F32, 2;
            F64: f64 = F64, 2;
        }
    };
}
pub(crate) use for_each_dtype;

/// A storage of candle on one device.
pub(crate) trait Storage: Sized {
    /// Calls a function with a read-only tensor of all elements of the storage in their order, in one dimension.
    fn with_elements<T>(
        &self,
        op: &'static str,
        function: impl FnOnce(&Tensor) -> Result<T>,
    ) -> Result<T>;

    /// Like [`with_elements`](Storage::with_elements), with a tensor that may be written.
    fn with_elements_mut<T>(
        &mut self,
        op: &'static str,
        function: impl FnOnce(&mut Tensor) -> Result<T>,
    ) -> Result<T>;

    /// Evaluates an expression into a new storage on the device of this one.
    fn evaluate(&self, op: &'static str, expr: Expr<'_>) -> Result<(Self, Shape)>;

    /// Makes a storage of a tensor that nothing else shares.
    fn keep(&self, op: &'static str, tensor: Tensor) -> Result<(Self, Shape)> {
        self.evaluate(op, tensor.expr())
    }

    /// Calls a function with a read-only view of the storage.
    fn with_tensor<T>(
        &self,
        op: &'static str,
        layout: &Layout,
        function: impl FnOnce(&Tensor) -> Result<T>,
    ) -> Result<T> {
        self.with_elements(op, |elements| function(&view(op, elements, layout)?))
    }
}

/// Returns the elements that a layout selects. Layouts are checked because they can be constructed from arbitrary numbers.
pub(crate) fn view(op: &'static str, elements: &Tensor, layout: &Layout) -> Result<Tensor> {
    // An empty layout reads nothing, so its offset and strides may be arbitrary, as may the stride of a single element.
    let is_empty = layout.dims().contains(&0);
    let offset = if is_empty { 0 } else { layout.start_offset() };
    if layout.stride().len() != layout.dims().len() {
        return Err(refused(op, "the layout has another number of strides than of dimensions"));
    }
    let strides = layout.dims().iter().zip(layout.stride());
    let strides = strides.map(
        |(&size, &stride)| {
            if is_empty || size == 1 { Ok(0) } else { isize::try_from(stride) }
        },
    );
    let strides: std::result::Result<Vec<_>, _> = strides.collect();
    let strides = strides.map_err(|_| refused(op, "a stride of the layout is too large"))?;
    elements.as_strided(layout.dims(), &strides, offset).map_err(failed)
}

/// The error for storages of a dtype that bitlane does not have, or not on their device.
pub(crate) fn no_such_dtype(op: &'static str) -> candle_core::Error {
    refused(op, "bitlane has no such dtype on this device; cast the operand")
}

/// The error for results of a dtype that candle does not have, or not on their device.
pub(crate) fn not_in_candle(op: &'static str, dtype: DType) -> candle_core::Error {
    refused(
        op,
        &format!("the result is {dtype}, which candle does not have on this device; cast it"),
    )
}
