//! `printf` of kernels, which writes what C's `printf` would to the standard output of the process.

use super::access::Fault;
use super::block::BlockState;
use super::program::{Inst, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use super::warp::Warp;
use crate::isa::lane::lanes;
use crate::sanitizer::Kind;
use std::ffi::{CString, c_char, c_int};
use std::io::Write;

/// The longest string that is printed, in bytes.
const LONGEST: u64 = 1 << 16;

/// Reads the memory and the `printf` arguments of one thread.
struct Reader<'r> {
    warp: &'r Warp,
    block: &'r BlockState<'r>,
    lane: usize,
    /// The address of the next argument.
    next: u64,
    /// The number of arguments read.
    count: u32,
}

impl Reader<'_> {
    /// Reads the byte at a generic address; `None` if it is not readable.
    fn byte(&self, addr: u64) -> Option<u8> {
        let offset = addr & u64::from(u32::MAX);
        match addr >> 32 << 32 {
            LOCAL_WINDOW => {
                let frame = self.block.launch.program.local_bytes;
                let at = (self.lane as u64 * frame + offset) as usize;
                self.warp.local.bytes.get(at).copied().filter(|_| offset < frame)
            }
            SHARED_WINDOW => {
                let at = self.block.shared.index(offset, 1)?;
                Some(self.block.shared.bytes[at])
            }
            PARAM_WINDOW => self.block.launch.params.get(offset as usize).copied(),
            _ => {
                let regions = self.block.launch.regions;
                let region = regions.iter().find(|r| r.arena.contains(addr, 1))?;
                region.arena.all_data(addr, 1).then(|| region.arena.byte(addr))
            }
        }
    }

    /// Reads the string at an address, without its terminating NUL.
    fn text(&self, addr: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for at in addr..addr.checked_add(LONGEST)? {
            match self.byte(at)? {
                0 => return Some(text),
                byte => text.push(byte),
            }
        }
        Some(text)
    }

    /// Reads the next argument, of four or eight bytes.
    fn argument(&mut self, size: u64) -> Option<u64> {
        let at = self.next.next_multiple_of(size);
        let mut value = 0;
        for k in (0..size).rev() {
            value = value << 8 | u64::from(self.byte(at + k)?);
        }
        self.next = at + size;
        self.count += 1;
        Some(value)
    }
}

/// A conversion such as `%-8.3lf`: the flags, width and precision, and the letter, without the length modifier.
struct Conversion {
    options: String,
    /// An integer of eight bytes.
    long: bool,
    letter: u8,
}

/// Formats a value with C's `snprintf`.
fn formatted(
    spec: &str,
    value: impl FnOnce(*mut c_char, usize, *const c_char) -> c_int,
) -> Vec<u8> {
    let Ok(spec) = CString::new(spec) else { return Vec::new() };
    let mut buffer = vec![0u8; 1024];
    let len = value(buffer.as_mut_ptr().cast(), buffer.len(), spec.as_ptr());
    buffer.truncate(usize::try_from(len).unwrap_or(0).min(buffer.len() - 1));
    buffer
}

impl Conversion {
    /// Parses a conversion after its `%`; widths and precisions given as `*` are read from the arguments.
    fn read(
        format: &mut impl Iterator<Item = u8>,
        reader: &mut Reader<'_>,
    ) -> Option<Option<Conversion>> {
        let (mut options, mut long) = (String::new(), false);
        for byte in format {
            match byte {
                b'*' => options.push_str(&(reader.argument(4)? as i32).to_string()),
                b'-' | b'+' | b' ' | b'#' | b'.' | b'0'..=b'9' => options.push(byte.into()),
                b'l' | b'z' | b't' | b'j' | b'L' => long = true,
                b'h' => {}
                letter => return Some(Some(Conversion { options, long, letter })),
            }
        }
        Some(None)
    }

    /// Formats the next argument; `None` if it cannot be read.
    fn write(&self, reader: &mut Reader<'_>) -> Option<Vec<u8>> {
        let options = &self.options;
        let letter = char::from(self.letter);
        Some(match self.letter {
            b'%' => vec![b'%'],
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' => {
                let signed = matches!(self.letter, b'd' | b'i');
                let value = match (reader.argument(if self.long { 8 } else { 4 })?, self.long) {
                    (value, false) if signed => i64::from(value as u32 as i32),
                    (value, _) => value as i64,
                };
                if self.letter == b'c' {
                    return Some(vec![value as u8]);
                }
                // SAFETY: the format consumes one eight-byte integer, and the buffer is writable for the size given.
                formatted(&format!("%{options}ll{letter}"), |to, size, format| unsafe {
                    libc::snprintf(to, size, format, value)
                })
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(reader.argument(8)?);
                // SAFETY: the format consumes one double, and the buffer is writable for the size given.
                formatted(&format!("%{options}{letter}"), |to, size, format| unsafe {
                    libc::snprintf(to, size, format, value)
                })
            }
            b'p' => {
                let value = reader.argument(8)? as *const u8;
                // SAFETY: the format consumes one pointer, which is not dereferenced, and the buffer is writable for
                // the size given.
                formatted(&format!("%{options}p"), |to, size, format| unsafe {
                    libc::snprintf(to, size, format, value)
                })
            }
            b's' => {
                let at = reader.argument(8)?;
                let text = CString::new(reader.text(at)?).ok()?;
                // SAFETY: the format consumes one string, which is NUL-terminated, and the buffer is writable for the
                // size given.
                formatted(&format!("%{options}s"), |to, size, format| unsafe {
                    libc::snprintf(to, size, format, text.as_ptr())
                })
            }
            // Not a known conversion: print it unchanged.
            _ => format!("%{options}{letter}").into_bytes(),
        })
    }
}

/// Formats what one thread prints.
fn line(reader: &mut Reader<'_>, format: u64) -> Option<Vec<u8>> {
    let text = reader.text(format)?;
    let mut rest = text.iter().copied();
    let mut out = Vec::new();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
        } else if let Some(conversion) = Conversion::read(&mut rest, reader)? {
            out.extend(conversion.write(reader)?);
        }
    }
    Some(out)
}

impl Warp {
    /// Prints for the lanes of a mask, in order and with one write.
    pub fn print(&mut self, block: &BlockState<'_>, inst: &Inst, mask: u32) -> Result<(), Fault> {
        let [formats, arguments] = [0, 1].map(|k| self.regs.wide[inst.o.s[k] as usize]);
        let mut out = Vec::new();
        for lane in lanes(mask) {
            let mut reader = Reader { warp: self, block, lane, next: arguments[lane], count: 0 };
            let Some(text) = line(&mut reader, formats[lane]) else {
                let text =
                    format!("printf of the format at {:#x} reads what is not there", formats[lane]);
                return Err(self.fault(block, inst, lane, Kind::OutOfBounds, text));
            };
            let count = reader.count;
            out.extend(text);
            self.regs.word[inst.o.d[0] as usize][lane] = count;
        }
        let mut stdout = std::io::stdout().lock();
        // A closed standard output is not a fault of the kernel.
        let _ = stdout.write_all(&out).and_then(|()| stdout.flush());
        Ok(())
    }
}
