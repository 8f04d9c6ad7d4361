//! `cargo xtask parity`: compares the CPU with CUDA, bit for bit, over every kernel.

use crate::arguments::Arguments;
use crate::run::{cargo, finish};
use crate::{Command, Outcome, virtual_cuda, wheels};

pub const COMMAND: Command = Command {
    name: "parity",
    usage: "[--system]",
    about: "Compares the results of the CPU and CUDA backends bit for bit over every kernel, on the virtual \
            driver; --system uses the machine's own driver.",
    run,
};

/// Runs the test on the virtual driver, or on the machine's own driver.
fn run(mut arguments: Arguments) -> Outcome {
    let system = arguments.flag("--system");
    arguments.finish()?;
    let mut command = cargo("test --features cuda --test parity -- --nocapture");
    if system {
        command.env("BITLANE_TEST_DRIVER", "system");
    } else {
        let (driver, nvrtc) = (virtual_cuda::build()?, wheels::NVRTC_12.path()?);
        command.envs(virtual_cuda::variables(&driver, &nvrtc));
    }
    finish(&mut command)
}
