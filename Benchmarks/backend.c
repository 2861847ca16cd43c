/* A backend for long bodies: GET /N answers with N bytes, POST swallows what it is sent and then answers.

       backend PORT

   A thread a connection, blocking calls, nothing kept: it is to cost as little as can be beside what is measured. */
#define _GNU_SOURCE
#include "loopback.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 18 };

static int send_answer(int file, const char *zeros, long long length) {
    char head[128];
    sprintf(head, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %lld\r\n\r\n", length);
    if (!put(file, head, (long long)strlen(head))) return 0;
    for (; length > 0; length -= BUFFER)
        if (!put(file, zeros, length < BUFFER ? length : BUFFER)) return 0;
    return 1;
}

static void *serve(void *argument) {
    int file = (int)(long)argument;
    char *buffer = malloc(BUFFER), *zeros = calloc(1, BUFFER);
    size_t have = 0;
    for (int is_well = 1; is_well;) {
        ssize_t got = recv(file, buffer + have, BUFFER - 1 - have, 0);
        if (got <= 0) break;
        buffer[have += (size_t)got] = 0;
        char *end = strstr(buffer, "\r\n\r\n");
        if (end == NULL) continue;
        /* A client here has one request under way: what follows the head is the body's. */
        long long after = buffer + have - end - 4, length = 0;
        if (strncmp(buffer, "GET /", 5) == 0) {
            length = atoll(buffer + 5);
        } else {
            char *field = strcasestr(buffer, "\r\ncontent-length:");
            is_well = field != NULL && swallow(file, buffer, BUFFER, atoll(field + 17) - after);
        }
        is_well = is_well && send_answer(file, zeros, length);
        have = 0;
    }
    close(file);
    free(buffer);
    free(zeros);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 2) return fprintf(stderr, "usage: backend PORT\n"), 2;
    int listener = listening(atoi(arguments[1]));
    for (;;) {
        int file = accept(listener, NULL, NULL);
        if (file < 0) continue;
        without_delay(file);
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(long)file) == 0) pthread_detach(thread);
        else close(file);
    }
}
