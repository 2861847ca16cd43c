// accept4 needs _GNU_SOURCE, which in the header would make glibc's types differ from those of Swift's Glibc module.
#define _GNU_SOURCE 1
#include "CLinux.h"

int clinux_accept(int fd, struct sockaddr_storage *peer) {
    socklen_t size = sizeof *peer;
    int c = accept4(fd, (struct sockaddr *)peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (c < 0) return -errno;
    clinux_no_delay(c);
    return c;
}

#ifdef DEBUG
static _Thread_local uint64_t played_monotonic_nanoseconds;
static _Thread_local int64_t played_wall_milliseconds;

void clinux_play_clock(uint64_t monotonic_nanoseconds, int64_t wall_milliseconds) {
    played_monotonic_nanoseconds = monotonic_nanoseconds;
    played_wall_milliseconds = wall_milliseconds;
}
uint64_t clinux_played_monotonic_nanoseconds(void) { return played_monotonic_nanoseconds; }
int64_t clinux_played_wall_milliseconds(void) { return played_wall_milliseconds; }
#endif
