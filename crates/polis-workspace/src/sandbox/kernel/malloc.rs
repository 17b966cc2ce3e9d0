//! Returning freed memory to the operating system (`mallopt`, `malloc_trim`). Unlike the other calls here
//! these take locks, so a cloned process must not call them.

use std::sync::Once;

/// From this size on, an allocation is a separate mapping; the same amount of free memory at the end of a
/// heap is returned.
#[cfg(target_env = "gnu")]
const MALLOPT_THRESHOLD_BYTES: std::ffi::c_int = 1024 * 1024;

/// Makes malloc return freed memory to the operating system from now on.
///
/// By default glibc raises its thresholds with the largest freed block, up to 32 MiB, and keeps as much in
/// the heap of each thread.
pub(crate) fn mallopt_return_freed_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_env = "gnu")]
        // SAFETY: passes integers only; any thread may call it at any time.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MALLOPT_THRESHOLD_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, MALLOPT_THRESHOLD_BYTES);
        }
    });
}

/// Returns memory freed in the middle of heaps to the operating system, as far as the C library supports it.
pub(crate) fn malloc_trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: passes an integer only; any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
