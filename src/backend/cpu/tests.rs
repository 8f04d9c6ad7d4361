//! Requests run as the front would have them run, with every choice of `settings` forced in turn.

mod deep;
mod rows;

use std::sync::Arc;

use crate::backend::cpu;
use crate::backend::cpu::settings::{Level, Settings};
use crate::layout::Layout;
use crate::op::ElementOp;
use crate::op::ReduceOp;
use crate::plan::Plan;
use crate::program::{Program, Value};
use crate::request::{Reduction, Request};
use crate::scalar::ElementBytes;
use crate::scan::ScanRequest;
use crate::storage::{Access, Storage};
use crate::{DType, Device};

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The bytes of elements: any bits, or small numbers, or a bool.
    fn elements(&mut self, dtype: DType, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for index in 0..count {
            let mut element = [0; 16];
            element[..8].copy_from_slice(&self.next().to_ne_bytes());
            element[8..].copy_from_slice(&self.next().to_ne_bytes());
            if dtype == DType::Bool {
                element[0] &= 1;
            } else if index % 3 == 0 {
                // Small numbers, so that quotients, shifts and powers are not all out of range.
                let small = crate::Scalar::Int((element[0] % 16) as i64);
                element = small.wrap_to_element(dtype).0;
            }
            bytes.extend_from_slice(&element[..dtype.size()]);
        }
        bytes
    }
}

fn storage(bytes: &[u8]) -> Arc<Storage> {
    Arc::new(Storage::from_bytes(&Device::cpu(), bytes).unwrap())
}

/// Runs a program over operands of these layouts, and gives the destination's bytes.
fn run(program: &Program, out: DType, layouts: &[Layout], operands: &[Arc<Storage>]) -> Vec<u8> {
    let shape = layouts[0].shape();
    let destination = storage(&vec![0; layouts[0].shape().iter().product::<usize>() * out.size()]);
    let dense = Layout::row_major(shape);
    let plan = Plan::new(shape, std::iter::once(&dense).chain(layouts));
    let request = Request { op: "test", program, plan: &plan, out, masked: false, reduction: None };
    let access = Access::new(std::iter::once(&destination).chain(operands));
    cpu::run(&request, &access).unwrap();
    drop(access);
    let memory = destination.read();
    memory.download::<u8>(0..destination.bytes()).unwrap()
}

/// All choices that must not matter, as lists for [`Settings::forced`].
fn choices() -> Vec<String> {
    let mut lists = Vec::new();
    for level in Level::available() {
        for sizes in ["", "block=200,parallel=1,threads=3", "stream=1,block=1024", "block=1"] {
            lists.push(format!("{level:?},{sizes}").to_lowercase());
        }
    }
    lists
}

/// The elements, or the parts of complex ones. NaN is one value, whatever its bits: arithmetic leaves them open.
fn canonical(dtype: DType, bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
    let size = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
    let is_nan = |part: &[u8]| match dtype {
        DType::F16 => u16::from_ne_bytes([part[0], part[1]]) & 0x7fff > 0x7c00,
        DType::BF16 => u16::from_ne_bytes([part[0], part[1]]) & 0x7fff > 0x7f80,
        DType::F32 | DType::C64 => f32::from_ne_bytes(part.try_into().unwrap()).is_nan(),
        DType::F64 | DType::C128 => f64::from_ne_bytes(part.try_into().unwrap()).is_nan(),
        _ => false,
    };
    bytes.chunks(size).map(|part| (!is_nan(part)).then(|| part.to_vec())).collect()
}

/// A program of one operation, some of whose operands are numbers.
fn one_step(op: ElementOp, dtype: DType, numbers: [Option<ElementBytes>; 3]) -> Program {
    let mut program = Program::new();
    let mut operand = |place: usize| {
        let dtype = if op == ElementOp::Select && place == 0 { DType::Bool } else { dtype };
        match numbers[place] {
            Some(bytes) => program.number(dtype, bytes),
            None => program.memory(dtype),
        }
    };
    match op.arity() {
        1 => {
            let x = operand(0);
            program.apply(op, [x]);
        }
        2 => {
            let operands = [operand(0), operand(1)];
            program.apply(op, operands);
        }
        _ => {
            let operands = [operand(0), operand(1), operand(2)];
            program.apply(op, operands);
        }
    }
    program
}

