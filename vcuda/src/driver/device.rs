//! Devices and their attributes.

use super::{api, put, text, wanted};
use crate::config;
use crate::error::{Code, ERROR_INVALID_DEVICE, ERROR_INVALID_VALUE};
use crate::runtime::enter;
use std::ffi::{c_char, c_int, c_uint};

/// The number of multiprocessors of the virtual device.
pub(super) const MULTIPROCESSORS: c_int = 4;

/// Returns the maximum shared memory per block, by compute capability.
pub(super) fn max_shared(cc: u32) -> c_int {
    match cc {
        0..=69 => 48 << 10,
        70..=74 => 96 << 10,
        75..=79 => 64 << 10,
        80 | 87 => 163 << 10,
        90..=119 => 227 << 10,
        _ => 99 << 10,
    }
}

fn attribute(which: c_int, device: c_int) -> c_int {
    let config = config::get();
    match which {
        1..=3 => 1024,
        4 => 64,
        5 => c_int::MAX,
        6 | 7 => 65535,
        8 => 48 << 10,
        9 => 64 << 10,
        10 => 32,
        11 => c_int::MAX,
        12 | 82 => 65536,
        13 => 1_400_000,
        14 => 512,
        15 | 19 | 31 | 41 | 78 | 83 | 89 | 90 | 91 | 95 | 99 | 101 => 1,
        16 => MULTIPROCESSORS,
        33 => device + 1,
        36 => 1_600_000,
        37 => 256,
        38 => 4 << 20,
        39 => 2048,
        40 => 3,
        75 => (config.cc / 10) as c_int,
        76 => (config.cc % 10) as c_int,
        81 => max_shared(config.cc) + 1024,
        97 => max_shared(config.cc),
        106 => 32,
        111 => 1024,
        115 => c_int::from(config.pools),
        _ => 0,
    }
}

fn uuid(ordinal: c_int) -> Result<[u8; 16], Code> {
    enter().device(ordinal)?;
    let mut id = *b"vcuda-device-\0\0\0";
    id[15] = ordinal as u8;
    Ok(id)
}

/// Returns the PCI bus ID, which agrees with the device attributes for it.
fn bus_id(device: c_int) -> String {
    format!("0000:{:02X}:00.0", device + 1)
}

api! {
    fn cuDeviceGetCount(count: *mut c_int) {
        let s = enter();
        s.ready()?;
        put(count, s.devices.len() as c_int)
    }

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        enter().device(ordinal)?;
        put(device, ordinal)
    }

    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) {
        enter().device(device)?;
        let text = format!("vcuda virtual device {device}\0");
        let room = usize::try_from(len).ok().filter(|&n| n > 0).ok_or(ERROR_INVALID_VALUE)?;
        for (k, byte) in text.bytes().take(room).enumerate() {
            put(name.wrapping_add(k), if k + 1 == room { 0 } else { byte as c_char })?;
        }
        Ok(())
    }

    fn cuDeviceGetUuid(uuid_out: *mut [u8; 16], device: c_int) {
        put(uuid_out, uuid(device)?)
    }

    fn cuDeviceGetUuid_v2(uuid_out: *mut [u8; 16], device: c_int) {
        put(uuid_out, uuid(device)?)
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        enter().device(device)?;
        put(bytes, config::with(|c| c.memory) as usize)
    }

    fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, device: c_int) {
        enter().device(device)?;
        if !(1..=160).contains(&which) {
            return Err(ERROR_INVALID_VALUE);
        }
        put(value, attribute(which, device))
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        enter().device(device)?;
        wanted(major)?;
        wanted(minor)?;
        put(major, attribute(75, device))?;
        put(minor, attribute(76, device))
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        let mut s = enter();
        s.device(device)?;
        s.device(peer)?;
        put(can, c_int::from(device != peer))
    }

    fn cuDeviceGetP2PAttribute(value: *mut c_int, which: c_int, device: c_int, peer: c_int) {
        let mut s = enter();
        s.device(device)?;
        s.device(peer)?;
        match which {
            _ if device == peer => Err(ERROR_INVALID_DEVICE),
            1 => put(value, 0),
            2 | 3 => put(value, 1),
            4 => put(value, 0),
            _ => Err(ERROR_INVALID_VALUE),
        }
    }

    fn cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        let s = enter();
        s.ready()?;
        let id = text(id)?;
        let found = (0..s.devices.len() as c_int).find(|&k| id.eq_ignore_ascii_case(&bus_id(k)));
        put(device, found.ok_or(ERROR_INVALID_DEVICE)?)
    }

    fn cuDeviceGetPCIBusId(name: *mut c_char, len: c_int, device: c_int) {
        enter().device(device)?;
        let text = bus_id(device) + "\0";
        if usize::try_from(len).unwrap_or(0) < text.len() {
            return Err(ERROR_INVALID_VALUE);
        }
        text.bytes().enumerate().try_for_each(|(k, byte)| put(name.wrapping_add(k), byte as c_char))
    }

    fn cuDeviceGetLuid(_luid: *mut c_char, _mask: *mut c_uint, device: c_int) {
        enter().device(device)?;
        Err(crate::error::ERROR_NOT_SUPPORTED)
    }
}
