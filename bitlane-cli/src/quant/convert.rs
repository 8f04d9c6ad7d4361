//! `bitlane quant convert`: converts a model's weights to another layout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bitlane::{DType, Tensor, safetensors};
use bitlane_quant::gguf::Reader;
use bitlane_quant::grouped::{Format, Scheme, Zeros};
use bitlane_quant::{Config, Layer, Layout};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::model::{Model, Tensors, at, has_extension};
use crate::answer::{Answer, Outcome};
use crate::failure::Failure;
use crate::operands::device;
use crate::progress::Progress;

/// What the progress is of.
const TITLE: &str = "quant convert";

/// The arguments of `convert`.
#[derive(Args)]
pub struct Options {
    /// A folder with config.json and .safetensors files, one of these, or a .gguf file
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The folder that is created; of a .gguf file, the .safetensors file
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The layout or the dtype
    #[arg(long)]
    to: Target,
    /// Where to compute: best, cpu, cuda or cuda:NUMBER
    #[arg(long, default_value = "best")]
    device: String,
}

/// What weights become.
#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// GPTQ, zero points minus one
    Gptq,
    /// GPTQ, zero points as they are
    #[value(name = "gptq_v2")]
    GptqV2,
    /// AWQ for GEMM kernels
    Awq,
    /// compressed-tensors, pack-quantized
    CompressedTensors,
    F16,
    Bf16,
    F32,
}

impl Target {
    /// Returns the format, of weights with these bits and groups.
    fn format(self, from: &Format, symmetric: bool) -> Option<Format> {
        let bits = from.bits();
        let format = match self {
            Target::Gptq => Format::gptq(bits),
            Target::GptqV2 => Format::gptq_v2(bits),
            Target::Awq => Format::awq(),
            Target::CompressedTensors if symmetric => Format::compressed_tensors(bits),
            Target::CompressedTensors => Format::compressed_tensors(bits).with_zeros(Zeros::Stored),
            Target::F16 | Target::Bf16 | Target::F32 => return None,
        };
        let sized = |size| format.clone().group_size(size);
        Some(from.inputs_per_group().map_or(format.clone(), sized))
    }

    fn dtype(self) -> Option<DType> {
        match self {
            Target::F16 => Some(DType::F16),
            Target::Bf16 => Some(DType::BF16),
            Target::F32 => Some(DType::F32),
            _ => None,
        }
    }
}

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    let (input, output) = (&*options.input, &*options.output);
    if has_extension(input, "gguf") {
        return gguf(options);
    }
    if output.exists() {
        return Err(at(output, "it exists already; give the name of a new folder"));
    }
    let device = device(&options.device)?;
    let model = Model::open(input)?;
    let bar = Progress::new(TITLE, model.files.len());
    let mut all = model.load(&device, |file| bar.step(&format!("reading {}", name_of(file))))?;
    bar.finish();
    let layers = model.config.layers(&all.tensors);
    if layers.is_empty() {
        return Err(at(input, format!("it has no weights of {}", model.config.layout())));
    }
    let bar = Progress::new(TITLE, 2 * layers.len());
    let mut symmetric = true;
    for layer in &layers {
        bar.step(&format!("checking {layer}"));
        // Every layer is checked before one is converted.
        if let Layer::Grouped(weights) = model.config.layer(&all.tensors, layer)? {
            symmetric &= weights.is_symmetric()?;
        }
    }
    let format = match model.config.layout() {
        Layout::Grouped(from) => options.to.format(from, symmetric),
        _ if options.to.dtype().is_some() => None,
        other => {
            let reason = format!("{other} can become floats only; give --to f16, bf16 or f32");
            return Err(at(input, reason));
        }
    };
    let config = format.as_ref().map(Config::new).transpose()?;
    let ordered = model.config.has_act_order();
    let config = config.map(|config| config.symmetric(symmetric).act_order(ordered));
    for layer in &layers {
        bar.step(&format!("converting {layer}"));
        let weights = model.config.layer(&all.tensors, layer)?;
        let made = match (&format, &weights) {
            (Some(format), Layer::Grouped(weights)) => {
                let converted = weights.repack(format);
                converted.map_err(|error| format!("{layer}: {error}"))?.tensors()?
            }
            _ => {
                let values = weights.dequantize(options.to.dtype().unwrap_or(DType::F32))?;
                vec![("weight", values.contiguous()?)]
            }
        };
        all.replace(layer, model.config.layout(), made);
    }
    bar.finish();
    let plain: Vec<_> = plain_layers(&all.tensors);
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let text = model.text_with(config.map(|config| config.to_json(&plain)))?;
    let left = write(&model, &all, &text, input, output)?;
    let (from, count) = (model.config.layout(), layers.len());
    let to = format
        .map_or_else(|| options.to.dtype().map_or("", DType::name).into(), |it| it.to_string());
    let mut said = format!("{}: {count} layers, from {from}, to {to}", output.display());
    if !left.is_empty() {
        said += &format!("\nnot copied: the folders {}", left.join(", "));
    }
    let from = from.to_string();
    let json = json!({ "output": output, "layers": count, "from": from, "to": to, "folders_not_copied": left });
    Ok(Answer::new(said, json))
}

