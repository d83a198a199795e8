#include "clibrary.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

const char *clibrary_load(
    const char *const names[], const struct clibrary_function functions[], char reason[CLIBRARY_REASON_SIZE]) {
    const char *const *name = names;
    void *library = NULL;
    while (*name != NULL && (library = dlopen(*name, RTLD_NOW | RTLD_LOCAL)) == NULL) name++;
    if (library == NULL) {
        snprintf(reason, CLIBRARY_REASON_SIZE, "%s cannot be loaded", names[0]);
        return NULL;
    }
    for (const struct clibrary_function *function = functions; function->name != NULL; function++) {
        void *address = dlsym(library, function->name);
        if (address == NULL && function->older != NULL) address = dlsym(library, function->older);
        if (address == NULL) {
            snprintf(reason, CLIBRARY_REASON_SIZE, "%s is too old, it lacks %s", *name, function->name);
            dlclose(library);
            return NULL;
        }
        *function->address = address;
    }
    return *name;
}
