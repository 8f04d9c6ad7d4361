//! GPTQ, AWQ and compressed-tensors against what the packages computed (`goldens.py`), and what is refused.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use bitlane::{DType, Device, ErrorKind, Result, Tensor, safetensors};
use bitlane_quant::grouped::{Format, Scheme, Weights, Zeros};

use common::{devices, golden_path};

/// Weights, scales and zero points, with the tensors that a package made of them.
struct Case {
    name: String,
    bits: usize,
    size: Option<usize>,
    tensors: BTreeMap<String, Tensor>,
}

fn cases(device: &Device) -> Vec<Case> {
    let all = safetensors::load(golden_path("grouped.safetensors"), device).unwrap();
    let names: BTreeSet<_> = all.keys().map(|name| name.split('/').next().unwrap()).collect();
    let case = |name: &str| {
        let own = |(key, tensor): (&String, &Tensor)| {
            let (case, rest) = key.split_once('/').unwrap();
            (case == name).then(|| (rest.to_owned(), tensor.clone()))
        };
        let numbers: Vec<_> = name.trim_start_matches("row").split('x').collect();
        let number = |at: usize| numbers[at].parse().unwrap();
        Case {
            name: format!("{name} on {device}"),
            bits: number(0),
            size: numbers[3].parse().ok(),
            tensors: all.iter().filter_map(own).collect(),
        }
    };
    names.into_iter().map(case).collect()
}

impl Case {
    fn grouped(&self, format: Format) -> Format {
        match self.size {
            Some(size) => format.group_size(size),
            None => format,
        }
    }

    fn has(&self, prefix: &str) -> bool {
        self.tensors.keys().any(|name| name.starts_with(prefix))
    }

    fn get(&self, name: &str) -> &Tensor {
        &self.tensors[name]
    }

    fn compressed(&self) -> Format {
        let format = Format::compressed_tensors(self.bits);
        let stored = self.has("ct.weight_zero_point");
        self.grouped(if stored { format.with_zeros(Zeros::Stored) } else { format })
    }

