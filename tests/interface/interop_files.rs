//! Files of NumPy and safetensors: round trips, and malformed files.

use std::io::Cursor;

use crate::corpus::corpus;
use crate::counting::largest_allocation;
use crate::stranger;
use bitlane::{DType, Device, ErrorKind, Tensor, npy, safetensors};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// Returns a tensor with all kinds of bit patterns.
fn sample(dtype: DType, shape: &[usize]) -> Tensor {
    let len = shape.iter().product::<usize>() * dtype.size();
    let bytes: Vec<u8> = (0..len).map(|k| (k * 37 + 11) as u8).collect();
    let bytes = if dtype == DType::Bool { bytes.iter().map(|b| b & 1).collect() } else { bytes };
    Tensor::from_bytes(dtype, &bytes, shape, &Device::cpu()).unwrap()
}

fn npy_bytes(tensor: &Tensor) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, tensor).unwrap();
    bytes
}

#[test]
fn the_corpus_of_the_fuzzer_passes() {
    for (name, bytes) in corpus("files") {
        eprintln!("{name}");
        stranger::check(&bytes);
    }
}

#[test]
fn every_dtype_and_shape_comes_back() {
    for &dtype in DType::ALL {
        for shape in [&[][..], &[1], &[3, 0], &[2, 3, 4], &[1, 2, 1, 2, 1, 2, 1, 2]] {
            let x = sample(dtype, shape);
            if !matches!(dtype, DType::F8E4M3FN | DType::F8E5M2) {
                let y = npy::read(&*npy_bytes(&x), &Device::cpu()).unwrap();
                assert!(x.bits_equal(&y).unwrap(), "{dtype} {shape:?}");
            }
            if dtype != DType::C128 {
                let bytes = safetensors::to_bytes([("x", &x)]).unwrap();
                let y = &safetensors::from_bytes(&bytes, &Device::cpu()).unwrap()["x"];
                assert!(x.bits_equal(y).unwrap(), "{dtype} {shape:?}");
            }
        }
    }
}

#[test]
fn floats_of_8_bits_are_refused_by_name() {
    for dtype in [DType::F8E4M3FN, DType::F8E5M2] {
        let x = sample(dtype, &[2, 3]);
        let error = npy::write(&mut Vec::new(), &x).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File);
        assert_eq!(
            error.to_string(),
            format!(
                "npy: the elements are {dtype}, which the format does not have; save `x.bitcast(DType::U8)`"
            )
        );
        let bits = npy_bytes(&x.bitcast(DType::U8).unwrap());
        let y = npy::read(&*bits, &Device::cpu()).unwrap().bitcast(dtype).unwrap();
        assert!(x.bits_equal(&y).unwrap());
    }
    // As ml_dtypes describes either of them.
    for descr in ["<V1", "<f1"] {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (3,), }}\n");
        let len = (text.len() as u16).to_le_bytes();
        let file = [b"\x93NUMPY\x01\x00", &len[..], text.as_bytes(), &[0; 3]].concat();
        let error = npy::read(&*file, &Device::cpu()).unwrap_err().to_string();
        assert!(error.contains("save floats of 8 bits as `x.view(numpy.uint8)`"), "{error}");
    }
}

#[test]
fn the_order_of_axes_is_kept_where_the_format_can() {
    let x = sample(DType::I32, &[2, 3, 4]);
    let turned = x.permute([2, 1, 0]).unwrap();
    let back = npy::read(&*npy_bytes(&turned), &Device::cpu()).unwrap();
    assert_eq!((back.shape(), back.strides()), (turned.shape(), turned.strides()));
    assert!(back.bits_equal(&turned).unwrap());
    for view in [x.permute([1, 0, 2]).unwrap(), x.flip(1).unwrap(), x.slice(2, 1..3).unwrap()] {
        let back = npy::read(&*npy_bytes(&view), &Device::cpu()).unwrap();
        assert!(back.is_contiguous() && back.bits_equal(&view).unwrap());
    }
}

