//! Blocks of GGUF files against what the reference computed (`goldens.py`), and what is refused.

mod common;

use std::fs;

use bitlane::{DType, Device, ErrorKind, Tensor, bf16, f16};
use bitlane_quant::gguf::{Kind, dequantize, quantize};
use common::{devices, golden_path};

fn golden(kind: Kind, ending: &str) -> Vec<u8> {
    fs::read(golden_path(&format!("{kind}.{ending}"))).unwrap()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[track_caller]
fn assert_same(given: &[f32], expected: &[f32], context: &str) {
    assert_eq!(given.len(), expected.len(), "{context}");
    for (index, (given, expected)) in given.iter().zip(expected).enumerate() {
        let same = given.to_bits() == expected.to_bits() || (given.is_nan() && expected.is_nan());
        assert!(same, "{context}: value {index} is {given:e}, not {expected:e}");
    }
}

#[test]
fn values_are_those_of_the_reference() {
    for device in devices() {
        for &kind in Kind::ALL {
            let (blocks, expected) = (golden(kind, "blocks"), floats(&golden(kind, "values")));
            let context = format!("{kind} on {device}");
            let len = blocks.len();
            let blocks = Tensor::from_vec(blocks, len, &device).unwrap();
            let values = dequantize(kind, &blocks, DType::F32).unwrap();
            assert_same(&values.to_vec().unwrap(), &expected, &context);
            // Other dtypes are rounded once.
            let halves = dequantize(kind, &blocks, DType::F16).unwrap().to_vec::<f16>().unwrap();
            let halves: Vec<f32> = halves.into_iter().map(f16::to_f32).collect();
            let rounded: Vec<f32> = expected.iter().map(|&x| f16::from_f32(x).to_f32()).collect();
            assert_same(&halves, &rounded, &context);
            let halves = dequantize(kind, &blocks, DType::BF16).unwrap().to_vec::<bf16>().unwrap();
            let halves: Vec<f32> = halves.into_iter().map(bf16::to_f32).collect();
            let rounded: Vec<f32> = expected.iter().map(|&x| bf16::from_f32(x).to_f32()).collect();
            assert_same(&halves, &rounded, &context);
        }
    }
}

#[test]
fn blocks_are_those_of_the_reference() {
    for device in devices() {
        for kind in Kind::ALL.iter().copied().filter(|kind| kind.can_quantize()) {
            let values = floats(&golden(kind, "inputs"));
            let len = values.len();
            let values = Tensor::from_vec(values, len, &device).unwrap();
            let blocks = quantize(kind, &values).unwrap().to_vec::<u8>().unwrap();
            let expected = golden(kind, "outputs");
            assert_eq!(blocks.len(), expected.len());
            let size = kind.block_bytes();
            for (index, (given, expected)) in
                blocks.chunks(size).zip(expected.chunks(size)).enumerate()
            {
                assert_eq!(given, expected, "block {index} of {kind} on {device}");
            }
        }
    }
}

/// Blocks in a part of a larger tensor, and values in another order.
#[test]
fn views_are_read_where_they_are() {
    for device in devices() {
        let blocks = golden(Kind::Q4_K, "blocks");
        let len = blocks.len();
        let blocks = Tensor::from_vec(blocks, len, &device).unwrap();
        let last = blocks.narrow(0, len - 144, 144).unwrap();
        let all = dequantize(Kind::Q4_K, &blocks, DType::F32).unwrap();
        let own = dequantize(Kind::Q4_K, &last, DType::F32).unwrap();
        assert!(own.bits_equal(&all.narrow(0, all.len() - 256, 256).unwrap()).unwrap());
        let nothing = blocks.narrow(0, 0, 0).unwrap();
        assert!(dequantize(Kind::Q4_K, &nothing, DType::F16).unwrap().is_empty());
        let x = Tensor::arange(128, DType::F32, &device).unwrap().reshape([32, 4]).unwrap();
        let turned = x.transpose(0, 1).unwrap();
        let blocks = quantize(Kind::Q8_0, &turned).unwrap();
        let copied = quantize(Kind::Q8_0, &turned.copy().unwrap()).unwrap();
        assert!(blocks.bits_equal(&copied).unwrap());
    }
}

#[test]
fn what_does_not_fit_says_why() {
    let device = Device::cpu();
    let bytes = |len: usize| Tensor::zeros(len, DType::U8, &device).unwrap();
    let refused = |result: bitlane::Result<Tensor>, words: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(dequantize(Kind::Q4_0, &bytes(19), DType::F32), "18 bytes to a block");
    refused(dequantize(Kind::Q4_0, &bytes(18), DType::F64), "f16, bf16 or f32, not f64");
    let words = Tensor::zeros(18, DType::I8, &device).unwrap();
    refused(dequantize(Kind::Q4_0, &words, DType::F32), "not i8");
    refused(quantize(Kind::Q4_0, &bytes(32)), "takes floats");
    let floats = |len: usize| Tensor::zeros(len, DType::F32, &device).unwrap();
    refused(quantize(Kind::Q4_0, &floats(33)), "32 to a block");
    refused(quantize(Kind::Q6_K, &floats(256)), "can only be read");
    assert!("Q4_X".parse::<Kind>().is_err());
}
