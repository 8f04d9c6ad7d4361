//! Layouts that select each kernel, in sizes around its vector and block boundaries.

use bitlane::{BinaryOp, Complex, DType, Scalar};

use crate::data::{dense, lanes, strided, turned};
use crate::model::view::View;

/// The shape of a case that no hand-written kernel covers.
pub const GENERATED: &str = "generated";

/// One operand of an operation.
#[derive(Clone, Debug)]
pub enum Operand {
    View(View),
    Number(Scalar),
}

/// The destination of a result.
#[derive(Clone, Debug)]
pub enum Destination {
    Fresh,
    /// A view of the left operand's own storage.
    InPlace(View),
    /// A view of a storage of this dtype, and perhaps a mask, which is a view of bools.
    Given(DType, View, Option<View>),
}

/// A call, and the shape of the kernel that must run it.
#[derive(Clone, Debug)]
pub struct Case {
    pub shape: &'static str,
    pub lhs: Operand,
    pub rhs: Operand,
    pub to: Destination,
}

impl Case {
    pub fn new(shape: &'static str, lhs: View, rhs: View) -> Case {
        let (lhs, rhs) = (Operand::View(lhs), Operand::View(rhs));
        Case { shape, lhs, rhs, to: Destination::Fresh }
    }

    fn mirrored(self, shape: &'static str) -> Case {
        Case { shape, lhs: self.rhs, rhs: self.lhs, to: self.to }
    }

    fn shapes(&self) -> [&[usize]; 2] {
        [&self.lhs, &self.rhs].map(|operand| match operand {
            Operand::View(view) => &*view.shape,
            Operand::Number(_) => &[],
        })
    }

    /// Returns the number of elements of the larger operand.
    pub fn len(&self) -> usize {
        self.shapes().map(|shape| shape.iter().product()).into_iter().max().unwrap()
    }

    /// Returns the number of dimensions of the result.
    pub fn rank(&self) -> usize {
        self.shapes().map(<[usize]>::len).into_iter().max().unwrap()
    }
}

/// The number of threads of a block.
const THREADS: usize = 256;

/// Returns all cases with a newly allocated destination.
pub fn fresh(op: BinaryOp, dtype: DType) -> Vec<Case> {
    let l = lanes(dtype);
    let mut cases = linear(l);
    cases.extend(numbers(op, dtype));
    cases.extend(matrices(l));
    cases.extend(general(l));
    cases.extend(gathered(l));
    cases
}

/// Returns the number of elements that one block of the scalar kernels computes.
fn scalar_block(l: usize) -> usize {
    THREADS * l * if l > 2 { 4 } else { 8 }
}

fn linear(l: usize) -> Vec<Case> {
    let block = THREADS * 2 * l;
    let mut sizes = vec![1, l - 1, l, l + 1, block - 1, block, block + 1, 2 * block + l + 3];
    sizes.retain(|&size| size != 0);
    sizes.dedup();
    let contig = |&n: &usize| Case::new("contig", dense(&[n], 0), dense(&[n], 0));
    let mut cases: Vec<_> = sizes.iter().map(contig).collect();
    cases.push(Case::new("contig", dense(&[], l), dense(&[], 3 * l)));
    let block = scalar_block(l);
    for n in [2, l + 1, block - 1, block + l + 3] {
        let number = if n % 2 == 0 { dense(&[], 9) } else { dense(&[1], 10) };
        let case = Case::new("scalar", dense(&[n], 0), number);
        cases.extend([case.clone().mirrored("lscalar"), case]);
    }
    cases
}

