#include "checksums.h"
#include "load.h"

// Polynomials have the bit order of the CRC: bit 31 is x^0, bit 0 is x^31.
#define POLYNOMIAL 0x82f63b78u

// slices[k][b]: byte b followed by k zero bytes. shifts[k][b]: byte k of a CRC, moved over STRIDE bytes.
#define STRIDE 1024
static uint32_t slices[8][256];
static uint32_t shifts[4][256];

static uint32_t times_x(uint32_t p) { return p >> 1 ^ (p & 1 ? POLYNOMIAL : 0); }

static uint32_t product(uint32_t p, uint32_t q) {
    uint32_t sum = 0;
    for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1, q = times_x(q)) sum ^= p & bit ? q : 0;
    return sum;
}

// Runs before any CRC is computed: it takes some microseconds at the start, and needs no lock later.
__attribute__((constructor)) static void fill_tables(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int i = 0; i < 8; i++) crc = times_x(crc);
        slices[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++) slices[k][b] = slices[k - 1][b] >> 8 ^ slices[0][slices[k - 1][b] & 255];
    uint32_t stride = 1u << 30;  // x, squared until it is x^(8 * STRIDE)
    for (int power = 1; power < 8 * STRIDE; power *= 2) stride = product(stride, stride);
    for (int k = 0; k < 4; k++)
        for (uint32_t b = 1; b < 256; b++) {
            const uint32_t low = b & -b;
            shifts[k][b] = b == low ? product(b << 8 * k, stride) : shifts[k][low] ^ shifts[k][b ^ low];
        }
}

static uint32_t portable(uint32_t crc, const uint8_t *p, size_t count) {
    for (; count >= 8; count -= 8, p += 8) {
        const uint64_t word = load64(p) ^ crc;
        crc = 0;
        for (int k = 0; k < 8; k++) crc ^= slices[7 - k][word >> 8 * k & 255];
    }
    for (; count > 0; count--, p++) crc = crc >> 8 ^ slices[0][(crc ^ *p) & 255];
    return crc;
}

uint32_t checksums_crc32c_portable(uint32_t crc, const void *bytes, size_t count) {
    return ~portable(~crc, bytes, count);
}

#if defined(__x86_64__)
#define INSTRUCTION __attribute__((target("sse4.2")))
#define TAKE8(crc, word) (uint32_t)__builtin_ia32_crc32di(crc, word)
#define TAKE1(crc, byte) __builtin_ia32_crc32qi(crc, byte)
static int has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__) && defined(__clang__)
#define INSTRUCTION __attribute__((target("crc")))
#define TAKE8(crc, word) __builtin_arm_crc32cd(crc, word)
#define TAKE1(crc, byte) __builtin_arm_crc32cb(crc, byte)
#if defined(__linux__)
#include <sys/auxv.h>
static int has_instruction(void) { return (getauxval(AT_HWCAP) & 1 << 7) != 0; }  // HWCAP_CRC32
#else
static int has_instruction(void) { return 1; }
#endif
#endif

#ifdef INSTRUCTION
static uint32_t move(uint32_t crc) {
    return shifts[0][crc & 255] ^ shifts[1][crc >> 8 & 255] ^ shifts[2][crc >> 16 & 255] ^ shifts[3][crc >> 24];
}

// The instruction has a latency of three cycles and a throughput of one, so three stretches are computed in parallel.
INSTRUCTION static uint32_t accelerated(uint32_t a, const uint8_t *p, size_t count) {
    for (; count >= 3 * STRIDE; count -= 3 * STRIDE, p += 3 * STRIDE) {
        uint32_t b = 0, c = 0;
        for (size_t i = 0; i < STRIDE; i += 8) {
            a = TAKE8(a, load64(p + i));
            b = TAKE8(b, load64(p + STRIDE + i));
            c = TAKE8(c, load64(p + 2 * STRIDE + i));
        }
        a = move(move(a) ^ b) ^ c;
    }
    for (; count >= 8; count -= 8, p += 8) a = TAKE8(a, load64(p));
    for (; count > 0; count--, p++) a = TAKE1(a, *p);
    return a;
}
#endif

uint32_t checksums_crc32c(uint32_t crc, const void *bytes, size_t count) {
#ifdef INSTRUCTION
    if (has_instruction()) return ~accelerated(~crc, bytes, count);
#endif
    return checksums_crc32c_portable(crc, bytes, count);
}
