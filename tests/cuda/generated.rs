//! The host side of generated kernels: when one is compiled, and what happens if a driver or compiler call fails in a
//! first run.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use bitlane::{DType, Device, Error, ErrorKind, Expr, Result, Tensor, cuda, introspect};
use libloading::os::unix::Library;

use crate::devices::libraries::libraries;
use crate::virtual_driver::isolated;

/// Disables the on-disk cache, so that every new kernel is compiled by NVRTC.
const NO_CACHE: (&str, &str) = ("BITLANE_CACHE", "off");

/// Runs a function and returns the number of kernels that were compiled for it.
fn compiled<T>(run: impl FnOnce() -> Result<T>) -> u64 {
    let before = cuda::cache_statistics().compilations;
    run().unwrap();
    cuda::cache_statistics().compilations - before
}

/// Returns the first `columns` columns of a matrix with `room` columns, and a separate column.
fn beside(rows: usize, columns: usize, room: usize, device: &Device) -> (Tensor, Tensor) {
    let matrix = Tensor::ones([rows, room], DType::F32, device).unwrap();
    let column = Tensor::ones([rows, 1], DType::F32, device).unwrap();
    (matrix.narrow(1, 0, columns).unwrap(), column)
}

pub fn other_numbers_sizes_and_strides_compile_nothing() {
    let name = "other_numbers_sizes_and_strides_compile_nothing";
    isolated(module_path!(), name, &[NO_CACHE], |_| {
        let device = Device::cuda(0).unwrap();
        let ones = |len: usize| Tensor::ones([len], DType::F32, &device).unwrap();
        let chain = |x: &Tensor, number: f64| ((x.expr() + 1) * number).run();
        // Compiles the kernel that fills.
        ones(1);
        // A contiguous operand, of any length.
        assert_eq!(compiled(|| chain(&ones(1000), 2.0)), 1);
        for (len, number) in [(1000, -0.0), (1, 3.0), (7, f64::NAN), (1 << 16, 1e30)] {
            assert_eq!(compiled(|| chain(&ones(len), number)), 0, "{len} elements, {number}");
        }
        // A strided operand, with any stride.
        let every = |step: isize| ones(600).slice(0, bitlane::Slice::from(..).step(step)).unwrap();
        assert_eq!(compiled(|| chain(&every(2), 2.0)), 1);
        for step in [3, 50, -1, -7] {
            assert_eq!(compiled(|| chain(&every(step), 2.0)), 0, "every {step}");
        }
        // Rows of a larger matrix, and a column.
        let both = |(x, y): &(Tensor, Tensor), number: f64| ((x.expr() + y) * number).run();
        assert_eq!(compiled(|| both(&beside(64, 104, 128, &device), 2.0)), 1);
        for (rows, columns, room) in [(64, 200, 208), (3, 1000, 1008), (500, 16, 64)] {
            let operands = beside(rows, columns, room, &device);
            assert_eq!(compiled(|| both(&operands, 0.5)), 0, "{rows} rows of {columns}");
        }
        // Three and four loops share one kernel.
        let turned = |shape: &[usize]| {
            let all = Tensor::ones(shape.to_vec(), DType::F32, &device).unwrap();
            all.permute((0..shape.len()).rev().collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(compiled(|| chain(&turned(&[3, 5, 7]), 2.0)), 1);
        assert_eq!(compiled(|| chain(&turned(&[9, 2, 3, 11]), 4.0)), 0);
        // Sums of any length that needs the same number of stages.
        let sum = |len: usize| (ones(len).expr() * 2).sum(..).run();
        assert!(compiled(|| sum(100_000)) > 0);
        assert_eq!(compiled(|| sum(123_456)), 0);
    });
}

pub fn another_dtype_class_or_step_is_another_kernel() {
    isolated(module_path!(), "another_dtype_class_or_step_is_another_kernel", &[NO_CACHE], |_| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::ones([8, 64], DType::F32, &device).unwrap();
        let y = Tensor::ones([8, 64], DType::F32, &device).unwrap();
        let (row, column) = (y.narrow(0, 0, 1).unwrap(), y.narrow(1, 0, 1).unwrap());
        let [wide, half, other_half, whole] =
            [DType::F64, DType::F16, DType::BF16, DType::I32].map(|dtype| y.cast(dtype).unwrap());
        let mask = x.greater_than(0).unwrap();
        let [mut out, mut narrow] =
            [DType::F32, DType::F16].map(|dtype| Tensor::ones([8, 64], dtype, &device).unwrap());
        let chain = |x: &Tensor, y: &Tensor| ((x.expr() + y) * 2).run();
        assert_eq!(compiled(|| chain(&x, &y)), 1);
        let unaligned = Tensor::ones([8 * 64 + 1], DType::F32, &device).unwrap();
        let unaligned = unaligned.narrow(0, 1, 8 * 64).unwrap().reshape([8, 64]).unwrap();
        // Each has a kernel of its own, which is compiled once.
        let others: [(&str, &dyn Fn() -> Result<Tensor>); 11] = [
            ("wider", &|| chain(&wide, &wide)),
            ("wider on one side", &|| chain(&x, &wide)),
            ("narrower on one side", &|| chain(&x, &half)),
            ("narrower on the other side", &|| chain(&half, &x)),
            ("as narrow, of another dtype", &|| chain(&x, &other_half)),
            ("integers", &|| chain(&whole, &whole)),
            ("a row", &|| chain(&x, &row)),
            ("a column", &|| chain(&x, &column)),
            ("at another address", &|| chain(&x, &unaligned)),
            ("turned", &|| {
                let [x, y] = [&x, &y].map(|x| x.reshape([64, 8]).unwrap());
                chain(&x, &y.reshape([8, 64]).unwrap().transpose(0, 1).unwrap())
            }),
            ("another operation", &|| ((x.expr() - &y) * 2).run()),
        ];
        for (what, run) in others {
            assert_eq!(compiled(run), 1, "{what}");
            assert_eq!(compiled(run), 0, "{what}, again");
        }
        let sum = || (x.expr() + &y) * 2;
        assert_eq!(compiled(|| sum().out(&mut narrow).run()), 1, "into a narrower destination");
        assert_eq!(compiled(|| sum().out(&mut out).mask(&mask).run()), 1, "under a mask");
        assert_eq!(compiled(|| sum().out(&mut out).run()), 0, "into a destination like a new one");
        // Every row begins at an aligned vector, or only the first.
        let rows = |room: usize| {
            let all = Tensor::ones([8, room], DType::F32, &device).unwrap();
            all.narrow(1, 0, 64).unwrap()
        };
        assert_eq!(compiled(|| chain(&rows(72), &row)), 1, "rows that begin with a vector");
        assert_eq!(compiled(|| chain(&rows(65), &row)), 1, "rows that begin anywhere");
        // The argument of a step is an input or the result of another step.
        let shared = || x.expr() + &y;
        assert_eq!(compiled(|| (shared() * (y.expr() - &x)).run()), 1, "of two steps");
        let twice = shared();
        assert_eq!(compiled(|| (twice.clone() * twice).run()), 1, "of one step, twice");
        assert_eq!(compiled(|| (shared() * &x).run()), 1, "of a step and an input");
        // A prepared expression is not compiled again.
        let prepared = || (x.expr() / &y) * 3;
        assert_eq!(compiled(|| prepared().prepare()), 1);
        assert_eq!(compiled(|| prepared().run()), 0);
    });
}

pub fn the_kernels_that_are_shown_are_those_that_run() {
    isolated(module_path!(), "the_kernels_that_are_shown_are_those_that_run", &[NO_CACHE], |_| {
        let [shown, ran] = [Device::cpu(), Device::cuda(0).unwrap()].map(|device| {
            let x = Tensor::ones([40, 24], DType::F16, &device).unwrap();
            let y = Tensor::ones([24], DType::F32, &device).unwrap();
            [x.expr() + &y, (x.expr() * 3).sum(..)].map(|expr| {
                introspect::record();
                expr.run().unwrap();
                let ran = introspect::recorded_sources();
                let is_cpu = device == Device::cpu();
                let kernels = if is_cpu { introspect::kernels(&expr).unwrap() } else { ran };
                kernels.into_iter().map(|kernel| (kernel.name, kernel.source)).collect::<Vec<_>>()
            })
        });
        assert_eq!(shown, ran);
        let [(name, source)] = &shown[0][..] else { panic!("{shown:?}") };
        assert!(source.contains(name), "{source}");
    });
}

/// Views of views read what the program has already, so that the kernel grows by a few steps per operation.
pub fn views_of_views_make_a_small_kernel() {
    isolated(module_path!(), "views_of_views_make_a_small_kernel", &[NO_CACHE], |_| {
        let [cpu, cuda] = [Device::cpu(), Device::cuda(0).unwrap()];
        let rounds = |device: &Device, rounds: usize| {
            let x = Tensor::arange(1000, DType::I32, device).unwrap();
            introspect::record();
            let e = (0..rounds).fold(x.expr(), |e, _| &e + &e.flip(0));
            (e.run().unwrap().to_vec::<i32>().unwrap(), introspect::recorded_sources())
        };
        let [small, large] = [2, 10].map(|count| {
            let (result, kernels) = rounds(&cuda, count);
            assert_eq!(result, rounds(&cpu, count).0);
            let [.., kernel] = &kernels[..] else { panic!("nothing was compiled") };
            kernel.source.len()
        });
        // Eight more rounds are sixteen more steps, of a line each.
        assert!(large - small < 16 * 100, "{small} and {large} bytes");
    });
}

/// The operands and the destination of an expression.
struct Work {
    x: Tensor,
    y: Tensor,
    out: Tensor,
}

/// Enough elements for a sum in stages.
const LEN: usize = 40_000;

/// The value of the destination before a run.
const BEFORE: f32 = 7.0;

impl Work {
    fn new(device: &Device) -> Work {
        let x = Tensor::arange(LEN, DType::I32, device).unwrap();
        let y = Tensor::full([LEN], 0.5, DType::F32, device).unwrap();
        let out = Tensor::full([LEN], BEFORE, DType::F32, device).unwrap();
        Work { x, y, out }
    }

    /// Returns a chain with this many additions, so that each number has a kernel of its own.
    fn chain(&self, steps: usize) -> Expr<'_> {
        let start = (self.x.expr() & 15).cast(DType::F32) + &self.y;
        (0..steps).fold(start, |chain, _| chain + 1)
    }

    /// Resets the destination to its initial value.
    fn reset(&self) {
        let fresh = Tensor::full([LEN], BEFORE, DType::F32, self.x.device()).unwrap();
        fresh.expr().out(&mut self.out.clone()).run().unwrap();
    }

    /// Panics if a failed run has changed an operand or the destination.
    fn expect_untouched(&self, what: &str) {
        let x: Vec<i32> = self.x.to_vec().unwrap();
        assert!(x.iter().copied().eq(0..LEN as i32), "{what}: an operand");
        assert!(self.y.to_vec::<f32>().unwrap().iter().all(|&y| y == 0.5), "{what}: an operand");
        let out: Vec<f32> = self.out.to_vec().unwrap();
        assert!(out.iter().all(|&out| out == BEFORE), "{what}: the destination");
    }
}

