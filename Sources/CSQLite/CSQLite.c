// The shims of this module are static inline functions in its header, but for the file system below.
#include "CSQLite.h"
#include <stdlib.h>
#include <string.h>

// A file system that hands a write-ahead log's frames on in few pieces. SQLite writes each frame with two calls (24 bytes,
// then a page); here what follows on what was written last waits in a buffer until the log is synced, read or used in any
// other way. Nobody else looks at frames before that: with `synchronous = FULL` a commit tells other connections of its
// frames after the sync. What cannot be written is reported by the call that needed it, with the error that the write would
// have had.

// SQLite writes at most 0x1ffff bytes in one call; asked for more, it reports a full disk.
enum { BUFFER_BYTES = 120 << 10 };

typedef struct {
    sqlite3_file base;
    unsigned char *bytes;
    int count;
    sqlite3_int64 offset;
    // The machine's file lies right behind.
} GatheringFile;

static sqlite3_vfs *machine;
static sqlite3_vfs gathering;

static sqlite3_file *inner(sqlite3_file *file) { return (sqlite3_file *)((GatheringFile *)file + 1); }

static int hand_on(sqlite3_file *file) {
    GatheringFile *own = (GatheringFile *)file;
    if (own->count == 0) return SQLITE_OK;
    int count = own->count;
    // Given up when it fails, too: SQLite then writes its frames anew.
    own->count = 0;
    return inner(file)->pMethods->xWrite(inner(file), own->bytes, count, own->offset);
}

static int gather(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    GatheringFile *own = (GatheringFile *)file;
    if (own->count > 0 && (offset != own->offset + own->count || count > BUFFER_BYTES - own->count)) {
        int code = hand_on(file);
        if (code != SQLITE_OK) return code;
    }
    if (count > BUFFER_BYTES) return inner(file)->pMethods->xWrite(inner(file), bytes, count, offset);
    if (own->count == 0) own->offset = offset;
    memcpy(own->bytes + own->count, bytes, (size_t)count);
    own->count += count;
    return SQLITE_OK;
}

// What was gathered first, then the machine's own.
#define AFTER_HANDING_ON(call)          \
    int code = hand_on(file);           \
    return code != SQLITE_OK ? code : inner(file)->pMethods->call

static int close_file(sqlite3_file *file) {
    int code = hand_on(file);
    free(((GatheringFile *)file)->bytes);
    int closed = inner(file)->pMethods->xClose(inner(file));
    return code != SQLITE_OK ? code : closed;
}
static int read_file(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    AFTER_HANDING_ON(xRead(inner(file), bytes, count, offset));
}
static int truncate_file(sqlite3_file *file, sqlite3_int64 size) { AFTER_HANDING_ON(xTruncate(inner(file), size)); }
static int sync_file(sqlite3_file *file, int flags) { AFTER_HANDING_ON(xSync(inner(file), flags)); }
static int file_size(sqlite3_file *file, sqlite3_int64 *size) { AFTER_HANDING_ON(xFileSize(inner(file), size)); }
static int file_control(sqlite3_file *file, int what, void *value) {
    AFTER_HANDING_ON(xFileControl(inner(file), what, value));
}
// A log is not locked by itself; these are only passed on.
static int lock_file(sqlite3_file *file, int level) { return inner(file)->pMethods->xLock(inner(file), level); }
static int unlock_file(sqlite3_file *file, int level) { return inner(file)->pMethods->xUnlock(inner(file), level); }
static int check_lock(sqlite3_file *file, int *held) {
    return inner(file)->pMethods->xCheckReservedLock(inner(file), held);
}
static int sector_size(sqlite3_file *file) { return inner(file)->pMethods->xSectorSize(inner(file)); }
static int characteristics(sqlite3_file *file) { return inner(file)->pMethods->xDeviceCharacteristics(inner(file)); }

// Version 1: no shared memory and no mapping, which a log has no use for.
static const sqlite3_io_methods methods = {
    1, close_file, read_file, gather, truncate_file, sync_file, file_size, lock_file, unlock_file, check_lock,
    file_control, sector_size, characteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    if (!(flags & SQLITE_OPEN_WAL)) return machine->xOpen(machine, name, file, flags, out);
    GatheringFile *own = (GatheringFile *)file;
    memset(own, 0, sizeof *own);
    inner(file)->pMethods = 0;
    int code = machine->xOpen(machine, name, inner(file), flags, out);
    if (code != SQLITE_OK) return code;
    own->bytes = malloc(BUFFER_BYTES);
    if (!own->bytes) {
        inner(file)->pMethods->xClose(inner(file));
        return SQLITE_NOMEM;
    }
    own->base.pMethods = &methods;
    return SQLITE_OK;
}

const char *csqlite_gathering_vfs(void) {
    if (!machine) {
        sqlite3_vfs *found = sqlite3_vfs_find(0);
        if (!found) return 0;
        gathering = *found;
        gathering.pNext = 0;
        gathering.zName = "cutover-gathering";
        gathering.szOsFile = found->szOsFile + (int)sizeof(GatheringFile);
        gathering.xOpen = open_file;
        machine = found;
        if (sqlite3_vfs_register(&gathering, 0) != SQLITE_OK) return 0;
    }
    return gathering.zName;
}

void csqlite_forget_gathered(sqlite3 *connection) {
    sqlite3_file *file = 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return;
    if (file && file->pMethods == &methods) ((GatheringFile *)file)->count = 0;
}
