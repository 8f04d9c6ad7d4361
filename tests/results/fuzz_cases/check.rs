//! Compares a call with the definition for one element: afterwards every storage, including the gaps between its views,
//! must hold what the definition says, and a refused call must have changed nothing.

use bitlane::promote::{Kind, Op, result_type};
use bitlane::{BinaryOp, DType, Device, ErrorKind, Scalar, Tensor, binary};

use super::case::{Case, Operand, Seen};
use crate::model::element::{
    Bits, Nan, cast, download, from_parts, integer, same, upload, wrapped,
};
use crate::model::functions::is_conversion_of_near;
use crate::model::ops::{apply, freedom, result_dtype, rotate, shift};

/// Makes the call on a device and panics unless the outcome is the expected one.
pub fn check(case: &Case, device: &Device) {
    let storages: Vec<_> = (case.storages.iter())
        .map(|storage| upload(storage.dtype, &storage.elements, &[storage.elements.len()], device))
        .collect();
    let tensor = |seen: &Seen| seen.view.of(&storages[seen.storage]);
    let operand = |operand: &Operand| -> bitlane::Operand<'_> {
        match operand {
            Operand::Tensor(seen) => tensor(seen).into(),
            Operand::Number(scalar) => (*scalar).into(),
        }
    };
    let mut out = case.out.as_ref().map(tensor);
    let mask = case.mask.as_ref().map(tensor);
    let call = binary(case.op, operand(&case.lhs), operand(&case.rhs)).rules(case.rules);
    let call = match &mut out {
        Some(out) => call.out(out),
        None => call,
    };
    let outcome = match &mask {
        Some(mask) => call.mask(mask).run(),
        None => call.run(),
    };
    let expected = Expected::of(case);
    let untouched = |&bits: &Bits| Place::Element(bits, Nan::Exact);
    let mut contents: Vec<Vec<Place>> =
        case.storages.iter().map(|s| s.elements.iter().map(untouched).collect()).collect();
    match (outcome, &expected) {
        (Err(error), Expected::Refused(kinds)) => {
            assert!(kinds.contains(&error.kind()), "{error}, not one of {kinds:?}\n{case:?}");
        }
        (Ok(result), Expected::Values(values)) => match &case.out {
            None => values.compare(case, &result),
            Some(seen) => values.write(case, seen, &mut contents[seen.storage]),
        },
        (outcome, _) => panic!("{:?}, not {expected:?}\n{case:?}", outcome.map(|_| "a result")),
    }
    for (index, storage) in storages.iter().enumerate() {
        compare_storage(case, index, storage, &contents[index]);
    }
}

/// What a place of a storage must hold.
enum Place {
    /// This element, up to what is open about it.
    Element(Bits, Nan),
    /// A conversion of an element of this dtype, of which more than a NaN was open before the conversion.
    Converted(DType, Bits, Nan),
}

impl Place {
    fn is(&self, dtype: DType, given: Bits) -> bool {
        match *self {
            Place::Element(expected, nan) => same(dtype, expected, given, nan),
            Place::Converted(from, expected, nan) => {
                is_conversion_of_near(from, expected, nan, dtype, given)
            }
        }
    }

    fn expected(&self, dtype: DType) -> Bits {
        match *self {
            Place::Element(expected, _) => expected,
            Place::Converted(from, expected, _) => cast(from, dtype, expected),
        }
    }
}

/// The expected outcome of a case.
#[derive(Debug)]
enum Expected {
    /// An error of one of these kinds.
    Refused(Vec<ErrorKind>),
    Values(Values),
}

/// The elements of a result in row-major order.
struct Values {
    dtype: DType,
    elements: Vec<Bits>,
    /// What the specification leaves open about them.
    nan: Nan,
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} elements of {}", self.elements.len(), self.dtype)
    }
}

impl Expected {
    fn of(case: &Case) -> Expected {
        let kinds = [&case.lhs, &case.rhs].map(|operand| case.kind(operand));
        let announced = match result_type(case.op, kinds[0], kinds[1], case.rules) {
            Ok(dtype) => dtype,
            Err(error) => return Expected::Refused(vec![error.kind()]),
        };
        let compute = compute_dtype(case, kinds);
        let result = result_dtype(case.op, compute);
        assert_eq!(announced, result, "{case:?}");
        let mut refused = Vec::new();
        if !numbers_fit(case, compute) {
            refused.push(ErrorKind::ScalarOverflow);
        }
        if let Some(out) = &case.out {
            if case.storages[out.storage].dtype.category() < result.category() {
                refused.push(ErrorKind::InplaceDtype);
            }
            if !out.view.has_distinct_places() {
                refused.push(ErrorKind::OverlappingDestination);
            }
        }
        if refused.is_empty() {
            Expected::Values(Values::of(case, compute, result))
        } else {
            Expected::Refused(refused)
        }
    }
}

