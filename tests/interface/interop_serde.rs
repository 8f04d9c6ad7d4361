//! Tensors through serde: a human-readable format, a binary one, and invalid input.

use bitlane::{DType, Device, PartialSum, Rules, Tensor};

fn special() -> Tensor {
    let values = [0.0f32, -0.0, f32::INFINITY, f32::from_bits(0x7fc0_1234), 1e-45, 0.1];
    Tensor::from_slice(&values, (2, 3), &Device::cpu()).unwrap()
}

#[test]
fn json_keeps_every_bit() {
    let tensor = special();
    let text = serde_json::to_string(&tensor).unwrap();
    let expected = concat!(
        r#"{"dtype":"f32","shape":[2,3],"data":""#,
        r#"00000000000000800000807f3412c07f01000000cdcccc3d"}"#
    );
    assert_eq!(text, expected);
    let read: Tensor = serde_json::from_str(&text).unwrap();
    assert!(read.bits_equal(&tensor).unwrap());
    // A reader from which the deserialiser cannot borrow.
    let read: Tensor = serde_json::from_reader(text.as_bytes()).unwrap();
    assert!(read.bits_equal(&tensor).unwrap());
}

#[test]
fn every_dtype_and_view_comes_back() {
    for &dtype in DType::ALL {
        let bytes: Vec<u8> = (0..6 * dtype.size()).map(|i| (i % 2) as u8).collect();
        let tensor = Tensor::from_bytes(dtype, &bytes, (2, 3), &Device::cpu()).unwrap();
        for view in [tensor.clone(), tensor.transpose(0, 1).unwrap(), tensor.reshape(6).unwrap()] {
            let bytes = postcard::to_allocvec(&view).unwrap();
            let read: Tensor = postcard::from_bytes(&bytes).unwrap();
            assert!(read.bits_equal(&view).unwrap(), "{dtype}");
            let text = serde_json::to_string(&view).unwrap();
            assert!(serde_json::from_str::<Tensor>(&text).unwrap().bits_equal(&view).unwrap());
        }
        let name = serde_json::to_string(&dtype).unwrap();
        assert_eq!(name, format!("\"{dtype}\""));
        assert_eq!(serde_json::from_str::<DType>(&name).unwrap(), dtype);
    }
    for &rules in Rules::ALL {
        let name = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<Rules>(&name).unwrap(), rules);
    }
}

#[test]
fn bad_input_is_refused_by_what_is_wrong() {
    let refused = |text: &str, reason: &str| {
        let error = serde_json::from_str::<Tensor>(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    };
    refused(r#"{"dtype":"f33","shape":[1],"data":"00000000"}"#, "unknown name \"f33\"");
    refused(r#"{"dtype":"u8","shape":[2],"data":"000"}"#, "hexadecimal");
    refused(r#"{"dtype":"u8","shape":[2],"data":"0g00"}"#, "hexadecimal");
    refused(r#"{"dtype":"u8","shape":[2],"data":"é0"}"#, "hexadecimal");
    refused(r#"{"dtype":"u8","shape":[3],"data":"0000"}"#, "3");
    refused(r#"{"dtype":"u8","shape":[18446744073709551615,2],"data":""}"#, "");
    refused(r#"{"dtype":"bool","shape":[1],"data":"02"}"#, "bool");
    refused(r#"{"dtype":"u8","shape":[1]}"#, "missing field `data`");
    // A length far beyond the input.
    let mut bytes = postcard::to_allocvec(&special()).unwrap();
    let data = bytes.len() - 25;
    bytes.splice(data..=data, [0xff, 0xff, 0xff, 0xff, 0x7f]);
    postcard::from_bytes::<Tensor>(&bytes).unwrap_err();
}

#[test]
fn partial_sums_arrive_unrounded() {
    let device = Device::cpu();
    let x = Tensor::from_slice(&[0.1f32, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [7], &device).unwrap();
    let head = x.narrow(0, 0, 3).unwrap().partial_sum(..3).unwrap();
    let tail = x.narrow(0, 3, 4).unwrap().partial_sum(3..).unwrap();
    let text = serde_json::to_string(&head).unwrap();
    let bytes = postcard::to_allocvec(&tail).unwrap();
    let head: PartialSum = serde_json::from_str(&text).unwrap();
    let tail: PartialSum = postcard::from_bytes(&bytes).unwrap();
    let sum = PartialSum::merge(tail, head).unwrap().finish(DType::F64).unwrap();
    let whole = x.cast(DType::F64).unwrap().sum(..).unwrap();
    assert!(sum.bits_equal(&whole).unwrap());
    // Ranges, shapes, dtypes and reductions that the totals do not have are refused.
    for (from, to) in [
        (r#""end":3"#, r#""end":4"#),
        (r#""start":0"#, r#""start":9"#),
        (r#""shape":[],"nodes""#, r#""shape":[2],"nodes""#),
        (r#""sum","dtype":"f64""#, r#""sum","dtype":"f32""#),
        (r#""op":"sum""#, r#""op":"max""#),
    ] {
        assert!(text.contains(from), "{text}");
        let error = serde_json::from_str::<PartialSum>(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains("do not fit its range"), "{error}");
    }
}
