//! Compares values with recorded results of the real libraries, each under its own rulebook.
//!
//! The crate must give every result in `goldens/*.jsonl`, unless the result does not follow from the library's rules
//! (`no_answers`) or the crate deviates on purpose (`deviations`). Every entry of the two lists must be needed.
//!
//! The CPU replays every record. On CUDA nearly every record compiles a kernel, so `BITLANE_GOLDENS=4` replays every fourth
//! one there; which ones differs from run to run, and `BITLANE_TURN` repeats a choice. It also
//! leaves out the transcendental functions, whose kernels take longest to compile and are compared with the model by
//! `operations`.

mod differing;
mod excuses;
mod operations;
mod record;
mod replay;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use self::excuses::{Excuse, deviations, no_answers};
use self::record::Record;
use self::replay::Case;
use crate::devices::devices;
use bitlane::Device;

/// The files, and the number of records in each.
const FILES: [(&str, &str, usize); 15] = [
    ("shift", include_str!("../../goldens/shift.jsonl"), 1127),
    ("copysign", include_str!("../../goldens/copysign.jsonl"), 638),
    ("copysign_grad", include_str!("../../goldens/copysign_grad.jsonl"), 32),
    ("atleast", include_str!("../../goldens/atleast.jsonl"), 252),
    ("binary", include_str!("../../goldens/binary.jsonl"), 502),
    ("modular", include_str!("../../goldens/modular.jsonl"), 353),
    ("functions", include_str!("../../goldens/functions.jsonl"), 516),
    ("unary", include_str!("../../goldens/unary.jsonl"), 254),
    ("elementary", include_str!("../../goldens/elementary.jsonl"), 780),
    ("transcendental", include_str!("../../goldens/transcendental.jsonl"), 620),
    ("select", include_str!("../../goldens/select.jsonl"), 218),
    ("sums", include_str!("../../goldens/sums.jsonl"), 415),
    ("reductions", include_str!("../../goldens/reductions.jsonl"), 731),
    ("losses", include_str!("../../goldens/losses.jsonl"), 396),
    ("float8", include_str!("../../goldens/float8.jsonl"), 174),
];

/// Where `BITLANE_GOLDENS` leaves out records, it leaves out all of these.
const CPU_ALONE: [&str; 1] = ["transcendental"];

#[test]
fn every_answer_of_the_libraries_is_given_or_departed_from_on_purpose() {
    let files = FILES.map(|(name, lines, len)| {
        let records = Record::read(lines);
        assert_eq!(records.len(), len, "{name}.jsonl");
        (name, records)
    });
    let (no_answers, deviations) = (no_answers(), deviations());
    for device in devices() {
        let choice = Choice::on(&device);
        let mut excused = [vec![0; no_answers.len()], vec![0; deviations.len()]];
        let mut wrong = Vec::new();
        for (name, records) in &files {
            if choice.step > 1 && CPU_ALONE.contains(name) {
                continue;
            }
            let [mut matched, mut unanswered, mut departed] = [0; 3];
            for case in replay(records, &choice, &device) {
                let excuse = |list: &[Excuse]| list.iter().position(|e| (e.applies)(&case));
                if case.agrees() {
                    matched += 1;
                } else if let Some(at) = excuse(&no_answers) {
                    unanswered += 1;
                    excused[0][at] += 1;
                } else if let Some(at) = excuse(&deviations) {
                    departed += 1;
                    excused[1][at] += 1;
                } else {
                    wrong.push(case.to_string());
                }
            }
            println!(
                "{device}: {name}: {matched} answers matched, {unanswered} without an answer of \
                 the rules, {departed} departed from on purpose"
            );
        }
        for (heading, list, counts) in [
            ("without an answer of the rules", &no_answers, &excused[0]),
            ("departed from on purpose", &deviations, &excused[1]),
        ] {
            println!("{device}: {} answers {heading}:", counts.iter().sum::<usize>());
            for (excuse, count) in list.iter().zip(counts) {
                println!("{count:6}  {}", excuse.reason);
            }
        }
        assert!(
            wrong.is_empty(),
            "{device}: {} answers are wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        for (excuse, count) in no_answers.iter().chain(&deviations).zip(excused.concat()) {
            assert!(
                choice.step > 1 || count > 0,
                "no answer needs this excuse, so strike it: {}",
                excuse.reason
            );
        }
    }
}

/// The records that are replayed: one of every `step`.
struct Choice {
    first: usize,
    step: usize,
}

impl Choice {
    fn on(device: &Device) -> Choice {
        let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
        let step = match device.to_string().as_str() {
            "cpu" => 1,
            _ => number("BITLANE_GOLDENS").unwrap_or(1).max(1),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let first = number("BITLANE_TURN").unwrap_or(now as usize) % step;
        if step > 1 {
            println!("{device}: one record in {step}; BITLANE_TURN={first} repeats this choice");
        }
        Choice { first, step }
    }
}

/// Runs the chosen records of a file on a device, on a few threads: on CUDA nearly every record needs a kernel compiled.
fn replay<'a>(records: &'a [Record], choice: &Choice, device: &Device) -> Vec<Case<'a>> {
    let next = AtomicUsize::new(choice.first);
    let run = || {
        let taken =
            std::iter::from_fn(|| records.get(next.fetch_add(choice.step, Ordering::Relaxed)));
        taken.flat_map(|record| cases(record, device)).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(2, |threads| threads.get().min(8));
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        all.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Runs a record under the rulebook of each library that answered it.
fn cases<'a>(record: &'a Record, device: &Device) -> Vec<Case<'a>> {
    let answers = record.answers.iter();
    let asked =
        answers.flat_map(|answer| answer.rulebooks.iter().map(move |&rules| (answer, rules)));
    asked.map(|(answer, rules)| Case::run(record, answer, rules, device)).collect()
}
