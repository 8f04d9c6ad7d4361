//! Names the shared library `libcuda.so` inside (its SONAME), while its file keeps another name: a program
//! that opened it by path then finds it again under the driver's name, and no file in the target folder can
//! be taken for a real driver.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    }
}
