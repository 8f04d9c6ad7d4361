//! The devices that the tests run on.

use candle_core::{Device, Result};

/// Runs a test on the CPU and, with the feature `cuda`, on the first CUDA device: on the per-thread default stream, which
/// candle's tensors use unless told otherwise, and on a stream of its own.
pub fn on_devices(test: impl Fn(&Device) -> Result<()>) -> Result<()> {
    test(&Device::Cpu)?;
    #[cfg(feature = "cuda")]
    on_cuda(test)?;
    Ok(())
}

/// Runs a test on the first CUDA device, on both kinds of streams. If it is that of the virtual driver, nothing must have
/// been found.
#[cfg(feature = "cuda")]
pub fn on_cuda(test: impl Fn(&Device) -> Result<()>) -> Result<()> {
    for device in [Device::new_cuda(0)?, Device::new_cuda_with_stream(0)?] {
        test(&device)?;
        device.synchronize()?;
    }
    if let Some(driver) = virtual_driver() {
        assert_eq!(driver.findings(), [""; 0]);
    }
    Ok(())
}

/// Returns the virtual driver if the environment names it. candle has linked the same library.
#[cfg(feature = "cuda")]
pub fn virtual_driver() -> Option<vcuda_control::Control> {
    let path = std::env::var_os("BITLANE_VCUDA")?;
    Some(vcuda_control::Control::load(path.as_ref()).expect("it is the virtual driver"))
}
