//! A kernel ready to run: a flat list of decoded instructions whose operands are all register slots.
//!
//! Constants and special registers are slots too, filled before a warp starts. Calls are expanded inline, so a program
//! has no call stack, and diverged threads reconverge by program counter alone.

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
    /// The number of registers of each class, indexed by [`Class`].
    pub registers: [u32; 3],
    pub constants: Vec<(Class, u32, u64)>,
    pub specials: Vec<(Special, u32)>,
    pub params: Vec<Param>,
    pub param_bytes: u64,
    /// The size of static shared memory in bytes, as a device lays it out.
    pub shared_bytes: u64,
    /// Static shared memory as laid out here, with gaps.
    pub shared: Vec<SharedVariable>,
    pub local_bytes: u64,
    /// The size of the module's variables in constant memory.
    pub const_bytes: u64,
    pub max_threads: Option<u32>,
    pub required_block: Option<[u32; 3]>,
    /// The warps of a block must take turns: there is a barrier, or an access on which another warp may be spinning.
    pub takes_turns: bool,
    /// There is a fence or an ordered access of any scope, so threads of a block may pass data to each other.
    pub fences: bool,
    /// There is one of a scope wider than a block, so blocks may pass data to each other in ways not tracked here.
    pub fences_between_blocks: bool,
    /// There is a compare-and-swap.
    pub compares: bool,
}

/// The gap in bytes between the variables of static shared memory, to detect accesses that run over the end of one.
pub const SHARED_GAP: u64 = 64;

/// The name, address and size of a variable in static shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedVariable {
    pub name: String,
    pub offset: u64,
    pub size: u64,
}

/// The offset and size of a kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    pub offset: u64,
    pub size: u64,
}

/// A special register, whose value is set by the hardware.
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
    /// The halves of the address of the grid barrier's workspace in a cooperative launch.
    WorkspaceHigh,
    WorkspaceLow,
    Zero,
}

/// The value of [`Inst::guard`] for an instruction that has no guard.
pub const ALWAYS: u32 = u32::MAX;

/// A decoded instruction.
#[derive(Debug, Clone)]
pub struct Inst {
    /// The guarding predicate, or [`ALWAYS`].
    pub guard: u32,
    /// Whether the guard is negated.
    pub negated: bool,
    /// Whether it is a helper of another instruction that was decoded from the same PTX instruction; not counted.
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
    /// A row that first waits for the lanes of the mask in slot `s[4]`.
    Together(Body),
    Load(Access),
    Store(Access),
    Atomic(Access, Change),
    /// A branch to the instruction at this index.
    Branch(u32),
    /// A branch to the entry of the table selected by slot `s[0]`.
    Table(Box<[u32]>),
    Exit,
    /// The barrier whose number is in slot `s[0]`, for the number of threads in `s[1]` (zero: all). If `imm` is
    /// nonzero, all threads of a warp must arrive by the same instruction.
    Barrier(Barrier),
    Fence,
    /// Waits for the lanes of the mask in slot `s[4]`.
    WarpBarrier,
    /// Reads the clock into a slot of this class.
    Clock(Class),
    /// Prints: the address of the format is in slot `s[0]`, that of the arguments in `s[1]`; their number goes to
    /// `d[0]`.
    Print,
    /// Ends the launch with an error.
    Trap(Code, &'static str),
    Nothing,
}

/// The forms of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    Sync,
    Arrive,
    /// Counts the threads whose predicate `s[2]` holds, into the word `d[0]`.
    Count,
    /// Writes whether all predicates hold to the predicate `d[0]`.
    All,
    /// Writes whether any predicate holds to the predicate `d[0]`.
    Any,
}

/// The memory access of an instruction.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    pub space: Space,
    /// Bytes per element.
    pub bytes: u8,
    /// Elements per lane.
    pub count: u8,
    pub signed: bool,
    /// Whether it uses the read-only path (`.nc`).
    pub readonly: bool,
    /// `.volatile`, `.relaxed`, `.acquire` or `.release`: such accesses pass flags and do not race with each other.
    pub strong: bool,
    /// `.acquire` or `.release`: acts as a fence as well.
    pub fence: bool,
    /// One bit per element: whether the program does nothing with the loaded value but store it again.
    pub moved: u8,
    /// The class of the registers.
    pub class: Class,
}

impl Access {
    /// Creates a plain access to one 32-bit word.
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

/// Computes the new value of an atomic from the old value and its two operands.
pub type Change = fn(u64, u64, u64) -> u64;
