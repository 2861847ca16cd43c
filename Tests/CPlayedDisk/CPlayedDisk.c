#include "CPlayedDisk.h"
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, FILES = 8, REGIONS = 64 };

// A change of a file that was not synced yet: bytes at an offset, or (without bytes) a new length.
typedef struct {
    int64_t offset;
    int64_t length;
    uint8_t *bytes;
} change;

typedef struct {
    uint8_t *bytes;
    int64_t length;
    int64_t capacity;
} content;

typedef struct {
    char *name;
    // What readers see, and what would be there after a crash that keeps nothing else.
    content seen, durable;
    change *changes;
    int change_count, change_capacity;
    // The shared memory of the write-ahead log's index; gone with the power.
    void *regions[REGIONS];
    int region_size;
} file;

struct played_disk {
    sqlite3_vfs vfs;
    file files[FILES];
    int file_count;
    uint64_t random;
    // Counts the crashes: a handle of an earlier one is of no use any more.
    int epoch;
    int dead, fail_after, failing, ignores_syncs;
    int64_t limit;
    uint64_t syncs;
};

typedef struct {
    sqlite3_file base;
    played_disk *disk;
    file *file;
    int epoch;
} handle;

static uint64_t draw(played_disk *disk) {
    uint64_t z = disk->random += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(malloc(size), text, size);
}

// MARK: Contents

static void grow(content *c, int64_t length) {
    if (length > c->capacity) {
        c->capacity = length * 2;
        c->bytes = realloc(c->bytes, (size_t)c->capacity);
    }
    if (length > c->length) {
        memset(c->bytes + c->length, 0, (size_t)(length - c->length));
        c->length = length;
    }
}

static void put(content *c, int64_t offset, const uint8_t *bytes, int64_t length) {
    grow(c, offset + length);
    memcpy(c->bytes + offset, bytes, (size_t)length);
}

static void set_length(content *c, int64_t length) {
    if (length > c->length) grow(c, length);
    c->length = length;
}

static void apply(content *c, const change *x) {
    if (x->bytes) put(c, x->offset, x->bytes, x->length);
    else set_length(c, x->length);
}

static void remember(file *f, int64_t offset, const uint8_t *bytes, int64_t length) {
    if (f->change_count == f->change_capacity) {
        f->change_capacity = f->change_capacity ? f->change_capacity * 2 : 16;
        f->changes = realloc(f->changes, (size_t)f->change_capacity * sizeof *f->changes);
    }
    change *x = &f->changes[f->change_count++];
    x->offset = offset;
    x->length = length;
    x->bytes = NULL;
    if (bytes) {
        x->bytes = malloc((size_t)length + 1);
        memcpy(x->bytes, bytes, (size_t)length);
    }
}

static void forget_changes(file *f) {
    for (int i = 0; i < f->change_count; i++) free(f->changes[i].bytes);
    f->change_count = 0;
}

static void forget_regions(file *f) {
    for (int i = 0; i < REGIONS; i++) {
        free(f->regions[i]);
        f->regions[i] = NULL;
    }
}

// MARK: The power

// Keeps some sectors of one write and loses the others.
static void tear(played_disk *disk, content *c, const change *x) {
    for (int64_t from = 0; from < x->length;) {
        int64_t to = ((x->offset + from) / SECTOR + 1) * SECTOR - x->offset;
        if (to > x->length) to = x->length;
        if (draw(disk) & 1) put(c, x->offset + from, x->bytes + from, to - from);
        from = to;
    }
}

// A disk may have taken all, nothing, the first so many, or any of the writes that nobody has waited for.
static void lose(played_disk *disk, file *f) {
    int manner = (int)(draw(disk) % 4);
    int first = f->change_count ? (int)(draw(disk) % (uint64_t)(f->change_count + 1)) : 0;
    for (int i = 0; i < f->change_count; i++) {
        change *x = &f->changes[i];
        int keeps = manner == 0 ? 1 : manner == 1 ? i < first : manner == 2 ? (int)(draw(disk) & 1) : 0;
        int tears = x->bytes && (manner == 1 ? i == first : manner == 2 && draw(disk) % 4 == 0);
        if (tears) tear(disk, &f->durable, x);
        else if (keeps) apply(&f->durable, x);
    }
}

void played_disk_crash(played_disk *disk) {
    for (int i = 0; i < disk->file_count; i++) {
        file *f = &disk->files[i];
        lose(disk, f);
        forget_changes(f);
        f->seen.length = 0;
        put(&f->seen, 0, f->durable.bytes ? f->durable.bytes : (const uint8_t *)"", f->durable.length);
        forget_regions(f);
    }
    disk->epoch++;
    disk->dead = 0;
    disk->fail_after = 0;
    disk->failing = 0;
}

