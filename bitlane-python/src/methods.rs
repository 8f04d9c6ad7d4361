//! The methods of `Array`, and what Python's operators call.

use std::ffi::c_int;

use bitlane::{BinaryOp, Complex, DType as Dtype, Shift, UnaryOp};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::array::{Array, Value};
use crate::buffer;
use crate::device::{AsDevice, Device};
use crate::dtype::{AsDType, DType};
use crate::error::raised;
use crate::exchange;
use crate::step::{Step, View, applied_to, computed, of_one};

/// Returns the operation and the symbol of an operator that assigns, such as `__iadd__`.
fn assigning(name: &str) -> Option<(BinaryOp, &'static str)> {
    Some(match name {
        "__iadd__" => (BinaryOp::Add, "+"),
        "__isub__" => (BinaryOp::Subtract, "-"),
        "__imul__" => (BinaryOp::Multiply, "*"),
        "__itruediv__" => (BinaryOp::Divide, "/"),
        "__ifloordiv__" => (BinaryOp::FloorDivide, "//"),
        "__imod__" => (BinaryOp::Remainder, "%"),
        "__iand__" => (BinaryOp::BitwiseAnd, "&"),
        "__ior__" => (BinaryOp::BitwiseOr, "|"),
        "__ixor__" => (BinaryOp::BitwiseXor, "^"),
        "__ilshift__" => (BinaryOp::LeftShift(Shift::Arithmetic), "<<"),
        "__irshift__" => (BinaryOp::RightShift(Shift::Arithmetic), ">>"),
        "__ipow__" => (BinaryOp::Pow, "**"),
        _ => return None,
    })
}