impl Tensors {
    /// Puts the tensors of a layer in the place of those that it had.
    fn replace(&mut self, layer: &str, layout: &Layout, made: Vec<(&'static str, Tensor)>) {
        let is_old = |rest: &str| match layout {
            Layout::Grouped(format) if format.scheme() != Scheme::CompressedTensors => {
                [".qweight", ".qzeros", ".scales", ".g_idx"].contains(&rest)
            }
            Layout::Bitsandbytes => rest == ".weight" || rest.starts_with(".weight."),
            _ => rest.starts_with(".weight_") || ["_blocks", "_scales"].contains(&rest),
        };
        let names = self.tensors.keys();
        let old = names.filter(|name| name.strip_prefix(layer).is_some_and(is_old));
        let mut file = 0;
        // The name of a parameter of gpt-oss is that of its values.
        let bare = self.tensors.contains_key(&format!("{layer}_blocks"));
        for name in old.cloned().collect::<Vec<_>>() {
            self.tensors.remove(&name);
            file = self.file_of.remove(&name).unwrap_or(file);
        }
        for (name, tensor) in made {
            let name = if bare { layer.to_owned() } else { format!("{layer}.{name}") };
            self.file_of.insert(name.clone(), file);
            self.tensors.insert(name, tensor);
        }
    }
}

/// Returns the names of the layers whose weights are matrices of floats.
fn plain_layers(tensors: &BTreeMap<String, Tensor>) -> Vec<String> {
    let is_matrix = |tensor: &Tensor| tensor.rank() == 2 && tensor.dtype().is_float();
    let matrices = tensors.iter().filter(|(_, tensor)| is_matrix(tensor));
    matrices.filter_map(|(name, _)| Some(name.strip_suffix(".weight")?.to_owned())).collect()
}

/// Returns the last part of a path, for people.
fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes the model to a folder beside the one that it becomes, so that nobody sees half a model. Returns the names of the folders
/// of the model, which may hold weights in other layouts and are not copied.
fn write(
    model: &Model,
    all: &Tensors,
    text: &str,
    input: &Path,
    output: &Path,
) -> Result<Vec<String>, Failure> {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new().prefix(".bitlane-").tempdir_in(parent);
    let folder = folder.map_err(|error| at(parent, error))?;
    let place = |name: &Path| folder.path().join(name.file_name().unwrap_or_default());
    let mut total = 0;
    let mut files = serde_json::Map::new();
    let bar = Progress::new(TITLE, model.files.len());
    for (number, file) in model.files.iter().enumerate() {
        bar.step(&format!("writing {}", name_of(file)));
        let of_file = |name: &&String| all.file_of.get(*name) == Some(&number);
        let names: Vec<_> = all.tensors.keys().filter(of_file).collect();
        let tensors = names.iter().map(|&name| (name, &all.tensors[name]));
        safetensors::save(place(file), tensors)?;
        for name in names {
            let tensor = &all.tensors[name];
            total += tensor.len() * tensor.dtype().size();
            files.insert(name.clone(), Value::String(name_of(file)));
        }
    }
    bar.finish();
    let mut left = Vec::new();
    fs::write(folder.path().join("config.json"), text)?;
    if !input.is_file() {
        for entry in fs::read_dir(input)? {
            let file = entry?.path();
            let name = name_of(&file);
            // The folder that is being written may be in that of the model.
            if file.is_dir() && !name.starts_with('.') {
                left.push(name);
            } else if name.ends_with(".safetensors.index.json") {
                let index = json!({ "metadata": { "total_size": total }, "weight_map": files });
                fs::write(place(&file), serde_json::to_string_pretty(&index)?)?;
            } else if file.is_file() && !is_replaced(&name) {
                fs::copy(&file, place(&file)).map_err(|error| at(&file, error))?;
            }
        }
    }
    // A temporary folder is private, and a model is an ordinary folder.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(parent)?.permissions().mode() & 0o777;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode))?;
    }
    fs::rename(folder.path(), output).map_err(|error| at(output, error))?;
    // It is no longer there to be removed.
    let _ = folder.keep();
    left.sort();
    Ok(left)
}

/// Whether a file of the model is written anew, or would describe the weights as they were.
fn is_replaced(name: &str) -> bool {
    name.ends_with(".safetensors")
        || ["config.json", "quantize_config.json", "quant_config.json"].contains(&name)
}

fn gguf(options: &Options) -> Outcome {
    let (input, output) = (&*options.input, &*options.output);
    let Some(dtype) = options.to.dtype() else {
        let reason = "a .gguf file can become floats only; give --to f16, bf16 or f32";
        return Err(Failure::usage(reason));
    };
    if !has_extension(output, "safetensors") {
        let reason = format!("{}: give the name of a .safetensors file", output.display());
        return Err(Failure::usage(reason));
    }
    if output.exists() {
        return Err(at(output, "it exists already; give the name of a new file"));
    }
    let device = device(&options.device)?;
    let mut file = Reader::open(input)?;
    let names: Vec<_> = file.tensors().iter().map(|it| it.name.clone()).collect();
    let bar = Progress::new(TITLE, names.len());
    let mut tensors = Vec::new();
    for name in names {
        bar.step(&name);
        let values = file.dequantize(&name, dtype, &device).map_err(|error| at(input, error))?;
        tensors.push((name, values));
    }
    bar.finish();
    let count = tensors.len();
    safetensors::save(output, tensors)?;
    let text = format!("{}: {count} tensors, floats as {dtype}", output.display());
    Ok(Answer::new(text, json!({ "output": output, "tensors": count, "to": dtype.name() })))
}