/// Operations with a number as one operand.
fn numbers(op: BinaryOp, dtype: DType) -> Vec<Case> {
    use BinaryOp::{LeftShift, RightShift, RotateLeft, RotateRight};
    let shifts = matches!(op, LeftShift(_) | RightShift(_) | RotateLeft | RotateRight);
    let mut numbers: Vec<Scalar> = match dtype {
        DType::Bool => vec![true.into(), false.into()],
        _ if dtype.is_int() => vec![3.into(), 0.into(), 100.into()],
        _ if dtype.is_float() => vec![(-2.5).into(), (-0.0).into(), f64::INFINITY.into()],
        _ => vec![Complex::new(1.5, -2.0).into(), Complex::new(0.0, 0.0).into()],
    };
    if dtype.is_signed_int() {
        numbers.extend([Scalar::from(-1), Scalar::from(-128)]);
    }
    if dtype.is_float() {
        numbers.push(f64::NAN.into());
    }
    let l = lanes(dtype);
    let sizes = [1, l + 1, scalar_block(l) - 1, scalar_block(l), scalar_block(l) + l + 3];
    let mut cases = Vec::new();
    let mut push = |shape: &'static str, view: View, number: Scalar| {
        let (lhs, rhs) = (Operand::View(view), Operand::Number(number));
        cases.push(Case { shape, lhs, rhs, to: Destination::Fresh });
    };
    for (at, &number) in numbers.iter().enumerate() {
        push("scalar", dense(&[sizes[at % sizes.len()]], 0), number);
        push("scalar", dense(&[2 * l + 3], 0), number);
    }
    push("scalar", dense(&[], l), numbers[0]);
    if l > 1 {
        push(GENERATED, dense(&[3 * l], 1), numbers[0]);
    }
    push(GENERATED, strided(&[3 * l], &[-2]), numbers[0]);
    let mut mirrored: Vec<_> = (cases.iter().cloned())
        .map(|case| match case.shape {
            "scalar" => case.mirrored("lscalar"),
            shape => case.mirrored(shape),
        })
        .collect();
    cases.append(&mut mirrored);
    // Shift amounts that are out of range.
    for amount in if shifts { vec![-1, i64::from(dtype.bits()), 1 << 40] } else { vec![] } {
        let (lhs, rhs) = (Operand::View(dense(&[2 * l + 3], 0)), Operand::Number(amount.into()));
        cases.push(Case { shape: "scalar", lhs, rhs, to: Destination::Fresh });
    }
    cases
}

/// Matrices with a broadcast row or column.
fn matrices(l: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    let rows = [
        (2, 2 * l),
        (5, 8 * l),
        (9, 3 * l),
        (3, 255 * l),
        (5, 256 * l),
        (2, 257 * l),
        (515, 2 * l),
        (1025, 2 * l),
    ];
    for (rows, columns) in rows.into_iter().chain((l > 1).then_some((1025, l))) {
        let case = Case::new("row", dense(&[rows, columns], 0), dense(&[columns], l));
        cases.extend([case.clone().mirrored("lrow"), case]);
    }
    for (rows, columns) in [(3, 768 * l), (2, 1023 * l), (4, 1024 * l), (2, 2047 * l)] {
        let case = Case::new("col", dense(&[rows, columns], 0), dense(&[rows, 1], 11));
        cases.extend([case.clone().mirrored("lcol"), case]);
    }
    cases
}

