//! What a model's `config.json` says about the layout of its weights.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bitlane::{DType, Error, Result, Tensor};
use serde_json::{Map, Value, json};

use crate::fp4::Scales;
use crate::grouped::{Format, Scheme, Weights, Zeros};
use crate::{bitsandbytes, fp4, refused};

const OP: &str = "quantization_config";

/// The layout of the quantised weights of a model.
///
/// # Examples
///
/// ```
/// use bitlane_quant::{Config, Layout};
/// let config = Config::parse(r#"{"quant_method": "mxfp4"}"#)?.unwrap();
/// assert_eq!(config.layout().to_string(), "MXFP4");
/// assert!(!matches!(config.layout(), Layout::Grouped(_)));
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Integers in groups.
    Grouped(Format),
    /// The 4-bit codes of bitsandbytes; every tensor says which.
    Bitsandbytes,
    /// 4-bit floats.
    Fp4(Scales),
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::Grouped(format) => write!(f, "{format}"),
            Layout::Bitsandbytes => f.write_str("bitsandbytes, 4 bits"),
            Layout::Fp4(Scales::Mx) => f.write_str("MXFP4"),
            Layout::Fp4(Scales::Nv) => f.write_str("NVFP4"),
        }
    }
}

/// The weights of a layer, in whichever layout.
///
/// # Examples
///
/// ```
/// # use bitlane::{DType, Device, Tensor};
/// use bitlane_quant::Config;
/// let device = Device::cpu();
/// let tensors = [
///     ("experts.up_blocks".into(), Tensor::full([4, 1, 16], 0x22, DType::U8, &device)?),
///     ("experts.up_scales".into(), Tensor::full([4, 1], 127, DType::U8, &device)?),
/// ];
/// let config = Config::parse(r#"{"quant_method": "mxfp4"}"#)?.unwrap();
/// let layer = config.layer(&tensors.into(), "experts.up")?;
/// assert_eq!(layer.shape(), [4, 32]);
/// assert_eq!(layer.dequantize(DType::F16)?.cast(DType::F32)?.max(..)?.item::<f32>()?, 1.0);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[allow(
    clippy::large_enum_variant,
    reason = "a layer is a few tensors, and few are held at a time"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Layer {
    /// Integers in groups.
    Grouped(Weights),
    /// Codes of bitsandbytes.
    Bitsandbytes(bitsandbytes::Weights),
    /// 4-bit floats.
    Fp4(fp4::Weights),
}

impl Layer {
    /// Returns the shape of the values.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(layer: bitlane_quant::Layer) {
    /// println!("{:?}", layer.shape());
    /// # }
    /// ```
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Layer::Grouped(weights) => weights.shape().to_vec(),
            Layer::Bitsandbytes(weights) => weights.shape().to_vec(),
            Layer::Fp4(weights) => weights.shape(),
        }
    }

    /// Returns the values as `f16`, `bf16` or `f32`.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(layer: bitlane_quant::Layer) -> bitlane::Result<()> {
    /// let values = layer.dequantize(bitlane::DType::BF16)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Weights::dequantize`].
    pub fn dequantize(&self, dtype: DType) -> Result<Tensor> {
        match self {
            Layer::Grouped(weights) => weights.dequantize(dtype),
            Layer::Bitsandbytes(weights) => weights.dequantize(dtype),
            Layer::Fp4(weights) => weights.dequantize(dtype),
        }
    }
}

/// The object `quantization_config` of a model's `config.json`: how its weights are quantised.
///
/// # Examples
///
/// ```
/// use bitlane_quant::{Config, Layout};
/// use bitlane_quant::grouped::Format;
/// let text = r#"{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "zero_point": true}}"#;
/// let config = Config::parse(text)?.expect("it is quantised");
/// assert_eq!(config.layout(), &Layout::Grouped(Format::awq().group_size(128)));
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    layout: Layout,
    /// Whether every zero point is said to be in the middle.
    symmetric: bool,
    /// Whether groups of inputs do not follow one another.
    act_order: bool,
}

