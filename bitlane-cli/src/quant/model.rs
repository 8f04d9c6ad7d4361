//! The files of a model.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use bitlane::{Device, Tensor, safetensors};
use bitlane_quant::Config;
use serde_json::Value;

use crate::failure::Failure;

/// A model in a folder.
pub struct Model {
    /// The files with tensors, by their names.
    pub files: Vec<PathBuf>,
    /// The text of `config.json`.
    pub text: String,
    pub config: Config,
}

impl Model {
    /// Finds the files of a model in a folder, or one file and the `config.json` beside it.
    pub fn open(path: &Path) -> Result<Model, Failure> {
        let is_file = path.is_file();
        let folder = if is_file { path.parent().unwrap_or(path) } else { path };
        let mut files = Vec::new();
        if is_file && !has_extension(path, "safetensors") {
            return Err(at(path, "it is neither a .safetensors nor a .gguf file"));
        } else if is_file {
            files.push(path.to_owned());
        } else {
            let entries = fs::read_dir(path).map_err(|error| at(path, error))?;
            for entry in entries {
                let file = entry.map_err(|error| at(path, error))?.path();
                files.extend(has_extension(&file, "safetensors").then_some(file));
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(at(path, "there is no .safetensors file"));
        }
        let place = ["config.json", "quantize_config.json"].map(|name| folder.join(name));
        let mut found = None;
        for place in place.iter().filter(|place| place.exists()) {
            let text = fs::read_to_string(place).map_err(|error| at(place, error))?;
            match Config::parse(&text).map_err(|error| at(place, error))? {
                Some(config) if found.is_none() => found = Some((text, config)),
                _ => {}
            }
        }
        let (text, config) = found.ok_or_else(|| {
            let reason = "it has no quantization_config, which says how weights are packed";
            match place[0].exists() {
                true => at(&place[0], reason),
                false => at(&place[0], "there is no such file; it says how weights are packed"),
            }
        })?;
        Ok(Model { files, text, config })
    }

    /// Loads every tensor, with the number of its file. Tells before which file it is.
    pub fn load(&self, device: &Device, tell: impl Fn(&Path)) -> Result<Tensors, Failure> {
        let (mut tensors, mut file_of) = (BTreeMap::new(), BTreeMap::new());
        for (number, file) in self.files.iter().enumerate() {
            tell(file);
            for (name, tensor) in safetensors::load(file, device)? {
                if file_of.insert(name.clone(), number).is_some() {
                    return Err(at(file, format!("{name} is in another file already")));
                }
                tensors.insert(name, tensor);
            }
        }
        Ok(Tensors { tensors, file_of })
    }

    /// Returns `config.json` with another quantization_config, or with none.
    pub fn text_with(&self, config: Option<String>) -> Result<String, Failure> {
        let mut value: Value = serde_json::from_str(&self.text)?;
        let parsed = config.map(|text| serde_json::from_str::<Value>(&text)).transpose()?;
        // Alone in its file, the object is the whole text.
        if value.get("quant_method").is_some() {
            return Ok(parsed.unwrap_or_else(|| serde_json::json!({})).to_string());
        }
        if let Some(fields) = value.as_object_mut() {
            fields.remove("compression_config");
            fields.remove("quantization_config");
            fields.extend(parsed.map(|config| ("quantization_config".into(), config)));
        }
        Ok(serde_json::to_string_pretty(&value)?)
    }
}

/// The tensors of a model.
pub struct Tensors {
    pub tensors: BTreeMap<String, Tensor>,
    /// Which file each belongs to.
    pub file_of: BTreeMap<String, usize>,
}

/// Whether a path ends like this.
pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// Creates the error of a path.
pub fn at(path: &Path, reason: impl std::fmt::Display) -> Failure {
    format!("{}: {reason}", path.display()).into()
}