impl Values {
    fn of(case: &Case, compute: DType, result: DType) -> Values {
        let len: usize = case.shape.iter().product();
        let [x, y] = [&case.lhs, &case.rhs].map(|operand| elements(case, operand));
        let at = |side: &(DType, Vec<Bits>), index: usize| {
            (side.0, side.1[if side.1.len() == 1 { 0 } else { index }])
        };
        let elements =
            (0..len).map(|index| one(case, compute, at(&x, index), at(&y, index))).collect();
        let nan = match case.op {
            BinaryOp::Copysign if x.0 != compute => Nan::SameSign,
            op => freedom(op),
        };
        Values { dtype: result, elements, nan }
    }

    fn compare(&self, case: &Case, result: &Tensor) {
        assert_eq!((result.dtype(), result.shape()), (self.dtype, &*case.shape), "{case:?}");
        assert!(result.is_contiguous(), "{case:?}");
        for (index, given) in download(result).into_iter().enumerate() {
            let expected = self.elements[index];
            assert!(
                same(self.dtype, expected, given, self.nan),
                "element {index} is {given:#x}, not {expected:#x} ({})\n{case:?}",
                self.dtype
            );
        }
    }

    /// Writes the elements that the mask selects.
    fn write(&self, case: &Case, out: &Seen, contents: &mut [Place]) {
        let to = case.storages[out.storage].dtype;
        let kept = case.mask.as_ref().map(|seen| {
            let places = seen.view.broadcast_places(&case.shape);
            places.into_iter().map(|place| case.storages[seen.storage].elements[place])
        });
        let kept: Option<Vec<_>> = kept.map(Iterator::collect);
        for (index, place) in out.view.places().into_iter().enumerate() {
            if kept.as_ref().is_none_or(|kept| kept[index] == 1) {
                let element = self.elements[index];
                contents[place] = match self.nan {
                    nan if self.dtype == to => Place::Element(element, nan),
                    nan @ (Nan::Near | Nan::NearSum) if self.dtype.is_float() => {
                        Place::Converted(self.dtype, element, nan)
                    }
                    Nan::Exact => Place::Element(cast(self.dtype, to, element), Nan::SameSign),
                    nan => Place::Element(cast(self.dtype, to, element), nan),
                };
            }
        }
    }
}

fn compare_storage(case: &Case, index: usize, given: &Tensor, expected: &[Place]) {
    let dtype = given.dtype();
    for (place, (given, expected)) in download(given).into_iter().zip(expected).enumerate() {
        assert!(
            expected.is(dtype, given),
            "place {place} of storage {index} holds {given:#x}, not {:#x} ({dtype})\n{case:?}",
            expected.expected(dtype)
        );
    }
}

/// Returns the elements of an operand, broadcast; a number is one element of a dtype that holds it exactly.
fn elements(case: &Case, operand: &Operand) -> (DType, Vec<Bits>) {
    match operand {
        Operand::Number(scalar) => {
            let (dtype, bits) = exact(scalar);
            (dtype, vec![bits])
        }
        Operand::Tensor(seen) => {
            let storage = &case.storages[seen.storage];
            let places = seen.view.broadcast_places(&case.shape);
            (storage.dtype, places.into_iter().map(|place| storage.elements[place]).collect())
        }
    }
}

/// Returns a number as an element of a dtype that holds it exactly.
fn exact(scalar: &Scalar) -> (DType, Bits) {
    match *scalar {
        Scalar::Bool(value) => (DType::Bool, value.into()),
        Scalar::Int(value) => (DType::I64, wrapped(DType::I64, value.into())),
        Scalar::UInt(value) => (DType::U64, value.into()),
        Scalar::Float(value) => (DType::F64, value.to_bits().into()),
        Scalar::Complex(value) => (
            DType::C128,
            from_parts(DType::C128, value.re.to_bits().into(), value.im.to_bits().into()),
        ),
    }
}

