//! Formats a log event as a sentence: actor, verb, object, and the most important details.
//!
//! The parts are returned separately, so that a screen can turn them into links; [`Sentence::text`] joins
//! them. Only the event's own data is used. Nothing else is looked up, so the sentence reveals nothing the
//! reader may not see.

use polis_core::Event;
use polis_core::event::kind;
use serde_json::Value;

use crate::{Lang, labels, number_format, time};

/// Maximum number of characters shown of user text.
const SHOWN: usize = 120;

/// An event as a sentence. Read in this order, separated by spaces: who, what, about, more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The actor.
    pub who: String,
    /// The verb.
    pub what: &'static str,
    /// The object.
    pub about: Option<Thing>,
    /// Details.
    pub more: String,
    /// Whether it was refused and therefore changed nothing.
    pub refused: bool,
}

/// The object of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thing {
    /// Display name.
    pub text: String,
    /// Subject in the log, such as `task/5`.
    pub subject: String,
}

impl Sentence {
    /// Returns the whole sentence.
    pub fn text(&self) -> String {
        let about = self.about.as_ref().map_or("", |thing| thing.text.as_str());
        let parts = [self.who.as_str(), self.what, about, self.more.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }
}

/// Formats an event as a sentence.
pub fn sentence(event: &Event, lang: Lang) -> Sentence {
    let data: Value = event.data.to().unwrap_or_default();
    let told = Told { data, lang };
    Sentence {
        who: event.actor.clone(),
        what: told
            .session(&event.kind)
            .unwrap_or_else(|| labels::deed(&event.kind, lang)),
        about: about(event, &told),
        more: more(event, &told),
        refused: matches!(
            event.kind.as_str(),
            kind::TASK_REFUSED | kind::FILE_REFUSED | kind::COMMAND_REFUSED
        ),
    }
}

/// Returns the display name of a log subject.
pub fn thing(subject: &str, lang: Lang) -> Thing {
    let text = match subject.split_once('/') {
        Some(("task", id)) => lang.say(format!("task #{id}"), format!("任务 #{id}")),
        Some(("board", name)) => lang.say(format!("board {name}"), format!("白板 {name}")),
        Some(("run", id)) => lang.say(format!("run {id}"), format!("运行 {id}")),
        Some(("workspace", id)) => lang.say(format!("workspace of {id}"), format!("{id} 的工作区")),
        Some(("artifact", id)) => lang.say(format!("artifact {id}"), format!("产物 {id}")),
        Some(("webhook", id)) => format!("webhook {id}"),
        Some(("agent" | "mailbox", id)) => id.to_owned(),
        _ => subject.to_owned(),
    };
    Thing {
        text,
        subject: subject.to_owned(),
    }
}

fn about(event: &Event, told: &Told) -> Option<Thing> {
    match event.kind.as_str() {
        // The object of these events is the actor itself.
        kind::MESSAGE_READ => None,
        kind::TOKEN_ISSUED | kind::TOKEN_REVOKED if told.session(&event.kind).is_some() => None,
        // The subject of these events is the run, but their object is one of its members.
        kind::SOCIETY_HIRED
        | kind::SOCIETY_DISMISSED
        | kind::SOCIETY_STANDS
        | kind::SOCIETY_ASKED
        | kind::SOCIETY_DECIDED
        | kind::SOCIETY_BUDGET
        | kind::SOCIETY_PAUSED
        | kind::SOCIETY_RESUMED => match told.text("agent") {
            Some(agent) if agent == event.actor => None,
            Some(agent) => Some(thing(&format!("agent/{agent}"), told.lang)),
            None => Some(thing(&event.subject, told.lang)),
        },
        _ => Some(thing(&event.subject, told.lang)),
    }
}

fn more(event: &Event, told: &Told) -> String {
    let lang = told.lang;
    match event.kind.as_str() {
        kind::TASK_CREATED | kind::TASK_IMPORTED => told.quoted("subject"),
        kind::TASK_UPDATED | kind::TASK_LINKED => told.fields(),
        kind::TASK_CLAIMED => match told.changed("owner") {
            Some(owner) if owner != event.actor => {
                lang.say(format!("for {owner}"), format!("（负责人 {owner}）"))
            }
            _ => String::new(),
        },
        kind::TASK_COMPLETED | kind::SOCIETY_FINISHED => {
            match told.data.get("durationMs").and_then(Value::as_i64) {
                Some(ms) => lang.say(
                    format!("after {}", time::span(ms, lang)),
                    format!("，用时 {}", time::span(ms, lang)),
                ),
                None => String::new(),
            }
        }
        kind::TASK_COMMENTED => told.quoted("body"),
        kind::TASK_REFUSED | kind::FILE_REFUSED | kind::COMMAND_REFUSED => told.refusal(),
        kind::DECISION_PROPOSED
        | kind::DECISION_SIGNED
        | kind::DECISION_VETOED
        | kind::DECISION_APPEALED => told.ruling(),
        kind::MESSAGE_READ => {
            let many = told.data.get("ids").and_then(Value::as_array);
            let many = many.map_or(0, Vec::len);
            lang.say(format!("({many})"), format!("（{many} 条）"))
        }
        kind::AGENT_ADDED => told
            .text("role")
            .map(|role| labels::role(role, lang).to_owned())
            .map_or_else(String::new, |role| {
                lang.say(format!("as {role}"), format!("，角色 {role}"))
            }),
        kind::TOKEN_ISSUED | kind::TOKEN_REVOKED => told.listed(&["token"]),
        kind::ARTIFACT_PUT => told.listed(&["artifactType"]),
        kind::FILE_WRITTEN | kind::FILE_EDITED | kind::FILE_DELETED | kind::FILE_DIRECTORY_MADE => {
            told.listed(&["path"])
        }
        kind::FILE_MOVED => match (told.text("path"), told.text("to")) {
            (Some(from), Some(to)) => cut(&format!("{from} → {to}")),
            _ => told.listed(&["path"]),
        },
        kind::COMMAND_STARTED | kind::COMMAND_RUN => told.command(),
        kind::SOCIETY_STANDS => told.standing(),
        kind::SOCIETY_ASKED => told.listed(&["tool"]),
        kind::SOCIETY_DECIDED => {
            let allowed = told.data.get("allowed").and_then(Value::as_bool);
            let how = match allowed {
                Some(true) => lang.say("allowed", "已允许"),
                _ => lang.say("denied", "已拒绝"),
            };
            format!("{} {how}", told.listed(&["tool"]))
        }
        kind::SOCIETY_HIRED => told.listed(&["role"]),
        kind::SOCIETY_DISMISSED | kind::SOCIETY_STOPPED => told.listed(&["reason"]),
        kind::SOCIETY_PAUSED | kind::SOCIETY_RESUMED => told.listed(&["why"]),
        name if name.starts_with("board.") => told
            .data
            .get("bytes")
            .and_then(Value::as_u64)
            .map_or_else(String::new, |bytes| {
                format!("({})", number_format::bytes(bytes))
            }),
        _ => String::new(),
    }
}

/// Data of an event, and the display language.
struct Told {
    data: Value,
    lang: Lang,
}

impl Told {
    fn text(&self, field: &str) -> Option<&str> {
        self.data.get(field)?.as_str()
    }

