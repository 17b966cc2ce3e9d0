//! Time tracking: which agent worked on a task and for how long, and how long it waited.
//!
//! [`Spending`] replays a task's events from the log.

use schemars::JsonSchema;
use serde::Serialize;

use super::TaskStatus;
use super::history::Changed;
use crate::event::{Event, kind};
use crate::json::Fields;
use crate::time::Timestamp;

/// A stretch of time in which one agent worked on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stint {
    /// Who.
    pub owner: String,
    /// From when.
    pub from: Timestamp,
    /// Until when; left out while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// How long, until now if it goes on (milliseconds).
    pub ms: i64,
}

/// How a task's time was spent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeSpent {
    /// Who worked on it, in order.
    pub stints: Vec<Stint>,
    /// How long somebody worked on it, all together (milliseconds).
    pub active_ms: i64,
    /// How long it was there with nobody working on it, until it was settled (milliseconds).
    pub waiting_ms: i64,
}

/// Replays a task's events one by one, oldest first. A task is worked on while it is in progress and has an
/// owner. If clocks went backwards, a period has length zero, never a negative one.
#[derive(Debug, Clone)]
pub struct Spending {
    told: TimeSpent,
    status: TaskStatus,
    owner: String,
    since: Option<i64>,
}

impl Default for Spending {
    fn default() -> Self {
        Self {
            told: TimeSpent::default(),
            status: TaskStatus::Pending,
            owner: String::new(),
            since: None,
        }
    }
}

impl Spending {
    /// Kinds of events that do not affect who works on a task, so that they need not be read. Heartbeats are
    /// frequent, and dependency events contain whole lists.
    pub const SILENT: &'static [&'static str] = &[
        kind::TASK_HEARTBEAT,
        kind::TASK_LINKED,
        kind::TASK_COMMENTED,
        kind::TASK_REFUSED,
    ];

    /// Processes the next event.
    pub fn take(&mut self, event: &Event) {
        // Imported tasks have their own timestamps; time before the first event in the log is not counted.
        let first = self.since.is_none();
        let (status, owner) = (self.status, self.owner.clone());
        let changes: Option<Fields> = match event.kind.as_str() {
            kind::TASK_CREATED | kind::TASK_IMPORTED => event.data.to(),
            _ => event.data.to::<Changed>().map(|told| told.changes),
        };
        let changes = changes.unwrap_or_default();
        if let Some(name) = changes.get("status").and_then(|value| value.to::<String>()) {
            self.status = TaskStatus::from_name(&name).unwrap_or(self.status);
        }
        if let Some(name) = changes.get("owner") {
            self.owner = name.to::<String>().unwrap_or_default();
        }
        let Some(at) = event.at.millis() else { return };
        if !first && (status, &owner) == (self.status, &self.owner) {
            return;
        }
        if let Some(from) = self.since {
            self.told.close(&status, from, at, Some(&event.at));
        }
        self.since = Some(at);
        if self.status == TaskStatus::InProgress && !self.owner.is_empty() {
            self.told.stints.push(Stint {
                owner: self.owner.clone(),
                from: event.at.clone(),
                to: None,
                ms: 0,
            });
        }
    }

    /// Returns how the time was spent until now.
    pub fn until(&self, now: i64) -> TimeSpent {
        let mut told = self.told.clone();
        if let Some(from) = self.since {
            told.close(&self.status, from, now, None);
        }
        told
    }
}

impl TimeSpent {
    /// Adds the period that ends: to the open stint, or to the waiting time.
    fn close(&mut self, status: &TaskStatus, from: i64, to: i64, at: Option<&Timestamp>) {
        let ms = to.saturating_sub(from).max(0);
        match self.stints.last_mut().filter(|stint| stint.to.is_none()) {
            Some(stint) => {
                stint.ms = ms;
                stint.to = at.cloned();
                self.active_ms = self.active_ms.saturating_add(ms);
            }
            None if !status.is_settled() => {
                self.waiting_ms = self.waiting_ms.saturating_add(ms);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Raw;

    fn event(second: i64, kind: &str, data: &str) -> Event {
        Event {
            seq: 1,
            at: Timestamp::from_millis(second * 1_000),
            actor: "user".to_owned(),
            kind: kind.to_owned(),
            subject: "task/1".to_owned(),
            data: Raw::parse(data).unwrap(),
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

    fn told(events: &[Event], now: i64) -> (Vec<(String, i64)>, i64, i64) {
        let mut spending = Spending::default();
        events.iter().for_each(|event| spending.take(event));
        let spent = spending.until(now * 1_000);
        let stints = spent.stints.iter();
        (
            stints.map(|s| (s.owner.clone(), s.ms / 1_000)).collect(),
            spent.active_ms / 1_000,
            spent.waiting_ms / 1_000,
        )
    }

    #[test]
    fn work_and_waiting_are_told_apart() {
        let events = [
            created(),
            changed(10, r#""status":"in_progress","owner":"ada""#),
            changed(25, r#""owner":"""#),
            changed(30, r#""owner":"bob""#),
            changed(40, r#""subject":"T""#),
            changed(50, r#""status":"completed""#),
        ];
        let stints = vec![("ada".to_owned(), 15), ("bob".to_owned(), 20)];
        assert_eq!(told(&events, 900), (stints, 35, 15));
    }

    #[test]
    fn what_goes_on_counts_until_now() {
        let events = [
            created(),
            changed(10, r#""status":"in_progress","owner":"ada""#),
        ];
        assert_eq!(told(&events, 70), (vec![("ada".to_owned(), 60)], 60, 10));
        assert_eq!(told(&events[..1], 70), (vec![], 0, 70));
    }

    #[test]
    fn a_task_that_only_is_assigned_waits() {
        let events = [created(), changed(10, r#""owner":"ada""#)];
        assert_eq!(told(&events, 70), (vec![], 0, 70));
    }

    #[test]
    fn a_clock_that_went_backwards_makes_nothing_negative() {
        let events = [
            event(
                50,
                "task.created",
                r#"{"status":"pending","owner":"","version":1}"#,
            ),
            changed(10, r#""status":"in_progress","owner":"ada""#),
            changed(5, r#""status":"completed""#),
        ];
        assert_eq!(told(&events, 1), (vec![("ada".to_owned(), 0)], 0, 0));
    }
}
