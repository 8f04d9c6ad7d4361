//! The op table, which has one row per operation of any arity.

mod binary;
mod domain;
mod element;
mod other;
mod reduce;
mod scan;
mod unary;

pub use self::binary::{BinaryOp, Shift};
pub(crate) use self::domain::Domain;
pub(crate) use self::element::ElementOp;
pub(crate) use self::other::OtherOp;
pub(crate) use self::reduce::Finish;
pub use self::reduce::ReduceOp;
pub use self::scan::ScanOp;
pub use self::unary::UnaryOp;
use crate::DType;

/// Calls `$callback!` with the rows of one group, after any arguments.
///
/// All rows have the same columns:
///
/// ```text
/// Variant name Domain Result {own columns} "documentation" {example};
/// ```
///
/// - The *variant* of the enum and the *name*, which is that of the method, of the device function in `cuda/`, and of
///   the operation in text. `chosen` in `backend::cpu::loops::table` names the loops of a variant.
/// - The *domain*, the set of dtypes in which the operation can be computed.
/// - The *result*: `Same` for the dtype in which it is computed, `Bool`, `Part` for the dtype of the parts of a complex
///   number, `Wide` for a 64-bit integer in place of a narrower one or a bool, or `Index` for `i64`.
/// - The columns of its group:
///   - `binary`: the in-place method; the *family*, the row of the promotion tables that governs it; and the names that
///     other libraries have for it;
///   - `unary`: whether it is computed in the dtype of its operand (`Own`), or integers and bools are converted to the
///     float of the rulebook first (`Float`); and the names that other libraries have for it;
///   - `reductions`: the method, which has the name of the reduction unless a binary operation has it, and the one that
///     keeps the reduced dimensions; the *terms*, which are the elements (`Own`) or their truth (`Bool`); the binary
///     operation that *combines* two totals; the value of no terms; and what becomes of the total, which is the result
///     (`Total`), or is divided by the number of terms (`Mean`), or the place of which is the result (`Place`); the
///     terms of a `Variance` and of its root, a `Deviation`, are the squares of the distances from the mean; and the names
///     that other libraries have for it;
///   - `ternary` and `losses`: the family;
///   - `scans`: the binary operation that combines two totals, and the names that other libraries have for it.
/// - The *documentation* of the methods and the variant, which is also its line in `docs/semantics.md`.
/// - An *example* for documentation tests. For a binary operation these are two elements, the right operand, and the
///   result with its type; for a unary operation, two elements and the result; for a reduction, a tensor of shape
///   `[2, 3]`, and the results over its first dimension and over both; for a scan, such a tensor and the results along its
///   last dimension.
///
/// The group `shifts` has the element functions of binary operations with a parameter. Two other names stand for several
/// groups: `elements`, the functions that the backends implement, each group after its arity, and `others`, the
/// operations that have promotion rules and are not in [`BinaryOp`].
macro_rules! for_each_op {
    ($group:ident: $callback:ident $($argument:tt)*) => {
        $crate::op::rows_of! {
            $group [$callback $($argument)*]
            shifts {
                ShiftLeft bitwise_left_shift Integers Same {}
                    "Shifts to the left and fills with zeros. An amount out of range gives 0."
                    {};
                ShiftRight bitwise_right_shift Integers Same {}
                    "Shifts to the right and fills with copies of the sign bit. An amount out of range gives 0, or −1 for a \
                     negative value."
                    {};
                ShiftRightLogical bitwise_right_shift_logical Integers Same {}
                    "Shifts to the right and fills with zeros. An amount out of range gives 0."
                    {};
            }
            binary {
                RotateLeft rotate_left Integers Same {rotate_left_assign Shift "rol" "rotl"}
                    "Rotates the bits to the left: those that leave at the top enter at the bottom. The amount counts \
                     modulo the width, so a negative one rotates to the right."
                    {"0b1001u8, 0x81" "1" => u8 "0b1_0010, 0x03"};
                RotateRight rotate_right Integers Same {rotate_right_assign Shift "ror" "rotr"}
                    "Rotates the bits to the right: those that leave at the bottom enter at the top. The amount counts \
                     modulo the width, so a negative one rotates to the left."
                    {"0b1001u8, 0x81" "1" => u8 "0b1000_0100, 0xc0"};
                Copysign copysign Real Same {copysign_assign Copysign}
                    "Combines the magnitude of the left operand with the sign of the right one."
                    {"1.5f32, -2.0" "-0.0" => f32 "-1.5, -2.0"};
                Add add All Same {add_assign Arithmetic}
                    "Adds the operands. Integers wrap; bools are or-ed."
                    {"1i32, i32::MAX" "1" => i32 "2, i32::MIN"};
                Subtract subtract Numbers Same {subtract_assign Arithmetic "sub"}
                    "Subtracts the right operand from the left one. Integers wrap; bools are rejected."
                    {"5u8, 0" "1" => u8 "4, 255"};
                Multiply multiply All Same {multiply_assign Arithmetic "mul"}
                    "Multiplies the operands. Integers wrap; bools are and-ed."
                    {"3i8, 100" "2" => i8 "6, -56"};
                Divide divide Fractions Same {divide_assign Divide "div" "true_divide"}
                    "Divides the left operand by the right one. Integers are divided as floats: in `f32` under the \
                     default rules."
                    {"7.0f32, 1.0" "2" => f32 "3.5, 0.5"};
                FloorDivide floor_divide RealNumbers Same {floor_divide_assign Modular "floordiv"}
                    "Divides the left operand by the right one and rounds towards −∞. An integer divided by 0 gives 0."
                    {"7i32, -7" "2" => i32 "3, -4"};
                Remainder remainder RealNumbers Same {remainder_assign Modular "mod" "rem"}
                    "Computes the remainder of `floor_divide`, which has the sign of the divisor. An integer modulo 0 \
                     gives 0."
                    {"7i32, -7" "4" => i32 "3, 1"};
                Pow pow RealNumbers Same {pow_assign Pow "power" "powf" "powi"}
                    "Raises the left operand to the power of the right one. Integers wrap; a negative exponent gives 0, \
                     except with the bases 1 and −1."
                    {"3i32, -2" "3" => i32 "27, -8"};
                Equal equal All Bool {equal_assign Equality "eq"}
                    "Tests whether the operands are equal. NaN equals nothing, not even itself."
                    {"1.0f32, f32::NAN" "1" => bool "true, false"};
                NotEqual not_equal All Bool {not_equal_assign Equality "ne"}
                    "Tests whether the operands differ. NaN differs from everything, even from itself."
                    {"1.0f32, f32::NAN" "1" => bool "false, true"};
                LessThan less_than Real Bool {less_than_assign Ordering "lt" "less"}
                    "Tests whether the left operand is less than the right one."
                    {"1i32, 2" "2" => bool "true, false"};
                LessEqual less_equal Real Bool {less_equal_assign Ordering "le"}
                    "Tests whether the left operand is less than or equal to the right one."
                    {"2i32, 3" "2" => bool "true, false"};
                GreaterThan greater_than Real Bool {greater_than_assign Ordering "gt" "greater"}
                    "Tests whether the left operand is greater than the right one."
                    {"2i32, 3" "2" => bool "false, true"};
                GreaterEqual greater_equal Real Bool {greater_equal_assign Ordering "ge"}
                    "Tests whether the left operand is greater than or equal to the right one."
                    {"1i32, 2" "2" => bool "false, true"};
                LogicalAnd logical_and All Bool {logical_and_assign Logical}
                    "Tests whether both operands are non-zero."
                    {"2i32, 0" "1" => bool "true, false"};
                LogicalOr logical_or All Bool {logical_or_assign Logical}
                    "Tests whether at least one operand is non-zero."
                    {"2i32, 0" "0" => bool "true, false"};
                LogicalXor logical_xor All Bool {logical_xor_assign Logical}
                    "Tests whether exactly one operand is non-zero."
                    {"2i32, 0" "1" => bool "false, true"};
                BitwiseAnd bitwise_and BoolAndIntegers Same {bitwise_and_assign Bitwise "bitand"}
                    "Computes the bitwise AND of the operands."
                    {"0b1100u8, 0b1010" "0b0110" => u8 "0b0100, 0b0010"};
                BitwiseOr bitwise_or BoolAndIntegers Same {bitwise_or_assign Bitwise "bitor"}
                    "Computes the bitwise OR of the operands."
                    {"0b1100u8, 0b1010" "0b0110" => u8 "0b1110, 0b1110"};
                BitwiseXor bitwise_xor BoolAndIntegers Same {bitwise_xor_assign Bitwise "bitxor"}
                    "Computes the bitwise exclusive OR of the operands."
                    {"0b1100u8, 0b1010" "0b0110" => u8 "0b1010, 0b1100"};
                Maximum maximum Real Same {maximum_assign MinMax}
                    "Selects the larger operand, or NaN if either is NaN. −0 is less than +0."
                    {"1i32, 5" "3" => i32 "3, 5"};
                Minimum minimum Real Same {minimum_assign MinMax}
                    "Selects the smaller operand, or NaN if either is NaN. −0 is less than +0."
                    {"1i32, 5" "3" => i32 "1, 3"};
                Fmax fmax Real Same {fmax_assign MinMax}
                    "Selects the larger operand, ignoring a NaN unless both are NaN. −0 is less than +0."
                    {"1.0f32, f32::NAN" "3.0" => f32 "3.0, 3.0"};
                Fmin fmin Real Same {fmin_assign MinMax}
                    "Selects the smaller operand, ignoring a NaN unless both are NaN. −0 is less than +0."
                    {"1.0f32, f32::NAN" "3.0" => f32 "1.0, 3.0"};
                LogAddExp logaddexp Floats Same {logaddexp_assign LogAddExp}
                    "Computes `log(exp(x) + exp(y))` without intermediate overflow."
                    {"1000.0f32, f32::NEG_INFINITY" "0.0" => f32 "1000.0, 0.0"};
                NextAfter nextafter Floats Same {nextafter_assign NextAfter "next_after"}
                    "Computes the next representable value after the left operand in the direction of the right one."
                    {"1.0f32, 0.0" "0.0" => f32 "0.99999994, 0.0"};
                Atan2 atan2 Floats Same {atan2_assign Atan2 "arctan2"}
                    "Computes the angle, in radians, of the point with the left operand as its y coordinate and the \
                     right one as its x coordinate."
                    {"0.0f32, 1.0" "0.0" => f32 "0.0, std::f32::consts::FRAC_PI_2"};
                Hypot hypot Floats Same {hypot_assign LogAddExp}
                    "Computes `sqrt(x² + y²)` without intermediate overflow. It is +∞ if either operand is infinite, even \
                     if the other is NaN."
                    {"3.0f32, f32::INFINITY" "4.0" => f32 "5.0, f32::INFINITY"};
            }
            unary {
                Abs abs Numbers Part {Own "fabs" "absolute"}
                    "Computes the absolute value. Integers wrap, so the lowest one is unchanged; floats, even NaN, have \
                     their sign bit cleared. That of a complex number is the `hypot` of its parts."
                    {"-3i32, i32::MIN" => i32, "3, i32::MIN"};
                Negative negative Numbers Same {Own "neg"}
                    "Negates every element. Integers wrap; floats, even NaN, have their sign bit flipped."
                    {"-3i32, i32::MIN" => i32, "3, i32::MIN"};
                BitwiseNot bitwise_not BoolAndIntegers Same {Own "invert" "bitwise_invert" "not"}
                    "Flips every bit. A bool is negated."
                    {"0u8, 0b1010" => u8, "255, 0b1111_0101"};
                LogicalNot logical_not All Bool {Own}
                    "Tests whether each element is zero."
                    {"0i32, 5" => bool, "true, false"};
                Signbit signbit Real Bool {Own}
                    "Tests whether the sign bit is set, as in −0.0, negative NaNs and negative integers."
                    {"-0.0f32, f32::INFINITY" => bool, "true, false"};
                Sign sign RealNumbers Same {Own "signum" "sgn"}
                    "Computes the sign: −1, 0 or 1. It is +0 for both zeros, and NaN for NaN."
                    {"-3.5f32, 0.0" => f32, "-1.0, 0.0"};
                Square square Numbers Same {Own}
                    "Multiplies every element by itself. Integers wrap."
                    {"-3i8, 16" => i8, "9, 0"};
                Reciprocal reciprocal Fractions Same {Float "recip"}
                    "Divides 1 by every element."
                    {"4.0f32, -0.0" => f32, "0.25, f32::NEG_INFINITY"};
                Floor floor RealNumbers Same {Own}
                    "Rounds towards −∞. Integers are unchanged, and a zero keeps its sign."
                    {"1.5f32, -1.5" => f32, "1.0, -2.0"};
                Ceil ceil RealNumbers Same {Own}
                    "Rounds towards +∞. Integers are unchanged, and a zero result has the sign of the operand."
                    {"1.5f32, -1.5" => f32, "2.0, -1.0"};
                Trunc trunc RealNumbers Same {Own "fix"}
                    "Rounds towards zero. Integers are unchanged, and a zero result has the sign of the operand."
                    {"1.5f32, -1.5" => f32, "1.0, -1.0"};
                Round round RealNumbers Same {Own "rint" "round_ties_even"}
                    "Rounds to the nearest integer, and halfway cases to the even one. Integers are unchanged, and a zero \
                     result has the sign of the operand."
                    {"2.5f32, -1.5" => f32, "2.0, -2.0"};
                IsNan isnan All Bool {Own "is_nan"}
                    "Tests for NaN. A complex number is NaN if a part is."
                    {"f32::NAN, f32::INFINITY" => bool, "true, false"};
                IsInf isinf All Bool {Own "is_infinite"}
                    "Tests for an infinity of either sign. A complex number is infinite if a part is."
                    {"f32::NAN, f32::NEG_INFINITY" => bool, "false, true"};
                IsFinite isfinite All Bool {Own "is_finite"}
                    "Tests for a number that is neither infinite nor NaN. Both parts of a complex number must be finite."
                    {"f32::NAN, f32::MAX" => bool, "false, true"};
                CountOnes count_ones Integers Same {Own "popcount" "popc" "bitwise_count" "bit_count"}
                    "Counts the bits that are 1."
                    {"0b1011u8, 255" => u8, "3, 8"};
                LeadingZeros leading_zeros Integers Same {Own "clz"}
                    "Counts the zeros above the highest bit that is 1. Those of 0 are the width of the dtype."
                    {"1u8, 0" => u8, "7, 8"};
                TrailingZeros trailing_zeros Integers Same {Own "ctz"}
                    "Counts the zeros below the lowest bit that is 1. Those of 0 are the width of the dtype."
                    {"8u8, 0" => u8, "3, 8"};
                ReverseBits reverse_bits Integers Same {Own "brev"}
                    "Reverses the order of the bits."
                    {"1u8, 0b1100" => u8, "128, 0b11_0000"};
                SwapBytes swap_bytes Integers Same {Own "byteswap" "bswap"}
                    "Reverses the order of the bytes. A single byte is unchanged."
                    {"1u16, 0x1234" => u16, "256, 0x3412"};
                Real real Complex Part {Own}
                    "Returns the real parts."
                    {"Complex::new(1.0f32, 2.0), Complex::new(3.0, 4.0)" => f32, "1.0, 3.0"};
                Imag imag Complex Part {Own}
                    "Returns the imaginary parts."
                    {"Complex::new(1.0f32, 2.0), Complex::new(3.0, 4.0)" => f32, "2.0, 4.0"};
                Conj conj Complex Same {Own "conjugate"}
                    "Negates the imaginary parts."
                    {"Complex::new(1.0f32, 2.0), Complex::new(3.0, -4.0)" => Complex<f32>, "Complex::new(1.0, -2.0), Complex::new(3.0, 4.0)"};
                Sqrt sqrt Floats Same {Float}
                    "Computes the square root, correctly rounded. That of a negative number is NaN, that of −0 is −0."
                    {"2.25f32, -0.0" => f32, "1.5, -0.0"};
                Sin sin Floats Same {Float}
                    "Computes the sine of an angle in radians. That of an infinity is NaN."
                    {"0.0f32, 0.5" => f32, "0.0, 0.47942555"};
                Cos cos Floats Same {Float}
                    "Computes the cosine of an angle in radians. That of an infinity is NaN."
                    {"0.0f32, 0.5" => f32, "1.0, 0.87758255"};
                Tan tan Floats Same {Float}
                    "Computes the tangent of an angle in radians. That of an infinity is NaN."
                    {"0.0f32, 0.5" => f32, "0.0, 0.5463025"};
                Asin asin Floats Same {Float "arcsin"}
                    "Computes the arc sine, from −π/2 to π/2. That of a number beyond ±1 is NaN."
                    {"0.0f32, 1.0" => f32, "0.0, std::f32::consts::FRAC_PI_2"};
                Acos acos Floats Same {Float "arccos"}
                    "Computes the arc cosine, from 0 to π. That of a number beyond ±1 is NaN."
                    {"1.0f32, -1.0" => f32, "0.0, std::f32::consts::PI"};
                Atan atan Floats Same {Float "arctan"}
                    "Computes the arc tangent, from −π/2 to π/2."
                    {"1.0f32, f32::INFINITY" => f32, "std::f32::consts::FRAC_PI_4, std::f32::consts::FRAC_PI_2"};
                Exp exp Floats Same {Float}
                    "Computes e to the power of each element."
                    {"0.0f32, f32::NEG_INFINITY" => f32, "1.0, 0.0"};
                Log log Floats Same {Float "ln"}
                    "Computes the natural logarithm. That of a negative number is NaN."
                    {"1.0f32, 0.0" => f32, "0.0, f32::NEG_INFINITY"};
                Exp2 exp2 Floats Same {Float}
                    "Computes 2 to the power of each element."
                    {"3.0f32, -1.0" => f32, "8.0, 0.5"};
                Expm1 expm1 Floats Same {Float "exp_m1"}
                    "Computes `exp(x) - 1` without cancellation near 0. A zero keeps its sign."
                    {"1e-10f32, f32::NEG_INFINITY" => f32, "1e-10, -1.0"};
                Log2 log2 Floats Same {Float}
                    "Computes the binary logarithm. That of a negative number is NaN."
                    {"8.0f32, 0.0" => f32, "3.0, f32::NEG_INFINITY"};
                Log10 log10 Floats Same {Float}
                    "Computes the decimal logarithm. That of a negative number is NaN."
                    {"1000.0f32, 0.0" => f32, "3.0, f32::NEG_INFINITY"};
                Log1p log1p Floats Same {Float "ln_1p"}
                    "Computes `log(1 + x)` without cancellation near 0. A zero keeps its sign."
                    {"1e-10f32, -1.0" => f32, "1e-10, f32::NEG_INFINITY"};
                Sinh sinh Floats Same {Float}
                    "Computes the hyperbolic sine. A zero keeps its sign."
                    {"1.0f32, -0.0" => f32, "1.1752012, -0.0"};
                Cosh cosh Floats Same {Float}
                    "Computes the hyperbolic cosine."
                    {"f32::INFINITY, 0.0" => f32, "f32::INFINITY, 1.0"};
                Tanh tanh Floats Same {Float}
                    "Computes the hyperbolic tangent. A zero keeps its sign."
                    {"1.0f32, f32::NEG_INFINITY" => f32, "0.7615942, -1.0"};
                Asinh asinh Floats Same {Float "arcsinh"}
                    "Computes the inverse of the hyperbolic sine. A zero keeps its sign."
                    {"1.0f32, -0.0" => f32, "0.8813736, -0.0"};
                Acosh acosh Floats Same {Float "arccosh"}
                    "Computes the inverse of the hyperbolic cosine. That of a number below 1 is NaN."
                    {"2.0f32, 1.0" => f32, "1.316958, 0.0"};
                Atanh atanh Floats Same {Float "arctanh"}
                    "Computes the inverse of the hyperbolic tangent. That of a magnitude above 1 is NaN, and a zero keeps \
                     its sign."
                    {"0.5f32, 1.0" => f32, "0.54930615, f32::INFINITY"};
            }
            ternary {
                Select select All Same {Select}
                    "Selects the elements of `x` where the condition is true, and those of `y` elsewhere."
                    {};
                Fma fma Floats Same {Arithmetic}
                    "Multiplies `x` by `y` and adds `z`, rounded once."
                    {};
            }
            reductions {
                Sum sum All Wide {sum sum_keepdims Own Add zero Total "sum_axis" "sum_all"}
                    "Sums the elements over the given dimensions. Floats and complex numbers keep their dtype and are \
                     rounded once. Sums of bools and signed integers are `i64`, those of unsigned integers are `u64`; \
                     both wrap. The sum of no elements is 0."
                    {"1, 2, 3, 4, 5, 6" => i64 "5, 7, 9" "21"};
                Prod prod All Wide {prod prod_keepdims Own Multiply one Total "product" "product_axis"}
                    "Multiplies the elements over the given dimensions. Floats and complex numbers keep their dtype and \
                     are rounded once. Products of bools and signed integers are `i64`, those of unsigned integers are \
                     `u64`; both wrap. The product of no elements is 1."
                    {"1, 2, 3, 4, 5, 6" => i64 "4, 10, 18" "720"};
                Mean mean Fractions Same {mean mean_keepdims Own Add nan Mean "average" "mean_axis"}
                    "Averages floats or complex numbers over the given dimensions: their sum divided by their number, \
                     rounded once. The mean of no elements is NaN."
                    {"1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0" => f32 "2.5, 3.5, 4.5" "3.5"};
                Var var Floats Same {var var_keepdims Own Add nan Variance "variance" "var_axis"}
                    "Computes the variance of floats over the given dimensions: the sum of the squares of their distances \
                     from their mean, divided by their number less the correction, rounded once. The mean is not rounded. \
                     A divisor below 0 counts as 0, and the variance of no elements is NaN."
                    {"1.0f32, 1.0, 1.0, 5.0, 5.0, 5.0" => f32 "4.0, 4.0, 4.0" "4.0"};
                Std std Floats Same {std std_keepdims Own Add nan Deviation "standard_deviation" "std_axis"}
                    "Computes the standard deviation of floats over the given dimensions: the square root of the variance, \
                     which is not rounded before."
                    {"1.0f32, 1.0, 1.0, 5.0, 5.0, 5.0" => f32 "2.0, 2.0, 2.0" "2.0"};
                Max max Real Same {max max_keepdims Own Maximum none Total "amax" "reduce_max"}
                    "Returns the largest elements over the given dimensions, or NaN where there is one. −0 is less than \
                     +0. There must be an element."
                    {"1, 5, 3, 4, 2, 6" => i32 "4, 5, 6" "6"};
                Min min Real Same {min min_keepdims Own Minimum none Total "amin" "reduce_min"}
                    "Returns the smallest elements over the given dimensions, or NaN where there is one. −0 is less \
                     than +0. There must be an element."
                    {"1, 5, 3, 4, 2, 6" => i32 "1, 2, 3" "1"};
                Argmax argmax Real Index {argmax argmax_keepdims Own Maximum none Place}
                    "Returns where the largest elements over the given dimensions are, as `i64`: the first of equals, or \
                     the first NaN. −0 is less than +0. Several dimensions are counted in row-major order. There must \
                     be an element."
                    {"1, 5, 3, 4, 2, 6" => i64 "1, 0, 1" "5"};
                Argmin argmin Real Index {argmin argmin_keepdims Own Minimum none Place}
                    "Returns where the smallest elements over the given dimensions are, as `i64`: the first of equals, or \
                     the first NaN. −0 is less than +0. Several dimensions are counted in row-major order. There must \
                     be an element."
                    {"1, 5, 3, 4, 2, 6" => i64 "0, 1, 0" "0"};
                Any any All Same {any any_keepdims Bool Maximum no Total}
                    "Tests whether any element over the given dimensions is true. Every value other than zero is, even \
                     NaN. Among no elements, none is."
                    {"0, 5, 0, 0, 2, 6" => bool "false, true, true" "true"};
                All all All Same {all all_keepdims Bool Minimum yes Total}
                    "Tests whether all elements over the given dimensions are true. Every value other than zero is, \
                     even NaN. Of no elements, all are."
                    {"1, 5, 0, 4, 2, 6" => bool "true, true, false" "false"};
                CountNonzero count_nonzero All Wide {count_nonzero count_nonzero_keepdims Bool Add zero Total "nnz"}
                    "Counts the elements over the given dimensions that are not zero, as `i64`. NaN is not zero."
                    {"0, 5, 0, 4, 2, 0" => i64 "1, 2, 0" "3"};
                BitwiseAnd bitwise_and BoolAndIntegers Same {bitwise_and_reduce bitwise_and_reduce_keepdims Own BitwiseAnd ones Total}
                    "Computes the bits that are 1 in all elements over the given dimensions. All bits are 1 in no \
                     elements. The method has another name than the binary operation, `bitwise_and_reduce`."
                    {"1, 5, 7, 3, 4, 6" => i32 "1, 4, 6" "0"};
                BitwiseOr bitwise_or BoolAndIntegers Same {bitwise_or_reduce bitwise_or_reduce_keepdims Own BitwiseOr zero Total}
                    "Computes the bits that are 1 in any element over the given dimensions. No bit is 1 in no elements. \
                     The method has another name than the binary operation, `bitwise_or_reduce`."
                    {"1, 5, 7, 8, 4, 6" => i32 "9, 5, 7" "15"};
                BitwiseXor bitwise_xor BoolAndIntegers Same {bitwise_xor_reduce bitwise_xor_reduce_keepdims Own BitwiseXor zero Total "parity"}
                    "Computes the bits that are 1 in an odd number of elements over the given dimensions: their parity. \
                     The method has another name than the binary operation, `bitwise_xor_reduce`."
                    {"1, 5, 7, 8, 4, 6" => i32 "9, 1, 1" "9"};
            }
            losses {
                L1Loss l1_loss Floats Same {Loss} "Computes |x − y|." {};
                SmoothL1Loss smooth_l1_loss Floats Same {Loss}
                    "Computes a loss that is quadratic for differences below β and has slope 1 beyond."
                    {};
                MseLoss mse_loss Floats Same {MseLoss} "Computes (x − y)²." {};
                HuberLoss huber_loss Floats Same {HuberLoss}
                    "Computes a loss that is quadratic for differences up to δ and has slope δ beyond."
                    {};
                PoissonNllLoss poisson_nll_loss Floats Same {PoissonLoss}
                    "Computes the negative log-likelihood of a Poisson distribution."
                    {};
            }
            scans {
                Sum cumulative_sum All Wide {Add "cumsum" "prefix_sum" "accumulate"}
                    "Sums all elements along an axis up to each one. Floats and complex numbers keep their dtype, and every \
                     sum is rounded once. Sums of bools and signed integers are `i64`, those of unsigned integers are \
                     `u64`; both wrap."
                    {"1, 2, 3, 4, 5, 6" => i64 "1, 3, 6, 4, 9, 15"};
                Prod cumulative_prod All Wide {Multiply "cumprod"}
                    "Multiplies all elements along an axis up to each one. Floats and complex numbers keep their dtype, and \
                     every product is rounded once. Products of bools and signed integers are `i64`, those of unsigned \
                     integers are `u64`; both wrap."
                    {"1, 2, 3, 4, 5, 6" => i64 "1, 2, 6, 4, 20, 120"};
                Max cumulative_max Real Same {Maximum "cummax"}
                    "Returns the largest element along an axis up to each one, or NaN from the first one on. −0 is less than \
                     +0."
                    {"1, 5, 3, 4, 2, 6" => i32 "1, 5, 5, 4, 4, 6"};
                Min cumulative_min Real Same {Minimum "cummin"}
                    "Returns the smallest element along an axis up to each one, or NaN from the first one on. −0 is less \
                     than +0."
                    {"1, 5, 3, 4, 2, 6" => i32 "1, 1, 1, 4, 2, 2"};
                Xor cumulative_xor BoolAndIntegers Same {BitwiseXor "gray_code"}
                    "Computes the parity of every bit of all elements along an axis up to each one, which decodes Gray code."
                    {"1, 5, 7, 8, 4, 6" => i32 "1, 4, 3, 8, 12, 10"};
            }
        }
    };
}
pub(crate) use for_each_op;

