/* The bare system calls of a proxied request, without a proxy: what no program that uses sockets can go below.

       calls LEGS SECONDS REQUEST-BYTES ANSWER-BYTES

   Over TCP on the loopback, for 64 clients in turn: receive the request, send it to LEGS backends, receive their
   answers, send one of them to the client; and one wait of epoll for the 64 on each side. One thread plays all ends,
   and only what the proxy in the middle would call is counted, in processor time of the thread. Nobody sleeps, so
   nobody is woken: the wake-ups that a real proxy pays for are not in it. It prints one line of JSON. */
#define _GNU_SOURCE
#include "loopback.h"
#include <sys/epoll.h>
#include <unistd.h>

enum { CLIENTS = 64, LEGS_MAX = 2, BYTES_MAX = 65536 };

struct pair {
    int near, far; /* near is the proxy's end */
};

static struct pair connected(int poll_file) {
    int listener = listening(0);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    getsockname(listener, (struct sockaddr *)&address, &size);
    struct pair pair = {.near = dial(ntohs(address.sin_port), 0)};
    pair.far = without_delay(accept(listener, NULL, NULL));
    close(listener);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = pair.near};
    check(epoll_ctl(poll_file, EPOLL_CTL_ADD, pair.near, &event) == 0, "epoll_ctl");
    return pair;
}

static char buffer[BYTES_MAX];

static void give(int file, int bytes) { check(put(file, buffer, bytes), "send"); }

static void take(int file, int bytes) { check(swallow(file, buffer, sizeof buffer, bytes), "recv"); }

int main(int count, char **arguments) {
    if (count != 5) return fprintf(stderr, "usage: calls LEGS SECONDS REQUEST-BYTES ANSWER-BYTES\n"), 2;
    int legs = atoi(arguments[1]), question = atoi(arguments[3]), answer = atoi(arguments[4]);
    check(legs >= 1 && legs <= LEGS_MAX && question <= BYTES_MAX && answer <= BYTES_MAX, "arguments");
    int poll_file = epoll_create1(0);
    struct epoll_event events[CLIENTS * LEGS_MAX];
    struct pair clients[CLIENTS], backends[LEGS_MAX][CLIENTS];
    for (int client = 0; client < CLIENTS; client++) {
        clients[client] = connected(poll_file);
        for (int leg = 0; leg < legs; leg++) backends[leg][client] = connected(poll_file);
    }
    double spent = 0, end = seconds_of(CLOCK_MONOTONIC) + atof(arguments[2]);
    long requests = 0;
    while (seconds_of(CLOCK_MONOTONIC) < end) {
        for (int client = 0; client < CLIENTS; client++) give(clients[client].far, question);
        spent -= seconds_of(CLOCK_THREAD_CPUTIME_ID);
        epoll_wait(poll_file, events, CLIENTS, 0);
        for (int client = 0; client < CLIENTS; client++) {
            take(clients[client].near, question);
            for (int leg = 0; leg < legs; leg++) give(backends[leg][client].near, question);
        }
        spent += seconds_of(CLOCK_THREAD_CPUTIME_ID);
        for (int client = 0; client < CLIENTS; client++)
            for (int leg = 0; leg < legs; leg++) {
                take(backends[leg][client].far, question);
                give(backends[leg][client].far, answer);
            }
        spent -= seconds_of(CLOCK_THREAD_CPUTIME_ID);
        epoll_wait(poll_file, events, CLIENTS * legs, 0);
        for (int client = 0; client < CLIENTS; client++) {
            for (int leg = 0; leg < legs; leg++) take(backends[leg][client].near, answer);
            give(clients[client].near, answer);
        }
        spent += seconds_of(CLOCK_THREAD_CPUTIME_ID);
        for (int client = 0; client < CLIENTS; client++) take(clients[client].far, answer);
        requests += CLIENTS;
    }
    printf("{\"requests\": %ld, \"calls\": %.2f, \"microseconds\": %.3f}\n", requests, 2.0 + 2 * legs + 2.0 / CLIENTS,
           spent / (double)requests * 1e6);
    return 0;
}
