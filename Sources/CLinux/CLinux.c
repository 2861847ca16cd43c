// accept4 needs _GNU_SOURCE, which in the header would make glibc's types differ from those of Swift's Glibc module.
#define _GNU_SOURCE 1
#include "CLinux.h"
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/un.h>

int clinux_accept(int fd, struct sockaddr_storage *peer) {
    socklen_t size = sizeof *peer;
    int c = accept4(fd, (struct sockaddr *)peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (c < 0) return -errno;
    clinux_no_delay(c);
    return c;
}

void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

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

int clinux_is_listener(int fd) {
    int listens = 0, type = 0, domain = 0;
    socklen_t size = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens) return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM) return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0) return 0;
    return domain == AF_INET || domain == AF_INET6;
}

int clinux_local_address(int fd, char *out, int capacity) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0) return 0;
    char host[INET6_ADDRSTRLEN];
    if (!clinux_host_text(&address, host, sizeof host)) return 0;
    int count = snprintf(
        out, (size_t)capacity, address.ss_family == AF_INET6 ? "[%s]:%d" : "%s:%d", host, clinux_local_port(fd));
    return count > 0 && count < capacity ? count : 0;
}

int clinux_send_datagram(const char *path, const char *text, size_t size) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) return -ENAMETOOLONG;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    struct timeval patience = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    // An abstract name has no end of its own: its length is part of it.
    socklen_t address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    long sent = sendto(fd, text, size, MSG_NOSIGNAL, (struct sockaddr *)&address, address_size);
    int result = sent < 0 ? -errno : 0;
    close(fd);
    return result;
}

int clinux_replace_process(
    const char *path, char *const arguments[], char *const environment[], const int kept[], int kept_count) {
    DIR *open_files = opendir("/proc/self/fd");
    if (open_files) {
        for (struct dirent *entry; (entry = readdir(open_files));) {
            int descriptor = atoi(entry->d_name);
            if (descriptor > 2) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        }
        closedir(open_files);
    }
    for (int i = 0; i < kept_count; i++) fcntl(kept[i], F_SETFD, 0);
    execve(path, arguments, environment);
    int failure = errno;
    for (int i = 0; i < kept_count; i++) fcntl(kept[i], F_SETFD, FD_CLOEXEC);
    return -failure;
}
