#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// Glibc's module does not expose epoll, eventfd or accept4 (they hide behind _GNU_SOURCE or enumerations).
// Every call returns its result, or -errno.
static inline long clinux_result(long r) { return r < 0 ? -errno : r; }

static inline int clinux_epoll_create(void) { return (int)clinux_result(epoll_create1(EPOLL_CLOEXEC)); }
static inline int clinux_epoll_add(int ep, int fd, uint32_t events, uint64_t tag) {
    struct epoll_event ev = {.events = events, .data = {.u64 = tag}};
    return (int)clinux_result(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
}
static inline int clinux_epoll_remove(int ep, int fd) {
    struct epoll_event ev = {0};
    return (int)clinux_result(epoll_ctl(ep, EPOLL_CTL_DEL, fd, &ev));
}
// A process that was stopped and goes on finds its wait interrupted (signal(7)). What has arrived meanwhile is looked at
// first: else every deadline that has passed would count as a time-out, although the answers are there.
static inline int clinux_epoll_wait(int ep, struct epoll_event *ev, int n, int ms) {
    int count = epoll_wait(ep, ev, n, ms);
    if (count < 0 && errno == EINTR) count = epoll_wait(ep, ev, n, 0);
    return (int)clinux_result(count);
}
// struct epoll_event is packed on x86-64 and has a union: read it here.
static inline uint32_t clinux_event_mask(const struct epoll_event *ev, int i) { return ev[i].events; }
static inline uint64_t clinux_event_tag(const struct epoll_event *ev, int i) { return ev[i].data.u64; }

static inline int clinux_eventfd(void) { return (int)clinux_result(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }
static inline void clinux_eventfd_signal(int fd) {
    uint64_t one = 1;
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {}
}
static inline void clinux_eventfd_drain(int fd) {
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {}
}

static inline long clinux_recv(int fd, void *p, size_t n) { return clinux_result(recv(fd, p, n, 0)); }
static inline long clinux_send(int fd, const void *p, size_t n) { return clinux_result(send(fd, p, n, MSG_NOSIGNAL)); }
static inline long clinux_send2(int fd, const void *p, size_t n, const void *q, size_t m) {
    struct iovec parts[2] = {{(void *)p, n}, {(void *)q, m}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return clinux_result(sendmsg(fd, &message, MSG_NOSIGNAL));
}

// open is variadic, which Swift does not import.
static inline int clinux_open(const char *path, int flags, mode_t mode) { return (int)clinux_result(open(path, flags | O_CLOEXEC, mode)); }
static inline long clinux_read(int fd, void *p, size_t n) { return clinux_result(read(fd, p, n)); }

static inline void clinux_no_delay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}
// Accepts one connection, non-blocking and without delay; `peer` receives its address.
int clinux_accept(int fd, struct sockaddr_storage *peer);
// `joins`: other sockets of this process listen there, and have said that they share (clinux_share_port). Without it the address has to be
// free: left over connections, TIME_WAIT included, do not matter (SO_REUSEADDR), anybody else who listens does, whatever that one shares.
static inline int clinux_listen(const struct sockaddr *address, socklen_t size, int backlog, int joins) {
    int one = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (joins) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    if (bind(fd, address, size) < 0 || listen(fd, backlog) < 0) {
        int e = errno;
        close(fd);
        return -e;
    }
    return fd;
}
// Lets further sockets of this user listen where this one does already. After listen(), so that of two processes that start at once only one
// gets this far: while neither listens the kernel lets both bind.
static inline int clinux_share_port(int fd) {
    int one = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) < 0 ? -errno : 0;
}
// Starts a non-blocking connect; success means "begun", the outcome shows when the socket becomes writable.
static inline int clinux_connect(const struct sockaddr *address, socklen_t size) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (connect(fd, address, size) < 0 && errno != EINPROGRESS) {
        int e = errno;
        close(fd);
        return -e;
    }
    clinux_no_delay(fd);
    return fd;
}
static inline int clinux_socket_error(int fd) {
    int e = 0;
    socklen_t n = sizeof e;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) < 0) return errno;
    return e;
}
static inline int clinux_local_port(int fd) {
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n) < 0) return -errno;
    if (a.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
    return ntohs(((struct sockaddr_in *)&a)->sin_port);
}
// Numeric host of a peer; returns its length or 0.
static inline int clinux_host_text(const struct sockaddr_storage *a, char *out, int capacity) {
    const void *from = a->ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
                                                : (const void *)&((const struct sockaddr_in *)a)->sin_addr;
    if (!inet_ntop(a->ss_family, from, out, (socklen_t)capacity)) return 0;
    return (int)strlen(out);
}

