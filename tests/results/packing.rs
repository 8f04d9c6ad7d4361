//! Packing against a definition bit by bit: for every width, word, order, axis and layout, and back again.

use crate::devices::devices;
use crate::model::random::Random;
use bitlane::{DType, Device, ErrorKind, Packing, Slice, Tensor};

const WORDS: [DType; 8] =
    [DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16, DType::I32, DType::I64];

/// A packing, and the bit of each of its values from the lowest bit of the first word up.
struct Layout {
    packing: Packing,
    bits: usize,
    word: DType,
    /// The field of each value of a word; none if values cross words.
    fields: Option<Vec<usize>>,
}

impl Layout {
    fn random(random: &mut Random, bits: usize, word: DType) -> Layout {
        let count = 8 * word.size() / bits;
        let packing = Packing::new(bits, word);
        if !(8 * word.size()).is_multiple_of(bits) {
            return Layout { packing, bits, word, fields: None };
        }
        let mut order: Vec<usize> = (0..count).collect();
        let is_ordered = random.below(2) == 0;
        if is_ordered {
            for last in (1..count).rev() {
                order.swap(last, random.below(last + 1));
            }
        }
        let packing = if is_ordered { packing.order(order.clone()) } else { packing };
        let is_high_first = random.below(2) == 0;
        let packing = if is_high_first { packing.big_endian_fields() } else { packing };
        let mut fields = vec![0; count];
        for (field, &value) in order.iter().enumerate() {
            fields[value] = if is_high_first { count - 1 - field } else { field };
        }
        Layout { packing, bits, word, fields: Some(fields) }
    }

    /// The lowest bit of a value.
    fn bit(&self, value: usize) -> usize {
        match &self.fields {
            None => value * self.bits,
            Some(fields) => {
                let word = value / fields.len();
                word * 8 * self.word.size() + fields[value % fields.len()] * self.bits
            }
        }
    }

    /// The words of a row of values, as bits.
    fn words(&self, values: &[u64]) -> Vec<u64> {
        let width = 8 * self.word.size();
        let mut words = vec![0; (values.len() * self.bits).div_ceil(width)];
        for (index, value) in values.iter().enumerate() {
            for bit in 0..self.bits {
                let place = self.bit(index) + bit;
                words[place / width] |= (value >> bit & 1) << (place % width);
            }
        }
        words
    }
}

/// The elements of an integer tensor as bits, in row-major order.
fn bits(tensor: &Tensor) -> Vec<u64> {
    let size = tensor.dtype().size();
    let wide = |bytes: &[u8]| match size {
        1 => bytes[0].into(),
        2 => u16::from_ne_bytes(bytes.try_into().unwrap()).into(),
        4 => u32::from_ne_bytes(bytes.try_into().unwrap()).into(),
        _ => u64::from_ne_bytes(bytes.try_into().unwrap()),
    };
    tensor.to_bytes().unwrap().chunks(size).map(wide).collect()
}

/// Random bytes of some shape as a view: transposed, reversed or with steps.
fn bytes(random: &mut Random, shape: [usize; 3], device: &Device) -> Tensor {
    let [outer, len, inner] = shape;
    let bytes: Vec<u8> = (0..outer * len * inner * 2).map(|_| random.below(256) as u8).collect();
    let x = Tensor::from_slice(&bytes, [inner, outer, len * 2], device).unwrap();
    let x = x.permute([1, 2, 0]).unwrap();
    let slice =
        if random.below(2) == 0 { Slice::from(..).step(-2) } else { Slice::from(..len as isize) };
    x.slice(1, slice).unwrap()
}

