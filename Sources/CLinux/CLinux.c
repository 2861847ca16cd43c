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

void clinux_start_anew(char *const arguments[]) {
    DIR *open_files = opendir("/proc/self/fd");
    if (open_files) {
        for (struct dirent *entry; (entry = readdir(open_files));) {
            int descriptor = atoi(entry->d_name);
            if (descriptor > 2) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        }
        closedir(open_files);
    }
    execv("/proc/self/exe", arguments);
}
