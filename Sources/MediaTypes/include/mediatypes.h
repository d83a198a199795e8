#pragma once
#include <stddef.h>

/// media-types.txt, compiled in: a media type a line, then its file name extensions, all in lower case.
const unsigned char *media_types_bytes(void);
size_t media_types_count(void);