#[test]
fn words_are_those_of_the_definition_and_values_come_back() {
    for device in devices() {
        let mut random = Random::new(7);
        let is_cpu = device.to_string() == "cpu";
        for width in 1..=8 {
            for word in WORDS {
                // On CUDA each shape of a group is a kernel: every word once, and one of them with every width.
                let is_chosen = word == DType::U32 || WORDS[width - 1] == word;
                if !is_cpu && !is_chosen && (width, word) != (3, DType::I64) {
                    continue;
                }
                for len in [0, 1, 5, 16, 64, 67, 101] {
                    let layout = Layout::random(&mut random, width, word);
                    let shape = [1 + random.below(3), len, 1 + random.below(3)];
                    let values = bytes(&mut random, shape, &device);
                    let words = values.pack(&layout.packing, 1).unwrap();
                    let context = || format!("{:?}, {shape:?} on {device}", layout.packing);
                    assert_eq!(words.dtype(), word);
                    for row in 0..shape[0] {
                        for column in 0..shape[2] {
                            let values = bits(&values.at((row, .., column)).unwrap());
                            let words = bits(&words.at((row, .., column)).unwrap());
                            assert_eq!(words, layout.words(&values), "{}", context());
                        }
                    }
                    // Bytes side by side are packed as numbers of several bytes.
                    let dense = values.at((.., .., 0)).unwrap().copy().unwrap();
                    let dtype = [DType::U8, DType::I8][random.below(2)];
                    let dense = dense.bitcast(dtype).unwrap();
                    let expected = bits(&words.at((.., .., 0)).unwrap());
                    let made = bits(&dense.pack(&layout.packing, 1).unwrap());
                    assert_eq!(made, expected, "side by side: {}", context());
                    if len == 64 {
                        let turned = dense.transpose(0, 1).unwrap();
                        let made = turned.pack(&layout.packing, 0).unwrap();
                        let made = bits(&made.transpose(0, 1).unwrap());
                        assert_eq!(made, expected, "side by side, turned: {}", context());
                    }
                    let masked = (&values & ((1 << width) - 1)).unwrap();
                    let back = words.unpack(&layout.packing, -2).unwrap();
                    let back = back.narrow(1, 0, len).unwrap();
                    assert_eq!(bits(&back), bits(&masked), "{}", context());
                    let signed = words.unpack(&layout.packing.clone().signed(), 1).unwrap();
                    let unused = 8 - width as i64;
                    let extended =
                        ((masked.cast(DType::I8).unwrap() << unused).unwrap() >> unused).unwrap();
                    let signed = signed.narrow(1, 0, len).unwrap();
                    assert_eq!(signed.dtype(), DType::I8);
                    assert_eq!(bits(&signed), bits(&extended), "{}", context());
                    let word = WORDS[random.below(8)];
                    let other = Layout::random(&mut random, width, word);
                    let moved = words.repack(&layout.packing, &other.packing, 1).unwrap();
                    let expected = words.unpack(&layout.packing, 1).unwrap();
                    let expected = expected.pack(&other.packing, 1).unwrap();
                    assert_eq!(bits(&moved), bits(&expected), "{} {:?}", context(), other.packing);
                }
            }
        }
    }
}

#[test]
fn the_bits_of_numpy_and_arrow() {
    for device in devices() {
        // numpy.packbits([1, 0, 1, 1, 0, 0, 0, 1, 1]) is [177, 128], and with bitorder="little" [141, 1].
        let truth = [1u8, 0, 1, 1, 0, 0, 0, 1, 1].map(|bit| bit == 1);
        let x = Tensor::from_slice(&truth, [9], &device).unwrap();
        assert_eq!(bits(&x.pack(&Packing::numpy_bits(), 0).unwrap()), [177, 128]);
        assert_eq!(bits(&x.pack(&Packing::arrow_bits(), 0).unwrap()), [141, 1]);
    }
}

/// Bytes that begin anywhere, and bools, of which as many as 64 make a word.
#[test]
fn bytes_side_by_side_are_packed_from_any_place() {
    for device in devices() {
        let mut random = Random::new(5);
        let bytes: Vec<u8> = (0..3 * 200).map(|_| random.below(256) as u8).collect();
        let all = Tensor::from_slice(&bytes, [3, 200], &device).unwrap();
        for (width, word) in [(4, DType::U32), (2, DType::I64), (1, DType::U8), (4, DType::U8)] {
            let layout = Layout::random(&mut random, width, word);
            for (start, len) in [(0, 128), (8, 192), (3, 128), (1, 67)] {
                let values = all.narrow(1, start, len).unwrap();
                let words = values.pack(&layout.packing, 1).unwrap();
                for row in 0..3 {
                    let values = bits(&values.at(row).unwrap());
                    let expected = layout.words(&values);
                    let context = format!("{:?} from {start}, {device}", layout.packing);
                    assert_eq!(bits(&words.at(row).unwrap()), expected, "{context}");
                }
                // What follows and what comes before is computed with it.
                let made = (!values.expr().pack(&layout.packing, 1)).run().unwrap();
                assert!(made.bits_equal(&(!&words).unwrap()).unwrap());
            }
        }
        let truth: Vec<bool> = (0..256).map(|_| random.below(2) == 1).collect();
        let x = Tensor::from_slice(&truth, [2, 128], &device).unwrap();
        for word in [DType::U64, DType::I32, DType::U8] {
            for packing in [Packing::new(1, word), Packing::new(1, word).big_endian_fields()] {
                let words = x.pack(&packing, 1).unwrap();
                let back = words.unpack(&packing, 1).unwrap();
                assert_eq!(bits(&back), bits(&x), "{packing} on {device}");
                assert_eq!(words.shape(), [2, 128 / (8 * word.size())]);
            }
        }
    }
}

