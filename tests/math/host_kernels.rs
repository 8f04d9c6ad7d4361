//! The device functions of `cuda/` and their packed forms, compiled for the host and compared with the definition for
//! one element. PTX instructions are replaced by exact models; everything else is the source that NVRTC compiles.

use std::ffi::{CString, c_char, c_int, c_void};

use crate::model::element::{Bits, edge_values, from_bytes, same, to_bytes};
use crate::model::ops::{apply, freedom, is_defined, result_dtype};
use crate::model::random::Random;
use bitlane::{BinaryOp, DType, Shift};

type Form = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_void,
    *const c_void,
    *mut c_void,
    usize,
) -> c_int;

unsafe extern "C" {
    fn bl_host_elements(
        op: *const c_char,
        dtype: *const c_char,
        x: *const c_void,
        y: *const c_void,
        out: *mut c_void,
        n: usize,
    ) -> c_int;
    fn bl_host_vectors(
        op: *const c_char,
        dtype: *const c_char,
        x: *const c_void,
        y: *const c_void,
        out: *mut c_void,
        n: usize,
    ) -> c_int;
    fn bl_host_uniform(
        op: *const c_char,
        dtype: *const c_char,
        x: *const c_void,
        y: *const c_void,
        out: *mut c_void,
        n: usize,
    ) -> c_int;
    fn bl_host_divide(n: u32, magic: u32, shift: u32) -> u32;
}

/// Runs one form of an operation; `units` is the count in the unit of the form.
fn call(form: Form, op: BinaryOp, dtype: DType, x: &[Bits], y: &[Bits], units: usize) -> Vec<Bits> {
    let name = CString::new(op.name()).unwrap();
    let dtype_name = CString::new(dtype.name()).unwrap();
    let (x_bytes, y_bytes) = (to_bytes(dtype, x), to_bytes(dtype, y));
    let result = result_dtype(op, dtype);
    // Stores of whole vectors must be aligned, as on the device; `u128` guarantees that.
    let mut out = vec![0u128; (x.len() * result.size()).div_ceil(16)];
    // SAFETY: the operands and the result have as many elements as the form reads and writes.
    let found = unsafe {
        form(
            name.as_ptr(),
            dtype_name.as_ptr(),
            x_bytes.as_ptr().cast(),
            y_bytes.as_ptr().cast(),
            out.as_mut_ptr().cast(),
            units,
        )
    };
    assert_eq!(found, 1, "no host function {op} of {dtype}");
    let bytes: Vec<u8> =
        out.iter().flat_map(|word| word.to_le_bytes()).take(x.len() * result.size()).collect();
    from_bytes(result, &bytes)
}

/// Returns pairs of operands: all pairs for one-byte dtypes, else edge values and random ones; a multiple of sixteen.
fn pairs(dtype: DType) -> (Vec<Bits>, Vec<Bits>) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    if dtype.size() == 1 {
        let values: Vec<Bits> = if dtype == DType::Bool { vec![0, 1] } else { (0..256).collect() };
        for &a in &values {
            for &b in &values {
                x.push(a);
                y.push(b);
            }
        }
    } else {
        let edges = edge_values(dtype);
        for (place, &a) in edges.iter().enumerate() {
            for &b in edges
                .iter()
                .skip(if edges.len() > 60 { place % 7 } else { 0 })
                .step_by(if edges.len() > 60 { 7 } else { 1 })
            {
                x.push(a);
                y.push(b);
            }
        }
        let mut random = Random::new(7);
        x.extend(random.elements(dtype, 4096));
        y.extend(random.elements(dtype, 4096));
    }
    while x.len() % 16 != 0 {
        x.push(x[0]);
        y.push(y[0]);
    }
    // Shuffle the pairs: between equal neighbours, a leak from one vector lane to the next would not show.
    let mut random = Random::new(11);
    for last in (1..x.len()).rev() {
        let other = random.below(last + 1);
        x.swap(last, other);
        y.swap(last, other);
    }
    (x, y)
}

#[test]
fn every_op_is_as_defined_by_element_and_by_vector() {
    for &op in BinaryOp::ALL {
        if op == BinaryOp::LeftShift(Shift::Logical) {
            continue; // the same kernels as the arithmetic one
        }
        // Floats of 8 bits have generated kernels alone.
        let is_float8 = |dtype| matches!(dtype, DType::F8E4M3FN | DType::F8E5M2);
        let is_here = |&&dtype: &&DType| is_defined(op, dtype) && !is_float8(dtype);
        for &dtype in DType::ALL.iter().filter(is_here) {
            let (x, y) = pairs(dtype);
            let lanes = 16 / dtype.size();
            let check = |given: &[Bits], x: &[Bits], y: &dyn Fn(usize) -> Bits, form: &str| {
                for (index, &given) in given.iter().enumerate() {
                    let expected = apply(op, dtype, x[index], y(index));
                    assert!(
                        same(result_dtype(op, dtype), expected, given, freedom(op)),
                        "{op} of {dtype} {:#x} and {:#x}, {form}, gives {given:#x}, not {expected:#x}",
                        x[index],
                        y(index)
                    );
                }
            };
            let pairwise = |index: usize| y[index];
            check(&call(bl_host_elements, op, dtype, &x, &y, x.len()), &x, &pairwise, "by element");
            check(
                &call(bl_host_vectors, op, dtype, &x, &y, x.len() / lanes),
                &x,
                &pairwise,
                "by vector",
            );
            let amounts = if dtype.size() == 1 { 256 } else { 40 };
            for &one in y.iter().take(amounts) {
                let part = &x[..x.len().min(512)];
                let given =
                    call(bl_host_uniform, op, dtype, part, &vec![one; lanes], part.len() / lanes);
                check(&given, part, &|_| one, "with one right operand");
            }
        }
    }
}

#[test]
fn division_by_multiplication_is_exact() {
    let divide = |n: u32, d: u32| {
        let log = d.next_power_of_two().trailing_zeros();
        let magic = u32::try_from((1u64 << (31 + log)).div_ceil(u64::from(d))).unwrap();
        // SAFETY: the function takes three numbers and accesses no memory.
        unsafe { bl_host_divide(n, magic, log - 1) }
    };
    let mut random = Random::new(3);
    let last = u32::MAX / 2;
    for round in 0..40_000u32 {
        let d = if round < 5_000 { round + 2 } else { 2 + random.below(last as usize - 2) as u32 };
        let multiple = last / d * d;
        let some = random.below(last as usize) as u32;
        for n in [0, 1, d - 1, d, multiple - 1, multiple, last - 1, last, some] {
            assert_eq!(divide(n, d), n / d, "{n} / {d}");
        }
    }
}
