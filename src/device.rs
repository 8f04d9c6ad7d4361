//! Devices: where tensors live and operations run.

use std::fmt;

use crate::backend::Memory;
#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::{Error, Result};

/// A place where tensors live and operations run: the CPU or a CUDA device.
///
/// Cloning is cheap. Nothing here panics where CUDA is missing: the error says what is.
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
pub struct Device(Kind);

#[derive(Clone, PartialEq)]
pub(crate) enum Kind {
    #[cfg(feature = "cpu")]
    Cpu,
    #[cfg(feature = "cuda")]
    Cuda(cuda::CudaDevice),
}

impl Device {
    /// The CPU.
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
        Device(Kind::Cpu)
    }

    /// The CUDA device of this number, as the driver counts.
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
    /// [`Error::CudaUnavailable`] says what is missing: the feature, the driver, NVRTC, the device,
    /// or a recent enough one.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        #[cfg(feature = "cuda")]
        return cuda::CudaDevice::new(ordinal).map(|device| Device(Kind::Cuda(device)));
        #[cfg(not(feature = "cuda"))]
        Err(Error::CudaUnavailable {
            reason: format!("cuda:{ordinal} was asked of a build without the feature `cuda`"),
            remedy: "add `features = [\"cuda\"]` to the dependency on bitlane".into(),
        })
    }

    /// How many CUDA devices the driver has, and so the numbers that [`Device::cuda`] takes: 0 where CUDA or NVRTC is
    /// missing. A device that is too old is counted, since its number is taken; [`Device::cuda`] refuses it.
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

    /// The first CUDA device; the CPU where there is no NVIDIA driver, or none that finds a device.
    ///
    /// A device that is there but cannot be used is an error and not a reason to compute elsewhere in silence:
    /// whoever wants the CPU then says [`Device::cpu`].
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
    /// [`Error::CudaUnavailable`] or [`Error::Driver`] if there is a CUDA device that cannot be used: it is too old, or
    /// NVRTC is missing or too old. In a build without the feature `cpu`, what [`Device::cuda`] says.
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

    /// Waits until everything asked of the device is done, and reports what failed meanwhile.
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
    /// [`Error::Driver`] if work on the device failed since the last wait. The CPU never fails.
    pub fn synchronize(&self) -> Result<()> {
        match &self.0 {
            #[cfg(feature = "cpu")]
            Kind::Cpu => Ok(()),
            #[cfg(feature = "cuda")]
            Kind::Cuda(device) => device.synchronize(),
        }
    }

    /// The same device with a new stream of its own: what is asked of tensors made on it runs
    /// alongside the device's other streams.
    ///
    /// Devices that differ only in their streams are equal, and their tensors can meet in one
    /// operation, which runs on the stream of its first tensor; the library puts the streams in
    /// order where they touch the same tensor. [`Tensor::to_device`](crate::Tensor::to_device)
    /// takes a tensor to another stream without copying it. The CPU has no streams, and gives
    /// itself.
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
    /// [`Error::Driver`] if the driver refuses the stream.
    pub fn with_new_stream(&self) -> Result<Device> {
        match &self.0 {
            #[cfg(feature = "cpu")]
            Kind::Cpu => Ok(self.clone()),
            #[cfg(feature = "cuda")]
            Kind::Cuda(device) => device.with_new_stream().map(Device::from_cuda),
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn from_cuda(device: cuda::CudaDevice) -> Device {
        Device(Kind::Cuda(device))
    }

    /// Memory with undefined contents.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Memory> {
        match &self.0 {
            #[cfg(feature = "cpu")]
            Kind::Cpu => crate::backend::cpu::CpuMemory::allocate(bytes).map(Memory::Cpu),
            #[cfg(feature = "cuda")]
            Kind::Cuda(device) => device.allocate(bytes).map(Memory::Cuda),
        }
    }

    /// Refuses an operation whose operands live on different devices.
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
            Kind::Cpu => f.pad("cpu"),
            #[cfg(feature = "cuda")]
            Kind::Cuda(device) => f.pad(&format!("cuda:{}", device.ordinal())),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
