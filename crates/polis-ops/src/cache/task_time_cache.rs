//! LRU cache of the time spent on tasks, and the operation that reports it (`task_time`): who worked on a task
//! and when, and how long it waited. Later calls read only newer events.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use polis_core::TaskId;
use polis_core::number::saturating_cast;
use polis_core::task::time_tracking::{TimeSpent, TimeTracker};

use crate::app::App;
use crate::error::OpError;
use crate::port::EventLogQuery;

/// Page size of event reads. Small, because events may be large.
const PAGE_SIZE: u32 = 200;
/// Maximum number of tasks in the cache.
const MAX_CACHED_TASKS: usize = 200;

/// LRU cache of the folds of recently requested tasks.
#[derive(Debug, Default)]
pub(crate) struct TaskTimeCache(Mutex<CachedFolds>);

#[derive(Debug, Default)]
struct CachedFolds {
    tasks: BTreeMap<TaskId, TaskTimeFold>,
    request_count: u64,
}

#[derive(Debug, Clone, Default)]
struct TaskTimeFold {
    spending: TimeTracker,
    /// All events up to this sequence number are folded.
    through: u64,
    /// Value of the request counter when the entry was last used.
    last_request: u64,
}

impl TaskTimeCache {
    fn get_fold(&self, id: TaskId) -> TaskTimeFold {
        self.0.lock().tasks.get(&id).cloned().unwrap_or_default()
    }

    fn insert_fold(&self, id: TaskId, mut fold: TaskTimeFold) {
        let folds = &mut *self.0.lock();
        folds.request_count += 1;
        fold.last_request = folds.request_count;
        let cached_through = folds.tasks.get(&id).map_or(0, |cached| cached.through);
        // A concurrent call may have stored a newer fold in the meantime.
        if cached_through <= fold.through {
            folds.tasks.insert(id, fold);
        }
        if folds.tasks.len() > MAX_CACHED_TASKS {
            let oldest = folds
                .tasks
                .iter()
                .min_by_key(|(_, cached)| cached.last_request);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                folds.tasks.remove(&oldest);
            }
        }
    }
}

/// Returns who worked on a task and when, and how long it waited. Fails with `TaskNotFound`.
pub async fn task_time(app: &App, id: TaskId) -> Result<TimeSpent, OpError> {
    crate::op::task::get_task::load_task(app, id).await?;
    let mut fold = app.task_time_cache.get_fold(id);
    // Taken before reading: the fold counts as valid up to here, so that events excluded by the query are
    // skipped only once.
    let end = app.store.last_sequence().await?;
    let mut query = EventLogQuery {
        after: fold.through,
        limit: PAGE_SIZE,
        subject: Some(format!("task/{id}")),
        excluded_kinds: TimeTracker::IGNORED_KINDS,
        ..EventLogQuery::default()
    };
    loop {
        let page = app.store.events(&query).await?;
        for event in &page {
            fold.spending.add_event(event);
            query.after = event.seq;
        }
        if page.len() < saturating_cast::<usize>(PAGE_SIZE) {
            break;
        }
    }
    fold.through = end.max(query.after);
    let time_spent = fold.spending.time_spent_until(app.clock.now_millis());
    app.task_time_cache.insert_fold(id, fold);
    Ok(time_spent)
}