    fn weights(&self, format: Format, prefix: &str) -> Weights {
        Weights::from_tensors(&format, &self.tensors, prefix)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The tensors of GPTQ's first version: those of the second one with other zero points.
    fn gptq_v1(&self, zeros: Zeros) -> Result<Weights> {
        let mut tensors = self.tensors.clone();
        tensors.insert("gptq_v2.qzeros".into(), self.get("gptq_v1.qzeros").clone());
        let format = self.grouped(Format::gptq(self.bits)).with_zeros(zeros);
        Weights::from_tensors(&format, &tensors, "gptq_v2")
    }

    fn quantized(&self, format: Format, group_of: Option<&Tensor>) -> Result<Weights> {
        let [weight, scale, zero] = ["weight", "scale", "zero"].map(|name| self.get(name));
        Weights::quantize(&format, weight, scale, Some(zero), group_of)
    }

    /// Compares every tensor with those of a package.
    #[track_caller]
    fn same_tensors(&self, weights: &Weights, prefix: &str) {
        for (name, tensor) in weights.tensors().unwrap() {
            let expected = self.get(&format!("{prefix}.{name}"));
            let context = format!("{name} of {}", self.name);
            assert_eq!(tensor.shape(), expected.shape(), "{context}");
            assert!(tensor.bits_equal(expected).unwrap(), "{context}: {tensor}, not {expected}");
        }
    }
}

#[track_caller]
fn same(given: &Tensor, expected: &Tensor, context: &str) {
    assert_eq!((given.shape(), given.dtype()), (expected.shape(), expected.dtype()), "{context}");
    // The sign of a zero depends on that of the other factor in both.
    assert!(given.bits_equal(expected).unwrap(), "{context}: {given}, not {expected}");
}

#[test]
fn values_are_those_of_the_packages() {
    for device in devices() {
        for case in cases(&device) {
            let mut read = Vec::new();
            if case.has("gptq_v2") {
                let weights = case.weights(case.grouped(Format::gptq_v2(case.bits)), "gptq_v2");
                read.push((weights, case.get("gptq.values").transpose(0, 1).unwrap()));
                let weights = case.gptq_v1(Zeros::MinusOneInWords).unwrap();
                read.push((weights, case.get("gptq.values").transpose(0, 1).unwrap()));
            }
            if case.has("awq") {
                let weights = case.weights(case.grouped(Format::awq()), "awq");
                read.push((weights, case.get("awq.values").transpose(0, 1).unwrap()));
            }
            if case.has("ct") {
                read.push((case.weights(case.compressed(), "ct"), case.get("ct.values").clone()));
            }
            for (weights, expected) in read {
                let context = format!("{} of {}", weights.format(), case.name);
                let values = weights.dequantize(expected.dtype()).unwrap();
                same(&values, &expected, &context);
                // In f32 nothing is rounded, so that rounding it gives the same.
                let exact = weights.dequantize(DType::F32).unwrap();
                same(&exact.cast(expected.dtype()).unwrap(), &expected, &context);
                same(&weights.expr().unwrap().run().unwrap(), &exact, &context);
            }
        }
    }
}

#[test]
fn words_are_those_of_the_packages() {
    for device in devices() {
        for case in cases(&device) {
            if case.has("gptq_v2") {
                let own = case.get("gptq_v2.g_idx");
                let group_of = case.name.contains("order").then_some(own);
                let second = case.grouped(Format::gptq_v2(case.bits));
                let made = case.quantized(second.clone(), group_of).unwrap();
                case.same_tensors(&made, "gptq_v2");
                let first = second.with_zeros(Zeros::MinusOneInWords);
                let made = case.quantized(first.clone(), group_of).unwrap();
                let zeros = &made.tensors().unwrap()[2].1;
                same(zeros, case.get("gptq_v1.qzeros"), &case.name);
                // The conversion gives what making it gave.
                let converted = case.weights(case.grouped(Format::gptq_v2(case.bits)), "gptq_v2");
                let converted = converted.repack(&first).unwrap();
                same(&converted.tensors().unwrap()[2].1, zeros, &case.name);
            }
            if case.has("awq") {
                let made = case.quantized(case.grouped(Format::awq()), None).unwrap();
                case.same_tensors(&made, "awq");
            }
            // Elsewhere it was given scales of another dtype than those of the case.
            if case.name.starts_with("row") || case.name.contains("inexact") {
                let made = case.quantized(case.compressed(), None).unwrap();
                case.same_tensors(&made, "ct");
            }
        }
    }
}

/// The last group of GPTQ may be smaller, which the other formats cannot hold; that is no matter of an order.
#[test]
fn partial_groups_are_named() {
    let device = Device::cpu();
    let x = Tensor::arange(32 * 48, DType::F32, &device).unwrap().reshape([32, 48]).unwrap();
    let scales = Tensor::full([32, 2], 128.0, DType::F16, &device).unwrap();
    let made = |format: Format| Weights::quantize(&format.group_size(32), &x, &scales, None, None);
    let weights = made(Format::gptq_v2(4)).unwrap();
    let tensors = weights.tensors().unwrap();
    let groups = tensors.last().unwrap().1.to_vec::<i32>().unwrap();
    assert_eq!(groups, [vec![0; 32], vec![1; 16]].concat());
    let first = weights.repack(&Format::gptq(4).group_size(32)).unwrap();
    let values = |weights: &Weights| weights.dequantize(DType::F32).unwrap();
    same(&values(&first), &values(&weights), "a partial group");
    for other in [Format::awq(), Format::compressed_tensors(4)] {
        refused(weights.repack(&other.clone().group_size(32)), &["group_size: ", "48", "32"]);
        refused(made(other), &["group_size: ", "48", "32"]);
    }
}

/// From each format to each other and back gives the words with which it began, and every value on the way.
#[test]
fn conversions_lose_nothing() {
    for device in devices() {
        for case in cases(&device) {
            if !case.has("gptq_v2") {
                continue;
            }
            let bits = case.bits;
            let from = case.weights(case.grouped(Format::gptq_v2(bits)), "gptq_v2");
            let values = from.dequantize(DType::F32).unwrap();
            let ordered = case.name.contains("order");
            let mut formats = vec![Format::gptq(bits).with_zeros(Zeros::MinusOneInWords)];
            if !ordered {
                formats.push(Format::compressed_tensors(bits).with_zeros(Zeros::Stored));
                formats.extend((bits == 4).then(Format::awq));
            }
            for to in &formats {
                let context = format!("{to} of {}", case.name);
                let converted = from.repack(&case.grouped(to.clone())).unwrap();
                same(&converted.dequantize(DType::F32).unwrap(), &values, &context);
                for next in &formats {
                    let further = converted.repack(&case.grouped(next.clone())).unwrap();
                    let back = further.repack(from.format()).unwrap();
                    case.same_tensors(&back, "gptq_v2");
                }
            }
            if ordered {
                let refused = from.repack(&case.grouped(Format::compressed_tensors(bits)));
                assert!(refused.unwrap_err().to_string().contains("g_idx"));
            }
        }
    }
}

/// autoawq converts to the layout of exllama, which is GPTQ's first version.
#[test]
fn awq_becomes_what_autoawq_makes_of_it() {
    for device in devices() {
        for case in cases(&device).iter().filter(|case| case.has("exllama")) {
            let zeros = case.get("zero").equal(0).unwrap().any(..).unwrap().item::<bool>().unwrap();
            let awq = case.weights(case.grouped(Format::awq()), "awq");
            let format = case.grouped(Format::gptq(4));
            let weights = match awq.repack(&format) {
                // What autoawq makes of a zero point of 0 is a borrow from its neighbours.
                Err(error) => {
                    assert!(zeros && error.to_string().contains("qzeros: 1 zero points are 0"));
                    awq.repack(&format.with_zeros(Zeros::MinusOneInWords)).unwrap()
                }
                Ok(weights) => weights,
            };
            let [words, _, zeros] = [0, 1, 2].map(|at| weights.tensors().unwrap()[at].1.clone());
            same(&words, case.get("exllama.qweight"), &case.name);
            same(&zeros, case.get("exllama.qzeros"), &case.name);
        }
    }
}

#[track_caller]
fn refused(result: Result<Weights>, words: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for word in words {
        assert!(error.to_string().contains(word), "{error}");
    }
}

fn plain(scheme: Scheme) -> (Format, BTreeMap<String, Tensor>) {
    let device = Device::cpu();
    let weight = Tensor::arange(16 * 64, DType::F32, &device).unwrap().reshape([16, 64]).unwrap();
    let scales = Tensor::full([16, 2], 64.0, DType::F16, &device).unwrap();
    let zeros = Tensor::full([16, 2], 8, DType::U8, &device).unwrap();
    let format = match scheme {
        Scheme::Gptq => Format::gptq(4),
        Scheme::Awq => Format::awq(),
        _ => Format::compressed_tensors(4).with_zeros(Zeros::Stored),
    };
    let format = format.group_size(32);
    let weights = Weights::quantize(&format, &weight, &scales, Some(&zeros), None).unwrap();
    let named = weights.tensors().unwrap().into_iter();
    (format, named.map(|(name, tensor)| (format!("proj.{name}"), tensor)).collect())
}

/// A file whose words are in the order of another format gives an error, not another model.
#[test]
fn words_of_another_format_are_refused() {
    for own in [Scheme::Gptq, Scheme::Awq, Scheme::CompressedTensors] {
        let (_, tensors) = plain(own);
        for other in [Scheme::Gptq, Scheme::Awq, Scheme::CompressedTensors] {
            let (format, _) = plain(other);
            let read = Weights::from_tensors(&format, &tensors, "proj");
            if own == other {
                assert_eq!(read.unwrap().shape(), [16, 64]);
            } else {
                refused(read, &["proj."]);
            }
        }
    }
    // The same names and, as it is square in words, the same shape: only the group size and zero points can tell.
    let (format, tensors) = plain(Scheme::Awq);
    let gptq = Weights::from_tensors(&Format::gptq(4).group_size(32), &tensors, "proj");
    refused(gptq, &["proj.qweight"]);
    assert!(Weights::from_tensors(&format, &tensors, "proj").is_ok());
}

/// Words and the format that describes them are made together, so that metadata cannot promise another order.
#[test]
fn words_carry_their_order() {
    let (format, tensors) = plain(Scheme::Awq);
    let awq = Weights::from_tensors(&format, &tensors, "proj").unwrap();
    let linear = awq.repack(&Format::compressed_tensors(4).group_size(32)).unwrap();
    assert_eq!(linear.format().scheme(), Scheme::CompressedTensors);
    let back = linear.repack(&format).unwrap();
    assert_eq!(back.format(), &format);
    for (name, tensor) in back.tensors().unwrap() {
        assert!(tensor.bits_equal(&tensors[&format!("proj.{name}")]).unwrap(), "{name}");
    }
}

/// Zero points of 0 have no predecessor: to store them minus one is an error, and so is to read what borrowing made of them.
#[test]
fn zero_points_never_change() {
    let device = Device::cpu();
    let weight = Tensor::zeros([32, 32], DType::F32, &device).unwrap();
    let scales = Tensor::ones([32, 1], DType::F16, &device).unwrap();
    for bits in [2, 3, 4, 8] {
        let zeros: Vec<u8> = (0..32).map(|output| (output % (1 << bits)) as u8).collect();
        let zeros = Tensor::from_vec(zeros, [32, 1], &device).unwrap();
        let made = |format| Weights::quantize(&format, &weight, &scales, Some(&zeros), None);
        refused(made(Format::gptq(bits)), &["qzeros", "gptq_v2", "zero points are 0"]);
        let stored = made(Format::gptq_v2(bits)).unwrap();
        refused(stored.repack(&Format::gptq(bits)), &["qzeros", "gptq_v2"]);
        let by_words =
            stored.repack(&Format::gptq(bits).with_zeros(Zeros::MinusOneInWords)).unwrap();
        let named = by_words.tensors().unwrap().into_iter();
        let tensors = named.map(|(name, tensor)| (name.into(), tensor)).collect();
        let read = Weights::from_tensors(&Format::gptq(bits), &tensors, "");
        refused(read, &["qzeros", "Zeros::Stored", "Zeros::MinusOneInWords"]);
        let back = by_words.repack(stored.format()).unwrap();
        for ((name, tensor), (_, old)) in
            back.tensors().unwrap().iter().zip(stored.tensors().unwrap())
        {
            assert!(tensor.bits_equal(&old).unwrap(), "{name} of {bits} bits");
        }
    }
}

#[test]
fn what_does_not_fit_names_the_field() {
    let (format, tensors) = plain(Scheme::Gptq);
    let read = |format: &Format, change: &dyn Fn(&mut BTreeMap<String, Tensor>)| {
        let mut tensors = tensors.clone();
        change(&mut tensors);
        Weights::from_tensors(format, &tensors, "proj")
    };
    let keep = |_: &mut BTreeMap<String, Tensor>| {};
    assert!(read(&format, &keep).is_ok());
    refused(read(&Format::gptq(5), &keep), &["bits", "[2, 3, 4, 8]"]);
    refused(read(&Format::gptq(8).group_size(32), &keep), &["proj.qweight"]);
    refused(read(&Format::gptq(4).group_size(16), &keep), &["proj.scales", "groups of 16"]);
    refused(read(&Format::gptq(4), &keep), &["proj.scales", "one group"]);
    refused(read(&format.clone().group_size(0), &keep), &["group_size"]);
    refused(read(&format.clone().with_zeros(Zeros::Symmetric), &keep), &["zeros", "Symmetric"]);
    for name in ["qweight", "qzeros", "scales"] {
        let name = format!("proj.{name}");
        let without = |tensors: &mut BTreeMap<String, Tensor>| drop(tensors.remove(&name));
        refused(read(&format, &without), &[&name, "no such tensor"]);
        let cut = |tensors: &mut BTreeMap<String, Tensor>| {
            let shorter = tensors[&name].narrow(1, 0, 1).unwrap();
            tensors.insert(name.clone(), shorter);
        };
        let error = read(&format, &cut).unwrap_err();
        assert!(error.to_string().contains("proj."), "{error}");
        let as_bytes = |tensors: &mut BTreeMap<String, Tensor>| {
            let bytes = tensors[&name].bitcast(DType::U8).unwrap();
            tensors.insert(name.clone(), bytes);
        };
        refused(read(&format, &as_bytes), &[&name, "u8"]);
    }
    let order = |group: i32| {
        move |tensors: &mut BTreeMap<String, Tensor>| {
            let order = Tensor::full([64], group, DType::I32, &Device::cpu()).unwrap();
            tensors.insert("proj.g_idx".into(), order);
        }
    };
    refused(read(&format, &order(2)), &["proj.g_idx", "no group 2"]);
    refused(read(&format, &order(-1)), &["proj.g_idx"]);
    assert!(read(&format, &order(1)).is_ok());
    let short = |tensors: &mut BTreeMap<String, Tensor>| {
        let order = Tensor::zeros([63], DType::I32, &Device::cpu()).unwrap();
        tensors.insert("proj.g_idx".into(), order);
    };
    assert!(read(&format, &short).is_ok(), "63 inputs take as many words");
    let (format, mut tensors) = plain(Scheme::CompressedTensors);
    let symmetric = format.clone().with_zeros(Zeros::Symmetric);
    let read = Weights::from_tensors(&symmetric, &tensors, "proj");
    refused(read, &["proj.weight_zero_point", "Zeros::Stored"]);
    let wrong = Tensor::from_slice(&[15i64, 64], [2], &Device::cpu()).unwrap();
    tensors.insert("proj.weight_shape".into(), wrong);
    refused(Weights::from_tensors(&format, &tensors, "proj"), &["proj.weight_shape", "15"]);
    // Sizes beside a 0 promise nothing.
    for (format, name) in [
        (Format::gptq(4), "qweight"),
        (Format::awq(), "qweight"),
        (Format::compressed_tensors(4), "weight_packed"),
    ] {
        let empty = |shape: [usize; 2], dtype| Tensor::zeros(shape, dtype, &Device::cpu()).unwrap();
        let sizes = Tensor::from_slice(&[0i64, 1 << 58], [2], &Device::cpu()).unwrap();
        for shape in [[0, 1 << 55], [1 << 55, 0]] {
            let tensors = BTreeMap::from([
                (name.to_owned(), empty(shape, DType::I32)),
                ("scales".into(), empty([1, 0], DType::F16)),
                ("weight_scale".into(), empty([0, 1], DType::F16)),
                ("qzeros".into(), empty([1, 0], DType::I32)),
                ("weight_shape".into(), sizes.clone()),
            ]);
            let error = Weights::from_tensors(&format, &tensors, "").unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
    let (awq, tensors) = plain(Scheme::Awq);
    let weights = Weights::from_tensors(&awq, &tensors, "proj").unwrap();
    refused(weights.repack(&Format::gptq(4).group_size(64)), &["group_size"]);
    refused(weights.repack(&Format::gptq(8).group_size(32)), &["bits"]);
    let error = weights.dequantize(DType::F64).unwrap_err();
    assert!(error.to_string().contains("f16, bf16 or f32"));
}