/// How an expression is run: into a new tensor, into a given destination, or as a sum.
#[derive(Clone, Copy, Debug)]
enum Way {
    Fresh,
    Out,
    Sum,
}

impl Way {
    fn run(self, work: &Work, steps: usize) -> Result<Tensor> {
        let mut out = work.out.clone();
        match self {
            Way::Fresh => work.chain(steps).run(),
            Way::Out => work.chain(steps).out(&mut out).run(),
            Way::Sum => {
                let mut first = work.out.narrow(0, 0, 1)?.squeeze(0)?;
                work.chain(steps).sum(..).out(&mut first).run()
            }
        }
    }

    /// Panics if a result is wrong.
    fn expect(self, result: &Tensor, steps: usize, what: &str) {
        let result: Vec<f32> = result.to_vec().unwrap();
        let steps = steps as f32;
        match self {
            Way::Fresh | Way::Out => {
                let expected = (0..LEN).map(|place| (place % 16) as f32 + 0.5 + steps);
                assert!(result.into_iter().eq(expected), "{what}");
            }
            // The mean of the sixteen numbers is 7.5.
            Way::Sum => assert_eq!(result, [LEN as f32 * (7.5 + 0.5 + steps)], "{what}"),
        }
    }

    /// Checks that a failed run has changed nothing, and that the same run then succeeds.
    fn expect_recovery(self, work: &Work, steps: usize, what: &str) {
        work.expect_untouched(what);
        self.expect(&self.run(work, steps).unwrap(), steps, &format!("after {what}"));
    }
}

