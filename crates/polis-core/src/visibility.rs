//! Visibility of events: which events of the event log a caller may see.
//!
//! Every event has a subject of the form `CLASS/NAME`, such as a task, a board or a run. A caller that may
//! not read the subject must not learn from the log what happens to it. So every reader of the log filters
//! events with [`EventVisibility::is_visible`]. An event is visible completely or not at all.
//!
//! The rule follows from the kind. An event is hidden from all callers except the person if the rule cannot be
//! applied: if its kind is unknown, if its subject has another class than events of its kind, or if the rule needs
//! a payload that cannot be read. The person sees all events. Access to the objects themselves is checked
//! elsewhere: to boards in [`board::access`](crate::board::access), to runs by `check_run_visible` in `polis-ops`.

use crate::agent::Agent;
use crate::board::BoardName;
use crate::board::access::{BoardAccess, BoardAccessRules, judge_access};
use crate::caller::{Caller, CallerKind};
use crate::event::{Event, EventArea, EventKind, EventPayload};
use crate::id::AgentId;
use crate::society::RunId;

/// Filter of the log events that a caller may see, computed from a snapshot of the registry.
#[derive(Debug, Clone)]
pub struct EventVisibility {
    /// Agent or person that reads the log.
    pub caller: Caller,
    /// The registry, or the part of it that board access needs.
    pub agents: Vec<Agent>,
    /// Access rules of boards.
    pub rules: BoardAccessRules,
    /// The workspace the caller works in, if any.
    pub workspace: Option<AgentId>,
}

impl EventVisibility {
    /// Returns whether all events are visible to the caller.
    pub fn sees_everything(&self) -> bool {
        self.caller.kind == CallerKind::Person
    }

    /// Returns whether an event is visible to the caller.
    pub fn is_visible(&self, event: &Event) -> bool {
        if self.sees_everything() {
            return true;
        }
        let Some(kind) = event.known_kind() else {
            return false;
        };
        let Some((class, name)) = event.subject.split_once('/') else {
            return false;
        };
        match visibility_rule(kind) {
            VisibilityRule::Everyone => class == "task",
            VisibilityRule::BoardReaders => match class {
                "blackboard" => true,
                "board" => name.parse().is_ok_and(|board| self.may_read_board(&board)),
                _ => false,
            },
            VisibilityRule::OwnRunOrNone => {
                let run = payload_run(event);
                matches!(class, "agent" | "artifact")
                    && run.is_some_and(|run| {
                        run.is_none() || self.caller.run.is_none() || run == self.caller.run
                    })
            }
            VisibilityRule::SubjectAgent => class == "agent" && name == self.caller.id.as_str(),
            VisibilityRule::Correspondents => {
                class == "mailbox" && self.is_mail_visible(event, name)
            }
            VisibilityRule::WorkspaceUsers => {
                let own = self.workspace.as_ref();
                class == "workspace" && own.is_some_and(|workspace| workspace.as_str() == name)
            }
            VisibilityRule::RunMembers => {
                let run = self.caller.run.as_ref();
                class == "run"
                    && (run.is_some_and(|run| run.as_str() == name)
                        || name == self.caller.id.as_str())
            }
            VisibilityRule::Person => false,
        }
    }

    /// Returns whether an event about a mailbox is visible: to its owner and to the actor. Each run has a `root`
    /// of its own, which sees only the mail of its run.
    fn is_mail_visible(&self, event: &Event, owner: &str) -> bool {
        let caller = self.caller.id.as_str();
        let is_involved = event.actor == caller || owner == caller;
        is_involved
            && (!self.caller.id.is_root()
                || payload_run(event).is_some_and(|run| run.is_some() && run == self.caller.run))
    }

    /// Returns whether the caller may read a board.
    pub fn may_read_board(&self, board: &BoardName) -> bool {
        judge_access(
            BoardAccess::Read,
            board,
            &self.caller,
            &self.agents,
            &self.rules,
        )
        .allowed
    }

    /// Returns whether an event may have changed what is visible, so that the caller needs a new
    /// `EventVisibility`. An event of an unknown kind may have.
    pub fn is_outdated_by(event: &Event) -> bool {
        match event.known_kind().map(EventKind::area) {
            None | Some(EventArea::Agent | EventArea::Workspace) => true,
            Some(
                EventArea::Task
                | EventArea::Board
                | EventArea::Decision
                | EventArea::Milestone
                | EventArea::Society
                | EventArea::Message
                | EventArea::Command
                | EventArea::File
                | EventArea::Artifact
                | EventArea::Token
                | EventArea::Webhook,
            ) => false,
        }
    }
}

