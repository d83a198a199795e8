#pragma once
#include <stdint.h>

// The part of SQLite that is used here. The library is loaded when it is first needed, so no
// headers of it are needed to build. Functions are the sqlite3_ functions of the same name.

/// Loads the library, once for the process. NULL, or why it cannot be loaded; no other function may then be called.
const char *csqlite_load(void);

typedef struct csqlite_connection csqlite_connection;
typedef struct csqlite_statement csqlite_statement;

enum csqlite_result {
    CSQLITE_OK = 0,
    CSQLITE_ERROR = 1,
    CSQLITE_BUSY = 5,
    CSQLITE_LOCKED = 6,
    CSQLITE_NOMEM = 7,
    CSQLITE_READONLY = 8,
    CSQLITE_IOERR = 10,
    CSQLITE_CORRUPT = 11,
    CSQLITE_FULL = 13,
    CSQLITE_CANTOPEN = 14,
    CSQLITE_CONSTRAINT = 19,
    CSQLITE_MISMATCH = 20,
    CSQLITE_MISUSE = 21,
    CSQLITE_RANGE = 25,
    CSQLITE_NOTADB = 26,
    CSQLITE_ROW = 100,
    CSQLITE_DONE = 101,
};

enum csqlite_type {
    CSQLITE_INTEGER = 1,
    CSQLITE_FLOAT = 2,
    CSQLITE_TEXT = 3,
    CSQLITE_BLOB = 4,
    CSQLITE_NULL = 5,
};

/// Opens for reading and writing by one thread at a time, creates a missing file, and
/// enables extended result codes. `*out` must be closed even after an error.
int csqlite_open(const char *path, csqlite_connection **out);
/// Closes once the last statement is finalized.
int csqlite_close(csqlite_connection *);
/// Moves the log to the file after each commit with which it has 1000 pages. Stores CSQLITE_DONE or the error of a move at
/// `result`, which must exist until the connection is closed.
void csqlite_note_checkpoints(csqlite_connection *, int32_t *result);
int csqlite_busy_timeout(csqlite_connection *, int milliseconds);
int csqlite_exec(csqlite_connection *, const char *sql);
int csqlite_get_autocommit(csqlite_connection *);
int csqlite_db_readonly(csqlite_connection *);
int csqlite_changes(csqlite_connection *);
int64_t csqlite_last_insert_rowid(csqlite_connection *);
/// Grows with each commit of this connection, and in a transaction before which another connection has changed the file.
uint32_t csqlite_data_version(csqlite_connection *);

int csqlite_extended_errcode(csqlite_connection *);
/// The errno that the last open, exec, prepare, step or reset of this thread has left; 0 if none of its system calls
/// failed. It may be set even after a success.
int csqlite_system_errno(void);
const char *csqlite_errmsg(csqlite_connection *);
const char *csqlite_errstr(int code);

/// Compiles the first statement of `sql` for long use; `*tail` is where the next one would start.
int csqlite_prepare(csqlite_connection *, const char *sql, int count, csqlite_statement **out, const char **tail);
int csqlite_step(csqlite_statement *);
int csqlite_reset(csqlite_statement *);
int csqlite_clear_bindings(csqlite_statement *);
int csqlite_finalize(csqlite_statement *);

int csqlite_bind_parameter_count(csqlite_statement *);
/// The parameter's name with its colon; NULL if it has none.
const char *csqlite_bind_parameter_name(csqlite_statement *, int index);
int csqlite_bind_int64(csqlite_statement *, int index, int64_t value);
int csqlite_bind_text(csqlite_statement *, int index, const char *utf8, uint64_t count);
/// Does not copy: the bytes must stay until the binding is cleared. Zero bytes are an empty blob, not NULL.
int csqlite_bind_blob(csqlite_statement *, int index, const void *bytes, uint64_t count);

int csqlite_column_count(csqlite_statement *);
/// Valid until the statement is finalized or recompiled. NULL if memory is short.
const char *csqlite_column_name(csqlite_statement *, int index);
/// How often the statement was recompiled because the schema had changed, which may change its columns.
int csqlite_recompiled(csqlite_statement *);
int csqlite_column_type(csqlite_statement *, int index);
int64_t csqlite_column_int64(csqlite_statement *, int index);
const unsigned char *csqlite_column_text(csqlite_statement *, int index);
const void *csqlite_column_blob(csqlite_statement *, int index);
int csqlite_column_bytes(csqlite_statement *, int index);
