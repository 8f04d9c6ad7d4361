//! What is particular to CUDA: streams, memory, failures. candle is linked with a driver; `cargo xtask test --full` runs
//! these tests on the virtual one.

#![cfg(feature = "cuda")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use bitlane::{BinaryOp, DType as Lane, UnaryOp};
use bitlane_candle::{Binary, Fused1, Fused2, Operations, Unary, WithScalar};
use candle_core::{DType, Device, Result, Storage, Tensor};
use vcuda_control::Control;

use self::support::{on_cuda, on_devices, virtual_driver};

mod support;

/// The tests change settings of the driver and count its calls, so they take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(driver) = virtual_driver() {
        driver.heal(); // the test before may have failed
    }
    turn
}

/// Returns the number of calls of functions whose names begin like this.
fn calls(driver: &Control, beginning: &str) -> u64 {
    let calls = driver.stats().calls.into_iter();
    calls.filter(|(name, _)| name.starts_with(beginning)).map(|(_, count)| count).sum()
}

#[test]
fn an_operation_is_one_launch_and_one_allocation_and_in_place_just_a_launch() -> Result<()> {
    let _turn = turn();
    let Some(driver) = virtual_driver() else { return Ok(()) };
    on_cuda(|device| {
        let x = Tensor::arange(0u32, 1000, device)?.reshape((10, 100))?.t()?;
        let amounts = Tensor::arange(0u32, 10, device)?;
        let gray = || Fused1::new("gray", |x| x.clone() ^ (x >> 1));
        // The kernels are compiled first.
        let (shifted, fused) = (x.left_shift(&amounts)?, x.apply_op1(gray())?);
        shifted.inplace_op1(&gray())?;
        drop((shifted, fused));
        device.synchronize()?;
        let count = || {
            ["cuLaunchKernel", "cuMemAlloc", "cuMemcpy", "cuMemset", "cuModuleLoad"]
                .map(|beginning| calls(&driver, beginning))
        };
        let start = count();
        let shifted = x.left_shift(&amounts)?;
        let fused = x.apply_op1(gray())?;
        shifted.inplace_op1(&gray())?;
        let made = count();
        let differences: Vec<_> =
            made.iter().zip(start).map(|(after, before)| after - before).collect();
        assert_eq!(differences, [3, 2, 0, 0, 0]);
        assert_eq!(fused.get(1)?.to_vec1::<u32>()?[1], 101 ^ 50);
        Ok(())
    })
}

#[test]
fn results_are_on_candles_stream_and_are_freed() -> Result<()> {
    let _turn = turn();
    on_cuda(|device| {
        let x = Tensor::new(&[1f32, -2.0], device)?;
        let before = virtual_driver().map(|driver| driver.live().allocations);
        let y = x.bitlane_unary(UnaryOp::Exp)?;
        {
            let (storage, _) = y.storage_and_layout();
            let Storage::Cuda(storage) = &*storage else { panic!("it is on a CUDA device") };
            let slice = storage.as_cuda_slice::<f32>()?;
            assert_eq!(slice.stream(), &device.as_cuda_device()?.cuda_stream());
        }
        drop(y);
        device.synchronize()?;
        assert_eq!(virtual_driver().map(|driver| driver.live().allocations), before);
        Ok(())
    })
}