static inline uint64_t clinux_monotonic_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
static inline int64_t clinux_wall_milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// Time as a test plays it, for the calling thread only: other tests of the process go on with the real clock. Debug builds only.
// A monotonic time of 0 says that nothing is played.
void clinux_play_clock(uint64_t monotonic_nanoseconds, int64_t wall_milliseconds);
uint64_t clinux_played_monotonic_nanoseconds(void);
int64_t clinux_played_wall_milliseconds(void);

// Lines of a terminal; 0 where the descriptor is none or does not know. ioctl is variadic, which Swift cannot call.
static inline int clinux_terminal_rows(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}
static inline int clinux_terminal_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
// The next close of this socket sends a reset, and drops what was not sent.
static inline void clinux_reset_on_close(int fd) {
    struct linger now = {1, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}
// A block of a megabyte or more goes back to the kernel as soon as it is free: otherwise the allocator would raise that limit to
// the largest block it has seen, and keep what a few large bodies needed once.
static inline void clinux_return_large_blocks(void) { mallopt(M_MMAP_THRESHOLD, 1 << 20); }
// The calling thread's name as `top -H` and debuggers show it; the first 15 bytes.
void clinux_name_thread(const char *name);
// Gives free pages of the heap back to the kernel, those between pages in use included.
static inline void clinux_trim_heap(void) { malloc_trim(0); }
static inline int clinux_errno(void) { return errno; }
static inline int clinux_own_usage(struct rusage *usage) { return getrusage(RUSAGE_SELF, usage); }
static inline uint64_t clinux_descriptor_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}
// Raises the soft limit of open descriptors to the hard one.
static inline void clinux_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
// SIG_IGN is a cast, which Swift's importer leaves out.
// A pipe that broke and a file at its size limit (RLIMIT_FSIZE) are then errors of the write, EPIPE and EFBIG, and not the end of the process.
static inline void clinux_ignore_write_signals(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

// Whether something has arrived that nobody has read yet.
static inline int clinux_has_arrivals(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}
// Whether a descriptor that was passed on is a TCP socket that listens.
int clinux_is_listener(int fd);
// The address of a socket as `127.0.0.1:80` or `[::1]:80`; returns its length or 0.
int clinux_local_address(int fd, char *out, int capacity);
// Another descriptor of the same socket; like every descriptor here it does not outlive an exec by itself.
static inline int clinux_duplicate(int fd) { return (int)clinux_result(fcntl(fd, F_DUPFD_CLOEXEC, 3)); }
// fcntl is variadic, which Swift does not import.
static inline int clinux_close_on_exec(int fd) { return fcntl(fd, F_SETFD, FD_CLOEXEC); }
// What a socket that comes from elsewhere lacks: accepting must not block, and no child is to have it.
static inline void clinux_adopt(int fd) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// Sends one datagram to a Unix socket; a path that begins with `@` is one of the abstract name space. Waits at most a second for room.
// Returns 0 or -errno.
int clinux_send_datagram(const char *path, const char *text, size_t size);

// Replaces this process by a run of the program at `path`. Every descriptor but the first three and those named is closed by that.
// Returns -errno when it cannot.
int clinux_replace_process(
    const char *path, char *const arguments[], char *const environment[], const int kept[], int kept_count);
