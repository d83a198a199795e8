#pragma once
#include <stddef.h>

/// A file that is compiled in, byte for byte.
struct resource {
    const unsigned char *bytes;
    size_t count;
};

/// The contract that this build speaks: `protocol/openrpc.json`.
struct resource resource_contract(void);
/// The additions of `--harness` to the contract: `protocol/harness.json`.
struct resource resource_harness(void);
/// On each line a media type and its file name extensions, all in lower case.
struct resource resource_media_types(void);
/// The page that shows a trace, with placeholders for its style, its script and the trace.
struct resource resource_page(void);
struct resource resource_page_style(void);
struct resource resource_page_script(void);
