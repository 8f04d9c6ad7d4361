//! Development commands: `cargo xtask COMMAND [OPTIONS]`.

mod arguments;
mod aside;
mod bench;
mod bindings;
mod cost;
mod exhaustive;
mod fuzz;
mod kernels;
mod modules;
mod mutants;
mod nvrtc;
mod overhead;
mod parallel;
mod parity;
mod python;
mod run;
mod sanitize;
mod sass;
mod steps;
mod suite;
mod test;
mod virtual_cuda;
mod wheels;

use std::process::ExitCode;

use arguments::Arguments;

/// The error that stops a command, shown to the user.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The result of a command.
type Outcome = Result<(), Failure>;

/// A subcommand. To add one, write a module with a `COMMAND` and add a row to [`COMMANDS`].
struct Command {
    name: &'static str,
    usage: &'static str,
    /// What it does. The list of commands shows the first sentence, `--help` the whole text.
    about: &'static str,
    run: fn(Arguments) -> Outcome,
}

const COMMANDS: &[Command] = &[
    test::COMMAND,
    fuzz::COMMAND,
    sanitize::COMMAND,
    cost::COMMAND,
    kernels::COMMAND,
    sass::COMMAND,
    bindings::COMMAND,
    exhaustive::COMMAND,
    overhead::COMMAND,
    bench::COMMAND,
    bench::small_call::COMMAND,
    parity::COMMAND,
    virtual_cuda::COMMAND,
    mutants::COMMAND,
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return list(&name);
    };
    let words: Vec<_> = words.collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("cargo xtask {} {}\n", command.name, command.usage);
        println!("{}", wrapped(command.about));
        return ExitCode::SUCCESS;
    }
    match (command.run)(Arguments::new(words.into_iter())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the list of commands. A name that is not a request for help is an error.
fn list(name: &str) -> ExitCode {
    let wanted = matches!(name, "" | "help" | "--help" | "-h");
    if !wanted {
        eprintln!("{name:?} is no command\n");
    }
    println!("cargo xtask COMMAND [OPTIONS]; with --help a command says more\n");
    for command in COMMANDS {
        let first = command.about.split_inclusive(". ").next().unwrap_or_default();
        println!("  {} {}", command.name, command.usage);
        for line in wrapped(first.trim_end()).lines() {
            println!("      {line}");
        }
    }
    if wanted { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// Wraps a text to lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + word.len() < 100 => *line += &format!(" {word}"),
            _ => lines.push(word.into()),
        }
    }
    lines.join("\n")
}
