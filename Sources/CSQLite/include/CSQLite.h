#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift's importer leaves out.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int bytes) {
    return sqlite3_bind_text(statement, index, text, bytes, SQLITE_TRANSIENT);
}
// The caller keeps the bytes alive until the statement is reset (SQLITE_STATIC), and binds all values anew before the next run.
static inline int csqlite_bind_text_static(sqlite3_stmt *statement, int index, const char *text, int bytes) {
    return sqlite3_bind_text(statement, index, text, bytes, SQLITE_STATIC);
}
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *blob, int bytes) {
    return sqlite3_bind_blob(statement, index, blob, bytes, SQLITE_TRANSIENT);
}
// The caller keeps the bytes alive until the statement is reset (SQLITE_STATIC).
static inline int csqlite_bind_blob_static(sqlite3_stmt *statement, int index, const void *blob, int bytes) {
    return sqlite3_bind_blob(statement, index, blob, bytes, SQLITE_STATIC);
}

// Variadic functions stay out of Swift's reach.
// Before the first connection: no statistics on memory, which cost a lock for every allocation.
static inline int csqlite_configure(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
// Right after opening: `slots` small allocations of up to `bytes` each are served from one block.
static inline int csqlite_lookaside(sqlite3 *connection, int bytes, int slots) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_LOOKASIDE, (void *)0, bytes, slots);
}

// The name of a file system that hands a write-ahead log's frames on in few pieces (CSQLite.c), registered by the first
// call; not from two threads at once. NULL: there is none. For the one connection that writes a file, with
// `synchronous = FULL`.
const char *csqlite_gathering_vfs(void);
// After a rollback: what was not handed on yet is not wanted any more.
void csqlite_forget_gathered(sqlite3 *connection);