/// Passes the rows of a group of the table to a callback, for [`for_each_op`].
#[rustfmt::skip] // a table
macro_rules! rows_of {
    (binary [$callback:ident $($argument:tt)*] shifts $shifts:tt binary {$($row:tt)*} $($rest:tt)*) => {
        $callback! { $($argument)* $($row)* }
    };
    (unary [$callback:ident $($argument:tt)*] shifts $shifts:tt binary $binary:tt unary {$($row:tt)*} $($rest:tt)*) => {
        $callback! { $($argument)* $($row)* }
    };
    (
        elements [$callback:ident $($argument:tt)*]
        shifts $shifts:tt binary $binary:tt unary $unary:tt ternary $ternary:tt
        $($rest:tt)*
    ) => {
        $callback! { $($argument)* 2 $shifts 2 $binary 1 $unary 3 $ternary }
    };
    (
        reductions [$callback:ident $($argument:tt)*]
        shifts $shifts:tt binary $binary:tt unary $unary:tt ternary $ternary:tt
        reductions {$($row:tt)*} $($rest:tt)*
    ) => {
        $callback! { $($argument)* $($row)* }
    };
    (
        others [$callback:ident $($argument:tt)*]
        shifts $shifts:tt binary $binary:tt unary $unary:tt ternary {$($ternary:tt)*}
        reductions $reductions:tt losses {$($loss:tt)*} $($rest:tt)*
    ) => {
        $callback! { $($argument)* $($ternary)* $($loss)* }
    };
    (
        scans [$callback:ident $($argument:tt)*]
        shifts $shifts:tt binary $binary:tt unary $unary:tt ternary $ternary:tt
        reductions $reductions:tt losses $losses:tt scans {$($row:tt)*}
    ) => {
        $callback! { $($argument)* $($row)* }
    };
}
pub(crate) use rows_of;

