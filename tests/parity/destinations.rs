//! Destinations of every kind: given, in place, masked, of another dtype, with any alignment.

use bitlane::{BinaryOp, DType};

use crate::cases::{Case, Destination, GENERATED, Operand};
use crate::data::{dense, lanes, strided, turned};
use crate::model::ops::result_dtype;
use crate::model::view::View;

fn into(shape: &'static str, lhs: View, rhs: View, to: Destination) -> Case {
    Case { to, ..Case::new(shape, lhs, rhs) }
}

pub fn given(op: BinaryOp, dtype: DType) -> Vec<Case> {
    let (l, result) = (lanes(dtype), result_dtype(op, dtype));
    let plain = |view: View| Destination::Given(result, view, None);
    let block = 512 * l;
    let mut cases = Vec::new();
    // Operands and destination begin in the same lane of a vector, but not in the first: there is a head.
    for place in if l > 1 { vec![1, l / 2, l - 1] } else { vec![3] } {
        for n in [1, l - 1, l, 2 * l + 1, block + 3].into_iter().filter(|&n| n > 0) {
            let run = || dense(&[n], place);
            cases.push(into("contig", run(), run(), plain(run())));
        }
        let n = 3 * l + 2;
        let run = || dense(&[n], place);
        cases.push(into("scalar", run(), dense(&[], 4), plain(run())));
        cases.push(into("lscalar", dense(&[], 4), run(), plain(run())));
        if l > 1 {
            // An operand that begins in another lane is gathered; the destination still has a head.
            for n in [2, l, 256 * l + 1] {
                let (run, first) = (|| dense(&[n], place), dense(&[n], 0));
                cases.push(into("gath2", run(), first.clone(), plain(run())));
                cases.push(into("gath2", first.clone(), first, plain(run())));
            }
            let shape = [3, 5, 2 * l + 1];
            cases.push(into(
                "gath4",
                turned(&shape),
                dense(&shape, 0),
                plain(dense(&shape, place)),
            ));
            let shape = [2, 3, 2, 3, 4];
            cases.push(into(
                "gath8",
                turned(&shape),
                dense(&shape, 0),
                plain(dense(&shape, place)),
            ));
        }
    }
    let matrix = [5, 8 * l];
    let (full, row, column) = (dense(&matrix, 0), dense(&[8 * l], 0), dense(&[5, 1], 0));
    cases.push(into("row", full.clone(), row, plain(dense(&matrix, 2 * l))));
    cases.push(into("gen2", column, full.clone(), plain(dense(&matrix, l))));
    // Destinations that are strided, reversed and transposed.
    let n = 5 * l + 1;
    let run = || dense(&[n], 0);
    cases.push(into(GENERATED, run(), run(), plain(strided(&[n], &[2]))));
    cases.push(into(GENERATED, full.clone(), full.clone(), plain(strided(&matrix, &[-1, 11]))));
    cases.push(into("gath2", run(), run(), plain(strided(&[n], &[-1]))));
    cases.push(into("contig", turned(&matrix), turned(&matrix), plain(turned(&matrix))));
    cases.extend(masked(result, l));
    cases.extend(in_place(dtype, result));
    for &other in DType::ALL {
        if other != result && result.category() <= other.category() {
            let to = |view: View| Destination::Given(other, view, None);
            cases.push(into(GENERATED, run(), run(), to(dense(&[n], 1))));
            let mask = Some(dense(&[n], 2));
            cases.push(into(GENERATED, run(), run(), Destination::Given(other, run(), mask)));
        }
    }
    cases
}

fn masked(result: DType, l: usize) -> Vec<Case> {
    let matrix = [7, 4 * l + 1];
    let full = || dense(&matrix, 0);
    let to = |out: View, mask: View| Destination::Given(result, out, Some(mask));
    vec![
        into(GENERATED, full(), full(), to(full(), full())),
        into(GENERATED, full(), full(), to(dense(&matrix, 1), dense(&[4 * l + 1], 3))),
        into(GENERATED, full(), dense(&[7, 1], 0), to(full(), dense(&[7, 1], 1))),
        into(GENERATED, turned(&matrix), full(), to(turned(&matrix), strided(&matrix, &[-2, -20]))),
        into(GENERATED, full(), full(), to(full(), dense(&[], 0))),
        // More than one block.
        into(
            GENERATED,
            dense(&[1030], 0),
            dense(&[1030], 0),
            to(dense(&[1030], 0), dense(&[1030], 0)),
        ),
    ]
}

/// Cases that write to the left operand's storage, if its dtype can hold the result.
fn in_place(dtype: DType, result: DType) -> Vec<Case> {
    let l = lanes(dtype);
    if result.category() > dtype.category() {
        return Vec::new();
    }
    let fast = |shape: &'static str| if dtype == result { shape } else { GENERATED };
    let mut cases = Vec::new();
    for place in [0, 1, l - 1] {
        let n = 520 * l + 1;
        let run = || dense(&[n], place);
        cases.push(into(fast("contig"), run(), run(), Destination::InPlace(run())));
        cases.push(into(fast("scalar"), run(), dense(&[], 1), Destination::InPlace(run())));
        let number = Operand::Number(if dtype == DType::Bool { true.into() } else { 1.into() });
        cases.push(Case {
            rhs: number,
            ..into(fast("scalar"), run(), run(), Destination::InPlace(run()))
        });
    }
    let matrix = [5, 8 * l];
    let full = || dense(&matrix, 0);
    let row = dense(&[8 * l], 0);
    cases.push(into(fast("row"), full(), row, Destination::InPlace(full())));
    cases.push(into(fast("gen2"), full(), dense(&[5, 1], 0), Destination::InPlace(full())));
    cases.push(into(fast("gath2"), full(), turned(&matrix), Destination::InPlace(full())));
    let shape = [2, 768 * l];
    let wide = || dense(&shape, 0);
    cases.push(into(fast("col"), wide(), dense(&[2, 1], 0), Destination::InPlace(wide())));
    cases
}
