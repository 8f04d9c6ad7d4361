//! Sizes around those of vectors, blocks and the shares of threads, at unaligned offsets, compared with the definition
//! for one element.

use crate::devices::devices;
use crate::model::element::{Bits, download, same, upload};
use crate::model::ops::{apply, freedom, is_defined};
use crate::model::random::Random;
use crate::model::view::{View, broadcast};
use bitlane::{BinaryOp, DType, Device, Shift, Tensor, binary};

const EDGES: [usize; 24] = [
    0, 1, 2, 3, 7, 15, 16, 17, 31, 63, 65, 127, 128, 129, 255, 256, 257, 511, 1023, 1024, 1025,
    4095, 4096, 4097,
];

/// An operation of every kind that has its own loops: one per width, and per kind of number.
const OPS: [BinaryOp; 6] = [
    BinaryOp::RightShift(Shift::Arithmetic),
    BinaryOp::Copysign,
    BinaryOp::Subtract,
    BinaryOp::LessThan,
    BinaryOp::Maximum,
    BinaryOp::LogicalXor,
];

/// Two operands in larger buffers, each at its own offset.
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

    /// Compares a result with the definition; `right` gives the index of the right element for each left one.
    fn expect(&self, op: BinaryOp, result: &Tensor, right: impl Fn(usize) -> usize, what: &str) {
        let given = download(result);
        assert_eq!(given.len(), self.elements[0].len(), "{what}");
        for (index, given) in given.into_iter().enumerate() {
            let (x, y) = (self.elements[0][index], self.elements[1][right(index)]);
            let expected = apply(op, self.dtype, x, y);
            assert!(
                same(result.dtype(), expected, given, freedom(op)),
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
                // All operations on small sizes, and a third of them in turn on the others.
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
            let first = y.narrow(0, 0, 1).unwrap();
            pair.expect(op, &binary(op, x, &first).run().unwrap(), |_| 0, "large, one element");
            let three = download(&Tensor::full((), 3, dtype, &device).unwrap());
            let elements = [pair.elements[0].clone(), three];
            let numbered = Pair { dtype, elements, tensors: pair.tensors.clone() };
            numbered.expect(op, &binary(op, x, 3).run().unwrap(), |_| 0, "large, a number");
            // In place with a reversed operand: threads write between the reads of other threads.
            let mut place = x.narrow(0, 0, len).unwrap();
            let backwards = y.flip(0).unwrap();
            binary(op, place.clone(), &backwards).out(&mut place).run().unwrap();
            pair.expect(op, &place, |index| len - 1 - index, "large, in place");
        }
        // A row and a column: the shares of threads end in the middle of rows.
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

/// Copies a window of a storage to an overlapping one: the elements read must be the old ones, for distances between
/// the two that are below and above the length of a block or a thread's share.
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

/// An operation and a dtype for every element width, with results of the same and of narrower width.
const BROADCAST: [(BinaryOp, DType); 4] = [
    (BinaryOp::RightShift(Shift::Arithmetic), DType::I8),
    (BinaryOp::LessThan, DType::I16),
    (BinaryOp::Subtract, DType::F32),
    (BinaryOp::LeftShift(Shift::Arithmetic), DType::U64),
];

/// Matrices with a row, a column or one element, and loop nests of higher rank, with sizes around those of thread
/// blocks; each operand on either side.
#[test]
fn broadcasts_around_whole_blocks() {
    for device in devices() {
        for (op, dtype) in BROADCAST {
            let vector = 16 / dtype.size();
            let mut random = Random::new(dtype.bits().into());
            for (large, small) in [
                // One element: full blocks of vectors, and a few more elements.
                (vec![2048 * vector + vector - 1], vec![1]),
                // Rows: idle threads, and rows that do and do not fill blocks.
                (vec![300, 3 * vector], vec![3 * vector]),
                (vec![1030, vector], vec![vector]),
                (vec![5, 300 * vector], vec![300 * vector]),
                // Columns: a partial block, a whole one, and both.
                (vec![2, 800 * vector], vec![2, 1]),
                (vec![2, 1024 * vector], vec![2, 1]),
                (vec![2, 1900 * vector], vec![2, 1]),
                // Short rows with a column; both operands broadcast; rows that are not whole vectors.
                (vec![70, 9 * vector], vec![70, 1]),
                (vec![5, 1, 32 * vector], vec![7, 32 * vector]),
                (vec![3, 1, 5, 1, 2 * vector], vec![4, 1, 3, 2 * vector]),
                (vec![5, 1, 33], vec![7, 33]),
            ] {
                let shape = broadcast(&large, &small).unwrap();
                for sides in [[&large, &small], [&small, &large]] {
                    let elements =
                        sides.map(|side| random.elements(dtype, side.iter().product::<usize>()));
                    let [x, y] = [0, 1].map(|k| upload(dtype, &elements[k], sides[k], &device));
                    let places = sides.map(|side| View::row_major(side).broadcast_places(&shape));
                    let result = binary(op, x, y).run().unwrap();
                    assert_eq!(result.shape(), shape);
                    for (index, given) in download(&result).into_iter().enumerate() {
                        let [x, y] = [0, 1].map(|k| elements[k][places[k][index]]);
                        let expected = apply(op, dtype, x, y);
                        assert!(
                            same(result.dtype(), expected, given, freedom(op)),
                            "{op} of {dtype} {x:#x} and {y:#x}, {sides:?}, element {index} on {device}: {given:#x}, not {expected:#x}"
                        );
                    }
                }
            }
        }
    }
}

/// Operations with numbers on whole blocks of vectors, with and without elements before and after them, in destinations
/// that start at any offset within a vector; operands at the same or another offset.
#[test]
fn destinations_that_begin_inside_a_vector() {
    for device in devices() {
        for dtype in [DType::U8, DType::I32] {
            let vector = 16 / dtype.size();
            for (start, body, tail) in
                [(0, 2048, 0), (1, 1024, 0), (3, 512, 0), (1, 512, 1), (2, 30, 3), (0, 512, 2)]
            {
                let len = (vector - start) % vector + body * vector + tail;
                let mut random = Random::new((start * 100 + tail) as u64);
                let elements = random.elements(dtype, start + len + 1);
                let window = |tensor: &Tensor, start| tensor.narrow(0, start, len).unwrap();
                for apart in [0, 1] {
                    let x = upload(dtype, &elements, &[elements.len()], &device);
                    let fresh = || Tensor::zeros([elements.len()], dtype, &device).unwrap();
                    let (outs, read) = ([fresh(), fresh(), fresh()], window(&x, start + apart));
                    let [mut both, mut right, mut left] =
                        outs.each_ref().map(|out| window(out, start));
                    binary(BinaryOp::Multiply, &read, &read).out(&mut both).run().unwrap();
                    binary(BinaryOp::Subtract, &read, 3).out(&mut right).run().unwrap();
                    binary(BinaryOp::Subtract, 3, &read).out(&mut left).run().unwrap();
                    for (out, function) in outs.iter().zip([0, 1, 2]) {
                        for (place, given) in download(out).into_iter().enumerate() {
                            let expected = if (start..start + len).contains(&place) {
                                let x = elements[place + apart];
                                match function {
                                    0 => apply(BinaryOp::Multiply, dtype, x, x),
                                    1 => apply(BinaryOp::Subtract, dtype, x, 3),
                                    _ => apply(BinaryOp::Subtract, dtype, 3, x),
                                }
                            } else {
                                0
                            };
                            assert_eq!(
                                given, expected,
                                "{dtype}, {len} from {start} on, place {place} on {device}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Several short rows make a block, whether or not there are gaps between them.
#[test]
fn short_rows_with_gaps_between_them() {
    let (rows, columns, width) = (70, 30, 41);
    for device in devices() {
        let op = BinaryOp::Subtract;
        let wide = Random::new(3).elements(DType::I16, rows * width);
        let dense = Random::new(4).elements(DType::I16, rows * columns);
        let x = upload(DType::I16, &wide, &[rows, width], &device).narrow(1, 5, columns).unwrap();
        let y = upload(DType::I16, &dense, &[rows, columns], &device);
        for (index, given) in download(&binary(op, &x, &y).run().unwrap()).into_iter().enumerate() {
            let left = wide[index / columns * width + 5 + index % columns];
            assert_eq!(
                given,
                apply(op, DType::I16, left, dense[index]),
                "element {index} on {device}"
            );
        }
    }
}
