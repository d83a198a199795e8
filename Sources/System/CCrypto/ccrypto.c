#include "ccrypto.h"

#include <clibrary.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct source source;
typedef ccrypto_digest context;
typedef struct digest digest;
typedef ccrypto_key key;
typedef int password_callback(char *, int, int, void *);

// Result, name and parameters of each function; the interface has been stable since OpenSSL 1.1.1.
#define FUNCTIONS(_)                                                              \
    _(void, ERR_clear_error, (void))                                              \
    _(source *, BIO_new_mem_buf, (const void *, int))                             \
    _(int, BIO_free, (source *))                                                  \
    _(key *, PEM_read_bio_PrivateKey, (source *, key **, password_callback *, void *)) \
    _(void, EVP_PKEY_free, (key *))                                               \
    _(const digest *, EVP_sha1, (void))                                           \
    _(const digest *, EVP_sha256, (void))                                         \
    _(int, EVP_DigestInit_ex, (context *, const digest *, void *))                \
    _(int, EVP_DigestUpdate, (context *, const void *, size_t))                   \
    _(int, EVP_DigestFinal_ex, (context *, uint8_t *, unsigned *))                \
    _(context *, EVP_MD_CTX_new, (void))                                          \
    _(void, EVP_MD_CTX_free, (context *))                                         \
    _(int, EVP_DigestSignInit, (context *, void **, const digest *, void *, key *)) \
    _(int, EVP_DigestSign, (context *, uint8_t *, size_t *, const uint8_t *, size_t))

#define POINTER(result, name, parameters) result(*name) parameters;
struct ccrypto_library {
    FUNCTIONS(POINTER)
    // Renamed in OpenSSL 3.
    int (*EVP_PKEY_base_id)(const key *);
};

#ifdef __APPLE__
static const char *const usual_names[] = {"libcrypto.3.dylib", "libcrypto.1.1.dylib", NULL};
#else
static const char *const usual_names[] = {"libcrypto.so.3", "libcrypto.so.1.1", NULL};
#endif

ccrypto_library *ccrypto_load(const char *name, char *reason) {
    ccrypto_library *crypto = calloc(1, sizeof *crypto);
    if (crypto == NULL) {
        snprintf(reason, CCRYPTO_REASON_SIZE, "there is no memory for it");
        return NULL;
    }
#define FIND(result, name, parameters) {#name, (void **)&crypto->name, NULL},
    const struct clibrary_function functions[] = {
        FUNCTIONS(FIND){"EVP_PKEY_get_base_id", (void **)&crypto->EVP_PKEY_base_id, "EVP_PKEY_base_id"}, {NULL}};
    const char *const only_name[] = {name, NULL};
    if (clibrary_load(name == NULL ? usual_names : only_name, functions, reason) != NULL) return crypto;
    free(crypto);
    return NULL;
}

// Otherwise OpenSSL would ask on the terminal.
static int no_password(char *buffer, int size, int writing, void *user) {
    (void)buffer, (void)size, (void)writing, (void)user;
    return -1;
}

key *ccrypto_read_rsa(const ccrypto_library *crypto, const void *pem, size_t count) {
    enum { RSA = 6 };
    if (count == 0 || count > INT_MAX) return NULL;
    source *bytes = crypto->BIO_new_mem_buf(pem, (int)count);
    if (bytes == NULL) return NULL;
    key *read = crypto->PEM_read_bio_PrivateKey(bytes, NULL, no_password, NULL);
    crypto->BIO_free(bytes);
    crypto->ERR_clear_error();
    if (read == NULL || crypto->EVP_PKEY_base_id(read) == RSA) return read;
    crypto->EVP_PKEY_free(read);
    return NULL;
}

void ccrypto_free(const ccrypto_library *crypto, key *k) { crypto->EVP_PKEY_free(k); }

size_t ccrypto_sign(const ccrypto_library *crypto, key *k, const void *bytes, size_t count, uint8_t *signature) {
    context *signing = crypto->EVP_MD_CTX_new();
    if (signing == NULL) return 0;
    size_t size = CCRYPTO_LARGEST_SIGNATURE;
    const bool done = crypto->EVP_DigestSignInit(signing, NULL, crypto->EVP_sha256(), NULL, k) == 1 &&
                      crypto->EVP_DigestSign(signing, signature, &size, bytes, count) == 1;
    crypto->EVP_MD_CTX_free(signing);
    crypto->ERR_clear_error();
    return done ? size : 0;
}

context *ccrypto_begin(const ccrypto_library *crypto, size_t size) {
    const digest *kind = size == CCRYPTO_SHA1_SIZE ? crypto->EVP_sha1() : crypto->EVP_sha256();
    context *hashing = crypto->EVP_MD_CTX_new();
    if (hashing == NULL || crypto->EVP_DigestInit_ex(hashing, kind, NULL) == 1) return hashing;
    ccrypto_free_digest(crypto, hashing);
    return NULL;
}

bool ccrypto_update(const ccrypto_library *crypto, context *hashing, const void *bytes, size_t count) {
    return count == 0 || crypto->EVP_DigestUpdate(hashing, bytes, count) == 1;
}

bool ccrypto_finish(const ccrypto_library *crypto, context *hashing, uint8_t *hash, size_t size) {
    unsigned written = 0;
    return crypto->EVP_DigestFinal_ex(hashing, hash, &written) == 1 && written == size;
}

void ccrypto_free_digest(const ccrypto_library *crypto, context *hashing) {
    crypto->EVP_MD_CTX_free(hashing);
    crypto->ERR_clear_error();
}
