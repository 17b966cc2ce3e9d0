//! Bounds on the memory that the file operations of this process take together.
//!
//! A tree that an agent makes must not exhaust a server, also not when many requests meet it at once. Operations that go
//! through trees share [`SLOTS`], by what each of them holds at most beside its walk. What needs much more, such as a walk
//! through a tree that branches at every level or the edit of a large file, waits until it is the only one
//! ([`TurnOfLarge`]). Small operations do not wait for large ones, except for a slot.
//!
//! A thread that has its turn waits for nothing else, so turns cannot block each other. Locks on files, which a command
//! may hold for long, are taken before.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::sandbox::{give_freed_memory_back, malloc_trim};

/// Slots for operations that go through trees: two searches or recursive listings, four plain listings, or eight sums at
/// the same time.
static SLOTS: Semaphore = Semaphore::const_new(8);

/// The slots of a search, which holds a line, compiled patterns and matches.
pub(super) const SEARCH_SLOTS: u32 = 4;

/// The slots of a listing of one directory, which holds names.
pub(super) const LIST_SLOTS: u32 = 2;

/// The slots of a recursive listing, whose names are paths.
pub(super) const RECURSIVE_LIST_SLOTS: u32 = 4;

/// The slots of a sum, which holds nothing beside its walk.
pub(super) const SUM_SLOTS: u32 = 1;

/// What is held without waiting for a turn, in bytes.
pub(super) const MAX_SMALL_BYTES: usize = 1024 * 1024;

/// The most memory for what a walk has still to visit, in bytes.
const MAX_WALK_BYTES: usize = 12 * 1024 * 1024;

/// The same for the walk that sums up a workspace for its quota, which may run while a large file is edited.
const MAX_QUOTA_WALK_BYTES: usize = 8 * 1024 * 1024;

/// The most directories that a walk keeps open. More are needed only for a tree that branches at every level and is deeper
/// than paths can be long.
pub(super) const MAX_OPEN: usize = 256;

/// Slots that an operation has until this is dropped.
#[derive(Debug)]
pub(super) struct TreeSlots {
    count: u32,
    _permit: Option<SemaphorePermit<'static>>,
}

impl TreeSlots {
    /// Waits for slots.
    pub(super) async fn wait(count: u32) -> Self {
        give_freed_memory_back();
        Self {
            count,
            // Never closed.
            _permit: SLOTS.acquire_many(count).await.ok(),
        }
    }
}

impl Drop for TreeSlots {
    fn drop(&mut self) {
        // Frequent small operations are spared.
        if self.count > LIST_SLOTS {
            malloc_trim();
        }
    }
}

/// Held by the one operation of its kind that may take much memory now.
#[derive(Debug)]
pub(super) struct TurnOfLarge {
    _turn: MutexGuard<'static, ()>,
}

impl TurnOfLarge {
    /// Waits for the turn of walks and edits.
    pub(super) fn wait() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        Self::of(&TURN)
    }

    /// Waits for the turn of walks for a quota. They are apart because an edit that has its turn needs one.
    fn wait_for_quota() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        Self::of(&TURN)
    }

    fn of(turn: &'static Mutex<()>) -> Self {
        give_freed_memory_back();
        Self {
            _turn: turn.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Drop for TurnOfLarge {
    fn drop(&mut self) {
        // Each thread frees into a heap of its own, which keeps what was freed. The next large operation is on another
        // thread.
        malloc_trim();
    }
}

/// What a walk holds: memory for what it has still to visit, and open directories.
#[derive(Debug)]
pub(super) struct WalkMemory {
    bytes: Cell<usize>,
    open: Cell<usize>,
    max_bytes: usize,
    wait_for_turn: fn() -> TurnOfLarge,
    turn: RefCell<Option<TurnOfLarge>>,
}

impl WalkMemory {
    /// The memory of a walk that a request asks for.
    pub(super) fn of_request() -> Rc<Self> {
        Self::new(MAX_WALK_BYTES, TurnOfLarge::wait)
    }

    /// The memory of a walk that sums up a workspace for its quota.
    pub(super) fn of_quota() -> Rc<Self> {
        Self::new(MAX_QUOTA_WALK_BYTES, TurnOfLarge::wait_for_quota)
    }

    fn new(max_bytes: usize, wait_for_turn: fn() -> TurnOfLarge) -> Rc<Self> {
        Rc::new(Self {
            bytes: Cell::new(0),
            open: Cell::new(0),
            max_bytes,
            wait_for_turn,
            turn: RefCell::new(None),
        })
    }

    /// How many directories are open.
    pub(super) fn open_count(&self) -> usize {
        self.open.get()
    }

    /// Counts a directory that stays open; none if there are too many.
    pub(super) fn count_open(self: &Rc<Self>) -> Option<CountedOpen> {
        let open = self.open.get();
        (open < MAX_OPEN).then(|| {
            self.open.set(open + 1);
            CountedOpen(Rc::clone(self))
        })
    }

    /// Counts bytes that are held as long as the answer; none if there is no room for them. Waits for a turn when it gets
    /// much.
    pub(super) fn count(self: &Rc<Self>, bytes: usize) -> Option<CountedBytes> {
        let total = self.bytes.get() + bytes;
        if total > self.max_bytes {
            return None;
        }
        if total > MAX_SMALL_BYTES && self.turn.borrow().is_none() {
            *self.turn.borrow_mut() = Some((self.wait_for_turn)());
        }
        self.bytes.set(total);
        Some(CountedBytes {
            memory: Rc::clone(self),
            bytes,
        })
    }
}

/// An open directory that is counted.
#[derive(Debug)]
pub(super) struct CountedOpen(Rc<WalkMemory>);

impl CountedOpen {
    /// What counts it.
    pub(super) fn memory(&self) -> &Rc<WalkMemory> {
        &self.0
    }
}

impl Drop for CountedOpen {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get().saturating_sub(1));
    }
}

/// Bytes that are counted.
#[derive(Debug)]
pub(super) struct CountedBytes {
    memory: Rc<WalkMemory>,
    bytes: usize,
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        let total = self.memory.bytes.get();
        self.memory.bytes.set(total.saturating_sub(self.bytes));
    }
}
