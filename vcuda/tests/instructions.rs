//! Every row of the instruction table on edge values, against definitions written another way: integers in
//! 128 bits, floats through the host's arithmetic and the exact error of it, halves through another crate.

mod reference;
mod support;

use reference::*;
use std::collections::BTreeSet;
use std::ffi::{CString, c_char};
use std::fmt::Write;
use support::driver::address;
use support::{Gpu, report};

/// What a result must be.
pub enum Want {
    Bits(u64),
    /// Any NaN, or the number to within a few units of the last place of a single.
    Near(f64),
    /// The operands leave the result open.
    Any,
}

/// What a form must give for its operands.
pub type Definition = Box<dyn Fn(&[u64]) -> Want>;

/// One form: instructions with `%d` for the result and `%a`, `%b`, `%c`, `%e` for the operands.
pub struct Form {
    pub body: String,
    pub d: &'static str,
    pub s: Vec<&'static str>,
    pub want: Definition,
}

fn kernel(name: usize, form: &Form, out: &mut String) {
    let register = |kind: &str| match kind {
        "pred" => "pred",
        k if bits(k) == 64 => "b64",
        k if bits(k) == 32 => "b32",
        _ => "b16",
    };
    let _ = write!(
        out,
        ".visible .entry k{name}(.param .u64 in, .param .u64 out, .param .u32 n)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .{} %d;\n",
        register(form.d)
    );
    for (k, kind) in form.s.iter().enumerate() {
        let _ = writeln!(out, ".reg .{} %{};", register(kind), ["a", "b", "c", "e"][k]);
    }
    out.push_str("ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r2, 128, %r3;\nsetp.ge.u32 %p1, %r4, %r1;\n@%p1 ret;\nmad.wide.u32 %rd3, %r4, 32, %rd1;\nmad.wide.u32 %rd4, %r4, 8, %rd2;\n");
    for (k, kind) in form.s.iter().enumerate() {
        let (name, at) = (["a", "b", "c", "e"][k], 8 * k);
        let _ = match *kind {
            "pred" => {
                writeln!(out, "ld.global.u32 %r5, [%rd3+{at}];\nsetp.ne.u32 %{name}, %r5, 0;")
            }
            kind => writeln!(out, "ld.global.b{} %{name}, [%rd3+{at}];", bits(kind)),
        };
    }
    let _ = writeln!(out, "{}", form.body);
    match form.d {
        "pred" => out.push_str("selp.b64 %rd5, 1, 0, %d;\nst.global.u64 [%rd4], %rd5;\n"),
        kind => {
            let _ = writeln!(out, "st.global.b{} [%rd4], %d;", bits(kind));
        }
    }
    out.push_str("ret;\n}\n");
}

/// All combinations of the operands' edge values, fewer of them for many operands.
fn inputs(form: &Form) -> Vec<[u64; 4]> {
    let lists: Vec<Vec<u64>> = form
        .s
        .iter()
        .map(|kind| {
            let all = edges(kind);
            let most = match form.s.len() {
                1 | 2 => all.len(),
                3 => 11,
                _ => 6,
            };
            let step = all.len().div_ceil(most);
            all.into_iter().step_by(step).collect()
        })
        .collect();
    let mut rows = vec![[0u64; 4]];
    for (k, list) in lists.iter().enumerate() {
        rows = rows
            .iter()
            .flat_map(|row| {
                list.iter().map(move |&v| {
                    let mut row = *row;
                    row[k] = v;
                    row
                })
            })
            .collect();
    }
    rows
}

