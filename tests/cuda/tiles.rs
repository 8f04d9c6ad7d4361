//! Operands that are contiguous along another loop than the destination, which are read in tiles: sizes around those of
//! tiles, all kinds of other operands beside them, and destinations of every kind, compared with the CPU.

use bitlane::{DType, Device, Expr, Result, Tensor, introspect};

use crate::virtual_driver::isolated;

/// From this many elements along both loops on, tiles are used.
const LEAST: usize = 16;

/// The same tensors on the CPU and on the device.
struct Both([Device; 2]);

impl Both {
    fn new() -> Both {
        Both([Device::cpu(), Device::cuda(0).unwrap()])
    }

    /// Returns a tensor of this shape whose memory has its dimensions in another order: dimension `k` of the tensor is
    /// dimension `order[k]` of the memory.
    fn permuted(&self, shape: &[usize], order: &[usize], dtype: DType) -> [Tensor; 2] {
        let mut stored = vec![0; shape.len()];
        for (&size, &place) in shape.iter().zip(order) {
            stored[place] = size;
        }
        let count: usize = shape.iter().product();
        let numbers: Vec<i32> =
            (0..count).map(|k| (k.wrapping_mul(2_654_435_761) >> 7) as i32 % 100).collect();
        self.0.each_ref().map(|device| {
            let numbers = Tensor::from_slice(&numbers, &*stored, &Device::cpu()).unwrap();
            let made = numbers.cast(dtype).unwrap().to_device(device).unwrap();
            made.permute(order).unwrap()
        })
    }

    fn plain(&self, shape: &[usize], dtype: DType) -> [Tensor; 2] {
        let order: Vec<_> = (0..shape.len()).collect();
        self.permuted(shape, &order, dtype)
    }

    /// Runs a call on both, compares the bits, and checks whether it used tiles.
    fn expect(&self, what: &str, tiled: bool, call: impl Fn(usize) -> Result<Tensor>) {
        let expected = call(0).unwrap_or_else(|error| panic!("{what}: {error}"));
        introspect::record();
        let result = call(1).unwrap_or_else(|error| panic!("{what}: {error}"));
        let kernels = introspect::recorded();
        let result = result.to_device(&self.0[0]).unwrap();
        assert!(result.bits_equal(&expected).unwrap(), "{what} on {kernels:?}");
        let used = kernels.iter().any(|name| name.starts_with("tiles"));
        assert_eq!(used, tiled, "{what} ran on {kernels:?}");
    }
}

pub fn sizes_around_those_of_tiles() {
    isolated(module_path!(), "sizes_around_those_of_tiles", &[], |_| {
        let both = Both::new();
        let sizes = [0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 96, 130];
        for rows in sizes {
            for columns in sizes {
                let x = both.permuted(&[rows, columns], &[1, 0], DType::F32);
                let tiled = rows.min(columns) >= LEAST;
                both.expect(&format!("{rows} × {columns}"), tiled, |k| x[k].contiguous());
            }
        }
        // Enough for larger tiles, whole and in part.
        for (rows, columns) in [(512, 512), (321, 1000), (1000, 322), (64, 4096)] {
            for dtype in [DType::U8, DType::Bool, DType::F16, DType::F32] {
                let x = both.permuted(&[rows, columns], &[1, 0], dtype);
                both.expect(&format!("{rows} × {columns} of {dtype}"), true, |k| {
                    x[k].contiguous()
                });
            }
        }
    });
}

pub fn dimensions_in_every_order() {
    isolated(module_path!(), "dimensions_in_every_order", &[], |_| {
        let both = Both::new();
        for (shape, order, tiled) in [
            (&[3, 40, 50][..], &[0, 2, 1][..], true),
            (&[40, 3, 50], &[2, 1, 0], true),
            (&[40, 50, 3], &[1, 2, 0], false),
            (&[2, 33, 3, 34], &[0, 3, 2, 1], true),
            (&[33, 2, 34, 3], &[2, 3, 0, 1], true),
            (&[33, 5, 2, 34], &[3, 0, 2, 1], true),
            (&[9, 8, 7, 6], &[3, 2, 1, 0], false),
            (&[2, 17, 2, 3, 65], &[1, 4, 3, 2, 0], true),
            (&[17, 2, 3, 2, 18], &[4, 3, 2, 1, 0], true),
        ] {
            for dtype in [DType::I16, DType::F32] {
                let x = both.permuted(shape, order, dtype);
                both.expect(&format!("{shape:?} {order:?}"), tiled, |k| x[k].contiguous());
            }
        }
        // A part of a matrix, which begins anywhere.
        let x = both.permuted(&[70, 90], &[1, 0], DType::U8);
        both.expect("a part", true, |k| x[k].slice(0, 1..69)?.slice(1, 3..88)?.contiguous());
        // Elements of 8 bytes and more are read where they are.
        let x = both.permuted(&[40, 50], &[1, 0], DType::F64);
        both.expect("f64", false, |k| x[k].contiguous());
    });
}

