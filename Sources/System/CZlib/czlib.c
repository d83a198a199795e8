#include "czlib.h"

#include <clibrary.h>
#include <stdatomic.h>
#include <stdlib.h>

// The interface has not changed since zlib 1.0.
typedef struct {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state, *allocate, *release, *opaque;
    int data_type;
    unsigned long checksum, reserved;
} stream;

struct czlib_inflater {
    stream stream;
};

static int (*init)(stream *, int, const char *, int);
static int (*inflate)(stream *, int);
static int (*reset)(stream *);
static int (*end)(stream *);

#ifdef __APPLE__
static const char *const names[] = {"libz.1.dylib", NULL};
#else
static const char *const names[] = {"libz.so.1", NULL};
#endif

static _Bool load(void) {
    static atomic_int state;  // 1: zlib is loaded; 2: it cannot be.
    if (atomic_load(&state) == 0) {
        char reason[CLIBRARY_REASON_SIZE];
        const struct clibrary_function functions[] = {
            {"inflateInit2_", (void **)&init, NULL}, {"inflate", (void **)&inflate, NULL},
            {"inflateReset", (void **)&reset, NULL}, {"inflateEnd", (void **)&end, NULL}, {NULL}};
        atomic_store(&state, clibrary_load(names, functions, reason) != NULL ? 1 : 2);
    }
    return atomic_load(&state) == 1;
}

czlib_inflater *czlib_open(void) {
    enum { GZIP_ONLY = 15 + 16 };
    if (!load()) return NULL;
    czlib_inflater *inflater = calloc(1, sizeof *inflater);
    if (inflater == NULL) return NULL;
    if (init(&inflater->stream, GZIP_ONLY, "1.0", (int)sizeof inflater->stream) == 0) return inflater;
    free(inflater);
    return NULL;
}

enum czlib_outcome czlib_inflate(
    czlib_inflater *inflater, const void *input, size_t *input_count, void *output, size_t *output_count) {
    enum { OK = 0, STREAM_END = 1, BUFFER_ERROR = -5, NO_FLUSH = 0 };
    stream *s = &inflater->stream;
    s->next_in = input, s->avail_in = (unsigned)*input_count;
    s->next_out = output, s->avail_out = (unsigned)*output_count;
    const int outcome = inflate(s, NO_FLUSH);
    *input_count -= s->avail_in;
    *output_count -= s->avail_out;
    if (outcome == STREAM_END) return reset(s) == OK ? CZLIB_END : CZLIB_MALFORMED;
    return outcome == OK || outcome == BUFFER_ERROR ? CZLIB_MORE : CZLIB_MALFORMED;
}

void czlib_close(czlib_inflater *inflater) {
    end(&inflater->stream);
    free(inflater);
}
