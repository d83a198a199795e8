#pragma once

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// System calls that Swift cannot import, or that differ between systems; each system implements them in a file of its own.
// Unless stated otherwise, a function returns -1 and sets errno if it fails. Descriptors are closed in child programs.

enum {
    CSYSTEM_READABLE = 1,
    CSYSTEM_WRITABLE = 2,
    /// The other end is closed in both directions, or the descriptor is invalid.
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
/// Waits `timeout` milliseconds, or without limit for -1. Returns the number of ready descriptors, at most 64.
int csystem_poller_wait(int poller, csystem_ready *ready, int capacity, int timeout);

/// A descriptor that is readable once it was set.
int csystem_event(void);
void csystem_event_set(int event);
/// The event is ready once each time that it is set, or once for several times between two waits.
int csystem_poller_add_event(int poller, int event, uint64_t tag);

/// Blocks SIGTERM, SIGINT and, unless it is ignored, SIGHUP in the calling thread and those that it starts. Returns a
/// descriptor that becomes readable with such a signal.
int csystem_termination_signals(void);

/// Creates a stream socket.
int csystem_socket(int family, bool blocks);
/// Creates two connected Unix stream sockets.
int csystem_socket_pair(int ends[2]);
int csystem_accept(int listener);
bool csystem_peer_is_same_user(int socket);
/// The process that has connected, or created the pair; 0 if this process cannot see it.
pid_t csystem_peer_process(int socket);
/// Sends without waiting and without SIGPIPE. With `more` the system may delay a segment that is not full.
ssize_t csystem_send(int socket, const void *bytes, size_t count, bool more);
/// Sends a range of a file; may wait for the disk.
ssize_t csystem_send_file(int socket, int file, int64_t offset, size_t count);
/// The number of sent bytes that the peer has not acknowledged; 0 if it is unknown.
int csystem_unacknowledged(int socket);

/// Opens a path for inspection only, without access to the file; a relative one below the directory. With
/// `no_magic_links`, fails for links of /proc.
int csystem_open_path(int directory, const char *path, int flags, bool no_magic_links);
/// Opens a directory for reading; fails for links of /proc.
int csystem_open_directory(const char *path);
/// Opens a name in a directory for inspection only; does not follow a link.
int csystem_open_name(int directory, const char *name);
/// Creates an unnamed file in a directory; fails if the file system does not support that.
int csystem_open_unnamed(int directory);
/// Writes a file's bytes and size to the disk.
int csystem_sync(int fd);
/// Syncs the file system of the file.
int csystem_sync_file_system(int fd);
/// Tells the system that a file will be read in order.
void csystem_expect_reading(int fd, int64_t offset);
/// Starts to write a range to the disk, so that a later sync is short. Returns -1 if bytes could not be written: a later
/// sync may not report that again.
int csystem_start_writeback(int fd, int64_t offset, int64_t length);
/// Waits until a range is on the disk, and removes it from the page cache. Fails as `csystem_start_writeback` does.
int csystem_drop_written(int fd, int64_t offset, int64_t length);
/// Allocates blocks for a number of bytes without a change of the file's size.
int csystem_allocate(int fd, int64_t length);
/// Reads cached bytes; fails with EAGAIN if the disk must be read.
ssize_t csystem_read_cached(int fd, void *bytes, size_t count, int64_t offset);
/// Removes a file, or a directory with everything in it; follows no link. Returns -1 if something is left.
int csystem_remove_tree(const char *path);
/// Returns false if the file system has no generations of inodes.
bool csystem_inode_generation(int fd, uint32_t *generation);

/// `ends[0]` is read from, `ends[1]` written to.
int csystem_pipe(int ends[2]);
/// Starts a program with an empty stdin; -1 stands for /dev/null. It inherits no other descriptor. It has a session of
/// its own, or else a process group of its own and the default signals. Returns an error code.
int csystem_spawn(pid_t *process, const char *path, char *const arguments[], int output, int error, bool new_session);
/// Closes this descriptor and all higher ones in the started program.
int csystem_close_from(posix_spawn_file_actions_t *, int first);

typedef enum { CSYSTEM_OPEN_FILES, CSYSTEM_FILE_SIZE } csystem_resource;
/// Returns the soft limit, after raising it to the hard limit if `raise` is set.
long csystem_limit(csystem_resource resource, bool raise);

/// Starts a detached thread. Returns an error code.
int csystem_start_thread(size_t stack_size, void *(*body)(void *), void *context);
int csystem_thread_name(const char *name);
/// Identifies the calling thread.
static inline uint64_t csystem_thread(void) { return (uint64_t)pthread_self(); }
/// Fills a part of the buffer with random bytes, and returns its length; may be interrupted.
ssize_t csystem_getrandom(void *bytes, size_t count);

/// The offset of the first occurrence of `part`; -1 without one.
ptrdiff_t csystem_find(const void *bytes, size_t count, const void *part, size_t length);

/// Limits the heaps of all threads together to two, and returns large blocks to the system when they are freed.
void csystem_share_heaps(void);
/// Returns free memory to the system.
void csystem_give_back_memory(void);
