//! The program `bitlane`: its output, the files it writes and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

use bitlane::{DType, Device, Tensor, npy, safetensors};
use serde_json::Value;
use tempfile::TempDir;

/// Runs the program in a folder, on the CPU only.
fn bitlane(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bitlane"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs a command that must succeed and returns its output.
#[track_caller]
fn answer(folder: &TempDir, arguments: &[&str]) -> String {
    let output = bitlane(folder.path(), arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    assert!(!output.stdout.contains(&0x1b), "colours in a pipe");
    text(&output.stdout).to_owned()
}

#[track_caller]
fn json(folder: &TempDir, arguments: &[&str]) -> Value {
    let printed = answer(folder, &[arguments, &["--json"]].concat());
    assert_eq!(printed.lines().count(), 1);
    serde_json::from_str(&printed).unwrap()
}

/// Runs a command that must fail with this exit code and returns its message.
#[track_caller]
fn failure(folder: &TempDir, code: i32, arguments: &[&str]) -> String {
    let output = bitlane(folder.path(), arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    text(&output.stderr).to_owned()
}

/// Creates a folder with `x.npy`, of i32, and `y.npy`, of f32.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let x = Tensor::from_nested([[1, -2, 3], [4, 5, -6]], &Device::cpu()).unwrap();
    npy::save(folder.path().join("x.npy"), &x).unwrap();
    npy::save(folder.path().join("y.npy"), &x.cast(DType::F32).unwrap()).unwrap();
    folder
}

const CPU: [&str; 2] = ["--device", "cpu"];

fn on_cpu<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &CPU].concat()
}

#[test]
fn one_operation() {
    let folder = folder();
    let printed = answer(&folder, &on_cpu(&["run", "bitwise_left_shift", "x.npy", "4"]));
    assert_eq!(printed, "[[ 16 -32  48]\n [ 64  80 -96]]\nshape [2, 3], i32, cpu\n");
    let saved = answer(&folder, &on_cpu(&["run", "abs", "x.npy", "-o", "out.npy"]));
    assert_eq!(saved, "out.npy: i32, shape [2, 3]\n");
    let out = npy::load(folder.path().join("out.npy"), &Device::cpu()).unwrap();
    assert_eq!(out.to_vec::<i32>().unwrap(), [1, 2, 3, 4, 5, 6]);
    let negative = answer(&folder, &on_cpu(&["run", "add", "x.npy", "-1"]));
    assert!(negative.starts_with("[[ 0 -3  2]"), "{negative}");
    let clipped = answer(&folder, &on_cpu(&["run", "clip", "x.npy", "-1", "4"]));
    assert!(clipped.starts_with("[[ 1 -1  3]\n [ 4  4 -1]]"), "{clipped}");
    let fused = answer(&folder, &on_cpu(&["run", "fma", "y.npy", "y.npy", "0.5"]));
    assert!(fused.starts_with("[[ 1.5  4.5  9.5]"), "{fused}");
    let turned = answer(&folder, &on_cpu(&["run", "rotate_right", "x.npy", "-33"]));
    assert!(turned.starts_with("[[  2  -3   6]"), "{turned}");
    let bytes = json(&folder, &on_cpu(&["run", "bitcast", "x.npy", "u8"]));
    assert_eq!((&bytes["dtype"], &bytes["shape"]), (&"u8".into(), &Value::from([2, 12])));
    let mixed = json(&folder, &on_cpu(&["run", "add", "x.npy", "y.npy", "--rules", "numpy"]));
    assert_eq!((&mixed["dtype"], &mixed["shape"]), (&"f64".into(), &Value::from([2, 3])));
}

