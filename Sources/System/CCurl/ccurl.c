#include "ccurl.h"

#include <clibrary.h>
#include <pthread.h>
#include <stdio.h>

typedef ccurl_easy easy;
typedef ccurl_multi multi;
typedef ccurl_list list;

typedef struct {
    int kind;
    easy *handle;
    union {
        void *anything;
        int code;
    } data;
} message;

// Result, name and parameters of each function; the interface has been stable since before libcurl 7.68.
#define FUNCTIONS(_)                                          \
    _(int, global_init, (long))                               \
    _(easy *, easy_init, (void))                              \
    _(void, easy_cleanup, (easy *))                           \
    _(int, easy_setopt, (easy *, int, ...))                   \
    _(int, easy_getinfo, (easy *, int, ...))                  \
    _(int, easy_pause, (easy *, int))                         \
    _(const char *, easy_strerror, (int))                     \
    _(list *, slist_append, (list *, const char *))           \
    _(void, slist_free_all, (list *))                         \
    _(multi *, multi_init, (void))                            \
    _(int, multi_cleanup, (multi *))                          \
    _(int, multi_setopt, (multi *, int, ...))                 \
    _(int, multi_add_handle, (multi *, easy *))               \
    _(int, multi_remove_handle, (multi *, easy *))            \
    _(int, multi_perform, (multi *, int *))                   \
    _(int, multi_poll, (multi *, void *, unsigned, int, int *)) \
    _(int, multi_wakeup, (multi *))                           \
    _(const char *, multi_strerror, (int))                    \
    _(message *, multi_info_read, (multi *, int *))

#define POINTER(result, name, parameters) result(*name) parameters;
static struct {
    FUNCTIONS(POINTER)
} curl;

#ifdef __APPLE__
static const char *const names[] = {"/usr/lib/libcurl.4.dylib", "libcurl.4.dylib", NULL};
#else
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
#endif

static char failure[CLIBRARY_REASON_SIZE];

static void load(void) {
#define FIND(result, name, parameters) {"curl_" #name, (void **)&curl.name, NULL},
    const char *file = clibrary_load(names, (struct clibrary_function[]){FUNCTIONS(FIND){NULL}}, failure);
    if (file == NULL) return;
    enum { GLOBAL_ALL = 3 };
    const int code = curl.global_init(GLOBAL_ALL);
    if (code != 0) snprintf(failure, sizeof failure, "%s cannot be started: %s", file, curl.easy_strerror(code));
}

const char *ccurl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return failure[0] == 0 ? NULL : failure;
}

easy *ccurl_easy_init(void) { return curl.easy_init(); }
void ccurl_easy_cleanup(easy *e) { curl.easy_cleanup(e); }
int ccurl_easy_pause(easy *e, int directions) { return curl.easy_pause(e, directions); }
const char *ccurl_easy_strerror(int code) { return curl.easy_strerror(code); }

int ccurl_set_long(easy *e, int option, long value) { return curl.easy_setopt(e, option, value); }
int ccurl_set_offset(easy *e, int option, int64_t value) { return curl.easy_setopt(e, option, value); }
int ccurl_set_bytes(easy *e, int option, const void *bytes) { return curl.easy_setopt(e, option, bytes); }
int ccurl_set_headers(easy *e, list *l) { return curl.easy_setopt(e, CCURL_HTTPHEADER, l); }
int ccurl_set_error_buffer(easy *e, char *buffer) { return curl.easy_setopt(e, CCURL_ERRORBUFFER, buffer); }

int ccurl_set_callbacks(easy *e, const ccurl_callbacks *callbacks, int *option) {
    int code = CCURL_OK;
#define SET(name, value) \
    if (code == CCURL_OK) code = curl.easy_setopt(e, *option = CCURL_##name, value);
#define CALLBACK(name, function)              \
    SET(name##FUNCTION, callbacks->function)  \
    SET(name##DATA, callbacks->context)
    CALLBACK(HEADER, header)
    CALLBACK(WRITE, write)
    CALLBACK(READ, read)
    CALLBACK(SEEK, seek)
    CALLBACK(XFERINFO, progress)
    CALLBACK(SOCKOPT, connecting)
    CALLBACK(RESOLVER_START_, resolving)
    return code;
}

int ccurl_set_sending(easy *e, const ccurl_callbacks *callbacks) {
    const int code = curl.easy_setopt(e, CCURL_PREREQFUNCTION, callbacks->sending);
    return code != CCURL_OK ? code : curl.easy_setopt(e, CCURL_PREREQDATA, callbacks->context);
}

const char *ccurl_option_name(int option) {
    switch (option) {
#define NAME(name, number) case number: return "CURLOPT_" #name;
        CCURL_OPTIONS(NAME)
    }
    return "an option";
}

long ccurl_get_long(easy *e, int info) {
    long value = 0;
    return curl.easy_getinfo(e, info, &value) == CCURL_OK ? value : 0;
}

int64_t ccurl_get_offset(easy *e, int info) {
    int64_t value = 0;
    return curl.easy_getinfo(e, info, &value) == CCURL_OK ? value : 0;
}

list *ccurl_list_append(list *l, const char *string) { return curl.slist_append(l, string); }
void ccurl_list_free(list *l) { curl.slist_free_all(l); }

multi *ccurl_multi_init(void) { return curl.multi_init(); }
int ccurl_multi_cleanup(multi *m) { return curl.multi_cleanup(m); }
int ccurl_multi_set_long(multi *m, int option, long value) { return curl.multi_setopt(m, option, value); }
int ccurl_multi_add(multi *m, easy *e) { return curl.multi_add_handle(m, e); }
int ccurl_multi_remove(multi *m, easy *e) { return curl.multi_remove_handle(m, e); }

int ccurl_multi_perform(multi *m) {
    int running;
    return curl.multi_perform(m, &running);
}

int ccurl_multi_poll(multi *m, int timeout) { return curl.multi_poll(m, NULL, 0, timeout, NULL); }
int ccurl_multi_wakeup(multi *m) { return curl.multi_wakeup(m); }
const char *ccurl_multi_strerror(int code) { return curl.multi_strerror(code); }

easy *ccurl_multi_next_ended(multi *m, int *code) {
    enum { DONE = 1 };
    int left;
    for (message *next; (next = curl.multi_info_read(m, &left)) != NULL;) {
        if (next->kind != DONE) continue;
        *code = next->data.code;
        return next->handle;
    }
    return NULL;
}
