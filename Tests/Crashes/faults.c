// Stands between a program and the system: counts its calls that touch files below one directory, notes them, and
// makes one of them the last, fail, or do half of its work. Loaded with LD_PRELOAD.
//
// FAULTS_BELOW    the directory
// FAULTS_CONTROL  a file with a `struct control`, shared with whoever decides what happens, at any time
// FAULTS_NOTES    a file for notes, a line a call: number, name (`!` before it: hit), inode, offset, length, result, path, second path.
//                 Where `keeps_data` is set the bytes of writes follow their line.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CHANGE = 1, WRITE = 2, SYNC = 4, OPEN = 8, READ = 16, LOOK = 32 };
enum action { PASS, KILL_BEFORE, KILL_AFTER, TEAR, FAIL, HALVE, FILL };
enum { ONCE, FROM_THEN_ON, EVERY_OTHER };

struct control {
    uint32_t kinds, action, error, pattern;
    uint64_t at, count, hits;
    uint32_t keeps_data;
    int64_t room; // on the disk since it is full, in bytes
};

static struct control *control;
static char below[PATH_MAX];
static size_t below_length;
static int notes = -1;
// Held from the decision to the note, so that notes are in the order in which things happened.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("FAULTS_BELOW"), *shared = getenv("FAULTS_CONTROL"), *path = getenv("FAULTS_NOTES");
    if (directory == NULL || shared == NULL || path == NULL) return;
    below_length = strlen(directory);
    memcpy(below, directory, below_length + 1);
    int file = syscall(SYS_openat, AT_FDCWD, shared, O_RDWR | O_CLOEXEC);
    notes = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    void *memory = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || notes < 0 || memory == MAP_FAILED) abort();
    control = memory;
}

static void die(void) {
    for (;;) kill(getpid(), SIGKILL);
}

struct call {
    enum action action;
    const char *name;
    char path[PATH_MAX], path2[PATH_MAX];
    int fd;      // of the file; -1 where it is meant by its name
    int makes;   // a file of that name, where there is none
    int names;   // a file that is there
    int64_t end; // what the file has to have room for, in bytes
};

static int is_watched(const char *path) { return strncmp(path, below, below_length) == 0; }

// What a path means, from a directory's descriptor where it is relative.
static void resolve(int fd, const char *path, char *out) {
    char link[64];
    ssize_t length = 0;
    *out = 0;
    if (path != NULL && *path == '/' && sscanf(path, "/proc/self/fd/%d", &fd) != 1) {
        snprintf(out, PATH_MAX, "%s", path);
        return;
    }
    if (path != NULL && *path == '/') path = NULL;
    snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
    length = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
    if (length < 0) length = 0;
    out[length] = 0;
    if (path != NULL) snprintf(out + length, PATH_MAX - length, "/%s", path);
}

// False where the call is none of ours; else it has to be ended.
static int enter(struct call *call, enum kind kind, const char *name, int fd, const char *path) {
    if (control == NULL) return 0;
    resolve(fd, path, call->path);
    if (!is_watched(call->path)) return 0;
    call->path2[0] = 0;
    call->fd = path == NULL ? fd : -1;
    call->makes = 0;
    call->names = 0;
    call->end = 0;
    call->name = name;
    call->action = PASS;
    pthread_mutex_lock(&turn);
    if (!(control->kinds & kind)) return 1;
    uint64_t number = ++control->count;
    int is_hit = control->action == PASS || control->at == 0 ? 0
                 : control->pattern == FROM_THEN_ON        ? number >= control->at
                 : control->pattern == EVERY_OTHER         ? number >= control->at && (number - control->at) % 2 == 0
                                                           : number == control->at;
    if (!is_hit) return 1;
    call->action = control->action;
    return 1;
}

static void note(struct call *call, int fd, int64_t offset, int64_t length, int64_t result, const struct iovec *data) {
    char line[2 * PATH_MAX + 200];
    struct stat status = {0};
    if (fd >= 0) syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH);
    int count = snprintf(
        line, sizeof line, "%llu\t%s%s\t%llu\t%lld\t%lld\t%lld\t%s\t%s\n", (unsigned long long)control->count,
        call->action == PASS ? "" : "!", call->name, (unsigned long long)status.st_ino, (long long)offset, (long long)length, (long long)result, call->path,
        call->path2);
    struct iovec all[] = {{line, count}, {NULL, 0}};
    if (data != NULL && control->keeps_data && result > 0) all[1] = (struct iovec){data->iov_base, result};
    syscall(SYS_writev, notes, all, 2);
    // Not before: the process may end in between, and what is counted is looked for in the notes.
    if (call->action != PASS) control->hits++;
}