/// With eight dimensions there is no room for those of the groups.
#[test]
fn tensors_of_the_highest_rank_are_packed() {
    for device in devices() {
        let x = Tensor::arange(96, DType::U8, &device).unwrap();
        let x = x.reshape([2, 1, 1, 3, 1, 8, 1, 2]).unwrap();
        let packing = Packing::new(4, DType::U16);
        let words = x.pack(&packing, 5).unwrap();
        assert_eq!(words.shape(), [2, 1, 1, 3, 1, 2, 1, 2]);
        let flat = x.reshape([6, 8, 2]).unwrap().pack(&packing, 1).unwrap();
        assert_eq!(bits(&words), bits(&flat));
        let back = words.unpack(&packing, -3).unwrap();
        assert!(back.bits_equal(&(&x & 15).unwrap()).unwrap());
    }
}

#[test]
fn packings_that_make_no_sense_say_why() {
    for device in devices() {
        let x = Tensor::zeros([4], DType::U8, &device).unwrap();
        let refused = |packing: Packing, words: &str| {
            let error = x.pack(&packing, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(words), "{error}");
        };
        refused(Packing::new(0, DType::U8), "1 to 8 bits");
        refused(Packing::new(9, DType::U32), "1 to 8 bits");
        refused(Packing::new(4, DType::F32), "integers, not f32");
        refused(Packing::new(4, DType::U8).order([0, 0]), "not a permutation of the 2 fields");
        refused(Packing::new(4, DType::U8).order([0, 1, 2]), "not a permutation of the 2 fields");
        refused(Packing::new(3, DType::U32).big_endian_fields(), "cross words");
        refused(Packing::new(3, DType::U32).order([0]), "cross words");
        let packing = Packing::new(4, DType::U32);
        assert_eq!(x.unpack(&packing, 0).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(x.pack(&packing, 1).unwrap_err().kind(), ErrorKind::OutOfBounds);
        let floats = Tensor::zeros([4], DType::F32, &device).unwrap();
        assert_eq!(floats.pack(&packing, 0).unwrap_err().kind(), ErrorKind::UnsupportedDType);
        let words = x.pack(&packing, 0).unwrap();
        let error = words.repack(&packing, &Packing::new(2, DType::U32), 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

/// Packing as a step of an expression gives the bits of the calls one by one, whatever stands around it.
#[test]
fn steps_of_expressions_are_the_calls_one_by_one() {
    for device in devices() {
        let mut random = Random::new(11);
        for (width, word) in [(4, DType::U32), (2, DType::I16), (1, DType::U8), (3, DType::U32)] {
            for len in [1, 5, 32, 64, 67] {
                let layout = Layout::random(&mut random, width, word);
                let packing = layout.packing.clone().signed();
                let context = format!("{packing:?}, {len} on {device}");
                let values = bytes(&mut random, [2, len, 3], &device);
                let turned = (&values ^ 5).unwrap();
                let words = turned.pack(&packing, 1).unwrap();
                let fused = (values.expr() ^ 5).pack(&packing, 1).run().unwrap();
                assert!(fused.bits_equal(&words).unwrap(), "{context}");
                let inverted = (!values.expr().pack(&packing, 1)).run().unwrap();
                let expected = (!&values.pack(&packing, 1).unwrap()).unwrap();
                assert!(inverted.bits_equal(&expected).unwrap(), "{context}");
                // Whatever an unpacked value is combined with is split as it is.
                let plain = words.unpack(&packing, 1).unwrap();
                let count = plain.shape()[1];
                let scales = Tensor::arange(count, DType::I8, &device).unwrap();
                let scales = scales.unsqueeze(1).unwrap();
                let unpacked = words.expr().unpack(&packing, 1);
                assert_eq!(unpacked.shape().unwrap(), plain.shape(), "{context}");
                let scaled = (&unpacked * &scales).run().unwrap();
                let expected = (&plain * &scales).unwrap();
                assert!(scaled.bits_equal(&expected).unwrap(), "{context}");
                // Reductions, views, and a destination with strides and a mask.
                let sum = unpacked.sum([0, 1]).run().unwrap();
                assert!(sum.bits_equal(&plain.sum([0, 1]).unwrap()).unwrap(), "{context}");
                let largest = unpacked.max_keepdims(1).run().unwrap();
                let expected = plain.max_keepdims(1).unwrap();
                assert!(largest.bits_equal(&expected).unwrap(), "{context}");
                let first = unpacked.argmax(1).run().unwrap();
                assert!(first.bits_equal(&plain.argmax(1).unwrap()).unwrap(), "{context}");
                let turned = (unpacked.narrow(1, 0, 1).transpose(0, 2) + 1).run().unwrap();
                let expected = plain.narrow(1, 0, 1).unwrap().transpose(0, 2).unwrap();
                assert!(turned.bits_equal(&(expected + 1).unwrap()).unwrap(), "{context}");
                let mut out = Tensor::zeros([3, count, 2], DType::I8, &device).unwrap();
                let whole = out.clone();
                out = out.transpose(0, 2).unwrap();
                let mask = scales.greater_than(1).unwrap();
                unpacked.out(&mut out).mask(&mask).run().unwrap();
                let expected = bitlane::select(&mask, &plain, 0).unwrap();
                let written = whole.transpose(0, 2).unwrap();
                assert!(written.bits_equal(&expected).unwrap(), "{context}");
            }
        }
    }
}

/// A shape that no strides express is one of the result alone, and what does not fit is refused as by the calls.
#[test]
fn every_shape_of_an_expression_can_be_had() {
    for device in devices() {
        let x = Tensor::arange(6, DType::I32, &device).unwrap().reshape([2, 3]).unwrap();
        let column = Tensor::arange(2, DType::I32, &device).unwrap().reshape([2, 1]).unwrap();
        let sum = (&x + &column).unwrap();
        for shape in [vec![6], vec![3, 2], vec![1, 6, 1], vec![2, 1, 3]] {
            let made = (x.expr() + &column).reshape(&shape[..]) + 1;
            let expected = (sum.reshape(&shape[..]).unwrap() + 1).unwrap();
            assert!(made.run().unwrap().bits_equal(&expected).unwrap(), "{shape:?} on {device}");
        }
        // As many dimensions as before, but others.
        let tall = (x.expr() + &column).reshape([6, 1]);
        for axis in [0, 1] {
            let expected = sum.reshape([6, 1]).unwrap().sum(axis).unwrap();
            assert!(tall.sum(axis).run().unwrap().bits_equal(&expected).unwrap(), "{axis}");
        }
        // No words have no values, of which there is a sum.
        let none = Tensor::zeros([3, 0], DType::U8, &device).unwrap();
        let values = none.expr().unpack(&Packing::new(4, DType::U8), 1);
        assert_eq!(values.shape().unwrap(), [3, 0]);
        assert_eq!((&values + 1).sum(1).run().unwrap().to_vec::<u64>().unwrap(), [0, 0, 0]);
        let flat = (x.expr() + &column).reshape(6);
        let seven = Tensor::zeros(7, DType::I32, &device).unwrap();
        assert_eq!((&flat + &seven).run().unwrap_err().kind(), ErrorKind::Broadcast);
        let mut out = seven.clone();
        assert_eq!(flat.clone().out(&mut out).run().unwrap_err().kind(), ErrorKind::InplaceShape);
        assert_eq!(flat.reshape(7).run().unwrap_err().kind(), ErrorKind::InvalidShape);
        let packing = Packing::new(4, DType::U32);
        let refused = |e: bitlane::Expr<'_>| e.run().unwrap_err().kind();
        assert_eq!(refused(flat.unpack(&packing, 0)), ErrorKind::InvalidArgument);
        assert_eq!(refused(flat.pack(&packing, 1)), ErrorKind::OutOfBounds);
    }
}
