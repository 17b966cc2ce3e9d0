//! Giving memory back. Unlike the other calls these take locks, so they are not for a cloned process.

use std::sync::Once;

/// From this size on, an allocation is a mapping of its own, and so much free memory at the end of a heap is given back.
#[cfg(target_env = "gnu")]
const LARGE_BYTES: std::ffi::c_int = 1024 * 1024;

/// Has the C library give freed memory back to the system from now on.
///
/// Unless its thresholds are set it raises them with the largest block that was freed, up to 32 MiB, and keeps as much in
/// the heap of each thread.
pub(crate) fn give_freed_memory_back() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_env = "gnu")]
        // SAFETY: takes numbers only, and may be called by any thread at any time.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE_BYTES);
        }
    });
}

/// Gives memory that was freed in the middle of heaps back to the system, as far as the C library can.
pub(crate) fn malloc_trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number only, and may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
