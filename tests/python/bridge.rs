//! Functions that the tests call from Python, which take and return DLPack structures.

use bitlane::dlpack::{self, Capsule, DLManagedTensor, DLManagedTensorVersioned, Managed};
use bitlane::{DType, Device, Tensor};

/// Adds 1 to every element in the producer's memory, and releases the memory.
///
/// # Safety
///
/// The same as for [`Capsule::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_one_in_place(managed: *mut DLManagedTensor) -> bool {
    // SAFETY: the caller upholds the contract.
    unsafe { change(managed) }
}

/// The same with the versioned structure.
///
/// # Safety
///
/// The same as for [`Capsule::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_one_in_place_versioned(
    managed: *mut DLManagedTensorVersioned,
) -> bool {
    // SAFETY: the caller upholds the contract.
    unsafe { change(managed) }
}

unsafe fn change<M: Managed>(managed: *mut M) -> bool {
    // SAFETY: the caller upholds the contract.
    let Some(capsule) = (unsafe { Capsule::from_raw(managed) }) else { return false };
    dlpack::import(capsule, &Device::cpu()).and_then(|mut x| x.add_assign(1)).is_ok()
}

/// Takes a tensor of any dtype and strides and returns it with its axes reversed.
///
/// # Safety
///
/// The same as for [`Capsule::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transposed(managed: *mut DLManagedTensor) -> *mut DLManagedTensor {
    // SAFETY: the caller upholds the contract.
    let Some(capsule) = (unsafe { Capsule::from_raw(managed) }) else {
        return std::ptr::null_mut();
    };
    let turned = dlpack::import(capsule, &Device::cpu()).and_then(|x| {
        let order: Vec<usize> = (0..x.rank()).rev().collect();
        dlpack::export(&x.permute(order)?)
    });
    turned.map_or(std::ptr::null_mut(), Capsule::into_raw)
}

/// Returns a new tensor, `[[0, 1, 2], [3, 4, 5]]` of `i32`.
#[unsafe(no_mangle)]
pub extern "C" fn counted() -> *mut DLManagedTensorVersioned {
    let made = Tensor::arange(6, DType::I32, &Device::cpu())
        .and_then(|x| x.reshape((2, 3)))
        .and_then(|x| dlpack::export(&x));
    made.map_or(std::ptr::null_mut(), Capsule::into_raw)
}
