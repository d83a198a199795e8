#pragma once
#include <stddef.h>
#include <stdint.h>

/// MD5 (RFC 1321) over bytes that arrive in pieces.
typedef struct {
    uint32_t state[4];
    uint64_t length;
    uint8_t block[64];
} checksums_md5;

void checksums_md5_init(checksums_md5 *md5);
void checksums_md5_update(checksums_md5 *md5, const void *bytes, size_t count);

/// The maximum number of streams of `checksums_md5_update_many`.
#define CHECKSUMS_MD5_STREAMS 8

/// Hashes bytes of `count` streams together, with the result of one `checksums_md5_update` for each: in the lanes of
/// vectors, which for three or more streams is faster than one after the other.
void checksums_md5_update_many(checksums_md5 md5[], const void *const bytes[], const size_t counts[], int count);

/// The digest of all bytes so far; more bytes may follow.
void checksums_md5_digest(const checksums_md5 *md5, uint8_t out[16]);

/// CRC32C (Castagnoli) of `count` more bytes after those that gave `crc`; the CRC of nothing is 0.
uint32_t checksums_crc32c(uint32_t crc, const void *bytes, size_t count);

/// CRC32C without the processor's CRC instruction.
uint32_t checksums_crc32c_portable(uint32_t crc, const void *bytes, size_t count);
