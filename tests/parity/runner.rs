//! Runs calls on both sides, compares the results, and records which kernels ran.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;

use bitlane::introspect::{self, Force, Module};
use bitlane::{BinaryOp, DType, Device, Result, Tensor, binary};

use crate::cases::{Case, Destination, GENERATED, Operand};
use crate::data::{Data, Pair, difference};
use crate::model::element::Nan;
use crate::model::ops::{nan_freedom, result_dtype};
use crate::model::random::Random;

/// The maximum number of differences that are reported.
const ENOUGH: usize = 20;

/// The kernel on which a call must run.
#[derive(Debug)]
pub enum Kernel {
    /// The hand-written kernel of this name.
    Written(String),
    /// Any generated kernel.
    Generated,
}

/// The two sides, their data, and the results so far.
pub struct Runner {
    pub devices: [Device; 2],
    /// The names of all hand-written kernels.
    written: BTreeSet<String>,
    data: Vec<OnceLock<Data>>,
    launched: Mutex<BTreeSet<String>>,
    failures: Mutex<Vec<String>>,
    calls: AtomicUsize,
}

impl Runner {
    pub fn new(cuda: Device) -> Runner {
        Runner {
            devices: [Device::cpu(), cuda],
            written: introspect::modules().iter().flat_map(Module::kernels).collect(),
            data: DType::ALL.iter().map(|_| OnceLock::new()).collect(),
            launched: Mutex::default(),
            failures: Mutex::default(),
            calls: AtomicUsize::new(0),
        }
    }

    pub fn data(&self, dtype: DType) -> &Data {
        self.data[dtype as usize].get_or_init(|| Data::new(dtype, &self.devices))
    }

    /// Returns the number of calls that were compared.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the kernels that the crate reports as launched.
    pub fn launched(&self) -> BTreeSet<String> {
        self.launched.lock().unwrap().clone()
    }

    /// Returns the number of generated kernels that were launched.
    pub fn generated(&self) -> usize {
        self.launched.lock().unwrap().difference(&self.written).count()
    }

    pub fn expect_no_failures(&self) {
        let failures = self.failures.lock().unwrap();
        assert!(failures.is_empty(), "CPU and CUDA disagree:\n{}", failures.join("\n"));
    }

    fn fail(&self, message: String) {
        let mut failures = self.failures.lock().unwrap();
        if failures.len() < ENOUGH {
            failures.push(message);
        }
    }

