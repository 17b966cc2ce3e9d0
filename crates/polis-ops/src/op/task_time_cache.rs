//! Operation that reports how a task's time was spent, with an incremental LRU cache: a task's events are folded once,
//! and later calls fold only new events.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polis_core::TaskId;
use polis_core::task::time_tracking::{Spending, TimeSpent};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

/// Page size of event reads. Small, because events may be large.
const PAGE: u32 = 200;
/// Maximum number of tasks in the cache.
const MOST: usize = 200;

/// LRU cache of the folds of recently requested tasks.
#[derive(Debug, Default)]
pub(crate) struct TimeKeeper(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    tasks: BTreeMap<TaskId, Folded>,
    asked: u64,
}

#[derive(Debug, Clone, Default)]
struct Folded {
    spending: Spending,
    /// All events up to this sequence number are folded.
    through: u64,
    /// Value of the request counter when the entry was last used.
    asked: u64,
}

impl TimeKeeper {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recall(&self, id: TaskId) -> Folded {
        self.known().tasks.get(&id).cloned().unwrap_or_default()
    }

    fn keep(&self, id: TaskId, mut folded: Folded) {
        let known = &mut *self.known();
        known.asked += 1;
        folded.asked = known.asked;
        let before = known.tasks.get(&id).map_or(0, |kept| kept.through);
        // A concurrent call may have stored a newer fold in the meantime.
        if before <= folded.through {
            known.tasks.insert(id, folded);
        }
        if known.tasks.len() > MOST {
            let oldest = known.tasks.iter().min_by_key(|(_, kept)| kept.asked);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                known.tasks.remove(&oldest);
            }
        }
    }
}

/// Returns who worked on a task and when, and how long it waited.
pub async fn task_time(polis: &Polis, id: TaskId) -> Result<TimeSpent, OpError> {
    super::get_task::load(polis, id).await?;
    let mut folded = polis.times.recall(id);
    // Taken before reading: the fold counts as valid up to here, so that events excluded by the query are skipped only
    // once.
    let end = polis.store.last_sequence().await?;
    let mut query = EventQuery {
        after: folded.through,
        limit: PAGE,
        subject: Some(format!("task/{id}")),
        except: Spending::SILENT,
        ..EventQuery::default()
    };
    loop {
        let page = polis.store.events(&query).await?;
        for event in &page {
            folded.spending.take(event);
            query.after = event.seq;
        }
        if page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
            break;
        }
    }
    folded.through = end.max(query.after);
    let told = folded.spending.until(polis.clock.now_millis());
    polis.times.keep(id, folded);
    Ok(told)
}