impl Config {
    /// Reads the text of a `config.json`, or of the object alone. `None` if it has no such object: the model is not quantised.
    ///
    /// An object alone may be that of an old `quantize_config.json` of AutoGPTQ or `quant_config.json` of AutoAWQ, which have no
    /// `quant_method`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// assert_eq!(Config::parse(r#"{"hidden_size": 64}"#)?, None);
    /// let error = Config::parse(r#"{"quant_method": "awq", "bits": 4, "version": "gemv"}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "quantization_config: version: gemv is another layout; only gemm can be read");
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] that names the field which is missing, or whose value stands for a layout that cannot be read.
    pub fn parse(text: &str) -> Result<Option<Config>> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| refused(OP, error.to_string()))?;
        let own = value.get("quantization_config").or_else(|| value.get("compression_config"));
        let own = own.filter(|own| !own.is_null());
        let fields = match own.unwrap_or(&value) {
            Value::Object(fields) => Fields(fields),
            other => return Err(refused(OP, format!("it is {other}, not an object"))),
        };
        let method = match fields.text("quant_method")? {
            Some(method) => method.to_ascii_lowercase(),
            None if fields.has(&["w_bit", "q_group_size"]) => "awq".into(),
            None if fields.has(&["bits", "group_size", "desc_act"]) => "gptq".into(),
            None if own.is_some() => return Err(missing("quant_method")),
            None => return Ok(None),
        };
        let config = match &*method {
            "gptq" => gptq(&fields)?,
            "awq" => awq(&fields)?,
            "compressed-tensors" => compressed_tensors(&fields)?,
            "bitsandbytes" => four_bits(&fields)?,
            "mxfp4" => Config::of(Layout::Fp4(Scales::Mx)),
            other => {
                let known = "gptq, awq, compressed-tensors, bitsandbytes and mxfp4";
                return Err(refused(
                    OP,
                    format!("quant_method: {other:?} is not known; known are {known}"),
                ));
            }
        };
        Ok(Some(config))
    }

    /// Creates the object for weights of this format.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// use bitlane_quant::grouped::Format;
    /// let config = Config::new(&Format::gptq(4).group_size(64))?.symmetric(true);
    /// assert_eq!(Config::parse(&config.to_json(&[]))?, Some(config));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the object cannot say what the format is: that one was subtracted from whole words.
    pub fn new(format: &Format) -> Result<Config> {
        if format.zeros() == Zeros::MinusOneInWords {
            let reason = "zeros: no field says that one was subtracted from whole words; use `Zeros::Stored` (gptq_v2)";
            return Err(refused(OP, reason.into()));
        }
        Ok(Config::of(Layout::Grouped(format.clone())))
    }

    fn of(layout: Layout) -> Config {
        Config { layout, symmetric: false, act_order: false }
    }

    /// Says that every zero point is in the middle of the codes (`sym`), which [`Config::layer`] checks.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// use bitlane_quant::grouped::Format;
    /// let config = Config::new(&Format::gptq(4))?.symmetric(true);
    /// assert!(config.to_json(&[]).contains(r#""sym":true"#));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn symmetric(self, symmetric: bool) -> Config {
        Config { symmetric, ..self }
    }

    /// Says that the groups of inputs do not follow one another (`desc_act`).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// use bitlane_quant::grouped::Format;
    /// let config = Config::new(&Format::gptq(4))?.act_order(true);
    /// assert!(config.to_json(&[]).contains(r#""desc_act":true"#));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn act_order(self, act_order: bool) -> Config {
        Config { act_order, ..self }
    }

    /// Returns whether the groups of inputs are said not to follow one another.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// use bitlane_quant::grouped::Format;
    /// assert!(!Config::new(&Format::awq())?.has_act_order());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn has_act_order(&self) -> bool {
        self.act_order
    }

    /// Returns the layout.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// let text = r#"{"quant_method": "gptq", "bits": 3, "group_size": -1, "checkpoint_format": "gptq_v2"}"#;
    /// let config = Config::parse(text)?.unwrap();
    /// assert_eq!(config.layout().to_string(), "GPTQ, 3 bits, one group, zero points Stored");
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the object as text. `plain` are the names of linear layers that are not quantised.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// use bitlane_quant::grouped::Format;
    /// let text = Config::new(&Format::awq().group_size(128))?.to_json(&["lm_head"]);
    /// assert!(text.contains(r#""modules_to_not_convert":["lm_head"]"#));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn to_json(&self, plain: &[&str]) -> String {
        let format = match &self.layout {
            Layout::Grouped(format) => format,
            Layout::Bitsandbytes => {
                return json!({ "quant_method": "bitsandbytes", "load_in_4bit": true }).to_string();
            }
            Layout::Fp4(Scales::Mx) => return json!({ "quant_method": "mxfp4" }).to_string(),
            Layout::Fp4(Scales::Nv) => {
                let weights = json!({ "num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16 });
                let group = json!({ "targets": ["Linear"], "weights": weights });
                let groups = json!({ "group_0": group });
                return json!({
                    "quant_method": "compressed-tensors",
                    "format": "nvfp4-pack-quantized",
                    "config_groups": groups,
                    "ignore": plain,
                })
                .to_string();
            }
        };
        let (bits, size) = (format.bits(), format.inputs_per_group());
        let all = size.map_or(json!(-1), |size| json!(size));
        let object = match format.scheme() {
            Scheme::Gptq => json!({
                "quant_method": "gptq",
                "bits": bits,
                "group_size": all,
                "sym": self.symmetric,
                "desc_act": self.act_order,
                "checkpoint_format": if format.zeros() == Zeros::Stored { "gptq_v2" } else { "gptq" },
                "pack_dtype": "int32",
            }),
            Scheme::Awq => json!({
                "quant_method": "awq",
                "bits": bits,
                "group_size": all,
                "zero_point": true,
                "version": "gemm",
                "modules_to_not_convert": plain,
            }),
            Scheme::CompressedTensors => json!({
                "quant_method": "compressed-tensors",
                "format": "pack-quantized",
                "quantization_status": "compressed",
                "config_groups": { "group_0": { "targets": ["Linear"], "weights": {
                    "num_bits": bits,
                    "type": "int",
                    "symmetric": format.zeros() == Zeros::Symmetric,
                    "strategy": if size.is_some() { "group" } else { "channel" },
                    "group_size": size,
                } } },
                "ignore": plain,
            }),
        };
        object.to_string()
    }

    /// Returns the names of the layers whose weights are among these tensors.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// use bitlane_quant::Config;
    /// use bitlane_quant::grouped::Format;
    /// let words = Tensor::zeros([4, 1], DType::I32, &Device::cpu())?;
    /// let tensors = [("model.proj.qweight".into(), words)].into();
    /// let config = Config::new(&Format::gptq(4))?;
    /// assert_eq!(config.layers(&tensors), ["model.proj"]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn layers(&self, tensors: &BTreeMap<String, Tensor>) -> Vec<String> {
        let endings: &[&str] = match &self.layout {
            Layout::Grouped(format) if format.scheme() == Scheme::CompressedTensors => {
                &[".weight_packed"]
            }
            Layout::Grouped(_) => &[".qweight"],
            Layout::Bitsandbytes => {
                &[".weight.quant_state.bitsandbytes__nf4", ".weight.quant_state.bitsandbytes__fp4"]
            }
            Layout::Fp4(Scales::Mx) => &["_blocks", ".weight_packed"],
            Layout::Fp4(Scales::Nv) => &[".weight_packed"],
        };
        let of = |full: &String| {
            Some(endings.iter().find_map(|ending| full.strip_suffix(ending))?.to_owned())
        };
        tensors.keys().filter_map(of).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Takes the weights of a layer from the tensors of a file, and checks that they are symmetric if the object says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::Config;
    /// use bitlane_quant::grouped::Format;
    /// let config = Config::new(&Format::gptq(4))?;
    /// assert!(config.layer(&Default::default(), "proj").is_err());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Weights::from_tensors`], and [`Error::InvalidArgument`] if zero points are not where `sym` says they are.
    pub fn layer(&self, tensors: &BTreeMap<String, Tensor>, layer: &str) -> Result<Layer> {
        let format = match &self.layout {
            Layout::Grouped(format) => format,
            Layout::Bitsandbytes => {
                let weights =
                    bitsandbytes::Weights::from_tensors(tensors, &format!("{layer}.weight"))?;
                return Ok(Layer::Bitsandbytes(weights));
            }
            Layout::Fp4(kind) => {
                return Ok(Layer::Fp4(fp4::Weights::from_tensors(*kind, tensors, layer)?));
            }
        };
        let weights = Weights::from_tensors(format, tensors, layer)?;
        let others = if self.symmetric { weights.asymmetric()? } else { 0 };
        if others == 0 {
            return Ok(Layer::Grouped(weights));
        }
        let middle = 1 << (format.bits() - 1);
        let reason = format!(
            "sym: {others} zero points of {layer} are not {middle}, as they are in symmetric weights; are they stored in another way than \
             {:?} says (checkpoint_format gptq or gptq_v2)?",
            format.zeros()
        );
        Err(refused(OP, reason))
    }
}

