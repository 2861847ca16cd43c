#pragma once
// Without _GNU_SOURCE, like CCurl: whoever imports this also imports Swift's Glibc.
#include <postgresql/libpq-fe.h>

// The fields of an error are macros of characters, which Swift's importer leaves out.
static inline const char *cpostgres_sqlstate(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline const char *cpostgres_primary_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
// libpq owns a notification by malloc; PQfreemem is its way to give it back.
static inline void cpostgres_free(void *pointer) { PQfreemem(pointer); }
// Notices ("relation already exists, skipping") would go to the standard error.
static inline void cpostgres_ignore(void *argument, const PGresult *result) {
    (void)argument;
    (void)result;
}
static inline void cpostgres_silence(PGconn *connection) {
    PQsetNoticeReceiver(connection, cpostgres_ignore, (void *)0);
}
