//! Limits on the memory of file operations: of each walk through a tree, and of all operations of this process
//! together.
//!
//! A tree created by an agent must not exhaust a server's memory, even if many requests access it
//! concurrently. A walk beyond its own limit ([`WalkMemory`]) is incomplete. Searches, listings and counts
//! share [`TREE_SLOTS`], weighted by the memory each needs besides its walk. Large walks and edits of large
//! files run one at a time ([`LargeOperationGuard`]); large quota walks have a guard of their own. Small
//! operations do not wait for large ones, except for a slot.
//!
//! Guards cannot deadlock: a thread that holds the guard of edits waits at most for that of quota walks, and
//! a thread that holds that one waits for nothing. File locks, which a command may hold for long, are taken
//! before.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::sandbox::{malloc_trim, mallopt_return_freed_memory};

/// Semaphore for operations that walk trees: two searches or recursive listings, four plain listings, or
/// eight counts run concurrently.
static TREE_SLOTS: Semaphore = Semaphore::const_new(8);

/// Slots of a search, which holds a line, compiled patterns and matches.
pub(super) const SEARCH_SLOTS: u32 = 4;

/// Slots of a listing of one directory, which holds names.
pub(super) const LIST_SLOTS: u32 = 2;

/// Slots of a recursive listing, whose names are paths.
pub(super) const RECURSIVE_LIST_SLOTS: u32 = 4;

/// Slots of counting a workspace, which holds nothing besides its walk.
pub(super) const COUNT_SLOTS: u32 = 1;

/// Memory that an operation may use without the guard for large operations.
pub(super) const MAX_UNGUARDED_BYTES: usize = 1024 * 1024;

/// Maximum memory for the pending entries of a walk.
const MAX_WALK_BYTES: usize = 12 * 1024 * 1024;

/// Maximum memory for the pending entries of a quota walk, which may run while a large file is edited.
const MAX_QUOTA_WALK_BYTES: usize = 8 * 1024 * 1024;

/// Maximum number of directories that a walk keeps open. More are needed only for a tree that branches at
/// every level and is deeper than the maximum path length.
pub(super) const MAX_OPEN_DIRS: usize = 256;

/// Slots of one operation, released on drop.
#[derive(Debug)]
pub(super) struct TreeSlots {
    count: u32,
    _permit: Option<SemaphorePermit<'static>>,
}

impl TreeSlots {
    /// Waits for `count` slots.
    pub(super) async fn acquire(count: u32) -> Self {
        mallopt_return_freed_memory();
        Self {
            count,
            // The semaphore is never closed.
            _permit: TREE_SLOTS.acquire_many(count).await.ok(),
        }
    }
}

impl Drop for TreeSlots {
    fn drop(&mut self) {
        // Skipped for frequent small operations.
        if self.count > LIST_SLOTS {
            malloc_trim();
        }
    }
}

/// Guard for a memory-intensive operation; only one of its kind runs at a time.
#[derive(Debug)]
pub(super) struct LargeOperationGuard {
    _turn: MutexGuard<'static, ()>,
}

impl LargeOperationGuard {
    /// Waits for the guard of walks and edits.
    pub(super) fn acquire() -> Self {
        static LARGE_OPERATION_LOCK: Mutex<()> = Mutex::new(());
        Self::lock(&LARGE_OPERATION_LOCK)
    }

    /// Waits for the guard of quota walks. It is a separate one because an edit that holds its guard runs a
    /// quota walk.
    fn acquire_for_quota() -> Self {
        static QUOTA_WALK_LOCK: Mutex<()> = Mutex::new(());
        Self::lock(&QUOTA_WALK_LOCK)
    }

    fn lock(turn: &'static Mutex<()>) -> Self {
        mallopt_return_freed_memory();
        Self { _turn: turn.lock() }
    }
}

impl Drop for LargeOperationGuard {
    fn drop(&mut self) {
        // Each thread frees into its own malloc arena, which keeps freed memory, and the next large operation
        // runs on another thread.
        malloc_trim();
    }
}

/// Memory budget of one walk: bytes for pending entries, and open directories.
#[derive(Debug)]
pub(super) struct WalkMemory {
    bytes: Cell<usize>,
    open: Cell<usize>,
    max_bytes: usize,
    acquire_guard: fn() -> LargeOperationGuard,
    guard: RefCell<Option<LargeOperationGuard>>,
}

impl WalkMemory {
    /// Creates the budget of a walk for a request.
    pub(super) fn for_request() -> Rc<Self> {
        Self::new(MAX_WALK_BYTES, LargeOperationGuard::acquire)
    }

    /// Creates the budget of a walk that sums up a workspace for its quota.
    pub(super) fn for_quota() -> Rc<Self> {
        Self::new(MAX_QUOTA_WALK_BYTES, LargeOperationGuard::acquire_for_quota)
    }

    fn new(max_bytes: usize, wait_for_turn: fn() -> LargeOperationGuard) -> Rc<Self> {
        Rc::new(Self {
            bytes: Cell::new(0),
            open: Cell::new(0),
            max_bytes,
            acquire_guard: wait_for_turn,
            guard: RefCell::new(None),
        })
    }

    /// Returns the number of open directories.
    pub(super) fn open_dir_count(&self) -> usize {
        self.open.get()
    }

    /// Reserves a directory that stays open. Returns `None` if there are too many.
    pub(super) fn reserve_open_dir(self: &Rc<Self>) -> Option<OpenDirReservation> {
        let open = self.open.get();
        (open < MAX_OPEN_DIRS).then(|| {
            self.open.set(open + 1);
            OpenDirReservation(Rc::clone(self))
        })
    }

    /// Reserves bytes until the reservation is dropped. Returns `None` if they exceed the budget. Waits for
    /// the guard once the total is large.
    pub(super) fn reserve_bytes(self: &Rc<Self>, bytes: usize) -> Option<BytesReservation> {
        let total = self.bytes.get() + bytes;
        if total > self.max_bytes {
            return None;
        }
        if total > MAX_UNGUARDED_BYTES && self.guard.borrow().is_none() {
            *self.guard.borrow_mut() = Some((self.acquire_guard)());
        }
        self.bytes.set(total);
        Some(BytesReservation {
            memory: Rc::clone(self),
            bytes,
        })
    }
}

/// An open directory counted in the budget; released on drop.
#[derive(Debug)]
pub(super) struct OpenDirReservation(Rc<WalkMemory>);

impl OpenDirReservation {
    /// Returns the budget it belongs to.
    pub(super) fn memory(&self) -> &Rc<WalkMemory> {
        &self.0
    }
}

impl Drop for OpenDirReservation {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get().saturating_sub(1));
    }
}

/// Bytes counted in the budget; released on drop.
#[derive(Debug)]
pub(super) struct BytesReservation {
    memory: Rc<WalkMemory>,
    bytes: usize,
}

impl Drop for BytesReservation {
    fn drop(&mut self) {
        let total = self.memory.bytes.get();
        self.memory.bytes.set(total.saturating_sub(self.bytes));
    }
}
