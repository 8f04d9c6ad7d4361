//! What the tests call from Python: tensors come and go as DLPack's structures.

use bitlane::dlpack::{self, Capsule, DLManagedTensor, DLManagedTensorVersioned, Managed};
use bitlane::{DType, Device, Tensor};

/// Adds 1 to every element in the producer's memory, and gives the memory back.
///
/// # Safety
///
/// As for [`Capsule::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_one_in_place(managed: *mut DLManagedTensor) -> bool {
    // SAFETY: the caller's own promise.
    unsafe { change(managed) }
}

/// The same with the structure that has a version.
///
/// # Safety
///
/// As for [`Capsule::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_one_in_place_versioned(
    managed: *mut DLManagedTensorVersioned,
) -> bool {
    // SAFETY: the caller's own promise.
    unsafe { change(managed) }
}

unsafe fn change<M: Managed>(managed: *mut M) -> bool {
    // SAFETY: the caller's own promise.
    let Some(capsule) = (unsafe { Capsule::from_raw(managed) }) else { return false };
    dlpack::import(capsule, &Device::cpu()).and_then(|mut x| x.add_assign(1)).is_ok()
}

/// Takes a tensor and hands out the same one, its axes in reverse: any dtype, any strides.
///
/// # Safety
///
/// As for [`Capsule::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transposed(managed: *mut DLManagedTensor) -> *mut DLManagedTensor {
    // SAFETY: the caller's own promise.
    let Some(capsule) = (unsafe { Capsule::from_raw(managed) }) else {
        return std::ptr::null_mut();
    };
    let turned = dlpack::import(capsule, &Device::cpu()).and_then(|x| {
        let order: Vec<usize> = (0..x.rank()).rev().collect();
        dlpack::export(&x.permute(order)?)
    });
    turned.map_or(std::ptr::null_mut(), Capsule::into_raw)
}

/// Hands out a new tensor, `[[0, 1, 2], [3, 4, 5]]` of `i32`.
#[unsafe(no_mangle)]
pub extern "C" fn counted() -> *mut DLManagedTensorVersioned {
    let made = Tensor::arange(6, DType::I32, &Device::cpu())
        .and_then(|x| x.reshape((2, 3)))
        .and_then(|x| dlpack::export(&x));
    made.map_or(std::ptr::null_mut(), Capsule::into_raw)
}
