//! A random call of a binary operation: operands, a rulebook, a destination and a mask.

use bitlane::promote::Kind;
use bitlane::{BinaryOp, Complex, DType, Rules, Scalar};

use crate::model::arbitrary::{Arrangement, shrunk};
use crate::model::element::Bits;
use crate::model::random::Random;
use crate::model::view::{View, broadcast};

/// A storage that views refer to.
#[derive(Clone)]
pub struct Storage {
    pub dtype: DType,
    pub elements: Vec<Bits>,
}

/// A view of one of a case's storages.
#[derive(Clone, Debug)]
pub struct Seen {
    pub storage: usize,
    pub view: View,
}

#[derive(Clone, Debug)]
pub enum Operand {
    Tensor(Seen),
    Number(Scalar),
}

/// One call.
pub struct Case {
    pub op: BinaryOp,
    pub rules: Rules,
    pub storages: Vec<Storage>,
    pub lhs: Operand,
    pub rhs: Operand,
    /// The shape of the result.
    pub shape: Vec<usize>,
    pub out: Option<Seen>,
    pub mask: Option<Seen>,
}

impl Case {
    /// Draws a call. Most calls are allowed: equal dtypes are more likely than by chance, and every view fits its
    /// storage.
    pub fn random(random: &mut Random) -> Case {
        let op = random.choice(BinaryOp::ALL);
        let rules = random.choice(Rules::ALL);
        let shape = shape(random);
        let mut building = Building { storages: Vec::new(), wanted: Vec::new() };
        let dtype = random.choice(DType::ALL);
        let other = if random.below(3) == 0 { random.choice(DType::ALL) } else { dtype };
        let number = random.below(4) == 1;
        let first = building.operand(random, dtype, &shape);
        let second = if number {
            Operand::Number(scalar(random))
        } else {
            building.operand(random, other, &shape)
        };
        let (lhs, rhs) =
            if number && random.below(2) == 1 { (second, first) } else { (first, second) };
        let shape = match (&lhs, &rhs) {
            (Operand::Tensor(x), Operand::Tensor(y)) => broadcast(&x.view.shape, &y.view.shape)
                .unwrap_or_else(|| panic!("{:?} and {:?}", x.view.shape, y.view.shape)),
            (Operand::Tensor(x), _) | (_, Operand::Tensor(x)) => x.view.shape.clone(),
            _ => shape,
        };
        let out = (random.below(2) == 1).then(|| building.destination(random, dtype, &shape));
        // A mask needs a destination.
        let mask = (out.is_some() && random.below(2) == 1).then(|| building.mask(random, &shape));
        let storages = building.fill(random);
        Case { op, rules, storages, lhs, rhs, shape, out, mask }
    }

    pub fn kind(&self, operand: &Operand) -> Kind {
        match operand {
            Operand::Number(scalar) => Kind::scalar(scalar),
            Operand::Tensor(seen) => {
                let dtype = self.storages[seen.storage].dtype;
                if seen.view.shape.is_empty() { Kind::zero_d(dtype) } else { Kind::tensor(dtype) }
            }
        }
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let storages: Vec<_> = (self.storages.iter())
            .map(|storage| format!("{} × {}", storage.dtype, storage.elements.len()))
            .collect();
        write!(
            f,
            "{} of {:?} and {:?} under the rules of {}, out {:?}, mask {:?}, storages {storages:?}",
            self.op, self.lhs, self.rhs, self.rules, self.out, self.mask
        )
    }
}

/// The storages of a case whose views are still being drawn.
struct Building {
    storages: Vec<DType>,
    /// The number of elements that each storage needs.
    wanted: Vec<usize>,
}

impl Building {
    /// Returns a view of an existing storage of the dtype, if there is one and chance selects it, else of a new
    /// storage.
    fn seen(&mut self, random: &mut Random, dtype: DType, view: View) -> Seen {
        let shared = self.storages.iter().position(|&there| there == dtype);
        let storage = match shared {
            Some(storage) if random.below(3) == 1 => storage,
            _ => {
                self.storages.push(dtype);
                self.wanted.push(0);
                self.storages.len() - 1
            }
        };
        self.wanted[storage] = self.wanted[storage].max(view.extent());
        Seen { storage, view }
    }