#[test]
fn every_row_against_its_definition() {
    let forms = forms();
    let gpu = Gpu::new(&[("cc", "120")]);
    let mut wrong = Vec::new();
    for forms in forms.chunks(200) {
        let mut text = ".version 8.8\n.target sm_90\n.address_size 64\n".to_string();
        for (k, form) in forms.iter().enumerate() {
            kernel(k, form, &mut text);
        }
        support::set("quiet", "0");
        let module = gpu.load(&text);
        for (k, form) in forms.iter().enumerate() {
            let rows = inputs(form);
            let n = rows.len();
            let (input, out) = (gpu.upload(&rows), gpu.zeros(8 * n));
            let f = gpu.function(module, &format!("k{k}"));
            assert_eq!(gpu.launch(f, n.div_ceil(128) as u32, 128, &[input, out, n as u64]), 0);
            assert_eq!(gpu.sync(), 0, "{}: {}", form.body, report());
            for (row, got) in rows.iter().zip(gpu.download::<u64>(out, n)) {
                let fine = match (form.want)(&row[..form.s.len()]) {
                    Want::Any => true,
                    Want::Bits(want) => same(form.d, got, want),
                    Want::Near(want) => near(form.d, got, want),
                };
                let want = match (form.want)(&row[..form.s.len()]) {
                    Want::Bits(b) => format!("{b:#x}"),
                    Want::Near(v) => format!("{v}"),
                    Want::Any => String::new(),
                };
                if !fine {
                    wrong.push(format!(
                        "{} of {:x?} gives {got:#x} instead of {want}",
                        form.body,
                        &row[..form.s.len()]
                    ));
                    break;
                }
            }
            unsafe {
                support::driver::cuMemFree_v2(input);
                support::driver::cuMemFree_v2(out);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_row_is_left_out() {
    let (rows, mut covered) = (rows(), BTreeSet::new());
    for form in forms() {
        for instruction in form.body.split(';') {
            let Some(opcode) = instruction.split_whitespace().next() else { continue };
            covered.extend(row_of(opcode));
            // What these modifiers add, for the type of the result.
            let parts: Vec<&str> = opcode.split('.').collect();
            let kind = parts[parts.len() - if parts[0] == "cvt" { 2 } else { 1 }];
            for (modifier, row) in [("ftz", "flush"), ("sat", "saturate")] {
                if parts.contains(&modifier) {
                    let name = format!("{row}.{kind}");
                    covered.extend(rows.get(&name).cloned());
                }
            }
            if opcode.starts_with("mov") && instruction.contains('{') {
                covered.extend(rows.get(&packing(instruction, opcode)).cloned());
            }
        }
    }
    // Tested elsewhere: between lanes in `warps.rs`, addresses in `programs.rs`.
    let elsewhere = ["shfl.", "vote.", "redux.", "match.", "activemask", "elect", "isspacep."];
    let left: Vec<_> = rows
        .difference(&covered)
        .filter(|row| !elsewhere.iter().any(|e| row.starts_with(e)))
        .collect();
    assert!(left.is_empty(), "{} rows are not tested: {left:?}", left.len());
}

/// The name of the row for a `mov` between a register and its pieces.
fn packing(instruction: &str, opcode: &str) -> String {
    let pieces = instruction
        .split('{')
        .nth(1)
        .map_or(1, |t| t.split('}').next().unwrap_or("").split(',').count());
    let whole = bits(opcode.rsplit('.').next().unwrap_or("b32")) as usize;
    let pack = instruction.find('{') > instruction.find(',');
    if pack {
        format!("pack.b{}x{pieces}.b{whole}", whole / pieces)
    } else {
        format!("unpack.b{}.b{whole}", whole / pieces)
    }
}

/// Calls a function of the driver that writes a text.
fn text(function: &str, call: impl Fn(usize, &mut [u8]) -> usize) -> String {
    let mut buffer = vec![0; 1 << 20];
    let len = call(address(function), &mut buffer);
    String::from_utf8(buffer[..len].to_vec()).unwrap()
}

/// The names of the rows of the driver's instruction table.
fn rows() -> BTreeSet<String> {
    type Rows = unsafe extern "C" fn(*mut u8, usize) -> usize;
    let rows = text("vcuda_rows", |at, to| unsafe {
        std::mem::transmute::<usize, Rows>(at)(to.as_mut_ptr(), to.len())
    });
    rows.lines().map(str::to_string).collect()
}

/// The row to which an opcode is decoded.
fn row_of(opcode: &str) -> Option<String> {
    type RowOf = unsafe extern "C" fn(*const c_char, *mut u8, usize) -> usize;
    let opcode = CString::new(opcode).unwrap();
    let row = text("vcuda_row_of", |at, to| unsafe {
        std::mem::transmute::<usize, RowOf>(at)(opcode.as_ptr(), to.as_mut_ptr(), to.len())
    });
    (!row.is_empty()).then_some(row)
}
