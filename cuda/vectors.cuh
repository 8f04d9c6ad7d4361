// Packing and unpacking: between 32-bit words in registers and the elements in them.

namespace bl {

template <class T> constexpr int lanes() { return 16 / int(sizeof(T)); }

template <class T, int BYTES> BL_FN T element(const Bundle<BYTES>& v, int i) {
    if constexpr (sizeof(T) < 4) {
        constexpr int per_word = 4 / int(sizeof(T)), bits = 8 * int(sizeof(T));
        return from_bits<T>(Bits<T>(v.word[i / per_word] >> (i % per_word * bits)));
    } else if constexpr (sizeof(T) == 4) return from_bits<T>(v.word[i]);
    else if constexpr (is_complex<T>()) {
        typedef decltype(T::re) Part;
        return T{element<Part>(v, 2 * i), element<Part>(v, 2 * i + 1)};
    } else return from_bits<T>(join(v.word[2 * i], v.word[2 * i + 1]));
}

// N consecutive elements as words. Narrow elements are merged by byte permutes, which ignore their upper bits.
template <class T, int N> BL_FN Bundle<N * int(sizeof(T))> bundle(const T (&x)[N]) {
    Bundle<N * int(sizeof(T))> v;
    if constexpr (sizeof(T) == 1 && N >= 4) {
#pragma unroll
        for (int i = 0; i < N / 4; ++i) {
            u32 low = permute<0x0040>(bits_of(x[4 * i]), bits_of(x[4 * i + 1]));
            u32 high = permute<0x0040>(bits_of(x[4 * i + 2]), bits_of(x[4 * i + 3]));
            v.word[i] = permute<0x5410>(low, high);
        }
    } else if constexpr (sizeof(T) == 1) {
        v.word[0] = bits_of(x[0]);
        if constexpr (N == 2) v.word[0] |= u32(bits_of(x[1])) << 8;
    } else if constexpr (sizeof(T) == 2) {
#pragma unroll
        for (int i = 0; i < N / 2; ++i) v.word[i] = permute<0x5410>(bits_of(x[2 * i]), bits_of(x[2 * i + 1]));
    } else if constexpr (is_complex<T>()) {
        typedef decltype(T::re) Part;
        Part parts[2 * N];
#pragma unroll
        for (int i = 0; i < N; ++i) parts[2 * i] = x[i].re, parts[2 * i + 1] = x[i].im;
        v = bundle(parts);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if constexpr (sizeof(T) == 4) v.word[i] = bits_of(x[i]);
            else v.word[2 * i] = low_half(bits_of(x[i])), v.word[2 * i + 1] = high_half(bits_of(x[i]));
        }
    }
    return v;
}

// The same element in every lane.
template <class T> BL_FN Vector splat(T x) {
    if constexpr (sizeof(T) == 1) {
        u32 w = permute<0x0000>(bits_of(x), 0);
        return Vector{{w, w, w, w}};
    } else if constexpr (sizeof(T) == 2) {
        u32 w = permute<0x1010>(bits_of(x), 0);
        return Vector{{w, w, w, w}};
    } else {
        T copies[lanes<T>()];
#pragma unroll
        for (int i = 0; i < lanes<T>(); ++i) copies[i] = x;
        return bundle(copies);
    }
}

// A scalar operand passed in the parameters, as an element.
template <class T> BL_FN T immediate(const BlValue& value) {
    if constexpr (same<T, c64>()) return c64{from_bits<f32>(low_half(value.bits[0])), from_bits<f32>(high_half(value.bits[0]))};
    else if constexpr (same<T, c128>()) return c128{from_bits<f64>(value.bits[0]), from_bits<f64>(value.bits[1])};
    else return from_bits<T>(Bits<T>(value.bits[0]));
}

}  // namespace bl
