#include "csqlite.h"

#include <clibrary.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

typedef csqlite_connection connection;
typedef csqlite_statement statement;

// Result, name and parameters of each function; the interface has been stable since before SQLite 3.20.
#define FUNCTIONS(_)                                                                      \
    _(int, config, (int, ...))                                                            \
    _(int, file_control, (connection *, const char *, int, void *))                       \
    _(int, open_v2, (const char *, connection **, int, const char *))                     \
    _(int, close_v2, (connection *))                                                      \
    _(int, extended_result_codes, (connection *, int))                                    \
    _(int, busy_timeout, (connection *, int))                                             \
    _(int, exec, (connection *, const char *, void *, void *, char **))                   \
    _(void *, wal_hook, (connection *, int (*)(void *, connection *, const char *, int), void *)) \
    _(int, wal_checkpoint_v2, (connection *, const char *, int, int *, int *))            \
    _(int, get_autocommit, (connection *))                                                \
    _(int, db_readonly, (connection *, const char *))                                     \
    _(int, changes, (connection *))                                                       \
    _(int64_t, last_insert_rowid, (connection *))                                         \
    _(int, extended_errcode, (connection *))                                              \
    _(const char *, errmsg, (connection *))                                               \
    _(const char *, errstr, (int))                                                        \
    _(int, prepare_v3, (connection *, const char *, int, unsigned, statement **, const char **)) \
    _(int, step, (statement *))                                                           \
    _(int, reset, (statement *))                                                          \
    _(int, clear_bindings, (statement *))                                                 \
    _(int, finalize, (statement *))                                                       \
    _(int, bind_parameter_count, (statement *))                                           \
    _(const char *, bind_parameter_name, (statement *, int))                              \
    _(int, bind_int64, (statement *, int, int64_t))                                       \
    _(int, bind_text64, (statement *, int, const char *, uint64_t, void (*)(void *), unsigned char)) \
    _(int, bind_blob64, (statement *, int, const void *, uint64_t, void (*)(void *)))     \
    _(int, column_count, (statement *))                                                   \
    _(const char *, column_name, (statement *, int))                                      \
    _(int, stmt_status, (statement *, int, int))                                          \
    _(int, column_type, (statement *, int))                                               \
    _(int64_t, column_int64, (statement *, int))                                          \
    _(const unsigned char *, column_text, (statement *, int))                             \
    _(const void *, column_blob, (statement *, int))                                      \
    _(int, column_bytes, (statement *, int))

#define POINTER(result, name, parameters) result(*name) parameters;
static struct {
    FUNCTIONS(POINTER)
} sqlite;

#ifdef __APPLE__
static const char *const names[] = {"libsqlite3.dylib", NULL};
#else
static const char *const names[] = {"libsqlite3.so.0", NULL};
#endif

static char failure[CLIBRARY_REASON_SIZE];

enum { OPEN_READWRITE = 2, OPEN_CREATE = 4, OPEN_NOMUTEX = 0x8000, OPEN_NOFOLLOW = 0x01000000, PREPARE_PERSISTENT = 1, UTF8 = 1, STATUS_REPREPARE = 5, FILE_DATA_VERSION = 35, CONFIG_MEMSTATUS = 9, CHECKPOINT_PASSIVE = 0 };
#define STATIC ((void (*)(void *))0)

static void load(void) {
#define FIND(result, name, parameters) {"sqlite3_" #name, (void **)&sqlite.name, NULL},
    clibrary_load(names, (struct clibrary_function[]){FUNCTIONS(FIND){NULL}}, failure);
    // Counts of memory would take a lock with each allocation. Only the first user in a process can set this.
    if (failure[0] == 0) sqlite.config(CONFIG_MEMSTATUS, 0);
}

const char *csqlite_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return failure[0] == 0 ? NULL : failure;
}

// SQLite itself does not keep the errno of a failed commit.
static _Thread_local int system_errno;
static int noting(int code) {
    system_errno = errno;
    return code;
}
#define NOTING(call) (errno = 0, noting(call))