/// Which callers, besides the person, see the events of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisibilityRule {
    /// All callers.
    Everyone,
    /// Callers that may read the board.
    BoardReaders,
    /// All callers, if the subject belongs to no run; otherwise the members of the run, and callers outside of
    /// all runs.
    OwnRunOrNone,
    /// The agent that the event is about.
    SubjectAgent,
    /// The owner of the mailbox and the actor.
    Correspondents,
    /// The agents that work in the workspace.
    WorkspaceUsers,
    /// The members of the run.
    RunMembers,
    /// No other caller.
    Person,
}

impl VisibilityRule {
    /// Returns the rule for the documentation.
    pub fn description(self) -> &'static str {
        match self {
            Self::Everyone => "all callers",
            Self::BoardReaders => "callers that may read the board",
            Self::OwnRunOrNone => {
                "all callers; if of a run, its members and callers outside of runs"
            }
            Self::SubjectAgent => "the agent",
            Self::Correspondents => "the owner of the mailbox and the actor",
            Self::WorkspaceUsers => "agents that work in the workspace",
            Self::RunMembers => "members of the run",
            Self::Person => "the person only",
        }
    }
}

/// Returns the rule for a kind. There is no wildcard arm: the rule for a new kind must be chosen here.
pub fn visibility_rule(kind: EventKind) -> VisibilityRule {
    match kind {
        EventKind::TaskCreated
        | EventKind::TaskImported
        | EventKind::TaskUpdated
        | EventKind::TaskLinked
        | EventKind::TaskClaimed
        | EventKind::TaskStarted
        | EventKind::TaskReleased
        | EventKind::TaskCompleted
        | EventKind::TaskDeleted
        | EventKind::TaskApproved
        | EventKind::TaskCommented
        | EventKind::TaskHeartbeat
        | EventKind::TaskRefused => VisibilityRule::Everyone,
        EventKind::BoardWritten
        | EventKind::BoardAppended
        | EventKind::BoardEdited
        | EventKind::BoardRestored
        | EventKind::BoardEditedExternally
        | EventKind::BoardFileRestored
        | EventKind::BoardLocked
        | EventKind::BoardRenewed
        | EventKind::BoardUnlocked
        | EventKind::DecisionProposed
        | EventKind::DecisionSigned
        | EventKind::DecisionVetoed
        | EventKind::DecisionAppealed
        | EventKind::MilestoneAdded
        | EventKind::MilestoneDone => VisibilityRule::BoardReaders,
        EventKind::AgentAdded | EventKind::AgentRetired | EventKind::ArtifactPut => {
            VisibilityRule::OwnRunOrNone
        }
        EventKind::TokenIssued | EventKind::TokenRevoked => VisibilityRule::SubjectAgent,
        EventKind::MessageSent | EventKind::MessageRead => VisibilityRule::Correspondents,
        EventKind::CommandStarted
        | EventKind::CommandRun
        | EventKind::CommandRefused
        | EventKind::FileWritten
        | EventKind::FileEdited
        | EventKind::FileDeleted
        | EventKind::FileMoved
        | EventKind::FileDirectoryMade
        | EventKind::FileRefused
        | EventKind::WorkspaceAssigned
        | EventKind::WorkspaceBound => VisibilityRule::WorkspaceUsers,
        EventKind::SocietyStarted
        | EventKind::SocietyPaused
        | EventKind::SocietyResumed
        | EventKind::SocietyFinished
        | EventKind::SocietyStopped
        | EventKind::SocietyHired
        | EventKind::SocietyDismissed
        | EventKind::SocietyStatusChanged
        | EventKind::SocietyApprovalRequested
        | EventKind::SocietyApprovalDecided
        | EventKind::SocietyBudgetChanged => VisibilityRule::RunMembers,
        EventKind::WebhookAdded | EventKind::WebhookRemoved => VisibilityRule::Person,
    }
}