/// Expands the result column of a row to the dtype of the result of a computation in `$dtype`.
macro_rules! result_dtype {
    (Same $dtype:ident) => {
        $dtype
    };
    (Bool $dtype:ident) => {
        $crate::DType::Bool
    };
    (Part $dtype:ident) => {
        $crate::op::part_of($dtype)
    };
    (Index $dtype:ident) => {
        $crate::DType::I64
    };
    (Wide $dtype:ident) => {
        $crate::op::widened($dtype)
    };
}
use result_dtype;

/// Returns the dtype of the parts of a complex number. A real number is its own real part.
const fn part_of(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        real => real,
    }
}

/// Returns the dtype of a sum: a 64-bit integer for bools and integers, which wraps later than they do.
const fn widened(dtype: DType) -> DType {
    if dtype.is_unsigned_int() {
        DType::U64
    } else if dtype.is_int() || matches!(dtype, DType::Bool) {
        DType::I64
    } else {
        dtype
    }
}

/// Implements `Display` and `FromStr` for an enum of operations that has `ALL` and `name`.
macro_rules! printed_and_parsed {
    ($enum:ident) => {
        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = $crate::Error;

            /// Parses the name of an operation.
            fn from_str(text: &str) -> $crate::Result<Self> {
                $enum::ALL.iter().copied().find(|op| op.name() == text).ok_or_else(|| {
                    let names: Vec<_> = $enum::ALL.iter().map(|op| op.name()).collect();
                    let names = names.join(" ");
                    $crate::Error::InvalidArgument {
                        op: stringify!($enum),
                        reason: format!("unknown name {text:?}; the names are {names}"),
                    }
                })
            }
        }
    };
}
use printed_and_parsed;