pub fn every_driver_call_of_a_first_run_may_fail() {
    let name = "every_driver_call_of_a_first_run_may_fail";
    isolated(module_path!(), name, &[NO_CACHE], |driver| {
        let device = Device::cuda(0).unwrap();
        let work = Work::new(&device);
        let mut steps = 0;
        for way in [Way::Fresh, Way::Out, Way::Sum] {
            // Chains of different lengths make the same driver calls.
            let total = || driver.calls().iter().map(|(_, count)| count).sum::<u64>();
            steps += 1;
            let before = total();
            let result = way.run(&work, steps).unwrap();
            let calls = total() - before;
            way.expect(&result, steps, "without a fault");
            let mut failed = Vec::new();
            // The last attempts do not reach their fault, which shows that every call was covered.
            for call in 1..=calls + 2 {
                steps += 1;
                work.reset();
                driver.set("fail", &format!("*:{call}:12345"));
                let outcome = way.run(&work, steps);
                driver.set("fail", "");
                match outcome {
                    Ok(result) => way.expect(&result, steps, &format!("{way:?}, call {call}")),
                    Err(Error::Driver { call: function, code: 12345, .. }) => {
                        way.expect_recovery(&work, steps, &format!("{way:?}, {function}"));
                        failed.push(function);
                    }
                    Err(error) => panic!("{way:?}, call {call}: {error}"),
                }
            }
            for function in ["cuModuleLoadDataEx", "cuModuleGetFunction", "cuLaunchKernel"] {
                assert!(failed.contains(&function), "{way:?}: {function} is not in {failed:?}");
            }
        }
    });
}

