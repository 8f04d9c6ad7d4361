//! The project's own commands: `cargo xtask COMMAND [OPTIONS]`.

mod arguments;
mod bench;
mod bindings;
mod exhaustive;
mod kernels;
mod modules;
mod mutants;
mod nvrtc;
mod overhead;
mod parallel;
mod parity;
mod python;
mod run;
mod sass;
mod test;
mod virtual_cuda;
mod wheels;

use std::process::ExitCode;

use arguments::Arguments;

/// Whatever stops a command, as a line for the user.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How a command ends.
type Outcome = Result<(), Failure>;

/// One subcommand: add a module with a `COMMAND`, and a row to [`COMMANDS`].
struct Command {
    name: &'static str,
    usage: &'static str,
    run: fn(Arguments) -> Outcome,
}

const COMMANDS: &[Command] = &[
    test::COMMAND,
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
        eprintln!("usage:");
        for command in COMMANDS {
            eprintln!("  cargo xtask {} {}", command.name, command.usage);
        }
        return ExitCode::from(2);
    };
    match (command.run)(Arguments::new(words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::FAILURE
        }
    }
}
