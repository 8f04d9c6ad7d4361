// Ops on 16-byte vectors. VectorOp<Op, T> implements one op for vectors of T:
//
//     Right    a right operand, prepared once by ready(), for use with many left vectors (a broadcast row)
//     Uniform  one right element for all lanes, prepared once by ready() (a scalar, a broadcast column)
//     Out      the result: OUT_BYTES bytes, fewer than 16 if a wide dtype is compared
//
// The default unpacks the vector and applies the op to each element. Faster specialisations follow: ops that are the
// same for every lane width, and arithmetic, comparisons and shifts of 8-bit and 16-bit lanes in 32-bit words.

namespace bl {

// ---- The default: element by element -----------------------------------------------------------------------------

template <class Op, class T> struct ElementwiseOp {
    typedef decltype(Op::apply(T(), T())) Result;
    enum { OUT_BYTES = lanes<T>() * sizeof(Result) };
    typedef Bundle<OUT_BYTES> Out;
    typedef Vector Right;
    typedef T Uniform;
    static BL_FN Right ready(const Vector& y) { return y; }
    static BL_FN Uniform ready(T y) { return y; }
    static BL_FN Out apply(const Vector& x, const Right& y) {
        Result r[lanes<T>()];
#pragma unroll
        for (int i = 0; i < lanes<T>(); ++i) r[i] = Op::apply(element<T>(x, i), element<T>(y, i));
        return bundle(r);
    }
    static BL_FN Out apply(const Vector& x, const Uniform& y) {
        Result r[lanes<T>()];
#pragma unroll
        for (int i = 0; i < lanes<T>(); ++i) r[i] = Op::apply(element<T>(x, i), y);
        return bundle(r);
    }
};
template <class Op, class T> struct VectorOp : ElementwiseOp<Op, T> {};

// The type as which single elements are loaded: an op that ignores signs should not pay for sign extension.
template <class Op, class T> struct LaneOf { typedef T type; };
template <class T> struct LaneOf<op::bitwise_left_shift, T> { typedef Bits<T> type; };
template <class T> struct LaneOf<op::bitwise_right_shift_logical, T> { typedef Bits<T> type; };
template <class T> struct LaneOf<op::rotate_left, T> { typedef Bits<T> type; };
template <class T> struct LaneOf<op::rotate_right, T> { typedef Bits<T> type; };

// ---- Ops on words, independent of the lanes in them --------------------------------------------------------------

// WordFn::apply<I>(x, y) computes word I of a vector.
template <class WordFn, class T> struct WordwiseOp {
    typedef T Result;
    enum { OUT_BYTES = 16 };
    typedef Vector Out;
    typedef Vector Right;
    struct Uniform { Vector all; };
    static BL_FN Right ready(const Vector& y) { return y; }
    static BL_FN Uniform ready(T y) { return Uniform{splat(y)}; }
    static BL_FN Out apply(const Vector& x, const Right& y) {
        return Vector{{WordFn::template apply<0>(x.word[0], y.word[0]), WordFn::template apply<1>(x.word[1], y.word[1]),
                       WordFn::template apply<2>(x.word[2], y.word[2]), WordFn::template apply<3>(x.word[3], y.word[3])}};
    }
    static BL_FN Out apply(const Vector& x, const Uniform& y) { return apply(x, y.all); }
};

struct WordAnd { template <int I> static BL_FN u32 apply(u32 x, u32 y) { return x & y; } };
struct WordOr { template <int I> static BL_FN u32 apply(u32 x, u32 y) { return x | y; } };
struct WordXor { template <int I> static BL_FN u32 apply(u32 x, u32 y) { return x ^ y; } };
template <class T> struct VectorOp<op::bitwise_and, T> : WordwiseOp<WordAnd, T> {};
template <class T> struct VectorOp<op::bitwise_or, T> : WordwiseOp<WordOr, T> {};
template <class T> struct VectorOp<op::bitwise_xor, T> : WordwiseOp<WordXor, T> {};
template <> struct VectorOp<op::add, boolean> : WordwiseOp<WordOr, boolean> {};
template <> struct VectorOp<op::multiply, boolean> : WordwiseOp<WordAnd, boolean> {};
template <> struct VectorOp<op::maximum, boolean> : WordwiseOp<WordOr, boolean> {};
template <> struct VectorOp<op::fmax, boolean> : WordwiseOp<WordOr, boolean> {};
template <> struct VectorOp<op::minimum, boolean> : WordwiseOp<WordAnd, boolean> {};
template <> struct VectorOp<op::fmin, boolean> : WordwiseOp<WordAnd, boolean> {};
template <> struct VectorOp<op::logical_and, boolean> : WordwiseOp<WordAnd, boolean> {};
template <> struct VectorOp<op::logical_or, boolean> : WordwiseOp<WordOr, boolean> {};
template <> struct VectorOp<op::logical_xor, boolean> : WordwiseOp<WordXor, boolean> {};

// Copies the sign bits of each word: two for 16-bit lanes; of an f64 only the upper word has one.
template <int BYTES> struct WordCopysign {
    template <int I> static BL_FN u32 apply(u32 x, u32 y) {
        if constexpr (BYTES == 2) return blend<0x80008000u>(x, y);
        else if constexpr (BYTES == 4 || I % 2 == 1) return blend<0x80000000u>(x, y);
        else return x;
    }
};
template <> struct VectorOp<op::copysign, f16> : WordwiseOp<WordCopysign<2>, f16> {};
template <> struct VectorOp<op::copysign, bf16> : WordwiseOp<WordCopysign<2>, bf16> {};
template <> struct VectorOp<op::copysign, f32> : WordwiseOp<WordCopysign<4>, f32> {};
template <> struct VectorOp<op::copysign, f64> : WordwiseOp<WordCopysign<8>, f64> {};

// Sums of narrow lanes in one word. The top bit of each lane is left out of the sum, so that no carry crosses into the
// next lane, and is corrected afterwards: a sum's top bit is the exclusive or of both top bits and the incoming carry.
template <int BYTES> constexpr u32 lane_tops() { return BYTES == 1 ? 0x80808080u : 0x80008000u; }
template <int BYTES> struct WordAdd {
    template <int I> static BL_FN u32 apply(u32 x, u32 y) {
        constexpr u32 tops = lane_tops<BYTES>();
        return ((x & ~tops) + (y & ~tops)) ^ ((x ^ y) & tops);
    }
};
template <int BYTES> struct WordSubtract {
    template <int I> static BL_FN u32 apply(u32 x, u32 y) {
        constexpr u32 tops = lane_tops<BYTES>();
        return ((x | tops) - (y & ~tops)) ^ (~(x ^ y) & tops);
    }
};
template <> struct VectorOp<op::add, i8> : WordwiseOp<WordAdd<1>, i8> {};
template <> struct VectorOp<op::add, u8> : WordwiseOp<WordAdd<1>, u8> {};
template <> struct VectorOp<op::add, i16> : WordwiseOp<WordAdd<2>, i16> {};
template <> struct VectorOp<op::add, u16> : WordwiseOp<WordAdd<2>, u16> {};
template <> struct VectorOp<op::subtract, i8> : WordwiseOp<WordSubtract<1>, i8> {};
template <> struct VectorOp<op::subtract, u8> : WordwiseOp<WordSubtract<1>, u8> {};
template <> struct VectorOp<op::subtract, i16> : WordwiseOp<WordSubtract<2>, i16> {};
template <> struct VectorOp<op::subtract, u16> : WordwiseOp<WordSubtract<2>, u16> {};

// ---- Comparisons of narrow integers ------------------------------------------------------------------------------

enum class Compare { equal, not_equal, less, less_equal, greater, greater_equal };

// The top bit of each lane of a word: whether x = y, or x < y, in that lane. Lanes of n bits differ if the lower bits
// of their exclusive or carry into the top bit when 2^(n-1) - 1 is added, or if its top bit is set. x < y as unsigned
// numbers if the subtraction of the lanes borrows; signed numbers compare as unsigned ones with the top bit flipped.
template <class T> BL_FN u32 lanes_equal(u32 x, u32 y) {
    constexpr u32 tops = lane_tops<sizeof(T)>();
    const u32 difference = x ^ y;
    return ~(((difference & ~tops) + ~tops) | difference) & tops;
}
template <class T> BL_FN u32 lanes_less(u32 x, u32 y) {
    constexpr u32 tops = lane_tops<sizeof(T)>();
    if constexpr (is_signed_integer<T>()) x ^= tops, y ^= tops;
    const u32 difference = WordSubtract<sizeof(T)>::template apply<0>(x, y);
    return ((~x & y) | (~(x ^ y) & difference)) & tops;
}
template <Compare KIND, class T> BL_FN u32 lanes_compare(u32 x, u32 y) {
    if constexpr (KIND == Compare::equal) return lanes_equal<T>(x, y);
    else if constexpr (KIND == Compare::not_equal) return lanes_equal<T>(x, y) ^ lane_tops<sizeof(T)>();
    else if constexpr (KIND == Compare::less) return lanes_less<T>(x, y);
    else if constexpr (KIND == Compare::less_equal) return lanes_less<T>(y, x) ^ lane_tops<sizeof(T)>();
    else if constexpr (KIND == Compare::greater) return lanes_less<T>(y, x);
    else return lanes_less<T>(x, y) ^ lane_tops<sizeof(T)>();
}

template <Compare KIND, class T> struct CompareOp {
    typedef boolean Result;
    enum { OUT_BYTES = lanes<T>(), WORDS = OUT_BYTES / 4 };
    typedef Bundle<OUT_BYTES> Out;
    typedef Vector Right;
    struct Uniform { Vector all; };
    static BL_FN Right ready(const Vector& y) { return y; }
    static BL_FN Uniform ready(T y) { return Uniform{splat(y)}; }
    static BL_FN Out apply(const Vector& x, const Right& y) {
        Out out;
#pragma unroll
        for (int i = 0; i < WORDS; ++i) {
            u32 tops;  // four results, each at the top of its byte
            if constexpr (sizeof(T) == 1) tops = lanes_compare<KIND, T>(x.word[i], y.word[i]);
            else tops = permute<0x7531>(lanes_compare<KIND, T>(x.word[2 * i], y.word[2 * i]),
                                        lanes_compare<KIND, T>(x.word[2 * i + 1], y.word[2 * i + 1]));
            out.word[i] = tops >> 7 & 0x01010101u;
        }
        return out;
    }
    static BL_FN Out apply(const Vector& x, const Uniform& y) { return apply(x, y.all); }
};

#define BL_COMPARE(op_, KIND)                                                                  \
    template <> struct VectorOp<op::op_, u8> : CompareOp<Compare::KIND, u8> {};                \
    template <> struct VectorOp<op::op_, i8> : CompareOp<Compare::KIND, i8> {};                \
    template <> struct VectorOp<op::op_, u16> : CompareOp<Compare::KIND, u16> {};              \
    template <> struct VectorOp<op::op_, i16> : CompareOp<Compare::KIND, i16> {};              \
    template <> struct VectorOp<op::op_, boolean> : CompareOp<Compare::KIND, boolean> {};
BL_COMPARE(equal, equal)
BL_COMPARE(not_equal, not_equal)
BL_COMPARE(less_than, less)
BL_COMPARE(less_equal, less_equal)
BL_COMPARE(greater_than, greater)
BL_COMPARE(greater_equal, greater_equal)
#undef BL_COMPARE

// The larger or smaller of narrow integers, selected by the bits of the comparison spread over their lanes.
template <Pick PICK, class T> struct WordExtremum {
    template <int I> static BL_FN u32 apply(u32 x, u32 y) {
        const u32 less = lanes_less<T>(x, y);
        const u32 mask = sizeof(T) == 1 ? permute<0xba98>(less, 0) : permute<0xbb99>(less, 0);  // x < y in the whole lane
        return PICK == Pick::larger ? (y & mask) | (x & ~mask) : (x & mask) | (y & ~mask);
    }
};
#define BL_EXTREMUM(op_, PICK)                                                                             \
    template <> struct VectorOp<op::op_, u8> : WordwiseOp<WordExtremum<Pick::PICK, u8>, u8> {};            \
    template <> struct VectorOp<op::op_, i8> : WordwiseOp<WordExtremum<Pick::PICK, i8>, i8> {};            \
    template <> struct VectorOp<op::op_, u16> : WordwiseOp<WordExtremum<Pick::PICK, u16>, u16> {};         \
    template <> struct VectorOp<op::op_, i16> : WordwiseOp<WordExtremum<Pick::PICK, i16>, i16> {};
BL_EXTREMUM(maximum, larger)
BL_EXTREMUM(minimum, smaller)
BL_EXTREMUM(fmax, larger)
BL_EXTREMUM(fmin, smaller)
#undef BL_EXTREMUM

// ---- Shifts of narrow lanes --------------------------------------------------------------------------------------

enum class Shift { left, logical, arithmetic };

template <Shift KIND, class W> BL_FN W shift(W x, u32 amount) {
    if constexpr (KIND == Shift::left) return shift_left(x, amount);
    else if constexpr (KIND == Shift::logical) return shift_right(x, amount);
    else return shift_right_signed(x, amount);
}

// The shift amounts of the lanes of one word, each in a register of its own (zero-extended: a negative one is large).
template <int BYTES> struct LaneAmounts;
template <> struct LaneAmounts<1> {
    u32 lane[4];
    static BL_FN LaneAmounts of(u32 y) {
        return {{permute<0x4440>(y, 0), permute<0x4441>(y, 0), permute<0x4442>(y, 0), permute<0x4443>(y, 0)}};
    }
};
template <> struct LaneAmounts<2> {
    u32 lane[2];
    static BL_FN LaneAmounts of(u32 y) { return {{permute<0x4410>(y, 0), permute<0x4432>(y, 0)}}; }
};
template <> struct LaneAmounts<4> {
    u32 lane[1];
    static BL_FN LaneAmounts of(u32 y) { return {{y}}; }
};

// Each lane is shifted in its own copy of the word, so prepared that no other lane shifts into it: for a left shift the
// lanes below it are cleared, for a right shift it is first moved to the top. Then one lane is taken from each copy.
template <Shift KIND> BL_FN u32 shift_lanes(u32 x, const LaneAmounts<1>& y) {
    if constexpr (KIND == Shift::left) {
        u32 a = shift_left(x, y.lane[0]), b = shift_left(x & 0xffffff00u, y.lane[1]);
        u32 c = shift_left(x & 0xffff0000u, y.lane[2]), d = shift_left(x & 0xff000000u, y.lane[3]);
        return permute<0x7610>(permute<0x4450>(a, b), permute<0x7244>(c, d));
    } else {
        u32 a = shift<KIND>(x << 24, y.lane[0]), b = shift<KIND>(x << 16, y.lane[1]);
        u32 c = shift<KIND>(x << 8, y.lane[2]), d = shift<KIND>(x, y.lane[3]);
        return permute<0x5410>(permute<0x0073>(a, b), permute<0x0073>(c, d));
    }
}
template <Shift KIND> BL_FN u32 shift_lanes(u32 x, const LaneAmounts<2>& y) {
    if constexpr (KIND == Shift::left) return permute<0x7610>(shift_left(x, y.lane[0]), shift_left(x & 0xffff0000u, y.lane[1]));
    else return permute<0x7632>(shift<KIND>(x << 16, y.lane[0]), shift<KIND>(x, y.lane[1]));
}
template <Shift KIND> BL_FN u32 shift_lanes(u32 x, const LaneAmounts<4>& y) { return shift<KIND>(x, y.lane[0]); }

// One amount for all lanes: shifts the whole word, then masks off the bits that crossed into other lanes.
template <Shift KIND, int BYTES> struct UniformAmount {
    u32 amount, kept;
    static BL_FN UniformAmount of(u32 y) {
        constexpr u32 bits = 8 * BYTES, full = BYTES == 1 ? 0xffu : 0xffffu;
        u32 amount = y < bits ? y : bits;
        u32 lane = KIND == Shift::left ? full << amount : full >> amount;
        return {amount, BYTES == 1 ? permute<0x0000>(lane, 0) : permute<0x1010>(lane, 0)};
    }
    BL_FN u32 shift_word(u32 x) const {
        if constexpr (KIND == Shift::left) return shift_left(x, amount) & kept;
        u32 moved = shift_right(x, amount);
        if constexpr (KIND == Shift::logical) return moved & kept;
        u32 signs = BYTES == 1 ? permute<0xba98>(x, x) : permute<0xbb99>(x, x);
        return (moved & kept) | (signs & ~kept);
    }
};
template <Shift KIND> struct UniformAmount<KIND, 4> {
    u32 amount;
    static BL_FN UniformAmount of(u32 y) { return {y}; }
    BL_FN u32 shift_word(u32 x) const { return shift<KIND>(x, amount); }
};

template <Shift KIND, class T, int BYTES = sizeof(T)> struct ShiftOp {
    typedef T Result;
    enum { OUT_BYTES = 16 };
    typedef Vector Out;
    struct Right { LaneAmounts<BYTES> word[4]; };
    typedef UniformAmount<KIND, BYTES> Uniform;
    static BL_FN Right ready(const Vector& y) {
        typedef LaneAmounts<BYTES> Amounts;
        return {{Amounts::of(y.word[0]), Amounts::of(y.word[1]), Amounts::of(y.word[2]), Amounts::of(y.word[3])}};
    }
    static BL_FN Uniform ready(T y) { return Uniform::of(bits_of(y)); }
    static BL_FN Out apply(const Vector& x, const Right& y) {
        return {{shift_lanes<KIND>(x.word[0], y.word[0]), shift_lanes<KIND>(x.word[1], y.word[1]),
                 shift_lanes<KIND>(x.word[2], y.word[2]), shift_lanes<KIND>(x.word[3], y.word[3])}};
    }
    static BL_FN Out apply(const Vector& x, const Uniform& y) {
        return {{y.shift_word(x.word[0]), y.shift_word(x.word[1]), y.shift_word(x.word[2]), y.shift_word(x.word[3])}};
    }
};

// 64-bit lanes: the amount is clamped to 32 bits once, when the operand is prepared.
template <Shift KIND, class T> struct ShiftOp<KIND, T, 8> {
    typedef T Result;
    enum { OUT_BYTES = 16 };
    typedef Vector Out;
    struct Right { u32 amount[2]; };
    struct Uniform { u32 amount; };
    static BL_FN Right ready(const Vector& y) { return {{clamped_amount(element<u64>(y, 0)), clamped_amount(element<u64>(y, 1))}}; }
    static BL_FN Uniform ready(T y) { return {clamped_amount(y)}; }
    static BL_FN Out apply(const Vector& x, const Right& y) {
        u64 r[2] = {shift<KIND>(element<u64>(x, 0), y.amount[0]), shift<KIND>(element<u64>(x, 1), y.amount[1])};
        return bundle(r);
    }
    static BL_FN Out apply(const Vector& x, const Uniform& y) { return apply(x, Right{{y.amount, y.amount}}); }
};

template <class T> constexpr Shift right_shift_of() { return is_signed_integer<T>() ? Shift::arithmetic : Shift::logical; }
template <class T> struct VectorOp<op::bitwise_left_shift, T> : ShiftOp<Shift::left, T> {};
template <class T> struct VectorOp<op::bitwise_right_shift, T> : ShiftOp<right_shift_of<T>(), T> {};
template <class T> struct VectorOp<op::bitwise_right_shift_logical, T> : ShiftOp<Shift::logical, T> {};

}  // namespace bl
