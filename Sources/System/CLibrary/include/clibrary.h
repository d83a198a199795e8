#pragma once

// Libraries of the system that are loaded when they are first needed, so no headers of them are needed to build,
// and none has to be installed to start.

enum { CLIBRARY_REASON_SIZE = 160 };

/// A function of a library, and a pointer to its address. It may have the name `older` instead.
struct clibrary_function {
    const char *name;
    void **address;
    const char *older;
};

/// Loads the first library that exists, for good, and finds its functions; both lists end with NULL. Returns
/// the library's name; or NULL, and writes the reason.
const char *clibrary_load(
    const char *const names[], const struct clibrary_function functions[], char reason[CLIBRARY_REASON_SIZE]);