// Ends a call: with the result of the system, or one that was made up.
static int64_t leave(
    struct call *call, int fd, int64_t offset, int64_t length, int64_t result, const struct iovec *data) {
    int error = errno;
    note(call, fd, offset, length, result < 0 ? -error : result, data);
    if (call->action == KILL_AFTER || call->action == TEAR) die();
    pthread_mutex_unlock(&turn);
    errno = error;
    return result;
}

static void die_of(struct call *call) {
    note(call, -1, 0, 0, 0, NULL);
    die();
}

static int64_t refuse(struct call *call) {
    errno = control->error;
    return leave(call, call->fd, 0, 0, -1, NULL);
}

// What the file takes up; -1 where there is none. What has another name as well is not freed with this one.
static int64_t taken(const struct call *call) {
    struct stat status;
    int has_failed = call->fd >= 0 ? syscall(SYS_newfstatat, call->fd, "", &status, AT_EMPTY_PATH)
                                   : syscall(SYS_newfstatat, AT_FDCWD, call->path, &status, AT_SYMLINK_NOFOLLOW);
    if (has_failed) return -1;
    return S_ISREG(status.st_mode) && status.st_nlink <= 1 ? status.st_blocks * 512 : 0;
}

// Whether the disk is full, and the call needs more than was freed since. Files have no holes.
static int lacks_room(const struct call *call, int64_t taken) {
    if (call->action != FILL) return 0;
    int64_t needed = taken >= 0 ? (call->end + 4095) / 4096 * 4096 - taken : call->makes ? 4096 : 0;
    return needed > 0 && needed > control->room;
}

static void count_room(const struct call *call, int64_t before) {
    int64_t after = taken(call);
    if (call->action == FILL && !call->names) control->room += (before > 0 ? before : 0) - (after > 0 ? after : 0);
}

// A call that does all or nothing.
#define WHOLE(type, kind, name, fd, path, after, result_fd, offset, length, system)         \
    struct call call;                                                                       \
    if (!enter(&call, kind, name, fd, path)) return (type)(system);                         \
    after;                                                                                  \
    if (call.action == KILL_BEFORE) die_of(&call);                                          \
    int64_t before = taken(&call);                                                          \
    if (call.action == FAIL || lacks_room(&call, before)) return (type)refuse(&call);       \
    int64_t result = (system);                                                              \
    int error = errno;                                                                      \
    count_room(&call, before);                                                              \
    errno = error;                                                                          \
    return (type)leave(&call, (result_fd), offset, length, result, NULL)

static int opening(int directory, const char *path, int flags, mode_t mode) {
    int has_name = (flags & O_TMPFILE) != O_TMPFILE, makes = !has_name || flags & (O_CREAT | O_TRUNC);
    const char *name = !has_name ? "open-unnamed" : flags & O_TRUNC ? "open-empty" : makes ? "open-new" : "open";
    // For the notes only what makes or empties a file counts.
    WHOLE(int, makes ? CHANGE | OPEN : OPEN, name, directory, path,
          call.makes = flags & O_CREAT,
          (int)result, 0, 0, syscall(SYS_openat, directory, path, flags, mode));
}

