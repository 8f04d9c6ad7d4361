//! The kernels of PyTorch, counted in the same way as those of this crate.
//!
//! They come from the machine code in PyTorch's wheel on PyPI. The wheel has several kernels for each operation; the
//! functions `launch_vectorized_kernel` and `gpu_kernel_impl_nocast` in its header `ATen/native/cuda/CUDALoops.cuh` show
//! which of them runs.

use std::fs;
use std::path::Path;

use super::Measured;
use super::listing::{Function, Instruction};
use super::measure::{Tools, figures};
use crate::run::root;
use crate::{Failure, wheels};

pub const ARCH: &str = "sm_80";

/// The operations that are counted, with the functions that contain their kernels.
const OPS: [(&str, &str); 3] = [
    ("lshift_kernel_cuda", "bitwise_left_shift"),
    ("rshift_kernel_cuda", "bitwise_right_shift"),
    ("copysign_kernel_cuda", "copysign"),
];

/// The dtypes, as they are written at the start of a functor's mangled arguments, with the size of an element.
const DTYPES: [(&str, &str, usize); 9] = [
    ("a", "i8", 1),
    ("h", "u8", 1),
    ("s", "i16", 2),
    ("i", "i32", 4),
    ("l", "i64", 8),
    ("N3c104HalfE", "f16", 2),
    ("N3c108BFloat16E", "bf16", 2),
    ("f", "f32", 4),
    ("d", "f64", 8),
];

/// A kernel that PyTorch runs on sm_80 for operands of a shape.
struct Version {
    /// The shape, as in the names of this crate's kernels.
    shape: &'static str,
    /// The parts of its mangled name, before the dtype.
    kernel: String,
    functor: &'static str,
    /// The number of dimensions that TensorIterator leaves, if the kernel computes offsets.
    rank: Option<usize>,
}

/// Returns the kernels that run for elements of a size.
fn versions(element_bytes: usize) -> Vec<Version> {
    let vector = (16 / element_bytes).min(4);
    let unrolled = if element_bytes >= 4 { 2 } else { 4 };
    let contiguous = |shape, functor| Version {
        shape,
        kernel: format!("29vectorized_elementwise_kernelILi{vector}E"),
        functor,
        rank: None,
    };
    let strided = |shape, rank| Version {
        shape,
        kernel: format!("18elementwise_kernelILi128ELi{unrolled}EZNS0_22gpu_kernel_impl_nocastI"),
        functor: "13BinaryFunctor",
        rank: Some(rank),
    };
    vec![
        contiguous("contig", "13BinaryFunctor"),
        contiguous("scalar", "13BUnaryFunctor"),
        strided("row", 2),
        strided("col", 2),
        strided("gen4", 4),
        strided("gath4", 4),
    ]
}

/// What the page says of the column.
pub fn note() -> String {
    format!(
        "The PyTorch column counts the kernels in PyPI's wheel `torch=={}` (`torch/lib/libtorch_cuda.so`) in the same way, disassembled for {ARCH}: `lshift_kernel_cuda` and\n\
         `rshift_kernel_cuda` for `i8`, `u8`, `i16`, `i32` and `i64` (zeros enter: only the first; arithmetic: only the second), and `copysign_kernel_cuda` for `f16`, `bf16`, `f32`\n\
         and `f64`. Each of these has several kernels; those counted are the ones that PyTorch launches on {ARCH} for aligned operands of one dtype, according to its header\n\
         `ATen/native/cuda/CUDALoops.cuh`:\n\n\
         - contiguous: `vectorized_elementwise_kernel<4, …>` with `BinaryFunctor` (64 bit: `<2, …>`); tensor–scalar: the same with `BUnaryFunctor`;\n\
         - all others: `elementwise_kernel<128, 4, …>` of `gpu_kernel_impl_nocast` (32 and 64 bit: `<128, 2, …>`), which divides to find the offset of each element. Counted is\n  \
           the path for two dimensions (rows and columns) or four (4-D).\n",
        wheels::TORCH.version()
    )
}

/// Measures PyTorch's kernels, under the names that this crate's kernels of the same shape, operation and dtype have.
pub fn measure(tools: &Tools) -> Result<Measured, Failure> {
    let library = wheels::TORCH.path()?;
    let folder = root().join("target/sass/pytorch");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    eprintln!("taking the code for {ARCH} out of {}", library.display());
    tools.extract(&library, ARCH, &folder)?;

    let mut kernels = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let cubin = entry?.path();
        if !mentions_an_operation(&cubin)? {
            continue;
        }
        let code = tools.disassemble(&cubin)?;
        for function in &code.functions {
            for (name, rank) in names(&function.name) {
                let trimmed = match rank {
                    None => function.code.clone(),
                    Some(rank) => of_rank(&function.code, rank)
                        .ok_or_else(|| format!("no search for the rank in {}", function.name))?,
                };
                let renamed = Function { name, code: trimmed };
                kernels.push(figures(&renamed, code.resources(&function.name)?, None)?);
            }
        }
    }
    fs::remove_dir_all(&folder)?; // some 700 MB
    kernels.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    let expected: usize = OPS.iter().map(|(_, op)| dtypes(op).count() * versions(1).len()).sum();
    if kernels.len() != expected {
        return Err(format!("{} kernels of PyTorch instead of {expected}", kernels.len()).into());
    }
    Ok(Measured { arch: format!("PyTorch, {ARCH}"), kernels })
}

