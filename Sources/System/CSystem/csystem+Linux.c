// Linux's implementation of csystem.h.
#ifdef __linux__
#define _GNU_SOURCE
#include "csystem.h"

#include <linux/fs.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
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

int csystem_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Each write is an edge, so the counter needs no reset; it would overflow after 2^64 - 2 writes.
int csystem_poller_add_event(int poller, int event, uint64_t tag) {
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET, .data.u64 = tag};
    return epoll_ctl(poller, EPOLL_CTL_ADD, event, &edge);
}

void csystem_event_set(int event) {
    uint64_t one = 1;
    (void)!write(event, &one, sizeof one);
}

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

int csystem_socket(int family, bool blocks) {
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | (blocks ? 0 : SOCK_NONBLOCK), 0);
}

int csystem_socket_pair(int ends[2]) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); }

ssize_t csystem_send(int socket, const void *bytes, size_t count, bool more) {
    return send(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
}

ssize_t csystem_send_file(int socket, int file, int64_t offset, size_t count) {
    off_t start = offset;
    return sendfile(socket, file, &start, count);
}

int csystem_unacknowledged(int socket) {
    int count = 0;
    return ioctl(socket, TIOCOUTQ, &count) == 0 ? count : 0;
}

int csystem_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

bool csystem_peer_is_same_user(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

pid_t csystem_peer_process(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

static int open_without_magic_links(int directory, const char *path, int flags) {
    struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = (uint64_t)flags, .resolve = 2 /* RESOLVE_NO_MAGICLINKS */};
    return (int)syscall(437 /* openat2 */, directory, path, &how, sizeof how);
}

int csystem_open_path(int directory, const char *path, int flags, bool no_magic_links) {
    flags |= O_PATH | O_CLOEXEC;
    return no_magic_links ? open_without_magic_links(directory, path, flags) : openat(directory, path, flags);
}

int csystem_open_directory(const char *path) {
    return open_without_magic_links(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int csystem_open_name(int directory, const char *name) {
    return openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

int csystem_open_unnamed(int directory) {
    return openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

// A system without the call, or a sandbox that forbids it, has lost no bytes.
static int write_range(int fd, int64_t offset, int64_t length, unsigned flags) {
    int failure = sync_file_range(fd, offset, length, flags);
    return failure && (errno == ENOSYS || errno == EPERM) ? 0 : failure;
}

int csystem_start_writeback(int fd, int64_t offset, int64_t length) {
    return write_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
}

int csystem_drop_written(int fd, int64_t offset, int64_t length) {
    unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (write_range(fd, offset, length, flags) != 0) return -1;
    posix_fadvise(fd, offset, length, POSIX_FADV_DONTNEED);
    return 0;
}

int csystem_allocate(int fd, int64_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }

int csystem_sync(int fd) { return fdatasync(fd); }

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    remove(path); // After a failure other files may still be removable.
    return 0;
}

int csystem_remove_tree(const char *path) {
    struct stat status;
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return lstat(path, &status) == 0 ? -1 : 0;
}

int csystem_sync_file_system(int fd) { return syncfs(fd); }

void csystem_expect_reading(int fd, int64_t offset) { posix_fadvise(fd, offset, 0, POSIX_FADV_SEQUENTIAL); }

int csystem_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

static void redirect(posix_spawn_file_actions_t *actions, int from, int to) {
    if (from < 0)
        posix_spawn_file_actions_addopen(actions, to, "/dev/null", O_WRONLY, 0);
    else if (from != to)
        posix_spawn_file_actions_adddup2(actions, from, to);
}

int csystem_spawn(pid_t *process, const char *path, char *const arguments[], int output, int error, bool new_session) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    redirect(&actions, output, STDOUT_FILENO);
    redirect(&actions, error, STDERR_FILENO);
    csystem_close_from(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int group = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    posix_spawnattr_setflags(&attributes, new_session ? POSIX_SPAWN_SETSID : group);
    int failure = posix_spawn(process, path, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
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

long csystem_limit(csystem_resource resource, bool raise) {
    int kind = resource == CSYSTEM_OPEN_FILES ? RLIMIT_NOFILE : RLIMIT_FSIZE;
    struct rlimit limit;
    if (getrlimit(kind, &limit) != 0) return -1;
    rlim_t soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (raise && setrlimit(kind, &limit) == 0) soft = limit.rlim_max;
    return soft > LONG_MAX ? LONG_MAX : (long)soft;
}

int csystem_start_thread(size_t stack_size, void *(*body)(void *), void *context) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_size);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int failure = pthread_create(&thread, &attributes, body, context);
    pthread_attr_destroy(&attributes);
    return failure;
}

int csystem_thread_name(const char *name) { return pthread_setname_np(pthread_self(), name); }

ssize_t csystem_getrandom(void *bytes, size_t count) { return getrandom(bytes, count, 0); }

ptrdiff_t csystem_find(const void *bytes, size_t count, const void *part, size_t length) {
    const char *found = count >= length && count > 0 ? memmem(bytes, count, part, length) : NULL;
    return found ? found - (const char *)bytes : -1;
}

void csystem_share_heaps(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 2);
    // Buffers of some megabytes are reused: the kernel would clear each page of a new one, which costs a stream more
    // than all other work on its bytes.
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

void csystem_give_back_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
#endif
