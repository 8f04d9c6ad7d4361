//! GGUF files against what the package `gguf` wrote (`goldens.py`), broken ones, and the objects of `config.json`.

mod common;
mod stranger;

use std::fs;
use std::io::Cursor;
use std::path::Path;

use bitlane::{DType, Device, ErrorKind, Tensor, safetensors};
use bitlane_quant::fp4::Scales;
use bitlane_quant::gguf::{Kind, Reader, Type, Value};
use bitlane_quant::grouped::{Format, Weights, Zeros};
use bitlane_quant::{Config, Layout};

use common::{devices, golden_path};

#[test]
fn a_file_is_read_as_it_was_written() {
    for device in devices() {
        let mut file = Reader::open(golden_path("model.gguf")).unwrap();
        let metadata = file.metadata();
        assert_eq!(metadata["general.architecture"], Value::Text("llama".into()));
        assert_eq!(metadata["general.alignment"], Value::Unsigned(64));
        assert_eq!(metadata["llama.rope.freq_base"], Value::Float(10000.0));
        assert_eq!(metadata["tokenizer.ggml.add_bos_token"], Value::Bool(true));
        assert_eq!(metadata["tokenizer.ggml.tokens"], Value::Array(3));
        assert_eq!(metadata["tokenizer.ggml.scores"], Value::Array(3));
        let values = safetensors::load(golden_path("model.safetensors"), &device).unwrap();
        assert_eq!(file.tensors().len(), values.len());
        for info in file.tensors().to_vec() {
            let given = file.dequantize(&info.name, DType::F32, &device).unwrap();
            // The recorded values are floats; integers are read as they are.
            let own = if info.name == "places" { DType::I32 } else { DType::F32 };
            assert_eq!(given.dtype(), own, "{}", info.name);
            let expected = values[&info.name].cast(own).unwrap();
            assert_eq!(given.shape(), expected.shape(), "{}", info.name);
            assert!(given.bits_equal(&expected).unwrap(), "{} on {device}", info.name);
        }
        let kind = |name: &str| file.tensors().iter().find(|it| it.name == name).unwrap().kind;
        assert_eq!(kind("blk.0.MXFP4.weight"), Type::Blocks(Kind::MXFP4));
        assert_eq!(kind("places"), Type::Plain(DType::I32));
    }
}

fn draws() -> impl FnMut(usize) -> usize {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    }
}

/// Files with a few bytes changed, cut, or repeated, mostly where the header is. A hundred times as many with
/// BITLANE_QUANT_LONG.
#[test]
fn broken_files_are_refused_or_read() {
    let whole = fs::read(golden_path("model.gguf")).unwrap();
    stranger::check(&whole);
    let header = 900.min(whole.len());
    let mut draw = draws();
    let rounds = if std::env::var_os("BITLANE_QUANT_LONG").is_some() { 200_000 } else { 2_000 };
    for _ in 0..rounds {
        let mut file = whole.clone();
        for _ in 0..1 + draw(4) {
            let len = file.len();
            let anywhere = draw(8) == 0;
            let at = draw(if anywhere { len } else { header.min(len) });
            match draw(5) {
                0 => file[at] ^= 1 << draw(8),
                1 => file[at] = [0, 1, 2, 8, 9, 0x7f, 0x80, 0xff][draw(8)],
                2 => file.truncate(at.max(8)),
                3 => {
                    let end = (at + 8).min(len);
                    file[at..end].fill([0, 0xff][draw(2)]);
                }
                _ => {
                    let piece = file[at..(at + 1 + draw(40)).min(len)].to_vec();
                    let to = draw(len);
                    let end = (to + piece.len()).min(len);
                    file[to..end].copy_from_slice(&piece[..end - to]);
                }
            }
        }
        stranger::check(&file);
    }
    // What the fuzzer has kept.
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/files");
    let mut replayed = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        if bytes.starts_with(b"GGUF") {
            stranger::check(&bytes);
            replayed += 1;
        }
    }
    assert!(replayed > 0, "the corpus has a GGUF file");
    for len in 0..header {
        assert!(Reader::new(Cursor::new(&whole[..len])).is_err(), "{len} bytes are no file");
    }
}

