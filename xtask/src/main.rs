//! Development commands: `cargo xtask COMMAND [OPTIONS]`.

mod aside;
mod bench;
mod bindings;
mod cost;
mod exhaustive;
mod fuzz;
mod kernels;
mod modules;
mod mutants;
mod overhead;
mod package;
mod parallel;
mod python;
mod run;
mod samples;
mod sanitize;
mod sass;
mod steps;
mod suite;
mod test;
mod toolkit;
mod virtual_cuda;
mod wheels;

use std::process::ExitCode;

use clap::Parser;

/// The error that stops a command, shown to the user.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The result of a command.
type Outcome = Result<(), Failure>;

/// Development commands.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Task {
    Test(test::Options),
    Fuzz(fuzz::Options),
    Sanitize(sanitize::Options),
    Cost(cost::Options),
    Kernels(kernels::Options),
    Sass(sass::Options),
    Bindings(bindings::Options),
    Exhaustive(exhaustive::Options),
    Overhead(overhead::Options),
    Bench(bench::Options),
    /// Counts the instructions of a small call on the CPU, and fails if there are too many.
    SmallCall,
    CudaEnv(virtual_cuda::Options),
    Python(package::Options),
    Mutants(mutants::Options),
}

impl Task {
    fn run(self) -> Outcome {
        match self {
            Task::Test(options) => test::run(options),
            Task::Fuzz(options) => fuzz::run(options),
            Task::Sanitize(options) => sanitize::run(options),
            Task::Cost(options) => cost::run(options),
            Task::Kernels(options) => kernels::run(options),
            Task::Sass(options) => sass::run(options),
            Task::Bindings(options) => bindings::run(options),
            Task::Exhaustive(options) => exhaustive::run(options),
            Task::Overhead(options) => overhead::run(options),
            Task::Bench(options) => bench::run(options),
            Task::SmallCall => bench::small_call::run(),
            Task::CudaEnv(options) => virtual_cuda::run(options),
            Task::Python(options) => package::run(options),
            Task::Mutants(options) => mutants::run(options),
        }
    }
}

fn main() -> ExitCode {
    match Task::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        super::Task::command().debug_assert();
    }
}
