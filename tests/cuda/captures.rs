//! Memory that is dropped, exported and copied while streams are being captured into graphs, or while kernels are being
//! compiled. Nothing may be released before the queued work that uses it, and no capture may be invalidated.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use bitlane::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, sys};
use bitlane::dlpack::{
    self, Capsule, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor,
    device_type,
};
use bitlane::{DType, Device, ErrorKind, Packing, Tensor, binary, cuda};

use crate::virtual_driver::{Driver, isolated};

use sys::CUstreamCaptureMode::{
    CU_STREAM_CAPTURE_MODE_GLOBAL as GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as THREAD_LOCAL,
};

/// How many elements the tensors have.
const LEN: usize = 100;

/// Work runs only when something waits for it, so that nothing is in order by chance.
const LAZY: (&str, &str) = ("VCUDA_ASYNC", "lazy");

/// How many tensors of [`lent_by`] have been deleted.
static DELETED: AtomicUsize = AtomicUsize::new(0);

fn deleted() -> usize {
    DELETED.load(Ordering::SeqCst)
}

/// What a tensor of another library points to.
struct Producer {
    /// Freed, in the order of its own stream, when the tensor is deleted.
    _slice: CudaSlice<i32>,
    shape: [i64; 1],
}

unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: `lent_by` created both boxes, and a deleter is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<Producer>()));
    }
    DELETED.fetch_add(1, Ordering::SeqCst);
}

