//! 4-bit floats against what the packages computed (`goldens.py`), and what is refused.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use bitlane::{DType, Device, ErrorKind, Result, Tensor, safetensors};
use bitlane_quant::bitsandbytes::{self, Code};
use bitlane_quant::fp4::{self, Scales};

use common::{devices, golden_path};

type Tensors = BTreeMap<String, Tensor>;

/// The cases whose names begin like this, with their tensors.
fn cases(prefix: &str, device: &Device) -> Vec<(String, Tensors)> {
    let all = safetensors::load(golden_path("floats.safetensors"), device).unwrap();
    let parts: Vec<_> =
        all.iter().map(|(name, tensor)| (name.split_once('/').unwrap(), tensor)).collect();
    let names: BTreeSet<_> = parts.iter().map(|((case, _), _)| *case).collect();
    let of = |name: &str| {
        let own = parts.iter().filter(|((case, _), _)| *case == name);
        own.map(|((_, rest), tensor)| ((*rest).to_owned(), (*tensor).clone())).collect()
    };
    let names = names.into_iter().filter(|name| name.starts_with(prefix));
    names.map(|name| (format!("{name} on {device}"), of(name))).collect()
}

/// Compares bits, except those of NaNs.
#[track_caller]
fn same(given: &Tensor, expected: &Tensor, context: &str) {
    assert_eq!((given.shape(), given.dtype()), (expected.shape(), expected.dtype()), "{context}");
    let nans = |tensor: &Tensor| tensor.isnan().unwrap();
    let both = (nans(given) & nans(expected)).unwrap();
    let quiet = |tensor: &Tensor| bitlane::select(&both, 0.0, tensor).unwrap();
    let is_same = if given.dtype().is_float() {
        quiet(given).bits_equal(&quiet(expected)).unwrap()
    } else {
        given.bits_equal(expected).unwrap()
    };
    assert!(is_same, "{context}: {given}, not {expected}");
}

/// Makes every zero positive: a nested scale can be negative, and FP4's second zero is +0 in the table of a file, and −0 in the reference's compiled code.
fn unsigned(tensor: &Tensor) -> Tensor {
    (tensor + 0.0).unwrap()
}

#[test]
fn codes_are_those_of_bitsandbytes() {
    for device in devices() {
        for (context, tensors) in cases("nf4", &device).into_iter().chain(cases("fp4", &device)) {
            for name in ["w", "nested"] {
                let weights = bitsandbytes::Weights::from_tensors(&tensors, name).unwrap();
                let context = format!("{name} of {context}");
                let values = weights.dequantize(DType::F32).unwrap();
                same(&unsigned(&values), &unsigned(&tensors[&format!("{name}/values")]), &context);
                let halves = weights.dequantize(DType::F16).unwrap();
                same(&unsigned(&halves), &unsigned(&tensors[&format!("{name}/halves")]), &context);
                same(&weights.expr().unwrap().run().unwrap(), &values, &context);
            }
            let code = if context.starts_with("nf4") { Code::Nf4 } else { Code::Fp4 };
            let size: usize =
                context.split(' ').next().unwrap().rsplit('x').next().unwrap().parse().unwrap();
            let made = bitsandbytes::Weights::quantize(code, size, &tensors["input"]).unwrap();
            let made = made.tensors("w").unwrap();
            for suffix in ["", ".absmax", ".quant_map"] {
                let name = format!("w{suffix}");
                same(&made[&name], &tensors[&name], &format!("{name} of {context}"));
            }
            // What was made is read again.
            let again = bitsandbytes::Weights::from_tensors(&made, "w").unwrap();
            let again = again.dequantize(DType::F32).unwrap();
            same(&unsigned(&again), &unsigned(&tensors["w/values"]), &context);
        }
    }
}

#[test]
fn microscaling_floats_are_those_of_the_packages() {
    for device in devices() {
        for (context, tensors) in cases("mx", &device) {
            let (words, scales) = (&tensors["bytes"], &tensors["exponents"]);
            let weights = fp4::Weights::mxfp4(words, scales).unwrap();
            let values = weights.dequantize(DType::F32).unwrap();
            same(&values, &tensors["values"], &context);
            same(&weights.expr().unwrap().run().unwrap(), &values, &context);
            let named = [("proj.weight_packed", words), ("proj.weight_scale", &tensors["finite"])];
            let named = named.map(|(name, tensor)| (name.into(), tensor.clone())).into();
            let weights = fp4::Weights::from_tensors(Scales::Mx, &named, "proj").unwrap();
            same(&weights.dequantize(DType::BF16).unwrap(), &tensors["compressed"], &context);
            // The same bytes as gpt-oss has them.
            let blocks = [scales.shape(), &[16]].concat();
            let named = [
                ("w_blocks".into(), words.reshape(blocks).unwrap()),
                ("w_scales".into(), scales.clone()),
            ];
            let weights = fp4::Weights::from_tensors(Scales::Mx, &named.into(), "w").unwrap();
            same(&weights.dequantize(DType::F32).unwrap(), &tensors["values"], &context);
            let made = fp4::Weights::quantize_mxfp4(&tensors["input"]).unwrap().into_parts();
            same(&made.1, &tensors["scale"], &context);
            same(&made.0, &tensors["words"], &context);
        }
        for (context, tensors) in cases("nv", &device) {
            let (scales, global) = (&tensors["scale"], &tensors["global"]);
            let weights = fp4::Weights::nvfp4(&tensors["bytes"], scales, global).unwrap();
            same(&weights.dequantize(DType::BF16).unwrap(), &tensors["compressed"], &context);
            let exact = weights.expr().unwrap().run().unwrap().cast(DType::BF16).unwrap();
            same(&exact, &tensors["compressed"], &context);
            let made = fp4::Weights::quantize_nvfp4(&tensors["input"], scales, global).unwrap();
            same(&made.into_parts().0, &tensors["words"], &context);
            // As a file has them, and with the bytes of the scales.
            for scales in [scales.clone(), scales.bitcast(DType::U8).unwrap()] {
                let named = [
                    ("proj.weight_packed".into(), tensors["bytes"].clone()),
                    ("proj.weight_scale".into(), scales),
                    ("proj.weight_global_scale".into(), global.clone()),
                ];
                let weights =
                    fp4::Weights::from_tensors(Scales::Nv, &named.into(), "proj").unwrap();
                same(&weights.dequantize(DType::BF16).unwrap(), &tensors["compressed"], &context);
                assert_eq!(weights.into_parts().1.dtype(), DType::F8E4M3FN);
            }
        }
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains(words), "{error}, not {words}");
}

