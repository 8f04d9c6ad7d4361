//! The registers of a warp, and the loops of an instruction over its 32 lanes.
//!
//! A register is an array over the lanes, so one dispatch does the work of 32 threads. Registers of up to 32 bits are
//! in one register file, 64-bit registers in another, and a predicate has one bit per lane. Each operand is read as the
//! type of the instruction, so the upper bits of narrow values need no invariant.

use crate::ptx::ast::Class;

/// Threads per warp.
pub const LANES: usize = 32;

/// The register files of one warp.
#[derive(Debug, Default, Clone)]
pub struct Registers {
    pub word: Vec<[u32; LANES]>,
    pub wide: Vec<[u64; LANES]>,
    /// One bit per lane.
    pub pred: Vec<u32>,
    /// The carry of `.cc` instructions, one bit per lane.
    pub carry: u32,
}

/// The register slots and the immediate of an instruction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Operands {
    pub d: [u32; 8],
    pub s: [u32; 5],
    /// The immediate: what the opcode specifies beyond its type, such as a lookup table, a rounding mode or an offset.
    pub imm: u64,
}

/// The body of an instruction, which runs it for the lanes of the mask.
pub type Body = fn(&mut Registers, &Operands, u32);

/// A PTX type: the register file that holds it, and how it is read and written there.
pub trait Lane: Copy {
    /// The register file.
    const CLASS: Class;
    fn read(r: &Registers, slot: u32) -> [Self; LANES];
    fn write(self, r: &mut Registers, slot: u32, lane: usize);
    fn write_all(values: &[Self; LANES], r: &mut Registers, slot: u32);
}

macro_rules! lanes {
    ($($t:ty: $class:ident $file:ident, $word:ident => $from:expr, $value:ident => $to:expr;)*) => { $(
        impl Lane for $t {
            const CLASS: Class = Class::$class;
            #[inline(always)]
            fn read(r: &Registers, slot: u32) -> [Self; LANES] {
                r.$file[slot as usize].map(|$word| $from)
            }
            #[inline(always)]
            fn write(self, r: &mut Registers, slot: u32, lane: usize) {
                let $value = self;
                r.$file[slot as usize][lane] = $to;
            }
            #[inline(always)]
            fn write_all(values: &[Self; LANES], r: &mut Registers, slot: u32) {
                r.$file[slot as usize] = values.map(|$value| $to);
            }
        }
    )* };
}

/// The bits of an IEEE half-precision number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct F16(pub u16);
/// The bits of a bfloat16 number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BF16(pub u16);

lanes! {
    u8:   Word word, w => w as u8,  v => v.into();
    i8:   Word word, w => w as i8,  v => v as i32 as u32;
    u16:  Word word, w => w as u16, v => v.into();
    i16:  Word word, w => w as i16, v => v as i32 as u32;
    u32:  Word word, w => w,        v => v;
    i32:  Word word, w => w as i32, v => v as u32;
    f32:  Word word, w => f32::from_bits(w), v => v.to_bits();
    F16:  Word word, w => F16(w as u16),     v => v.0.into();
    BF16: Word word, w => BF16(w as u16),    v => v.0.into();
    u64:  Wide wide, w => w,        v => v;
    i64:  Wide wide, w => w as i64, v => v as u64;
    f64:  Wide wide, w => f64::from_bits(w), v => v.to_bits();
}

impl Lane for bool {
    const CLASS: Class = Class::Pred;
    #[inline(always)]
    fn read(r: &Registers, slot: u32) -> [bool; LANES] {
        let bits = r.pred[slot as usize];
        std::array::from_fn(|lane| bits >> lane & 1 != 0)
    }
    #[inline(always)]
    fn write(self, r: &mut Registers, slot: u32, lane: usize) {
        let bits = &mut r.pred[slot as usize];
        *bits = *bits & !(1 << lane) | u32::from(self) << lane;
    }
    #[inline(always)]
    fn write_all(values: &[bool; LANES], r: &mut Registers, slot: u32) {
        let mut bits = 0;
        for (lane, &value) in values.iter().enumerate() {
            bits |= u32::from(value) << lane;
        }
        r.pred[slot as usize] = bits;
    }
}

/// Iterates over the lanes of a mask, lowest first.
#[inline(always)]
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

impl Registers {
    #[inline(always)]
    fn put<R: Lane>(&mut self, slot: u32, mask: u32, value: impl Fn(usize) -> R) {
        if mask == u32::MAX {
            let values: [R; LANES] = std::array::from_fn(value);
            R::write_all(&values, self, slot);
        } else {
            for lane in lanes(mask) {
                value(lane).write(self, slot, lane);
            }
        }
    }

