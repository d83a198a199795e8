#include "checksums.h"
#include "load.h"

// Each step waits for the previous one, so the length of that chain determines the speed. The barrier
// keeps the compiler from regrouping the sums so that the newest word enters too early.
#define STEP(a, b, mix, word, constant, turn)     \
    a += (constant) + load32(block + 4 * (word)); \
    __asm__("" : "+r"(a));                        \
    mix;                                          \
    a = (a << (turn) | a >> (32 - (turn))) + b;

#define F(a, b, c, d, word, turn, constant) STEP(a, b, a += ((c ^ d) & b) ^ d, word, constant, turn)
#define G(a, b, c, d, word, turn, constant) STEP(a, b, a += ~d & c; a += d & b, word, constant, turn)
#define H(a, b, c, d, word, turn, constant) STEP(a, b, a += (c ^ d) ^ b, word, constant, turn)
#define I(a, b, c, d, word, turn, constant) STEP(a, b, a += (~d | b) ^ c, word, constant, turn)

static void absorb(uint32_t state[4], const uint8_t *block, size_t blocks) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (; blocks > 0; blocks--, block += 64) {
        const uint32_t a0 = a, b0 = b, c0 = c, d0 = d;
#include "md5_steps.h"
        a += a0, b += b0, c += c0, d += d0;
    }
    state[0] = a, state[1] = b, state[2] = c, state[3] = d;
}

void checksums_md5_init(checksums_md5 *md5) {
    *md5 = (checksums_md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

#undef STEP
#undef F
#undef G
#undef H
#undef I

// A stream with bytes to hash.
struct lane {
    checksums_md5 *md5;
    const uint8_t *bytes;
    size_t blocks;
    size_t rest;
};

// Hashes the bytes that complete the waiting block. Whole blocks after it are left to the caller.
static struct lane begin(checksums_md5 *md5, const void *bytes, size_t count) {
    const uint8_t *p = bytes;
    const size_t waiting = md5->length % 64;
    md5->length += count;
    if (waiting > 0) {
        const size_t missing = 64 - waiting;
        const size_t taken = count < missing ? count : missing;
        if (taken > 0) memcpy(md5->block + waiting, p, taken);
        if (taken < missing) return (struct lane){md5, p, 0, 0};
        absorb(md5->state, md5->block, 1);
        p += taken, count -= taken;
    }
    return (struct lane){md5, p, count / 64, count % 64};
}

// Keeps the bytes after the last whole block.
static void end(const struct lane *lane) {
    if (lane->rest > 0) memcpy(lane->md5->block, lane->bytes, lane->rest);
}

static void advance(struct lane *lane, size_t blocks) { lane->bytes += 64 * blocks, lane->blocks -= blocks; }

void checksums_md5_update(checksums_md5 *md5, const void *bytes, size_t count) {
    struct lane lane = begin(md5, bytes, count);
    absorb(md5->state, lane.bytes, lane.blocks);
    advance(&lane, lane.blocks);
    end(&lane);
}

void checksums_md5_digest(const checksums_md5 *md5, uint8_t out[16]) {
    uint32_t state[4];
    memcpy(state, md5->state, sizeof state);
    uint8_t tail[128] = {0};
    const size_t waiting = md5->length % 64;
    const size_t size = waiting < 56 ? 64 : 128;
    memcpy(tail, md5->block, waiting);
    tail[waiting] = 0x80;
    for (int i = 0; i < 8; i++) tail[size - 8 + i] = (uint8_t)(md5->length * 8 >> 8 * i);
    absorb(state, tail, size / 64);
    for (int i = 0; i < 16; i++) out[i] = (uint8_t)(state[i / 4] >> 8 * (i % 4));
}

#define LANES 4
#define ABSORB absorb_4
#define TARGET
#include "md5_lanes.h"

#if defined(__x86_64__)
#define LANES 8
#define ABSORB absorb_8
#define TARGET __attribute__((target("avx2")))
#include "md5_lanes.h"

// Sixteen lanes of AVX-512 are slower: blocks at the same offset of their pages compete for eight ways of the cache.
static int widest(void) { return __builtin_cpu_supports("avx2") ? 8 : 4; }
#else
static int widest(void) { return 4; }
#endif

// Advances the streams by the number of blocks that all of them have. Lanes without a stream hash the first one's bytes.
static void absorb_together(struct lane *lanes[], int count) {
    size_t blocks = lanes[0]->blocks;
    for (int i = 1; i < count; i++) blocks = lanes[i]->blocks < blocks ? lanes[i]->blocks : blocks;
    checksums_md5 unused = *lanes[0]->md5;
    struct lane idle = {&unused, lanes[0]->bytes, blocks, 0};
    struct lane *all[CHECKSUMS_MD5_STREAMS];
    for (int i = 0; i < CHECKSUMS_MD5_STREAMS; i++) all[i] = i < count ? lanes[i] : &idle;
    if (count <= 4) absorb_4(all, blocks);
#if defined(__x86_64__)
    else absorb_8(all, blocks);
#endif
    for (int i = 0; i < count; i++) advance(lanes[i], blocks);
}

void checksums_md5_update_many(checksums_md5 md5[], const void *const bytes[], const size_t counts[], int count) {
    struct lane lanes[CHECKSUMS_MD5_STREAMS], *busy[CHECKSUMS_MD5_STREAMS];
    for (int i = 0; i < count; i++) lanes[i] = begin(md5 + i, bytes[i], counts[i]);
    const int most = widest();
    for (;;) {
        int found = 0;
        for (int i = 0; i < count && found < most; i++)
            if (lanes[i].blocks > 0) busy[found++] = lanes + i;
        if (found == 0) break;
        if (found > 2) {
            absorb_together(busy, found);
            continue;
        }
        // Two of four lanes are no faster than hashing one stream after the other.
        absorb(busy[0]->md5->state, busy[0]->bytes, busy[0]->blocks);
        advance(busy[0], busy[0]->blocks);
    }
    for (int i = 0; i < count; i++) end(lanes + i);
}
