//! How fast 16 M weights are dequantised and packed, as a share of the speed at which as many bytes are copied.
//!
//! `cargo bench -p bitlane-quant` prints medians of alternating rounds. `-- WORD …` takes only the cases that contain a
//! word, and `-- --rounds N` that many rounds. The copy runs on as many threads as bitlane uses, into memory that is there
//! already.
//!
//! `cargo xtask bench --grid quant` starts this with `--worker THREADS`, and asks for one case at a time to compare it with other
//! libraries.

#[path = "../../benches/peers/triad.rs"]
mod triad;
#[path = "../../benches/peers/worker.rs"]
mod worker;

use std::env;
use std::hint::black_box;
use std::rc::Rc;
use std::thread;
use std::time::Instant;

use bitlane::{DType, Device, Result, Tensor, cpu};
use bitlane_quant::fp4;
use bitlane_quant::gguf::{self, Kind};
use bitlane_quant::grouped::{Format, Weights};

const SIDE: usize = 4096;

/// Something to measure.
type Call = Box<dyn FnMut()>;

/// One thing to measure, by name.
struct Case {
    name: String,
    /// The bytes that it reads and writes.
    bytes: usize,
    run: Rc<dyn Fn() -> Result<Tensor>>,
}

fn main() -> Result<()> {
    let mut words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    if let ["--worker", threads] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return serve(threads.parse().unwrap_or(1));
    }
    let mut rounds = 15;
    if let Some(at) = words.iter().position(|word| word == "--rounds") {
        let number = words.drain(at..).nth(1).and_then(|number| number.parse().ok());
        rounds = number.unwrap_or(rounds);
    }
    let threads = cpu::threads();
    println!("16 M weights, {threads} threads, medians of {rounds} alternating rounds");
    println!("{:34} {:>9} {:>9} {:>9} {:>7}", "", "ms", "copy, ms", "GB/s", "share");
    for case in cases()? {
        if !words.is_empty() && !words.iter().any(|word| case.name.contains(word.as_str())) {
            continue;
        }
        let half = case.bytes / 2;
        let (from, mut to) = (vec![1u8; half], vec![0u8; half]);
        let (mut own, mut copies) = (Vec::new(), Vec::new());
        for round in 0..rounds + 2 {
            let start = Instant::now();
            black_box((case.run)()?);
            let first = start.elapsed().as_secs_f64() * 1e3;
            let start = Instant::now();
            copy(&from, &mut to, threads);
            black_box(&to);
            // The first rounds get the memory and wake the threads.
            if round >= 2 {
                own.push(first);
                copies.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        let (own, copied) = (median(own), median(copies));
        let speed = case.bytes as f64 / own / 1e6;
        let share = 100.0 * copied / own;
        println!("{:34} {own:9.2} {copied:9.2} {speed:9.1} {share:6.0}%", case.name);
    }
    Ok(())
}

/// Answers `cargo xtask bench`.
fn serve(threads: usize) -> Result<()> {
    cpu::set_threads(threads);
    let all = cases()?;
    let served = worker::serve(|case| {
        let words: Vec<&str> = case.split(' ').collect();
        let &[kind, way, _, _] = words.as_slice() else { return None };
        if kind == "triad" {
            return Some(triad::prepare(SIDE * SIDE, threads));
        }
        let kind = match kind {
            "gptq4" => "GPTQ 4".into(),
            "awq4" => "AWQ 4".into(),
            other => format!("GGUF {}", other.to_uppercase()),
        };
        let name = format!("{kind} {}", way.replace('_', " "));
        let run = Rc::clone(&all.iter().find(|case| case.name == name)?.run);
        Some(Box::new(move || drop(black_box(run().expect("other measurements run it, too")))))
    });
    served.map_err(|error| bitlane::Error::File { op: "bench", reason: error.to_string() })
}

fn cases() -> Result<Vec<Case>> {
    let device = Device::cpu();
    let len = SIDE * SIDE;
    // Numbers that look random, from a hash of the place.
    let places = Tensor::arange(len, DType::I64, &device)?;
    let mixed = (places * 0x9e37_79b9_7f4a_7c15u64 as i64)?;
    let random = mixed.bitwise_right_shift(40, bitlane::Shift::Logical)?;
    let values = ((random.cast(DType::F32)? / 8_388_608.0)? - 1.0)?.reshape([SIDE, SIDE])?;
    let scales = Tensor::full([SIDE, SIDE / 128], 0.13, DType::F16, &device)?;
    let zeros = Tensor::full([SIDE, SIDE / 128], 7, DType::U8, &device)?;
    let mut cases = Vec::new();
    for format in [Format::gptq(4), Format::awq(), Format::compressed_tensors(4)] {
        let format = format.group_size(128);
        let symmetric = format == Format::compressed_tensors(4).group_size(128);
        let zeros = (!symmetric).then_some(&zeros);
        let weights = Weights::quantize(&format, &values, &scales, zeros, None)?;
        let name = format!("{} 4", format.scheme());
        for dtype in [DType::F16, DType::F32] {
            let own = weights.clone();
            cases.push(Case {
                name: format!("{name} to {dtype}"),
                bytes: len / 2 + len * dtype.size(),
                run: Rc::new(move || own.dequantize(dtype)),
            });
        }
        let (format, values, scales, zeros) =
            (format.clone(), values.clone(), scales.clone(), zeros.cloned());
        cases.push(Case {
            name: format!("{name} from f32"),
            bytes: len / 2 + len * 4,
            run: Rc::new(move || {
                let made = Weights::quantize(&format, &values, &scales, zeros.as_ref(), None)?;
                Ok(made.tensors()?.swap_remove(0).1)
            }),
        });
    }
    let formats = [Format::gptq(4), Format::awq()].map(|format| format.group_size(128));
    for (from, to) in [(&formats[0], &formats[1]), (&formats[1], &formats[0])] {
        let weights = Weights::quantize(from, &values, &scales, Some(&zeros), None)?;
        let to = to.clone();
        cases.push(Case {
            name: format!("{} 4 to {}", from.scheme(), to.scheme()),
            bytes: len,
            run: Rc::new(move || Ok(weights.repack(&to)?.tensors()?.swap_remove(0).1)),
        });
    }
    for kind in [Kind::Q4_0, Kind::Q8_0, Kind::MXFP4] {
        let blocks = gguf::quantize(kind, &values.reshape([len])?)?;
        let bytes = blocks.len();
        for dtype in [DType::F16, DType::F32] {
            let own = blocks.clone();
            cases.push(Case {
                name: format!("GGUF {kind} to {dtype}"),
                bytes: bytes + len * dtype.size(),
                run: Rc::new(move || gguf::dequantize(kind, &own, dtype)),
            });
        }
        let values = values.reshape([len])?;
        cases.push(Case {
            name: format!("GGUF {kind} from f32"),
            bytes: bytes + len * 4,
            run: Rc::new(move || gguf::quantize(kind, &values)),
        });
    }
    let weights = fp4::Weights::quantize_mxfp4(&values)?;
    for dtype in [DType::F16, DType::F32] {
        let own = weights.clone();
        cases.push(Case {
            name: format!("MXFP4 to {dtype}"),
            bytes: len / 2 + len / 32 + len * dtype.size(),
            run: Rc::new(move || own.dequantize(dtype)),
        });
    }
    cases.push(Case {
        name: "MXFP4 from f32".into(),
        bytes: len / 2 + len / 32 + len * 4,
        run: Rc::new(move || Ok(fp4::Weights::quantize_mxfp4(&values)?.into_parts().0)),
    });
    Ok(cases)
}

/// Copies on some threads.
fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    let size = from.len().div_ceil(threads.max(1)).max(1);
    thread::scope(|scope| {
        for (from, to) in from.chunks(size).zip(to.chunks_mut(size)) {
            scope.spawn(|| to.copy_from_slice(from));
        }
    });
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
