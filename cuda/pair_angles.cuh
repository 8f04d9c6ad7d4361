// Trigonometric functions and their inverses in sums of two f32, as pairs.cuh has the exponentials: without a branch, and
// certain in all but one of a thousand cases, which angles.cuh decides.

namespace bl {
namespace pairs {

// ---- Angles ------------------------------------------------------------------------------------------------------

// An angle below 2^16 as a number of 256ths of a turn, in the lowest bits, and a rest of half of one at most.
struct Turned {
    u32 steps;
    Pair rest;
};
BL_FN Turned turned(f32 size) {
    const f32 shifted = fused(size, BL_TURNS_F32, BL_ROUND_F32), steps = shifted - BL_ROUND_F32;
    const f32 upper = fused(steps, -BL_TURN_F32, size);  // exact
    const Pair lower = product(steps, BL_TURN_REST_F32), rest = exact(upper, -lower.hi);
    return Turned{bits_of(shifted), Pair{rest.hi, rest.lo - fused(steps, BL_TURN_LAST_F32, lower.lo)}};
}

// a cos(d) + b sin(d), where a and b are a sine and a cosine or the reverse, and d is below 2^-6.
BL_FN Pair rotated(Pair a, Pair b, Pair d) {
    // a + (b - a d/2) d, and the small terms beyond the second. The slope is a pair, because near a zero of the result
    // a is twice as large.
    const f32 half = -0.5f * d.hi, square = d.hi * d.hi;
    const Pair bend = product(a.hi, half), slope = quick(b.hi, bend.hi), added = product(slope.hi, d.hi);
    const f32 slope_rest = slope.lo + fused(a.lo, half, bend.lo + b.lo);
    const f32 cubic = d.hi * square * fused(square, 1.0f / 120.0f, -1.0f / 6.0f);
    const f32 small = fused(b.hi, cubic, a.hi * (square * square) * (1.0f / 24.0f));
    const f32 change = fused(bend.hi + slope.hi, d.lo, small);
    const Pair sum = quick(a.hi, added.hi);
    return Pair{sum.hi, sum.lo + (a.lo + (change + fused(slope_rest, d.hi, added.lo)))};
}

BL_FN Pair pair_of(u64 bits) { return Pair{from_bits<f32>(u32(bits)), from_bits<f32>(u32(bits >> 32))}; }

BL_FN Pair sin(f32 size) {
    const Turned t = turned(size);
    const u64 (&row)[2] = math::sin_cos_pair_row(t.steps & 255);
    return rotated(pair_of(row[0]), pair_of(row[1]), t.rest);
}
BL_FN Pair cos(f32 size) {
    const Turned t = turned(size);
    const u64 (&row)[2] = math::sin_cos_pair_row(t.steps & 255);
    return rotated(pair_of(row[1]), math::angles::negated(pair_of(row[0])), t.rest);
}
BL_FN Pair tan(f32 size) {
    const Turned t = turned(size);
    const u64 (&row)[2] = math::sin_cos_pair_row(t.steps & 255);
    const Pair sin = pair_of(row[0]), cos = pair_of(row[1]);
    const Pair divisor = math::angles::rounded(rotated(cos, math::angles::negated(sin), t.rest));
    return or_tiny(size, quotient(rotated(sin, cos, t.rest), divisor));
}

// ---- Inverses ----------------------------------------------------------------------------------------------------

// An angle as its smaller one of two that add up to a quarter turn.
struct Corner {
    Pair angle;
    bool steep;
};

// The angle whose sine is `size`: the nearest angle of the table, and the difference, from the formula for its sine.
BL_FN Corner corner(f32 size) {
    const Pair square = product(size, size), less = quick(1.0f, -square.hi);
    const Pair sin{size, 0.0f}, cos = root(quick(less.hi, less.lo - square.lo));
    const bool steep = size > cos.hi;
    const Pair shorter = chosen(steep, cos, sin), longer = chosen(steep, sin, cos);
    const f32 shifted = fused(shorter.hi, 64.0f, BL_ROUND_F32), near_sin = (shifted - BL_ROUND_F32) * (1.0f / 64.0f);
    const u64 (&row)[2] = math::asin_pair_row(bits_of(shifted) & 63);
    const Pair near_cos = pair_of(row[0]), near = pair_of(row[1]);
    const Pair plus = product(shorter.hi, near_cos.hi), minus = product(longer.hi, near_sin);
    const f32 d = plus.hi - minus.hi;  // exact
    const f32 rest = fused(shorter.lo, near_cos.hi, fused(shorter.hi, near_cos.lo, plus.lo)) -
                     fused(longer.lo, near_sin, minus.lo);
    const f32 d2 = d * d, bend = fused(d * d2, fused(d2, 3.0f / 40.0f, 1.0f / 6.0f), rest);
    const Pair sum = quick(near.hi, d);
    return Corner{Pair{sum.hi, sum.lo + (near.lo + bend)}, steep};
}

// A multiple of a quarter turn less an angle.
BL_FN Pair less(f32 quarters, Pair angle) {
    const Pair sum = quick(quarters * BL_HALF_PI_F32, -angle.hi);
    return Pair{sum.hi, sum.lo + fused(quarters, BL_HALF_PI_F32_REST, -angle.lo)};
}

BL_FN Pair asin(f32 size) {
    const Corner c = corner(size);
    return or_tiny(size, chosen(c.steep, less(1.0f, c.angle), c.angle));
}
BL_FN Pair acos(f32 x) {
    const Corner c = corner(size_of(x));
    // A quarter turn less the sine's angle; or the cosine's angle, from the other side if x is negative.
    const bool left = x < 0.0f;
    return less(c.steep ? left ? 2.0f : 0.0f : 1.0f, left != c.steep ? math::angles::negated(c.angle) : c.angle);
}
// The angle of a triangle with sides y and x, y <= x: the nearest angle of the table for their quotient, and the
// difference, from the formula for its tangent. If `about` may be too large, there must be a little fewer than 64 `steps`:
// the tangent that is halfway to the first of the table must not be taken for that one, since the difference is exact only
// if it is at most twice as large.
BL_FN Pair slope(f32 y, f32 x, f32 about, f32 steps) {
    const f32 shifted = fused(about, steps, BL_ROUND_F32), near = (shifted - BL_ROUND_F32) * (1.0f / 64.0f);
    const Pair drop = product(near, x), rise = product(near, y);
    const Pair along = quick(x, rise.hi);
    const f32 across = y - drop.hi;  // exact
    const Pair t = math::angles::rounded(quotient(Pair{across, -drop.lo}, Pair{along.hi, along.lo + rise.lo}));
    const f32 t2 = t.hi * t.hi, bend = fused(t.hi * t2, fused(t2, 0.2f, -1.0f / 3.0f), t.lo);
    const u32 masked = bits_of(shifted) & 127;
    const Pair table = math::atan_pair(masked < 64 ? masked : 64), sum = quick(table.hi, t.hi);
    return Pair{sum.hi, sum.lo + (table.lo + bend)};
}
BL_FN Pair atan(f32 size) {
    const bool steep = size > 1.0f;
    const Pair angle = slope(steep ? 1.0f : size, steep ? size : 1.0f, steep ? about_reciprocal(size) : size, 64.0f);
    return or_tiny(size, chosen(steep, less(1.0f, angle), angle));
}

}  // namespace pairs
}  // namespace bl