    /// Runs a call on both sides. If a kernel is expected, it must be the one that ran last.
    pub fn agree(
        &self,
        kernel: Option<&Kernel>,
        nan: Nan,
        what: impl Fn() -> String,
        call: impl Fn(usize) -> Result<Tensor>,
    ) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let cpu = call(0);
        introspect::record();
        let cuda = call(1);
        let all = introspect::recorded();
        let ran = all.last();
        let complaint = match (&cpu, &cuda) {
            (Ok(cpu), Ok(cuda)) => difference(cpu, cuda, nan),
            (Err(cpu), Err(cuda)) if kernel.is_none() && cpu.kind() == cuda.kind() => None,
            (cpu, cuda) => Some(format!(
                "{:?} on the CPU, {:?} on CUDA",
                cpu.as_ref().err(),
                cuda.as_ref().err()
            )),
        };
        if let Some(complaint) = complaint {
            self.fail(format!(
                "{} by {}: {complaint}",
                what(),
                ran.map_or("nothing", String::as_str)
            ));
        }
        if let Some(kernel) = kernel
            && !self.is_kernel(kernel, ran)
        {
            self.fail(format!("{} was to run on {kernel:?}, not {ran:?}", what()));
        }
        if cuda.is_ok() {
            self.launched.lock().unwrap().extend(all);
        }
    }

    fn is_kernel(&self, expected: &Kernel, ran: Option<&String>) -> bool {
        match (expected, ran) {
            (Kernel::Written(name), Some(ran)) => name == ran,
            (Kernel::Generated, Some(ran)) => !self.written.contains(ran),
            (_, None) => false,
        }
    }

    /// Runs a binary operation.
    pub fn binary(&self, op: BinaryOp, dtype: DType, case: &Case, force: Force) {
        let data = self.data(dtype);
        let result = result_dtype(op, dtype);
        let nan = match (&case.to, nan_freedom(op)) {
            (Destination::Given(to, ..), Nan::Exact) if *to != result => Nan::SameSign,
            (_, nan) => nan,
        };
        let to = self.storages(data, &case.to);
        let kernel = match shape_under(case, force) {
            GENERATED => Kernel::Generated,
            shape => Kernel::Written(format!("{shape}_{}_{dtype}", kernel_name(op))),
        };
        let what = || format!("{op} of {dtype}, {case:?}, {force:?}");
        self.agree(Some(&kernel), nan, what, |side| {
            let from = |operand: &Operand, base: &Pair| match operand {
                Operand::View(view) => view.of(&base.0[side]).into(),
                Operand::Number(number) => bitlane::Operand::from(*number),
            };
            let rhs = from(&case.rhs, &data.rhs);
            match &case.to {
                Destination::Fresh => binary(op, from(&case.lhs, &data.lhs), rhs).run(),
                Destination::InPlace(view) => {
                    let storage = &to[0].0[side];
                    let mut out = view.of(storage);
                    binary(op, from(&case.lhs, &to[0]), rhs).out(&mut out).run()?;
                    Ok(storage.clone())
                }
                Destination::Given(_, view, mask) => {
                    let storage = &to[0].0[side];
                    let mut out = view.of(storage);
                    let call = binary(op, from(&case.lhs, &data.lhs), rhs).out(&mut out);
                    match mask {
                        Some(mask) => call.mask(&mask.of(&to[1].0[side])).run()?,
                        None => call.run()?,
                    };
                    // The whole storage, to compare also the elements that must not be written.
                    Ok(storage.clone())
                }
            }
        });
    }

    /// Returns the storages of a destination and of its mask. That of a destination is larger than needed.
    fn storages(&self, data: &Data, to: &Destination) -> Vec<Pair> {
        let mut random = Random::new(7);
        let mut any = |dtype: DType, len: usize| {
            let pattern = random.elements(dtype, 97);
            let elements: Vec<_> = pattern.into_iter().cycle().take(len).collect();
            Pair::new(dtype, &elements, &self.devices)
        };
        match to {
            Destination::Fresh => Vec::new(),
            Destination::InPlace(view) => {
                let elements = &data.elements[..view.extent() + 5];
                vec![Pair::new(data.dtype, elements, &self.devices)]
            }
            Destination::Given(dtype, view, mask) => {
                let storage = any(*dtype, view.extent() + 5);
                let mask = mask.as_ref().map(|mask| any(DType::Bool, mask.extent()));
                [storage].into_iter().chain(mask).collect()
            }
        }
    }

    /// Runs a function for every module, on a few threads.
    pub fn for_each_module(&self, run: impl Fn(&Module) + Sync) {
        let modules = introspect::modules();
        self.share(modules.len(), |at| run(&modules[at]));
    }

    /// Runs a function for every number below `count`, on a few threads.
    pub fn share(&self, count: usize, run: impl Fn(usize) + Sync) {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(2, |threads| threads.get().min(8)) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= count || self.failures.lock().unwrap().len() >= ENOUGH {
                            return;
                        }
                        run(at);
                    }
                });
            }
        });
    }
}

/// Returns the operation's name in the names of kernels: both kinds of left shift share one.
pub fn kernel_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::LeftShift(_) => "bitwise_left_shift",
        other => other.name(),
    }
}

/// Returns the shape of the kernel on which a case runs under an override.
pub fn shape_under(case: &Case, force: Force) -> &'static str {
    let numbers = [&case.lhs, &case.rhs].iter().any(|o| matches!(o, Operand::Number(_)));
    match force {
        Force::NOTHING => case.shape,
        Force::GATHER if numbers || case.shape == GENERATED => case.shape,
        Force::GATHER => match case.shape {
            // Five loops, of which the innermost is a single vector.
            "gen4" if case.rank() == 5 => "gath8",
            "gen4" | "gath4" => "gath4",
            "gen8" | "gath8" => "gath8",
            _ => "gath2",
        },
        _ => GENERATED,
    }
}
