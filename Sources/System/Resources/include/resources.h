#pragma once
#include <stddef.h>

/// A file that is compiled in, byte for byte.
struct resource {
    const unsigned char *bytes;
    size_t count;
};

/// The contract that this build speaks: `protocol/openrpc.json`.
struct resource resource_contract(void);
/// What `--harness` adds to it: `protocol/harness.json`.
struct resource resource_harness(void);
/// A media type a line, then its file name extensions, all in lower case.
struct resource resource_media_types(void);
/// The page on which a trace is looked at: it says where its style, its script and the trace go.
struct resource resource_page(void);
struct resource resource_page_style(void);
struct resource resource_page_script(void);
