#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The part of OpenSSL's libcrypto that SHA-1, SHA-256 and signing with RSA need. The library is loaded when it is
// first needed, so no headers of it are needed to build.

typedef struct ccrypto_library ccrypto_library;
typedef struct ccrypto_key ccrypto_key;
typedef struct ccrypto_digest ccrypto_digest;

enum { CCRYPTO_REASON_SIZE = 160, CCRYPTO_LARGEST_SIGNATURE = 2048, CCRYPTO_SHA1_SIZE = 20, CCRYPTO_SHA256_SIZE = 32 };

/// Loads the library of this name, or for NULL the first one with a usual name, and never unloads it. NULL if it
/// cannot be loaded; `reason`, of `CCRYPTO_REASON_SIZE` bytes, says why.
ccrypto_library *ccrypto_load(const char *name, char *reason);

/// The private RSA key in a PEM text. NULL if there is none, or if it needs a password.
ccrypto_key *ccrypto_read_rsa(const ccrypto_library *, const void *pem, size_t count);
void ccrypto_free(const ccrypto_library *, ccrypto_key *);

/// RSASSA-PKCS1-v1_5 with SHA-256 into `CCRYPTO_LARGEST_SIGNATURE` bytes: the signature's size, 0 after a failure.
size_t ccrypto_sign(const ccrypto_library *, ccrypto_key *, const void *bytes, size_t count, uint8_t *signature);

/// SHA-1 or SHA-256, by the size of the hash, over bytes that arrive in pieces. NULL after a failure.
ccrypto_digest *ccrypto_begin(const ccrypto_library *, size_t size);
/// False after a failure.
bool ccrypto_update(const ccrypto_library *, ccrypto_digest *, const void *bytes, size_t count);
/// Writes the hash of all bytes, once, into the `size` bytes with which it began; false after a failure.
bool ccrypto_finish(const ccrypto_library *, ccrypto_digest *, uint8_t *hash, size_t size);
void ccrypto_free_digest(const ccrypto_library *, ccrypto_digest *);
