#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// The offset of the first `byte`; `count` without one.
static inline size_t cscan_find(const void *bytes, size_t count, uint8_t byte) {
    const void *found = count ? memchr(bytes, byte, count) : NULL;
    return found ? (size_t)((const uint8_t *)found - (const uint8_t *)bytes) : count;
}

static inline bool cscan_equal(const void *bytes, const void *others, size_t count) {
    return memcmp(bytes, others, count) == 0;
}

/// Whether there are control characters other than tabs. The loop looks at all bytes, so that it becomes one of vectors.
static inline bool cscan_has_controls(const uint8_t *bytes, size_t count) {
    uint8_t found = 0;
    for (size_t i = 0; i < count; i++) found |= (bytes[i] < 0x20 && bytes[i] != 0x09) | (bytes[i] == 0x7F);
    return found;
}

typedef struct {
    size_t length;
    bool is_ascii;
} cscan_run;

/// The number of bytes from the start that need no escape in a JSON string: up to `"`, `\`, a control byte or the end.
cscan_run cscan_plain_run(const void *text, size_t count);

/// The offset of the first U+0085, U+2028 or U+2029 in UTF-8; `count` without one.
size_t cscan_line_separator(const void *text, size_t count);

/// Decodes the Base64 of RFC 4648, section 4, into `count / 4 * 3` bytes, and returns their number. -1 unless the text
/// is the canonical encoding of these bytes.
ptrdiff_t cscan_base64_decode(const void *characters, size_t count, uint8_t *bytes);

/// Encodes `count` bytes as `(count + 2) / 3 * 4` characters.
void cscan_base64_encode(const void *data, size_t count, uint8_t *text);
