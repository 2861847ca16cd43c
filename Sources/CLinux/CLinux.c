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
