// The client of all measurements, in C so that it is not what is measured.
//   load ping COUNT SOCKET                      one after the other: p50 and p99 in nanoseconds
//   load ping COUNT -- COMMAND...               the same over the command's stdin and stdout
//   load flood CONNECTIONS DEPTH MS SOCKET      DEPTH messages under way on each connection: messages a second
//   load play DEPTH FILE SOCKET                 the messages of a file, DEPTH under way: answers a second
//   load first COMMAND...                       from exec to the first line: nanoseconds
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int dial(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(peer, (struct sockaddr *)&address, sizeof address) != 0) fail(path);
    return peer;
}

static void send_all(int peer, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = write(peer, bytes, count);
        if (sent <= 0) fail("write");
        bytes += sent;
        count -= sent;
    }
}

static pid_t spawn(char **command, int *in, int *out) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) fail("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    pid_t child;
    if (posix_spawnp(&child, command[0], &actions, NULL, command, environ) != 0) fail(command[0]);
    close(to[0]);
    close(from[1]);
    *in = from[0];
    *out = to[1];
    return child;
}

// MARK: One after the other

#define PING "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"service/ping\"}\n"

static void round_trip(int in, int out, int id) {
    char message[128], answer[4096];
    send_all(out, message, snprintf(message, sizeof message, PING, id));
    ssize_t filled = 0;
    do {
        ssize_t count = read(in, answer + filled, sizeof answer - filled);
        if (count <= 0) fail("read");
        filled += count;
    } while (answer[filled - 1] != '\n');
}

static int ascending(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void ping(int count, int in, int out) {
    int64_t *times = calloc(count, sizeof *times);
    for (int i = 0; i < count / 10; i++) round_trip(in, out, i);
    for (int i = 0; i < count; i++) {
        int64_t start = now();
        round_trip(in, out, i);
        times[i] = now() - start;
    }
    qsort(times, count, sizeof *times, ascending);
    printf("%lld %lld\n", (long long)times[count / 2], (long long)times[count - count / 100]);
}

static void first(char **command) {
    char byte = 0;
    int in, out, id = 1;
    int64_t start = now();
    pid_t child = spawn(command, &in, &out);
    dprintf(out, PING, id);
    while (byte != '\n')
        if (read(in, &byte, 1) <= 0) fail("read");
    printf("%lld\n", (long long)(now() - start));
    close(out);
    close(in);
    waitpid(child, NULL, 0);
}

// MARK: Many at once

static int lines(int peer) {
    char buffer[64 << 10];
    ssize_t count = read(peer, buffer, sizeof buffer);
    if (count <= 0) fail("read");
    int lines = 0;
    for (char *at = buffer; (at = memchr(at, '\n', buffer + count - at)); at++) lines++;
    return lines;
}

static void ask(int peer, int count, int *id) {
    char batch[64 << 10];
    int filled = 0;
    for (; count > 0; count--) filled += snprintf(batch + filled, sizeof batch - filled, PING, 1000000 + ++*id);
    send_all(peer, batch, filled);
}

static void flood(int connections, int depth, int milliseconds, const char *path) {
    int poller = epoll_create1(0), id = 0;
    for (int i = 0; i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = dial(path)};
        epoll_ctl(poller, EPOLL_CTL_ADD, event.data.fd, &event);
        ask(event.data.fd, depth, &id);
    }
    int64_t start = now(), end = start + milliseconds * 1000000LL, answered = 0;
    struct epoll_event events[64];
    while (now() < end) {
        int ready = epoll_wait(poller, events, 64, 1000);
        for (int i = 0; i < ready; i++) {
            int count = lines(events[i].data.fd);
            if (count > 0) ask(events[i].data.fd, count, &id);
            answered += count;
        }
    }
    printf("%.0f\n", answered * 1e9 / (now() - start));
}

// MARK: Objects

// Sends the lines of a file, `depth` under way, each of which has to be answered with a result.
static void play(int depth, const char *messages, const char *path) {
    FILE *lines = fopen(messages, "r");
    if (!lines) fail(messages);
    int peer = dial(path), begun = 0, ended = 0;
    FILE *answers = fdopen(peer, "r");
    char *message = NULL, *answer = NULL;
    size_t room = 0, space = 0;
    ssize_t length = 0;
    int64_t start = now();
    while (1) {
        while (length >= 0 && begun - ended < depth && (length = getline(&message, &room, lines)) > 0) {
            send_all(peer, message, length);
            begun++;
        }
        if (ended == begun) break;
        if (getline(&answer, &space, answers) <= 0) fail("read");
        if (!strstr(answer, "\"result\"")) return fputs(answer, stderr), exit(1);
        ended++;
    }
    printf("%.1f\n", ended * 1e9 / (now() - start));
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    if (count < 3) return 64;
    const char *last = words[count - 1];
    if (!strcmp(words[1], "first")) {
        first(words + 2);
    } else if (!strcmp(words[1], "ping") && !strcmp(words[3], "--")) {
        int in, out;
        pid_t child = spawn(words + 4, &in, &out);
        ping(atoi(words[2]), in, out);
        close(out);
        waitpid(child, NULL, 0);
    } else if (!strcmp(words[1], "ping")) {
        int peer = dial(last);
        ping(atoi(words[2]), peer, peer);
    } else if (!strcmp(words[1], "flood")) {
        flood(atoi(words[2]), atoi(words[3]), atoi(words[4]), last);
    } else if (!strcmp(words[1], "play")) {
        play(atoi(words[2]), words[3], last);
    }
    return 0;
}
