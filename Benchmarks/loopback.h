/* What the programs here share: TCP on the loopback, blocking, without Nagle's delay. */
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static inline void check(int is_well, const char *what) {
    if (is_well) return;
    perror(what);
    exit(1);
}

static inline double seconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline struct sockaddr_in loopback(int port, unsigned host) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
    return address;
}

static inline int without_delay(int file) {
    int on = 1;
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return file;
}

/* A connection to 127.0.0.1, from 127.0.0.(1 + source). */
static inline int dial(int port, unsigned source) {
    int on = 1, file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(file >= 0, "socket");
    struct sockaddr_in from = loopback(0, source), to = loopback(port, 0);
    setsockopt(file, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    check(source == 0 || bind(file, (struct sockaddr *)&from, sizeof from) == 0, "bind");
    check(connect(file, (struct sockaddr *)&to, sizeof to) == 0, "connect");
    return without_delay(file);
}

/* A listening socket; port 0 is one that is free. */
static inline int listening(int port) {
    int on = 1, file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = loopback(port, 0);
    check(bind(file, (struct sockaddr *)&address, sizeof address) == 0 && listen(file, 1024) == 0, "listen");
    return file;
}

/* Sends all of it; 0 when the other end is gone. */
static inline int put(int file, const char *data, long long length) {
    for (ssize_t sent; length > 0; length -= sent, data += sent) {
        sent = send(file, data, (size_t)length, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
    }
    return 1;
}

/* Receives so many bytes and keeps none; 0 when the other end is gone. */
static inline int swallow(int file, char *buffer, size_t size, long long left) {
    for (ssize_t got; left > 0; left -= got) {
        got = recv(file, buffer, left < (long long)size ? (size_t)left : size, 0);
        if (got <= 0) return 0;
    }
    return 1;
}