#[test]
fn every_operation_gives_the_same_however_it_is_run() {
    const LEN: usize = 139;
    const ROWS: usize = 11;
    const COLUMNS: usize = 12;
    let mut random = Random(1);
    let choices = choices();
    for &op in ElementOp::ALL {
        for &dtype in DType::ALL {
            if !op.domain().contains(dtype) {
                continue;
            }
            let result = op.result(dtype);
            let bytes: Vec<Vec<u8>> = (0..op.arity())
                .map(|place| {
                    let is_condition = op == ElementOp::Select && place == 0;
                    random.elements(if is_condition { DType::Bool } else { dtype }, LEN)
                })
                .collect();
            let operands: Vec<_> = bytes.iter().map(|bytes| storage(bytes)).collect();
            let layouts = vec![Layout::row_major(&[LEN]); op.arity()];
            let program = one_step(op, dtype, [None; 3]);
            let expected = canonical(
                result,
                &Settings::forced("baseline", || run(&program, result, &layouts, &operands)),
            );
            for list in &choices {
                let got = Settings::forced(list, || run(&program, result, &layouts, &operands));
                assert_eq!(canonical(result, &got), expected, "{op:?} {dtype} {list}");
                // The first elements as columns of a rectangle, which the destination has as rows.
                let columns = Layout::row_major(&[ROWS, COLUMNS]).transpose(0, 1).unwrap();
                let columns = vec![columns; op.arity()];
                let got = Settings::forced(list, || run(&program, result, &columns, &operands));
                let got = canonical(result, &got);
                let parts = got.len() / (ROWS * COLUMNS);
                for (place, chunk) in got.chunks(parts).enumerate() {
                    let source = place % ROWS * COLUMNS + place / ROWS;
                    assert_eq!(
                        chunk,
                        &expected[source * parts..][..parts],
                        "{op:?} {dtype} {list}"
                    );
                }
            }
            // Numbers in every place give what repeated elements give.
            for place in 0..op.arity() {
                let element = bytes[place].chunks(bytes[place].len() / LEN).nth(5).unwrap();
                let mut number = ElementBytes([0; 16]);
                number.0[..element.len()].copy_from_slice(element);
                let mut repeated = operands.clone();
                repeated[place] = storage(&element.repeat(LEN));
                let expected = run(&program, result, &layouts, &repeated);
                let expected = canonical(result, &expected);
                let mut numbers = [None; 3];
                numbers[place] = Some(number);
                let with_number = one_step(op, dtype, numbers);
                let mut others = operands.clone();
                others.remove(place);
                if others.is_empty() {
                    continue;
                }
                for list in &choices {
                    let got = Settings::forced(list, || {
                        run(&with_number, result, &layouts[1..], &others)
                    });
                    assert_eq!(
                        canonical(result, &got),
                        expected,
                        "{op:?} {dtype} number {place} {list}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_conversion_is_the_same_at_every_level() {
    const LEN: usize = 211;
    let mut random = Random(2);
    for &from in DType::ALL {
        for &to in DType::ALL {
            let mut program = Program::new();
            let x = program.memory(from);
            program.cast(x, to);
            let operand = [storage(&random.elements(from, LEN))];
            let layout = [Layout::row_major(&[LEN])];
            let one = |list: &str| Settings::forced(list, || run(&program, to, &layout, &operand));
            let expected = canonical(to, &one("baseline"));
            for list in choices() {
                assert_eq!(canonical(to, &one(&list)), expected, "{from} to {to}, {list}");
            }
        }
    }
}

#[test]
fn a_request_without_elements_runs_nothing() {
    let program = one_step(ElementOp::Add, DType::F32, [None; 3]);
    for shape in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 70]] {
        let layouts = [Layout::row_major(shape), Layout::row_major(shape)];
        let operands = [storage(&[]), storage(&[])];
        assert!(run(&program, DType::F32, &layouts, &operands).is_empty(), "{shape:?}");
        // Likewise by way of blocks.
        let strided = [layouts[0], Layout::row_major(&[1]).broadcast_to("test", shape).unwrap()];
        let operands = [storage(&[]), storage(&[0; 4])];
        assert!(run(&program, DType::F32, &strided, &operands).is_empty(), "{shape:?}");
    }
}

#[test]
fn many_values_at_a_time_are_kept_apart() {
    // All of 120 products are needed at the end, so none may have lost its register.
    let mut program = Program::new();
    let inputs: Vec<Value> = (0..16).map(|_| program.memory(DType::I64)).collect();
    let mut products = Vec::new();
    for (place, &x) in inputs.iter().enumerate() {
        for &y in &inputs[place + 1..] {
            products.push(program.apply(ElementOp::Multiply, [x, y]));
        }
    }
    let mut sum = products[0];
    for &product in &products[1..] {
        let shifted = program.apply(ElementOp::BitwiseXor, [sum, product]);
        sum = program.apply(ElementOp::Add, [shifted, inputs[3]]);
    }
    const LEN: usize = 1000;
    let mut random = Random(3);
    let columns: Vec<Vec<i64>> =
        (0..16).map(|_| (0..LEN).map(|_| random.next() as i64).collect()).collect();
    let operands: Vec<_> =
        columns.iter().map(|column| storage(bytemuck::cast_slice(column))).collect();
    let expected: Vec<i64> = (0..LEN)
        .map(|row| {
            let mut products = Vec::new();
            for x in 0..16 {
                for y in x + 1..16 {
                    products.push(columns[x][row].wrapping_mul(columns[y][row]));
                }
            }
            products[1..]
                .iter()
                .fold(products[0], |sum, product| (sum ^ product).wrapping_add(columns[3][row]))
        })
        .collect();
    for list in choices() {
        let layouts = vec![Layout::row_major(&[LEN]); 16];
        let got = Settings::forced(&list, || run(&program, DType::I64, &layouts, &operands));
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, i64>(&got), expected, "{list}");
    }
}

/// The definition of a sum or a product: a perfect tree over the terms, without what is missing.
fn tree(terms: &[f64], combine: fn(f64, f64) -> f64) -> f64 {
    if let [term] = terms {
        return *term;
    }
    let (left, right) = terms.split_at(terms.len().next_power_of_two() / 2);
    combine(tree(left, combine), tree(right, combine))
}

/// Sums `[rows, columns]` elements over either axis.
fn sum(op: ReduceOp, values: &[f64], layout: &Layout, axis: usize) -> Vec<f64> {
    let mut program = Program::new();
    program.memory(DType::F64);
    let kept = layout.shape()[1 - axis];
    let summed = layout.shape()[axis];
    let along = |axis: usize, size: usize| {
        Layout::strided("test", &[size], &[layout.strides()[axis]], layout.offset(), values.len())
            .unwrap()
    };
    let dense = Layout::row_major(&[kept]);
    let still = Layout::strided("test", &[summed], &[0], 0, 1).unwrap();
    let plan = Plan::new(&[kept], [&dense, &along(1 - axis, kept)]);
    let terms = Plan::in_order(&[summed], [&still, &along(axis, summed)]);
    let request = Request {
        op: "sum",
        program: &program,
        plan: &plan,
        out: DType::F64,
        masked: false,
        reduction: Some(Reduction { op, terms: &terms, divisor: summed as f64 }),
    };
    let (out, input) = (storage(&vec![0; kept * 8]), storage(bytemuck::cast_slice(values)));
    let access = Access::new([&out, &input]);
    cpu::run(&request, &access).unwrap();
    drop(access);
    let memory = out.read();
    memory.download::<f64>(0..kept * 8).unwrap()
}

#[test]
fn sums_and_products_are_trees_for_every_size_layout_and_number_of_threads() {
    let mut random = Random(4);
    let sizes =
        [1, 2, 3, 5, 8, 31, 63, 64, 65, 127, 1023, 1024, 1025, 2047, 2049, 4097, 70_001, 131_073];
    for summed in sizes {
        for kept in [1, 3, 40, 600] {
            if summed * kept > 200_000 {
                continue;
            }
            let values: Vec<f64> = (0..summed * kept)
                .map(|_| {
                    (random.next() as i64 as f64) * 2f64.powi((random.next() % 80) as i32 - 40)
                })
                .collect();
            // Close to 1, so that products do not overflow.
            let factors: Vec<f64> = (0..summed * kept)
                .map(|_| 1.0 + f64::from(random.next() as i32) * 2f64.powi(-42))
                .collect();
            let layouts = [
                (Layout::row_major(&[kept, summed]), 1),
                (Layout::row_major(&[summed, kept]), 0),
                (Layout::row_major(&[kept, summed]).flip(1).unwrap(), 1),
            ];
            for (layout, axis) in layouts {
                let at = |values: &[f64], row: usize, term: usize| {
                    let (row, term) = (row as isize, term as isize);
                    let place = row * layout.strides()[1 - axis] + term * layout.strides()[axis];
                    values[(layout.offset() as isize + place) as usize]
                };
                let trees = |values: &[f64], combine| -> Vec<f64> {
                    let terms = |row| (0..summed).map(move |term| at(values, row, term));
                    (0..kept).map(|row| tree(&terms(row).collect::<Vec<_>>(), combine)).collect()
                };
                let expected = trees(&values, |x, y| x + y);
                let products = trees(&factors, |x, y| x * y);
                for list in [
                    "",
                    "parallel=1,threads=1",
                    "parallel=1,threads=2",
                    "parallel=1,threads=7,block=100",
                    "baseline",
                ] {
                    let got = Settings::forced(list, || sum(ReduceOp::Sum, &values, &layout, axis));
                    assert_eq!(got, expected, "{kept} sums of {summed}, axis {axis}, {list}");
                    let got =
                        Settings::forced(list, || sum(ReduceOp::Mean, &values, &layout, axis));
                    let mean = expected.iter().map(|sum| sum / summed as f64).collect::<Vec<_>>();
                    assert_eq!(got, mean);
                    let got =
                        Settings::forced(list, || sum(ReduceOp::Prod, &factors, &layout, axis));
                    assert_eq!(got, products, "{kept} products of {summed}, axis {axis}, {list}");
                }
            }
        }
    }
    assert_eq!(
        sum(ReduceOp::Sum, &[-0.0; 5], &Layout::row_major(&[1, 5]), 1)[0].to_bits(),
        1 << 63
    );
}

/// The definition of a scan: a prefix that ends in the right half of a tree is the left half plus that within the right.
fn prefixes(terms: &[f64]) -> Vec<f64> {
    if terms.len() <= 1 {
        return terms.to_vec();
    }
    let (left, right) = terms.split_at(terms.len().next_power_of_two() / 2);
    let total = tree(left, |x, y| x + y);
    let right = prefixes(right).into_iter().map(|prefix| total + prefix);
    prefixes(left).into_iter().chain(right).collect()
}

#[test]
fn scans_are_trees_for_every_size_and_number_of_threads() {
    let mut random = Random(9);
    for (outer, len, inner) in [
        (1, 1, 1),
        (3, 1025, 1),
        (40, 70, 1),
        (1, 200_001, 1),
        (2, 131_072, 1),
        (2, 300, 37),
        (1, 65, 900),
    ] {
        let values: Vec<f64> = (0..outer * len * inner)
            .map(|_| (random.next() as i64 as f64) * 2f64.powi((random.next() % 80) as i32 - 40))
            .collect();
        let mut expected = vec![0.0; values.len()];
        for (row, column) in (0..outer).flat_map(|row| (0..inner).map(move |column| (row, column)))
        {
            let at = |term: usize| (row * len + term) * inner + column;
            let terms: Vec<f64> = (0..len).map(|term| values[at(term)]).collect();
            for (term, prefix) in prefixes(&terms).into_iter().enumerate() {
                expected[at(term)] = prefix;
            }
        }
        let request = ScanRequest {
            op: "cumulative_sum",
            combine: ElementOp::Add,
            terms: DType::F64,
            out: DType::F64,
            outer,
            len,
            inner,
            offset: 0,
        };
        for list in
            ["", "parallel=1,threads=1", "parallel=1,threads=2", "parallel=1,threads=7", "baseline"]
        {
            let bytes = bytemuck::cast_slice(&values);
            let (out, input) = (storage(&vec![0; bytes.len()]), storage(bytes));
            let access = Access::new([&out, &input]);
            Settings::forced(list, || cpu::scan(&request, &access)).unwrap();
            drop(access);
            let got = out.read().download::<f64>(0..bytes.len()).unwrap();
            assert!(got == expected, "{outer} by {len} by {inner}, {list}");
        }
    }
}
