/* Requests over keep-alive connections, one in flight on each, and what they waited.

       load PORT [connections N] [seconds S] [requests N] [rate R] [users N] [headers N] [body BYTES] [sources N] [hold]

   With a rate it is an open loop: request i is due at start + i / R, whatever became of the ones before, and its wait
   counts from when it was due. A stall is thereby counted for every request that it held up, and not only for those
   that happened to be under way. Without a rate each connection sends again as soon as it has its answer. A connection
   that has rested longest takes the next request, so all take part.

   It prints one line of JSON. With `hold` few requests are under way at a time, and the connections are kept until the
   input ends. */
#define _GNU_SOURCE
#include "loopback.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

enum { HEAD_MAX = 4096, REQUEST_MAX = 1 << 20, EVENTS = 512 };
static const int64_t SECOND = 1000000000;

struct client {
    int file, has_head;
    int64_t due, left;
    size_t have;
    struct client *next;
    char head[HEAD_MAX];
};

static int port, connections = 64, users = 64, headers = 0, body = 0, sources = 1, total = 0, hold = 0;
static double seconds = 3, rate = 0;
static int poll_file;
static struct client *first_free, **last_free = &first_free;
static char *request;
static size_t request_length, user_at;
static int64_t sent, answered, failed;
static uint32_t *waited; /* tenths of a microsecond */
static size_t waited_size;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static void write_request(void) {
    request = malloc(REQUEST_MAX + (size_t)body);
    const char *common = "Host: example.test\r\nAccept: application/json\r\nUser-Agent: load\r\nX-User-Id: user-";
    char *end = request + sprintf(request, "%s /records/1?full=1 HTTP/1.1\r\n%s", body ? "POST" : "GET", common);
    user_at = (size_t)(end - request);
    end += sprintf(end, "0000000\r\n");
    for (int number = 0; number < headers; number++)
        end += sprintf(end, "X-Header-%03d: some value of a header\r\n", number);
    if (body) end += sprintf(end, "Content-Type: application/json\r\nContent-Length: %d\r\n", body);
    end += sprintf(end, "\r\n");
    if (body) {
        memset(end, 'x', (size_t)body);
        memcpy(end, "{\"text\":\"", 9);
        memcpy(end + body - 2, "\"}", 2);
        end += body;
    }
    request_length = (size_t)(end - request);
}