#[test]
fn names_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let (x, y) = (sample(DType::F64, &[2]), sample(DType::Bool, &[2, 2]));
    let path = folder.path().join("both.npz");
    npy::save_npz(&path, [("x", &x), ("the other", &y)]).unwrap();
    let arrays = npy::load_npz(&path, &Device::cpu()).unwrap();
    let names: Vec<_> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x", "the other"]);
    assert!(arrays[1].1.bits_equal(&y).unwrap());
    let error = npy::load(&path, &Device::cpu()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert_eq!(error.to_string(), format!("npy: {}: this is not a .npy file", path.display()));
    let error = safetensors::to_bytes([("x", sample(DType::C128, &[1]))]).unwrap_err();
    assert_eq!(error.to_string(), "safetensors: x is of c128, which the format does not have");
    // A failed save leaves no file behind, and an existing one unchanged.
    let missing = folder.path().join("no/such/folder/x.npy");
    assert_eq!(npy::save(missing, &x).unwrap_err().kind(), ErrorKind::File);
    let before = std::fs::read(&path).unwrap();
    let twice = npy::save_npz(&path, [("x", &x), ("x", &y)]);
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::File);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

/// What the file that is replaced allowed is what the new one allows, whatever the process's mask would give.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let x = sample(DType::U8, &[4]);
    let mode = |path: &_| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let ordinary = folder.path().join("ordinary");
    fs::write(&ordinary, "").unwrap();
    for (name, save) in [
        ("x.npy", &(|path: &_| npy::save(path, &x)) as &dyn Fn(&std::path::Path) -> _),
        ("x.npz", &|path| npy::save_npz(path, [("x", &x)])),
        ("x.safetensors", &|path| safetensors::save(path, [("x", &x)])),
    ] {
        let path = folder.path().join(name);
        save(&path).unwrap();
        assert_eq!(mode(&path), mode(&ordinary), "{name}: a new file is an ordinary one");
        for kept in [0o600, 0o640, 0o666, 0o444] {
            fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            save(&path).unwrap();
            assert_eq!(mode(&path), kept, "{name}");
        }
    }
    // No temporary file is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn a_header_that_promises_much_allocates_nothing() {
    let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000, 100), }";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((huge.len() as u16).to_le_bytes());
    file.extend(huge.as_bytes());
    file.extend([0; 100]);
    let (result, largest) = largest_allocation(|| npy::read(&*file, &Device::cpu()));
    let message = result.unwrap_err().to_string();
    assert_eq!(message, "npy: the file ends 799999999900 bytes too early");
    assert!(largest < 1 << 16, "{largest} bytes were allocated");
    let overflow = huge.replace("1000000", "9000000000000000000");
    let mut file = b"\x93NUMPY\x02\x00".to_vec();
    file.extend((overflow.len() as u32).to_le_bytes());
    file.extend(overflow.as_bytes());
    let error = npy::read(&*file, &Device::cpu()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidShape);
}

/// Mutates a file: replaces bytes, cuts out a part, and repeats a part.
fn mutated(
    file: &[u8],
    bytes: &[(usize, u8)],
    cut: (usize, usize),
    repeat: (usize, usize),
) -> Vec<u8> {
    let mut file = file.to_vec();
    for &(place, byte) in bytes {
        let place = place % file.len();
        file[place] = byte;
    }
    let range = |file: &[u8], (start, len): (usize, usize)| {
        let start = start % file.len();
        start..(start + len % 16).min(file.len())
    };
    let repeated = file[range(&file, repeat)].to_vec();
    let place = repeat.1 % file.len();
    file.splice(place..place, repeated);
    let gone = range(&file, cut);
    file.drain(gone);
    file
}

proptest! {
    #![proptest_config(Config { cases: 2000, failure_persistence: None, ..Config::default() })]

    /// Reading a mutated file gives a tensor or an error, and allocates no more than a small multiple of the file's
    /// size.
    #[test]
    fn files_from_strangers(
        which in 0..4usize,
        bytes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        cut in any::<(usize, usize)>(),
        repeat in any::<(usize, usize)>(),
    ) {
        let x = sample(DType::F32, &[2, 3]);
        let y = sample(DType::Bool, &[5]);
        let mut npz = Cursor::new(Vec::new());
        npy::write_npz(&mut npz, [("x", &x), ("y", &y)]).unwrap();
        let file = match which {
            0 => npy_bytes(&x),
            1 => npy_bytes(&y),
            2 => npz.into_inner(),
            _ => safetensors::to_bytes([("x", &x), ("y", &y)]).unwrap(),
        };
        let file = mutated(&file, &bytes, cut, repeat);
        let device = Device::cpu();
        let ((), largest) = largest_allocation(|| match which {
            0 | 1 => drop(npy::read(&*file, &device)),
            2 => drop(npy::read_npz(Cursor::new(&file), &device)),
            _ => drop(safetensors::from_bytes(&file, &device)),
        });
        // Readers have internal buffers of fixed sizes.
        prop_assert!(largest < 1 << 18, "{} bytes were allocated for a file of {}", largest, file.len());
    }
}
