// The other end of HTTP uploads, as fast as it can be: a thread each, keeps nothing but length and CRC32C.
//
//     sink PORT
//
// Takes PUT of anything, and of the JSON API of Google Cloud Storage as much as uploads need: multipart, resumable with
// Content-Range, and looks, which find nothing. Prints its port when it listens.
#define _GNU_SOURCE
#include "checksums.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSIONS = 4096, HEAD = 16 << 10, PIECE = 256 << 10 };

struct session { long long size; unsigned crc; char name[128]; };
static struct session sessions[SESSIONS];
static unsigned last_session;

struct peer {
    int socket;
    char *buffer;
    size_t filled;
};

static int more(struct peer *peer, size_t limit) {
    ssize_t count = recv(peer->socket, peer->buffer + peer->filled, limit - peer->filled, 0);
    if (count > 0) peer->filled += (size_t)count;
    return count > 0;
}

static void drop(struct peer *peer, size_t count) {
    peer->filled -= count;
    memmove(peer->buffer, peer->buffer + count, peer->filled);
}

// The whole head in a buffer of its own, or 0.
static int read_head(struct peer *peer, char *head) {
    for (;;) {
        char *end = memmem(peer->buffer, peer->filled, "\r\n\r\n", 4);
        if (end) {
            size_t length = (size_t)(end + 4 - peer->buffer);
            if (length >= HEAD) return 0;
            memcpy(head, peer->buffer, length);
            head[length] = 0;
            drop(peer, length);
            return 1;
        }
        if (peer->filled >= HEAD || !more(peer, HEAD)) return 0;
    }
}

static const char *field(const char *head, const char *name) {
    const char *line = strcasestr(head, name);
    return line ? line + strlen(name) : "";
}

static int read_body(struct peer *peer, long long count, struct session *into) {
    while (count > 0) {
        if (peer->filled == 0 && !more(peer, PIECE)) return 0;
        size_t next = (long long)peer->filled < count ? peer->filled : (size_t)count;
        into->crc = checksums_crc32c(into->crc, peer->buffer, next);
        into->size += (long long)next;
        count -= (long long)next;
        drop(peer, next);
    }
    return 1;
}

static void answer(struct peer *peer, const char *status, const char *header, const char *body) {
    char text[2048];
    int length = snprintf(text, sizeof text, "HTTP/1.1 %s\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        status, header, strlen(body), body);
    send(peer->socket, text, (size_t)length, MSG_NOSIGNAL);
}

// The name in the target of a request.
static void read_name(const char *head, char *name) {
    const char *from = field(head, "name=");
    for (int at = 0; at < 127 && *from && !strchr("& \r", *from); at++) {
        unsigned byte = (unsigned char)*from++;
        if (byte == '%' && sscanf(from, "%2x", &byte) == 1) from += 2;
        *name++ = (char)byte;
    }
    *name = 0;
}

static void describe(struct peer *peer, struct session object) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned long long bits = (unsigned long long)object.crc << 16;
    char crc[9] = "======", body[640];
    for (int place = 0; place < 6; place++) crc[place] = digits[bits >> (42 - 6 * place) & 63];
    strcpy(crc + 6, "==");
    snprintf(body, sizeof body,
        "{\"kind\":\"storage#object\",\"name\":\"%s\",\"bucket\":\"bench\",\"generation\":\"1\",\"metageneration\":\"1\","
        "\"size\":\"%lld\",\"crc32c\":\"%s\",\"timeCreated\":\"2026-01-01T00:00:00.000Z\"}",
        object.name, object.size, crc);
    answer(peer, "200 OK", "", body);
}

static void resumable(struct peer *peer, const char *head, struct session *session, long long count) {
    long long total = -1;
    sscanf(field(head, "\r\nContent-Range:"), " bytes %*[^/]/%lld", &total);
    if (!read_body(peer, count, session)) return;
    if (session->size == total) return describe(peer, *session);
    char range[64] = "";
    if (session->size) snprintf(range, sizeof range, "Range: bytes=0-%lld\r\n", session->size - 1);
    answer(peer, "308 Resume Incomplete", range, "");
}

// The bytes of the second part, whose end is that of the body without its last boundary.
static int multipart(struct peer *peer, const char *head, long long count) {
    char boundary[128] = "--";
    const char *named = field(head, "boundary=");
    named += *named == '"';
    size_t length = strcspn(named, "\"\r;");
    if (length > 100 || count > PIECE) return 0;
    memcpy(boundary + 2, named, length);
    while ((long long)peer->filled < count) if (!more(peer, PIECE)) return 0;
    char *body = peer->buffer, *end = body + count;
    char *second = memmem(body + 2, (size_t)count - 2, boundary, length + 2);
    char *start = second ? memmem(second, (size_t)(end - second), "\r\n\r\n", 4) : 0;
    char *stop = start ? memmem(start + 4, (size_t)(end - start - 4), boundary, length + 2) : 0;
    if (!stop) return 0;
    size_t size = (size_t)(stop - 2 - (start + 4));
    struct session object = {(long long)size, checksums_crc32c(0, start + 4, size), ""};
    read_name(head, object.name);
    describe(peer, object);
    drop(peer, (size_t)count);
    return 1;
}

static int serve(struct peer *peer, int port) {
    char head[HEAD + 1], location[128];
    if (!read_head(peer, head)) return 0;
    long long count = atoll(field(head, "\r\nContent-Length:"));
    unsigned id;
    if (strcasestr(head, "\r\nExpect: 100")) send(peer->socket, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
    if (sscanf(head, "PUT /session/%u", &id) == 1 && id < SESSIONS) {
        resumable(peer, head, &sessions[id], count);
        return 1;
    }
    if (strstr(head, "uploadType=multipart")) return multipart(peer, head, count);
    if (!strncmp(head, "GET ", 4)) {
        answer(peer, "404 Not Found", "", "{\"error\":{\"code\":404,\"message\":\"No such object\"}}");
        return 1;
    }
    struct session other = {0, 0, ""};
    if (!read_body(peer, count, &other)) return 0;
    if (!strstr(head, "uploadType=resumable")) {
        describe(peer, other);
        return 1;
    }
    id = __atomic_add_fetch(&last_session, 1, __ATOMIC_RELAXED) % SESSIONS;
    sessions[id] = (struct session){0, 0, ""};
    read_name(head, sessions[id].name);
    snprintf(location, sizeof location, "Location: http://127.0.0.1:%d/session/%u\r\n", port, id);
    answer(peer, "200 OK", location, "");
    return 1;
}

static int port;

static void *run(void *socket) {
    struct peer peer = {(int)(long)socket, malloc(PIECE), 0};
    int one = 1;
    setsockopt(peer.socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    while (serve(&peer, port)) {}
    close(peer.socket);
    free(peer.buffer);
    return 0;
}

int main(int count, char **words) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    address.sin_port = htons((unsigned short)(count > 1 ? atoi(words[1]) : 0));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (void *)&address, length) || listen(listener, 128)) return 1;
    getsockname(listener, (void *)&address, &length);
    port = ntohs(address.sin_port);
    printf("%d\n", port);
    fflush(stdout);
    for (;;) {
        int peer = accept(listener, 0, 0);
        pthread_t thread;
        if (peer >= 0 && pthread_create(&thread, 0, run, (void *)(long)peer)) close(peer);
    }
}