/// Returns the dtypes of an operation: integers for shifts, floats for copysign.
fn dtypes(op: &str) -> impl Iterator<Item = &'static (&'static str, &'static str, usize)> {
    let floats = op == "copysign";
    DTYPES.iter().filter(move |(_, dtype, _)| dtype.starts_with(['f', 'b']) == floats)
}

fn mentions_an_operation(cubin: &Path) -> Result<bool, Failure> {
    let bytes = fs::read(cubin)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(OPS.iter().any(|(function, _)| text.contains(function)))
}

/// Returns the names that a kernel has here, with the rank on whose path it is counted. There are none if it is not
/// counted, and two if it serves two shapes.
fn names(mangled: &str) -> Vec<(String, Option<usize>)> {
    let mut found = Vec::new();
    for (function, op) in OPS {
        for &(letters, dtype, bytes) in dtypes(op).filter(|_| mangled.contains(function)) {
            for version in versions(bytes) {
                let functor = format!("{}I{letters}", version.functor);
                if mangled.contains(&version.kernel) && mangled.contains(&functor) {
                    found.push((format!("{}_{op}_{dtype}", version.shape), version.rank));
                }
            }
        }
    }
    found
}

/// Returns the code as it runs with operands of so many dimensions.
///
/// The offset of each element is computed dimension by dimension, and before each one there is a branch to the end of
/// the computation, taken if there are no more. The branch behind the last dimension becomes unconditional, and the
/// others are never taken. Returns `None` if there are no such branches.
fn of_rank(code: &[Instruction], rank: usize) -> Option<Vec<Instruction>> {
    const FEWEST: usize = 16; // PyTorch's limit is 25 dimensions; no other branches have a target in common so often
    let target = |i: &Instruction| {
        let forward = i.opcode.starts_with("BRA") && i.is_conditional();
        i.target().filter(|&target| forward && target > i.address)
    };
    let leaving = |to: u64| code.iter().filter(move |&i| target(i) == Some(to));
    let mut changed = false;
    let trimmed = code.iter().map(|instruction| {
        let mut instruction = instruction.clone();
        if let Some(to) = target(&instruction)
            && leaving(to).count() >= FEWEST
        {
            changed = true;
            let dimension = leaving(to).position(|i| i.address == instruction.address);
            if dimension == Some(rank) {
                instruction.guard.clear();
            } else {
                instruction.opcode = "NOP".to_owned(); // it still counts
            }
        }
        instruction
    });
    let trimmed = trimmed.collect();
    changed.then_some(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass::{flow, listing};

    const VECTORIZED: &str = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIiiiZZZNS0_18rshift_kernel_cudaE";
    const STRIDED: &str = "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_13BinaryFunctorIN3c104HalfES5_S5_ZZZNS0_20copysign_kernel_cudaE";

    #[test]
    fn kernels_are_recognised() {
        assert_eq!(names(VECTORIZED), [("contig_bitwise_right_shift_i32".to_owned(), None)]);
        let shapes = [("row", 2), ("col", 2), ("gen4", 4), ("gath4", 4)];
        let expected = shapes.map(|(shape, rank)| (format!("{shape}_copysign_f16"), Some(rank)));
        assert_eq!(names(STRIDED), expected);
        for other in [
            VECTORIZED.replace("ILi4E", "ILi2E"),        // not wide enough
            VECTORIZED.replace("18rshift", "18xshift"),  // another operation
            VECTORIZED.replace("BinaryF", "AUnaryF"),    // a scalar on the left
            STRIDED.replace("impl_nocast", "impl_cast"), // converts its operands
        ] {
            assert_eq!(names(&other), []);
        }
    }

    #[test]
    fn the_page_names_the_kernels() {
        let page = include_str!("../../../docs/sass.md");
        assert!(page.contains(&note()), "run `cargo xtask sass --pytorch --markdown docs/sass.md`");
    }

    #[test]
    fn a_path_has_the_steps_of_its_rank() {
        // Twenty dimensions of two instructions each, between a prologue of one and an epilogue of three.
        let mut text = String::from("Function : f\n/*0000*/ MOV R1, R2 ;\n");
        for step in 0..20 {
            let address = 0x10 + 0x20 * step;
            text += &format!("/*{address:04x}*/ @!P0 BRA 0x0300 ;\n");
            text += &format!("/*{:04x}*/ IMAD R1, R1, R2, R3 ;\n", address + 0x10);
        }
        text += "/*0300*/ LDG.E R1, [R2.64] ;\n/*0310*/ STG.E [R2.64], R1 ;\n/*0320*/ EXIT ;\n";
        let code = listing::parse(&text).remove(0).code;
        for rank in [1, 2, 4] {
            let code = of_rank(&code, rank).unwrap();
            assert_eq!(flow::hot_path(&code, false).len(), 1 + (2 * rank + 1) + 3);
        }
        assert!(of_rank(&code[..8], 2).is_none());
    }
}
