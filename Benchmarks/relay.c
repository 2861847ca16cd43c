/* The physical floor of a proxy: moves bytes between a client and one backend (or two: what the second answers is read and
   thrown away) and understands none of them. One thread, edge-triggered epoll.

       relay LISTEN-PORT BACKEND-PORT [SECOND-BACKEND-PORT]

   It assumes small messages: what a socket does not take at once is an error and ends the connection. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum role { LISTENER, CLIENT, FIRST, SECOND };

struct session;

struct end {
    enum role role;
    int file;
    struct session *session;
};

struct session {
    struct end client, first, second;
};

static int poll_file;
static int ports[2];
static int has_second;

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int watch(struct end *end, enum role role, int file, struct session *session) {
    *end = (struct end){role, file, session};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (role == LISTENER ? 0 : EPOLLET), .data.ptr = end};
    return epoll_ctl(poll_file, EPOLL_CTL_ADD, file, &event);
}

static int dial(int port) {
    int on = 1;
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(port);
    if (connect(file, (struct sockaddr *)&address, sizeof address) != 0) return -1;
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return file;
}

static void finish(struct session *session) {
    close(session->client.file);
    close(session->first.file);
    if (has_second) close(session->second.file);
    session->client.file = session->first.file = session->second.file = -1;
}

static void begin(int listener) {
    int on = 1;
    int file = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (file < 0) return;
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* Sessions are never freed: events of the same batch may still point at one. A benchmark has few. */
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) exit(1);
    watch(&session->client, CLIENT, file, session);
    watch(&session->first, FIRST, dial(ports[0]), session);
    if (has_second) watch(&session->second, SECOND, dial(ports[1]), session);
}

static int send_all(int file, const char *data, ssize_t count) {
    return send(file, data, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL) == count;
}

static void move(struct end *from) {
    static char buffer[65536];
    struct session *session = from->session;
    for (;;) {
        if (from->file < 0) return;
        ssize_t count = recv(from->file, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN) return;
        int ok = count > 0;
        if (ok && from->role == CLIENT) {
            ok = send_all(session->first.file, buffer, count);
            if (ok && has_second) ok = send_all(session->second.file, buffer, count);
        } else if (ok && from->role == FIRST) {
            ok = send_all(session->client.file, buffer, count);
        }
        if (!ok) {
            finish(session);
            return;
        }
        if (count < (ssize_t)sizeof buffer) return;
    }
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: relay LISTEN-PORT BACKEND-PORT [SECOND-BACKEND-PORT]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    ports[0] = atoi(arguments[2]);
    has_second = count > 3;
    if (has_second) ports[1] = atoi(arguments[3]);
    poll_file = epoll_create1(EPOLL_CLOEXEC);
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = loopback(atoi(arguments[1]));
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 512) != 0) {
        perror("relay");
        return 1;
    }
    struct end listening;
    watch(&listening, LISTENER, listener, NULL);
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(poll_file, events, 256, -1);
        for (int index = 0; index < ready; index++) {
            struct end *end = events[index].data.ptr;
            if (end->role == LISTENER) begin(listener);
            else move(end);
        }
    }
}
