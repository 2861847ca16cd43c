#pragma once
#include <stdint.h>

// A disk in memory that SQLite writes to as a file system (VFS) of its own. What is written is seen at once and durable after
// the next sync of its file only, so that a crash can lose, keep or tear what was not synced. Belongs to one thread.
typedef struct played_disk played_disk;

// Registers an empty disk with SQLite under `name`, which is copied.
played_disk *played_disk_create(const char *name, uint64_t seed);
// Every connection must be closed.
void played_disk_destroy(played_disk *disk);

// The power fails: of what was not synced a drawn part is kept, torn at sectors of 512 bytes. Whoever has a file open gets
// errors from now on; the files are there to be opened anew.
void played_disk_crash(played_disk *disk);
// The power fails in the middle of a later call: of the `calls`-th write or sync from now. 0: never.
void played_disk_fail_after(played_disk *disk, int calls);
// Whether the power has failed that way since the last crash: everything is an error until `played_disk_crash`.
int played_disk_is_dead(const played_disk *disk);

// Writes beyond this many bytes in all files get "no space left"; 0 lifts the limit.
void played_disk_limit(played_disk *disk, int64_t bytes);
// The next so many writes and syncs get an input/output error.
void played_disk_fail(played_disk *disk, int calls);
// A disk that lies: syncs return at once and make nothing durable.
void played_disk_ignore_syncs(played_disk *disk, int ignore);

// Bytes in all files, and how often a sync made something durable.
int64_t played_disk_size(const played_disk *disk);
uint64_t played_disk_syncs(const played_disk *disk);
