//! A GGUF file from a stranger. Reading gives tensors or an error. The fuzz target `files` calls it with bytes of its own.

use std::io::Cursor;

use bitlane::{DType, Device};
use bitlane_quant::gguf::{Reader, Type};

/// Reads a file with everything in it.
pub fn check(bytes: &[u8]) {
    let Ok(mut file) = Reader::new(Cursor::new(bytes)) else { return };
    // Names may be long, and metadata of any kind.
    let shown: usize = file.metadata().values().map(|value| value.to_string().len()).sum();
    assert!(shown <= 400 * bytes.len(), "metadata cannot be much more than the file");
    let device = Device::cpu();
    for info in file.tensors().to_vec() {
        let Ok(content) = file.read(&info.name, &device) else { continue };
        let size = content.len() * content.dtype().size();
        assert!(size <= bytes.len(), "{} is larger than the file", info.name);
        let values = file.dequantize(&info.name, DType::F32, &device);
        if let (Type::Blocks(_), Ok(values)) = (info.kind, values) {
            assert_eq!(values.shape(), info.shape);
        }
    }
}
