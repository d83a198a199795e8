#include "resources.h"

#define RESOURCE(name) \
    struct resource resource_##name(void) { return (struct resource){name, sizeof name}; }

static const unsigned char contract[] = {
#embed "../../../protocol/openrpc.json"
};
static const unsigned char harness[] = {
#embed "../../../protocol/harness.json"
};
static const unsigned char media_types[] = {
#embed "media-types.txt"
};
static const unsigned char page[] = {
#embed "page.html"
};
static const unsigned char page_style[] = {
#embed "page.css"
};
static const unsigned char page_script[] = {
#embed "page.js"
};

RESOURCE(contract)
RESOURCE(harness)
RESOURCE(media_types)
RESOURCE(page)
RESOURCE(page_style)
RESOURCE(page_script)