/// Writes a file with one tensor.
fn small(
    version: u32,
    alignment: Option<u32>,
    sizes: &[u64],
    code: u32,
    start: u64,
    data: usize,
) -> Vec<u8> {
    let mut file = b"GGUF".to_vec();
    file.extend(version.to_le_bytes());
    file.extend(1u64.to_le_bytes());
    file.extend(u64::from(alignment.is_some()).to_le_bytes());
    if let Some(alignment) = alignment {
        file.extend(17u64.to_le_bytes());
        file.extend(b"general.alignment");
        file.extend(4u32.to_le_bytes());
        file.extend(alignment.to_le_bytes());
    }
    file.extend(1u64.to_le_bytes());
    file.extend(b"x");
    file.extend((sizes.len() as u32).to_le_bytes());
    sizes.iter().for_each(|size| file.extend(size.to_le_bytes()));
    file.extend(code.to_le_bytes());
    file.extend(start.to_le_bytes());
    let aligned = file.len().next_multiple_of(alignment.unwrap_or(32).max(1) as usize);
    file.resize(aligned + data, 0x11);
    file
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let open = |file: Vec<u8>| Reader::new(Cursor::new(file));
    let whole = open(small(3, None, &[32, 2], 8, 0, 68)).unwrap();
    assert_eq!(whole.tensors()[0].shape, [2, 32]);
    assert!(open(small(2, Some(8), &[3], 0, 8, 20)).is_ok());
    for (file, words) in [
        (small(1, None, &[32], 8, 0, 34), "version 1"),
        (small(0, None, &[32], 8, 0, 34), "version 0"),
        (small(3 << 24, None, &[32], 8, 0, 34), "big-endian"),
        (small(3, Some(0), &[32], 8, 0, 34), "general.alignment"),
        (small(3, Some(24), &[32], 8, 0, 34), "general.alignment"),
        (small(3, None, &[33], 8, 0, 68), "rows of 33"),
        (small(3, None, &[32, 2], 8, 0, 67), "beyond the end"),
        (small(3, None, &[32], 8, 32, 34), "beyond the end"),
        (small(3, None, &[32], 8, 4, 64), "no multiple of 32"),
        (small(3, None, &[32, u64::MAX, u64::MAX], 8, 0, 34), "too large"),
        (small(3, None, &[1 << 62, 2], 0, 0, 34), "too large"),
        (small(3, None, &[1, 1, 1, 1, 1], 0, 0, 34), "5 dimensions"),
        (b"GGML".to_vec(), "GGUF"),
        (b"GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0".to_vec(), "too early"),
    ] {
        let error = open(file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File);
        assert!(error.to_string().contains(words), "{error}, not {words}");
    }
    let mut unknown = open(small(3, None, &[256], 10, 0, 84)).unwrap();
    let error = unknown.read("x", &Device::cpu()).unwrap_err();
    assert!(error.to_string().contains("x is of type 10"), "{error}");
    assert!(unknown.read("y", &Device::cpu()).unwrap_err().to_string().contains("no tensor y"));
}

