//! A kernel ready to run: a flat list of decoded instructions in which every operand is a register slot.
//!
//! Constants and special registers are slots too, filled before a warp starts. Calls are expanded in place, so
//! a program has no stack and diverged threads meet again by program counter alone.

use crate::error::Code;
use crate::isa::lane::{Body, Operands};
use crate::ptx::ast::{Class, Space};

/// Generic addresses of shared memory start here.
pub const SHARED_WINDOW: u64 = 1 << 60;
/// Generic addresses of local memory start here.
pub const LOCAL_WINDOW: u64 = 1 << 61;
/// Generic addresses of kernel parameters start here.
pub const PARAM_WINDOW: u64 = 1 << 62;

/// A decoded kernel.
#[derive(Debug, Default)]
pub struct Program {
    pub name: String,
    pub code: Vec<Inst>,
    /// Registers of each class: words, wides, predicates.
    pub registers: [u32; 3],
    pub constants: Vec<(Class, u32, u64)>,
    pub specials: Vec<(Special, u32)>,
    pub params: Vec<Param>,
    pub param_bytes: u64,
    /// Bytes of static shared memory, as a device lays it out.
    pub shared_bytes: u64,
    /// Static shared memory as it is laid out here, with gaps.
    pub shared: Vec<SharedVariable>,
    pub local_bytes: u64,
    pub max_threads: Option<u32>,
    pub required_block: Option<[u32; 3]>,
    /// The warps of a block must take turns: there is a barrier, or a lock could be taken.
    pub takes_turns: bool,
    /// There is a fence or an ordered access, of whatever scope: threads of a block may hand data to each other.
    pub fences: bool,
    /// The same beyond a block: blocks may hand data to each other in ways not tracked here.
    pub fenced: bool,
    /// There is a compare-and-swap.
    pub compares: bool,
}

/// Bytes between the variables of static shared memory, to find what leaves one of them.
pub const SHARED_GAP: u64 = 64;

/// Where a variable of static shared memory lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedVariable {
    pub name: String,
    pub offset: u64,
    pub size: u64,
}

/// Where a parameter lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    pub offset: u64,
    pub size: u64,
}

/// A register that the hardware fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Special {
    ThreadX,
    ThreadY,
    ThreadZ,
    BlockSizeX,
    BlockSizeY,
    BlockSizeZ,
    BlockX,
    BlockY,
    BlockZ,
    GridX,
    GridY,
    GridZ,
    Lane,
    Warp,
    Warps,
    Multiprocessor,
    Multiprocessors,
    Grid,
    DynamicShared,
    TotalShared,
    MaskEq,
    MaskLe,
    MaskLt,
    MaskGe,
    MaskGt,
    /// The halves of the address of what the blocks of a cooperative launch meet at.
    WorkspaceHigh,
    WorkspaceLow,
    Zero,
}

/// No guard.
pub const ALWAYS: u32 = u32::MAX;

/// A decoded instruction.
#[derive(Debug, Clone)]
pub struct Inst {
    /// The guarding predicate, or [`ALWAYS`].
    pub guard: u32,
    /// The guard is negated.
    pub negated: bool,
    /// Part of what one PTX instruction became; not counted.
    pub extra: bool,
    pub op: Op,
    pub o: Operands,
    pub line: u32,
}

/// What an instruction does.
#[derive(Debug, Clone)]
pub enum Op {
    /// A row of the instruction table.
    Row(Body),
    /// A row that waits for the lanes of the mask in slot `s[4]`.
    Together(Body),
    Load(Access),
    Store(Access),
    Atomic(Access, Change),
    /// To this instruction.
    Branch(u32),
    /// To the instruction chosen by slot `s[0]`.
    Table(Box<[u32]>),
    Exit,
    /// Barrier in slot `s[0]`, expecting the threads in `s[1]` (zero: all). With `imm` not zero the threads of a
    /// warp must be at the same one.
    Barrier(Barrier),
    Fence,
    /// Wait for the lanes of the mask in slot `s[4]`.
    WarpBarrier,
    /// The time, into a slot of this class.
    Clock(Class),
    /// Print: the address of the format in slot `s[0]`, that of the arguments in `s[1]`, their number into `d[0]`.
    Print,
    /// End with an error.
    Trap(Code, &'static str),
    Nothing,
}

/// The forms of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    Sync,
    Arrive,
    /// Count the threads whose predicate `s[2]` holds, into the word `d[0]`.
    Count,
    /// Whether all predicates hold, into the predicate `d[0]`.
    All,
    /// Whether any predicate holds, into the predicate `d[0]`.
    Any,
}

/// A memory access of one instruction.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    pub space: Space,
    /// Bytes of an element.
    pub bytes: u8,
    /// Elements.
    pub count: u8,
    pub signed: bool,
    /// Through the read-only path (`.nc`).
    pub readonly: bool,
    /// `.volatile`, `.relaxed`, `.acquire`, `.release`: no race with its like, as it is how flags are passed.
    pub strong: bool,
    /// `.acquire`, `.release`: a fence as well.
    pub fence: bool,
    /// The elements, a bit each, whose values the program only stores again.
    pub moved: u8,
    /// The class of the registers.
    pub class: Class,
}

impl Access {
    /// A plain access to one word.
    pub fn word(space: Space) -> Access {
        Access {
            space,
            bytes: 4,
            count: 1,
            signed: false,
            readonly: false,
            strong: false,
            fence: false,
            moved: 0,
            class: Class::Word,
        }
    }
}

/// What an atomic makes of the old value and its operands.
pub type Change = fn(u64, u64, u64) -> u64;
