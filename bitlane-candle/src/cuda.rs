//! Storages on CUDA devices.

use bitlane::cuda::cudarc::driver::CudaSlice;
use bitlane::cuda::{slice_from_tensor, with_view, with_view_mut};
use bitlane::{DType, Device, Element, Expr, Tensor};
use candle_core::backend::BackendDevice;
use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::{CudaDevice, CudaStorage, Result, Shape};

use crate::evaluate::failed;
use crate::storage::{Storage, for_each_dtype, no_such_dtype, not_in_candle};

impl Storage for CudaStorage {
    fn with_elements<T>(
        &self,
        op: &'static str,
        function: impl FnOnce(&Tensor) -> Result<T>,
    ) -> Result<T> {
        open(&self.device)?;
        macro_rules! lend {
            ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
                match &self.slice {
                    $(CudaStorageSlice::$variant(slice) => {
                        with_view(slice, [slice.len()], |elements| Ok(function(elements)))
                    })*
                    _ => return Err(no_such_dtype(op)),
                }
            };
        }
        for_each_dtype!(lend).map_err(failed)?
    }

    fn with_elements_mut<T>(
        &mut self,
        op: &'static str,
        function: impl FnOnce(&mut Tensor) -> Result<T>,
    ) -> Result<T> {
        open(&self.device)?;
        macro_rules! lend {
            ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
                match &mut self.slice {
                    $(CudaStorageSlice::$variant(slice) => {
                        let count = slice.len();
                        with_view_mut(slice, [count], |elements| Ok(function(elements)))
                    })*
                    _ => return Err(no_such_dtype(op)),
                }
            };
        }
        for_each_dtype!(lend).map_err(failed)?
    }

    fn evaluate(&self, op: &'static str, expr: Expr<'_>) -> Result<(Self, Shape)> {
        let dtype = expr.dtype().map_err(failed)?;
        in_candle(op, dtype)?;
        // candle has no bools.
        let expr = if dtype == DType::Bool { expr.cast(DType::U8) } else { expr };
        self.keep(op, expr.run().map_err(failed)?)
    }

    fn keep(&self, op: &'static str, tensor: Tensor) -> Result<(Self, Shape)> {
        let shape = Shape::from(tensor.shape());
        let dtype = in_candle(op, tensor.dtype())?;
        if tensor.is_empty() {
            return Ok((self.device.zeros_impl(&shape, dtype)?, shape));
        }
        macro_rules! release {
            ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
                match tensor.dtype() {
                    $(DType::$dtype => CudaStorageSlice::$variant(released(tensor)?),)*
                    other => return Err(not_in_candle(op, other)),
                }
            };
        }
        let slice = for_each_dtype!(release);
        Ok((CudaStorage { slice, device: self.device.clone() }, shape))
    }
}

/// Opens a device of candle in bitlane, which then keeps the kernels that it has loaded there from one call to the next.
fn open(device: &CudaDevice) -> Result<()> {
    let ordinal = device.cuda_stream().context().ordinal();
    Device::cuda(ordinal).map(drop).map_err(failed)
}

/// Returns candle's name of a dtype, that of `u8` for bools.
fn in_candle(op: &'static str, dtype: DType) -> Result<candle_core::DType> {
    macro_rules! find {
        ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
            match dtype {
                DType::Bool => Ok(candle_core::DType::U8),
                $(DType::$dtype => Ok(candle_core::DType::$variant),)*
                other => Err(not_in_candle(op, other)),
            }
        };
    }
    for_each_dtype!(find)
}

/// Makes a slice of the memory of a tensor that nothing else shares.
fn released<T: Element>(tensor: Tensor) -> Result<CudaSlice<T>> {
    slice_from_tensor(tensor).map_err(failed)
}
