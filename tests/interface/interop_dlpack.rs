//! Exchange of tensors through DLPack.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::devices::devices;
use bitlane::dlpack::{
    self, Capsule, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion,
    DLTensor, Managed, READ_ONLY, VERSION, device_type,
};
use bitlane::{Complex, DType, Device, ErrorKind, Tensor};

/// Exports a tensor and imports it again as if it came from another library.
fn there_and_back<M: Managed>(tensor: &Tensor) -> Tensor {
    let capsule: Capsule<M> = dlpack::export(tensor).unwrap();
    // SAFETY: `into_raw` has just given up the pointer, and the tests use the memory on one thread.
    let capsule = unsafe { Capsule::from_raw(capsule.into_raw()) }.unwrap();
    let imported = dlpack::import(capsule, tensor.device()).unwrap();
    assert!(!imported.shares_storage(tensor));
    imported
}

#[test]
fn a_capsule_that_never_left_is_the_tensor_itself() {
    for device in devices() {
        let x = Tensor::arange(6, DType::I32, &device).unwrap();
        let capsule: Capsule<DLManagedTensor> = dlpack::export(&x.flip(0).unwrap()).unwrap();
        let y = dlpack::import(capsule, &device).unwrap();
        assert!(y.shares_storage(&x), "two locks for one memory");
        assert_eq!(y.to_vec::<i32>().unwrap(), [5, 4, 3, 2, 1, 0]);
    }
}

#[test]
fn views_of_every_dtype_share_their_memory() {
    for device in devices() {
        for &dtype in DType::ALL {
            let x = Tensor::arange(24, dtype, &device).unwrap().reshape((2, 3, 4)).unwrap();
            let views = [
                x.clone(),
                x.permute([2, 0, 1]).unwrap(),
                x.flip(1).unwrap().slice(2, 1..3).unwrap(),
                x.slice(0, 1..1).unwrap(),
                x.index_axis(0, 1).unwrap().broadcast_to([2, 3, 4]).unwrap(),
            ];
            for view in views {
                let y = there_and_back::<DLManagedTensorVersioned>(&view);
                assert!(y.bits_equal(&view).unwrap(), "{view:?} became {y:?}");
                let y = there_and_back::<DLManagedTensor>(&view);
                assert!(y.bits_equal(&view).unwrap(), "{view:?} became {y:?}");
            }
            let mut same = there_and_back::<DLManagedTensor>(&x.flip(0).unwrap());
            same.fill(1).unwrap();
            assert!(x.bits_equal(&Tensor::ones([2, 3, 4], dtype, &device).unwrap()).unwrap());
        }
    }
}

#[test]
fn memory_of_others_is_read_as_another_dtype_only_if_it_is_aligned() {
    for device in devices() {
        let x = Tensor::arange(24, DType::U8, &device).unwrap();
        let bits = x.narrow(0, 8, 16).unwrap().bitcast(DType::U32).unwrap();
        let y = there_and_back::<DLManagedTensorVersioned>(&bits);
        assert_eq!(y.dtype(), DType::U32);
        assert!(y.bits_equal(&bits).unwrap());
        // Bytes that begin at an odd address, which are the first of a storage of their own.
        let odd = there_and_back::<DLManagedTensor>(&x.narrow(0, 1, 16).unwrap());
        assert_eq!(odd.bitcast(DType::I8).unwrap().to_bytes().unwrap()[0], 1);
        for dtype in [DType::F16, DType::U32, DType::C128] {
            let error = odd.bitcast(dtype).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidShape);
            assert!(error.to_string().contains("not a multiple of"), "{error}");
            assert_eq!(odd.copy().unwrap().bitcast(dtype).unwrap().len(), 16 / dtype.size());
        }
        assert!(odd.narrow(0, 0, 0).unwrap().bitcast(DType::U32).unwrap().is_empty());
    }
}