/// Imports a tensor of ones whose producer frees it on a stream of its own, which waits for nothing.
fn lent_by(stream: &Arc<CudaStream>, device: &Device) -> Tensor {
    let slice = stream.clone_htod(&[1i32; LEN]).unwrap();
    stream.synchronize().unwrap();
    let address = slice.device_ptr(stream).0;
    let producer = Box::into_raw(Box::new(Producer { _slice: slice, shape: [LEN as i64] }));
    let dl_tensor = DLTensor {
        data: address as *mut c_void,
        device: DLDevice { device_type: device_type::CUDA, device_id: 0 },
        ndim: 1,
        dtype: DLDataType { code: 0, bits: 32, lanes: 1 },
        // SAFETY: the pointer comes from a box.
        shape: unsafe { &raw mut (*producer).shape }.cast(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let managed =
        DLManagedTensor { dl_tensor, manager_ctx: producer.cast(), deleter: Some(delete) };
    // SAFETY: the structure is valid, deleted once and from any thread, and nobody else uses the memory.
    let capsule = unsafe { Capsule::from_raw(Box::into_raw(Box::new(managed))) }.unwrap();
    dlpack::import(capsule, device).unwrap()
}

/// A producer's stream, a stream that is captured, and the device of a third one on which the work is done.
fn streams() -> (Arc<CudaStream>, Arc<CudaStream>, Device) {
    let context = CudaContext::new(0).unwrap();
    let [producer, captured, used] = [(); 3].map(|()| context.new_stream().unwrap());
    (producer, captured, cuda::device_on(&used).unwrap())
}

/// Compiles the kernels that the tests use, which a capture forbids.
fn warm(device: &Device) {
    let x = Tensor::ones([LEN], DType::I32, device).unwrap();
    assert_eq!((&x + 1).unwrap().to_vec::<i32>().unwrap(), [2; LEN]);
}

/// Ends a capture, which must not have been invalidated.
fn end(stream: &Arc<CudaStream>) {
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    stream.end_capture(flags).expect("the capture is still valid");
}

pub fn memory_is_returned_while_another_stream_is_captured() {
    let name = "memory_is_returned_while_another_stream_is_captured";
    isolated(module_path!(), name, &[LAZY], |_| {
        let (producer, captured, device) = streams();
        warm(&device);
        for (round, mode) in [GLOBAL, THREAD_LOCAL, RELAXED].into_iter().enumerate() {
            let x = lent_by(&producer, &device);
            let sum = (&x + 1).unwrap();
            captured.begin_capture(mode).unwrap();
            drop(x);
            assert_eq!(deleted(), round + 1, "the work could be waited for");
            end(&captured);
            // Runs the producer's free first.
            producer.synchronize().unwrap();
            assert_eq!(sum.to_vec::<i32>().unwrap(), [2; LEN]);
        }
    });
}

pub fn memory_is_kept_while_its_own_stream_is_captured() {
    let name = "memory_is_kept_while_its_own_stream_is_captured";
    isolated(module_path!(), name, &[LAZY], |_| {
        let (producer, _, device) = streams();
        warm(&device);
        let stream = cuda::stream(&device).unwrap();
        for (round, mode) in [GLOBAL, THREAD_LOCAL, RELAXED].into_iter().enumerate() {
            let x = lent_by(&producer, &device);
            let sum = (&x + 1).unwrap();
            stream.begin_capture(mode).unwrap();
            drop(x);
            assert_eq!(deleted(), round, "the sum has not been computed");
            end(stream);
            producer.synchronize().unwrap();
            // Either way is one to give back what was kept.
            if round == 1 {
                drop(lent_by(&producer, &device));
                DELETED.fetch_sub(1, Ordering::SeqCst);
            } else {
                device.synchronize().unwrap();
            }
            assert_eq!(deleted(), round + 1);
            producer.synchronize().unwrap();
            assert_eq!(sum.to_vec::<i32>().unwrap(), [2; LEN]);
        }
    });
}

pub fn memory_is_kept_while_the_driver_refuses_to_wait() {
    let name = "memory_is_kept_while_the_driver_refuses_to_wait";
    isolated(module_path!(), name, &[LAZY], |driver| {
        let (producer, _, device) = streams();
        warm(&device);
        let refusals = ["cuStreamSynchronize:*:999,cuCtxSynchronize:*:999", "*:*:1"];
        for (round, refusal) in refusals.into_iter().enumerate() {
            let x = lent_by(&producer, &device);
            let sum = (&x + 1).unwrap();
            driver.set("fail", refusal);
            drop(x);
            driver.set("fail", "");
            assert_eq!(deleted(), round, "the sum has not been computed");
            producer.synchronize().unwrap();
            assert_eq!(sum.to_vec::<i32>().unwrap(), [2; LEN]);
            device.synchronize().unwrap();
            assert_eq!(deleted(), round + 1);
        }
    });
}

pub fn memory_is_freed_after_the_captures_of_its_streams() {
    let name = "memory_is_freed_after_the_captures_of_its_streams";
    for no_pools in ["0", "1"] {
        isolated(module_path!(), name, &[LAZY, ("VCUDA_NO_POOLS", no_pools)], |driver: &Driver| {
            let (_, unused, device) = streams();
            warm(&device);
            let other = device.with_new_stream().unwrap();
            let reader = cuda::stream(&other).unwrap();
            for (mode, captured) in [GLOBAL, THREAD_LOCAL, RELAXED]
                .into_iter()
                .flat_map(|mode| [(mode, reader), (mode, &unused)])
            {
                let x = Tensor::ones([LEN], DType::I32, &device).unwrap();
                let sum = (&x.to_device(&other).unwrap() + 1).unwrap();
                captured.begin_capture(mode).unwrap();
                drop(x);
                end(captured);
                assert_eq!(sum.to_vec::<i32>().unwrap(), [2; LEN]);
                drop(sum);
                device.synchronize().unwrap();
                assert_eq!(driver.allocations(), 0);
            }
        });
    }
}

pub fn copies_leave_captures_alone() {
    isolated(module_path!(), "copies_leave_captures_alone", &[LAZY], |_| {
        let (_, captured, device) = streams();
        warm(&device);
        let there = cuda::device_on(&captured).unwrap();
        let kept = Tensor::ones([LEN], DType::I32, &there).unwrap();
        captured.begin_capture(GLOBAL).unwrap();
        // On another stream they work; on the captured one they are refused.
        let x = Tensor::from_slice(&[5i32; LEN], [LEN], &device).unwrap();
        assert_eq!((&x + 1).unwrap().to_vec::<i32>().unwrap(), [6; LEN]);
        for refused in [
            kept.to_vec::<i32>().map(drop),
            Tensor::from_slice(&[5i32; LEN], [LEN], &there).map(drop),
        ] {
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
            assert!(refused.to_string().contains("end the capture first"), "{refused}");
        }
        end(&captured);
        assert_eq!(kept.to_vec::<i32>().unwrap(), [1; LEN]);
    });
}

/// What an expression would give is told without memory and without work, so that a graph has no trace of it.
pub fn describing_an_expression_leaves_captures_alone() {
    isolated(module_path!(), "describing_an_expression_leaves_captures_alone", &[LAZY], |driver| {
        let (_, captured, _) = streams();
        let there = cuda::device_on(&captured).unwrap();
        let x = Tensor::arange(6 * LEN, DType::I32, &there).unwrap().reshape([6, LEN]).unwrap();
        let centred = &x.expr() - &x.expr().max_keepdims(0);
        // The last values are no whole word, so that they are packed apart.
        let packed = (x.expr() & 7).narrow(1, 0, 15).pack(&Packing::new(4, DType::U32), 1);
        captured.synchronize().unwrap();
        captured.begin_capture(RELAXED).unwrap();
        let counted = ["cuMemAllocAsync", "cuMemAlloc_v2", "cuMemsetD8Async", "cuLaunchKernel"];
        let before = counted.map(|function| driver.calls_of(function));
        assert_eq!(
            (centred.dtype().unwrap(), centred.shape().unwrap()),
            (DType::I32, vec![6, LEN])
        );
        assert_eq!((packed.dtype().unwrap(), packed.shape().unwrap()), (DType::U32, vec![6, 2]));
        assert_eq!(counted.map(|function| driver.calls_of(function)), before);
        end(&captured);
        assert_eq!(packed.run().unwrap().to_vec::<u32>().unwrap()[..2], [0x7654_3210, 0x0654_3210]);
    });
}

pub fn memory_is_trimmed_while_another_stream_is_captured() {
    let name = "memory_is_trimmed_while_another_stream_is_captured";
    for no_pools in ["0", "1"] {
        isolated(module_path!(), name, &[LAZY, ("VCUDA_NO_POOLS", no_pools)], |driver: &Driver| {
            let (_, captured, device) = streams();
            warm(&device);
            captured.begin_capture(GLOBAL).unwrap();
            let x = Tensor::from_slice(&[5i32; LEN], [LEN], &device).unwrap();
            assert_eq!((&x + 1).unwrap().to_vec::<i32>().unwrap(), [6; LEN]);
            // The pinned memory of the upload is released, too.
            cuda::trim_pool(&device).unwrap();
            assert!(driver.calls_of("cuMemFreeHost") > 0);
            cuda::set_pool_limit(&device, 0).unwrap();
            end(&captured);
            assert_eq!(x.to_vec::<i32>().unwrap(), [5; LEN]);
        });
    }
}

pub fn a_device_whose_stream_is_captured_is_not_waited_for() {
    let name = "a_device_whose_stream_is_captured_is_not_waited_for";
    isolated(module_path!(), name, &[LAZY], |_| {
        let (_, captured, device) = streams();
        warm(&device);
        let there = cuda::device_on(&captured).unwrap();
        captured.begin_capture(RELAXED).unwrap();
        let refused = device.synchronize().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert!(refused.to_string().contains("end the capture first"), "{refused}");
        end(&captured);
        device.synchronize().unwrap();
        drop(there);
    });
}

pub fn an_export_waits_for_a_reader_that_compiles_its_kernel() {
    let name = "an_export_waits_for_a_reader_that_compiles_its_kernel";
    isolated(module_path!(), name, &[LAZY, ("BITLANE_CACHE", "off")], |_| {
        let device = Device::cuda(0).unwrap();
        let other = device.with_new_stream().unwrap();
        let mut x = Tensor::ones([LEN], DType::I32, &device).unwrap();
        // Compiles the kernel of the write below.
        x.bitwise_or_assign(0).unwrap();
        for op in [bitlane::BinaryOp::Add, bitlane::BinaryOp::Maximum, bitlane::BinaryOp::Subtract]
        {
            let reading = AtomicBool::new(true);
            let read = thread::scope(|scope| {
                let reader = scope.spawn(|| {
                    let there = x.to_device(&other).unwrap();
                    let read = binary(op, &there, 3).run().unwrap();
                    reading.store(false, Ordering::SeqCst);
                    read
                });
                while reading.load(Ordering::SeqCst) {
                    drop(dlpack::export::<DLManagedTensorVersioned>(&x).unwrap());
                    thread::yield_now();
                }
                reader.join().unwrap()
            });
            x.bitwise_or_assign(64).unwrap();
            // Runs the write first, if it does not wait for the reader.
            let written = x.to_vec::<i32>().unwrap();
            let expected = match op {
                bitlane::BinaryOp::Add => 4,
                bitlane::BinaryOp::Maximum => 3,
                _ => -2,
            };
            assert_eq!(read.to_vec::<i32>().unwrap(), [expected; LEN], "{op}");
            assert_eq!(written, [65; LEN]);
            x.fill(1).unwrap();
        }
    });
}
