//! Dtypes under the names that the array API gives them.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};

use crate::error::raised;

/// The type of the elements of an array.
#[pyclass(frozen, eq, hash, module = "bitlane")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType(pub bitlane::DType);

/// Returns the name in Python: `int8` for `i8`, `float8_e5m2` for `f8e5m2`.
pub fn long_name(dtype: bitlane::DType) -> String {
    let name = dtype.name();
    if name == "bool" {
        return name.into();
    }
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (kind, rest) = name.split_at(digits);
    let word = match kind {
        "u" => "uint",
        "i" => "int",
        "f" => "float",
        "bf" => "bfloat",
        "c" => "complex",
        other => other,
    };
    match rest.find(|c: char| c.is_ascii_alphabetic()) {
        Some(place) => format!("{word}{}_{}", &rest[..place], &rest[place..]),
        None => format!("{word}{rest}"),
    }
}

/// Returns the object for a dtype, of which there is one only.
pub fn object(py: Python<'_>, dtype: bitlane::DType) -> PyResult<Py<DType>> {
    static ALL: PyOnceLock<Vec<Py<DType>>> = PyOnceLock::new();
    let all = ALL.get_or_try_init(py, || {
        bitlane::DType::ALL.iter().map(|&dtype| Py::new(py, DType(dtype))).collect::<PyResult<_>>()
    })?;
    let found = all.iter().find(|object| object.get().0 == dtype);
    found.map_or_else(|| Py::new(py, DType(dtype)), |object| Ok(object.clone_ref(py)))
}

/// Finds a dtype by its name in Python. (The names in Rust are not known: `i8` is 64 bits to NumPy.)
pub fn named(name: &str) -> Option<bitlane::DType> {
    let mut all = bitlane::DType::ALL.iter().copied();
    all.find(|&dtype| long_name(dtype) == name)
}

/// Reads a dtype: one of ours, one of NumPy's, a name, or `bool`, `int`, `float` or `complex`.
pub fn dtype(object: &Bound<'_, PyAny>) -> PyResult<bitlane::DType> {
    if let Ok(dtype) = object.cast_exact::<DType>() {
        return Ok(dtype.get().0);
    }
    let py = object.py();
    if object.is_instance_of::<PyType>() {
        let defaults = [
            (py.get_type::<PyBool>(), bitlane::DType::Bool),
            (py.get_type::<PyInt>(), bitlane::DType::I64),
            (py.get_type::<PyFloat>(), bitlane::DType::F64),
            (py.get_type::<PyComplex>(), bitlane::DType::C128),
        ];
        if let Some((_, dtype)) = defaults.iter().find(|(kind, _)| object.is(kind)) {
            return Ok(*dtype);
        }
    }
    let name = if object.is_instance_of::<PyString>() {
        let name = object.extract::<String>()?;
        match named(&name) {
            Some(dtype) => return Ok(dtype),
            // One of NumPy's codes, such as "f4" or "<i8".
            None => py.import("numpy").and_then(|numpy| {
                numpy.getattr("dtype")?.call1((name,))?.getattr("name")?.extract::<String>()
            }),
        }
    } else {
        // A dtype of NumPy, or one of its types of scalars.
        let name = object.getattr("name").or_else(|_| object.getattr("__name__"));
        name.and_then(|name| name.extract::<String>())
    };
    let name = name.ok();
    name.as_deref().and_then(named).ok_or_else(|| {
        let all: Vec<_> = bitlane::DType::ALL.iter().map(|&dtype| long_name(dtype)).collect();
        PyTypeError::new_err(format!("{object} is not a dtype; the dtypes are {}", all.join(" ")))
    })
}

/// A dtype among the arguments of a function.
pub struct AsDType(pub bitlane::DType);

impl<'py> FromPyObject<'_, 'py> for AsDType {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<AsDType> {
        dtype(&object).map(AsDType)
    }
}

#[pymethods]
impl DType {
    /// The name, such as `float32`.
    #[getter]
    fn name(&self) -> String {
        long_name(self.0)
    }

    /// The number of bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// The kind as a letter, as NumPy has it: `b`, `i`, `u`, `f` or `c`.
    #[getter]
    fn kind(&self) -> char {
        use bitlane::DType::*;
        match self.0 {
            Bool => 'b',
            U8 | U16 | U32 | U64 => 'u',
            I8 | I16 | I32 | I64 => 'i',
            F8E4M3FN | F8E5M2 | F16 | BF16 | F32 | F64 => 'f',
            C64 | C128 => 'c',
        }
    }

    /// The dtype of NumPy. Those that NumPy itself lacks are of the package `ml_dtypes`.
    #[getter(__numpy_dtype__)]
    fn numpy_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = long_name(self.0);
        let own = name.starts_with("bf") || name.starts_with("float8");
        let argument = if own {
            py.import("ml_dtypes")?.getattr(&*name)?
        } else {
            PyString::new(py, &name).into_any()
        };
        py.import("numpy")?.getattr("dtype")?.call1((argument,))
    }

    fn __repr__(&self) -> String {
        format!("bitlane.{}", long_name(self.0))
    }

    fn __str__(&self) -> String {
        long_name(self.0)
    }

    fn __reduce__(&self) -> String {
        long_name(self.0)
    }
}

/// Returns the dtype that the rulebook in force gives to arrays and numbers.
#[pyfunction]
#[pyo3(signature = (*operands))]
pub fn result_type(py: Python<'_>, operands: Vec<Bound<'_, PyAny>>) -> PyResult<Py<DType>> {
    use crate::given::{Given, given};
    use bitlane::promote::Kind;
    let mut kinds = Vec::new();
    for operand in &operands {
        kinds.push(match (operand.cast_exact::<DType>(), given(operand)?) {
            (Ok(dtype), _) => Kind::Tensor(dtype.get().0),
            (_, Some(Given::Number(number))) => Kind::scalar(&number),
            (_, Some(array)) => Kind::Tensor(array.dtype()),
            (_, None) => Kind::Tensor(dtype(operand)?),
        });
    }
    // Numbers come last, so that they adapt to all arrays together.
    kinds.sort_by_key(|kind| matches!(kind, Kind::Scalar(_)));
    let mut kinds = kinds.into_iter();
    let first = kinds.next();
    let Some(Kind::Tensor(mut common)) = first else {
        return Err(PyTypeError::new_err("result_type: give at least one array or dtype"));
    };
    let rules = crate::rules();
    for kind in kinds {
        // Addition has the general rule, and takes every dtype.
        let op = bitlane::BinaryOp::Add;
        common =
            bitlane::promote::result_type(op, Kind::Tensor(common), kind, rules).map_err(raised)?;
    }
    self::object(py, common)
}
