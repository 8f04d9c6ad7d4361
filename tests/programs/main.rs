//! Whole programs: the examples, and Python with NumPy and PyTorch. Those that lack a requirement are shown as ignored.

#[path = "../devices/mod.rs"]
mod devices;
mod examples;
mod python;

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let tests = examples::tests().into_iter().chain(python::tests()).collect();
    libtest_mimic::run(&arguments, tests).exit();
}
