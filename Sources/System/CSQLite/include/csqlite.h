#pragma once
#include <stdint.h>

// SQLite, as much of it as is used here. The library is looked for when it is first needed, so no
// headers of it are needed to build. Functions are the sqlite3_ functions of the same name.

/// Loads the library, once for the process. NULL, or why it cannot be had; nothing else may be called then.
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

/// Opens for reading and writing by one thread at a time, makes the file if there is none, and
/// asks for extended result codes. `*out` is to be closed after an error as well.
int csqlite_open(const char *path, csqlite_connection **out);
/// Closes once the last statement is finalized.
int csqlite_close(csqlite_connection *);
int csqlite_busy_timeout(csqlite_connection *, int milliseconds);
int csqlite_exec(csqlite_connection *, const char *sql);
int csqlite_get_autocommit(csqlite_connection *);
int csqlite_db_readonly(csqlite_connection *);
int csqlite_changes(csqlite_connection *);
int64_t csqlite_last_insert_rowid(csqlite_connection *);

int csqlite_extended_errcode(csqlite_connection *);
/// The errno that the last open, exec, prepare, step or reset of this thread has left; 0 if none of its system calls
/// failed. Some may fail though all went well.
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
/// With its colon; NULL where it has no name.
const char *csqlite_bind_parameter_name(csqlite_statement *, int index);
int csqlite_bind_int64(csqlite_statement *, int index, int64_t value);
int csqlite_bind_text(csqlite_statement *, int index, const char *utf8, uint64_t count);
/// Does not copy: the bytes have to stay until the binding is cleared. No bytes are an empty blob, not NULL.
int csqlite_bind_blob(csqlite_statement *, int index, const void *bytes, uint64_t count);

int csqlite_column_count(csqlite_statement *);
/// Good until the statement is finalized or compiled anew. NULL where there is no memory for it.
const char *csqlite_column_name(csqlite_statement *, int index);
/// How often the statement was compiled anew because the schema had changed: its columns may be others then.
int csqlite_recompiled(csqlite_statement *);
int csqlite_column_type(csqlite_statement *, int index);
int64_t csqlite_column_int64(csqlite_statement *, int index);
const unsigned char *csqlite_column_text(csqlite_statement *, int index);
const void *csqlite_column_blob(csqlite_statement *, int index);
int csqlite_column_bytes(csqlite_statement *, int index);