pub fn operands_beside_a_turned_one() {
    isolated(module_path!(), "operands_beside_a_turned_one", &[], |_| {
        let both = Both::new();
        for (rows, columns) in [(48, 64), (35, 67)] {
            let shape = [rows, columns];
            let x = both.permuted(&shape, &[1, 0], DType::F32);
            let small = both.permuted(&shape, &[1, 0], DType::U8);
            let wide = both.plain(&shape, DType::F64);
            let plain = both.plain(&shape, DType::F32);
            let (row, column) =
                (both.plain(&[columns], DType::F32), both.plain(&[rows, 1], DType::F32));
            let one = both.plain(&[], DType::F32);
            let gaps = both.plain(&[rows, 2 * columns], DType::F32);
            let what = |name: &str| format!("{name} of {shape:?}");
            both.expect(&what("a sum"), true, |k| &x[k] + &plain[k]);
            both.expect(&what("a sum, turned last"), true, |k| &plain[k] - &x[k]);
            both.expect(&what("two turned"), true, |k| {
                (x[k].expr() * small[k].expr().cast(DType::F32)).run()
            });
            both.expect(&what("a row"), true, |k| (x[k].expr() - &row[k]).run());
            both.expect(&what("a column"), true, |k| (x[k].expr() - &column[k]).run());
            both.expect(&what("one element and a number"), true, |k| {
                ((x[k].expr() + &one[k]) * 3).run()
            });
            both.expect(&what("every second"), true, |k| {
                let gaps = gaps[k].as_strided(&[rows, columns], &[2 * columns as isize, 2], 0)?;
                (x[k].expr() + &gaps).run()
            });
            both.expect(&what("backwards"), true, |k| (x[k].expr() + plain[k].flip(1)?).run());
            both.expect(&what("a wider dtype"), true, |k| {
                (x[k].expr().cast(DType::F64) + &wide[k]).run()
            });
            both.expect(&what("a narrower dtype"), true, |k| x[k].expr().cast(DType::F16).run());
            both.expect(&what("a large function"), true, |k| {
                Ok(x[k].expr()).map(|x| -x.exp())?.run()
            });
        }
        // More turned operands than there is shared memory for.
        let shape = [32, 48];
        let many: Vec<_> = (0..13).map(|_| both.permuted(&shape, &[1, 0], DType::F32)).collect();
        for count in [2, 3, 11, 13] {
            both.expect(&format!("{count} operands"), count < 12, |k| {
                let first: Expr<'_> = many[0][k].expr();
                many[1..count].iter().fold(first, |sum, x| sum + &x[k]).run()
            });
        }
    });
}

pub fn destinations_of_turned_operands() {
    isolated(module_path!(), "destinations_of_turned_operands", &[], |_| {
        let both = Both::new();
        for (rows, columns) in [(48, 64), (33, 65)] {
            let shape = [rows, columns];
            let x = both.permuted(&shape, &[1, 0], DType::F32);
            let masks = [
                both.plain(&shape, DType::Bool),
                both.permuted(&shape, &[1, 0], DType::Bool),
                both.plain(&[columns], DType::Bool),
                both.plain(&[rows, 1], DType::Bool),
            ];
            let what = |name: &str| format!("{name} of {shape:?}");
            for (place, mask) in masks.iter().enumerate() {
                both.expect(&what(&format!("mask {place}")), true, |k| {
                    let mut out = Tensor::ones(shape, DType::F32, &both.0[k])?;
                    (x[k].expr() * 2).out(&mut out).mask(&mask[k]).run()
                });
            }
            // The destination is the transposed one.
            let plain = both.plain(&shape, DType::F32);
            both.expect(&what("a transposed destination"), true, |k| {
                let mut out =
                    Tensor::zeros([columns, rows], DType::F32, &both.0[k])?.transpose(0, 1)?;
                (plain[k].expr() + 1).out(&mut out).run()
            });
            // Every second row of a larger one, and every second element, of which the threads can write no runs.
            for (step, tiled) in
                [([2 * columns as isize, 1], true), ([2 * columns as isize, 2], false)]
            {
                both.expect(&what("a destination with gaps"), tiled, |k| {
                    let room = Tensor::zeros([2 * rows * columns], DType::F32, &both.0[k])?;
                    let mut out = room.as_strided(&shape, &step, 0)?;
                    (x[k].expr() * 2).out(&mut out).run()?;
                    Ok(room)
                });
            }
        }
        // In place beside itself, and onto itself turned, which takes a temporary.
        for size in [48, 65] {
            let (x, y) = (
                both.plain(&[size, size], DType::I32),
                both.permuted(&[size, size], &[1, 0], DType::I32),
            );
            both.expect("in place", true, |k| {
                let mut x = x[k].copy()?;
                let read = x.clone();
                (read.expr() + &y[k]).out(&mut x).run()?;
                Ok(x)
            });
            both.expect("onto itself, turned", true, |k| {
                let mut x = x[k].copy()?;
                let turned = x.transpose(0, 1)?;
                (turned.expr() * 2 + 1).out(&mut x).run()?;
                Ok(x)
            });
        }
    });
}

pub fn wide_indices_in_tiles() {
    isolated(module_path!(), "wide_indices_in_tiles", &[], |_| {
        let both = Both::new();
        introspect::force(introspect::Force::WIDE);
        let x = both.permuted(&[3, 35, 70], &[0, 2, 1], DType::F16);
        both.expect("wide", true, |k| (x[k].expr() + x[k].expr()).run());
    });
}
