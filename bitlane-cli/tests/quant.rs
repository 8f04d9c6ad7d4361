//! `bitlane quant`: what it shows, the models that it writes, and what it refuses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use bitlane::{DType, Device, Tensor, safetensors};
use bitlane_quant::Config;
use bitlane_quant::bitsandbytes::{self, Code};
use bitlane_quant::grouped::{Format, Weights};
use serde_json::Value;
use tempfile::TempDir;

fn bitlane(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitlane"));
    command.current_dir(folder).arg("quant").args(arguments).output().unwrap()
}

#[track_caller]
fn answer(folder: &TempDir, arguments: &[&str]) -> String {
    told(folder, arguments).0
}

/// Runs a command that must succeed, and returns its answer and its progress.
#[track_caller]
fn told(folder: &TempDir, arguments: &[&str]) -> (String, String) {
    let output = bitlane(folder.path(), arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    // Where there is no terminal, there is no bar, but a line now and then.
    assert!(said.lines().all(|line| line.starts_with("quant convert: ")), "{said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

/// Runs a command that must fail, and checks that it leaves the folder as it was.
#[track_caller]
fn refused(folder: &TempDir, arguments: &[&str], words: &[&str]) {
    fails(1, folder, arguments, words);
}

#[track_caller]
fn fails(code: i32, folder: &TempDir, arguments: &[&str], words: &[&str]) {
    let before = entries(folder.path());
    let output = bitlane(folder.path(), arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    for word in words {
        assert!(said.contains(word), "{said}, not {word}");
    }
    assert_eq!(entries(folder.path()), before);
}

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const LAYERS: [&str; 3] =
    ["model.layers.0.q_proj", "model.layers.0.k_proj", "model.layers.1.q_proj"];

/// Creates a folder with a model in two files: GPTQ of 4 bits, whose first zero point is not in the middle unless it is
/// symmetric.
fn model(symmetric: bool) -> (TempDir, BTreeMap<String, Tensor>) {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::cpu();
    let format = Format::gptq(4).group_size(32);
    let own = folder.path().join("model");
    fs::create_dir(&own).unwrap();
    let mut values = BTreeMap::new();
    let mut weight_map = serde_json::Map::new();
    let mut files: [BTreeMap<String, Tensor>; 2] = Default::default();
    for (index, layer) in LAYERS.into_iter().enumerate() {
        let codes =
            (Tensor::arange(16 * 64, DType::I64, &device).unwrap() * (index as i64 + 3)).unwrap();
        let weight = (codes % 31).unwrap().cast(DType::F32).unwrap().reshape([16, 64]).unwrap();
        let scales = Tensor::full([16, 2], 0.5 + index as f64, DType::F16, &device).unwrap();
        let mut zeros = vec![8u8; 32];
        zeros[0] = if symmetric { 8 } else { 3 };
        let zeros = Tensor::from_vec(zeros, [16, 2], &device).unwrap();
        let weights = Weights::quantize(&format, &weight, &scales, Some(&zeros), None).unwrap();
        values.insert(layer.to_owned(), weights.dequantize(DType::F32).unwrap());
        for (name, tensor) in weights.tensors().unwrap() {
            // A layer need not be in one file.
            let file = usize::from(index == 2 || name == "scales");
            weight_map
                .insert(format!("{layer}.{name}"), format!("model-{file}.safetensors").into());
            files[file].insert(format!("{layer}.{name}"), tensor);
        }
    }
    let head = Tensor::ones([4, 16], DType::F16, &device).unwrap();
    files[0].insert("lm_head.weight".into(), head);
    for (number, tensors) in files.iter().enumerate() {
        safetensors::save(own.join(format!("model-{number}.safetensors")), tensors).unwrap();
    }
    let config = Config::new(&format).unwrap().symmetric(symmetric).to_json(&[]);
    let text = format!(r#"{{"hidden_size": 64, "quantization_config": {config}}}"#);
    fs::write(own.join("config.json"), text).unwrap();
    fs::write(own.join("quantize_config.json"), config).unwrap();
    fs::write(own.join("tokenizer.json"), "{}").unwrap();
    let index = serde_json::json!({ "metadata": {}, "weight_map": weight_map });
    fs::write(own.join("model.safetensors.index.json"), index.to_string()).unwrap();
    (folder, values)
}

fn tensors(folder: &Path) -> BTreeMap<String, Tensor> {
    let files = ["model-0.safetensors", "model-1.safetensors"];
    let loaded = files.map(|file| safetensors::load(folder.join(file), &Device::cpu()).unwrap());
    loaded.into_iter().flatten().collect()
}

#[track_caller]
fn same(given: &Tensor, expected: &Tensor) {
    assert!(given.bits_equal(expected).unwrap(), "{given}, not {expected}");
}

#[test]
fn a_model_is_shown() {
    let (folder, _) = model(false);
    for path in ["model", "model/model-0.safetensors"] {
        // A layer of which only a part is in the file does not fit.
        if path.ends_with("safetensors") {
            refused(&folder, &["info", path], &["model.layers.0.k_proj.scales", "no such tensor"]);
            continue;
        }
        let shown = answer(&folder, &["info", path]);
        assert!(
            shown.starts_with("GPTQ, 4 bits, groups of 32, zero points MinusOne\n3 layers"),
            "{shown}"
        );
        assert!(shown.contains("model.layers.0.q_proj  [16, 64]  asymmetric"), "{shown}");
    }
    let shown: Value =
        serde_json::from_str(&answer(&folder, &["info", "model", "--json"])).unwrap();
    assert_eq!(shown["layers"].as_array().unwrap().len(), 3);
    refused(&folder, &["info", "nothing"], &["nothing"]);
    fs::remove_file(folder.path().join("model/quantize_config.json")).unwrap();
    fs::write(folder.path().join("model/config.json"), "{}").unwrap();
    refused(&folder, &["info", "model"], &["config.json", "no quantization_config"]);
}

#[test]
fn a_model_is_converted_and_back() {
    for symmetric in [false, true] {
        let (folder, values) = model(symmetric);
        let place = |name: &str| folder.path().join(name);
        let mut from = "model".to_owned();
        for to in ["awq", "compressed-tensors", "gptq_v2", "gptq"] {
            let (said, progress) =
                told(&folder, &["convert", &from, to, "--to", to, "--device", "cpu"]);
            let steps =
                ["reading model-1.safetensors", "checking", "converting", "writing model-0"];
            assert!(steps.iter().all(|step| progress.contains(step)), "{progress}");
            assert!(said.starts_with(&format!("{to}: 3 layers, from ")), "{said}");
            let text = fs::read_to_string(place(to).join("config.json")).unwrap();
            assert!(text.contains("hidden_size"));
            let config = Config::parse(&text).unwrap().unwrap();
            let all = tensors(&place(to));
            assert_eq!(config.layers(&all).len(), 3);
            for (layer, values) in &values {
                let weights = config.layer(&all, layer).unwrap();
                same(&weights.dequantize(DType::F32).unwrap(), values);
            }
            let files = entries(&place(to));
            let expected = [
                "config.json",
                "model-0.safetensors",
                "model-1.safetensors",
                "model.safetensors.index.json",
                "tokenizer.json",
            ];
            assert_eq!(files, expected);
            let index = fs::read_to_string(place(to).join("model.safetensors.index.json")).unwrap();
            let index: Value = serde_json::from_str(&index).unwrap();
            for (name, file) in index["weight_map"].as_object().unwrap() {
                let file = place(to).join(file.as_str().unwrap());
                let own = safetensors::load(file, &Device::cpu()).unwrap();
                assert!(own.contains_key(name), "{name}");
            }
            assert_eq!(index["weight_map"].as_object().unwrap().len(), all.len());
            assert_eq!(text.contains("\"ignore\""), to == "compressed-tensors");
            from = to.into();
        }
        // All tensors are those of the beginning.
        let (old, new) = (tensors(&place("model")), tensors(&place("gptq")));
        assert_eq!(old.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>());
        old.iter().for_each(|(name, tensor)| same(&new[name], tensor));
        assert!(!entries(folder.path()).iter().any(|name| name.starts_with('.')));
    }
}

#[test]
fn a_model_becomes_floats() {
    let (folder, values) = model(false);
    // Folders may hold anything, and are named.
    fs::create_dir(folder.path().join("model/original")).unwrap();
    let said = answer(&folder, &["convert", "model", "plain", "--to", "bf16", "--device", "cpu"]);
    assert!(said.contains("not copied: the folders original"), "{said}");
    let plain = folder.path().join("plain");
    let all = tensors(&plain);
    for (layer, values) in &values {
        same(&all[&format!("{layer}.weight")], &values.cast(DType::BF16).unwrap());
    }
    let text = fs::read_to_string(plain.join("config.json")).unwrap();
    assert_eq!(Config::parse(&text).unwrap(), None);
    assert_eq!(all.len(), 4, "nothing of the words is left");
}

/// Every kind of 4-bit floats becomes floats, and nothing else.
#[test]
fn four_bit_floats_become_floats() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::cpu();
    let x = Tensor::arange(192, DType::F32, &device).unwrap().reshape([3, 64]).unwrap();
    let codes = bitsandbytes::Weights::quantize(Code::Nf4, 64, &x).unwrap();
    let (blocks, scales) = bitlane_quant::fp4::Weights::quantize_mxfp4(&x).unwrap().into_parts();
    let expected = bitlane_quant::fp4::Weights::mxfp4(&blocks, &scales).unwrap();
    let models = [
        ("bnb", r#"{"quant_method": "bitsandbytes", "load_in_4bit": true}"#, "proj.weight"),
        ("oss", r#"{"quant_method": "mxfp4"}"#, "proj"),
    ];
    for (name, config, result) in models {
        let own = folder.path().join(name);
        fs::create_dir(&own).unwrap();
        fs::write(own.join("config.json"), format!(r#"{{"quantization_config": {config}}}"#))
            .unwrap();
        let (mut tensors, values) = match name {
            "bnb" => (codes.tensors("proj.weight").unwrap(), codes.dequantize(DType::F32)),
            _ => {
                let blocks = blocks.reshape([3, 2, 16]).unwrap();
                let named =
                    [("proj_blocks".into(), blocks), ("proj_scales".into(), scales.clone())];
                (named.into(), expected.dequantize(DType::F32))
            }
        };
        tensors.insert("proj.bias".into(), x.at(0).unwrap().contiguous().unwrap());
        safetensors::save(own.join("model.safetensors"), &tensors).unwrap();
        assert!(answer(&folder, &["info", name]).contains("proj  [3, 64]"));
        refused(
            &folder,
            &["convert", name, "out", "--to", "awq", "--device", "cpu"],
            &["--to f16"],
        );
        let plain = format!("{name}-plain");
        answer(&folder, &["convert", name, &plain, "--to", "f32", "--device", "cpu"]);
        let all = safetensors::load(folder.path().join(plain).join("model.safetensors"), &device)
            .unwrap();
        assert_eq!(all.keys().map(String::as_str).collect::<Vec<_>>().len(), 2, "{:?}", all.keys());
        same(&all[result], &values.unwrap());
    }
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let (folder, _) = model(false);
    refused(&folder, &["convert", "model", "model", "--to", "awq"], &["model", "it exists"]);
    std::fs::write(folder.path().join("alone.safetensors"), "").unwrap();
    refused(&folder, &["info", "alone.safetensors"], &["config.json", "there is no such file"]);
    std::fs::write(folder.path().join("x.npy"), "").unwrap();
    refused(&folder, &["info", "x.npy"], &["neither a .safetensors nor a .gguf file"]);
    refused(
        &folder,
        &["convert", "model", "nowhere/out", "--to", "awq", "--device", "cpu"],
        &["nowhere"],
    );
    fails(
        2,
        &folder,
        &["convert", "model", "out", "--to", "awq", "--device", "tpu"],
        &["unknown device"],
    );
    // Groups in another order, which AWQ does not have.
    let file = folder.path().join("model/model-0.safetensors");
    let mut all = safetensors::load(&file, &Device::cpu()).unwrap();
    let name = "model.layers.0.q_proj.g_idx";
    all.insert(name.into(), all[name].flip(0).unwrap().contiguous().unwrap());
    safetensors::save(&file, &all).unwrap();
    refused(
        &folder,
        &["convert", "model", "out", "--to", "awq", "--device", "cpu"],
        &["model.layers.0.q_proj", "g_idx"],
    );
    // Half of the words.
    all.insert(
        "model.layers.0.q_proj.qweight".into(),
        Tensor::zeros([4, 16], DType::I32, &Device::cpu()).unwrap(),
    );
    safetensors::save(&file, &all).unwrap();
    refused(
        &folder,
        &["convert", "model", "out", "--to", "f16", "--device", "cpu"],
        &["model.layers.0.q_proj.qweight"],
    );
    fs::write(folder.path().join("x.gguf"), "GGUF").unwrap();
    refused(&folder, &["info", "x.gguf"], &["x.gguf", "too early"]);
    fails(2, &folder, &["convert", "x.gguf", "x.safetensors", "--to", "awq"], &["--to f16"]);
    fails(2, &folder, &["convert", "x.gguf", "out", "--to", "f16"], &[".safetensors"]);
}

#[test]
fn a_gguf_file_is_shown_and_becomes_floats() {
    let folder = tempfile::tempdir().unwrap();
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bitlane-quant/tests/goldens");
    fs::copy(goldens.join("model.gguf"), folder.path().join("model.gguf")).unwrap();
    let shown = answer(&folder, &["info", "model.gguf"]);
    for words in
        ["GGUF, 10 tensors", "general.architecture          llama", "blk.0.Q4_0.weight", "[3, 256]"]
    {
        assert!(shown.contains(words), "{shown}");
    }
    answer(
        &folder,
        &["convert", "model.gguf", "out.safetensors", "--to", "f32", "--device", "cpu"],
    );
    let given = safetensors::load(folder.path().join("out.safetensors"), &Device::cpu()).unwrap();
    let expected = safetensors::load(goldens.join("model.safetensors"), &Device::cpu()).unwrap();
    assert_eq!(given.len(), expected.len());
    // Integers stay what they are.
    assert_eq!(given["places"].dtype(), DType::I32);
    expected.iter().for_each(|(name, tensor)| same(&given[name].cast(DType::F32).unwrap(), tensor));
    refused(
        &folder,
        &["convert", "model.gguf", "out.safetensors", "--to", "f16"],
        &["out.safetensors", "it exists already"],
    );
}
