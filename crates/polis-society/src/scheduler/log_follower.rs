//! Log follower of the scheduler: follows the event log and turns the events that concern members into
//! signals (wake, scan, pause, stop, budget changed). Failed reads are retried.

use std::sync::Arc;
use std::time::Duration;

use polis_core::society::MemberKey;
use polis_core::{Event, EventKind, EventPayload};
use polis_ops::port::EventLogQuery;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::SchedulerSignal;
use crate::driver::SocietyState;

/// Page size for reading events; the embedded store runs reads of this size inline.
const EVENT_PAGE_SIZE: u32 = 100;
/// Maximum duration of one wait for the store; a bound, so that no wait is unlimited.
const MAX_STORE_WAIT: Duration = Duration::from_secs(30);
/// Pause after a store failure.
const STORE_RETRY_BACKOFF: Duration = Duration::from_millis(100);

/// Sends signals to the scheduler for all events after this position in the log, until `stop`.
pub(super) async fn follow_log(
    shared: Arc<SocietyState>,
    mut after: u64,
    sender: mpsc::UnboundedSender<SchedulerSignal>,
    stop: CancellationToken,
) {
    let store = Arc::clone(&shared.app.store);
    while !stop.is_cancelled() {
        let query = EventLogQuery {
            after,
            limit: EVENT_PAGE_SIZE,
            ..EventLogQuery::default()
        };
        let Ok(page) = store.events(&query).await else {
            tokio::time::sleep(STORE_RETRY_BACKOFF).await;
            continue;
        };
        let mut has_mail = false;
        for event in &page {
            after = event.seq;
            if let Some(signal) = signal_for_event(event) {
                has_mail |= event.known_kind() == Some(EventKind::MessageSent);
                let _ = sender.send(signal);
            }
        }
        if has_mail {
            let _ = sender.send(SchedulerSignal::MailSent);
        }
        let _ = sender.send(SchedulerSignal::LogFollowed(after));
        // After a full page there may be more.
        if page.len() >= EVENT_PAGE_SIZE as usize {
            continue;
        }
        let result = tokio::select! {
            () = stop.cancelled() => return,
            result = store.wait_for_event_after(after, MAX_STORE_WAIT) => result,
        };
        if result.is_err() {
            tokio::time::sleep(STORE_RETRY_BACKOFF).await;
        }
    }
}