/// The fields of an object.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// Returns the first field with one of these names that is not null.
    fn get(&self, names: &[&str]) -> Option<&'a Value> {
        names.iter().filter_map(|&name| self.0.get(name)).find(|value| !value.is_null())
    }

    /// Whether all of these are there.
    fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.get(&[name]).is_some())
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.get(&[name])
            .map(|value| value.as_str().ok_or_else(|| not(name, "a text", value)))
            .transpose()
    }

    fn bool(&self, name: &str) -> Result<Option<bool>> {
        self.get(&[name])
            .map(|value| value.as_bool().ok_or_else(|| not(name, "a bool", value)))
            .transpose()
    }

    fn bits(&self, names: &[&str]) -> Result<usize> {
        let name = names[0];
        let value = self.get(names).ok_or_else(|| missing(name))?;
        let bits = value.as_u64().filter(|bits| (1..=8).contains(bits));
        bits.map(|bits| bits as usize).ok_or_else(|| not(name, "a number of 1 to 8 bits", value))
    }

    /// Returns the format with the group size, of which −1 stands for all inputs.
    fn grouped(&self, format: Format, names: &[&str]) -> Result<Format> {
        let name = names[0];
        let value = self.get(names).ok_or_else(|| missing(name))?;
        if value.as_i64() == Some(-1) {
            return Ok(format);
        }
        let size =
            value.as_u64().and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
        Ok(format.group_size(size.ok_or_else(|| not(name, "a number of inputs, or −1", value))?))
    }

    /// Returns which of these a field is, in letters of either case, and refuses one that stands for another layout.
    fn only<'b>(&self, name: &str, allowed: &[&'b str]) -> Result<Option<&'b str>> {
        let Some(given) = self.text(name)? else { return Ok(None) };
        let found = allowed.iter().find(|allowed| allowed.eq_ignore_ascii_case(given));
        found.copied().map(Some).ok_or_else(|| {
            let allowed = allowed.join(" and ");
            refused(OP, format!("{name}: {given} is another layout; only {allowed} can be read"))
        })
    }
}