#[test]
fn what_fails_leaves_nothing_behind() {
    let folder = folder();
    let files = || folder.path().read_dir().unwrap().count();
    let said = failure(&folder, 1, &on_cpu(&["run", "add", "x.npy", "y.npy", "-o", "out.npy"]));
    assert!(said.contains("Paddle rules give i32 tensor and f32 tensor no common dtype"), "{said}");
    assert!(said.contains("--rules torch|numpy|jax") && !said.contains("Rules::"), "{said}");
    let said = failure(&folder, 1, &on_cpu(&["run", "abs", "x.npy", "-o", "missing/out.npy"]));
    assert!(said.starts_with("bitlane: npy: missing/out.npy: "), "{said}");
    assert!(!said.contains(".bitlane-"), "the name of a temporary file: {said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "frobnicate", "x.npy", "1"]));
    assert!(said.contains("unknown operation \"frobnicate\"; `bitlane run --help`"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "add", "x.npy"]));
    assert!(said.contains("takes two operands"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "clip", "x.npy", "1"]));
    assert!(said.contains("clip takes three operands, two were given"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "abs", "x.npy", "1"]));
    assert!(said.contains("abs takes one operand, two were given"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "cast", "x.npy"]));
    assert!(said.contains("cast takes an array and a dtype"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "cumulative_sum", "x.npy"]));
    assert!(said.contains("cumulative_sum takes an array and an axis"), "{said}");
    std::fs::write(folder.path().join("short.npy"), "hello").unwrap();
    let said = failure(&folder, 1, &on_cpu(&["run", "abs", "short.npy"]));
    assert!(said.contains("short.npy: this is not a .npy file"), "{said}");
    std::fs::remove_file(folder.path().join("short.npy")).unwrap();
    let said = failure(&folder, 2, &on_cpu(&["run", "sum", "x.npy"]));
    assert!(said.contains("bitlane eval 'sum(x)' x=FILE.npy"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "cast", "x.npy", "f33"]));
    assert!(said.contains("did you mean f32?"), "{said}");
    let said = failure(&folder, 1, &on_cpu(&["run", "bitcast", "x.npy", "bool"]));
    assert!(said.contains("bitcast: bool is not supported"), "{said}");
    let said = failure(&folder, 1, &on_cpu(&["run", "add", "x.npy", "no.npy"]));
    assert!(said.contains("\"no.npy\" is neither a number nor a file"), "{said}");
    failure(&folder, 2, &["run"]);
    failure(&folder, 2, &["run", "add", "x.npy", "1", "--rules", "nobody"]);
    let said = failure(&folder, 2, &["run", "add", "x.npy", "1", "--rules", "torhc"]);
    assert!(said.contains("a similar value exists: 'torch'"), "{said}");
    let said = failure(&folder, 2, &["run", "add", "x.npy", "1", "--device", "tpu"]);
    assert!(said.contains("devices are best, cpu, cuda and cuda:NUMBER"), "{said}");
    let said = failure(&folder, 2, &["run", "abs", "x.npy", "-o", "out.npz"]);
    assert!(said.contains("has to end in .npy or .safetensors"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "cumulative_sum", "x.npy", "first"]));
    assert!(said.contains("takes an axis; \"first\" is not a number"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["run", "abs", "-1"]));
    assert!(said.contains("abs takes an array; give a .npy file"), "{said}");
    assert_eq!(files(), 2);
    #[cfg(not(feature = "cuda"))]
    assert!(
        failure(&folder, 1, &["run", "abs", "x.npy", "--device", "cuda"])
            .contains("cargo install bitlane-cli --features cuda")
    );
}

#[test]
fn errors_in_json() {
    let folder = folder();
    for (code, kind, words, arguments) in [
        (2, "Usage", "takes two operands", &["run", "add", "x.npy"][..]),
        (2, "Usage", "invalid value 'nobody'", &["run", "abs", "x.npy", "--rules", "nobody"]),
        (1, "Promotion", "no common dtype", &["run", "add", "x.npy", "y.npy"]),
        (1, "Failure", "neither a number nor a file", &["run", "abs", "no.npy"]),
    ] {
        let output = bitlane(folder.path(), &on_cpu(&[arguments, &["--json"]].concat()));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let error: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(error["kind"], kind);
        assert!(error["error"].as_str().unwrap().contains(words), "{error}");
    }
}

