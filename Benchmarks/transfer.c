/* Long bodies over keep-alive connections, a thread each, one transfer after the other.

       transfer PORT down|up BYTES COUNT THREADS

   `down` asks for /BYTES, `up` posts so many to /up. It prints one line of JSON. */
#define _GNU_SOURCE
#include "loopback.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 18 };

static int port, is_up, count;
static long long bytes;

/* Reads one answer to its end; the length of its body. */
static long long answer(int file, char *buffer) {
    size_t have = 0;
    char *end = NULL;
    while (end == NULL) {
        ssize_t got = recv(file, buffer + have, BUFFER - 1 - have, 0);
        check(got > 0, "recv");
        buffer[have += (size_t)got] = 0;
        end = strstr(buffer, "\r\n\r\n");
    }
    check(strncmp(buffer, "HTTP/1.1 200", 12) == 0, "an answer is no 200");
    char *field = strcasestr(buffer, "\r\ncontent-length:");
    check(field != NULL && field < end, "an answer has no length");
    long long length = atoll(field + 17);
    check(swallow(file, buffer, BUFFER, length - (buffer + have - end - 4)), "recv");
    return length;
}

static void *work(void *number) {
    char *buffer = malloc(BUFFER), *zeros = calloc(1, BUFFER), head[256];
    int file = dial(port, 0);
    for (int transfer = 0; transfer < count; transfer++) {
        int length = is_up ? sprintf(head, "POST /up HTTP/1.1\r\nContent-Length: %lld\r\n", bytes)
                           : sprintf(head, "GET /%lld HTTP/1.1\r\n", bytes);
        length += sprintf(head + length, "Host: example.test\r\nX-User-Id: user-%ld\r\n\r\n", (long)number);
        check(put(file, head, length), "send");
        for (long long left = is_up ? bytes : 0; left > 0; left -= BUFFER)
            check(put(file, zeros, left < BUFFER ? left : BUFFER), "send");
        long long got = answer(file, buffer);
        check(is_up || got == bytes, "an answer has another length");
    }
    close(file);
    return NULL;
}

int main(int arguments_count, char **arguments) {
    if (arguments_count != 6) return fprintf(stderr, "usage: transfer PORT down|up BYTES COUNT THREADS\n"), 2;
    port = atoi(arguments[1]);
    is_up = strcmp(arguments[2], "up") == 0;
    bytes = atoll(arguments[3]);
    count = atoi(arguments[4]);
    int threads = atoi(arguments[5]);
    pthread_t *running = calloc((size_t)threads, sizeof *running);
    double begin = seconds_of(CLOCK_MONOTONIC);
    for (long number = 0; number < threads; number++)
        check(pthread_create(&running[number], NULL, work, (void *)number) == 0, "pthread_create");
    for (int number = 0; number < threads; number++) pthread_join(running[number], NULL);
    printf("{\"transfers\": %d, \"bytes\": %lld, \"seconds\": %.4f}\n", threads * count, bytes * threads * count,
           seconds_of(CLOCK_MONOTONIC) - begin);
    return 0;
}
