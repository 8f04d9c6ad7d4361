//! The verdict: runs each part in processes of its own, and makes a page and a file of what they tell.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use bitlane::introspect;
use serde_json::{Map, Value, json};

use super::cases::LAYOUTS;
use super::process::{self, PATIENCE, Told};
use super::{Options, speed};
use crate::answer::{Answer, Outcome, columns};
use crate::failure::Failure;
use crate::operands::device;

/// The maximum number of differences that are printed.
const SHOWN: usize = 10;

/// What is known so far.
#[derive(Default)]
struct Report {
    rows: Vec<Vec<String>>,
    /// Lines below the rows.
    differences: Vec<String>,
    json: Map<String, Value>,
    is_faulty: bool,
}

impl Report {
    fn row(&mut self, name: impl Into<String>, words: impl Into<String>) {
        self.rows.push(vec![name.into(), words.into()]);
    }

    /// Adds a row for something that went wrong.
    fn fault(&mut self, name: &str, words: &str) {
        self.is_faulty = true;
        self.row(name, format!("FAILED: {words}"));
    }

    fn unless_complete(&mut self, name: &str, told: &Told) {
        if let Err(words) = &told.outcome {
            self.fault(name, &format!("not all of it was run: {words}"));
        }
    }
}

/// Runs a part; `code` is what kernels are to be compiled to, unless that is left to the device.
fn part(
    name: &'static str,
    code: Option<&str>,
    options: &Options,
    take: impl FnMut(&str, Result<Value, String>),
) -> Told {
    let command = |from: usize| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["verdict", "--json", "--device", &options.device, "--part", name]);
        command.args(["--from", &from.to_string()]).args(options.quick.then_some("--quick"));
        if let Some(code) = code {
            command.env("BITLANE_CODE", code);
        }
        Ok(command)
    };
    process::run(name, PATIENCE, command, take)
}

/// Judges the device.
pub fn run(options: &Options) -> Outcome {
    if options.device.split(':').next() != Some("cuda") {
        let words = "verdict compares a CUDA device with the CPU; name one with --device";
        return Err(Failure::usage(words));
    }
    let mut report = Report::default();
    let environment = part("environment", None, options, |_, _| ());
    if environment.outcome.is_err() {
        // There is nothing to judge if the device cannot be used at all.
        device(&options.device)?;
    }
    report.unless_complete("environment", &environment);
    let about = environment.facts.first().unwrap_or(&Value::Null);
    let is_virtual = about["virtual"] == true;
    report.json.insert("virtual".into(), is_virtual.into());
    let mut facts = Map::new();
    for fact in about["facts"].as_array().into_iter().flatten() {
        let (name, words) = (text(&fact[0]), text(&fact[1]));
        report.row(name, words);
        let number = words.parse::<u64>().map(Value::from);
        facts.insert(name.to_owned(), number.unwrap_or_else(|_| words.into()));
    }
    report.json.insert("environment".into(), facts.into());

    let compared = Compared::of("comparisons", None, options);
    compared.add_to(&mut report, "comparisons", "comparisons");
    let mut used = compared.codes.clone();
    let other = if used.contains("cubin") { "ptx" } else { "cubin" };
    if is_virtual {
        report.json.insert("other_code".into(), "a virtual driver takes PTX alone".into());
    } else {
        let again = Compared::of("other code", Some(other), options);
        if again.codes.iter().all(|code| code == other) {
            again.add_to(&mut report, &format!("comparisons as {other}"), "other_code");
        } else {
            // The driver refused it, or NVRTC does not know the architecture, and the usual kind was taken in its place.
            let codes: Vec<&str> = again.codes.iter().map(String::as_str).collect();
            let words =
                format!("NOT compared, since {} was used in its place", codes.join(" and "));
            again.add_to(&mut report, &format!("as {other}: {words}"), "other_code");
        }
        used.extend(again.codes);
    }
    report.json.insert("compared_as".into(), json!(used));

    let mut played = Map::new();
    let scenes = part("scenes", None, options, |name, outcome| {
        let outcome = outcome.unwrap_or_else(|words| json!({ "failed": words }));
        match outcome["ok"].as_str() {
            Some(words) => report.row(name, words),
            None => report.fault(name, text(&outcome["failed"])),
        }
        played.insert(name.to_owned(), outcome);
    });
    report.unless_complete("scenes", &scenes);
    report.json.insert("scenes".into(), played.into());
    report.row("kernels", of_kernels(&compared.loaded));
    let kernels: Vec<Value> = compared.loaded.into_values().collect();
    report.json.insert("kernels".into(), kernels.into());

    let mut measured = Vec::new();
    if !options.quick && !is_virtual {
        let speed = part("speed", None, options, |name, outcome| match outcome {
            Ok(mut rows) => measured.append(rows.as_array_mut().unwrap_or(&mut Vec::new())),
            Err(words) => measured.push(json!({ "name": name, "failed": words })),
        });
        report.unless_complete("speed", &speed);
    }
    if let Some(path) = &options.record {
        let digests: Vec<&str> = compared.digests.values().map(String::as_str).collect();
        let lines: Vec<String> = digests.chunks(16).map(|line| line.join(" ") + "\n").collect();
        std::fs::write(path, lines.concat())?;
    }
    finish(report, &used, &measured, options)
}