int csqlite_open(const char *path, connection **out) {
    const int code =
        NOTING(sqlite.open_v2(path, out, OPEN_READWRITE | OPEN_CREATE | OPEN_NOMUTEX | OPEN_NOFOLLOW, NULL));
    return code != CSQLITE_OK ? code : sqlite.extended_result_codes(*out, 1);
}

// As SQLite's own hook, which drops the result of a checkpoint.
static int after_commit(void *result, connection *c, const char *name, int pages) {
    if (pages < 1000) return CSQLITE_OK;
    const int code = sqlite.wal_checkpoint_v2(c, name, CHECKPOINT_PASSIVE, NULL, NULL);
    *(int32_t *)result = code == CSQLITE_OK ? CSQLITE_DONE : code;
    return CSQLITE_OK;
}

void csqlite_note_checkpoints(connection *c, int32_t *result) { sqlite.wal_hook(c, after_commit, result); }

int csqlite_close(connection *c) { return sqlite.close_v2(c); }
int csqlite_busy_timeout(connection *c, int milliseconds) { return sqlite.busy_timeout(c, milliseconds); }
int csqlite_exec(connection *c, const char *sql) { return NOTING(sqlite.exec(c, sql, NULL, NULL, NULL)); }
int csqlite_get_autocommit(connection *c) { return sqlite.get_autocommit(c); }
int csqlite_db_readonly(connection *c) { return sqlite.db_readonly(c, "main"); }
int csqlite_changes(connection *c) { return sqlite.changes(c); }
int64_t csqlite_last_insert_rowid(connection *c) { return sqlite.last_insert_rowid(c); }
uint32_t csqlite_data_version(connection *c) {
    uint32_t version = 0;
    return sqlite.file_control(c, "main", FILE_DATA_VERSION, &version) == CSQLITE_OK ? version : 0;
}

int csqlite_extended_errcode(connection *c) { return sqlite.extended_errcode(c); }
int csqlite_system_errno(void) { return system_errno; }
const char *csqlite_errmsg(connection *c) { return sqlite.errmsg(c); }
const char *csqlite_errstr(int code) { return sqlite.errstr(code); }

int csqlite_prepare(connection *c, const char *sql, int count, statement **out, const char **tail) {
    return NOTING(sqlite.prepare_v3(c, sql, count, PREPARE_PERSISTENT, out, tail));
}

int csqlite_step(statement *s) { return NOTING(sqlite.step(s)); }
int csqlite_reset(statement *s) {
    // Repeats the failure of the last step, unless it has another one.
    const int earlier = system_errno, code = NOTING(sqlite.reset(s));
    if (system_errno == 0) system_errno = earlier;
    return code;
}
int csqlite_clear_bindings(statement *s) { return sqlite.clear_bindings(s); }
int csqlite_finalize(statement *s) { return sqlite.finalize(s); }

int csqlite_bind_parameter_count(statement *s) { return sqlite.bind_parameter_count(s); }
const char *csqlite_bind_parameter_name(statement *s, int i) { return sqlite.bind_parameter_name(s, i); }
int csqlite_bind_int64(statement *s, int i, int64_t value) { return sqlite.bind_int64(s, i, value); }

int csqlite_bind_text(statement *s, int i, const char *utf8, uint64_t count) {
    return sqlite.bind_text64(s, i, utf8 ? utf8 : "", count, STATIC, UTF8);
}

int csqlite_bind_blob(statement *s, int i, const void *bytes, uint64_t count) {
    return sqlite.bind_blob64(s, i, bytes ? bytes : "", count, STATIC);
}

int csqlite_column_count(statement *s) { return sqlite.column_count(s); }
const char *csqlite_column_name(statement *s, int i) { return sqlite.column_name(s, i); }
int csqlite_recompiled(statement *s) { return sqlite.stmt_status(s, STATUS_REPREPARE, 0); }
int csqlite_column_type(statement *s, int i) { return sqlite.column_type(s, i); }
int64_t csqlite_column_int64(statement *s, int i) { return sqlite.column_int64(s, i); }
const unsigned char *csqlite_column_text(statement *s, int i) { return sqlite.column_text(s, i); }
const void *csqlite_column_blob(statement *s, int i) { return sqlite.column_blob(s, i); }
int csqlite_column_bytes(statement *s, int i) { return sqlite.column_bytes(s, i); }
