//! Sizes around the edges of vectors, blocks and shares of threads, at offsets that no vector is
//! aligned to, against the definition of one element.

mod devices;
mod model;

use bitlane::{BinaryOp, DType, Device, Shift, Tensor, binary};
use devices::devices;
use model::element::{Bits, download, same, upload};
use model::ops::{apply, is_defined, nan_freedom};
use model::random::Random;

const EDGES: [usize; 24] = [
    0, 1, 2, 3, 7, 15, 16, 17, 31, 63, 65, 127, 128, 129, 255, 256, 257, 511, 1023, 1024, 1025,
    4095, 4096, 4097,
];

/// An operation of every sort that has loops of its own: one per width, and per kind of number.
const OPS: [BinaryOp; 6] = [
    BinaryOp::RightShift(Shift::Arithmetic),
    BinaryOp::Copysign,
    BinaryOp::Subtract,
    BinaryOp::LessThan,
    BinaryOp::Maximum,
    BinaryOp::LogicalXor,
];

/// Two operands in larger buffers, each from its own offset on.
struct Pair {
    dtype: DType,
    elements: [Vec<Bits>; 2],
    tensors: [Tensor; 2],
}

impl Pair {
    fn new(dtype: DType, len: usize, offsets: [usize; 2], seed: u64, device: &Device) -> Pair {
        let mut random = Random::new(seed);
        let buffers = offsets.map(|offset| random.elements(dtype, offset + len + 1));
        let tensors = [0, 1].map(|side| {
            let buffer = &buffers[side];
            let tensor = upload(dtype, buffer, &[buffer.len()], device);
            tensor.narrow(0, offsets[side], len).unwrap()
        });
        let elements = [0, 1].map(|side| buffers[side][offsets[side]..][..len].to_vec());
        Pair { dtype, elements, tensors }
    }

    fn check(&self, op: BinaryOp, what: &str) {
        let [x, y] = &self.tensors;
        self.expect(op, &binary(op, x, y).run().unwrap(), |index| index, what);
    }

    /// Compares a result with that of the pairs of a left element and the right one beside it.
    fn expect(&self, op: BinaryOp, result: &Tensor, right: impl Fn(usize) -> usize, what: &str) {
        let given = download(result);
        assert_eq!(given.len(), self.elements[0].len(), "{what}");
        for (index, given) in given.into_iter().enumerate() {
            let (x, y) = (self.elements[0][index], self.elements[1][right(index)]);
            let expected = apply(op, self.dtype, x, y);
            assert!(
                same(result.dtype(), expected, given, nan_freedom(op)),
                "{op} of {} {x:#x} and {y:#x}, {what}, element {index} of {} on {}: {given:#x}, not {expected:#x}",
                self.dtype,
                result.len(),
                result.device()
            );
        }
    }
}

#[test]
fn sizes_at_the_edges_at_any_offset() {
    for device in devices() {
        for &dtype in DType::ALL {
            for (round, &len) in EDGES.iter().enumerate() {
                // All operations on the small sizes, and by turns on the others.
                let ops = OPS.into_iter().filter(|&op| is_defined(op, dtype)).enumerate();
                for (_, op) in ops.filter(|(turn, _)| len < 260 || turn % 3 == round % 3) {
                    for offsets in [[0, 0], [1, 0], [0, 3], [5, 5]] {
                        let seed = (len * 10 + offsets[0]) as u64;
                        let pair = Pair::new(dtype, len, offsets, seed, &device);
                        pair.check(op, &format!("offsets {offsets:?}"));
                    }
                }
            }
        }
    }
}

#[test]
fn sizes_that_are_shared_among_threads() {
    for device in devices() {
        let sizes = [
            (DType::I8, 600_001),
            (DType::U16, 200_003),
            (DType::F32, 131_073),
            (DType::C128, 33_333),
        ];
        for (dtype, len) in sizes {
            let op = if dtype.is_int() { OPS[0] } else { BinaryOp::Subtract };
            let pair = Pair::new(dtype, len, [1, 0], 7, &device);
            pair.check(op, "large");
            let [x, y] = &pair.tensors;
            // In place, backwards and forwards: the threads write between each other's reads.
            let mut place = x.narrow(0, 0, len).unwrap();
            let backwards = y.flip(0).unwrap();
            binary(op, place.clone(), &backwards).out(&mut place).run().unwrap();
            pair.expect(op, &place, |index| len - 1 - index, "large, in place");
        }
        // A row and a column: shares end in the middle of rows.
        let (rows, columns) = (601, 1003);
        let x = Random::new(1).elements(DType::I16, rows);
        let y = Random::new(2).elements(DType::I16, columns);
        let result = binary(
            OPS[0],
            upload(DType::I16, &x, &[rows, 1], &device),
            upload(DType::I16, &y, &[columns], &device),
        );
        for (index, given) in download(&result.run().unwrap()).into_iter().enumerate() {
            let (x, y) = (x[index / columns], y[index % columns]);
            assert_eq!(given, apply(OPS[0], DType::I16, x, y), "element {index} on {device}");
        }
    }
}

/// Moves a window of a storage onto another one: the elements read must be those from before, for
/// every distance between the two, below and above the length of a block or a thread's share.
#[test]
fn an_overlapping_destination_is_as_if_computed_apart() {
    for device in devices() {
        for (len, distances) in [(2000, &[1, 2, 255, 256, 257, 1999][..]), (300_000, &[1, 40_000])]
        {
            for &distance in distances {
                for (from, to) in [(0, distance), (distance, 0)] {
                    for dtype in [DType::I32, DType::F64] {
                        let x = Tensor::arange(len + distance, dtype, &device).unwrap();
                        let window = |start| x.narrow(0, start, len).unwrap();
                        let mut out = window(to);
                        binary(BinaryOp::Add, window(from), 7).out(&mut out).run().unwrap();
                        let given = x.cast(DType::I64).unwrap().to_vec::<i64>().unwrap();
                        for (place, given) in given.into_iter().enumerate() {
                            let moved = (to..to + len).contains(&place);
                            let expected = if moved { place - to + from + 7 } else { place };
                            assert_eq!(
                                given, expected as i64,
                                "{len} by {distance}, place {place}"
                            );
                        }
                    }
                }
            }
        }
    }
}