/// Puts the page together, and writes the file.
fn finish(
    mut report: Report,
    used: &BTreeSet<String>,
    measured: &[Value],
    options: &Options,
) -> Outcome {
    let ok = !report.is_faulty;
    let is_virtual = report.json["virtual"] == true;
    let mut text = columns(&report.rows);
    for words in report.differences.iter().take(SHOWN) {
        text += &format!("  {words}\n");
    }
    text += &match (is_virtual, options.quick) {
        (true, _) => "speed: not measured, a virtual device has none\n".to_owned(),
        (_, true) => "speed: not measured (--quick)\n".to_owned(),
        _ => speed::table(measured),
    };
    let kind = if is_virtual { "The VIRTUAL device" } else { "The device" };
    let name = &options.device;
    let codes: Vec<&str> = used.iter().map(String::as_str).collect();
    let codes = codes.join(" and as ");
    text += &match ok {
        true => {
            format!("{kind} {name} computes the same bits as the CPU in all cases, as {codes}.\n")
        }
        false => format!("{kind} {name} does NOT pass; please report this.\n"),
    };
    report.json.insert("verdict".into(), if ok { "same bits" } else { "not passed" }.into());
    report.json.insert("speed".into(), measured.into());
    let json = Value::from(report.json);
    match std::fs::write(&options.report, format!("{json:#}\n")) {
        Ok(()) => text += &format!("The whole report is in {}.\n", options.report.display()),
        // The page is worth more than the file.
        Err(error) => {
            text += &format!("{} cannot be written: {error}\n", options.report.display());
            return Ok(Answer::judged(false, text, json));
        }
    }
    Ok(Answer::judged(ok, text, json))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The outcome of the comparisons.
struct Compared {
    cases: usize,
    refused: usize,
    differences: Vec<String>,
    /// How many results have recorded digests, and those that have others.
    recorded: usize,
    others: Vec<String>,
    /// Of each case, by its number.
    digests: BTreeMap<u64, String>,
    /// The kernels that were launched.
    launched: BTreeSet<String>,
    /// What the loaded kernels need, by their names.
    loaded: BTreeMap<String, Value>,
    /// To what kernels were compiled in fact.
    codes: BTreeSet<String>,
    told: Told,
}

impl Compared {
    fn of(name: &'static str, code: Option<&str>, options: &Options) -> Compared {
        let (mut cases, mut refused, mut recorded) = (0, 0, 0);
        let (mut differences, mut others) = (Vec::new(), Vec::new());
        let (mut digests, mut launched) = (BTreeMap::new(), BTreeSet::new());
        let told = part(name, code, options, |name, outcome| {
            cases += 1;
            let found = match outcome {
                Ok(found) => found,
                Err(words) => return differences.push(format!("{name}: {words}")),
            };
            refused += usize::from(found["is_refused"] == true);
            let kernels = found["kernels"].as_array().into_iter().flatten();
            launched.extend(kernels.map(|kernel| text(kernel).to_owned()));
            let digest = text(&found["digest"]);
            if let Some(number) = found["number"].as_u64() {
                digests.insert(number, digest.to_owned());
            }
            if let Some(words) = found["different"].as_str() {
                differences.push(format!("{name}: {words}"));
            }
            if let Some(expected) = found["recorded"].as_str() {
                recorded += 1;
                if digest != expected {
                    others.push(format!(
                        "{name}: the digest is {digest}, and {expected} was recorded"
                    ));
                }
            }
        });
        let (mut loaded, mut codes) = (BTreeMap::new(), BTreeSet::new());
        for facts in &told.facts {
            codes.insert(text(&facts["code"]).to_owned());
            for kernel in facts["kernels"].as_array().into_iter().flatten() {
                loaded.insert(text(&kernel["name"]).to_owned(), kernel.clone());
            }
        }
        Compared {
            cases,
            refused,
            differences,
            recorded,
            others,
            digests,
            launched,
            loaded,
            codes,
            told,
        }
    }

    /// The shapes of the hand-written kernels that were launched.
    fn shapes(&self) -> BTreeSet<&str> {
        let known: BTreeSet<String> =
            introspect::modules().first().map_or(BTreeSet::new(), |module| {
                let own = format!("_{}_{}", module.op(), module.dtype());
                let names = module.kernels();
                names.iter().filter_map(|name| name.strip_suffix(&own)).map(str::to_owned).collect()
            });
        let shapes = self.launched.iter().filter_map(|kernel| kernel.split('_').next());
        shapes.filter(|&shape| known.contains(shape)).collect()
    }

    fn add_to(&self, report: &mut Report, title: &str, key: &str) {
        let codes: Vec<&str> = self.codes.iter().map(String::as_str).collect();
        let codes = codes.join(" and ");
        let different = self.differences.len();
        let same = self.cases - self.refused.min(self.cases) - different.min(self.cases);
        report.is_faulty |= different + self.others.len() > 0 || self.cases == 0;
        report.row(
            title,
            format!(
                "{} as {codes}: {same} with the same bits, {} refused by both, {different} different",
                self.cases, self.refused
            ),
        );
        let shapes = self.shapes();
        report.row(
            "  kernels compared",
            format!(
                "{}, and {} of {} hand-written shapes: {}",
                self.launched.len(),
                shapes.len(),
                LAYOUTS.len(),
                shapes.iter().copied().collect::<Vec<_>>().join(" ")
            ),
        );
        let digests = format!("{} compared, {} different", self.recorded, self.others.len());
        report.row("  recorded digests", digests);
        report.unless_complete(title, &self.told);
        report.differences.extend(self.differences.iter().chain(&self.others).cloned());
        report.json.insert(
            key.to_owned(),
            json!({
                "code": self.codes,
                "cases": self.cases,
                "same": same,
                "refused": self.refused,
                "differences": self.differences,
                "recorded": self.recorded,
                "other_digests": self.others,
                "shapes": shapes,
                "kernels": self.launched.len(),
                "incomplete": self.told.outcome.as_ref().err(),
            }),
        );
    }
}

/// Summarises what the loaded kernels need of a multiprocessor.
fn of_kernels(kernels: &BTreeMap<String, Value>) -> String {
    let numbers =
        |key: &'static str| kernels.values().filter_map(move |kernel| kernel[key].as_i64());
    let spilled = kernels.iter().filter(|(_, kernel)| kernel["local_bytes"].as_i64() > Some(0));
    let spilled: Vec<&str> = spilled.map(|(name, _)| &**name).collect();
    let named = if spilled.is_empty() { "none".to_owned() } else { spilled.join(" ") };
    format!(
        "{} loaded, at most {} registers, at least {} blocks per multiprocessor; with local memory: {named}",
        kernels.len(),
        numbers("registers").max().unwrap_or(0),
        numbers("blocks").min().unwrap_or(0),
    )
}