    /// Returns the verb for a browser session, which is a token in the log.
    fn session(&self, kind: &str) -> Option<&'static str> {
        let session = self.data.get("session").and_then(Value::as_bool);
        session.filter(|session| *session)?;
        match kind {
            kind::TOKEN_ISSUED => Some(self.lang.say("signed in with a browser", "用浏览器登录了")),
            kind::TOKEN_REVOKED => Some(
                self.lang
                    .say("ended a browser's session", "结束了浏览器登录"),
            ),
            _ => None,
        }
    }

    /// Returns the new value of a changed field.
    fn changed(&self, field: &str) -> Option<&str> {
        self.data.get("changes")?.get(field)?.as_str()
    }

    /// Returns a user's text in quotation marks.
    fn quoted(&self, field: &str) -> String {
        match self.text(field) {
            Some(text) if !text.trim().is_empty() => {
                let text = cut(text);
                self.lang.say(format!("“{text}”"), format!("「{text}」"))
            }
            _ => String::new(),
        }
    }

    /// Returns several fields, separated by dots.
    fn listed(&self, fields: &[&str]) -> String {
        let values: Vec<&str> = fields.iter().filter_map(|field| self.text(field)).collect();
        cut(&values.join(" · "))
    }

    /// Returns the id and status of a decision.
    fn ruling(&self) -> String {
        let status = self.data.get("status").cloned().unwrap_or_default();
        match (self.lang, serde_json::from_value(status)) {
            (Lang::Zh, Ok(status)) => {
                let id = self.text("decision").unwrap_or_default();
                cut(&format!("{id} · {}", labels::decision(status, self.lang)))
            }
            // In English the stored status is already a readable word.
            _ => self.listed(&["decision", "status"]),
        }
    }

    /// Returns the names of the changed fields.
    fn fields(&self) -> String {
        let Some(changes) = self.data.get("changes").and_then(Value::as_object) else {
            return String::new();
        };
        let names: Vec<&str> = changes
            .keys()
            .map(|name| labels::field(name, self.lang))
            .collect();
        if names.is_empty() {
            return String::new();
        }
        self.lang.say(
            format!("({})", names.join(", ")),
            format!("（{}）", names.join("、")),
        )
    }

