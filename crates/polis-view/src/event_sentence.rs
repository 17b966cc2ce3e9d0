//! Formats an event of the event log as a sentence: actor, verb, object, and the most important details.
//!
//! The parts are returned separately, so that a screen can turn them into links; [`EventSentence::text`]
//! joins them. An event of an unknown kind (of a newer version) gets a general sentence; one of a known kind with an
//! unknown payload gets its verb without details. Only the event's own data is used, without further queries,
//! so the sentence reveals nothing that the reader may not see.

use polis_core::{Event, EventKind, EventPayload};
use polis_i18n::msg;

use crate::event_details::{
    after_colon, format_event_details, named_member, truncate_first_line, word_gap,
};
use crate::{UiLanguage, labels};

/// An event as a sentence: actor, verb, object, end of the verb, and details, in this order. The parts after
/// the actor contain the spaces and the punctuation between them, so a screen only has to join them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSentence {
    /// The actor: an agent's id, or `user`.
    pub actor: String,
    /// The verb, in the display language; of a Chinese verb around the object, the part before it.
    pub verb: String,
    /// The object, unless it is the actor itself.
    pub object: Option<EventObject>,
    /// The part of a Chinese verb after the object; may be empty.
    pub verb_end: String,
    /// Details from the event's data; may be empty.
    pub details: String,
    /// Whether it was refused and therefore changed nothing.
    pub is_refused: bool,
}

/// The object of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventObject {
    /// Display name of the object.
    pub text: String,
    /// Subject in the event log, such as `task/5`.
    pub subject: String,
}

impl EventSentence {
    /// Returns the whole sentence as plain text.
    pub fn text(&self) -> String {
        format!("{} {}", self.actor, self.action_text())
    }

    /// Returns the sentence without its actor, for screens that show the actor in a column of its own.
    pub fn action_text(&self) -> String {
        let object = self.object.as_ref();
        let object = object.map_or("", |object| object.text.as_str());
        format!("{}{object}{}{}", self.verb, self.verb_end, self.details)
    }
}

/// Formats an event as a sentence.
pub fn format_event(event: &Event, lang: UiLanguage) -> EventSentence {
    let (kind, payload) = (event.known_kind(), event.payload());
    let object = event_object(event, payload.as_ref(), lang);
    let (verb, verb_end) = event_verb(kind, payload.as_ref(), object.is_some(), lang);
    let details = match (&payload, kind) {
        (Some(payload), _) => format_event_details(payload, &event.actor, lang),
        // The verb says what happened, but not the details.
        (None, Some(_)) => String::new(),
        (None, None) => after_colon(&truncate_first_line(&event.kind), lang),
    };
    let object_text = object.as_ref().map_or("", |object| object.text.as_str());
    let before_details = [verb_end.as_str(), object_text, &verb]
        .into_iter()
        .find(|part| !part.is_empty());
    EventSentence {
        actor: event.actor.clone(),
        verb: format!("{verb}{}", word_gap(&verb, object_text)),
        verb_end: format!("{}{verb_end}", word_gap(object_text, &verb_end)),
        details: format!(
            "{}{details}",
            word_gap(before_details.unwrap_or_default(), &details)
        ),
        object,
        is_refused: matches!(
            kind,
            Some(EventKind::TaskRefused | EventKind::FileRefused | EventKind::CommandRefused)
        ),
    }
}

/// Returns the verb of an event as its parts before and after the object.
fn event_verb(
    kind: Option<EventKind>,
    payload: Option<&EventPayload>,
    has_object: bool,
    lang: UiLanguage,
) -> (String, String) {
    let without_object = |verb: &str| (verb.to_owned(), String::new());
    match (kind, payload) {
        // A browser session is a token in the log.
        (_, Some(EventPayload::TokenIssued(token))) if token.session => {
            without_object(msg::event_signed_in(lang))
        }
        (_, Some(EventPayload::TokenRevoked(token))) if token.session => {
            without_object(msg::event_browser_session_ended(lang))
        }
        // A member changes its own status.
        (Some(EventKind::SocietyStatusChanged), _) if !has_object => {
            without_object(msg::event_own_status_changed(lang))
        }
        (Some(kind), _) => labels::event_verb(kind, lang),
        (None, _) => labels::unknown_event_verb(lang),
    }
}

/// Returns a subject of the event log (`task/5`) with its display name ("task #5").
pub fn describe_subject(subject: &str, lang: UiLanguage) -> EventObject {
    let text = match subject.split_once('/') {
        Some(("task", id)) => msg::event_subject_task(lang, id),
        Some(("board", name)) => msg::event_subject_board(lang, name),
        Some(("run", id)) => msg::event_subject_run(lang, id),
        Some(("workspace", id)) => msg::event_subject_workspace(lang, id),
        Some(("artifact", id)) => msg::event_subject_artifact(lang, id),
        Some(("webhook", id)) => msg::event_subject_webhook(lang, id),
        Some(("agent" | "mailbox", id)) => id.to_owned(),
        _ => subject.to_owned(),
    };
    EventObject {
        text,
        subject: subject.to_owned(),
    }
}

fn event_object(
    event: &Event,
    payload: Option<&EventPayload>,
    lang: UiLanguage,
) -> Option<EventObject> {
    match payload {
        // The object of these events is the actor itself.
        Some(EventPayload::MessageRead(_)) => None,
        Some(EventPayload::TokenIssued(token) | EventPayload::TokenRevoked(token))
            if token.session =>
        {
            None
        }
        // The subject of an event about a member is the run, but its object is the member.
        payload => match payload.and_then(named_member) {
            Some(agent) if agent.as_str() == event.actor => None,
            Some(agent) => Some(describe_subject(&format!("agent/{agent}"), lang)),
            None => Some(describe_subject(&event.subject, lang)),
        },
    }
}

