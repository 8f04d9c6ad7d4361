//! A random program over tensors of two devices, mirrored on the CPU.

use std::fmt::Debug;
use std::thread;

use bitlane::{BinaryOp, DType, Device, ErrorKind, Result, Tensor, binary};

use crate::model::random::Random;

/// The number of elements of every tensor, the same for all so that any two can be combined.
pub const LEN: usize = 300;

/// The number of kinds of steps.
const KINDS: usize = 16;

const OPS: [BinaryOp; 4] =
    [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::BitwiseXor, BinaryOp::Maximum];

/// A tensor on a device and its expected counterpart on the CPU. Two pairs share storage on both sides or on neither.
#[derive(Clone)]
pub struct Pair {
    ordinal: usize,
    device: Tensor,
    cpu: Tensor,
}

impl Pair {
    pub fn upload(elements: &[i32], ordinal: usize, stream: &Device) -> Result<Pair> {
        let cpu = Tensor::from_slice(elements, [LEN], &Device::cpu()).unwrap();
        Ok(Pair { ordinal, device: Tensor::from_slice(elements, [LEN], stream)?, cpu })
    }

    /// Panics if the two differ, or if the device's tensor cannot be read.
    pub fn compare(&self, what: impl Debug) {
        let (found, expected) = (self.device.to_vec::<i32>(), self.cpu.to_vec::<i32>().unwrap());
        let found = found.unwrap_or_else(|error| panic!("{what:?} cannot be read: {error}"));
        if let Some(at) = (0..LEN).find(|&at| found[at] != expected[at]) {
            panic!("{what:?}: element {at} is {}, not {}", found[at], expected[at]);
        }
    }
}

/// The state of a program.
pub struct Program {
    pub random: Random,
    /// The streams of each device.
    streams: [Vec<Device>; 2],
    /// A mask on each device, which no program writes.
    masks: [Tensor; 2],
    /// Elements that all programs read and none writes.
    shared: Vec<Pair>,
    live: Vec<Pair>,
    /// The maximum number of live tensors.
    most: usize,
    /// The kinds of steps that the program draws from. Every program has a selection of its own, because a fault that
    /// needs a particular sequence of steps is rare if all kinds are equally likely.
    kinds: Vec<usize>,
    /// The tensor that a failed step was to write: the next steps are likely to use it.
    focus: Option<usize>,
    /// The steps so far, printed if the program panics.
    log: Vec<String>,
}

impl Program {
    /// Creates a program over tensors of its own and shared ones that it only reads. No driver call may fail meanwhile.
    pub fn new(seed: u64, streams: &[Vec<Device>; 2], shared: &[Pair]) -> Program {
        let mut random = Random::new(seed);
        let masks =
            [0, 1].map(|ordinal| Tensor::from_slice(&mask(), [LEN], &streams[ordinal][0]).unwrap());
        let kinds = [3, 15, 15].into_iter().chain((0..4).map(|_| random.below(KINDS))).collect();
        let most = 4 + random.below(10);
        let live = (0..4).map(|at| {
            let stream = &streams[at % 2][random.below(streams[at % 2].len())];
            Pair::upload(&elements(&mut random), at % 2, stream).unwrap()
        });
        let live = live.collect();
        let (streams, shared) = (streams.clone(), shared.to_vec());
        let log = vec![format!("seed {seed}")];
        Program { random, streams, masks, shared, live, most, kinds, focus: None, log }
    }

    fn stream(&mut self, ordinal: usize) -> Device {
        let streams = &self.streams[ordinal];
        streams[self.random.below(streams.len())].clone()
    }

    /// Returns a random tensor on a device, to be read.
    fn source(&mut self, ordinal: usize) -> Pair {
        let readable = self.live.iter().chain(&self.shared);
        let there: Vec<_> = readable.filter(|pair| pair.ordinal == ordinal).collect();
        there[self.random.below(there.len())].clone()
    }

    fn count(&self, ordinal: usize) -> usize {
        self.live.iter().filter(|pair| pair.ordinal == ordinal).count()
    }

    /// Returns the index of a random tensor on a device that may be written.
    fn target(&mut self, ordinal: usize) -> usize {
        let there = (0..self.live.len()).filter(|&at| self.live[at].ordinal == ordinal);
        let there: Vec<_> = there.collect();
        there[self.random.below(there.len())]
    }

    /// Returns the device and the tensor of the next step.
    fn next_target(&mut self) -> (usize, usize) {
        if let Some(focus) = self.focus.filter(|&focus| focus < self.live.len())
            && self.random.below(4) != 0
        {
            return (self.live[focus].ordinal, focus);
        }
        let ordinal = self.random.below(2);
        (ordinal, self.target(ordinal))
    }

    /// Appends a line to the log.
    pub fn note(&mut self, text: String) {
        self.log.push(text);
    }

    /// Runs a random step. If it fails, nothing has changed on either side.
    pub fn step(&mut self) -> Result<()> {
        let (ordinal, target) = self.next_target();
        let stream = self.stream(ordinal);
        let x = match self.random.below(2) {
            0 => self.live[target].clone(),
            _ => self.source(ordinal),
        };
        let y = self.source(ordinal);
        let op = OPS[self.random.below(OPS.len())];
        let kind = self.kinds[self.random.below(self.kinds.len())];
        self.note(format!("{kind} {op} on cuda:{ordinal}, to {target} of {}", self.live.len()));
        let outcome = self.do_step(kind, op, (ordinal, &stream), (&x, &y), target);
        match &outcome {
            Ok(()) => {}
            Err(error) => {
                let kind = error.kind();
                assert!(matches!(kind, ErrorKind::Driver | ErrorKind::OutOfMemory), "{error}");
                self.note(format!("  {error}"));
                self.focus = Some(target);
            }
        }
        outcome
    }

