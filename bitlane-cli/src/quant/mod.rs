//! `bitlane quant`: files of quantised weights.

mod convert;
mod info;
mod model;

use clap::Subcommand;

use crate::answer::Outcome;

const FORMATS: &str = "\
A model is a folder with config.json and .safetensors files, of GPTQ, AWQ or compressed-tensors (pack-quantized); its
config.json says which. Models of bitsandbytes and MXFP4, and .gguf files, can be shown, and converted to floats.

Examples:
  bitlane quant info model/
  bitlane quant convert model/ model-awq/ --to awq
  bitlane quant convert model.gguf model.safetensors --to f16";

/// The commands of `quant`.
#[derive(Subcommand)]
#[command(after_help = FORMATS)]
pub enum Command {
    /// Show the layout of the weights of a model, and check every layer
    Info(info::Options),
    /// Convert the weights of a model to another layout, without changing a value, or to floats
    Convert(convert::Options),
}

/// Runs the command.
pub fn run(command: &Command) -> Outcome {
    match command {
        Command::Info(options) => info::run(options),
        Command::Convert(options) => convert::run(options),
    }
}
