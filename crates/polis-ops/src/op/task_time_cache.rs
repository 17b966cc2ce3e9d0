//! How a task's time was spent, kept up to date: its events are folded once, and then only what is new.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polis_core::TaskId;
use polis_core::task::time_tracking::{Spending, TimeSpent};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

/// How many events are read at once: they may be long.
const PAGE: u32 = 200;
/// How many tasks are remembered.
const MOST: usize = 200;

/// What is known of the tasks that were asked for last.
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
    /// Everything up to this place in the log is in it.
    through: u64,
    /// The number of the question it was last asked for.
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
        // Somebody else may know more meanwhile.
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

/// Who worked on a task from when to when, and how long it waited.
pub async fn task_time(polis: &Polis, id: TaskId) -> Result<TimeSpent, OpError> {
    super::get_task::load(polis, id).await?;
    let mut folded = polis.times.recall(id);
    // What is left out of the answers is passed over as well, once.
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