#[pymethods]
impl Array {
    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Add, other, false)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Add, other, true)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Subtract, other, false)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Subtract, other, true)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Multiply, other, false)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Multiply, other, true)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Divide, other, false)
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Divide, other, true)
    }

    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::FloorDivide, other, false)
    }

    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::FloorDivide, other, true)
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Remainder, other, false)
    }

    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Remainder, other, true)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::BitwiseAnd, other, false)
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::BitwiseAnd, other, true)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::BitwiseOr, other, false)
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::BitwiseOr, other, true)
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::BitwiseXor, other, false)
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::BitwiseXor, other, true)
    }

    fn __lshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::LeftShift(Shift::Arithmetic), other, false)
    }

    fn __rlshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::LeftShift(Shift::Arithmetic), other, true)
    }

    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::RightShift(Shift::Arithmetic), other, false)
    }

    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::RightShift(Shift::Arithmetic), other, true)
    }

    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Err(PyTypeError::new_err("pow: a modulus is not supported"));
        }
        self.operated(BinaryOp::Pow, other, false)
    }

    fn __rpow__(
        &self,
        other: &Bound<'_, PyAny>,
        _modulo: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        self.operated(BinaryOp::Pow, other, true)
    }

    /// Runs the operator with this name in place; the methods ``__iadd__`` and so on of the class call it.
    fn _assign<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (op, symbol) = assigning(name)
            .ok_or_else(|| PyTypeError::new_err(format!("{name} is no operator")))?;
        Array::assigned(slf, op, symbol, other)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let op = match op {
            CompareOp::Lt => BinaryOp::LessThan,
            CompareOp::Le => BinaryOp::LessEqual,
            CompareOp::Eq => BinaryOp::Equal,
            CompareOp::Ne => BinaryOp::NotEqual,
            CompareOp::Gt => BinaryOp::GreaterThan,
            CompareOp::Ge => BinaryOp::GreaterEqual,
        };
        self.operated(op, other, false)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Array> {
        of_one(py, UnaryOp::Negative, self.given())
    }

    fn __pos__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().element_type() == Dtype::Bool {
            return Err(PyTypeError::new_err(
                "positive: bool is not supported, only numbers; cast the operand",
            ));
        }
        Ok(slf)
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Array> {
        of_one(py, UnaryOp::Abs, self.given())
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Array> {
        of_one(py, UnaryOp::BitwiseNot, self.given())
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.scalar(py, "bool", Dtype::Bool)
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.element_type() {
            Dtype::U64 => {
                Ok(self.scalar::<u64>(py, "int", Dtype::U64)?.into_pyobject(py)?.into_any())
            }
            dtype if dtype.is_complex() => {
                Err(PyTypeError::new_err("int: a complex number has no integer"))
            }
            dtype if dtype.is_float() => {
                let value = self.scalar::<f64>(py, "int", Dtype::F64)?;
                value.into_pyobject(py)?.call_method0("__int__")
            }
            _ => Ok(self.scalar::<i64>(py, "int", Dtype::I64)?.into_pyobject(py)?.into_any()),
        }
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !self.element_type().is_int() || !self.sizes().is_empty() {
            let (shape, dtype) = (self.sizes(), self.element_type());
            let text = format!(
                "only an integer array without dimensions is an index, not {dtype} of shape {shape:?}"
            );
            return Err(PyTypeError::new_err(text));
        }
        self.__int__(py)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        if self.element_type().is_complex() {
            return Err(PyTypeError::new_err("float: a complex number is none"));
        }
        self.scalar(py, "float", Dtype::F64)
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value: Complex<f64> = self.scalar(py, "complex", Dtype::C128)?;
        Ok(value.into_pyobject(py)?.into_any())
    }

    /// The only element, as a number of Python.
    ///
    /// >>> import bitlane
    /// >>> bitlane.asarray([7]).item()
    /// 7
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.element_type() {
            Dtype::Bool => Ok(self.__bool__(py)?.into_pyobject(py)?.to_owned().into_any()),
            dtype if dtype.is_complex() => self.__complex__(py),
            dtype if dtype.is_float() => Ok(self.__float__(py)?.into_pyobject(py)?.into_any()),
            _ => self.__int__(py),
        }
    }

    /// The elements as nested lists of Python's numbers.
    ///
    /// >>> import bitlane
    /// >>> bitlane.asarray([[1.5, 2.0]]).tolist()
    /// [[1.5, 2.0]]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor("tolist")?;
        if tensor.rank() == 0 {
            return self.item(py);
        }
        macro_rules! listed {
            ($rust:ty, $dtype:expr) => {{
                let elements: Vec<$rust> =
                    py.detach(|| tensor.cast($dtype)?.to_vec()).map_err(raised)?;
                nested(py, &elements, tensor.shape())
            }};
        }
        match tensor.dtype() {
            Dtype::Bool => listed!(bool, Dtype::Bool),
            Dtype::U64 => listed!(u64, Dtype::U64),
            dtype if dtype.is_complex() => listed!(Complex<f64>, Dtype::C128),
            dtype if dtype.is_float() => listed!(f64, Dtype::F64),
            _ => listed!(i64, Dtype::I64),
        }
    }

    /// The dtype of the elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<DType>> {
        crate::dtype::object(py, self.element_type())
    }

    /// The device that holds the elements.
    #[getter]
    fn device(&self) -> Device {
        match &self.value {
            Value::Tensor(tensor) => Device(tensor.device().clone()),
            Value::Traced(traced) => Device(traced.device.clone()),
        }
    }

    /// The size of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.sizes())
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.sizes().len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.sizes().iter().product()
    }

    /// The number of bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.element_type().size()
    }

    /// The number of bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.size() * self.itemsize()
    }

    /// The transpose of a matrix, as a view.
    #[getter]
    #[pyo3(name = "T")]
    fn t(&self, py: Python<'_>) -> PyResult<Array> {
        if self.sizes().len() != 2 {
            let text = format!(
                "T: an array of shape {:?} is no matrix; use `mT` or `permute_dims`",
                self.sizes()
            );
            return Err(PyValueError::new_err(text));
        }
        self.mt(py)
    }

    /// The transpose of a stack of matrices, as a view.
    #[getter]
    #[pyo3(name = "mT")]
    fn mt(&self, py: Python<'_>) -> PyResult<Array> {
        let rank = self.sizes().len();
        if rank < 2 {
            let text = format!("mT: an array of shape {:?} is no matrix", self.sizes());
            return Err(PyValueError::new_err(text));
        }
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 1, rank - 2);
        applied_to(py, Step::View(View::Permute(order)), self)
    }

    /// Copies the array to another device. On its own device it is the same array.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        slf: Bound<'_, Self>,
        device: AsDevice,
        stream: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<Array>> {
        if stream.is_some_and(|stream| !stream.is_none()) {
            return Err(PyNotImplementedError::new_err(
                "to_device: streams of other libraries are not taken",
            ));
        }
        let (py, AsDevice(device)) = (slf.py(), device);
        let tensor = slf.get().tensor("to_device")?;
        if *tensor.device() == device {
            return Ok(slf.clone().unbind());
        }
        Py::new(py, Array::new(py.detach(|| tensor.to_device(&device)).map_err(raised)?))
    }

    fn __len__(&self) -> PyResult<usize> {
        let size = self.sizes().first().copied();
        size.ok_or_else(|| PyTypeError::new_err("len: an array without dimensions has no length"))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(&size) = self.sizes().first() else {
            return Err(PyTypeError::new_err(
                "an array without dimensions cannot be iterated over",
            ));
        };
        let rows = (0..size).map(|k| crate::index::at(py, self, 0, k));
        let rows = rows.collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, rows)?.try_iter()?.into_any())
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        crate::index::get(slf, key)
    }

    fn __setitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        crate::index::set(slf, key, value)
    }

    fn __repr__(&self) -> String {
        crate::print::represented(self)
    }

    fn __str__(&self) -> String {
        match &self.value {
            Value::Tensor(tensor) => format!("{tensor:#}"),
            Value::Traced(_) => self.__repr__(),
        }
    }

    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyModule>> {
        let known = ["2021.12", "2022.12", "2023.12", "2024.12"];
        if let Some(version) = api_version.filter(|version| !known.contains(version)) {
            let text = format!(
                "version {version:?} of the array API is not known, only {}",
                known.join(" ")
            );
            return Err(PyValueError::new_err(text));
        }
        py.import("bitlane")
    }

    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        exchange::device(self.tensor("__dlpack_device__")?)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        exchange::exported(py, self.tensor("__dlpack__")?, stream, max_version, dl_device, copy)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().tensor("an array of NumPy")?;
        slf.py().import("bitlane._numpy")?.getattr("to_numpy")?.call1((slf, dtype, copy))
    }

    #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: Bound<'py, PyAny>,
        method: Bound<'py, PyAny>,
        inputs: Bound<'py, PyTuple>,
        kwargs: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("bitlane._numpy")?
            .getattr("array_ufunc")?
            .call1((ufunc, method, inputs, kwargs))
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: Bound<'py, PyAny>,
        types: Bound<'py, PyAny>,
        args: Bound<'py, PyAny>,
        kwargs: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("bitlane._numpy")?
            .getattr("array_function")?
            .call1((func, types, args, kwargs))
    }

    fn __reduce_ex__<'py>(
        slf: &Bound<'py, Self>,
        protocol: u32,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        buffer::pickled(slf, protocol)
    }

    /// Converts to another dtype, as :func:`astype` does; Dask calls this method.
    #[pyo3(signature = (dtype, *, copy=true, **_options))]
    pub fn astype(
        slf: &Bound<'_, Self>,
        dtype: AsDType,
        copy: bool,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Array>> {
        let (py, this) = (slf.py(), slf.get());
        if dtype.0 != this.element_type() {
            return Py::new(py, applied_to(py, Step::Cast(dtype.0), this)?);
        }
        match (&this.value, copy) {
            (Value::Tensor(_), true) => Py::new(py, this.copy(py)?),
            _ => Ok(slf.clone().unbind()),
        }
    }

    /// Returns the elements in another shape, as :func:`reshape` does; Dask calls this method.
    #[pyo3(signature = (*shape))]
    fn reshape<'py>(slf: &Bound<'py, Self>, shape: &Bound<'py, PyTuple>) -> PyResult<Array> {
        let sizes = match shape.len() {
            1 if shape.get_item(0)?.hasattr("__len__")? => shape.get_item(0)?,
            _ => shape.clone().into_any(),
        };
        crate::function::reshape(slf.py(), slf, sizes.extract()?)
    }

    /// Reorders the dimensions, as :func:`permute_dims` does, or reverses them; Dask calls this method.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, py: Python<'_>, axes: &Bound<'_, PyTuple>) -> PyResult<Array> {
        let rank = self.sizes().len();
        let axes = match axes.len() {
            0 => return applied_to(py, Step::View(View::Permute((0..rank).rev().collect())), self),
            1 if axes.get_item(0)?.hasattr("__len__")? => {
                axes.get_item(0)?.extract::<Vec<isize>>()?
            }
            _ => axes.extract::<Vec<isize>>()?,
        };
        let place = |&axis: &isize| {
            let place = if axis < 0 { axis.checked_add_unsigned(rank) } else { Some(axis) };
            place.and_then(|place| usize::try_from(place).ok()).filter(|&place| place < rank)
        };
        let order: Option<Vec<usize>> = axes.iter().map(place).collect();
        let order = order.ok_or_else(|| {
            PyIndexError::new_err(format!("transpose: axes {axes:?} of an array of rank {rank}"))
        })?;
        applied_to(py, Step::View(View::Permute(order)), self)
    }

    /// Returns a copy with memory of its own.
    fn copy(&self, py: Python<'_>) -> PyResult<Array> {
        let tensor = self.tensor("copy")?;
        computed(py, tensor.len(), *tensor.device() == bitlane::Device::cpu(), || tensor.copy())
            .map(Array::new)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Array> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Array> {
        self.copy(py)
    }

    /// The elements in hexadecimal or binary notation: ``format(x, "x")``, ``f"{x:b}"``.
    fn __format__(slf: &Bound<'_, Self>, spec: &str) -> PyResult<String> {
        let this = slf.get();
        match (spec, &this.value) {
            ("", _) => Ok(this.__str__()),
            ("x", Value::Tensor(tensor)) => Ok(format!("{tensor:#x}")),
            ("X", Value::Tensor(tensor)) => Ok(format!("{tensor:#X}")),
            ("b", Value::Tensor(tensor)) => Ok(format!("{tensor:#b}")),
            _ if this.sizes().is_empty() => {
                this.item(slf.py())?.call_method1("__format__", (spec,))?.extract()
            }
            _ => Err(PyValueError::new_err(format!(
                "{spec:?} formats no array; \"x\", \"X\" and \"b\" do"
            ))),
        }
    }

    // SAFETY: Python calls this with a structure to fill in.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: as Python promises.
        unsafe { buffer::get_buffer(slf, view, flags) }
    }

    // SAFETY: Python calls this with a structure that `__getbuffer__` has filled in.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as Python promises.
        unsafe { buffer::release_buffer(view) }
    }
}

fn nested<'py, T>(py: Python<'py>, elements: &[T], shape: &[usize]) -> PyResult<Bound<'py, PyAny>>
where
    T: Copy + IntoPyObject<'py>,
{
    match shape {
        [] | [_] => Ok(PyList::new(py, elements.iter().copied())?.into_any()),
        [rows, rest @ ..] => {
            let len: usize = rest.iter().product();
            let row = |k: usize| nested(py, &elements[k * len..(k + 1) * len], rest);
            let rows = (0..*rows).map(row).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, rows)?.into_any())
        }
    }
}