    fn operand(&mut self, random: &mut Random, dtype: DType, shape: &[usize]) -> Operand {
        let own = part(random, shape);
        let view = arrangement(random, true).of(&own);
        Operand::Tensor(self.seen(random, dtype, view))
    }

    fn destination(&mut self, random: &mut Random, dtype: DType, shape: &[usize]) -> Seen {
        let dtype = if random.below(2) == 1 { random.choice(DType::ALL) } else { dtype };
        let anyhow = random.below(8) == 1;
        let view = arrangement(random, anyhow).of(shape);
        self.seen(random, dtype, view)
    }

    fn mask(&mut self, random: &mut Random, shape: &[usize]) -> Seen {
        let own = part(random, shape);
        let view = arrangement(random, true).of(&own);
        self.seen(random, DType::Bool, view)
    }

    /// Returns the storages with their elements, and some space behind the last view.
    fn fill(self, random: &mut Random) -> Vec<Storage> {
        let fill = |(dtype, len): (DType, usize)| {
            // Long storages would use up the fuzzer's bytes, so half of them are filled from a seed.
            let elements = match random.below(2) {
                0 => Random::new(random.below(1 << 16) as u64).elements(dtype, len + 2),
                _ => random.elements(dtype, len + 2),
            };
            Storage { dtype, elements }
        };
        self.storages.into_iter().zip(self.wanted).map(fill).collect()
    }
}

/// Draws a shape of any rank, of at most a few hundred elements, or rarely of some thousands.
fn shape(random: &mut Random) -> Vec<usize> {
    if random.below(64) == 63 {
        return vec![2000 + random.below(3000)];
    }
    let mut len = 1;
    (0..random.below(9))
        .map(|_| {
            let size = match random.below(21) {
                0 => 0,
                1..=6 => 1,
                7..=18 => 2 + random.below(3),
                _ => 5 + random.below(36),
            };
            let size = if len * size > 400 { 1 } else { size };
            len *= size.max(1);
            size
        })
        .collect()
}

/// Draws a shape that broadcasts to another shape, and is mostly that shape itself.
fn part(random: &mut Random, shape: &[usize]) -> Vec<usize> {
    match random.below(3) {
        1 => {
            let dropped = random.below(9);
            shrunk(shape, dropped, random.below(256) as u8)
        }
        _ => shape.to_vec(),
    }
}

fn arrangement(random: &mut Random, anyhow: bool) -> Arrangement {
    let offset = random.below(5);
    match random.below(3) {
        0 => Arrangement::Dense { offset },
        1 if anyhow => {
            let strides = (0..8).map(|_| random.below(15) as isize - 7).collect();
            Arrangement::Anyhow { strides, offset }
        }
        _ => Arrangement::Apart {
            order: (0..8).map(|_| random.below(256) as u8).collect(),
            gaps: (0..8).map(|_| 1 + random.below(8) / 6).collect(),
            backwards: (0..8).map(|_| random.below(3) == 1).collect(),
            offset,
        },
    }
}

fn scalar(random: &mut Random) -> Scalar {
    match random.below(8) {
        0 => Scalar::Int(random.below(12) as i64),
        1 => Scalar::Bool(random.below(2) == 1),
        2 => Scalar::Float(random.below(200) as f64 / 16.0 - 6.0),
        3 => Scalar::Float(f64::from_bits(random.next())),
        4 => Scalar::Complex(Complex::new(f64::from_bits(random.next()), 1.5)),
        5 => Scalar::from(random.next()),
        6 => {
            let power = 1i64 << random.below(63);
            Scalar::Int(power + random.below(3) as i64 - 1)
        }
        _ => {
            let power = -1i64 << random.below(64);
            Scalar::Int(power.saturating_add(random.below(3) as i64 - 1))
        }
    }
}
