// No function reads beyond its bytes: the rest at the end is read as a word that overlaps the previous one.

#include "cscan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// A word of eight bytes, tested for all of them at once: `word - ones & ~word & highs` has the high bit of every byte that was
// zero. A borrow can set a bit above a true one, never below, so the lowest bit set is always right.

static const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;

static inline uint64_t stops(uint64_t word) {
    // Flipping one bit moves the quote next to the controls: both are then below 0x21, and no other byte is.
    uint64_t low = word ^ (ones * 0x02), backslash = word ^ (ones * '\\');
    return (((low - ones * 0x21) & ~low) | ((backslash - ones) & ~backslash)) & highs;
}

static inline uint64_t word_at(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint32_t half_at(const uint8_t *bytes) {
    uint32_t half;
    memcpy(&half, bytes, sizeof half);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    half = __builtin_bswap32(half);
#endif
    return half;
}

/// Fewer than eight bytes as a word whose other bytes are zero, which counts as a control byte.
static inline uint64_t short_word(const uint8_t *bytes, size_t count) {
    uint64_t word = 0;
    if (count & 4) word = half_at(bytes);
    for (size_t index = count & 4; index < count; index++) word |= (uint64_t)bytes[index] << (8 * index);
    return word;
}

static inline cscan_run stopped(uint64_t word, uint64_t stops, size_t before, uint64_t seen) {
    uint64_t passed = ((stops & -stops) >> 7) - 1;
    return (cscan_run){before + (size_t)__builtin_ctzll(stops) / 8, ((seen | (word & passed)) & highs) == 0};
}

static inline cscan_run plain_words(const uint8_t *bytes, size_t count) {
    uint64_t seen = 0;
    size_t index = 0;
    for (; count - index >= 8; index += 8) {
        uint64_t word = word_at(bytes + index), found = stops(word);
        if (found) return stopped(word, found, index, seen);
        seen |= word;
    }
    if (index == count) return (cscan_run){count, (seen & highs) == 0};
    uint64_t word = short_word(bytes + index, count - index);
    return stopped(word, stops(word), index, seen);
}

#if defined(__x86_64__)
static inline unsigned stops_16(__m128i bytes) {
    __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), controls));
}

/// Skips whole pieces of 32 bytes that need no escape.
__attribute__((target("avx2"))) static size_t plain_32(const uint8_t *bytes, size_t count, unsigned *seen) {
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\'), control = _mm256_set1_epi8(0x1F);
    __m256i all = _mm256_setzero_si256();
    size_t index = 0;
    for (; count - index >= 32; index += 32) {
        __m256i piece = _mm256_loadu_si256((const __m256i *)(bytes + index));
        __m256i found = _mm256_or_si256(
            _mm256_or_si256(_mm256_cmpeq_epi8(piece, quote), _mm256_cmpeq_epi8(piece, backslash)),
            _mm256_cmpeq_epi8(_mm256_min_epu8(piece, control), piece));
        if (!_mm256_testz_si256(found, found)) break;
        all = _mm256_or_si256(all, piece);
    }
    *seen |= (unsigned)_mm256_movemask_epi8(all);
    return index;
}

cscan_run cscan_plain_run(const void *text, size_t count) {
    const uint8_t *bytes = text;
    if (count < 16) return plain_words(bytes, count);
    unsigned seen = 0;
    size_t index = 0;
    while (index < count) {
        // The last piece overlaps the previous one, which contains no match.
        size_t start = count - index >= 16 ? index : count - 16;
        __m128i piece = _mm_loadu_si128((const __m128i *)(bytes + start));
        unsigned found = stops_16(piece), high = (unsigned)_mm_movemask_epi8(piece);
        if (found) {
            unsigned passed = (found & -found) - 1;
            return (cscan_run){start + (size_t)__builtin_ctz(found), (seen | (high & passed)) == 0};
        }
        seen |= high;
        index = start + 16;
        if (index == 32 && count >= 128 && __builtin_cpu_supports("avx2")) {
            index += plain_32(bytes + index, count - index, &seen);
        }
    }
    return (cscan_run){count, seen == 0};
}
#else
cscan_run cscan_plain_run(const void *text, size_t count) { return plain_words(text, count); }
#endif

/// Whether U+0085, U+2028 or U+2029 begins at the first of three bytes.
static inline bool separates_lines(uint8_t first, uint8_t second, uint8_t third) {
    return ((first == 0xC2) & (second == 0x85)) | ((first == 0xE2) & (second == 0x80) & ((third & 0xFE) == 0xA8));
}

/// Whether one of these characters begins in 32 bytes, which two more follow. Has no branches, so compilers use vectors.
static inline bool separates_lines_32(const uint8_t *bytes) {
    uint8_t found = 0;
    for (size_t index = 0; index < 32; index++) {
        found |= separates_lines(bytes[index], bytes[index + 1], bytes[index + 2]);
    }
    return found;
}

size_t cscan_line_separator(const void *text, size_t count) {
    const uint8_t *bytes = text;
    size_t index = 0;
    while (count - index >= 34 && !separates_lines_32(bytes + index)) index += 32;
    for (; index < count; index++) {
        if ((bytes[index] & 0xDF) != 0xC2) continue;  // 0xC2 and 0xE2 differ in this bit.
        size_t left = count - index;
        if (separates_lines(bytes[index], left > 1 ? bytes[index + 1] : 0, left > 2 ? bytes[index + 2] : 0)) return index;
    }
    return count;
}