#[test]
fn floats_of_8_bits_have_codes_of_their_own() {
    for device in devices() {
        for (dtype, code) in [(DType::F8E4M3FN, 10), (DType::F8E5M2, 12)] {
            let x = Tensor::arange(6, dtype, &device).unwrap();
            let capsule: Capsule<DLManagedTensorVersioned> = dlpack::export(&x).unwrap();
            let managed = capsule.into_raw();
            // SAFETY: `into_raw` has just given up the pointer, to a valid structure.
            let given = unsafe { (*managed).dl_tensor.dtype };
            assert_eq!((given.code, given.bits, given.lanes), (code, 8, 1));
            // SAFETY: nothing else refers to the structure.
            let capsule = unsafe { Capsule::from_raw(managed) }.unwrap();
            let y = dlpack::import(capsule, &device).unwrap();
            assert!(y.dtype() == dtype && y.bits_equal(&x).unwrap());
        }
    }
}

#[test]
fn the_memory_outlives_the_exporter() {
    for device in devices() {
        let x = Tensor::arange(1000, DType::I64, &device).unwrap();
        let capsule: Capsule<DLManagedTensor> = dlpack::export(&x).unwrap();
        drop(x);
        // SAFETY: `into_raw` has just given up the pointer, and nothing else refers to the memory.
        let capsule = unsafe { Capsule::from_raw(capsule.into_raw()) }.unwrap();
        let y = dlpack::import(capsule, &device).unwrap();
        assert_eq!((&y + 1).unwrap().sum(..).unwrap().item::<i64>().unwrap(), 500_500);
    }
}

/// Exports floats, and imports them from the second one on as complex numbers, which are then aligned to their parts only.
fn complex_after_the_first(floats: &Tensor, flags: u64) -> bitlane::Result<Tensor> {
    let capsule: Capsule<DLManagedTensorVersioned> = dlpack::export(floats).unwrap();
    let managed = capsule.into_raw();
    let size = floats.dtype().size();
    // SAFETY: the structure is valid, and nobody else has it. What it describes afterwards lies inside the same memory:
    // two rows of three numbers, of which the second one is read backwards.
    let capsule = unsafe {
        (*managed).flags = flags;
        let tensor = &mut (*managed).dl_tensor;
        tensor.dtype = DLDataType { code: 5, bits: 16 * size as u8, lanes: 1 };
        tensor.byte_offset = 5 * size as u64;
        tensor.ndim = 2;
        tensor.shape.write(2);
        tensor.shape.add(1).write(3);
        tensor.strides.write(3);
        tensor.strides.add(1).write(-1);
        Capsule::from_raw(managed)
    };
    dlpack::import(capsule.unwrap(), floats.device())
}

#[test]
fn complex_numbers_may_be_aligned_to_their_parts_on_the_cpu() {
    for device in devices() {
        for dtype in [DType::F32, DType::F64] {
            let floats = Tensor::arange(13, dtype, &device).unwrap();
            for flags in [0, READ_ONLY] {
                let imported = complex_after_the_first(&floats, flags);
                if device.to_string() != "cpu" {
                    let refused = imported.unwrap_err();
                    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
                    let complex = if dtype == DType::F32 { "c64" } else { "c128" };
                    let text = format!(
                        "is aligned to the parts of {complex} only, and {device} needs {} bytes; import a copy",
                        2 * dtype.size()
                    );
                    assert!(refused.to_string().ends_with(&text), "{refused}");
                    continue;
                }
                let mut x = imported.unwrap();
                // Everything that moves elements: reading, arithmetic, strided copies, reductions.
                let expected = [5, 3, 1, 11, 9, 7].map(|k| Complex::new(k as f64, (k + 1) as f64));
                let as_c128 =
                    |x: &Tensor| x.cast(DType::C128).unwrap().to_vec::<Complex<f64>>().unwrap();
                assert_eq!(as_c128(&x), expected);
                assert_eq!(as_c128(&(&x + 1).unwrap()), expected.map(|k| k + 1.0));
                let turned = x.transpose(0, 1).unwrap().contiguous().unwrap();
                assert_eq!(as_c128(&turned)[1], expected[3]);
                let sum = x.sum([0, 1]).unwrap();
                assert_eq!(as_c128(&sum), [expected.iter().sum::<Complex<f64>>()]);
                // It is a copy, as documented.
                x.fill(0).unwrap();
                let still = Tensor::arange(13, dtype, &device).unwrap();
                assert!(floats.bits_equal(&still).unwrap());
            }
        }
    }
    // The device is intact.
    for device in devices() {
        let x = Tensor::ones([3], DType::C64, &device).unwrap();
        assert_eq!((&x + 1).unwrap().to_vec::<Complex<f32>>().unwrap()[2], Complex::new(2.0, 0.0));
    }
}

