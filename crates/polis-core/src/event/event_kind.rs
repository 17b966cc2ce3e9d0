//! The kinds of events and the types of their payloads, as one table.
//!
//! [`event_kinds!`] generates [`EventArea`], [`EventKind`] and [`EventPayload`] from the table below, so that the
//! name, the description and the payload type of a kind are written once. Code that has to treat every kind
//! matches on [`EventKind`] or [`EventPayload`] without a wildcard: a new kind then fails to compile there until it
//! is handled. Several kinds share a payload type if their data has the same shape.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::agent_payload::{
    AgentRecordEvent, ArtifactPutEvent, MessageSentEvent, MessagesReadEvent, TokenEvent,
    WebhookEvent,
};
use super::board_payload::{
    BoardChangedEvent, BoardFileEvent, BoardLockEvent, DecisionChangedEvent, MilestoneChangedEvent,
};
use super::society_payload::{
    BudgetChangedEvent, CallApprovalDecidedEvent, CallApprovalRequestedEvent, MemberDismissedEvent,
    MemberHiredEvent, MemberStatusChangedEvent, RunFinishedEvent, RunPausedEvent, RunStartedEvent,
};
use super::task_payload::{
    TaskChangedEvent, TaskCommentedEvent, TaskHeartbeatEvent, TaskRefusedEvent, TaskSnapshotEvent,
};
use super::workspace_payload::{
    CommandRefusedEvent, CommandRunEvent, CommandStartedEvent, DirectoryMadeEvent,
    FileDeletedEvent, FileEditedEvent, FileMovedEvent, FileRefusedEvent, FileWrittenEvent,
    WorkspaceBindingEvent,
};
use crate::json::{RawJson, to_json_text};

/// Generates the enums from the table. `$description` is the documentation comment of a kind.
macro_rules! event_kinds {
    ($($area:ident $area_name:literal {
        $(#[doc = $description:literal] $kind:ident $name:literal $payload:ty,)+
    })+) => {
        /// An area of the event log: the first word of the names of its kinds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventArea {
            $(#[doc = concat!("Events named `", $area_name, ".…`.")] $area,)+
        }

        impl EventArea {
            /// All areas.
            pub const ALL: &'static [Self] = &[$(Self::$area),+];

            /// Returns the area's name: the first word of its kinds.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$area => $area_name,)+
                }
            }

            /// Returns the area with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|area| area.as_str() == name)
            }
        }

        /// A kind of event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $($(#[doc = $description] $kind,)+)+
        }

        impl EventKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$($(Self::$kind),+),+];

            /// Returns the name of the kind, such as `task.claimed`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$kind => $name,)+)+
                }
            }

            /// Returns the kind with this name; `None` if it is the kind of a newer version of polis.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Self::$kind),)+)+
                    _ => None,
                }
            }

            /// Returns the kind's description for the documentation.
            pub fn description(self) -> &'static str {
                let text = match self {
                    $($(Self::$kind => $description,)+)+
                };
                text.trim_start()
            }

            /// Returns the area that the kind belongs to.
            pub const fn area(self) -> EventArea {
                match self {
                    $($(Self::$kind)|+ => EventArea::$area,)+
                }
            }

            /// Returns the JSON schema of the kind's payload.
            pub fn payload_schema(self, generator: &mut SchemaGenerator) -> Schema {
                match self {
                    $($(Self::$kind => <$payload>::json_schema(generator),)+)+
                }
            }
        }

        /// The data of an event, typed by its kind.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum EventPayload {
            $($(#[doc = $description] $kind($payload),)+)+
        }

        impl EventPayload {
            /// Returns the kind of the event.
            pub const fn kind(&self) -> EventKind {
                match self {
                    $($(Self::$kind(_) => EventKind::$kind,)+)+
                }
            }

            /// Parses the data of an event. Returns `None` if it has not the shape of the kind's payload.
            pub fn parse(kind: EventKind, data: &RawJson) -> Option<Self> {
                match kind {
                    $($(EventKind::$kind => data.parse_as().map(Self::$kind),)+)+
                }
            }

            /// Returns the payload as the JSON text that stores keep.
            pub fn to_json(&self) -> String {
                match self {
                    $($(Self::$kind(payload) => to_json_text(payload),)+)+
                }
            }
        }
    };
}