/// Returns the value of an integer scalar.
fn whole(scalar: &Scalar) -> Option<i128> {
    match *scalar {
        Scalar::Bool(value) => Some(value.into()),
        Scalar::Int(value) => Some(value.into()),
        Scalar::UInt(value) => Some(value.into()),
        _ => None,
    }
}

/// docs/semantics.md, section 6: an integer must fit an integer dtype, except as the amount of a shift or rotation or the sign of a
/// copysign; the bitwise operations take it as bits.
fn numbers_fit(case: &Case, compute: DType) -> bool {
    use BinaryOp::*;
    let fits = |operand: &Operand, is_right: bool| {
        let Operand::Number(scalar) = operand else { return true };
        let Some(value) = whole(scalar).filter(|_| compute.is_int()) else { return true };
        let reads_any =
            matches!(case.op, LeftShift(_) | RightShift(_) | RotateLeft | RotateRight | Copysign);
        if is_right && reads_any {
            return true;
        }
        let bits = compute.bits();
        let as_signed = -(1i128 << (bits - 1))..1i128 << (bits - 1);
        let as_unsigned = 0..1i128 << bits;
        match case.op {
            BitwiseAnd | BitwiseOr | BitwiseXor => {
                as_signed.contains(&value) || as_unsigned.contains(&value)
            }
            _ if compute.is_signed_int() => as_signed.contains(&value),
            _ => as_unsigned.contains(&value),
        }
    };
    fits(&case.lhs, false) && fits(&case.rhs, true)
}

/// Returns the dtype in which a call computes; the rulebook has allowed it.
fn compute_dtype(case: &Case, [lhs, rhs]: [Kind; 2]) -> DType {
    use BinaryOp::*;
    let rules = case.rules;
    let has_number = [lhs, rhs].iter().any(|kind| matches!(kind, Kind::Scalar(_)));
    match case.op {
        // Here, as in `select`, a 0-d tensor takes part in promotion like any other tensor.
        LogicalAnd | LogicalOr | LogicalXor if !has_number => {
            let select: Op = "select".parse().unwrap();
            result_type(select, lhs, rhs, rules).or(result_type(Add, lhs, rhs, rules))
        }
        LogicalAnd | LogicalOr | LogicalXor | Equal | NotEqual | LessThan | LessEqual
        | GreaterThan | GreaterEqual => result_type(Add, lhs, rhs, rules),
        op => result_type(op, lhs, rhs, rules),
    }
    // Torch compares a half float with a complex number, although their sum would have a dtype that the crate lacks.
    .unwrap_or(DType::C64)
}

/// Returns the result for two elements by the specification.
fn one(case: &Case, compute: DType, x: (DType, Bits), y: (DType, Bits)) -> Bits {
    use BinaryOp::*;
    let op = case.op;
    let is_comparison =
        matches!(op, Equal | NotEqual | LessThan | LessEqual | GreaterThan | GreaterEqual);
    if is_comparison && x.0.is_int() && y.0.is_int() {
        // Integers are compared exactly: replace them by two small numbers in the same order.
        let order = integer(x.0, x.1).cmp(&integer(y.0, y.1)) as i128;
        return apply(op, DType::I8, (order + 1) as Bits, 1);
    }
    let left = cast(x.0, compute, x.1);
    if let Operand::Number(scalar) = &case.rhs {
        match op {
            LeftShift(_) | RightShift(_) => {
                return shift(op, compute, left, whole(scalar).unwrap_or(-1));
            }
            RotateLeft => return rotate(compute, left, whole(scalar).unwrap_or(0)),
            RotateRight => return rotate(compute, left, -whole(scalar).unwrap_or(0)),
            // The sign of a number is taken before any conversion.
            Copysign => {
                let sign = if is_negative(scalar) { -1 } else { 1 };
                let sign = cast(DType::I8, compute, wrapped(DType::I8, sign));
                return apply(op, compute, left, sign);
            }
            _ => {}
        }
    }
    apply(op, compute, left, cast(y.0, compute, y.1))
}

fn is_negative(scalar: &Scalar) -> bool {
    match *scalar {
        Scalar::Bool(_) | Scalar::UInt(_) => false,
        Scalar::Int(value) => value < 0,
        Scalar::Float(value) => value.is_sign_negative(),
        Scalar::Complex(value) => value.re.is_sign_negative(),
    }
}
