//! The structures of DLPack, as its header has them.

use std::ffi::c_void;

use super::delete;

/// The kind of device that memory is on; [`DLDevice::device_type`].
pub mod device_type {
    /// Memory of the host.
    pub const CPU: i32 = 1;
    /// Memory of a CUDA device.
    pub const CUDA: i32 = 2;
    /// Memory of the host that CUDA has pinned.
    pub const CUDA_HOST: i32 = 3;
}

/// The memory must not be written; a bit of [`DLManagedTensorVersioned::flags`].
pub const READ_ONLY: u64 = 1;

/// The version of the structures here.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// The version of a managed tensor. Others of the same `major` are laid out alike.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Changes with the layout.
    pub major: u32,
    /// Changes with additions.
    pub minor: u32,
}

/// A device by kind and number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// One of [`device_type`].
    pub device_type: i32,
    /// Which of these.
    pub device_id: i32,
}

/// The type of an element.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// Signed integers are 0, unsigned ones 1, floats 2, bfloat 4, complex numbers 5, bools 6.
    pub code: u8,
    /// The bits of an element.
    pub bits: u8,
    /// More than 1 for vectors, which bitlane has none of.
    pub lanes: u16,
}

/// A tensor in somebody's memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The memory.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// As many sizes as dimensions.
    pub shape: *mut i64,
    /// As many strides, in elements; null for row-major order.
    pub strides: *mut i64,
    /// Where the first element is, in bytes from `data`.
    pub byte_offset: u64,
}

/// A tensor with somebody to tell when it is no longer needed, as libraries hand it out in a capsule named `dltensor`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// To be called once, with this structure.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// The same with a version and flags, in a capsule named `dltensor_versioned`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of this structure.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// To be called once, with this structure.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`] and others.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

mod sealed {
    pub trait Sealed {}
}

/// Either kind of managed tensor.
pub trait Managed: sealed::Sealed + Sized + 'static {
    #[doc(hidden)]
    fn new(tensor: DLTensor, context: *mut c_void) -> Self;
    #[doc(hidden)]
    fn tensor(&self) -> &DLTensor;
    #[doc(hidden)]
    fn context(&self) -> *mut c_void;
    #[doc(hidden)]
    fn flags(&self) -> u64;
    /// The version, if there is one.
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
