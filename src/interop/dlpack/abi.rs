//! The C structures of DLPack.

use std::ffi::c_void;

use super::delete;

/// The values of [`DLDevice::device_type`] that bitlane supports.
pub mod device_type {
    /// Host memory.
    pub const CPU: i32 = 1;
    /// Memory of a CUDA device.
    pub const CUDA: i32 = 2;
    /// Pinned host memory.
    pub const CUDA_HOST: i32 = 3;
}

/// The bit of [`DLManagedTensorVersioned::flags`] that forbids writing the memory.
pub const READ_ONLY: u64 = 1;

/// The version of DLPack that these structures implement.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// The version of a managed tensor. Versions with the same `major` have the same memory layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// The major version, which changes when the layout changes.
    pub major: u32,
    /// The minor version, which changes when something is added.
    pub minor: u32,
}

/// A device, by type and number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// The type of the device; see [`device_type`].
    pub device_type: i32,
    /// The number of the device among those of its type.
    pub device_id: i32,
}

/// The type of an element.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// The type code: 0 for signed integers, 1 for unsigned integers, 2 for floats, 4 for bfloat, 5 for complex
    /// numbers, 6 for bools.
    pub code: u8,
    /// The number of bits of an element.
    pub bits: u8,
    /// The number of vector lanes of an element. bitlane supports only 1.
    pub lanes: u16,
}

/// A tensor that does not own its memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The address of the memory.
    pub data: *mut c_void,
    /// The device that holds the memory.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// The `ndim` sizes.
    pub shape: *mut i64,
    /// The `ndim` strides, in elements; null for row-major order.
    pub strides: *mut i64,
    /// The offset of the first element from `data`, in bytes.
    pub byte_offset: u64,
}

/// A tensor with a deleter, which libraries exchange in a Python capsule named `dltensor`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// Data of the producer.
    pub manager_ctx: *mut c_void,
    /// The function that the consumer calls once, with this structure, when it no longer needs the tensor.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor with a deleter, a version and flags, which libraries exchange in a Python capsule named
/// `dltensor_versioned`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of this structure.
    pub version: DLPackVersion,
    /// Data of the producer.
    pub manager_ctx: *mut c_void,
    /// The function that the consumer calls once, with this structure, when it no longer needs the tensor.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// Flags such as [`READ_ONLY`].
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

mod sealed {
    pub trait Sealed {}
}

/// A managed tensor: [`DLManagedTensor`] or [`DLManagedTensorVersioned`]. The trait is sealed.
pub trait Managed: sealed::Sealed + Sized + 'static {
    #[doc(hidden)]
    fn new(tensor: DLTensor, context: *mut c_void) -> Self;
    #[doc(hidden)]
    fn tensor(&self) -> &DLTensor;
    #[doc(hidden)]
    fn context(&self) -> *mut c_void;
    #[doc(hidden)]
    fn flags(&self) -> u64;
    /// Returns the version, or `None` if the structure has no version.
    #[doc(hidden)]
    fn version(&self) -> Option<DLPackVersion>;
    #[doc(hidden)]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl sealed::Sealed for DLManagedTensor {}
impl sealed::Sealed for DLManagedTensorVersioned {}

impl Managed for DLManagedTensor {
    fn new(dl_tensor: DLTensor, manager_ctx: *mut c_void) -> Self {
        DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete::<Self>) }
    }

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }

    fn flags(&self) -> u64 {
        0
    }

    fn version(&self) -> Option<DLPackVersion> {
        None
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Managed for DLManagedTensorVersioned {
    fn new(dl_tensor: DLTensor, manager_ctx: *mut c_void) -> Self {
        let deleter = Some(delete::<Self> as unsafe extern "C" fn(*mut Self));
        DLManagedTensorVersioned { version: VERSION, manager_ctx, deleter, flags: 0, dl_tensor }
    }

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn version(&self) -> Option<DLPackVersion> {
        Some(self.version)
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}
