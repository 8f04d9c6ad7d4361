//! Every launch fails: every operation must report it, and none may succeed in another way.

use std::collections::BTreeSet;

use bitlane::{BinaryOp, DType, Error, Result, Tensor, binary, introspect};

use crate::model::ops::is_defined;
use crate::runner::{Runner, kernel_name};
use crate::virtual_driver::Driver;

/// The code with which the driver refuses launches: invalid value.
const REFUSED: u32 = 1;

fn refused(what: impl Fn() -> String, outcome: Result<Tensor>) {
    match outcome {
        Err(Error::Driver { call: "cuLaunchKernel", code: REFUSED, .. }) => {}
        Err(error) => panic!("{}: {error}", what()),
        Ok(_) => panic!("{} went on without a launch", what()),
    }
}

/// Calls every operation that launches, in every dtype, and returns the number of calls.
pub fn no_launch_no_result(runner: &Runner, driver: &Driver) -> usize {
    let view = |dtype: DType| runner.data(dtype).lhs.0[1].narrow(0, 0, 33).unwrap();
    let prepared: Vec<_> = DType::ALL
        .iter()
        .map(|&dtype| (view(dtype), Tensor::zeros([33], dtype, &runner.devices[1]).unwrap()))
        .collect();
    let mask = view(DType::Bool);
    let written: BTreeSet<_> = introspect::modules().iter().map(|m| (m.op(), m.dtype())).collect();
    driver.set("fail", &format!("cuLaunchKernel:*:{REFUSED}"));
    let mut calls = 0;
    for (x, zeros) in prepared {
        let dtype = x.dtype();
        let mut out = zeros;
        let backwards = x.flip(0).unwrap();
        let row = x.as_strided(&[5, 33], &[0, 1], 0).unwrap();
        let number: bitlane::Scalar = if dtype == DType::Bool { true.into() } else { 1.into() };
        for &op in BinaryOp::ALL.iter().filter(|&&op| is_defined(op, dtype)) {
            let what = |form: &str| format!("{op} of {dtype}, {form},");
            refused(|| what("side by side"), binary(op, &x, &x).run());
            calls += 1;
            if !written.contains(&(kernel_name(op), dtype.name())) {
                // Each further form would need another kernel to be compiled.
                continue;
            }
            refused(|| what("backwards"), binary(op, &x, &backwards).run());
            refused(|| what("broadcast"), binary(op, &row, &x).run());
            refused(|| what("with a number"), binary(op, &x, number).run());
            refused(|| what("of a number"), binary(op, number, &x).run());
            calls += 4;
            if op == BinaryOp::Add {
                refused(|| what("into"), binary(op, &x, &x).out(&mut out).run());
                refused(|| what("masked"), binary(op, &x, &x).out(&mut out).mask(&mask).run());
                calls += 2;
            }
        }
        let what = |form: &str| format!("{form} of {dtype}");
        refused(|| what("a copy"), backwards.contiguous());
        refused(|| what("ones"), Tensor::ones([33], dtype, x.device()));
        let other = if dtype == DType::F32 { DType::F64 } else { DType::F32 };
        refused(|| what("cast"), x.cast(other));
        calls += 3;
        if !dtype.is_complex() {
            refused(|| what("signbit"), x.signbit());
            calls += 1;
        }
        if dtype.is_float() {
            refused(|| what("gradient"), x.copysign_grad(&x, &x).map(|(gx, _)| gx));
            calls += 1;
        }
        assert!(out.to_bytes().unwrap().iter().all(|&byte| byte == 0), "{dtype} was written");
    }
    driver.set("fail", "");
    let x = Tensor::arange(33, DType::I32, &runner.devices[1]).unwrap();
    assert_eq!((&x + 1).unwrap().to_vec::<i32>().unwrap()[32], 33, "after healing");
    calls
}