event_kinds! {
    Task "task" {
        /// A task was created.
        TaskCreated "task.created" Box<TaskSnapshotEvent>,
        /// A task was imported from a file.
        TaskImported "task.imported" Box<TaskSnapshotEvent>,
        /// A task's fields changed.
        TaskUpdated "task.updated" TaskChangedEvent,
        /// A task's dependency list changed because the task at the other end of the dependency was changed.
        TaskLinked "task.linked" TaskChangedEvent,
        /// A task got an owner.
        TaskClaimed "task.claimed" TaskChangedEvent,
        /// Work on a task began.
        TaskStarted "task.started" TaskChangedEvent,
        /// A task lost its owner.
        TaskReleased "task.released" TaskChangedEvent,
        /// A task was completed.
        TaskCompleted "task.completed" TaskChangedEvent,
        /// A task was deleted.
        TaskDeleted "task.deleted" TaskChangedEvent,
        /// A task's completion was approved.
        TaskApproved "task.approved" TaskChangedEvent,
        /// A comment was added to a task.
        TaskCommented "task.commented" TaskCommentedEvent,
        /// A claim was renewed.
        TaskHeartbeat "task.heartbeat" TaskHeartbeatEvent,
        /// A change to a task was refused; nothing changed.
        TaskRefused "task.refused" TaskRefusedEvent,
    }
    Board "board" {
        /// A board's whole text was replaced.
        BoardWritten "board.written" BoardChangedEvent,
        /// Text was appended to a board.
        BoardAppended "board.appended" BoardChangedEvent,
        /// A part of a board was changed.
        BoardEdited "board.edited" BoardChangedEvent,
        /// An older version of a board was restored.
        BoardRestored "board.restored" BoardChangedEvent,
        /// A board's file was changed by a program other than polis.
        BoardEditedExternally "board.external" BoardFileEvent,
        /// A board's file was missing and was written again.
        BoardFileRestored "board.file-restored" BoardFileEvent,
        /// A board was locked.
        BoardLocked "board.locked" BoardLockEvent,
        /// A board's lock was renewed.
        BoardRenewed "board.renewed" BoardLockEvent,
        /// A board's lock was released.
        BoardUnlocked "board.unlocked" BoardLockEvent,
    }
    Decision "decision" {
        /// A decision was proposed on a board.
        DecisionProposed "decision.proposed" DecisionChangedEvent,
        /// A decision was signed.
        DecisionSigned "decision.signed" DecisionChangedEvent,
        /// A decision was vetoed.
        DecisionVetoed "decision.vetoed" DecisionChangedEvent,
        /// A rejected decision was appealed.
        DecisionAppealed "decision.appealed" DecisionChangedEvent,
    }
    Milestone "milestone" {
        /// A milestone was added to a board.
        MilestoneAdded "milestone.added" MilestoneChangedEvent,
        /// A milestone was reached.
        MilestoneDone "milestone.done" MilestoneChangedEvent,
    }
    Agent "agent" {
        /// An agent was registered.
        AgentAdded "agent.added" Box<AgentRecordEvent>,
        /// An agent was retired.
        AgentRetired "agent.retired" Box<AgentRecordEvent>,
    }
    Society "society" {
        /// A run of the society began.
        SocietyStarted "society.started" RunStartedEvent,
        /// A run, or a member of it, was paused.
        SocietyPaused "society.paused" RunPausedEvent,
        /// A run, or a member of it, was resumed.
        SocietyResumed "society.resumed" RunPausedEvent,
        /// All members of a run are idle and nothing is open.
        SocietyFinished "society.finished" RunFinishedEvent,
        /// A run was stopped.
        SocietyStopped "society.stopped" MemberDismissedEvent,
        /// An agent was hired for a run.
        SocietyHired "society.hired" MemberHiredEvent,
        /// An agent of a run was dismissed.
        SocietyDismissed "society.dismissed" MemberDismissedEvent,
        /// A member's status changed: it waits for an approval, is paused or is parked.
        SocietyStatusChanged "society.stands" MemberStatusChangedEvent,
        /// A member of a run waits for the approval of a call.
        SocietyApprovalRequested "society.asked" CallApprovalRequestedEvent,
        /// A person decided on an approval.
        SocietyApprovalDecided "society.decided" CallApprovalDecidedEvent,
        /// A budget was changed.
        SocietyBudgetChanged "society.budget" BudgetChangedEvent,
    }
    Message "message" {
        /// A message was sent.
        MessageSent "message.sent" MessageSentEvent,
        /// Messages were read by their recipient.
        MessageRead "message.read" MessagesReadEvent,
    }
    Command "command" {
        /// A command has been running for some time and is still running.
        CommandStarted "command.started" CommandStartedEvent,
        /// A command ran.
        CommandRun "command.run" Box<CommandRunEvent>,
        /// A command was refused.
        CommandRefused "command.refused" CommandRefusedEvent,
    }
    File "file" {
        /// A file tool wrote a file.
        FileWritten "file.written" FileWrittenEvent,
        /// A file tool replaced text in a file.
        FileEdited "file.edited" FileEditedEvent,
        /// A file tool deleted a file or directory.
        FileDeleted "file.deleted" FileDeletedEvent,
        /// A file tool moved a file or directory.
        FileMoved "file.moved" FileMovedEvent,
        /// A file tool created a directory.
        FileDirectoryMade "file.directory-made" DirectoryMadeEvent,
        /// A file tool was refused access outside of the workspace, or to another team's workspace.
        FileRefused "file.refused" FileRefusedEvent,
    }
    Workspace "workspace" {
        /// An agent got a workspace.
        WorkspaceAssigned "workspace.assigned" WorkspaceBindingEvent,
        /// A workspace was bound to a directory.
        WorkspaceBound "workspace.bound" WorkspaceBindingEvent,
    }
    Artifact "artifact" {
        /// An artifact was stored.
        ArtifactPut "artifact.put" ArtifactPutEvent,
    }
    Token "token" {
        /// A token was issued.
        TokenIssued "token.issued" TokenEvent,
        /// A token was revoked.
        TokenRevoked "token.revoked" TokenEvent,
    }
    Webhook "webhook" {
        /// A webhook was registered.
        WebhookAdded "webhook.added" WebhookEvent,
        /// A webhook was removed.
        WebhookRemoved "webhook.removed" WebhookEvent,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_of_kinds_are_unique_and_begin_with_their_area() {
        let names: BTreeSet<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names.len(), EventKind::ALL.len());
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_name(kind.as_str()), Some(*kind));
            let (area, _) = kind.as_str().split_once('.').unwrap();
            assert_eq!(area, kind.area().as_str());
            assert_eq!(EventArea::from_name(area), Some(kind.area()));
            assert!(kind.description().ends_with('.'), "{kind:?}");
        }
    }
}
