//! Time tracking: which agent worked on a task and for how long, and how long it waited.
//!
//! [`TimeTracker`] replays a task's events from the log into [`TimeSpent`].

use schemars::JsonSchema;
use serde::Serialize;

use super::TaskStatus;
use crate::event::{Event, EventKind, EventPayload};
use crate::timestamp::Timestamp;

/// A period in which one agent worked on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkPeriod {
    /// The agent that worked on it.
    pub owner: String,
    /// Start of the period.
    pub from: Timestamp,
    /// End of the period; absent while the work continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Length of the period so far (milliseconds).
    pub ms: i64,
}

/// How a task's time was spent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeSpent {
    /// Periods of work, in order.
    #[serde(rename = "stints")]
    pub work_periods: Vec<WorkPeriod>,
    /// Total time of work (milliseconds).
    pub active_ms: i64,
    /// Total time without work, until the task was completed or deleted (milliseconds).
    pub waiting_ms: i64,
}

/// Replays a task's events one by one, oldest first. A task is worked on while it is in progress and has an
/// owner. If clocks went backwards, a period has length zero, never a negative one.
#[derive(Debug, Clone)]
pub struct TimeTracker {
    spent: TimeSpent,
    status: TaskStatus,
    owner: String,
    since: Option<i64>,
}

impl Default for TimeTracker {
    fn default() -> Self {
        Self {
            spent: TimeSpent::default(),
            status: TaskStatus::Pending,
            owner: String::new(),
            since: None,
        }
    }
}

impl TimeTracker {
    /// Kinds of events that do not affect who works on a task, so that they need not be read. Heartbeats are
    /// frequent, and dependency events contain whole lists.
    pub const IGNORED_KINDS: &'static [EventKind] = &[
        EventKind::TaskHeartbeat,
        EventKind::TaskLinked,
        EventKind::TaskCommented,
        EventKind::TaskRefused,
    ];

    /// Processes the next event of the task.
    pub fn add_event(&mut self, event: &Event) {
        // Imported tasks have their own timestamps; time before the first event in the log is not counted.
        let first = self.since.is_none();
        let (status, owner) = (self.status, self.owner.clone());
        match event.payload() {
            Some(EventPayload::TaskCreated(created) | EventPayload::TaskImported(created)) => {
                self.status = created.status();
                created.owner().clone_into(&mut self.owner);
            }
            Some(
                EventPayload::TaskUpdated(changed)
                | EventPayload::TaskLinked(changed)
                | EventPayload::TaskClaimed(changed)
                | EventPayload::TaskStarted(changed)
                | EventPayload::TaskReleased(changed)
                | EventPayload::TaskCompleted(changed)
                | EventPayload::TaskDeleted(changed)
                | EventPayload::TaskApproved(changed),
            ) => {
                self.status = changed.new_status().unwrap_or(self.status);
                self.owner = changed.new_owner().unwrap_or_else(|| self.owner.clone());
            }
            _ => {}
        }
        let Some(at) = event.at.millis() else { return };
        if !first && (status, &owner) == (self.status, &self.owner) {
            return;
        }
        if let Some(from) = self.since {
            self.spent.close_period(&status, from, at, Some(&event.at));
        }
        self.since = Some(at);
        if self.status == TaskStatus::InProgress && !self.owner.is_empty() {
            self.spent.work_periods.push(WorkPeriod {
                owner: self.owner.clone(),
                from: event.at.clone(),
                to: None,
                ms: 0,
            });
        }
    }

    /// Returns how the time was spent until now.
    pub fn time_spent_until(&self, now: i64) -> TimeSpent {
        let mut spent = self.spent.clone();
        if let Some(from) = self.since {
            spent.close_period(&self.status, from, now, None);
        }
        spent
    }
}

impl TimeSpent {
    /// Adds the period that ends: to the open stint, or to the waiting time.
    fn close_period(&mut self, status: &TaskStatus, from: i64, to: i64, at: Option<&Timestamp>) {
        let ms = to.saturating_sub(from).max(0);
        match self
            .work_periods
            .last_mut()
            .filter(|stint| stint.to.is_none())
        {
            Some(stint) => {
                stint.ms = ms;
                stint.to = at.cloned();
                self.active_ms = self.active_ms.saturating_add(ms);
            }
            None if !status.is_finished() => {
                self.waiting_ms = self.waiting_ms.saturating_add(ms);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::RawJson;

    fn event(second: i64, kind: &str, data: &str) -> Event {
        Event {
            seq: 1,
            at: Timestamp::from_millis(second * 1_000),
            actor: "user".to_owned(),
            kind: kind.to_owned(),
            subject: "task/1".to_owned(),
            data: RawJson::parse(data).unwrap(),
        }
    }

    fn changed(second: i64, changes: &str) -> Event {
        let data = format!(r#"{{"version":2,"changes":{{{changes}}}}}"#);
        event(second, "task.updated", &data)
    }

    fn created() -> Event {
        event(
            0,
            "task.created",
            r#"{"subject":"S","status":"pending","owner":"","version":1}"#,
        )
    }

    fn tracked_seconds(events: &[Event], now: i64) -> (Vec<(String, i64)>, i64, i64) {
        let mut spending = TimeTracker::default();
        events.iter().for_each(|event| spending.add_event(event));
        let spent = spending.time_spent_until(now * 1_000);
        let stints = spent.work_periods.iter();
        (
            stints.map(|s| (s.owner.clone(), s.ms / 1_000)).collect(),
            spent.active_ms / 1_000,
            spent.waiting_ms / 1_000,
        )
    }

    #[test]
    fn work_and_waiting_time_are_separate() {
        let events = [
            created(),
            changed(10, r#""status":"in_progress","owner":"ada""#),
            changed(25, r#""owner":"""#),
            changed(30, r#""owner":"bob""#),
            changed(40, r#""subject":"T""#),
            changed(50, r#""status":"completed""#),
        ];
        let stints = vec![("ada".to_owned(), 15), ("bob".to_owned(), 20)];
        assert_eq!(tracked_seconds(&events, 900), (stints, 35, 15));
    }

    #[test]
    fn unfinished_work_counts_until_now() {
        let events = [
            created(),
            changed(10, r#""status":"in_progress","owner":"ada""#),
        ];
        assert_eq!(
            tracked_seconds(&events, 70),
            (vec![("ada".to_owned(), 60)], 60, 10)
        );
        assert_eq!(tracked_seconds(&events[..1], 70), (vec![], 0, 70));
    }

    #[test]
    fn assigned_task_that_is_not_started_waits() {
        let events = [created(), changed(10, r#""owner":"ada""#)];
        assert_eq!(tracked_seconds(&events, 70), (vec![], 0, 70));
    }

    #[test]
    fn clock_going_backwards_gives_no_negative_time() {
        let events = [
            event(
                50,
                "task.created",
                r#"{"subject":"S","status":"pending","owner":"","version":1}"#,
            ),
            changed(10, r#""status":"in_progress","owner":"ada""#),
            changed(5, r#""status":"completed""#),
        ];
        assert_eq!(
            tracked_seconds(&events, 1),
            (vec![("ada".to_owned(), 0)], 0, 0)
        );
    }
}