#[cfg(test)]
mod tests {
    use polis_core::{RawJson, Timestamp};

    use super::*;

    fn sentence_text(kind: &str, subject: &str, data: &str, lang: UiLanguage) -> String {
        let event = Event {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: "ada".to_owned(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            data: RawJson::parse(data).unwrap(),
        };
        format_event(&event, lang).text()
    }

    #[test]
    fn events_are_sentences_in_both_languages() {
        let table = [
            (
                "task.created",
                "task/5",
                r#"{"subject":"Write the parser","status":"pending","owner":"","version":1}"#,
                "ada created task #5: “Write the parser”",
                "ada 创建了任务 #5：“Write the parser”",
            ),
            (
                "task.claimed",
                "task/5",
                r#"{"version":2,"changes":{"owner":"bob"}}"#,
                "ada claimed task #5 for bob",
                "ada 认领了任务 #5（负责人：bob）",
            ),
            (
                "task.refused",
                "task/5",
                r#"{"op":"update","code":"version_mismatch"}"#,
                "ada was refused an operation on task #5: update (version_mismatch)",
                "ada 对任务 #5 的操作被拒绝：修改（你读取之后，任务已被改动）",
            ),
            (
                "task.updated",
                "task/5",
                r#"{"version":2,"changes":{"blockedBy":["3"],"subject":"S"}}"#,
                "ada changed task #5 (blocked by, subject)",
                "ada 修改了任务 #5（前置任务、标题）",
            ),
            (
                "command.run",
                "workspace/team",
                r#"{"command":"cargo test","agent":"ada","workspace":"team","startedAt":"2026-01-01T00:00:00.000Z",
                    "exitCode":1,"durationMs":2500,"stdoutBytes":0,"stderrBytes":9}"#,
                "ada ran a command in the workspace of team: cargo test · exit code 1 · 2.5 s",
                "ada 在 team 的工作空间运行了命令：cargo test · 退出码 1 · 2.5 秒",
            ),
            (
                "board.written",
                "board/global",
                r#"{"bytes":2048}"#,
                "ada wrote board global (2 KiB)",
                "ada 写入了白板 global（2 KiB）",
            ),
            (
                "decision.proposed",
                "board/global",
                r#"{"decision":"1","status":"pending"}"#,
                "ada proposed a decision on board global: #1, awaiting signatures",
                "ada 在白板 global 提出了决策：#1，等待签署",
            ),
            (
                "agent.added",
                "agent/bob",
                r#"{"id":"bob","name":"Bob","role":"backend-leader","layer":"mid","supervisor":null,"status":"active",
                    "createdAt":"2026-01-01T00:00:00.000Z"}"#,
                "ada registered bob as backend-leader",
                "ada 注册了 bob，角色为后端负责人",
            ),
            (
                "society.hired",
                "run/r-1",
                r#"{"agent":"bob","parent":"ada","role":"tester","depth":1}"#,
                "ada hired bob as tester",
                "ada 招募了 bob，角色为 tester",
            ),
            (
                "society.stands",
                "run/r-1",
                r#"{"agent":"ada","status":"paused","why":"budget"}"#,
                "ada changed its status: paused (budget)",
                "ada 更新了状态：已暂停（budget）",
            ),
            (
                "society.asked",
                "run/r-1",
                r#"{"agent":"ada","id":"r-1/ada/2.0","tool":"write_file"}"#,
                "ada requested approval for write_file",
                "ada 请求审批：write_file",
            ),
            (
                "token.issued",
                "agent/ada",
                r#"{"token":"ab12","scopes":["all"],"session":true}"#,
                "ada signed in with a browser: ab12",
                "ada 用浏览器登录了：ab12",
            ),
            (
                "artifact.put",
                "artifact/ab",
                r#"{"type":"spec","bytes":9}"#,
                "ada stored artifact ab (spec)",
                "ada 保存了产物 ab（spec）",
            ),
            (
                "society.budget",
                "run/r-1",
                r#"{"agent":"bob","limits":{"tokens":5}}"#,
                "ada changed the budget of bob",
                "ada 调整了 bob 的预算",
            ),
            (
                "task.claimed",
                "task/5",
                r#"{"by":"a newer version"}"#,
                "ada claimed task #5",
                "ada 认领了任务 #5",
            ),
            (
                "new.thing",
                "odd/one",
                "{}",
                "ada triggered an event on odd/one: new.thing",
                "ada 触发了 odd/one 的事件：new.thing",
            ),
        ];
        for (kind, subject, data, en, zh) in table {
            assert_eq!(sentence_text(kind, subject, data, UiLanguage::En), en);
            assert_eq!(sentence_text(kind, subject, data, UiLanguage::Zh), zh);
        }
    }

    #[test]
    fn malformed_event_data_is_still_formatted() {
        for kind in EventKind::ALL {
            for data in [
                "{}",
                "[]",
                "null",
                r#"{"changes":7,"ids":"x","status":"?"}"#,
            ] {
                for lang in [UiLanguage::En, UiLanguage::Zh] {
                    assert!(!sentence_text(kind.as_str(), "task/1", data, lang).is_empty());
                }
            }
        }
    }

    #[test]
    fn long_texts_are_truncated() {
        let data = format!(
            r#"{{"subject":"{}","status":"pending","owner":"","version":1}}"#,
            "字".repeat(500)
        );
        let text = sentence_text("task.created", "task/1", &data, UiLanguage::Zh);
        assert!(text.chars().count() < 160, "{text}");
        assert!(text.contains('…'));
    }
}