fn missing(name: &str) -> Error {
    refused(OP, format!("{name}: it is missing"))
}

fn not(name: &str, what: &str, value: &Value) -> Error {
    refused(OP, format!("{name}: {value} is not {what}"))
}

fn gptq(fields: &Fields<'_>) -> Result<Config> {
    fields.only("pack_dtype", &["int32"])?;
    let version = |name| fields.only(name, &["gptq", "gptq_v2"]);
    let version = version("checkpoint_format")?.or(version("format")?);
    if fields.get(&["dynamic"]).is_some_and(|value| value != &json!({})) {
        let reason = "dynamic: layers with formats of their own cannot be read";
        return Err(refused(OP, reason.into()));
    }
    let bits = fields.bits(&["bits", "w_bit"])?;
    let symmetric = fields.bool("sym")?.unwrap_or(false);
    let format = match version {
        Some("gptq_v2") => Format::gptq_v2(bits),
        // GPTQModel subtracts one from whole words.
        _ if !symmetric && made_by(fields, "gptqmodel") => {
            Format::gptq(bits).with_zeros(Zeros::MinusOneInWords)
        }
        _ => Format::gptq(bits),
    };
    let format = fields.grouped(format, &["group_size", "q_group_size"])?;
    let act_order = fields.bool("desc_act")?.unwrap_or(false);
    Ok(Config { layout: Layout::Grouped(format), symmetric, act_order })
}

