#pragma once

// Libraries of the system that are looked for when they are first needed, so no headers of them are needed to build,
// and none has to be there to start.

enum { CLIBRARY_REASON_SIZE = 160 };

/// A function of a library, and where its address goes. With `older` one that may have that name instead.
struct clibrary_function {
    const char *name;
    void **address;
    const char *older;
};

/// Loads the first of the libraries that there is, for good, and finds its functions; both lists end with NULL. Returns
/// the library's name, or NULL and writes why not.
const char *clibrary_load(
    const char *const names[], const struct clibrary_function functions[], char reason[CLIBRARY_REASON_SIZE]);
