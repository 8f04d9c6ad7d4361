//! Many threads on many streams: a program whose steps run on different streams, over tensors that all streams read and
//! write, gives the same results as on the CPU, whenever the queued work is executed.

use std::thread;

use bitlane::{BinaryOp, DType, Device, Tensor, binary};

use crate::model::element::{Bits, download, upload};
use crate::model::random::Random;
use crate::virtual_driver::isolated;

const STREAMS: usize = 4;
const THREADS: u64 = 4;
const STEPS: usize = 150;
const LEN: usize = 1500;

/// Runs a random program over tensors of its own and some that all programs read.
fn program(seed: u64, streams: &[Device], shared: &[Tensor]) -> Vec<Vec<Bits>> {
    let mut random = Random::new(seed);
    let mut own: Vec<_> = (0..5)
        .map(|at| {
            let elements = random.elements(DType::I32, LEN);
            upload(DType::I32, &elements, &[LEN], &streams[at % streams.len()])
        })
        .collect();
    let ops = [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::BitwiseXor, BinaryOp::Maximum];
    for _ in 0..STEPS {
        let op = ops[random.below(ops.len())];
        let stream = &streams[random.below(streams.len())];
        let x = own[random.below(own.len())].to_device(stream).unwrap();
        let other = random.below(own.len() + shared.len());
        let y = own.get(other).unwrap_or_else(|| &shared[other - own.len()]).clone();
        let target = random.below(own.len());
        match random.below(4) {
            // Replaces a tensor that may still be in use on another stream.
            0 => own[target] = binary(op, &x, &y).run().unwrap(),
            // A destination that overlaps an operand is written through a temporary.
            1 => {
                let tail = x.narrow(0, 1, LEN - 1).unwrap();
                let mut out = own[target].narrow(0, 0, LEN - 1).unwrap();
                binary(op, &tail, y.narrow(0, 0, LEN - 1).unwrap()).out(&mut out).run().unwrap();
            }
            _ => {
                binary(op, &x, &y).out(&mut own[target]).run().unwrap();
            }
        }
    }
    own.iter().map(download).collect()
}

/// Runs one program per thread, concurrently.
fn programs(streams: &[Device]) -> Vec<Vec<Vec<Bits>>> {
    let mut random = Random::new(1);
    let shared: Vec<_> = streams
        .iter()
        .map(|stream| upload(DType::I32, &random.elements(DType::I32, LEN), &[LEN], stream))
        .collect();
    let shared = &shared;
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|seed| scope.spawn(move || program(seed, streams, shared))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

pub fn many_threads_on_many_streams() {
    isolated(module_path!(), "many_threads_on_many_streams", &[], |driver| {
        let expected = programs(&vec![Device::cpu(); STREAMS]);
        for seed in 0..8 {
            driver.set("async", &format!("seed:{seed}"));
            let device = Device::cuda(0).unwrap();
            let streams: Vec<_> = (0..STREAMS).map(|_| device.with_new_stream().unwrap()).collect();
            assert!(programs(&streams) == expected, "seed {seed}: not what the CPU computes");
            device.synchronize().unwrap();
            assert_eq!(driver.allocations(), 0, "something was not freed");
        }
    });
}
