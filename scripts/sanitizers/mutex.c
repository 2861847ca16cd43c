// ThreadSanitizer sees the code that is compiled with it. `Synchronization.Mutex` is inlined into that code as far as nobody has to wait; where
// somebody has to, the lock is handed over inside libswiftSynchronization, which is not compiled with it, and what the lock protects would be
// called a race. These three stand before that library's own and say what it does: who unlocks publishes, who has locked has seen it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *handle

SWIFT void lock_slow(uint32_t thread, SELF) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT bool try_lock_slow(SELF) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
SWIFT void unlock_slow(SELF) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

// Found at the first use, by whichever thread comes first: all find the same.
static void *next(void **kept, const char *name) {
    void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    }
    return found;
}

SWIFT void lock_slow(uint32_t thread, SELF) {
    static void *kept;
    typedef SWIFT void (*function)(uint32_t, SELF);
    ((function)next(&kept, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"))(thread, handle);
    __tsan_acquire(handle);
}

SWIFT bool try_lock_slow(SELF) {
    static void *kept;
    typedef SWIFT bool (*function)(SELF);
    bool locked = ((function)next(&kept, "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"))(handle);
    if (locked) __tsan_acquire(handle);
    return locked;
}

SWIFT void unlock_slow(SELF) {
    static void *kept;
    typedef SWIFT void (*function)(SELF);
    __tsan_release(handle);
    ((function)next(&kept, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"))(handle);
}