static void connect_client(struct client *client, int number) {
    /* One address has ports for less than 30,000 connections. */
    client->file = dial(port, sources > 1 ? 1 + (unsigned)(number % sources) : 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    check(epoll_ctl(poll_file, EPOLL_CTL_ADD, client->file, &event) == 0, "epoll_ctl");
}

static void fail(const char *what) {
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

static void rest(struct client *client) {
    client->next = NULL;
    *last_free = client;
    last_free = &client->next;
}

static void ask(int64_t due) {
    struct client *client = first_free;
    first_free = client->next;
    if (first_free == NULL) last_free = &first_free;
    char digits[16];
    sprintf(digits, "%07d", (int)(sent % users));
    memcpy(request + user_at, digits, 7);
    client->due = due;
    client->have = 0;
    client->has_head = 0;
    check(put(client->file, request, (long long)request_length), "send");
    sent++;
}

static void note(struct client *client) {
    if ((size_t)answered == waited_size) {
        waited_size = waited_size ? 2 * waited_size : 1 << 16;
        waited = realloc(waited, waited_size * sizeof *waited);
    }
    int64_t wait = (now() - client->due) / 100;
    waited[answered++] = wait > UINT32_MAX ? UINT32_MAX : (uint32_t)wait;
    if (memcmp(client->head, "HTTP/1.1 2", 10) != 0) failed++;
    rest(client);
}

static void receive(struct client *client) {
    static char rest_of_body[1 << 16];
    char *target = client->has_head ? rest_of_body : client->head + client->have;
    size_t room = client->has_head ? sizeof rest_of_body : HEAD_MAX - 1 - client->have;
    ssize_t count = recv(client->file, target, room, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) fail("a connection was closed by the other end");
    if (client->has_head) {
        client->left -= count;
    } else {
        client->have += (size_t)count;
        client->head[client->have] = 0;
        char *end = strstr(client->head, "\r\n\r\n");
        if (end == NULL) {
            if (client->have == HEAD_MAX - 1) fail("a head is too long");
            return;
        }
        char *length = strcasestr(client->head, "\r\ncontent-length:");
        if (length == NULL || length > end) fail("an answer has no length");
        client->has_head = 1;
        client->left = atoll(length + 17) - (client->head + client->have - end - 4);
    }
    if (client->left == 0) note(client);
}

static void wait_for_answers(int64_t until) {
    struct epoll_event events[EVENTS];
    int64_t pause = until - now();
    if (pause < 0) pause = 0;
    struct timespec time = {pause / SECOND, pause % SECOND};
    int ready = epoll_pwait2(poll_file, events, EVENTS, &time, NULL);
    for (int index = 0; index < ready; index++) receive(events[index].data.ptr);
}

static int64_t run(void) {
    int64_t begin = now(), end = begin + (int64_t)(seconds * SECOND);
    int64_t count = rate > 0 ? (int64_t)(seconds * rate) : INT64_MAX;
    if (total > 0) count = total;
    while (sent < count) {
        int64_t time = now(), due = rate > 0 ? begin + (int64_t)((double)sent / rate * SECOND) : time;
        if (rate <= 0 && total == 0 && time >= end) break;
        if (due > time) wait_for_answers(due);
        else if (first_free != NULL && (!hold || sent - answered < 64)) ask(due);
        else wait_for_answers(time + SECOND);
        if (rate > 0 && time > end + 10 * SECOND) break; /* hopelessly behind: the rest is lost */
    }
    int64_t limit = now() + 10 * SECOND;
    while (answered < sent && now() < limit) wait_for_answers(limit);
    failed += rate > 0 ? count - answered : sent - answered;
    return now() - begin;
}

static int by_size(const void *left, const void *right) {
    return (*(const uint32_t *)left > *(const uint32_t *)right) - (*(const uint32_t *)left < *(const uint32_t *)right);
}

static double percentile(double share) {
    return answered ? waited[(int64_t)((double)(answered - 1) * share)] / 10.0 : 0;
}

static void read_arguments(int count, char **arguments) {
    struct { const char *name; int *number; } options[] = {{"connections", &connections}, {"users", &users},
        {"headers", &headers}, {"body", &body}, {"sources", &sources}, {"requests", &total}};
    port = count > 1 ? atoi(arguments[1]) : 0;
    for (int index = 2; index < count; index++) {
        if (strcmp(arguments[index], "hold") == 0) { hold = 1; continue; }
        if (index + 1 == count) fail("an argument has no value");
        const char *name = arguments[index++];
        if (strcmp(name, "seconds") == 0) seconds = atof(arguments[index]);
        if (strcmp(name, "rate") == 0) rate = atof(arguments[index]);
        for (size_t option = 0; option < sizeof options / sizeof *options; option++)
            if (strcmp(name, options[option].name) == 0) *options[option].number = atoi(arguments[index]);
    }
}

int main(int count, char **arguments) {
    read_arguments(count, arguments);
    write_request();
    prctl(PR_SET_TIMERSLACK, 1); /* or each pause is 50 us longer than asked for */
    poll_file = epoll_create1(EPOLL_CLOEXEC);
    struct client *clients = calloc((size_t)connections, sizeof *clients);
    for (int number = 0; number < connections; number++) {
        connect_client(&clients[number], number);
        rest(&clients[number]);
    }
    double spent = (double)run() / 1e9;
    qsort(waited, (size_t)answered, sizeof *waited, by_size);
    printf("{\"requests\": %lld, \"failed\": %lld, \"seconds\": %.4f, \"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f}\n",
           (long long)answered, (long long)failed, spent, percentile(0.5), percentile(0.99), percentile(1));
    fflush(stdout);
    if (hold) while (getchar() != EOF) continue;
    return 0;
}