/// How many tensors of this test have been deleted.
static DELETED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count(_: *mut DLManagedTensorVersioned) {
    DELETED.fetch_add(1, Ordering::SeqCst);
}

#[cfg(feature = "cpu")]
#[test]
fn what_a_producer_hands_out() {
    let device = Device::cpu();
    let mut elements = [1i16, 2, 3, 4, 5, 6];
    let data = elements.as_mut_ptr();
    let mut sizes = [2i64, 3, 1, 1, 1, 1, 1, 1, 1];
    let cpu = DLDevice { device_type: device_type::CPU, device_id: 0 };
    let i16s = DLDataType { code: 0, bits: 16, lanes: 1 };
    let mut expected_deletions = 0;
    let mut import = |change: &dyn Fn(&mut DLManagedTensorVersioned)| {
        let mut managed = DLManagedTensorVersioned {
            version: VERSION,
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(count),
            flags: 0,
            dl_tensor: DLTensor {
                data: data.cast(),
                device: cpu,
                ndim: 2,
                dtype: i16s,
                shape: sizes.as_mut_ptr(),
                // Null strides mean row-major order.
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
        };
        change(&mut managed);
        // SAFETY: the structure and what it points to outlive the tensor, which is dropped before this function
        // returns.
        let capsule = unsafe { Capsule::from_raw(&raw mut managed) }.unwrap();
        let result = dlpack::import(capsule, &device).and_then(|tensor| tensor.to_vec::<i16>());
        expected_deletions += 1;
        assert_eq!(DELETED.load(Ordering::SeqCst), expected_deletions);
        result
    };
    assert_eq!(import(&|_| ()).unwrap(), [1, 2, 3, 4, 5, 6]);
    let later = import(&|m| (m.dl_tensor.byte_offset, m.dl_tensor.ndim) = (2, 1));
    assert_eq!(later.unwrap(), [2, 3]);
    assert_eq!(import(&|m| m.flags = READ_ONLY).unwrap(), [1, 2, 3, 4, 5, 6]);
    let newer = DLPackVersion { major: 1, minor: 99 };
    assert!(import(&|m| m.version = newer).is_ok());
    let mut refused = |change: &dyn Fn(&mut DLManagedTensorVersioned), text: &str| {
        assert_eq!(import(change).unwrap_err().to_string(), text);
    };
    refused(
        &|m| m.version = DLPackVersion { major: 2, minor: 0 },
        "dlpack: version 2.0 is not known, 1 is",
    );
    refused(
        &|m| m.dl_tensor.dtype.lanes = 2,
        "dlpack: elements of type code 0, 16 bits and 2 lanes are not known",
    );
    refused(
        &|m| m.dl_tensor.device.device_type = 7,
        "dlpack: memory of device type 7; 1, 2 and 3 are known",
    );
    refused(
        &|m| m.dl_tensor.device.device_type = device_type::CUDA,
        "dlpack: tensors on cuda:0 and cpu; move one with `to_device`",
    );
    assert_eq!(
        import(&|m| m.dl_tensor.byte_offset = 1).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    let nine = import(&|m| m.dl_tensor.ndim = 9).unwrap_err();
    assert_eq!(nine.kind(), ErrorKind::InvalidShape);
    assert!(nine.to_string().ends_with("rank 9 is above the limit of 8"), "{nine}");
    // SAFETY: a null pointer is not dereferenced.
    assert!(unsafe { Capsule::<DLManagedTensor>::from_raw(std::ptr::null_mut()) }.is_none());
}