#[test]
fn what_does_not_fit_says_why() {
    let device = Device::cpu();
    let x = Tensor::arange(130, DType::F32, &device).unwrap();
    let whole = bitsandbytes::Weights::quantize(Code::Nf4, 64, &x).unwrap().tensors("w").unwrap();
    let read = |name: &str, tensor: Option<Tensor>| {
        let mut tensors = whole.clone();
        tensors.remove(name);
        tensors.extend(tensor.map(|tensor| (name.to_owned(), tensor)));
        bitsandbytes::Weights::from_tensors(&tensors, "w")
    };
    for name in whole.keys() {
        refused(read(name, None), &format!("{name}: there is no such tensor"));
    }
    refused(read("w", Some(Tensor::zeros([64, 1], DType::U8, &device).unwrap())), "takes 65 bytes");
    refused(read("w.absmax", Some(x.clone())), "w.absmax");
    refused(read("w.quant_map", Some(x.narrow(0, 0, 16).unwrap())), "not the values of nf4");
    let text = |text: &str| Tensor::from_vec(text.as_bytes().to_vec(), text.len(), &device).ok();
    let state = "w.quant_state.bitsandbytes__nf4";
    refused(read(state, text("{")), "quant_state");
    refused(read(state, text(r#"{"blocksize": 0, "shape": [130]}"#)), "blocksize");
    refused(read(state, text(r#"{"blocksize": 64}"#)), "shape");
    refused(
        read(state, text(r#"{"blocksize": 64, "shape": [4294967296, 4294967296]}"#)),
        "too large",
    );
    refused(read(state, text(r#"{"blocksize": 32, "shape": [130]}"#)), "absmax");
    refused(bitsandbytes::Weights::quantize(Code::Fp4, 0, &x), "block size");
    // A block may be as long as a file claims; what is not there takes no memory.
    let long = text(r#"{"blocksize": 1099511627776, "shape": [130]}"#);
    let mut tensors = whole.clone();
    tensors.insert(state.into(), long.unwrap());
    tensors.insert("w.absmax".into(), Tensor::full([1], 2.0, DType::F32, &device).unwrap());
    let values = bitsandbytes::Weights::from_tensors(&tensors, "w").unwrap();
    let values = values.dequantize(DType::F32).unwrap();
    assert_eq!(values.at(129).unwrap().item::<f32>().unwrap(), 2.0);
    let bytes = |shape: &[usize]| Tensor::zeros(shape, DType::U8, &device).unwrap();
    refused(fp4::Weights::mxfp4(&bytes(&[2, 32]), &bytes(&[2, 1])), "a scale for every 16 bytes");
    refused(fp4::Weights::mxfp4(&bytes(&[2, 16]), &bytes(&[3, 1])), "a scale for every 16 bytes");
    // The fault of a file is that of a layer.
    for names in [["proj_blocks", "proj_scales"], ["proj.weight_packed", "proj.weight_scale"]] {
        let tensors = [bytes(&[2, 32]), bytes(&[2, 1])];
        let named = names.map(String::from).into_iter().zip(tensors).collect();
        refused(fp4::Weights::from_tensors(Scales::Mx, &named, "proj"), "proj: words are u8");
    }
    let global = Tensor::ones([2], DType::F32, &device).unwrap();
    refused(fp4::Weights::nvfp4(&bytes(&[2, 8]), &bytes(&[2, 1]), &global), "weight_global_scale");
    let wrong = Tensor::ones([2, 1], DType::F8E5M2, &device).unwrap();
    let one = Tensor::ones([1], DType::F32, &device).unwrap();
    refused(fp4::Weights::nvfp4(&bytes(&[2, 8]), &wrong, &one), "scales f8e5m2");
    let right = Tensor::ones([2, 1], DType::F8E4M3FN, &device).unwrap();
    assert!(fp4::Weights::nvfp4(&bytes(&[2, 8]), &right, &one).is_ok());
    refused(fp4::Weights::mxfp4(&bytes(&[2, 16]), &right), "scales f8e4m3fn");
    refused(fp4::Weights::quantize_mxfp4(&x), "32 to a block");
    let one = Tensor::zeros([1, 32], DType::F32, &device).unwrap();
    refused(fp4::Weights::quantize_mxfp4(&one).unwrap().dequantize(DType::F64), "not f64");
    let nothing = Tensor::zeros([0], DType::F32, &device).unwrap();
    let empty = bitsandbytes::Weights::quantize(Code::Nf4, 64, &nothing).unwrap();
    assert!(empty.dequantize(DType::F16).unwrap().is_empty());
}