#define MODE(flags)                                                                         \
    mode_t mode = 0;                                                                        \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                  \
        va_list arguments;                                                                  \
        va_start(arguments, flags);                                                         \
        mode = va_arg(arguments, mode_t);                                                   \
        va_end(arguments);                                                                  \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return opening(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags)
    return opening(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    MODE(flags)
    return opening(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
    MODE(flags)
    return opening(directory, path, flags, mode);
}

// Reads and writes: half of the bytes is an answer as well, and so is half of them before the end.
static ssize_t moving(
    enum kind kind, const char *name, int number, int fd, const struct iovec *data, off_t offset, int has_offset) {
    struct call call;
    size_t length = data->iov_len;
    if (!enter(&call, kind, name, fd, NULL)) return syscall(number, fd, data->iov_base, length, offset);
    if (!has_offset) {
        offset = syscall(SYS_lseek, fd, 0, SEEK_CUR);
        if (syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND) offset = syscall(SYS_lseek, fd, 0, SEEK_END);
    }
    if (call.action == KILL_BEFORE) die_of(&call);
    call.end = kind == WRITE ? offset + (int64_t)length : 0;
    int64_t before = taken(&call);
    if (call.action == FAIL || lacks_room(&call, before)) return refuse(&call);
    if ((call.action == HALVE || call.action == TEAR) && length > 1) length /= 2;
    ssize_t result = syscall(number, fd, data->iov_base, length, offset);
    int error = errno;
    count_room(&call, before);
    errno = error;
    return leave(&call, fd, offset, length, result, kind == WRITE ? data : NULL);
}

#define MOVING(name, kind, number, pointer, ...)                                            \
    ssize_t name(int fd, pointer bytes, size_t count, off_t offset) {                       \
        struct iovec data = {(void *)bytes, count};                                         \
        return moving(kind, #name, number, fd, &data, offset, 1);                           \
    }
MOVING(pwrite, WRITE, SYS_pwrite64, const void *)
MOVING(pwrite64, WRITE, SYS_pwrite64, const void *)
MOVING(pread, READ, SYS_pread64, void *)
MOVING(pread64, READ, SYS_pread64, void *)
ssize_t write(int fd, const void *bytes, size_t count) {
    struct iovec data = {(void *)bytes, count};
    return moving(WRITE, "write", SYS_write, fd, &data, 0, 0);
}
ssize_t read(int fd, void *bytes, size_t count) {
    struct iovec data = {bytes, count};
    return moving(READ, "read", SYS_read, fd, &data, 0, 0);
}

#define SIZING(name)                                                                        \
    int name(int fd, off_t length) {                                                        \
        WHOLE(int, CHANGE, "ftruncate", fd, NULL, , fd, length, 0, syscall(SYS_ftruncate, fd, length)); \
    }
SIZING(ftruncate)
SIZING(ftruncate64)
int fallocate(int fd, int how, off_t offset, off_t length) {
    WHOLE(int, CHANGE, "fallocate", fd, NULL, call.end = offset + length, fd, offset, length, syscall(SYS_fallocate, fd, how, offset, length));
}
int fsync(int fd) { WHOLE(int, SYNC, "fsync", fd, NULL, , fd, 0, 0, syscall(SYS_fsync, fd)); }
int fdatasync(int fd) { WHOLE(int, SYNC, "fdatasync", fd, NULL, , fd, 0, 0, syscall(SYS_fdatasync, fd)); }
int sync_file_range(int fd, off64_t offset, off64_t length, unsigned how) {
    WHOLE(int, SYNC, "sync_file_range", fd, NULL, , fd, offset, length, syscall(SYS_sync_file_range, fd, offset, length, how));
}
int fchmod(int fd, mode_t mode) { WHOLE(int, CHANGE, "fchmod", fd, NULL, , fd, 0, 0, syscall(SYS_fchmod, fd, mode)); }

#define SECOND(directory, path) resolve(directory, path, call.path2)
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    WHOLE(int, CHANGE, "rename", from, old, SECOND(to, new), -1, 0, 0, syscall(SYS_renameat2, from, old, to, new, flags));
}
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int from, const char *old, int to, const char *new, int flags) {
    int file = -1; // without a name
    sscanf(old, "/proc/self/fd/%d", &file);
    WHOLE(int, CHANGE, "link", to, new, (SECOND(from, old), call.names = 1), file, 0, 0,
          syscall(SYS_linkat, from, old, to, new, flags));
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }
int unlinkat(int directory, const char *path, int flags) {
    WHOLE(int, CHANGE, "unlink", directory, path, , -1, 0, 0, syscall(SYS_unlinkat, directory, path, flags));
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int directory, const char *path, mode_t mode) {
    WHOLE(int, CHANGE, "mkdir", directory, path, call.makes = 1, -1, 0, 0, syscall(SYS_mkdirat, directory, path, mode));
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

#define LOOKING(name, type, flags)                                                          \
    int name(const char *path, struct type *status) {                                       \
        WHOLE(int, LOOK, #name, AT_FDCWD, path, , -1, 0, 0, syscall(SYS_newfstatat, AT_FDCWD, path, status, flags)); \
    }
LOOKING(stat, stat, 0)
LOOKING(stat64, stat64, 0)
LOOKING(lstat, stat, AT_SYMLINK_NOFOLLOW)
LOOKING(lstat64, stat64, AT_SYMLINK_NOFOLLOW)
int fstatat(int directory, const char *path, struct stat *status, int flags) {
    WHOLE(int, LOOK, "fstatat", directory, path, , -1, 0, 0, syscall(SYS_newfstatat, directory, path, status, flags));
}
