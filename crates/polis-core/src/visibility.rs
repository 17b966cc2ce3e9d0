//! Visibility of log events.
//!
//! Events name boards, files, commands and mailboxes. A caller that may not read an object must not learn from
//! the log what happens to it, so every reader of the log filters events with [`Sight::shows`]. Subjects of an
//! unknown class are hidden.

use serde::Deserialize;

use crate::agent::Agent;
use crate::board::BoardName;
use crate::board::access::{AccessRules, Act, judge};
use crate::caller::{Caller, Standing};
use crate::event::{Event, kind};
use crate::id::AgentId;
use crate::society::RunId;

/// What a caller may see of the log, computed from a snapshot of the registry.
#[derive(Debug, Clone)]
pub struct Sight {
    /// The caller.
    pub caller: Caller,
    /// The registry.
    pub agents: Vec<Agent>,
    /// Access rules of boards.
    pub rules: AccessRules,
    /// The workspace the caller works in.
    pub workspace: Option<AgentId>,
}

impl Sight {
    /// Returns whether all events are visible to the caller.
    pub fn shows_everything(&self) -> bool {
        self.caller.standing == Standing::Human
    }

    /// Returns whether an event is visible to the caller.
    pub fn shows(&self, event: &Event) -> bool {
        if self.shows_everything() {
            return true;
        }
        let own = event.actor == self.caller.id.as_str();
        let Some((class, name)) = event.subject.split_once('/') else {
            return false;
        };
        match class {
            "task" | "blackboard" => true,
            // Artifacts and agents of a run are not visible to members of other runs.
            "artifact" => !self.is_of_another_run(event),
            "agent" if self.is_of_another_run(event) => false,
            "agent"
                if matches!(
                    event.kind.as_str(),
                    kind::TOKEN_ISSUED | kind::TOKEN_REVOKED
                ) =>
            {
                name == self.caller.id.as_str()
            }
            "agent" => true,
            "board" => name.parse().is_ok_and(|board| self.reads(&board)),
            "workspace" => self
                .workspace
                .as_ref()
                .is_some_and(|own| own.as_str() == name),
            "mailbox" if name == AgentId::ROOT || event.actor == AgentId::ROOT => {
                let mine = own || name == self.caller.id.as_str();
                mine && (!self.caller.id.is_root() || self.is_of_own_run(event))
            }
            "mailbox" => own || name == self.caller.id.as_str(),
            "run" => {
                let run = self.caller.run.as_ref();
                run.is_some_and(|run| run.as_str() == name) || name == self.caller.id.as_str()
            }
            _ => false,
        }
    }

    /// Returns whether an event belongs to another run than the caller's. A caller without a run is outside of
    /// all runs and sees the events of each.
    fn is_of_another_run(&self, event: &Event) -> bool {
        let run = run_of(event);
        run.is_some() && self.caller.run.is_some() && run != self.caller.run
    }

    fn is_of_own_run(&self, event: &Event) -> bool {
        let run = run_of(event);
        run.is_some() && run == self.caller.run
    }

    /// Returns whether the caller may read a board.
    pub fn reads(&self, board: &BoardName) -> bool {
        judge(Act::Read, board, &self.caller, &self.agents, &self.rules).allowed
    }

    /// Returns whether an event may have changed what is visible, so that the caller needs a new `Sight`.
    pub fn is_outdated_by(event: &Event) -> bool {
        event.kind.starts_with("agent.") || event.kind.starts_with("workspace.")
    }
}

/// Returns the run named in an event's data.
fn run_of(event: &Event) -> Option<RunId> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(rename = "taskId")]
        run: Option<RunId>,
    }
    event.data.to::<Named>()?.run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Raw;
    use crate::time::Timestamp;

    fn event(kind: &str, subject: &str, actor: &str) -> Event {
        Event {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: actor.to_owned(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            data: Raw::parse("{}").unwrap(),
        }
    }

    fn sight(who: &str) -> Sight {
        Sight {
            caller: Caller::resolve(who.parse().unwrap(), None).unwrap(),
            agents: Vec::new(),
            rules: AccessRules::default(),
            workspace: Some("team".parse().unwrap()),
        }
    }

    #[test]
    fn what_may_not_be_read_is_not_told() {
        let table = [
            ("task.created", "task/1", "b", true),
            ("board.written", "board/global", "b", true),
            ("board.written", "board/mid/dev", "b", false),
            ("board.written", "blackboard/a.md", "b", true),
            ("file.written", "workspace/team", "b", true),
            ("file.written", "workspace/other", "b", false),
            ("command.run", "workspace/other", "a", false),
            ("message.sent", "mailbox/a", "b", true),
            ("message.sent", "mailbox/b", "a", true),
            ("message.sent", "mailbox/b", "c", false),
            ("agent.added", "agent/b", "user", true),
            ("token.issued", "agent/b", "user", false),
            ("token.issued", "agent/a", "user", true),
            ("webhook.added", "webhook/x", "user", false),
            ("artifact.put", "artifact/x", "b", true),
            ("society.hired", "run/r", "b", false),
            ("society.hired", "run/a", "b", true),
            ("odd", "nothing", "b", false),
            ("odd", "new-thing/x", "b", false),
        ];
        for (kind, subject, actor, shown) in table {
            let event = event(kind, subject, actor);
            assert_eq!(
                sight("a").shows(&event),
                shown,
                "{kind} {subject} by {actor}"
            );
            assert!(sight("user").shows(&event));
        }
    }

    #[test]
    fn a_run_is_told_to_its_own() {
        let of = |run: &str, kind: &str, subject: &str| {
            let data = format!(r#"{{"taskId":"{run}"}}"#);
            Event {
                data: Raw::parse(&data).unwrap(),
                ..event(kind, subject, "b")
            }
        };
        let mut member = sight("a");
        member.caller.run = Some("one".parse().unwrap());
        let mut root = sight("root");
        root.caller.run = Some("one".parse().unwrap());
        let outside = sight("c");
        for (event, to_member, to_root, to_outside) in [
            (of("one", "artifact.put", "artifact/x"), true, true, true),
            (of("two", "artifact.put", "artifact/x"), false, false, true),
            (of("two", "agent.added", "agent/y"), false, false, true),
            (of("one", "agent.added", "agent/y"), true, true, true),
            (
                of("one", "message.sent", "mailbox/root"),
                false,
                true,
                false,
            ),
            (
                of("two", "message.sent", "mailbox/root"),
                false,
                false,
                false,
            ),
            (of("one", "society.hired", "run/one"), true, true, false),
            (of("two", "society.hired", "run/two"), false, false, false),
        ] {
            let shown = [&member, &root, &outside].map(|sight| sight.shows(&event));
            assert_eq!(shown, [to_member, to_root, to_outside], "{event:?}");
        }
    }
}
