// Tells the thread sanitizer of contended mutexes. Synchronization.Mutex takes and gives a free one in code that is
// compiled into its users, which the sanitizer sees; waiting and waking happen in Swift's own library, which it does
// not. Loaded before that library, this passes both on, and says what they order.

#include <dlfcn.h>
#include <stdint.h>

// Synchronization._MutexHandle's _lockSlow(UInt32) and _unlockSlow().
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

__attribute__((weak)) void __tsan_acquire(void *);
__attribute__((weak)) void __tsan_release(void *);

typedef SWIFT void lock_function(uint32_t thread, SELF);
typedef SWIFT void unlock_function(SELF);

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK);

static lock_function *real_lock;
static unlock_function *real_unlock;

__attribute__((constructor)) static void find(void) {
    real_lock = (lock_function *)dlsym(RTLD_NEXT, LOCK);
    real_unlock = (unlock_function *)dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slow(uint32_t thread, SELF) {
    real_lock(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void unlock_slow(SELF) {
    if (__tsan_release) __tsan_release(self);
    real_unlock(self);
}
