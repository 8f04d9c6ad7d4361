//! `cargo xtask parity`: compares the CPU with CUDA, bit for bit, over every kernel.

use crate::run::{cargo, finish};
use crate::{Outcome, virtual_cuda, wheels};

/// Compares the results of the CPU and CUDA backends bit for bit over every kernel, on the virtual driver.
#[derive(clap::Args)]
pub struct Options {
    /// Use the machine's own driver.
    #[arg(long)]
    system: bool,
}

/// Runs the test on the virtual driver, or on the machine's own driver.
pub fn run(options: Options) -> Outcome {
    let mut command = cargo("test --features cuda --test parity -- --nocapture");
    if options.system {
        command.env("BITLANE_TEST_DRIVER", "system");
    } else {
        let (driver, nvrtc) = (virtual_cuda::build()?, wheels::NVRTC_12.path()?);
        command.envs(virtual_cuda::variables(&driver, &nvrtc));
    }
    finish(&mut command)
}