    /// Returns what was attempted, and the error code.
    fn refusal(&self) -> String {
        let code = self.text("code").unwrap_or_default();
        let what = self.text("command").or_else(|| self.text("path"));
        let what = what.or_else(|| self.text("op")).unwrap_or_default();
        cut(&format!("{what} · {code}"))
    }

    fn command(&self) -> String {
        let command = cut(self.text("command").unwrap_or_default());
        let took = self.data.get("durationMs").and_then(Value::as_i64);
        let took = took.map_or_else(String::new, |ms| time::span(ms, self.lang));
        let flag = |name: &str| self.data.get(name).and_then(Value::as_bool) == Some(true);
        let how = if flag("timedOut") {
            self.lang.say("timed out", "超时").to_owned()
        } else if flag("cancelled") {
            self.lang.say("cancelled", "已取消").to_owned()
        } else {
            match self.data.get("exitCode").and_then(Value::as_i64) {
                Some(0) => self.lang.say("ok", "成功").to_owned(),
                Some(code) => self
                    .lang
                    .say(format!("exit code {code}"), format!("退出码 {code}")),
                None => String::new(),
            }
        };
        let parts = [command, how, took];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" · ")
    }

    fn standing(&self) -> String {
        let status = self.data.get("status").cloned().unwrap_or_default();
        let status = serde_json::from_value(status)
            .map(|status| labels::member(status, self.lang))
            .unwrap_or_default();
        match self.text("why") {
            Some(why) => cut(&format!("{status}: {why}")),
            None => status.to_owned(),
        }
    }
}

/// Returns the first line of a text, truncated.
fn cut(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < text.trim().len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use polis_core::{Raw, Timestamp};

    use super::*;

    fn said(kind: &str, subject: &str, data: &str, lang: Lang) -> String {
        let event = Event {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: "ada".to_owned(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            data: Raw::parse(data).unwrap(),
        };
        sentence(&event, lang).text()
    }

    #[test]
    fn events_are_sentences_in_both_languages() {
        let table = [
            (
                kind::TASK_CREATED,
                "task/5",
                r#"{"subject":"Write the parser"}"#,
                "ada created task #5 “Write the parser”",
                "ada 创建了 任务 #5 「Write the parser」",
            ),
            (
                kind::TASK_CLAIMED,
                "task/5",
                r#"{"version":2,"changes":{"owner":"bob"}}"#,
                "ada claimed task #5 for bob",
                "ada 认领了 任务 #5 （负责人 bob）",
            ),
            (
                kind::TASK_REFUSED,
                "task/5",
                r#"{"op":"update","code":"version_mismatch"}"#,
                "ada was refused on task #5 update · version_mismatch",
                "ada 被拒绝操作 任务 #5 update · version_mismatch",
            ),
            (
                kind::COMMAND_RUN,
                "workspace/team",
                r#"{"command":"cargo test","exitCode":1,"durationMs":2500}"#,
                "ada ran a command in workspace of team cargo test · exit code 1 · 2.5 s",
                "ada 运行了命令，在 team 的工作区 cargo test · 退出码 1 · 2.5 秒",
            ),
            (
                kind::BOARD_WRITTEN,
                "board/global",
                r#"{"bytes":2048}"#,
                "ada wrote board global (2 KiB)",
                "ada 写入了 白板 global (2 KiB)",
            ),
            (
                kind::DECISION_PROPOSED,
                "board/global",
                r#"{"decision":"D1","status":"pending"}"#,
                "ada proposed a decision on board global D1 · pending",
                "ada 提出了决策，在 白板 global D1 · 等待签署",
            ),
            (
                kind::TOKEN_ISSUED,
                "agent/ada",
                r#"{"token":"ab12","session":true}"#,
                "ada signed in with a browser ab12",
                "ada 用浏览器登录了 ab12",
            ),
            (
                "new.thing",
                "odd/one",
                "{}",
                "ada did something to odd/one",
                "ada 操作了 odd/one",
            ),
        ];
        for (kind, subject, data, en, zh) in table {
            assert_eq!(said(kind, subject, data, Lang::En), en);
            assert_eq!(said(kind, subject, data, Lang::Zh), zh);
        }
    }

    #[test]
    fn odd_particulars_never_fail() {
        for (kind, ..) in labels::DEEDS {
            for data in [
                "{}",
                "[]",
                "null",
                r#"{"changes":7,"ids":"x","status":"?"}"#,
            ] {
                for lang in [Lang::En, Lang::Zh] {
                    assert!(!said(kind, "task/1", data, lang).is_empty());
                }
            }
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let data = format!(r#"{{"subject":"{}"}}"#, "字".repeat(500));
        let text = said(kind::TASK_CREATED, "task/1", &data, Lang::Zh);
        assert!(text.chars().count() < 160, "{text}");
        assert!(text.contains('…'));
    }
}
