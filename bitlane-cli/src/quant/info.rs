//! `bitlane quant info`: shows the layout of a model's weights.

use std::path::PathBuf;

use bitlane::Device;
use bitlane_quant::gguf::Reader;
use clap::Args;
use serde_json::json;

use super::model::{Model, has_extension};
use crate::answer::{Answer, Outcome, columns};

/// The arguments of `info`.
#[derive(Args)]
pub struct Options {
    /// A folder with config.json and .safetensors files, one of these, or a .gguf file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    if has_extension(&options.file, "gguf") {
        return gguf(options);
    }
    let model = Model::open(&options.file)?;
    let all = model.load(&Device::cpu())?;
    let mut rows = Vec::new();
    let mut layers = Vec::new();
    for layer in model.config.layers(&all.tensors) {
        let weights = model.config.weights(&all.tensors, &layer)?;
        let symmetric = weights.is_symmetric()?;
        let ([outputs, inputs], kind) =
            (weights.shape(), if symmetric { "symmetric" } else { "asymmetric" });
        rows.push(vec![layer.clone(), format!("[{outputs}, {inputs}]"), kind.into()]);
        layers.push(json!({ "name": layer, "shape": [outputs, inputs], "symmetric": symmetric }));
    }
    let format = model.config.format().to_string();
    let count = rows.len();
    let text = format!("{format}\n{count} layers, in which everything fits\n{}", columns(&rows));
    Ok(Answer::new(text, json!({ "format": format, "layers": layers })))
}

fn gguf(options: &Options) -> Outcome {
    let file = Reader::open(&options.file)?;
    let pairs = file.metadata().iter();
    let mut rows: Vec<_> = pairs
        .clone()
        .map(|(name, value)| {
            // A text can be a page long.
            let line = value.to_string();
            let short: String = line.lines().next().unwrap_or("").chars().take(80).collect();
            vec![name.clone(), short]
        })
        .collect();
    let tensors = file.tensors();
    let shown = tensors.iter();
    rows.push(vec![]);
    rows.extend(
        shown.map(|it| vec![it.name.clone(), it.kind.to_string(), format!("{:?}", it.shape)]),
    );
    let metadata: serde_json::Map<_, _> =
        pairs.map(|(name, value)| (name.clone(), value.to_string().into())).collect();
    let listed: Vec<_> = tensors
        .iter()
        .map(|it| json!({ "name": it.name, "type": it.kind.to_string(), "shape": it.shape }))
        .collect();
    let text = format!("GGUF, {} tensors\n{}", tensors.len(), columns(&rows));
    Ok(Answer::new(text, json!({ "format": "GGUF", "metadata": metadata, "tensors": listed })))
}