pub fn every_compiler_call_of_a_first_run_may_fail() {
    let Ok(found) = libraries() else {
        return isolated(
            module_path!(),
            "every_compiler_call_of_a_first_run_may_fail",
            &[],
            |_| {},
        );
    };
    let real = env::var_os("BITLANE_NVRTC").map(PathBuf::from).or_else(|| found.nvrtc.clone());
    let real = env::var_os("FAULTY_NVRTC").map(PathBuf::from).or(real);
    let real = real.unwrap_or_else(|| "libnvrtc.so".into());
    let faulty = faulty_nvrtc();
    let variables = &[
        NO_CACHE,
        ("BITLANE_NVRTC", faulty.to_str().unwrap()),
        ("FAULTY_NVRTC", real.to_str().unwrap()),
    ];
    let name = "every_compiler_call_of_a_first_run_may_fail";
    isolated(module_path!(), name, variables, |_| {
        // SAFETY: the library is the project's own, and stays loaded for as long as its functions are used.
        let library = unsafe { Library::new(&faulty) }.unwrap();
        // SAFETY: the functions have these types.
        let (fail, calls) = unsafe {
            (
                library.get::<extern "C" fn(i64)>(b"faulty_nvrtc_fail\0").unwrap(),
                library.get::<extern "C" fn() -> u64>(b"faulty_nvrtc_calls\0").unwrap(),
            )
        };
        // Opening the first device queries the compiler's version and architectures.
        let mut device = None;
        for call in 1.. {
            fail(call);
            let outcome = Device::cuda(0);
            fail(0);
            match outcome {
                Ok(opened) => device = Some(opened),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::CudaUnavailable, "{error}");
                    assert!(error.to_string().contains("nvrtc"), "{error}");
                    continue;
                }
            }
            assert!(call >= 3, "only {call} calls");
            break;
        }
        let work = Work::new(&device.unwrap());
        let mut steps = 0;
        for way in [Way::Fresh, Way::Out, Way::Sum] {
            steps += 1;
            let before = calls();
            let result = way.run(&work, steps).unwrap();
            let made = calls() - before;
            way.expect(&result, steps, "without a fault");
            let mut refused = Vec::new();
            for call in 1..=made {
                steps += 1;
                work.reset();
                fail(call as i64);
                let outcome = way.run(&work, steps);
                fail(0);
                match outcome {
                    Ok(result) => way.expect(&result, steps, &format!("{way:?}, call {call}")),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Compile, "{error}");
                        way.expect_recovery(&work, steps, &format!("{way:?}, call {call}"));
                        refused.push(call);
                    }
                }
            }
            // The calls that create a program, compile it, and get the size and the bytes of its output. The two calls
            // between them that get the compiler's warnings, and destroying the program, may fail without consequences,
            // and the second kernel of a sum is loaded already.
            assert_eq!(refused, [1, 2, 5, 6], "{way:?}");
        }
    });
}

/// Builds the NVRTC wrapper whose calls can be made to fail.
fn faulty_nvrtc() -> PathBuf {
    let exe = env::current_exe().unwrap();
    let target = exe.ancestors().nth(3).unwrap();
    let built = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--package", "vcuda", "--example", "faulty_nvrtc"])
        .arg("--target-dir")
        .arg(target)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Path::new(target).join("debug/examples/libfaulty_nvrtc.so")
}
