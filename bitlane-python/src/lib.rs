//! The part of the Python package `bitlane` that is written in Rust. The package itself is in `python/bitlane/`.

mod array;
mod buffer;
mod create;
mod device;
mod dtype;
mod error;
mod exchange;
mod function;
mod given;
mod index;
mod lookup;
mod methods;
mod packing;
mod partial;
mod print;
mod step;
mod trace;

use std::cell::Cell;

use bitlane::Rules;
use pyo3::prelude::*;

use crate::error::raised;

thread_local! {
    /// The rulebook of the thread. NumPy's has the promotion that the array API asks for.
    static RULES: Cell<Rules> = const { Cell::new(Rules::NumPy) };
}

/// Returns the rulebook in force.
#[inline]
fn rules() -> Rules {
    RULES.try_with(Cell::get).unwrap_or(Rules::NumPy)
}

/// Sets the rulebook of this thread, and returns the one before.
#[pyfunction]
fn set_rules(name: &str) -> PyResult<&'static str> {
    let rules: Rules = name.parse().map_err(raised)?;
    Ok(RULES.with(|current| current.replace(rules)).name())
}

/// Returns the name of this thread's rulebook.
#[pyfunction]
fn current_rules() -> &'static str {
    rules().name()
}

/// The module `bitlane._bitlane`.
#[pymodule]
fn _bitlane(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::Array>()?;
    module.add_class::<device::Device>()?;
    module.add_class::<dtype::DType>()?;
    module.add_class::<function::Function>()?;
    module.add_class::<packing::Packing>()?;
    module.add_class::<partial::PartialSum>()?;
    module.add_class::<trace::Program>()?;
    for &dtype in bitlane::DType::ALL {
        module.add(dtype::long_name(dtype), dtype::object(module.py(), dtype)?)?;
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    macro_rules! functions {
        ($($function:path)*) => {
            $(module.add_function(wrap_pyfunction!($function, module)?)?;)*
        };
    }
    functions! {
        set_rules current_rules
        create::full create::integers create::from_nested
        device::cuda_count
        dtype::result_type
        exchange::from_dlpack buffer::rebuilt
        function::operations function::reductions function::reduce lookup::scan lookup::take
        lookup::take_along_axis lookup::compress lookup::nonzero function::select function::clip function::fma
        function::cast function::cast_saturating function::astype function::bitcast function::reshape function::permute function::unsqueeze function::squeeze
        function::flip function::broadcast_to function::concatenate function::stack function::copysign_grad
        function::computed_loss packing::pack packing::unpack packing::repack function::bits_equal
        function::is_traced function::shares_memory function::as_operand
        index::assign_where index::last_indices
        trace::trace
    }
    Ok(())
}
