//! Devices: where tensors live and operations run.

use std::fmt;

use crate::backend::Memory;
#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::{Error, Result};

/// The CPU or a CUDA device, which holds tensors and runs operations on them.
///
/// Cloning is cheap. No method panics if CUDA is missing; the error says what is missing and what to do about it.
///
/// # Examples
///
/// ```
/// use bitlane::Device;
/// let device = Device::best()?;
/// println!("running on {device}");
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Device(DeviceKind);

#[derive(Clone, PartialEq)]
pub(crate) enum DeviceKind {
    #[cfg(feature = "cpu")]
    Cpu,
    #[cfg(feature = "cuda")]
    Cuda(cuda::CudaDevice),
}

impl Device {
    /// Returns the CPU.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::ones([2, 2], DType::F32, &Device::cpu())?;
    /// assert_eq!(x.device().to_string(), "cpu");
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[cfg(feature = "cpu")]
    pub const fn cpu() -> Device {
        Device(DeviceKind::Cpu)
    }

    /// Opens the CUDA device with this ordinal, as the driver numbers the devices.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, ErrorKind};
    /// match Device::cuda(0) {
    ///     Ok(device) => println!("{device} it is"),
    ///     Err(error) => assert_eq!(error.kind(), ErrorKind::CudaUnavailable),
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::CudaUnavailable`] if the crate feature, the driver, NVRTC or the device is missing or too old; the
    /// error says which. [`Error::Driver`] if the driver fails otherwise.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        #[cfg(feature = "cuda")]
        return cuda::CudaDevice::new(ordinal).map(|device| Device(DeviceKind::Cuda(device)));
        #[cfg(not(feature = "cuda"))]
        Err(Error::CudaUnavailable {
            reason: format!("cuda:{ordinal} requires the feature `cuda`"),
            remedy: "add `features = [\"cuda\"]` to the dependency on bitlane".into(),
        })
    }

    /// Returns the number of CUDA devices, and 0 if the driver or NVRTC is missing.
    ///
    /// [`Device::cuda`] takes the ordinals below this number. A device that is too old is counted, since it has an
    /// ordinal, but [`Device::cuda`] rejects it.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::Device;
    /// let usable: Vec<Device> =
    ///     (0..Device::cuda_count()).filter_map(|ordinal| Device::cuda(ordinal).ok()).collect();
    /// println!("{} CUDA devices", usable.len());
    /// ```
    pub fn cuda_count() -> usize {
        #[cfg(feature = "cuda")]
        return cuda::device_count();
        #[cfg(not(feature = "cuda"))]
        0
    }

    /// Returns the first CUDA device, or the CPU if there is no NVIDIA driver or the driver finds no device.
    ///
    /// A CUDA device that exists but cannot be used is an error, so that a program never falls back to the CPU
    /// silently. Such a fallback has to be explicit, as in the example.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::Device;
    /// let device = Device::best().or_else(|error| {
    ///     eprintln!("computing on the CPU: {error}");
    ///     Ok::<_, bitlane::Error>(Device::cpu())
    /// })?;
    /// # drop(device);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::CudaUnavailable`] or [`Error::Driver`] if there is a CUDA device that cannot be used, for example
    /// because it is too old or NVRTC is missing. In a build without the feature `cpu`, as for [`Device::cuda`].
    pub fn best() -> Result<Device> {
        #[cfg(all(feature = "cpu", feature = "cuda"))]
        return match Device::cuda(0) {
            Err(_) if cuda::is_absent() => Ok(Device::cpu()),
            Err(Error::CudaUnavailable { reason, remedy }) => {
                let remedy = format!("{remedy}, or compute on the CPU with Device::cpu()");
                Err(Error::CudaUnavailable { reason, remedy })
            }
            found => found,
        };
        #[cfg(all(feature = "cpu", not(feature = "cuda")))]
        return Ok(Device::cpu());
        #[cfg(not(feature = "cpu"))]
        Device::cuda(0)
    }

    /// Waits until all queued operations on the device have finished, and reports any that failed.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Tensor};
    /// let device = Device::best()?;
    /// let x = Tensor::ones([1000], DType::F32, &device)?;
    /// let start = std::time::Instant::now();
    /// (&x + 1)?; // on CUDA only queued
    /// device.synchronize()?;
    /// println!("{:?}", start.elapsed());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if an operation has failed on the device since the last wait, and [`Error::InvalidArgument`] while
    /// a stream of the device is being captured into a graph, which the wait would end. Never fails on the CPU.
    pub fn synchronize(&self) -> Result<()> {
        match &self.0 {
            #[cfg(feature = "cpu")]
            DeviceKind::Cpu => Ok(()),
            #[cfg(feature = "cuda")]
            DeviceKind::Cuda(device) => device.synchronize(),
        }
    }

    /// Returns the same device with a new CUDA stream. Operations on tensors of the returned device run concurrently
    /// with those on the device's other streams.
    ///
    /// Devices that differ only in their streams compare equal. An operation may combine their tensors; it runs on the
    /// stream of its first tensor, and waits for the work on other streams that it depends on.
    /// [`Tensor::to_device`](crate::Tensor::to_device) moves a tensor to another stream without copying it. The CPU has
    /// no streams and returns itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, Tensor};
    /// let device = Device::best()?;
    /// let other = device.with_new_stream()?;
    /// assert_eq!(device, other);
    /// let x = Tensor::from_slice(&[1, 2, 3], [3], &device)?;
    /// let y = (&x.to_device(&other)? << 1)?; // runs on the other stream
    /// assert_eq!((&x + &y)?.to_vec::<i32>()?, [3, 6, 9]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver cannot create the stream.
    pub fn with_new_stream(&self) -> Result<Device> {
        match &self.0 {
            #[cfg(feature = "cpu")]
            DeviceKind::Cpu => Ok(self.clone()),
            #[cfg(feature = "cuda")]
            DeviceKind::Cuda(device) => device.with_new_stream().map(Device::from_cuda),
        }
    }

    pub(crate) fn kind(&self) -> &DeviceKind {
        &self.0
    }

    /// Whether this is a CUDA device.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn is_cuda(&self) -> bool {
        match &self.0 {
            #[cfg(feature = "cpu")]
            DeviceKind::Cpu => false,
            DeviceKind::Cuda(_) => true,
        }
    }

    /// Whether operations on another device are queued on the same stream. The CPU has none.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn has_stream_of(&self, other: &Device) -> bool {
        match (&self.0, &other.0) {
            #[cfg(feature = "cpu")]
            (DeviceKind::Cpu, DeviceKind::Cpu) => true,
            (DeviceKind::Cuda(device), DeviceKind::Cuda(other)) => device.has_stream_of(other),
            #[cfg(feature = "cpu")]
            _ => false,
        }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn from_cuda(device: cuda::CudaDevice) -> Device {
        Device(DeviceKind::Cuda(device))
    }

    /// Allocates memory with undefined contents.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Memory> {
        match &self.0 {
            #[cfg(feature = "cpu")]
            DeviceKind::Cpu => crate::backend::cpu::CpuMemory::allocate(bytes).map(Memory::Cpu),
            #[cfg(feature = "cuda")]
            DeviceKind::Cuda(device) => device.allocate(bytes).map(Memory::Cuda),
        }
    }

    /// Fails with [`Error::DeviceMismatch`] if `other` is another device.
    pub(crate) fn expect_same(&self, op: &'static str, other: &Device) -> Result<()> {
        if self == other {
            return Ok(());
        }
        Err(Error::DeviceMismatch { op, lhs: self.to_string(), rhs: other.to_string() })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(feature = "cpu")]
            DeviceKind::Cpu => f.pad("cpu"),
            #[cfg(feature = "cuda")]
            DeviceKind::Cuda(device) => f.pad(&format!("cuda:{}", device.ordinal())),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