/// Whether the metadata names a program as the one that wrote the file.
fn made_by(fields: &Fields<'_>, program: &str) -> bool {
    let quantizer = fields.get(&["meta"]).and_then(|meta| meta.get("quantizer"));
    let is_it = |value: &Value| {
        let name = value.as_str().map(str::to_ascii_lowercase);
        name.is_some_and(|name| name.starts_with(program))
    };
    quantizer.is_some_and(|value| match value {
        Value::Array(names) => names.iter().any(is_it),
        name => is_it(name),
    })
}

fn awq(fields: &Fields<'_>) -> Result<Config> {
    let bits = fields.bits(&["bits", "w_bit"])?;
    if bits != 4 {
        return Err(refused(OP, format!("bits: AWQ has 4 bits, not {bits}")));
    }
    fields.only("version", &["gemm"])?;
    fields.only("backend", &["autoawq"])?;
    if fields.bool("zero_point")? == Some(false) {
        let reason =
            "zero_point: weights without zero points are another layout, which cannot be read";
        return Err(refused(OP, reason.into()));
    }
    let format = fields.grouped(Format::awq(), &["group_size", "q_group_size"])?;
    Ok(Config::of(Layout::Grouped(format)))
}

fn compressed_tensors(fields: &Fields<'_>) -> Result<Config> {
    let formats = ["pack-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized"];
    // Without it, words of another format would be read as integers.
    let format = fields.only("format", &formats)?.ok_or_else(|| missing("format"))?;
    let floats = match format {
        "mxfp4-pack-quantized" => Some(Scales::Mx),
        "nvfp4-pack-quantized" => Some(Scales::Nv),
        _ => None,
    };
    let groups = fields.get(&["config_groups"]).ok_or_else(|| missing("config_groups"))?;
    let groups = groups.as_object().ok_or_else(|| not("config_groups", "an object", groups))?;
    let weights: BTreeSet<String> =
        groups.values().map(|group| group["weights"].to_string()).collect();
    let Some((name, group)) = groups.iter().next().filter(|_| weights.len() == 1) else {
        let reason =
            format!("config_groups: {} kinds of weights, of which one can be read", weights.len());
        return Err(refused(OP, reason));
    };
    let Some(weights) = group.get("weights").and_then(Value::as_object) else {
        return Err(missing(&format!("config_groups.{name}.weights")));
    };
    let weights = Fields(weights);
    weights.only("type", if floats.is_some() { &["float"] } else { &["int"] })?;
    if let Some(kind) = floats {
        let (bits, size) = (weights.bits(&["num_bits"])?, weights.get(&["group_size"]));
        if bits != 4 || size.is_some_and(|size| size.as_u64() != Some(kind.block_size() as u64)) {
            let reason =
                format!("group_size: {bits} bits in such groups are not {}", Layout::Fp4(kind));
            return Err(refused(OP, reason));
        }
        return Ok(Config::of(Layout::Fp4(kind)));
    }
    // The library has had `false` for none, and has taken groups in another order (`true`, `group`) back.
    if weights.get(&["actorder"]) != Some(&Value::Bool(false)) {
        weights.only("actorder", &["weight", "static"])?;
    }
    let bits = weights.bits(&["num_bits"])?;
    let symmetric = weights.bool("symmetric")?.unwrap_or(true);
    let format = Format::compressed_tensors(bits);
    let format = if symmetric { format } else { format.with_zeros(Zeros::Stored) };
    let format = match weights.only("strategy", &["group", "channel"])? {
        Some("channel") => format,
        _ => weights.grouped(format, &["group_size"])?,
    };
    Ok(Config { layout: Layout::Grouped(format), symmetric, act_order: false })
}

fn four_bits(fields: &Fields<'_>) -> Result<Config> {
    if fields.bool("load_in_4bit")? != Some(true) {
        let reason = "load_in_4bit: only the 4-bit codes of bitsandbytes can be read";
        return Err(refused(OP, reason.into()));
    }
    fields.only("bnb_4bit_quant_type", &["nf4", "fp4"])?;
    Ok(Config::of(Layout::Bitsandbytes))
}
