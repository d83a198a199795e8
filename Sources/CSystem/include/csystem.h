#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The system calls Swift cannot import. Each returns what the system call returns; errno says why it failed.

enum {
    CSYSTEM_READABLE = 1,
    CSYSTEM_WRITABLE = 2,
    /// The other end is gone in both directions, or the descriptor is broken.
    CSYSTEM_HUNG_UP = 4,
};

typedef struct {
    uint64_t tag;
    uint32_t readiness;
} csystem_ready;

int csystem_poller(void);
int csystem_poller_add(int poller, int fd, uint32_t interest, uint64_t tag);
int csystem_poller_change(int poller, int fd, uint32_t interest, uint64_t tag);
int csystem_poller_remove(int poller, int fd);
/// Waits `timeout` milliseconds (-1: for ever); at most 64 at a time.
int csystem_poller_wait(int poller, csystem_ready *ready, int capacity, int timeout);

int csystem_eventfd(void);
/// Blocks SIGTERM, SIGINT and, unless it is ignored, SIGHUP in the calling thread and those it starts; the descriptor
/// tells of them.
int csystem_termination_signals(void);
/// Forgets one signal that the descriptor has told of.
void csystem_take_signal(int signals);
int csystem_accept(int listener);
bool csystem_peer_is_same_user(int socket);
/// A descriptor of a place alone (O_PATH). Without magic links no way to it leads out of this process's own mounts.
int csystem_open_path(const char *path, int flags, bool no_magic_links);
/// A place that a name in a directory leads to, and a link itself where it is one.
int csystem_open_name(int directory, const char *name);
/// Starts writing back dirty pages of a range, so that a later sync has little left to do.
int csystem_start_writeback(int fd, int64_t offset, int64_t length);
/// Waits until a range is written back, and lets its pages go: the next ones need not be found elsewhere.
int csystem_drop_written(int fd, int64_t offset, int64_t length);
/// Gives a file the blocks for so many bytes; its size stays.
int csystem_allocate(int fd, int64_t length);
/// Both ends are closed in programs that are started; the first one is read from.
int csystem_pipe(int ends[2]);
enum {
    /// For `posix_spawnattr_setflags`: the program that is started has no terminal, and no part in its starter's signals.
    CSYSTEM_SPAWN_NEW_SESSION = 0x80,
};
/// In the program that is started, closes this descriptor and all above.
int csystem_close_from(posix_spawn_file_actions_t *, int first);

/// Reads what is in memory; EAGAIN where a disk would have to be waited for.
ssize_t csystem_read_cached(int fd, void *bytes, size_t count, int64_t offset);
int csystem_thread_name(const char *name);
/// False where the file system keeps no generation of inodes, or the descriptor cannot be asked.
bool csystem_inode_generation(int fd, uint32_t *generation);
/// Random bytes from the kernel, without a descriptor; may be interrupted, or return fewer bytes than asked for.
ssize_t csystem_getrandom(void *bytes, size_t count);

/// Many threads that seldom allocate share two heaps, and large blocks go back to the system as soon as they are free.
void csystem_share_heaps(void);
/// Gives the system back what is free between small blocks, too.
void csystem_give_back_memory(void);
