// The peer to compare with: echoes bytes, blocking, one thread a connection, one write for each read.
//   echo SOCKET     listens on a Unix socket
//   echo            echoes stdin to stdout
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void echo(int in, int out) {
    char buffer[64 << 10];
    ssize_t count;
    while ((count = read(in, buffer, sizeof buffer)) > 0)
        for (ssize_t sent = 0, now; sent < count; sent += now)
            if ((now = write(out, buffer + sent, count - sent)) <= 0) return;
}

static void *serve(void *argument) {
    int peer = (int)(intptr_t)argument;
    echo(peer, peer);
    close(peer);
    return NULL;
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    if (count < 2) return echo(0, 1), 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, words[1], sizeof address.sun_path - 1);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 128) != 0)
        return perror(words[1]), 1;
    for (int peer; (peer = accept(listener, NULL, NULL)) >= 0;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)peer) != 0) return perror("thread"), 1;
        pthread_detach(thread);
    }
    return 0;
}
