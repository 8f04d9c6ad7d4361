//! The syntax tree of a PTX file.

/// A parsed PTX file.
#[derive(Debug, Default)]
pub struct Module {
    /// `.version` as major × 10 + minor.
    pub version: u32,
    /// The number in `.target sm_80`.
    pub target: u32,
    /// Variables at file level.
    pub variables: Vec<Variable>,
    /// Kernels and functions that have a body.
    pub functions: Vec<Function>,
}

/// A memory space of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// No space given: the address determines it.
    Generic,
    /// `.global`
    Global,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.const`
    Const,
}

/// A variable in memory.
#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    pub space: Space,
    pub size: u64,
    pub align: u64,
    /// The initialiser, which may be shorter than the variable; the rest is zero. `None` if there is none.
    pub init: Option<Vec<Init>>,
    /// Whether it is declared without a size, as dynamic shared memory is.
    pub unsized_array: bool,
    /// Whether it is declared with `.common`, so that the modules of a program may each have it.
    pub common: bool,
    /// Whether it is declared with `.attribute(.managed)`.
    pub managed: bool,
    /// For a parameter in a register: the register's class.
    pub register: Option<Class>,
}

/// A piece of an initialiser.
#[derive(Debug, Clone)]
pub enum Init {
    /// A value and its size in bytes.
    Bytes(u64, u8),
    /// The address of another variable plus an offset.
    Address(String, i64),
}

/// A kernel (`.entry`) or a device function (`.func`).
#[derive(Debug, Default)]
pub struct Function {
    pub name: String,
    pub entry: bool,
    pub params: Vec<Variable>,
    pub results: Vec<Variable>,
    /// `.maxntid` or `.reqntid` as a thread count.
    pub max_threads: Option<u32>,
    /// `.reqntid`: the block must have exactly this shape.
    pub required_block: Option<[u32; 3]>,
    pub body: Vec<Statement>,
}

/// A statement of a body.
#[derive(Debug)]
pub enum Statement {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.reg .b32 %r<5>;`, `.reg .b32 a, b;` or, for a vector, `.reg .v4 .b32 v;`
    Registers { class: Class, lanes: u32, names: Vec<(String, Option<u32>)> },
    /// A `.local`, `.shared` or `.param` variable.
    Variable(Variable),
    /// `name:`
    Label(String),
    /// `name: .branchtargets a, b;`
    Targets(String, Vec<String>),
    /// An instruction.
    Instruction(Instruction),
}

/// The register file of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A predicate.
    Pred,
    /// 8, 16 or 32 bits.
    Word,
    /// 64 bits.
    Wide,
}

/// An instruction as written.
#[derive(Debug)]
pub struct Instruction {
    pub line: u32,
    /// The guard's register and whether it is negated.
    pub guard: Option<(String, bool)>,
    /// The dotted opcode.
    pub opcode: String,
    pub args: Vec<Arg>,
    /// One bit per byte of a load: whether the program uses it (`.pragma "used_bytes_mask 0xf00f"`).
    pub used: Option<u64>,
}

/// An operand as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A register, variable, label or special register.
    Name(String),
    /// `!p`
    Not(String),
    /// An integer.
    Int(i128),
    /// `0f3F800000`
    Single(u32),
    /// `0d3FF0000000000000`
    Double(u64),
    /// `{a, b}`
    Vector(Vec<Arg>),
    /// `[base+offset]`; also `name+offset` outside brackets.
    Memory(Box<Arg>, i64),
    /// `p|q`
    Pair(String, String),
    /// `(a, b)`, in a call.
    List(Vec<Arg>),
}
