/* The physical floor of a proxy: moves bytes between a client and one backend (or two: what the second answers is read
   and thrown away) and understands none of them. One thread, edge-triggered epoll.

       relay LISTEN-PORT BACKEND-PORT [SECOND-BACKEND-PORT]

   What a socket does not take at once it waits for, and all others with it. */
#define _GNU_SOURCE
#include "loopback.h"
#include <errno.h>
#include <sys/epoll.h>
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

static int watch(struct end *end, enum role role, int file, struct session *session) {
    *end = (struct end){role, file, session};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (role == LISTENER ? 0 : EPOLLET), .data.ptr = end};
    return epoll_ctl(poll_file, EPOLL_CTL_ADD, file, &event);
}

static void finish(struct session *session) {
    close(session->client.file);
    close(session->first.file);
    if (has_second) close(session->second.file);
    session->client.file = session->first.file = session->second.file = -1;
}

static void begin(int listener) {
    int file = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (file < 0) return;
    without_delay(file);
    /* Sessions are never freed: events of the same batch may still point at one. A benchmark has few. */
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) exit(1);
    watch(&session->client, CLIENT, file, session);
    watch(&session->first, FIRST, dial(ports[0], 0), session);
    if (has_second) watch(&session->second, SECOND, dial(ports[1], 0), session);
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
            ok = put(session->first.file, buffer, count);
            if (ok && has_second) ok = put(session->second.file, buffer, count);
        } else if (ok && from->role == FIRST) {
            ok = put(session->client.file, buffer, count);
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
    ports[0] = atoi(arguments[2]);
    has_second = count > 3;
    if (has_second) ports[1] = atoi(arguments[3]);
    poll_file = epoll_create1(EPOLL_CLOEXEC);
    int listener = listening(atoi(arguments[1]));
    struct end door;
    watch(&door, LISTENER, listener, NULL);
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