// What a call that changes something has to expect.
static int trouble(handle *h) {
    played_disk *disk = h->disk;
    if (h->epoch != disk->epoch || disk->dead) return SQLITE_IOERR;
    if (disk->fail_after > 0 && --disk->fail_after == 0) {
        disk->dead = 1;
        return SQLITE_IOERR;
    }
    if (disk->failing > 0) {
        disk->failing--;
        return SQLITE_IOERR_WRITE;
    }
    return SQLITE_OK;
}

static int is_gone(handle *h) { return h->epoch != h->disk->epoch || h->disk->dead; }

// MARK: One file, as SQLite sees it

static int on_close(sqlite3_file *f) {
    (void)f;
    return SQLITE_OK;
}

static int on_read(sqlite3_file *f, void *to, int amount, sqlite3_int64 offset) {
    handle *h = (handle *)f;
    if (is_gone(h)) return SQLITE_IOERR_READ;
    content *c = &h->file->seen;
    int64_t there = c->length - offset;
    if (there < 0) there = 0;
    if (there > amount) there = amount;
    if (there > 0) memcpy(to, c->bytes + offset, (size_t)there);
    if (there == amount) return SQLITE_OK;
    memset((uint8_t *)to + there, 0, (size_t)(amount - there));
    return SQLITE_IOERR_SHORT_READ;
}

static int on_write(sqlite3_file *f, const void *from, int amount, sqlite3_int64 offset) {
    handle *h = (handle *)f;
    int code = trouble(h);
    if (code == SQLITE_IOERR && h->disk->dead && h->epoch == h->disk->epoch && amount > 0) {
        // The write that the power failed in: some of it may be on its way.
        remember(h->file, offset, from, amount);
    }
    if (code != SQLITE_OK) return code;
    int64_t growth = offset + amount - h->file->seen.length;
    if (h->disk->limit > 0 && growth > 0 && played_disk_size(h->disk) + growth > h->disk->limit) return SQLITE_FULL;
    remember(h->file, offset, from, amount);
    put(&h->file->seen, offset, from, amount);
    return SQLITE_OK;
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 length) {
    handle *h = (handle *)f;
    int code = trouble(h);
    if (code != SQLITE_OK) return code;
    remember(h->file, 0, NULL, length);
    set_length(&h->file->seen, length);
    return SQLITE_OK;
}

static int on_sync(sqlite3_file *f, int flags) {
    (void)flags;
    handle *h = (handle *)f;
    int code = trouble(h);
    if (code != SQLITE_OK) return code;
    if (h->disk->ignores_syncs) return SQLITE_OK;
    for (int i = 0; i < h->file->change_count; i++) apply(&h->file->durable, &h->file->changes[i]);
    if (h->file->change_count) h->disk->syncs++;
    forget_changes(h->file);
    return SQLITE_OK;
}

static int on_size(sqlite3_file *f, sqlite3_int64 *size) {
    handle *h = (handle *)f;
    if (is_gone(h)) return SQLITE_IOERR_FSTAT;
    *size = h->file->seen.length;
    return SQLITE_OK;
}

