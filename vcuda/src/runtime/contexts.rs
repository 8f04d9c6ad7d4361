//! Creation and destruction of contexts, with the leaks found at the end of one.

use super::queues::Stream;
use super::running::run_context;
use super::state::{Context, Guard, State};
use crate::config;
use crate::error::{Code, ERROR_INVALID_CONTEXT, ERROR_INVALID_DEVICE};
use crate::sanitizer::{self, Finding, Kind, lock};
use std::collections::{HashMap, HashSet};

impl State {
    /// Creates a context on a device.
    pub fn create_context(&mut self, device: usize, primary: bool) -> Result<u64, Code> {
        if device >= self.devices.len() {
            return Err(ERROR_INVALID_DEVICE);
        }
        let (cx, legacy) = (self.handle(), self.handle());
        self.streams.insert(legacy, Stream::new(cx, false, 0, 0));
        self.contexts.insert(
            cx,
            Context {
                device,
                primary,
                sticky: 0,
                passing: None,
                peers: HashSet::new(),
                legacy,
                per_thread: HashMap::new(),
                flags: 0,
                limits: HashMap::new(),
            },
        );
        Ok(cx)
    }

    /// Removes a context and everything that belongs to it, and reports leaks.
    fn remove_context(&mut self, cx: u64) {
        let Some(context) = self.contexts.remove(&cx) else { return };
        let mut left = Vec::new();
        let captured: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, s)| s.context == cx && s.capture.is_some())
            .map(|(&k, _)| k)
            .collect();
        captured.into_iter().for_each(|stream| self.abandon_capture(stream));
        let modules: Vec<u64> =
            self.modules.iter().filter(|(_, m)| m.context == cx).map(|(&k, _)| k).collect();
        let count_of = |what: &str, n: usize| (n > 0).then(|| format!("{n} {what}"));
        // Modules of libraries are removed with the context; the libraries themselves are not.
        let unloaded = modules.iter().filter(|m| self.modules[m].library == 0).count();
        for module in modules {
            self.unload(module);
        }
        self.libraries.values_mut().for_each(|l| l.modules.retain(|&home, _| home != cx));
        for (_, region) in self.regions() {
            let blocks: Vec<_> = lock(&region.heap).owned_by(cx).cloned().collect();
            for block in blocks {
                left.push(format!(
                    "allocation #{} of {} bytes from {}",
                    block.serial, block.size, block.owner.call
                ));
                self.free_now(block.addr);
            }
        }
        self.registered.retain(|r| r.2 != cx);
        self.links.retain(|_, l| l.context != cx);
        let streams =
            self.streams.values().filter(|s| s.context == cx && s.user && !s.destroyed).count();
        let events = self.events.values().filter(|e| e.context == cx).count();
        self.streams.retain(|_, s| s.context != cx);
        self.events.retain(|_, e| e.context != cx);
        left.extend(
            [
                count_of("streams", streams),
                count_of("events", events),
                count_of("modules", unloaded),
            ]
            .into_iter()
            .flatten(),
        );
        if !left.is_empty() && context.sticky == 0 {
            let more = left.len().saturating_sub(8);
            left.truncate(8);
            let text = format!(
                "the context of device {} ends with {}{}",
                context.device,
                left.join(", "),
                if more > 0 { format!(" and {more} more") } else { String::new() }
            );
            sanitizer::report(Finding { kind: Kind::Leak, code: 0, place: None, text });
        }
    }

    /// Retains a device's primary context.
    pub fn retain_primary(&mut self, device: usize) -> Result<u64, Code> {
        if self.devices.get(device).ok_or(ERROR_INVALID_DEVICE)?.primary == 0 {
            let cx = self.create_context(device, true)?;
            self.devices[device].primary = cx;
            let flags = self.devices[device].flags;
            self.contexts.entry(cx).and_modify(|c| c.flags = flags);
        }
        self.devices[device].primary_refs += 1;
        Ok(self.devices[device].primary)
    }
}

/// Registers a handler that reports, when the process exits, what was never freed.
pub fn report_at_exit() {
    extern "C" fn tell() {
        let Some(s) = super::state::try_enter() else { return };
        let mut left: Vec<String> = Vec::new();
        // Leave out pinned memory, which programs keep for copies until their end.
        for (_, region) in s.regions().into_iter().filter(|(device, _)| device.is_some()) {
            let Ok(heap) = region.heap.try_lock() else { continue };
            // Leave out failed contexts, which cannot be cleaned up, and allocations whose free is pending.
            for (&cx, _) in s.contexts.iter().filter(|(_, c)| c.sticky == 0) {
                let blocks = heap.owned_by(cx).filter(|b| !s.freeing.contains(&b.addr));
                left.extend(
                    blocks.map(|b| {
                        format!("#{} of {} bytes from {}", b.serial, b.size, b.owner.call)
                    }),
                );
            }
        }
        if !left.is_empty() && config::with(|c| !c.quiet) {
            eprintln!(
                "vcuda: leak: the process ends with {} allocations, among them {}",
                left.len(),
                left[0]
            );
        }
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function takes no arguments, blocks on no lock, and stays loaded until it has run, because the
        // handlers that a library registers run when it is unloaded.
        unsafe { libc::atexit(tell) };
    });
}

/// Runs the pending work of a context and removes it.
pub fn destroy_context(s: Guard, cx: u64) -> Guard {
    let mut s = run_context(s, cx);
    s.remove_context(cx);
    s
}

/// Releases a device's primary context; the last release removes it.
pub fn release_primary(mut s: Guard, device: usize) -> Result<Guard, Code> {
    let d = s.devices.get_mut(device).ok_or(ERROR_INVALID_DEVICE)?;
    if d.primary_refs == 0 {
        return Err(ERROR_INVALID_CONTEXT);
    }
    d.primary_refs -= 1;
    if d.primary_refs > 0 {
        return Ok(s);
    }
    reset_primary(s, device)
}

/// Resets a device's primary context, even if it is still retained.
pub fn reset_primary(mut s: Guard, device: usize) -> Result<Guard, Code> {
    let d = s.devices.get_mut(device).ok_or(ERROR_INVALID_DEVICE)?;
    let cx = std::mem::take(&mut d.primary);
    if cx == 0 {
        return Ok(s);
    }
    s = destroy_context(s, cx);
    // If it is still retained, a new context takes its place under the same handle.
    if s.devices[device].primary_refs > 0 {
        let fresh = s.create_context(device, true)?;
        if let Some(mut context) = s.contexts.remove(&fresh) {
            if let Some(legacy) = s.streams.get_mut(&context.legacy) {
                legacy.context = cx;
            }
            context.flags = s.devices[device].flags;
            s.contexts.insert(cx, context);
        }
        s.devices[device].primary = cx;
    }
    Ok(s)
}