    /// `d = f(a)`
    #[inline(always)]
    pub fn map1<R: Lane, A: Lane>(&mut self, o: &Operands, mask: u32, f: impl Fn(A) -> R) {
        let a = A::read(self, o.s[0]);
        self.put(o.d[0], mask, |l| f(a[l]));
    }

    /// `d = f(a, b)`
    #[inline(always)]
    pub fn map2<R: Lane, A: Lane, B: Lane>(
        &mut self,
        o: &Operands,
        mask: u32,
        f: impl Fn(A, B) -> R,
    ) {
        let (a, b) = (A::read(self, o.s[0]), B::read(self, o.s[1]));
        self.put(o.d[0], mask, |l| f(a[l], b[l]));
    }

    /// `d = f(a, b, c)`
    #[inline(always)]
    pub fn map3<R: Lane, A: Lane, B: Lane, C: Lane>(
        &mut self,
        o: &Operands,
        mask: u32,
        f: impl Fn(A, B, C) -> R,
    ) {
        let (a, b, c) = (A::read(self, o.s[0]), B::read(self, o.s[1]), C::read(self, o.s[2]));
        self.put(o.d[0], mask, |l| f(a[l], b[l], c[l]));
    }

    /// `d = f(a, b, c, e)`
    #[inline(always)]
    pub fn map4<R: Lane, A: Lane, B: Lane, C: Lane, E: Lane>(
        &mut self,
        o: &Operands,
        mask: u32,
        f: impl Fn(A, B, C, E) -> R,
    ) {
        let (a, b) = (A::read(self, o.s[0]), B::read(self, o.s[1]));
        let (c, e) = (C::read(self, o.s[2]), E::read(self, o.s[3]));
        self.put(o.d[0], mask, |l| f(a[l], b[l], c[l], e[l]));
    }

    /// `d = f(a, b, c, carry in)`, writing the carry if the opcode has `.cc` (bit 0 of the immediate).
    #[inline(always)]
    pub fn carried<T: Lane>(
        &mut self,
        o: &Operands,
        mask: u32,
        c: u32,
        f: impl Fn(T, T, T, bool) -> (T, bool),
    ) {
        let (a, b, c) = (T::read(self, o.s[0]), T::read(self, o.s[1]), T::read(self, c));
        for lane in lanes(mask) {
            let (value, carry) = f(a[lane], b[lane], c[lane], self.carry >> lane & 1 != 0);
            value.write(self, o.d[0], lane);
            if o.imm & 1 != 0 {
                self.carry = self.carry & !(1 << lane) | u32::from(carry) << lane;
            }
        }
    }

    /// Writes a comparison to `d[0]` and its complement to `d[1]`, both combined with the predicate `s[2]`.
    #[inline(always)]
    pub fn compare<A: Lane>(&mut self, o: &Operands, mask: u32, f: impl Fn(A, A) -> bool) {
        let (a, b) = (A::read(self, o.s[0]), A::read(self, o.s[1]));
        let mut hit = 0u32;
        for lane in 0..LANES {
            hit |= u32::from(f(a[lane], b[lane])) << lane;
        }
        self.conclude(o, mask, hit, !hit);
    }

    /// Combines two comparison results with the predicate `s[2]` and writes them to `d[0]` and `d[1]`.
    #[inline(always)]
    fn conclude(&mut self, o: &Operands, mask: u32, first: u32, second: u32) {
        let combine = |value: u32, with: u32| match o.imm {
            1 => value & with,
            2 => value | with,
            3 => value ^ with,
            _ => value,
        };
        let with = if o.imm == 0 { 0 } else { self.pred[o.s[2] as usize] };
        let p = &mut self.pred[o.d[0] as usize];
        *p = *p & !mask | combine(first, with) & mask;
        let q = &mut self.pred[o.d[1] as usize];
        *q = *q & !mask | combine(second, with) & mask;
    }

    /// Writes the comparison of the lower halves to `d[0]` and that of the upper halves to `d[1]`.
    #[inline(always)]
    pub fn compare_pairs(&mut self, o: &Operands, mask: u32, f: impl Fn(u32, u32) -> bool) {
        let (a, b) = (u32::read(self, o.s[0]), u32::read(self, o.s[1]));
        let (mut low, mut high) = (0u32, 0u32);
        for lane in 0..LANES {
            low |= u32::from(f(a[lane], b[lane])) << lane;
            high |= u32::from(f(a[lane] >> 16, b[lane] >> 16)) << lane;
        }
        self.conclude(o, mask, low, high);
    }
}