/// Operands with stride 1 or 0 along the inner loop.
fn general(l: usize) -> Vec<Case> {
    let (wide, c) = (4 * l as isize, 2 * l);
    let mut cases = vec![
        Case::new("gen2", dense(&[5, 8 * l], 0), dense(&[5, 1], 2)),
        Case::new("gen2", dense(&[5, 1], 2), dense(&[5, 8 * l], 0)),
        Case::new("gen2", strided(&[5, c], &[1, 0]), strided(&[5, c], &[3, 0])),
        Case::new("gen2", strided(&[6, c], &[-wide, 1]), dense(&[6, c], 0)),
        Case::new("gen4", dense(&[3, 5, c], 0), dense(&[3, 1, c], 0)),
        Case::new("gen2", dense(&[3, 5, c], 0), dense(&[3, 1, 1], 1)),
        Case::new("gen4", dense(&[1, 5, 1], 1), dense(&[3, 5, c], 0)),
        Case::new("gen4", dense(&[8, 1, c], 0), dense(&[8, 33, c], 0)),
        Case::new("gen4", dense(&[2, 3, 2, c], 0), dense(&[1, 3, 1, c], 0)),
        Case::new("gen8", dense(&[2, 2, 2, 2, c], 0), dense(&[2, 1, 2, 1, c], 0)),
        Case::new("gen8", dense(&[2, 1, 2, 1, 2, 1], 3), dense(&[2, 2, 2, 2, 2, c], 0)),
        Case::new("gen8", dense(&[5, 2, 2, 2, 2, 2, 2, c], 0), dense(&[1, 2, 1, 2, 1, 2, 1, c], 0)),
    ];
    // Operands with stride 0 along the inner loop, in more than one block.
    let (long, column) = (dense(&[65, 8 * l], 0), dense(&[65, 1], 2));
    cases.push(Case::new("gen2", long.clone(), column.clone()));
    cases.push(Case::new("gen2", column, long));
    cases.push(Case::new("gen4", dense(&[1, 90, 1], 1), dense(&[3, 90, c], 0)));
    for rows in [255, 256, 257, 513] {
        cases.push(Case::new("gen2", strided(&[rows, c], &[wide, 1]), dense(&[rows, c], 0)));
    }
    if l > 1 {
        cases.push(Case::new("gen2", strided(&[7, l], &[2 * l as isize, 1]), dense(&[7, l], 0)));
        cases.push(Case::new("gen4", dense(&[2, 3, 2, 3, l], 0), dense(&[2, 1, 2, 1, l], 0)));
    }
    cases
}

/// Operands with any strides.
fn gathered(l: usize) -> Vec<Case> {
    let odd = 2 * l + 1;
    let backwards = |n: usize| strided(&[n], &[-1]);
    let sizes = [2, l + 1, 254 * l + 1, 255 * l, 255 * l + 1, 256 * l + 3, 700 * l + 5];
    let mut cases: Vec<_> =
        sizes.iter().map(|&n| Case::new("gath2", backwards(n), dense(&[n], 0))).collect();
    cases.extend([
        Case::new("gath2", dense(&[300], 0), strided(&[300], &[3])),
        Case::new("gath2", turned(&[7, 9]), dense(&[7, 9], 0)),
        Case::new("gath2", turned(&[5, 7]), turned(&[5, 7])),
        // More elements along both loops would be read in tiles, which are generated.
        Case::new("gath2", dense(&[13, odd], 0), turned(&[13, odd])),
        Case::new("gath2", turned(&[6, 4 * l]), dense(&[6, 1], 0)),
        Case::new("gath4", turned(&[3, 5, 7]), dense(&[3, 5, 7], 0)),
        Case::new("gath4", turned(&[9, 11, odd]), dense(&[1, 11, 1], 0)),
        Case::new("gath4", dense(&[2, 3, 4, 5], 0), turned(&[2, 3, 4, 5])),
        Case::new("gath8", turned(&[2, 3, 2, 3, 4]), dense(&[2, 3, 2, 3, 4], 0)),
        Case::new("gath8", turned(&[2; 8]), dense(&[1, 2, 1, 2, 1, 2, 1, 2], 0)),
        Case::new(
            "gath8",
            dense(&[3, 2, 2, 2, 2, 2, 2, 3], 0),
            strided(&[3, 2, 2, 2, 2, 2, 2, 3], &[1, -3, 6, -12, 24, -48, 96, 192]),
        ),
    ]);
    if l > 1 {
        let n = 300 * l + 7;
        cases.extend([
            Case::new("gath2", dense(&[n], 1), dense(&[n], 0)),
            Case::new("gath2", dense(&[n], 0), dense(&[n], l - 1)),
            Case::new("gath2", dense(&[n], 1), dense(&[], 0)),
            Case::new("gath2", dense(&[], 5), dense(&[], 7)),
            Case::new("gath2", dense(&[5, odd], 0), dense(&[odd], 0)),
            Case::new("gath4", dense(&[3, 5, odd], 0), dense(&[3, 1, odd], 0)),
            Case::new("gath8", dense(&[2, 3, 2, 3, odd], 0), dense(&[2, 1, 2, 1, odd], 0)),
        ]);
    }
    cases
}