#[test]
fn results_in_json() {
    let folder = folder();
    let values = |arguments: &[&str]| json(&folder, &on_cpu(arguments))["values"].to_string();
    assert_eq!(values(&["run", "abs", "x.npy"]), "[[1,2,3],[4,5,6]]");
    assert_eq!(values(&["eval", "sum(x) > 4", "x=x.npy"]), "true");
    let quotient = values(&["eval", "x[0] / z", "x=y.npy", "z=0"]);
    assert_eq!(quotient, r#"["inf","-inf","inf"]"#, "JSON has no infinities");
    assert_eq!(values(&["eval", "x[:, 0] / 4", "x=y.npy"]), "[0.25,1.0]");
    assert_eq!(values(&["eval", "cast(x[1, 2], u64)", "x=x.npy"]), "18446744073709551610");
    assert_eq!(values(&["eval", "cast(x[0, :1], c64)", "x=y.npy"]), "[[1.0,0.0]]");
    assert_eq!(values(&["run", "cumulative_sum", "x.npy", "-1"]), "[[1,-1,2],[4,9,3]]");
}

#[test]
fn views_and_axes() {
    let folder = folder();
    let values =
        |text: &str| json(&folder, &on_cpu(&["eval", text, "x=x.npy"]))["values"].to_string();
    assert_eq!(values("max(x, -1, keepdims=true)"), "[[3],[5]]");
    assert_eq!(values("sum(x, axis=[0, 1])"), "5");
    assert_eq!(values("x[..., -1]"), "[3,-6]");
    assert_eq!(values("x[1, ::-1]"), "[-6,5,4]");
    assert_eq!(values("x[..., None, 1]"), "[[-2],[5]]");
    assert_eq!(values("x[None, 0]"), "[[1,-2,3]]");
    assert_eq!(values("reshape(x, 3, -1) - flip(reshape(x, 3, 2), 0)"), "[[-4,4],[0,0],[4,-4]]");
    assert_eq!(values("permute(x, 1, 0)[1:] + broadcast_to(x[0, 0], 2, 2)"), "[[-1,6],[4,-5]]");
    assert_eq!(values("narrow(transpose(x, 0, -1), 0, 2, 1)"), "[[3,-6]]");
    assert_eq!(values("squeeze(unsqueeze(x, 0), 0)[0, 0]"), "1");
    assert_eq!(values("unpack(pack(x, 4, u8), 4)[:, :3]"), "[[1,14,3],[4,5,10]]");
    assert_eq!(values("pack(x, 8, u32, 0)"), "[[1025,1534,64003]]");
    assert_eq!(values("cumulative_sum(x, -1) + 1"), "[[2,0,3],[5,10,4]]");
    assert_eq!(values("take(x, argmax(x, 0), 1)[0]"), "[-2,-2,1]");
    assert_eq!(values("take_along_axis(x, argmin(x, 1, keepdims), 1)"), "[[-2],[-6]]");
    assert_eq!(values("compress(x, x > 2) * 2"), "[6,8,10]");
    assert_eq!(values("cast_saturating(x * 100, i8)"), "[[100,-128,127],[127,127,-128]]");
    assert_eq!(values("sum(x * 100, dtype=u8)"), "244");
    assert_eq!(values("var(cast(x, f64), -1, correction=1, keepdims)[1]"), "[37.0]");
    assert_eq!(values("mse_loss(cast(x, f32), cast(x + 2, f32)) - 1"), "3.0");
    for (text, code, words) in [
        ("x[2]", 1, "index 2 is outside a dimension of size 2"),
        ("x[0, 0, 0]", 1, "more parts"),
        ("x[0, 0", 2, "expected ]"),
        ("sum(x, 5)", 1, "sum"),
        ("pack(x, 9, u32)", 1, "9"),
        ("pack(x, 4, f33)", 2, "did you mean f32?"),
        ("summ(x)", 2, "did you mean sum?"),
        ("x.sum(-1)", 2, "write sum(x)"),
        ("x < 1 < 2", 2, "comparisons cannot be chained"),
        ("reshape(x, -2)", 2, "-2 is not a size"),
        ("cumulative_sum(x)", 2, "expected ,"),
        ("take(x, x, 1)", 1, "take"),
        ("mean(x, dtype=f64)", 1, "dtype"),
        ("var(x, correction=a)", 2, "expected a number"),
        ("bitcast(x * 2, u8)", 1, "save this one with --output first"),
    ] {
        let said = failure(&folder, code, &on_cpu(&["eval", text, "x=x.npy"]));
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn files_of_named_arrays() {
    let folder = folder();
    let run = |arguments: &[&str]| answer(&folder, &on_cpu(arguments));
    run(&["run", "abs", "x.npy", "-o", "one.safetensors"]);
    assert!(run(&["eval", "t[1]", "t=one.safetensors"]).starts_with("[4 5 6]"));
    let x = npy::load(folder.path().join("x.npy"), &Device::cpu()).unwrap();
    let named = [("weight", &x), ("bias", &x)];
    npy::save_npz(folder.path().join("two.npz"), named).unwrap();
    safetensors::save(folder.path().join("two.safetensors"), named).unwrap();
    for file in ["two.npz", "two.safetensors"] {
        let [w, b] = ["weight", "bias"].map(|name| format!("{}={file}:{name}", &name[..1]));
        assert!(run(&["eval", "w + b", &w, &b]).starts_with("[[  2  -4   6]"));
        let said = failure(&folder, 1, &on_cpu(&["run", "abs", file]));
        assert!(said.contains("has 2 arrays; name one as"), "{said}");
        let said = failure(&folder, 1, &on_cpu(&["run", "abs", &format!("{file}:wieght")]));
        assert!(said.contains("has no wieght; did you mean weight?"), "{said}");
    }
}

#[test]
fn expressions() {
    let folder = folder();
    let eval = |expression: &str, names: &[&str]| {
        answer(&folder, &on_cpu(&[&["eval", expression], names].concat()))
    };
    assert!(eval("(a << 2) & 0xf", &["a=x.npy"]).starts_with("[[ 4  8 12]\n [ 0  4  8]]"));
    let clipped = eval("select(a < k, 0, a) * 2", &["a=y.npy", "k=0"]);
    assert!(clipped.starts_with("[[ 2.  0.  6.]\n [ 8. 10.  0.]]"), "{clipped}");
    assert!(eval("sum(cast(a, f64) ** 2, 1)", &["a=x.npy"]).starts_with("[14. 77.]"));
    let exponents = eval("clip((bitcast(fma(a, a, 1), i32) >> 23) - 127, 2, 4)", &["a=y.npy"]);
    assert!(exponents.starts_with("[[2 2 3]\n [4 4 4]]"), "{exponents}");
    assert!(eval("sum(bitcast(a, u8))", &["a=x.npy"]).contains("u64"));
    let saved = json(&folder, &on_cpu(&["eval", "-a", "a=x.npy", "-o", "out.npy"]));
    assert_eq!(saved["output"], "out.npy");
    let said = failure(&folder, 2, &on_cpu(&["eval", "a + b", "a=x.npy"]));
    assert!(said.contains("b is not defined; add b=FILE.npy"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["eval", "a +", "a=no.npy"]));
    assert!(said.contains("expected a number, a name"), "{said}");
    let said = failure(&folder, 2, &on_cpu(&["eval", "a + 1", "a=x.npy", "b=y.npy"]));
    assert!(said.contains("b is defined, but the expression does not use it"), "{said}");
}

#[test]
fn promotion() {
    let folder = folder();
    assert_eq!(answer(&folder, &["promote", "add", "i32", "f32", "--rules", "numpy"]), "f64\n");
    assert_eq!(answer(&folder, &["promote", "add", "u8", "-1.5", "--rules", "torch"]), "f32\n");
    let all = json(&folder, &["promote", "add", "i32", "f32"]);
    let of = |rules: &str| &all["results"][rules]["dtype"];
    assert_eq!((of("paddle"), of("torch")), (&Value::Null, &"f32".into()));
    assert_eq!(all["results"]["paddle"]["kind"], "Promotion");
    let refused = failure(&folder, 1, &["promote", "add", "i32", "f32", "--rules", "paddle"]);
    assert!(refused.contains("convert one with cast"), "{refused}");
    let table = answer(&folder, &["promote", "divide", "--table", "--rules", "torch"]);
    assert_eq!(table.lines().count(), 2 + 1 + DType::ALL.len());
    let table = answer(&folder, &["promote", "sqrt", "--table"]);
    assert!(table.contains("Paddle    Torch     NumPy     JAX"), "{table}");
    assert_eq!(answer(&folder, &["promote", "sqrt", "u8", "--rules", "NumPy"]), "f16\n");
    assert_eq!(answer(&folder, &["promote", "sum", "u8", "--rules", "jax"]), "u64\n");
    assert_eq!(answer(&folder, &["promote", "cumulative_sum", "i8", "--rules", "jax"]), "i64\n");
    let said = failure(&folder, 2, &["promote", "addd", "i32", "1"]);
    assert!(said.contains("did you mean add?"), "{said}");
    let said = failure(&folder, 2, &["promote", "cast", "f32"]);
    assert_eq!(said, "bitlane: cast gives the dtype it names\n");
    for (arguments, words) in [
        (&["add", "i32"][..], "add takes two operands, one was given"),
        (&["sqrt", "i32", "i32"], "sqrt takes one operand, two were given"),
        (&["clip", "i32", "1"], "clip takes three operands, two were given"),
        (&["add", "1", "2", "3", "4"], "add takes two operands, 4 were given"),
        (&["fma", "--table"], "--table is for one or two operands"),
        (&["add", "i32", "x.npy"], "x.npy"),
    ] {
        let said = failure(&folder, 2, &[&["promote"], arguments].concat());
        assert!(said.contains(words), "{said}");
    }
    let clipped = ["promote", "clip", "f16", "0", "1", "--rules", "torch"];
    assert_eq!(answer(&folder, &clipped), "f16\n");
    assert_eq!(answer(&folder, &["promote", "fma", "f16", "f32", "1", "--rules", "jax"]), "f32\n");
}

/// What an operation refuses, `promote` refuses in the same words.
#[test]
fn promotion_agrees_with_the_operation() {
    let folder = folder();
    let bytes = Tensor::ones([3], DType::U8, &Device::cpu()).unwrap();
    npy::save(folder.path().join("b.npy"), &bytes).unwrap();
    for number in ["255", "300", "-1", "1.5", "true"] {
        for rules in ["paddle", "torch", "numpy", "jax"] {
            let run = ["run", "add", "b.npy", number, "--rules", rules, "--json"];
            let ran = bitlane(folder.path(), &on_cpu(&run));
            let promoted = ["promote", "add", "u8", number, "--rules", rules, "--json"];
            let promoted = bitlane(folder.path(), &promoted);
            assert_eq!(ran.status.code(), promoted.status.code(), "{number} under {rules}");
            let [ran, promoted] =
                [ran, promoted].map(|it| serde_json::from_slice::<Value>(&it.stdout).unwrap());
            assert_eq!(ran["error"], promoted["error"]);
            assert_eq!(ran["dtype"], promoted["results"][rules]["dtype"], "{number} under {rules}");
        }
    }
    let all = bitlane(folder.path(), &["promote", "add", "u8", "300"]);
    assert_eq!(all.status.code(), Some(1), "every rulebook refuses");
}

#[test]
fn the_machine() {
    let folder = folder();
    // The exit code tells whether there is a GPU that cannot be used.
    let output = bitlane(folder.path(), &["doctor", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["bitlane"], env!("CARGO_PKG_VERSION"));
    let features = found["features"].as_array().unwrap();
    assert_eq!(features.contains(&"cuda".into()), cfg!(feature = "cuda"), "{features:?}");
    assert!(found["verdict"].is_string() && found["threads"].as_u64() > Some(0));
    assert!(found["cuda_devices"].is_array() && found["vector_instructions"].is_array());
    let measured = json(&folder, &on_cpu(&["bench", "--time", "1", "--elements", "1000"]));
    assert!(measured["results"].as_array().unwrap().len() > 3);
    let chart = answer(&folder, &on_cpu(&["bench", "--time", "1", "--elements", "1000"]));
    assert!(chart.contains("GB/s") && chart.contains('█'));
    failure(&folder, 2, &["bench", "--time", "0"]);
}

/// Without a terminal there is no bar, but a command that takes long still says how far it is.
#[test]
fn progress_in_a_pipe() {
    let folder = folder();
    let output = bitlane(folder.path(), &["bench", "--time", "1", "--elements", "1000"]);
    let lines: Vec<_> = text(&output.stderr).lines().collect();
    assert!(lines[0].starts_with("bench: 1 of 7, ") && lines.len() > 3, "{lines:?}");
}

/// Nothing is compared with itself.
#[test]
fn a_verdict_needs_a_cuda_device() {
    let folder = folder();
    let (code, words) = if cfg!(feature = "cuda") {
        (2, "a CUDA device")
    } else {
        (1, "bitlane-cli --features cuda")
    };
    let refused = failure(&folder, code, &on_cpu(&["verdict"]));
    assert!(refused.contains(words), "{refused}");
    assert!(!folder.path().join("bitlane-verdict.json").exists());
    assert!(failure(&folder, 2, &["bench", "--device", "cuda"]).contains("bitlane verdict"));
}

#[test]
fn help_for_everyone() {
    let folder = folder();
    for command in ["doctor", "run", "eval", "promote", "quant", "kernels", "verdict", "bench"] {
        assert!(answer(&folder, &["--help"]).contains(command));
        assert!(answer(&folder, &[command, "--help"]).contains("Usage: bitlane "));
    }
    assert!(answer(&folder, &["eval", "--help"]).contains("as in Python"));
    assert!(answer(&folder, &["run", "--help"]).contains("cumulative_sum"));
    assert!(failure(&folder, 2, &[]).contains("Usage"));
}

#[cfg(not(feature = "cuda"))]
#[test]
fn kernels_need_cuda() {
    let said = failure(&folder(), 1, &["kernels"]);
    assert!(said.contains("cargo install bitlane-cli --features cuda"), "{said}");
}

/// `--ptx` shows one module, and says which there are.
#[cfg(feature = "cuda")]
#[test]
fn modules_to_choose_from() {
    let said = failure(&folder(), 2, &["kernels", "copysign", "--ptx", "80"]);
    assert!(said.contains("copysign_i32") && said.contains("name one of them"), "{said}");
    let said = failure(&folder(), 2, &["kernels", "--ptx", "80"]);
    assert!(said.contains("--ptx needs a part of a kernel's name"), "{said}");
}

/// The parts that need no NVRTC: hand-written kernels are named, and invalid input is refused.
#[cfg(feature = "cuda")]
#[test]
fn the_kernels_of_an_expression() {
    let folder = TempDir::new().unwrap();
    fn kernels<'a>(expression: &'a str, dtypes: &[&'a str]) -> Vec<&'a str> {
        let dtypes: Vec<_> = dtypes.iter().flat_map(|&dtype| ["--dtype", dtype]).collect();
        [&["kernels", "--expr", expression][..], &dtypes].concat()
    }
    let printed = answer(&folder, &kernels("x + y", &["x=f32[8,4]", "y=f32[8,4]"]));
    assert!(printed.contains("f32[8, 4] + f32[8, 4]"), "{printed}");
    assert!(printed.contains("contig_add_f32 is written by hand"), "{printed}");
    let shown = json(&folder, &kernels("x << 3", &["x=u16"]));
    assert_eq!(shown["kernels"][0]["kernel"], "scalar_bitwise_left_shift_u16");
    for (expression, dtypes, code, said) in [
        ("x + y", &["x=f32"][..], 2, "y is not defined"),
        ("x + 1", &["x"], 2, "should be NAME=DTYPE"),
        ("x + 1", &["x=f32", "x=f16"], 2, "x is defined twice"),
        ("x + 1", &["x=f31"], 2, "f31"),
        ("x + 1", &["x=f32[2"], 2, "lacks its `]`"),
        ("x & 1", &["x=f32"], 1, "bitwise_and"),
    ] {
        let output = bitlane(folder.path(), &kernels(expression, dtypes));
        assert_eq!(output.status.code(), Some(code), "{expression}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
}