    fn do_step(
        &mut self,
        kind: usize,
        op: BinaryOp,
        (ordinal, stream): (usize, &Device),
        (x, y): (&Pair, &Pair),
        target: usize,
    ) -> Result<()> {
        let here = x.device.to_device(stream)?;
        match kind {
            // Creates a tensor, from the host or by computing it.
            0 => {
                let made = Pair::upload(&elements(&mut self.random), ordinal, stream)?;
                self.put(made);
            }
            1 => {
                let device = Tensor::full([LEN], 7, DType::I32, stream)?;
                self.put_pair(ordinal, device, Tensor::full([LEN], 7, DType::I32, &Device::cpu()));
            }
            2 => {
                let device = Tensor::zeros([LEN], DType::I32, stream)?;
                self.put_pair(ordinal, device, Tensor::zeros([LEN], DType::I32, &Device::cpu()));
            }
            3 | 4 => {
                let device = binary(op, &here, &y.device).run()?;
                self.put_pair(ordinal, device, binary(op, &x.cpu, &y.cpu).run());
            }
            5 => {
                let device = here.flip(0)?.contiguous()?;
                self.put_pair(ordinal, device, x.cpu.flip(0).unwrap().contiguous());
            }
            // Drops a tensor, here or on another thread, perhaps while it is in use on another stream.
            6 if self.count(ordinal) > 1 => drop(self.live.swap_remove(target)),
            7 if self.count(ordinal) > 1 => {
                let gone = self.live.swap_remove(target);
                thread::scope(|scope| scope.spawn(move || drop(gone)).join()).unwrap();
            }
            // Adds the same memory on another stream.
            8 => {
                let at = self.target(ordinal);
                let Pair { device, cpu, .. } = self.live[at].clone();
                self.put_pair(ordinal, device.to_device(stream)?, Ok(cpu));
            }
            // Copies to the other device, or through the host.
            9 => {
                let other = self.stream(1 - ordinal);
                self.put_pair(1 - ordinal, x.device.to_device(&other)?, x.cpu.copy());
            }
            10 => {
                let device = x.device.to_device(&Device::cpu())?.to_device(stream)?;
                self.put_pair(ordinal, device, x.cpu.copy());
            }
            11 => {
                let fresh = stream.with_new_stream()?;
                let at = self.random.below(self.streams[ordinal].len());
                self.streams[ordinal][at] = fresh;
            }
            12 => {
                let found = x.device.to_vec::<i32>()?;
                assert_eq!(found, x.cpu.to_vec::<i32>().unwrap());
            }
            // Writes to a destination that overlaps an operand, under a mask, or plainly.
            13 => {
                let narrow = |x: &Tensor, start| x.narrow(0, start, LEN - 1).unwrap();
                let Pair { device, cpu, .. } = &self.live[target];
                let (mut out, mut expected) = (narrow(device, 0), narrow(cpu, 0));
                binary(op, narrow(&here, 1), narrow(&y.device, 0)).out(&mut out).run()?;
                let twin = binary(op, narrow(&x.cpu, 1), narrow(&y.cpu, 0));
                twin.out(&mut expected).run().unwrap();
            }
            14 => {
                let target = &mut self.live[target];
                let twin = Tensor::from_slice(&mask(), [LEN], &Device::cpu()).unwrap();
                let masked = binary(op, &here, &y.device).out(&mut target.device);
                masked.mask(&self.masks[ordinal]).run()?;
                binary(op, &x.cpu, &y.cpu).out(&mut target.cpu).mask(&twin).run().unwrap();
            }
            _ => {
                let target = &mut self.live[target];
                binary(op, &here, &y.device).out(&mut target.device).run()?;
                binary(op, &x.cpu, &y.cpu).out(&mut target.cpu).run().unwrap();
            }
        }
        Ok(())
    }

    fn put_pair(&mut self, ordinal: usize, device: Tensor, cpu: Result<Tensor>) {
        self.put(Pair { ordinal, device, cpu: cpu.unwrap() });
    }

    /// Adds a tensor, or replaces one on the same device if there are too many.
    fn put(&mut self, pair: Pair) {
        if self.live.len() < self.most {
            self.live.push(pair);
        } else {
            let at = self.target(pair.ordinal);
            self.live[at] = pair;
        }
    }

    /// Compares every tensor with its counterpart, starting at a random one. No driver call may fail meanwhile.
    pub fn compare(&mut self) {
        let first = self.random.below(self.live.len());
        for at in (0..self.live.len()).map(|at| (first + at) % self.live.len()) {
            self.live[at].compare(at);
        }
        self.focus = None;
        self.note("all compared".into());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.log.join("\n"));
        }
    }
}

pub fn elements(random: &mut Random) -> Vec<i32> {
    (0..LEN).map(|_| random.next() as i32).collect()
}

fn mask() -> [bool; LEN] {
    std::array::from_fn(|at| at % 3 == 0)
}
