//! The error codes of the driver API: one row per code, which defines the constant, the name and the text.

use std::ffi::CStr;

/// A result code of the driver API; zero is success.
pub type Code = u32;

macro_rules! codes {
    ($($value:literal $name:ident $text:literal;)*) => {
        // Some are known by name only, for reports and injected failures.
        $(#[doc = concat!("`CUDA_", stringify!($name), "`: ", $text, ".")] #[allow(dead_code)] pub const $name: Code = $value;)*
        const TABLE: &[(Code, &str, &str)] =
            &[$(($value, concat!("CUDA_", stringify!($name), "\0"), concat!($text, "\0"))),*];
    };
}

codes! {
    0   SUCCESS "no error";
    1   ERROR_INVALID_VALUE "invalid argument";
    2   ERROR_OUT_OF_MEMORY "out of memory";
    3   ERROR_NOT_INITIALIZED "initialization error";
    4   ERROR_DEINITIALIZED "driver shutting down";
    34  ERROR_STUB_LIBRARY "CUDA driver is a stub library";
    46  ERROR_DEVICE_UNAVAILABLE "CUDA-capable device(s) is/are busy or unavailable";
    100 ERROR_NO_DEVICE "no CUDA-capable device is detected";
    101 ERROR_INVALID_DEVICE "invalid device ordinal";
    200 ERROR_INVALID_IMAGE "device kernel image is invalid";
    201 ERROR_INVALID_CONTEXT "invalid device context";
    205 ERROR_MAP_FAILED "mapping of buffer object failed";
    209 ERROR_NO_BINARY_FOR_GPU "no kernel image is available for execution on the device";
    214 ERROR_ECC_UNCORRECTABLE "uncorrectable ECC error encountered";
    215 ERROR_UNSUPPORTED_LIMIT "limit is not supported on this architecture";
    217 ERROR_PEER_ACCESS_UNSUPPORTED "peer access is not supported between these two devices";
    218 ERROR_INVALID_PTX "a PTX JIT compilation failed";
    220 ERROR_NVLINK_UNCORRECTABLE "uncorrectable NVLink error detected during the execution";
    221 ERROR_JIT_COMPILER_NOT_FOUND "PTX JIT compiler library not found";
    222 ERROR_UNSUPPORTED_PTX_VERSION "the provided PTX was compiled with an unsupported toolchain";
    300 ERROR_INVALID_SOURCE "device kernel image is invalid";
    301 ERROR_FILE_NOT_FOUND "file not found";
    302 ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND "shared object symbol not found";
    304 ERROR_OPERATING_SYSTEM "OS call failed or operation not supported on this OS";
    400 ERROR_INVALID_HANDLE "invalid resource handle";
    401 ERROR_ILLEGAL_STATE "the operation cannot be performed in the present state";
    500 ERROR_NOT_FOUND "named symbol not found";
    600 ERROR_NOT_READY "device not ready";
    700 ERROR_ILLEGAL_ADDRESS "an illegal memory access was encountered";
    701 ERROR_LAUNCH_OUT_OF_RESOURCES "too many resources requested for launch";
    702 ERROR_LAUNCH_TIMEOUT "the launch timed out and was terminated";
    704 ERROR_PEER_ACCESS_ALREADY_ENABLED "peer access is already enabled";
    705 ERROR_PEER_ACCESS_NOT_ENABLED "peer access has not been enabled";
    708 ERROR_PRIMARY_CONTEXT_ACTIVE "cannot set while device is active in this process";
    709 ERROR_CONTEXT_IS_DESTROYED "context is destroyed";
    710 ERROR_ASSERT "device-side assert triggered";
    712 ERROR_HOST_MEMORY_ALREADY_REGISTERED "part or all of the requested memory range is already mapped";
    713 ERROR_HOST_MEMORY_NOT_REGISTERED "pointer does not correspond to a registered memory region";
    714 ERROR_HARDWARE_STACK_ERROR "hardware stack error";
    715 ERROR_ILLEGAL_INSTRUCTION "an illegal instruction was encountered";
    716 ERROR_MISALIGNED_ADDRESS "misaligned address";
    717 ERROR_INVALID_ADDRESS_SPACE "operation not supported on global/shared address space";
    718 ERROR_INVALID_PC "invalid program counter";
    719 ERROR_LAUNCH_FAILED "unspecified launch failure";
    720 ERROR_COOPERATIVE_LAUNCH_TOO_LARGE "too many blocks in cooperative launch";
    800 ERROR_NOT_PERMITTED "operation not permitted";
    801 ERROR_NOT_SUPPORTED "operation not supported";
    802 ERROR_SYSTEM_NOT_READY "system not yet initialized";
    900 ERROR_STREAM_CAPTURE_UNSUPPORTED "operation not permitted when stream is capturing";
    901 ERROR_STREAM_CAPTURE_INVALIDATED "operation failed due to a previous error during capture";
    902 ERROR_STREAM_CAPTURE_MERGE "operation would result in a merge of separate capture sequences";
    903 ERROR_STREAM_CAPTURE_UNMATCHED "capture was not ended in the same stream as it began";
    904 ERROR_STREAM_CAPTURE_UNJOINED "capturing stream has unjoined work";
    905 ERROR_STREAM_CAPTURE_ISOLATION "dependency created on uncaptured work in another stream";
    906 ERROR_STREAM_CAPTURE_IMPLICIT "operation would make the legacy stream depend on a capturing blocking stream";
    907 ERROR_CAPTURED_EVENT "operation not permitted on an event last recorded in a capturing stream";
    908 ERROR_STREAM_CAPTURE_WRONG_THREAD "attempt to terminate a thread-local capture sequence from another thread";
    910 ERROR_GRAPH_EXEC_UPDATE_FAILURE "the graph update was not performed because it included changes which violated constraints";
    999 ERROR_UNKNOWN "unknown error";
}

fn row(code: Code) -> Option<&'static (Code, &'static str, &'static str)> {
    TABLE.iter().find(|row| row.0 == code)
}

fn c_string(text: &'static str) -> Option<&'static CStr> {
    CStr::from_bytes_with_nul(text.as_bytes()).ok()
}

/// Returns the name of a code, such as `CUDA_ERROR_INVALID_VALUE`.
pub fn name(code: Code) -> Option<&'static CStr> {
    row(code).and_then(|row| c_string(row.1))
}

/// Returns the description of a code.
pub fn text(code: Code) -> Option<&'static CStr> {
    row(code).and_then(|row| c_string(row.2))
}

/// Parses a code from its number or its name, with or without the `CUDA_ERROR_` prefix.
pub fn parse(text: &str) -> Option<Code> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    TABLE.iter().find_map(|&(code, name, _)| {
        let name = name.trim_end_matches('\0');
        (name == text || name.strip_prefix("CUDA_ERROR_") == Some(text)).then_some(code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read() {
        assert_eq!(parse("2"), Some(ERROR_OUT_OF_MEMORY));
        assert_eq!(parse("CUDA_ERROR_OUT_OF_MEMORY"), Some(2));
        assert_eq!(parse("OUT_OF_MEMORY"), Some(2));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(name(700).and_then(|n| n.to_str().ok()), Some("CUDA_ERROR_ILLEGAL_ADDRESS"));
        assert_eq!(text(0).and_then(|n| n.to_str().ok()), Some("no error"));
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
