//! Complex numbers: their arithmetic, part by part.

use num_complex::Complex;

use super::{Comparable, Finiteness, Number, Quotient};
use crate::math;

/// Complex numbers and their parts.
pub(crate) trait Complexes: Copy {
    type Part;
    fn is_not_zero(self) -> bool;
    fn negate(self) -> Self;
    fn magnitude(self) -> Self::Part;
    fn real(self) -> Self::Part;
    fn imag(self) -> Self::Part;
    fn conjugate(self) -> Self;
}

macro_rules! complexes {
    ($($part:ty, $hypot:path;)*) => {$(
        impl Complexes for Complex<$part> {
            type Part = $part;

            #[inline(always)]
            fn is_not_zero(self) -> bool {
                (self.re != 0.0) | (self.im != 0.0)
            }

            #[inline(always)]
            fn negate(self) -> Self {
                -self
            }

            #[inline(always)]
            fn magnitude(self) -> $part {
                $hypot(self.re, self.im)
            }

            #[inline(always)]
            fn real(self) -> $part {
                self.re
            }

            #[inline(always)]
            fn imag(self) -> $part {
                self.im
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                Complex::new(self.re, -self.im)
            }
        }

        impl Finiteness for Complex<$part> {
            #[inline(always)]
            fn is_nan(self) -> bool {
                Finiteness::is_nan(self.re) | Finiteness::is_nan(self.im)
            }

            #[inline(always)]
            fn is_infinite(self) -> bool {
                Finiteness::is_infinite(self.re) | Finiteness::is_infinite(self.im)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                Finiteness::is_finite(self.re) & Finiteness::is_finite(self.im)
            }
        }

        impl Number for Complex<$part> {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Complex::new(self.re + other.re, self.im + other.im)
            }

            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                Complex::new(self.re - other.re, self.im - other.im)
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                Complex::new(
                    self.re * other.re - self.im * other.im,
                    self.re * other.im + self.im * other.re,
                )
            }
        }

        impl Comparable for Complex<$part> {
            #[inline(always)]
            fn equals(self, other: Self) -> bool {
                (self.re == other.re) & (self.im == other.im)
            }
        }

        impl Quotient for Complex<$part> {
            const ONE: Self = Complex::new(1.0, 0.0);

            // Smith's algorithm: scaling by the larger part of the divisor avoids overflow.
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                if other.re.abs() >= other.im.abs() {
                    if other.re == 0.0 && other.im == 0.0 {
                        let zero = other.re.abs();
                        return Complex::new(self.re / zero, self.im / zero);
                    }
                    let ratio = other.im / other.re;
                    let scale = 1.0 / (other.re + other.im * ratio);
                    Complex::new(
                        (self.re + self.im * ratio) * scale,
                        (self.im - self.re * ratio) * scale,
                    )
                } else {
                    let ratio = other.re / other.im;
                    let scale = 1.0 / (other.im + other.re * ratio);
                    Complex::new(
                        (self.re * ratio + self.im) * scale,
                        (self.im * ratio - self.re) * scale,
                    )
                }
            }
        }
    )*};
}

complexes! { f32, math::hypot_f32; f64, math::hypot_f64; }
