#include "cscan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static const uint8_t alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of each character, plus one; 0 for a character outside the alphabet.
static const uint8_t values[256] = {
    ['A'] = 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
    ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, ['+'] = 63, ['/'] = 64,
};

/// More than 63 for a character outside the alphabet.
static inline uint32_t sextet(uint8_t character) { return values[character] - 1u; }

#if defined(__x86_64__)
// The vectors are those of Wojciech Muła and Daniel Lemire, "Faster Base64 Encoding and Decoding using AVX2 Instructions".

/// Decodes pieces of 32 characters, but not the last four, and returns how many. Stops before one outside the alphabet.
__attribute__((target("avx2"))) static size_t decode_32(const uint8_t *text, size_t count, uint8_t *bytes) {
    const __m256i low_kinds = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A));
    const __m256i high_kinds = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10));
    const __m256i offsets = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i slash = _mm256_set1_epi8('/');
    const __m256i packed = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
    size_t index = 0;
    for (; count - index >= 36; index += 32, bytes += 24) {
        __m256i piece = _mm256_loadu_si256((const __m256i *)(text + index));
        __m256i high = _mm256_and_si256(_mm256_srli_epi32(piece, 4), slash), low = _mm256_and_si256(piece, slash);
        if (!_mm256_testz_si256(_mm256_shuffle_epi8(low_kinds, low), _mm256_shuffle_epi8(high_kinds, high))) break;
        __m256i kind = _mm256_add_epi8(_mm256_cmpeq_epi8(piece, slash), high);
        __m256i sextets = _mm256_add_epi8(piece, _mm256_shuffle_epi8(offsets, kind));
        __m256i pairs = _mm256_maddubs_epi16(sextets, _mm256_set1_epi32(0x01400140));
        __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        __m256i lanes = _mm256_shuffle_epi8(groups, packed);
        __m256i whole = _mm256_permutevar8x32_epi32(lanes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
        _mm_storeu_si128((__m128i *)bytes, _mm256_castsi256_si128(whole));
        _mm_storel_epi64((__m128i *)(bytes + 16), _mm256_extracti128_si256(whole, 1));
    }
    return index;
}

/// Encodes pieces of 24 bytes, and returns how many bytes. Each step reads 28.
__attribute__((target("avx2"))) static size_t encode_24(const uint8_t *bytes, size_t count, uint8_t *text) {
    const __m256i spread = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10));
    const __m256i offsets = _mm256_broadcastsi128_si256(
        _mm_setr_epi8('a' - 26, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, '+' - 62, '/' - 63, 'A', 0, 0));
    size_t index = 0;
    for (; count - index >= 28; index += 24, text += 32) {
        __m128i low = _mm_loadu_si128((const __m128i *)(bytes + index));
        __m128i high = _mm_loadu_si128((const __m128i *)(bytes + index + 12));
        __m256i piece = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), spread);
        __m256i outer = _mm256_and_si256(piece, _mm256_set1_epi32(0x0FC0FC00));
        __m256i inner = _mm256_and_si256(piece, _mm256_set1_epi32(0x003F03F0));
        __m256i sextets = _mm256_or_si256(
            _mm256_mulhi_epu16(outer, _mm256_set1_epi32(0x04000040)),
            _mm256_mullo_epi16(inner, _mm256_set1_epi32(0x01000010)));
        __m256i upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), sextets);
        __m256i kind = _mm256_or_si256(
            _mm256_subs_epu8(sextets, _mm256_set1_epi8(51)), _mm256_and_si256(upper, _mm256_set1_epi8(13)));
        __m256i letters = _mm256_add_epi8(sextets, _mm256_shuffle_epi8(offsets, kind));
        _mm256_storeu_si256((__m256i *)text, letters);
    }
    return index;
}

static size_t decode_some(const uint8_t *text, size_t count, uint8_t *bytes) {
    return count >= 36 && __builtin_cpu_supports("avx2") ? decode_32(text, count, bytes) : 0;
}

static size_t encode_some(const uint8_t *bytes, size_t count, uint8_t *text) {
    return count >= 28 && __builtin_cpu_supports("avx2") ? encode_24(bytes, count, text) : 0;
}
#else
static size_t decode_some(const uint8_t *text, size_t count, uint8_t *bytes) { return 0; }
static size_t encode_some(const uint8_t *bytes, size_t count, uint8_t *text) { return 0; }
#endif

ptrdiff_t cscan_base64_decode(const void *characters, size_t count, uint8_t *bytes) {
    const uint8_t *text = characters;
    if (count % 4) return -1;
    if (!count) return 0;
    size_t index = decode_some(text, count, bytes), padding = 0;
    uint8_t *next = bytes + index / 4 * 3;
    uint32_t all = 0, group = 0;
    while (padding < 2 && text[count - 1 - padding] == '=') padding++;
    for (; index < count; index += 4) {
        size_t padded = index + 4 == count ? padding : 0;
        uint32_t first = sextet(text[index]), second = sextet(text[index + 1]);
        uint32_t third = padded > 1 ? 0 : sextet(text[index + 2]), fourth = padded > 0 ? 0 : sextet(text[index + 3]);
        all |= first | second | third | fourth;
        group = first << 18 | second << 12 | third << 6 | fourth;
        *next++ = (uint8_t)(group >> 16), *next++ = (uint8_t)(group >> 8), *next++ = (uint8_t)group;
    }
    // The bits after the last byte must be 0.
    if (all > 63 || group & ((1u << 8 * padding) - 1)) return -1;
    return next - bytes - (ptrdiff_t)padding;
}

void cscan_base64_encode(const void *data, size_t count, uint8_t *text) {
    const uint8_t *bytes = data;
    size_t index = encode_some(bytes, count, text);
    text += index / 3 * 4;
    for (; index < count; index += 3) {
        size_t left = count - index;
        uint32_t first = bytes[index], second = left > 1 ? bytes[index + 1] : 0, third = left > 2 ? bytes[index + 2] : 0;
        *text++ = alphabet[first >> 2];
        *text++ = alphabet[(first << 4 | second >> 4) & 63];
        *text++ = left > 1 ? alphabet[(second << 2 | third >> 6) & 63] : '=';
        *text++ = left > 2 ? alphabet[third & 63] : '=';
    }
}
