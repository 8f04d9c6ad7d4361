//! JIT options and logs, and the linker.
//!
//! The linker accepts PTX texts only and concatenates them into one, which is the linked image and loads like any
//! other. Cubins, objects and libraries are refused.

use super::{api, bad_call, put, text, wanted, working};
use crate::error::{
    Code, ERROR_FILE_NOT_FOUND, ERROR_INVALID_HANDLE, ERROR_INVALID_IMAGE, ERROR_INVALID_PTX,
    ERROR_INVALID_VALUE,
};
use crate::ptx;
use crate::runtime::{Link, machine_code, refuse_machine_code};
use std::ffi::{c_char, c_int, c_uint, c_void};

// The options that have an effect here: the wall time, and two log buffers with their sizes.
const WALL_TIME: c_int = 2;
const INFO: [c_int; 2] = [3, 4];
const ERROR: [c_int; 2] = [5, 6];
/// The largest option of the API.
const LAST: c_int = 40;
/// `CU_JIT_INPUT_PTX`.
const PTX: c_int = 1;

/// The options of a call, which are mostly outputs.
#[derive(Debug, Default, Clone)]
pub(crate) struct Options {
    options: Vec<c_int>,
    /// The address of the option values; zero if there are none.
    values: usize,
}

impl Options {
    /// Reads the options of a call.
    pub fn read(
        count: c_uint,
        options: *mut c_int,
        values: *mut *mut c_void,
    ) -> Result<Options, Code> {
        if count == 0 {
            return Ok(Options::default());
        }
        wanted(options)?;
        wanted(values)?;
        // SAFETY: not null, and by the API's contract there are `count` options to read.
        let options = (0..count as usize)
            .map(|k| unsafe { options.add(k).read_unaligned() })
            .collect::<Vec<_>>();
        if options.iter().any(|o| !(0..=LAST).contains(o)) {
            return Err(ERROR_INVALID_VALUE);
        }
        Ok(Options { options, values: values as usize })
    }

    /// Returns a pointer to the value of an option.
    fn value(&self, option: c_int) -> Option<*mut *mut c_void> {
        let k = self.options.iter().position(|o| *o == option)?;
        Some((self.values as *mut *mut c_void).wrapping_add(k))
    }

    /// Writes the error text to the error log and nothing to the info log. Logs are NUL-terminated, and their size
    /// options are set to the size of the text.
    pub fn log(&self, error: &str) {
        for ([buffer, size], text) in [(ERROR, error), (INFO, "")] {
            let (Some(buffer), Some(size)) = (self.value(buffer), self.value(size)) else {
                continue;
            };
            // SAFETY: by the API's contract there is a value for each option, and the buffer is writable for the size
            // given.
            unsafe {
                let (buffer, room) =
                    (buffer.read_unaligned().cast::<u8>(), size.read_unaligned() as usize);
                let fits =
                    if buffer.is_null() { 0 } else { text.len().min(room.saturating_sub(1)) };
                if !buffer.is_null() && room > 0 {
                    std::ptr::copy_nonoverlapping(text.as_ptr(), buffer, fits);
                    buffer.add(fits).write(0);
                }
                size.write_unaligned(fits as *mut c_void);
            }
        }
        if let Some(time) = self.value(WALL_TIME) {
            // SAFETY: as above; the value is an `f32` in the first four bytes of its slot.
            unsafe { time.cast::<f32>().write_unaligned(0.0) };
        }
    }
}

/// Returns whether a line is a directive of the PTX header.
fn heads(line: &str) -> bool {
    [".version", ".target", ".address_size"].iter().any(|word| line.trim_start().starts_with(word))
}

/// Concatenates PTX texts under one header with the newest version and target among them.
fn join(texts: &[String]) -> String {
    let newest = |word: &str| {
        let lines = texts.iter().flat_map(|text| text.lines());
        let found = lines.filter(|line| line.trim_start().starts_with(word)).map(str::trim);
        found.max_by_key(|line| (line.len(), *line)).unwrap_or_default()
    };
    let head = [newest(".version"), newest(".target"), newest(".address_size")].join("\n");
    let bodies = texts.iter().flat_map(|text| text.lines()).filter(|line| !heads(line));
    bodies.fold(head, |all, line| all + "\n" + line)
}

fn add(link: u64, kind: c_int, data: Vec<u8>) -> Result<(), Code> {
    let (mut s, _) = working()?;
    let link = s.links.get_mut(&link).ok_or(ERROR_INVALID_HANDLE)?;
    let whole = &data[..];
    let data = whole.split(|&b| b == 0).next().unwrap_or_default();
    match String::from_utf8(data.to_vec()) {
        Ok(text) if kind == PTX => link.texts.push(text),
        _ => {
            let what = machine_code(whole).unwrap_or("what is no PTX text");
            let text = format!("the linker takes PTX only: {}", refuse_machine_code(what));
            link.options.log(&text);
            bad_call(ERROR_INVALID_IMAGE, text);
            return Err(ERROR_INVALID_IMAGE);
        }
    }
    Ok(())
}

fn create(
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
    to: *mut u64,
) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    wanted(to)?;
    let options = Options::read(count, options, values)?;
    let handle = s.handle();
    s.links.insert(handle, Link { context: cx, options, texts: Vec::new(), image: Vec::new() });
    put(to, handle)
}

api! {
    fn cuLinkCreate_v2(count: c_uint, options: *mut c_int, values: *mut *mut c_void, link: *mut u64) {
        create(count, options, values, link)
    }

    fn cuLinkAddData_v2(link: u64, kind: c_int, data: *mut c_void, size: usize, _name: *const c_char, _count: c_uint, _options: *mut c_int, _values: *mut *mut c_void) {
        wanted(data)?;
        if size > isize::MAX as usize {
            return Err(ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and by the API's contract readable for `size` bytes.
        add(link, kind, unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }.to_vec())
    }

    fn cuLinkAddFile_v2(link: u64, kind: c_int, path: *const c_char, _count: c_uint, _options: *mut c_int, _values: *mut *mut c_void) {
        add(link, kind, std::fs::read(text(path)?).map_err(|_| ERROR_FILE_NOT_FOUND)?)
    }

    fn cuLinkComplete(link: u64, image: *mut *mut c_void, size: *mut usize) {
        let (mut s, _) = working()?;
        let link = s.links.get_mut(&link).ok_or(ERROR_INVALID_HANDLE)?;
        wanted(image)?;
        let text = match &link.texts[..] {
            [one] => one.clone(),
            several => join(several),
        };
        let fault = ptx::parse(&text).err().map(|e| format!("PTX: {e}"));
        link.options.log(fault.as_deref().unwrap_or(""));
        if let Some(fault) = fault {
            bad_call(ERROR_INVALID_PTX, fault);
            return Err(ERROR_INVALID_PTX);
        }
        link.image = text.into_bytes();
        link.image.push(0);
        put(image, link.image.as_mut_ptr().cast())?;
        if size.is_null() { Ok(()) } else { put(size, link.image.len()) }
    }

    fn cuLinkDestroy(link: u64) {
        let (mut s, _) = working()?;
        s.links.remove(&link).map(drop).ok_or(ERROR_INVALID_HANDLE)
    }
}
