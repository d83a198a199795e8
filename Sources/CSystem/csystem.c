#define _GNU_SOURCE
#include "csystem.h"

#include <linux/fs.h>
#include <malloc.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static uint32_t epoll_bits(uint32_t interest) {
    return (interest & CSYSTEM_READABLE ? EPOLLIN : 0) | (interest & CSYSTEM_WRITABLE ? EPOLLOUT : 0);
}

static uint32_t readiness(uint32_t bits) {
    uint32_t ready = 0;
    if (bits & (EPOLLIN | EPOLLRDHUP)) ready |= CSYSTEM_READABLE;
    if (bits & EPOLLOUT) ready |= CSYSTEM_WRITABLE;
    if (bits & (EPOLLERR | EPOLLHUP)) ready |= CSYSTEM_HUNG_UP;
    return ready;
}

int csystem_poller(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int poller, int operation, int fd, uint32_t interest, uint64_t tag) {
    struct epoll_event event = {.events = epoll_bits(interest), .data.u64 = tag};
    return epoll_ctl(poller, operation, fd, &event);
}

int csystem_poller_add(int poller, int fd, uint32_t interest, uint64_t tag) {
    return control(poller, EPOLL_CTL_ADD, fd, interest, tag);
}

int csystem_poller_change(int poller, int fd, uint32_t interest, uint64_t tag) {
    return control(poller, EPOLL_CTL_MOD, fd, interest, tag);
}

int csystem_poller_remove(int poller, int fd) { return control(poller, EPOLL_CTL_DEL, fd, 0, 0); }

int csystem_poller_wait(int poller, csystem_ready *ready, int capacity, int timeout) {
    struct epoll_event events[64];
    if (capacity > 64) capacity = 64;
    int count = epoll_wait(poller, events, capacity, timeout);
    for (int i = 0; i < count; i++)
        ready[i] = (csystem_ready){.tag = events[i].data.u64, .readiness = readiness(events[i].events)};
    return count;
}

int csystem_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int csystem_termination_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void csystem_take_signal(int signals) {
    struct signalfd_siginfo signal;
    (void)!read(signals, &signal, sizeof signal);
}

int csystem_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

bool csystem_peer_is_same_user(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int csystem_open_path(const char *path, int flags, bool no_magic_links) {
    flags |= O_PATH | O_CLOEXEC;
    if (!no_magic_links) return open(path, flags);
    struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = (uint64_t)flags, .resolve = 2 /* RESOLVE_NO_MAGICLINKS */};
    return (int)syscall(437 /* openat2 */, AT_FDCWD, path, &how, sizeof how);
}

int csystem_open_name(int directory, const char *name) {
    return openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

int csystem_start_writeback(int fd, int64_t offset, int64_t length) {
    return sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
}

int csystem_drop_written(int fd, int64_t offset, int64_t length) {
    unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    int failure = sync_file_range(fd, offset, length, flags);
    return failure ? failure : posix_fadvise(fd, offset, length, POSIX_FADV_DONTNEED);
}

int csystem_allocate(int fd, int64_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }

_Static_assert(CSYSTEM_SPAWN_NEW_SESSION == POSIX_SPAWN_SETSID, "spawn.h");

int csystem_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int csystem_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

ssize_t csystem_read_cached(int fd, void *bytes, size_t count, int64_t offset) {
    struct iovec place = {.iov_base = bytes, .iov_len = count};
    return preadv2(fd, &place, 1, offset, RWF_NOWAIT);
}

bool csystem_inode_generation(int fd, uint32_t *generation) {
    long value = 0;
    if (ioctl(fd, FS_IOC_GETVERSION, &value) != 0) return false;
    *generation = (uint32_t)value;
    return true;
}

int csystem_thread_name(const char *name) { return pthread_setname_np(pthread_self(), name); }

ssize_t csystem_getrandom(void *bytes, size_t count) { return getrandom(bytes, count, 0); }

void csystem_share_heaps(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

void csystem_give_back_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