/// Returns the run that the subject of an event belongs to: `Some(None)` if it belongs to none, `None` if that
/// cannot be decided.
fn payload_run(event: &Event) -> Option<Option<RunId>> {
    match event.payload()? {
        EventPayload::AgentAdded(data) | EventPayload::AgentRetired(data) => Some(data.agent.run),
        EventPayload::ArtifactPut(data) => Some(data.run),
        EventPayload::MessageSent(data) => Some(data.run),
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
        | EventPayload::BoardLocked(_)
        | EventPayload::BoardRenewed(_)
        | EventPayload::BoardUnlocked(_)
        | EventPayload::DecisionProposed(_)
        | EventPayload::DecisionSigned(_)
        | EventPayload::DecisionVetoed(_)
        | EventPayload::DecisionAppealed(_)
        | EventPayload::MilestoneAdded(_)
        | EventPayload::MilestoneDone(_)
        | EventPayload::SocietyStarted(_)
        | EventPayload::SocietyPaused(_)
        | EventPayload::SocietyResumed(_)
        | EventPayload::SocietyFinished(_)
        | EventPayload::SocietyStopped(_)
        | EventPayload::SocietyHired(_)
        | EventPayload::SocietyDismissed(_)
        | EventPayload::SocietyStatusChanged(_)
        | EventPayload::SocietyApprovalRequested(_)
        | EventPayload::SocietyApprovalDecided(_)
        | EventPayload::SocietyBudgetChanged(_)
        | EventPayload::MessageRead(_)
        | EventPayload::CommandStarted(_)
        | EventPayload::CommandRun(_)
        | EventPayload::CommandRefused(_)
        | EventPayload::BoardFileRestored(_)
        | EventPayload::FileDirectoryMade(_)
        | EventPayload::FileWritten(_)
        | EventPayload::FileEdited(_)
        | EventPayload::FileDeleted(_)
        | EventPayload::FileMoved(_)
        | EventPayload::FileRefused(_)
        | EventPayload::WorkspaceAssigned(_)
        | EventPayload::WorkspaceBound(_)
        | EventPayload::TokenIssued(_)
        | EventPayload::TokenRevoked(_)
        | EventPayload::WebhookAdded(_)
        | EventPayload::WebhookRemoved(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{AgentLayer, AgentStatus};
    use crate::event::{AgentRecordEvent, ArtifactPutEvent, MessageSentEvent};
    use crate::json::RawJson;
    use crate::timestamp::Timestamp;

    fn event(kind: &str, subject: &str, actor: &str, data: &str) -> Event {
        Event {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: actor.to_owned(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            data: RawJson::parse(data).unwrap(),
        }
    }

    fn visibility_of(agent: &str) -> EventVisibility {
        EventVisibility {
            caller: Caller::resolve(agent.parse().unwrap(), None).unwrap(),
            agents: Vec::new(),
            rules: BoardAccessRules::default(),
            workspace: Some("team".parse().unwrap()),
        }
    }

    fn member_of(agent: &str, run: &str) -> EventVisibility {
        let mut member = visibility_of(agent);
        member.caller.run = Some(run.parse().unwrap());
        member
    }

    fn agent_data(run: Option<&str>) -> String {
        let payload = EventPayload::AgentAdded(Box::new(AgentRecordEvent {
            agent: Agent {
                id: "y".parse().unwrap(),
                name: "Y".to_owned(),
                role: "tester".to_owned(),
                layer: AgentLayer::Bottom,
                supervisor: None,
                status: AgentStatus::Active,
                run: run.map(|run| run.parse().unwrap()),
                created_at: Timestamp::from_millis(0),
            },
        }));
        payload.to_json()
    }

    fn artifact_data(run: Option<&str>) -> String {
        let payload = EventPayload::ArtifactPut(ArtifactPutEvent {
            artifact_type: "spec".to_owned(),
            run: run.map(|run| run.parse().unwrap()),
            bytes: 2,
        });
        payload.to_json()
    }

    fn message_data(run: Option<&str>) -> String {
        let payload = EventPayload::MessageSent(MessageSentEvent {
            from: "b".parse().unwrap(),
            to: AgentId::root(),
            reply_to: None,
            run: run.map(|run| run.parse().unwrap()),
            bytes: 2,
        });
        payload.to_json()
    }

    #[test]
    fn event_of_unreadable_subject_is_hidden() {
        let (agent, artifact) = (agent_data(None), artifact_data(None));
        let table = [
            ("task.created", "task/1", "b", "{}", true),
            ("board.written", "board/global", "b", "{}", true),
            ("board.written", "board/mid/dev", "b", "{}", false),
            ("board.written", "blackboard/a.md", "b", "{}", true),
            ("decision.signed", "board/mid/dev", "b", "{}", false),
            ("file.written", "workspace/team", "b", "{}", true),
            ("file.written", "workspace/other", "b", "{}", false),
            ("command.run", "workspace/other", "a", "{}", false),
            ("message.sent", "mailbox/a", "b", "{}", true),
            ("message.sent", "mailbox/b", "a", "{}", true),
            ("message.sent", "mailbox/b", "c", "{}", false),
            ("agent.added", "agent/b", "user", &agent, true),
            ("token.issued", "agent/b", "user", "{}", false),
            ("token.issued", "agent/a", "user", "{}", true),
            ("webhook.added", "webhook/x", "user", "{}", false),
            ("artifact.put", "artifact/x", "b", &artifact, true),
            ("society.hired", "run/r", "b", "{}", false),
            ("society.hired", "run/a", "b", "{}", true),
        ];
        for (kind, subject, actor, data, visible) in table {
            let event = event(kind, subject, actor, data);
            assert_eq!(
                visibility_of("a").is_visible(&event),
                visible,
                "{kind} {subject} by {actor}"
            );
            assert!(visibility_of("user").is_visible(&event));
        }
    }

    #[test]
    fn event_whose_visibility_is_undecidable_is_hidden() {
        let unreadable_run = r#"{"type":"spec","bytes":2,"runId":7}"#;
        let table = [
            // A kind of a newer version, even about a subject that everyone may read.
            ("task.split", "task/1", "{}"),
            ("odd", "nothing", "{}"),
            ("odd.thing", "new-thing/x", "{}"),
            // A subject of another class than events of this kind have.
            ("task.created", "run/x", "{}"),
            ("society.hired", "task/1", "{}"),
            ("file.written", "nothing", "{}"),
            // A payload in which the run cannot be read.
            ("agent.added", "agent/y", "{}"),
            ("agent.retired", "agent/y", "[]"),
            ("artifact.put", "artifact/x", "{}"),
            ("artifact.put", "artifact/x", unreadable_run),
        ];
        for (kind, subject, data) in table {
            let event = event(kind, subject, "b", data);
            for caller in [visibility_of("a"), member_of("a", "one")] {
                assert!(!caller.is_visible(&event), "{event:?}");
            }
            assert!(visibility_of("user").is_visible(&event), "{event:?}");
        }
        // Mail of root is that of a run, which only the payload names.
        let mail = event("message.sent", "mailbox/root", "b", "{}");
        assert!(!member_of("root", "one").is_visible(&mail));
    }

    #[test]
    fn run_events_are_visible_to_own_members() {
        let (member, root) = (member_of("a", "one"), member_of("root", "one"));
        let outside = visibility_of("c");
        let artifact = |run| event("artifact.put", "artifact/x", "b", &artifact_data(run));
        let agent = |run| event("agent.added", "agent/y", "b", &agent_data(run));
        let mail = |run| event("message.sent", "mailbox/root", "b", &message_data(run));
        let hired = |run: &str| event("society.hired", &format!("run/{run}"), "b", "{}");
        for (event, to_member, to_root, to_outside) in [
            (artifact(Some("one")), true, true, true),
            (artifact(Some("two")), false, false, true),
            (artifact(None), true, true, true),
            (agent(Some("two")), false, false, true),
            (agent(Some("one")), true, true, true),
            (agent(None), true, true, true),
            (mail(Some("one")), false, true, false),
            (mail(Some("two")), false, false, false),
            (mail(None), false, false, false),
            (hired("one"), true, true, false),
            (hired("two"), false, false, false),
        ] {
            let visible =
                [&member, &root, &outside].map(|visibility| visibility.is_visible(&event));
            assert_eq!(visible, [to_member, to_root, to_outside], "{event:?}");
        }
    }

    #[test]
    fn run_under_its_old_name_decides_visibility() {
        let data = r#"{"type":"spec","taskId":"two","bytes":2}"#;
        let event = event("artifact.put", "artifact/x", "b", data);
        assert!(!member_of("a", "one").is_visible(&event));
        assert!(member_of("a", "two").is_visible(&event));
    }
}