// One connection at a time: it gets every lock.
static int on_lock(sqlite3_file *f, int level) {
    (void)f, (void)level;
    return SQLITE_OK;
}
static int on_check_lock(sqlite3_file *f, int *held) {
    (void)f;
    *held = 0;
    return SQLITE_OK;
}
static int on_control(sqlite3_file *f, int operation, void *argument) {
    (void)f, (void)operation, (void)argument;
    return SQLITE_NOTFOUND;
}
static int on_sector_size(sqlite3_file *f) {
    (void)f;
    return 4096;
}
// As SQLite takes for granted of a Linux file system: what lies beside the bytes of a write survives it.
static int on_characteristics(sqlite3_file *f) {
    (void)f;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int on_shared_map(sqlite3_file *f, int region, int size, int extend, void volatile **memory) {
    handle *h = (handle *)f;
    *memory = NULL;
    if (is_gone(h) || region >= REGIONS) return SQLITE_IOERR_SHMMAP;
    if (!h->file->regions[region] && extend) h->file->regions[region] = calloc(1, (size_t)size);
    *memory = h->file->regions[region];
    return SQLITE_OK;
}
static int on_shared_lock(sqlite3_file *f, int offset, int count, int flags) {
    (void)f, (void)offset, (void)count, (void)flags;
    return SQLITE_OK;
}
static void on_shared_barrier(sqlite3_file *f) { (void)f; }
static int on_shared_unmap(sqlite3_file *f, int remove) {
    handle *h = (handle *)f;
    // A handle from before the crash must not take the memory from those that came after it.
    if (remove && h->epoch == h->disk->epoch) forget_regions(h->file);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_lock,
    .xCheckReservedLock = on_check_lock,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_characteristics,
    .xShmMap = on_shared_map,
    .xShmLock = on_shared_lock,
    .xShmBarrier = on_shared_barrier,
    .xShmUnmap = on_shared_unmap,
};

// MARK: The file system, as SQLite sees it

static file *find(played_disk *disk, const char *name) {
    for (int i = 0; i < disk->file_count; i++) {
        if (strcmp(disk->files[i].name, name) == 0) return &disk->files[i];
    }
    return NULL;
}

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
    played_disk *disk = vfs->pAppData;
    handle *h = (handle *)f;
    h->base.pMethods = NULL;
    if (disk->dead || !name) return SQLITE_CANTOPEN;
    file *found = find(disk, name);
    if (!found) {
        if (disk->file_count == FILES) return SQLITE_CANTOPEN;
        found = &disk->files[disk->file_count++];
        memset(found, 0, sizeof *found);
        found->name = copy_text(name);
    }
    h->disk = disk;
    h->file = found;
    h->epoch = disk->epoch;
    h->base.pMethods = &methods;
    if (out) *out = flags;
    return SQLITE_OK;
}

// A deleted file is an empty one; its directory counts as synced.
static int on_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)sync;
    played_disk *disk = vfs->pAppData;
    if (disk->dead) return SQLITE_IOERR_DELETE;
    file *found = find(disk, name);
    if (!found) return SQLITE_IOERR_DELETE_NOENT;
    forget_changes(found);
    found->seen.length = 0;
    found->durable.length = 0;
    return SQLITE_OK;
}

static int on_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    (void)flags;
    file *found = find(vfs->pAppData, name);
    *result = found && found->seen.length > 0;
    return SQLITE_OK;
}

static int on_full_path(sqlite3_vfs *vfs, const char *name, int room, char *path) {
    (void)vfs;
    sqlite3_snprintf(room, path, "%s", name);
    return SQLITE_OK;
}

static int on_randomness(sqlite3_vfs *vfs, int count, char *to) {
    for (int i = 0; i < count; i++) to[i] = (char)draw(vfs->pAppData);
    return count;
}
static int on_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}
static int on_time(sqlite3_vfs *vfs, double *julian_day) {
    (void)vfs;
    *julian_day = 2460000.5;
    return SQLITE_OK;
}
static int on_last_error(sqlite3_vfs *vfs, int room, char *text) {
    (void)vfs;
    if (room > 0) text[0] = 0;
    return 0;
}

played_disk *played_disk_create(const char *name, uint64_t seed) {
    played_disk *disk = calloc(1, sizeof *disk);
    disk->random = seed;
    disk->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(handle),
        .mxPathname = 256,
        .zName = copy_text(name),
        .pAppData = disk,
        .xOpen = on_open,
        .xDelete = on_delete,
        .xAccess = on_access,
        .xFullPathname = on_full_path,
        .xRandomness = on_randomness,
        .xSleep = on_sleep,
        .xCurrentTime = on_time,
        .xGetLastError = on_last_error,
    };
    sqlite3_vfs_register(&disk->vfs, 0);
    return disk;
}

void played_disk_destroy(played_disk *disk) {
    sqlite3_vfs_unregister(&disk->vfs);
    for (int i = 0; i < disk->file_count; i++) {
        file *f = &disk->files[i];
        forget_changes(f);
        forget_regions(f);
        free(f->changes);
        free(f->seen.bytes);
        free(f->durable.bytes);
        free(f->name);
    }
    free((char *)disk->vfs.zName);
    free(disk);
}

void played_disk_fail_after(played_disk *disk, int calls) { disk->fail_after = calls; }
int played_disk_is_dead(const played_disk *disk) { return disk->dead; }
void played_disk_limit(played_disk *disk, int64_t bytes) { disk->limit = bytes; }
void played_disk_fail(played_disk *disk, int calls) { disk->failing = calls; }
void played_disk_ignore_syncs(played_disk *disk, int ignore) { disk->ignores_syncs = ignore; }
uint64_t played_disk_syncs(const played_disk *disk) { return disk->syncs; }

int64_t played_disk_size(const played_disk *disk) {
    int64_t size = 0;
    for (int i = 0; i < disk->file_count; i++) size += disk->files[i].seen.length;
    return size;
}
