//! Memory pools.

use super::memory::allocate_async;
use super::{api, put, wanted};
use crate::config;
use crate::error::{Code, ERROR_INVALID_DEVICE, ERROR_INVALID_VALUE, ERROR_NOT_SUPPORTED};
use crate::runtime::{Guard, Pool, enter};
use std::ffi::{c_int, c_void};

fn pooled() -> Result<Guard, Code> {
    let s = enter();
    s.ready()?;
    if config::with(|c| c.pools) { Ok(s) } else { Err(ERROR_NOT_SUPPORTED) }
}

/// The attributes of four bytes; the others have eight.
const SHORT: [c_int; 3] = [1, 2, 3];

api! {
    fn cuDeviceGetDefaultMemPool(pool: *mut u64, device: c_int) {
        let mut s = pooled()?;
        let found = s.device(device)?.default_pool;
        put(pool, found)
    }

    fn cuDeviceGetMemPool(pool: *mut u64, device: c_int) {
        let mut s = pooled()?;
        let found = s.device(device)?.current_pool;
        put(pool, found)
    }

    fn cuDeviceSetMemPool(device: c_int, pool: u64) {
        let mut s = pooled()?;
        s.device(device)?;
        let home = s.pools.get(&pool).ok_or(ERROR_INVALID_VALUE)?.device;
        if home as c_int != device {
            return Err(ERROR_INVALID_DEVICE);
        }
        s.device(device)?.current_pool = pool;
        Ok(())
    }

    fn cuMemPoolCreate(pool: *mut u64, properties: *const c_void) {
        let mut s = pooled()?;
        if properties.is_null() {
            return Err(ERROR_INVALID_VALUE);
        }
        wanted(pool)?;
        // SAFETY: by the API's contract the properties are valid; they start with the allocation type, the handle
        // types, the location type and the device ordinal, four bytes each.
        let [kind, _, place, device] = unsafe { properties.cast::<[c_int; 4]>().read_unaligned() };
        // Only pinned memory on a device is supported.
        if kind != 1 || place != 1 {
            return Err(ERROR_INVALID_VALUE);
        }
        s.device(device)?;
        let handle = s.handle();
        s.pools.insert(handle, Pool { device: device as usize, ..Pool::default() });
        put(pool, handle)
    }

    fn cuMemPoolDestroy(pool: u64) {
        let mut s = pooled()?;
        if s.pools.get(&pool).is_none_or(|p| p.fixed) {
            return Err(ERROR_INVALID_VALUE);
        }
        s.pools.remove(&pool);
        for device in &mut s.devices {
            if device.current_pool == pool {
                device.current_pool = device.default_pool;
            }
        }
        Ok(())
    }

    fn cuMemPoolSetAttribute(pool: u64, which: c_int, value: *mut c_void) {
        let mut s = pooled()?;
        if value.is_null() || !(1..=8).contains(&which) {
            return Err(ERROR_INVALID_VALUE);
        }
        let pool = s.pools.get_mut(&pool).ok_or(ERROR_INVALID_VALUE)?;
        // SAFETY: by the API's contract the value has the attribute's type.
        let value = unsafe { if SHORT.contains(&which) { u64::from(value.cast::<u32>().read_unaligned()) } else { value.cast::<u64>().read_unaligned() } };
        match which {
            1..=4 => drop(pool.attributes.insert(which, value)),
            // A high-water mark can only be reset.
            6 | 8 if value == 0 => pool.high = pool.used,
            _ => return Err(ERROR_INVALID_VALUE),
        }
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: u64, which: c_int, value: *mut c_void) {
        let s = pooled()?;
        let pool = s.pools.get(&pool).ok_or(ERROR_INVALID_VALUE)?;
        let found = match which {
            1..=3 => return put(value.cast(), pool.attributes.get(&which).copied().unwrap_or(1) as u32),
            4 => pool.attributes.get(&which).copied().unwrap_or(0),
            5 => pool.reserved,
            7 => pool.used,
            6 | 8 => pool.high,
            _ => return Err(ERROR_INVALID_VALUE),
        };
        put(value.cast(), found)
    }

    fn cuMemPoolTrimTo(pool: u64, keep: usize) {
        let mut s = pooled()?;
        s.pools.get_mut(&pool).map(|p| p.release(keep as u64)).ok_or(ERROR_INVALID_VALUE)
    }

    fn cuMemPoolSetAccess(pool: u64, access: *const c_void, count: usize) {
        let mut s = pooled()?;
        let home = s.pools.get(&pool).ok_or(ERROR_INVALID_VALUE)?.device;
        if access.is_null() && count > 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        for k in 0..count {
            // SAFETY: by the API's contract there are `count` descriptors of three values: the location type, the
            // device ordinal and the access flags.
            let [place, device, may] = unsafe { access.cast::<[c_int; 3]>().add(k).read_unaligned() };
            s.device(device)?;
            // A device cannot be denied access to its own memory.
            if place != 1 || !matches!(may, 0 | 1 | 3) || device as usize == home && may != 3 {
                return Err(ERROR_INVALID_VALUE);
            }
            if let Some(pool) = s.pools.get_mut(&pool) {
                if may == 0 { pool.access.remove(&(device as usize)) } else { pool.access.insert(device as usize) };
            }
        }
        Ok(())
    }

    fn cuMemAllocFromPoolAsync(addr: *mut u64, size: usize, pool: u64, stream: u64) {
        allocate_async(addr, size, Some(pool), stream, "cuMemAllocFromPoolAsync")
    }
}
