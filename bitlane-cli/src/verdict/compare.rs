//! Runs comparisons, and what is the same in two tensors.

use bitlane::{Device, Error, ErrorKind, Tensor, introspect};
use serde_json::{Value, json};

use super::cases::Case;
use super::process::tell;
use crate::failure::Failure;

/// The digests of all cases, as the virtual device has computed them: eight hexadecimal digits each, in their order.
const DIGESTS: &str = include_str!("digests.txt");

/// The recorded digest of a case.
fn recorded(number: usize) -> Option<&'static str> {
    DIGESTS.split_ascii_whitespace().nth(number)
}

/// Compares a device with the CPU, from one of the cases on, and tells of each. Leaves after a fault of the driver.
pub fn tell_cases(device: &Device, cases: &[(usize, Case)], from: usize) -> Result<(), Failure> {
    tell("steps", cases.len().into())?;
    for (number, case) in cases.iter().skip(from) {
        tell("begin", case.name.as_str().into())?;
        introspect::record();
        let computed = case.on(device);
        let kernels = introspect::recorded();
        let is_fault = matches!(&computed, Err(error) if error.kind() == ErrorKind::Driver);
        let digest = digest(&computed);
        let words = match (case.on(&Device::cpu()), &computed) {
            (Ok(expected), Ok(computed)) => difference(&expected, computed),
            (Err(expected), Err(error)) if expected.kind() == error.kind() => None,
            (expected, computed) => {
                let words = |result: &Result<Vec<Plain>, Error>| match result {
                    Ok(results) => format!("{} results", results.len()),
                    Err(error) => error.to_string(),
                };
                Some(format!("cpu: {}; {device}: {}", words(&expected), words(computed)))
            }
        };
        tell(
            "done",
            json!({
                "number": number,
                "different": words,
                "is_refused": words.is_none() && computed.is_err(),
                "digest": digest,
                "recorded": recorded(*number),
                "kernels": kernels,
            }),
        )?;
        if is_fault {
            return tell_facts(device);
        }
    }
    tell_facts(device)?;
    Ok(tell("end", Value::Bool(true))?)
}

/// Tells to what kernels were compiled in fact, and what they need.
fn tell_facts(device: &Device) -> Result<(), Failure> {
    let kernels = introspect::loaded_kernels(device).unwrap_or_default().into_iter();
    let kernels: Vec<_> = kernels
        .map(|kernel| {
            json!({ "name": &*kernel.name, "registers": kernel.registers,
                    "local_bytes": kernel.local_bytes, "blocks": kernel.blocks })
        })
        .collect();
    Ok(tell("facts", json!({ "code": introspect::code(device)?, "kernels": kernels }))?)
}

/// A result, with zeros in place of NaNs.
#[derive(Clone)]
pub struct Plain {
    about: String,
    nan: Vec<u8>,
    bytes: Vec<u8>,
    size: usize,
}

impl Plain {
    /// Copies a tensor to the host. This waits for the device.
    pub fn new(tensor: &Tensor) -> Result<Plain, Error> {
        let mut copy = tensor.to_device(&Device::cpu())?.copy()?;
        let nan = copy.not_equal(&copy)?;
        copy.masked_fill(&nan, 0)?;
        let about = format!("{} {:?}", copy.dtype(), copy.shape());
        Ok(Plain {
            about,
            nan: nan.to_bytes()?,
            bytes: copy.to_bytes()?,
            size: copy.dtype().size(),
        })
    }
}

/// Returns a digest of results: FNV-1a of the bytes, folded to 32 bits.
fn digest(results: &Result<Vec<Plain>, Error>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    match results {
        Ok(results) => {
            for Plain { about, nan, bytes, .. } in results {
                [about.as_bytes(), nan, bytes].into_iter().for_each(&mut add);
            }
        }
        Err(error) => add(error.kind().to_string().as_bytes()),
    }
    format!("{:08x}", hash as u32 ^ (hash >> 32) as u32)
}

/// Describes how results differ, or returns `None` if they do not. All NaNs are equal.
fn difference(expected: &[Plain], found: &[Plain]) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} and {} results", expected.len(), found.len()));
    }
    expected.iter().zip(found).find_map(|(expected, found)| {
        let (about, size) = (&expected.about, expected.size);
        if *about != found.about {
            return Some(format!("{about} and {}", found.about));
        }
        let elements = expected.bytes.chunks(size).zip(&expected.nan);
        let others = found.bytes.chunks(size).zip(&found.nan);
        let mut wrong = elements.zip(others).enumerate().filter(|(_, (one, other))| one != other);
        let (first, (one, other)) = wrong.next()?;
        let bits = |(bytes, &nan): (&[u8], &u8)| match nan {
            0 => bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect(),
            _ => "NaN".to_owned(),
        };
        Some(format!(
            "{about}: {} elements differ, the first is number {first}: {} on the CPU, {} on the device",
            1 + wrong.count(),
            bits(one),
            bits(other)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases;

    fn plain(values: &[f32]) -> Vec<Plain> {
        let tensor = Tensor::from_slice(values, [values.len()], &Device::cpu()).unwrap();
        vec![Plain::new(&tensor).unwrap()]
    }

    #[test]
    fn every_bit_counts_but_those_of_nans() {
        let nans = [f32::NAN, f32::from_bits(0xffc0_1234)].map(|nan| plain(&[1.0, nan]));
        assert_eq!(difference(&nans[0], &nans[1]), None);
        let [one, other, zeros] = [[1.0, 0.0], [1.0, -0.0], [1.0, f32::NAN]].map(|x| plain(&x));
        let words = difference(&one, &other).unwrap();
        let said = "1 elements differ, the first is number 1: 00000000 on the CPU, 80000000";
        assert!(words.contains(said), "{words}");
        assert!(difference(&one, &zeros).unwrap().contains("NaN on the device"));
        let digests = [&one, &other, &zeros].map(|x| digest(&Ok(x.clone())));
        assert!(digests[0] != digests[1] && digests[0] != digests[2]);
    }

    /// `bitlane verdict --record` writes them anew. The quick sample of the virtual device, and a part of the cases on the CPU
    /// here, must have them.
    #[test]
    fn every_case_has_a_recorded_digest() {
        let cases = cases::all();
        assert_eq!(DIGESTS.split_ascii_whitespace().count(), cases.len());
        for (number, case) in cases.iter().enumerate().step_by(43) {
            let found = digest(&case.on(&Device::cpu()));
            assert_eq!(Some(&*found), recorded(number), "{}", case.name);
        }
    }
}
