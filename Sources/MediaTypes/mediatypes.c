#include "mediatypes.h"

static const unsigned char text[] = {
#embed "media-types.txt"
};

const unsigned char *media_types_bytes(void) { return text; }
size_t media_types_count(void) { return sizeof text; }