#[test]
fn metadata_chooses_the_format() {
    let compressed = |weights: &str| {
        format!(
            r#"{{"quant_method": "compressed-tensors", "format": "pack-quantized",
            "config_groups": {{"group_0": {{"targets": ["Linear"], "weights": {weights}}}}}}}"#
        )
    };
    for (text, format) in [
        (r#"{"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": true}"#.into(),
            Format::gptq(4).group_size(128)),
        (r#"{"quant_method": "gptq", "bits": 3, "group_size": -1, "checkpoint_format": "gptq_v2"}"#.into(),
            Format::gptq_v2(3)),
        (r#"{"quant_method": "gptq", "bits": 2, "group_size": 32, "sym": false, "checkpoint_format": "gptq",
            "meta": {"quantizer": ["gptqmodel:7.7.0"]}}"#.into(),
            Format::gptq(2).group_size(32).with_zeros(Zeros::MinusOneInWords)),
        (r#"{"hidden_size": 1, "quantization_config": {"quant_method": "awq", "w_bit": 4, "q_group_size": 64,
            "version": "GEMM", "zero_point": true}}"#.into(), Format::awq().group_size(64)),
        (compressed(r#"{"num_bits": 4, "type": "int", "symmetric": true, "strategy": "group", "group_size": 32}"#),
            Format::compressed_tensors(4).group_size(32)),
        (compressed(r#"{"num_bits": 8, "type": "int", "symmetric": false, "strategy": "channel"}"#),
            Format::compressed_tensors(8).with_zeros(Zeros::Stored)),
        // Letters of either case.
        (r#"{"quant_method": "GPTQ", "bits": 4, "group_size": 64, "checkpoint_format": "GPTQ_V2"}"#.into(),
            Format::gptq_v2(4).group_size(64)),
        (r#"{"quant_method": "gptq", "bits": 4, "group_size": 64, "format": "Gptq_v2"}"#.into(),
            Format::gptq_v2(4).group_size(64)),
        (r#"{"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": false, "meta": {"quantizer": "GPTQModel:7"}}"#.into(),
            Format::gptq(4).group_size(64).with_zeros(Zeros::MinusOneInWords)),
        (compressed(r#"{"num_bits": 4, "type": "INT", "strategy": "Channel", "actorder": "Weight"}"#),
            Format::compressed_tensors(4)),
        (compressed(r#"{"num_bits": 4, "type": "int", "strategy": "channel", "actorder": false}"#),
            Format::compressed_tensors(4)),
        // quantize_config.json of AutoGPTQ and quant_config.json of AutoAWQ.
        (r#"{"bits": 4, "group_size": 128, "damp_percent": 0.01, "desc_act": false, "sym": true}"#.into(),
            Format::gptq(4).group_size(128)),
        (r#"{"zero_point": true, "q_group_size": 128, "w_bit": 4, "version": "GEMM"}"#.into(),
            Format::awq().group_size(128)),
    ] {
        let config = Config::parse(&text).unwrap().unwrap();
        assert_eq!(config.layout(), &Layout::Grouped(format.clone()), "{text}");
        if format.zeros() != Zeros::MinusOneInWords {
            let again = Config::parse(&config.to_json(&["lm_head"])).unwrap().unwrap();
            assert_eq!(again, config);
        }
    }
    assert!(Config::new(&Format::gptq(4).with_zeros(Zeros::MinusOneInWords)).is_err());
    assert_eq!(Config::parse("{}").unwrap(), None);
    let floats = |format: &str, size: usize| {
        let weights = format!(r#"{{"num_bits": 4, "type": "float", "group_size": {size}}}"#);
        compressed(&weights).replace("\"pack-quantized", &format!("\"{format}-pack-quantized"))
    };
    for (text, layout) in [
        (r#"{"quant_method": "mxfp4"}"#.into(), Layout::Fp4(Scales::Mx)),
        (floats("mxfp4", 32), Layout::Fp4(Scales::Mx)),
        (floats("nvfp4", 16), Layout::Fp4(Scales::Nv)),
        (floats("MXFP4", 32), Layout::Fp4(Scales::Mx)),
        (floats("NVFP4", 16), Layout::Fp4(Scales::Nv)),
        (
            r#"{"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"}"#.into(),
            Layout::Bitsandbytes,
        ),
    ] {
        let config = Config::parse(&text).unwrap().unwrap();
        assert_eq!(config.layout(), &layout, "{text}");
        assert_eq!(Config::parse(&config.to_json(&[])).unwrap().unwrap(), config);
    }
    let error = Config::parse(&floats("nvfp4", 32)).unwrap_err().to_string();
    assert!(error.contains("group_size"), "{error}");
}

#[test]
fn metadata_that_cannot_be_read_is_refused() {
    let gptq =
        |more: &str| format!(r#"{{"quant_method": "gptq", "bits": 4, "group_size": 128{more}}}"#);
    let awq =
        |more: &str| format!(r#"{{"quant_method": "awq", "bits": 4, "group_size": 128{more}}}"#);
    assert!(Config::parse(&gptq("")).is_ok() && Config::parse(&awq("")).is_ok());
    let actorder = |value: &str| {
        let weights = format!(r#"{{"num_bits": 4, "strategy": "channel", "actorder": {value}}}"#);
        format!(
            r#"{{"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {{"group_0": {{"weights": {weights}}}}}}}"#
        )
    };
    for (text, field) in [
        (gptq(r#", "checkpoint_format": "marlin""#), "checkpoint_format: marlin"),
        (gptq(r#", "pack_dtype": "int8""#), "pack_dtype: int8"),
        (gptq(r#", "dynamic": {"-:lm_head": {}}"#), "dynamic"),
        (gptq(r#", "sym": 1"#), "sym: 1 is not a bool"),
        (r#"{"quant_method": "gptq", "group_size": 128}"#.into(), "bits: it is missing"),
        (r#"{"quant_method": "gptq", "bits": 4}"#.into(), "group_size: it is missing"),
        (r#"{"quant_method": "gptq", "bits": 4, "group_size": 0}"#.into(), "group_size: 0"),
        (r#"{"quant_method": "gptq", "bits": 4, "group_size": -2}"#.into(), "group_size: -2"),
        (r#"{"quant_method": "gptq", "bits": 99, "group_size": 1}"#.into(), "bits: 99"),
        (awq(r#", "version": "gemv_fast""#), "version: gemv_fast"),
        (awq(r#", "zero_point": false"#), "zero_point"),
        (r#"{"quant_method": "awq", "bits": 3, "group_size": 128}"#.into(), "bits: AWQ"),
        (r#"{"quant_method": "bitsandbytes", "load_in_8bit": true}"#.into(), "load_in_4bit"),
        (r#"{"quant_method": "quip"}"#.into(), "quant_method: \"quip\""),
        (
            r#"{"quant_method": "compressed-tensors", "format": "marlin-24"}"#.into(),
            "format: marlin-24",
        ),
        (
            // Files of other formats have the same tensors' names.
            actorder("null").replace(r#""format": "pack-quantized", "#, ""),
            "format: it is missing",
        ),
        (
            r#"{"quant_method": "compressed-tensors", "format": "pack-quantized"}"#.into(),
            "config_groups",
        ),
        (r#"{"quantization_config": 3}"#.into(), "3, not an object"),
        (r#"{"quantization_config": {"bits": 4}}"#.into(), "quant_method: it is missing"),
        (actorder("\"group\""), "actorder: group"),
        (actorder("true"), "actorder: true"),
        ("{".into(), "EOF"),
    ] {
        let error = Config::parse(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(field), "{error}, not {field}");
    }
}

/// Zero points that are stored as they are, in a file that says they are stored minus one, would all be one too large.
#[test]
fn symmetric_weights_are_checked() {
    let device = Device::cpu();
    let weight = Tensor::zeros([32, 32], DType::F32, &device).unwrap();
    let scales = Tensor::ones([32, 1], DType::F16, &device).unwrap();
    let weights = Weights::quantize(&Format::gptq_v2(4), &weight, &scales, None, None).unwrap();
    let named = weights.tensors().unwrap().into_iter();
    let tensors = named.map(|(name, tensor)| (format!("proj.{name}"), tensor)).collect();
    let text = |version: &str| {
        format!(
            r#"{{"quant_method": "gptq", "bits": 4, "group_size": -1, "sym": true, "checkpoint_format": "{version}"}}"#
        )
    };
    let config = Config::parse(&text("gptq_v2")).unwrap().unwrap();
    assert_eq!(config.layers(&tensors), ["proj"]);
    assert!(config.layer(&tensors, "proj").is_ok());
    let config = Config::parse(&text("gptq")).unwrap().unwrap();
    let error = config.layer(&tensors, "proj").unwrap_err().to_string();
    assert!(error.contains("sym: 32 zero points of proj are not 8"), "{error}");
}
