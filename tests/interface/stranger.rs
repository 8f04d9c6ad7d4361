//! A file from a stranger: the first byte chooses the format, the rest is the file. Reading gives tensors or an error,
//! and what was read and is written again is read as the same. The fuzz target `files` calls it with bytes of its own.

use std::io::Cursor;

use bitlane::{DType, Device, Tensor, npy, safetensors};

/// What was written must be read as the same.
fn comes_back(x: &Tensor) {
    let mut file = Vec::new();
    npy::write(&mut file, x).expect("what was read can be written");
    let y = npy::read(&*file, &Device::cpu()).expect("what was written can be read");
    assert!(x.bits_equal(&y).expect("the CPU can be read"));
}

/// Reads a file, and writes and reads again what was read. Panics if that is not the same.
pub fn check(bytes: &[u8]) {
    let Some((&format, file)) = bytes.split_first() else { return };
    let device = Device::cpu();
    match format % 3 {
        0 => {
            if let Ok(x) = npy::read(file, &device) {
                comes_back(&x);
            }
        }
        1 => {
            for (_, x) in npy::read_npz(Cursor::new(file), &device).unwrap_or_default() {
                comes_back(&x);
            }
        }
        _ => {
            if let Ok(tensors) = safetensors::from_bytes(file, &device) {
                for (name, x) in &tensors {
                    if x.dtype() == DType::C128 {
                        continue;
                    }
                    let file = safetensors::to_bytes([(name.as_str(), x)])
                        .expect("what was read can be written");
                    let again = safetensors::from_bytes(&file, &device)
                        .expect("what was written can be read");
                    assert!(x.bits_equal(&again[name]).expect("the CPU can be read"));
                }
            }
        }
    }
}