/// Work of candle and of bitlane follows each other in every order that the driver may choose.
#[test]
fn work_of_both_libraries_is_ordered() -> Result<()> {
    let _turn = turn();
    for order in ["lazy", "eager", "seed:1", "seed:2", "seed:3"] {
        if let Some(driver) = virtual_driver() {
            driver.set("async", order).expect("it is a setting");
            driver.set("order", "1").expect("it is a setting");
        }
        let results = Mutex::new(Vec::new());
        on_devices(|device| {
            let x = Tensor::arange(0f32, 600., device)?.reshape((20, 30))?;
            let y = (x.t()?.contiguous()? + 0.5)?;
            let z = y.copysign(&x.affine(-1., 300.)?.reshape((30, 20))?)?;
            let z = (z.clip(-500, 400)? * 2.)?.sum_keepdim(0)?;
            let softmax = Fused1::new("softmax", |x| {
                let e = ((x.clone() - x.max_keepdims(-1)) * 0.01).exp();
                &e / &e.sum_keepdims(-1)
            });
            let z = z.broadcast_as((4, 20))?.apply_op1(softmax)?;
            z.inplace_op2(&x.narrow(1, 3, 4)?.t()?, &Fused2::new("scale", |z, x| z * x))?;
            results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((z + 1.)?.to_vec2::<f32>()?);
            Ok(())
        })?;
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(results.len(), 3);
        // candle's own sum is in another order on each device; the rest has the same bits.
        let close = |x: &Vec<f32>, y: &Vec<f32>| {
            x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-4 * x.abs())
        };
        assert_eq!(results[1], results[2]);
        assert!(results[0].iter().zip(&results[1]).all(|(x, y)| close(x, y)));
    }
    if let Some(driver) = virtual_driver() {
        driver.set("async", "lazy").expect("it is a setting");
        driver.set("order", "0").expect("it is a setting");
    }
    Ok(())
}

#[test]
fn threads_share_tensors() -> Result<()> {
    let _turn = turn();
    on_cuda(|device| {
        let x = Tensor::arange(0i64, 500, device)?;
        device.synchronize()?;
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4i64)
                .map(|k| {
                    let x = &x;
                    scope.spawn(move || {
                        let y = x.bitlane_scalar(BinaryOp::Multiply, k)?;
                        y.inplace_op1(&WithScalar::new(BinaryOp::Add, 1))?;
                        y.apply_op2(x, Binary::new(BinaryOp::Subtract))?.to_vec1::<i64>()
                    })
                })
                .collect();
            for (k, thread) in threads.into_iter().enumerate() {
                let y = thread.join().expect("no thread panics")?;
                assert!(y.iter().zip(0..).all(|(&y, x)| y == x * k as i64 + 1 - x));
            }
            Ok(())
        })
    })
}

#[test]
fn failures_of_the_driver_are_candles_errors() -> Result<()> {
    let _turn = turn();
    let Some(driver) = virtual_driver() else { return Ok(()) };
    on_cuda(|device| {
        let x = Tensor::new(&[1i32, 2, 3], device)?;
        let negative = || x.apply_op1(Unary::new(UnaryOp::Negative));
        negative()?;
        for (function, code) in [
            ("cuLaunchKernel", 719),
            ("cuMemAllocFromPoolAsync", 2),
            ("cuMemAllocFromPoolAsync", 999),
        ] {
            driver.fail(function, 0, code).expect("it is a function");
            let error = negative().expect_err("the driver refuses").to_string();
            let reason = if code == 2 { "cannot allocate" } else { function };
            assert!(error.contains(reason), "{error}");
            driver.heal();
            assert_eq!(negative()?.to_vec1::<i32>()?, [-1, -2, -3]);
        }
        Ok(())
    })
}

#[test]
fn what_candle_alone_has_is_refused_and_devices_are_not_mixed() -> Result<()> {
    let _turn = turn();
    on_cuda(|device| {
        let tiny = Tensor::zeros(3, DType::F8E4M3, device)?;
        let error = tiny.bitwise_not().expect_err("bitlane does not have it").to_string();
        assert!(error.contains("bitlane has no such dtype"), "{error}");
        let x = Tensor::new(&[1i32, 2], device)?;
        let narrow = x.apply_op1(Fused1::new("narrow", |x| x.cast(Lane::U16)));
        let error = narrow.expect_err("candle does not have it").to_string();
        assert!(error.contains("the result is u16, which candle does not have"), "{error}");
        let host = Tensor::new(&[1i32, 2], &Device::Cpu)?;
        assert!(x.left_shift(&host).is_err() && host.left_shift(&x).is_err());
        Ok(())
    })
}
