// Advances LANES streams by the same number of blocks, one stream in each lane of a vector. Included once for each
// width, with LANES, ABSORB (the name of the function) and TARGET (its attribute).

#define STEP(a, b, mix, word, constant, turn)  \
    a += (mix) + words[word] + (constant);     \
    a = (a << (turn) | a >> (32 - (turn))) + b;

#define F(a, b, c, d, word, turn, constant) STEP(a, b, ((c ^ d) & b) ^ d, word, constant, turn)
#define G(a, b, c, d, word, turn, constant) STEP(a, b, ((b ^ c) & d) ^ c, word, constant, turn)
#define H(a, b, c, d, word, turn, constant) STEP(a, b, b ^ c ^ d, word, constant, turn)
#define I(a, b, c, d, word, turn, constant) STEP(a, b, c ^ (b | ~d), word, constant, turn)

TARGET static void ABSORB(struct lane *const lanes[], size_t blocks) {
    typedef uint32_t vector __attribute__((vector_size(4 * LANES)));
    vector a, b, c, d, words[16];
    for (int i = 0; i < LANES; i++) {
        a[i] = lanes[i]->md5->state[0], b[i] = lanes[i]->md5->state[1];
        c[i] = lanes[i]->md5->state[2], d[i] = lanes[i]->md5->state[3];
    }
    for (size_t offset = 0; offset < 64 * blocks; offset += 64) {
        for (int i = 0; i < LANES; i++)
            for (int word = 0; word < 16; word++)
                ((uint32_t *)&words[word])[i] = load32(lanes[i]->bytes + offset + 4 * word);
        const vector a0 = a, b0 = b, c0 = c, d0 = d;
#include "md5_steps.h"
        a += a0, b += b0, c += c0, d += d0;
    }
    for (int i = 0; i < LANES; i++) {
        lanes[i]->md5->state[0] = a[i], lanes[i]->md5->state[1] = b[i];
        lanes[i]->md5->state[2] = c[i], lanes[i]->md5->state[3] = d[i];
    }
}

#undef STEP
#undef F
#undef G
#undef H
#undef I
#undef LANES
#undef ABSORB
#undef TARGET
