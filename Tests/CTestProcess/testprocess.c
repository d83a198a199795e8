// Prepares the process that runs the tests, before the first test:
// - as many tests run at once as the processors can bear;
// - a guardian, a process of its own, kills what the tests leave behind, however they end;
// - descendants that outlive the tests are named, and fail the run.
#define _GNU_SOURCE
#include "testprocess.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *const testprocess_mark = "STORAGE_RPC_TEST_RUN";

// `STORAGE_RPC_TEST_RUN=` and the id of this run, as it stands in the environment of descendants.
static char mark[64];

static void pause_for(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

// Reads a small file of /proc; the length, or 0. The buffer ends with a NUL.
static size_t read_proc(int pid, const char *name, char *buffer, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    size_t length = 0;
    ssize_t count;
    while (length < size - 1 && (count = read(file, buffer + length, size - 1 - length)) > 0) length += count;
    close(file);
    buffer[length] = 0;
    return length;
}

// Whether the process has inherited the mark, and is no zombie.
static bool is_descendant(int pid) {
    static char environment[256 << 10];
    size_t length = read_proc(pid, "environ", environment, sizeof environment);
    for (size_t at = 0; at < length; at += strlen(environment + at) + 1)
        if (strcmp(environment + at, mark) == 0) return true;
    return false;
}

static void report(int pid) {
    char command[512];
    size_t length = read_proc(pid, "cmdline", command, sizeof command);
    for (size_t i = 0; i + 1 < length; i++)
        if (command[i] == 0) command[i] = ' ';
    fprintf(stderr, "✘ A process outlived the tests: %d: %s\n", pid, command);
}

// Calls `act`, unless it is null, for each living descendant; how many there are.
static int each_descendant(void (*act)(int pid)) {
    DIR *processes = opendir("/proc");
    if (processes == NULL) return 0;
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(processes)) != NULL) {
        int pid = atoi(entry->d_name);
        if (pid <= 1 || pid == getpid() || !is_descendant(pid)) continue;
        count++;
        if (act != NULL) act(pid);
    }
    closedir(processes);
    return count;
}

static void kill_process(int pid) { kill(pid, SIGKILL); }

static void kill_descendants(void) {
    for (int round = 0; round < 100 && each_descendant(kill_process) > 0; round++) pause_for(20);
}

static atomic_bool has_failed;

void testprocess_fail(const char *reason) {
    fprintf(stderr, "✘ %s\n", reason);
    has_failed = true;
}

// Services may take a moment to end after their last client.
static void check_descendants(int status, void *context) {
    (void)context;
    for (int round = 0; round < 1200 && each_descendant(NULL) > 0; round++) pause_for(50);
    if (each_descendant(report) == 0 && !has_failed) return;
    kill_descendants();
    fflush(NULL);
    _exit(status != 0 ? status : 1);
}

// Waits until the test process has ended in any way, then kills its descendants.
static _Noreturn void guard(int pipe) {
    setsid();
    prctl(PR_SET_NAME, "test guardian");
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    dup2(pipe, 3);
    int null = open("/dev/null", O_RDWR);
    for (int end = 0; end < 3; end++) dup2(null, end);
    close_range(4, ~0U, 0);
    char byte;
    while (read(3, &byte, 1) < 0) {}
    kill_descendants();
    _exit(0);
}

static void start_guardian(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    // An orphan of an intermediate process: nobody waits for it.
    pid_t child = fork();
    if (child == 0) {
        if (fork() != 0) _exit(0);
        close(ends[1]);
        guard(ends[0]);
    }
    waitpid(child, NULL, 0);
    close(ends[0]);
}

// Four tests for each processor, unless the user chose another number: without a limit, Swift Testing starts all tests
// at once.
static void limit_tests(void) {
    cpu_set_t processors;
    int count = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    char width[16];
    snprintf(width, sizeof width, "%d", count * 4);
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}

__attribute__((constructor)) static void prepare(void) {
    limit_tests();
    // Clients and servers of tests disconnect while the other one writes.
    signal(SIGPIPE, SIG_IGN);
    snprintf(mark, sizeof mark, "%s=%d-%ld", testprocess_mark, getpid(), (long)time(NULL));
    setenv(testprocess_mark, strchr(mark, '=') + 1, 1);
    start_guardian();
    on_exit(check_descendants, NULL);
}

// Stacks. Each thread collects its own in a signal handler.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_SANITIZED
#endif
#endif

#ifndef IS_SANITIZED
// Replaces the function of the C library. Threads of Dispatch, and those that they start, block all signals: that for
// stacks stays open.
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    typedef int (*function)(int, const sigset_t *, sigset_t *);
    static _Atomic(function) original;
    if (atomic_load(&original) == NULL) atomic_store(&original, (function)dlsym(RTLD_NEXT, "pthread_sigmask"));
    sigset_t open;
    if (set != NULL && how != SIG_UNBLOCK) {
        open = *set;
        sigdelset(&open, SIGRTMIN + 10);
        set = &open;
    }
    return atomic_load(&original)(how, set, old);
}
#endif

enum { frames_max = 96 };
static void *frames[frames_max];
static int frame_count;
static atomic_bool is_collected;

static void collect(int number) {
    (void)number;
    frame_count = backtrace(frames, frames_max);
    atomic_store(&is_collected, true);
}

static void print_frame(void *address) {
    typedef char *(*demangler)(const char *, size_t, char *, size_t *, unsigned);
    static demangler demangle;
    if (demangle == NULL) demangle = (demangler)dlsym(RTLD_DEFAULT, "swift_demangle");
    Dl_info info;
    if (dladdr(address, &info) == 0) {
        fprintf(stderr, "    %p\n", address);
        return;
    }
    if (info.dli_sname == NULL) {  // llvm-symbolizer -e FILE OFFSET names it
        fprintf(stderr, "    %s 0x%zx\n", info.dli_fname, (size_t)((char *)address - (char *)info.dli_fbase));
        return;
    }
    char *name = demangle != NULL ? demangle(info.dli_sname, strlen(info.dli_sname), NULL, NULL, 0) : NULL;
    fprintf(stderr, "    %s\n", name != NULL ? name : info.dli_sname);
    free(name);
}

static void print_stack(int thread, int number) {
    char path[32], name[32];
    snprintf(path, sizeof path, "task/%d/comm", thread);
    size_t length = read_proc(getpid(), path, name, sizeof name);
    fprintf(stderr, "Thread %d, %.*s:\n", thread, length > 0 ? (int)length - 1 : 0, name);
    atomic_store(&is_collected, false);
    syscall(SYS_tgkill, getpid(), thread, number);
    for (int round = 0; round < 200 && !atomic_load(&is_collected); round++) pause_for(5);
    if (!atomic_load(&is_collected)) {
        fprintf(stderr, "    the thread does not answer\n");
        return;
    }
    // The first two frames are the handler and the return from it.
    for (int i = 2; i < frame_count; i++) print_frame(frames[i]);
}

void testprocess_print_stacks(void) {
    int number = SIGRTMIN + 10;
    backtrace(frames, frames_max);  // loads what the handler needs
    struct sigaction action = {.sa_handler = collect, .sa_flags = SA_RESTART};
    sigaction(number, &action, NULL);
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return;
    struct dirent *entry;
    while ((entry = readdir(threads)) != NULL) {
        int thread = atoi(entry->d_name);
        if (thread > 0 && thread != gettid()) print_stack(thread, number);
    }
    closedir(threads);
}

void testprocess_end(void) {
    kill_descendants();
    fflush(NULL);
    _exit(1);
}
