//! `bitlane quant info`: shows the layout of a model's weights.

use std::path::PathBuf;

use bitlane::Device;
use bitlane_quant::Layer;
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
    let all = model.load(&Device::cpu(), |_| {})?;
    let mut rows = Vec::new();
    let mut layers = Vec::new();
    for layer in model.config.layers(&all.tensors) {
        let weights = model.config.layer(&all.tensors, &layer)?;
        let kind = match &weights {
            Layer::Grouped(weights) if weights.is_symmetric()? => "symmetric",
            Layer::Grouped(_) => "asymmetric",
            _ => "",
        };
        let shape = weights.shape();
        rows.push(vec![layer.clone(), format!("{shape:?}"), kind.into()]);
        layers.push(json!({ "name": layer, "shape": shape, "symmetric": kind == "symmetric" }));
    }
    let format = model.config.layout().to_string();
    let count = rows.len();
    let text = format!("{format}\n{count} layers, all consistent\n{}", columns(&rows));
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
