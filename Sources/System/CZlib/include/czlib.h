#pragma once

#include <stddef.h>

// The part of zlib that unpacking gzip needs. The library is loaded when it is first needed, so no headers of it are
// needed to build.

typedef struct czlib_inflater czlib_inflater;

enum czlib_outcome { CZLIB_MORE, CZLIB_END, CZLIB_MALFORMED };

/// Begins to unpack gzip. NULL without zlib or memory. The first call must return before others begin.
czlib_inflater *czlib_open(void);

/// Unpacks `input` to `output`, and sets both counts to the bytes used. `CZLIB_END`: a gzip member is complete; another
/// one may follow.
enum czlib_outcome czlib_inflate(
    czlib_inflater *, const void *input, size_t *input_count, void *output, size_t *output_count);

void czlib_close(czlib_inflater *);