/// Returns the signal for an event; `None` if it does not concern members.
///
/// There is no wildcard arm: whether an event of a new kind concerns members must be decided here. If an event
/// about a run cannot be read, because a newer version wrote it, the run is scanned.
pub(super) fn signal_for_event(event: &Event) -> Option<SchedulerSignal> {
    let Some(payload) = event.payload() else {
        return event.subject_run().map(SchedulerSignal::ScanRun);
    };
    match payload {
        // The person is not driven.
        EventPayload::MessageSent(sent) if sent.to.is_user() => None,
        EventPayload::MessageSent(sent) => Some(SchedulerSignal::WakeMember(MemberKey::new(
            sent.run?, sent.to,
        ))),
        EventPayload::SocietyStarted(_) => event.subject_run().map(SchedulerSignal::ScanRun),
        EventPayload::SocietyPaused(paused) => {
            let run = event.subject_run()?;
            Some(match paused.agent {
                Some(agent) => SchedulerSignal::PauseMember(MemberKey::new(run, agent)),
                None => SchedulerSignal::PauseRun(run),
            })
        }
        EventPayload::SocietyResumed(resumed) => {
            let run = event.subject_run()?;
            Some(match resumed.agent {
                Some(agent) => SchedulerSignal::WakeMember(MemberKey::new(run, agent)),
                None => SchedulerSignal::ScanRun(run),
            })
        }
        EventPayload::SocietyApprovalDecided(decided) => {
            let key = MemberKey::new(event.subject_run()?, decided.agent);
            Some(SchedulerSignal::WakeMember(key))
        }
        EventPayload::SocietyDismissed(dismissed) => {
            let key = MemberKey::new(event.subject_run()?, dismissed.agent);
            Some(SchedulerSignal::StopMember(key))
        }
        EventPayload::SocietyStopped(_) => event.subject_run().map(SchedulerSignal::StopRun),
        EventPayload::SocietyBudgetChanged(_) => {
            event.subject_run().map(SchedulerSignal::BudgetChanged)
        }
        // The worker that caused these events knows of them.
        EventPayload::SocietyFinished(_)
        | EventPayload::SocietyHired(_)
        | EventPayload::SocietyStatusChanged(_)
        | EventPayload::SocietyApprovalRequested(_) => None,
        EventPayload::TaskCreated(_)
        | EventPayload::TaskImported(_)
        | EventPayload::TaskUpdated(_)
        | EventPayload::TaskLinked(_)
        | EventPayload::TaskClaimed(_)
        | EventPayload::TaskStarted(_)
        | EventPayload::TaskReleased(_)
        | EventPayload::TaskCompleted(_)
        | EventPayload::TaskDeleted(_)
        | EventPayload::TaskApproved(_)
        | EventPayload::TaskCommented(_)
        | EventPayload::TaskHeartbeat(_)
        | EventPayload::TaskRefused(_)
        | EventPayload::BoardWritten(_)
        | EventPayload::BoardAppended(_)
        | EventPayload::BoardEdited(_)
        | EventPayload::BoardRestored(_)
        | EventPayload::BoardEditedExternally(_)
        | EventPayload::BoardFileRestored(_)
        | EventPayload::BoardLocked(_)
        | EventPayload::BoardRenewed(_)
        | EventPayload::BoardUnlocked(_)
        | EventPayload::DecisionProposed(_)
        | EventPayload::DecisionSigned(_)
        | EventPayload::DecisionVetoed(_)
        | EventPayload::DecisionAppealed(_)
        | EventPayload::MilestoneAdded(_)
        | EventPayload::MilestoneDone(_)
        | EventPayload::AgentAdded(_)
        | EventPayload::AgentRetired(_)
        | EventPayload::MessageRead(_)
        | EventPayload::CommandStarted(_)
        | EventPayload::CommandRun(_)
        | EventPayload::CommandRefused(_)
        | EventPayload::FileWritten(_)
        | EventPayload::FileEdited(_)
        | EventPayload::FileDeleted(_)
        | EventPayload::FileMoved(_)
        | EventPayload::FileDirectoryMade(_)
        | EventPayload::FileRefused(_)
        | EventPayload::WorkspaceAssigned(_)
        | EventPayload::WorkspaceBound(_)
        | EventPayload::ArtifactPut(_)
        | EventPayload::TokenIssued(_)
        | EventPayload::TokenRevoked(_)
        | EventPayload::WebhookAdded(_)
        | EventPayload::WebhookRemoved(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use polis_core::{RawJson, Timestamp};

    use super::*;

    fn signal_text(kind: &str, subject: &str, data: &str) -> String {
        let event = Event {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: "user".to_owned(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            data: RawJson::parse(data).unwrap(),
        };
        format!("{:?}", signal_for_event(&event))
    }

    #[test]
    fn stored_event_data_becomes_signal() {
        let member = |name: &str| {
            format!(
                "Some({name}({:?}))",
                MemberKey::new("r".parse().unwrap(), "ann".parse().unwrap(),)
            )
        };
        let run = |name: &str| {
            format!(
                "Some({name}({:?}))",
                "r".parse::<polis_core::RunId>().unwrap()
            )
        };
        let sent = r#"{"from":"user","to":"ann","taskId":"r","bytes":2}"#;
        let to_user = r#"{"from":"ann","to":"user","runId":"r","taskId":"r","bytes":2}"#;
        let agent = r#"{"agent":"ann"}"#;
        let decided = r#"{"agent":"ann","id":"r/ann/1.0","tool":"write_file","allowed":true}"#;
        let budget = r#"{"agent":"ann","limits":{"tokens":5}}"#;
        let table = [
            ("message.sent", "mailbox/ann", sent, member("WakeMember")),
            ("message.sent", "mailbox/user", to_user, "None".to_owned()),
            (
                "society.started",
                "run/r",
                r#"{"by":"user"}"#,
                run("ScanRun"),
            ),
            ("society.paused", "run/r", agent, member("PauseMember")),
            ("society.paused", "run/r", "{}", run("PauseRun")),
            ("society.resumed", "run/r", agent, member("WakeMember")),
            ("society.resumed", "run/r", "{}", run("ScanRun")),
            ("society.decided", "run/r", decided, member("WakeMember")),
            ("society.dismissed", "run/r", agent, member("StopMember")),
            ("society.stopped", "run/r", agent, run("StopRun")),
            ("society.budget", "run/r", budget, run("BudgetChanged")),
            (
                "society.finished",
                "run/r",
                r#"{"durationMs":1}"#,
                "None".to_owned(),
            ),
            // Of a newer version.
            ("society.halted", "run/r", "{}", run("ScanRun")),
            (
                "society.stopped",
                "run/r",
                r#"{"agents":["ann"]}"#,
                run("ScanRun"),
            ),
            ("task.split", "task/1", "{}", "None".to_owned()),
        ];
        for (kind, subject, data, expected) in table {
            assert_eq!(signal_text(kind, subject, data), expected, "{kind} {data}");
        }
    }
}
