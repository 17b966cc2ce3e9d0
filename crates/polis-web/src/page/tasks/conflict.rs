//! Edit conflict of a task: shows the changes that others made since the form was loaded, the fields that both changed,
//! and a form with the three-way merge of both versions, in which nothing the reader typed is lost.

use std::collections::HashSet;

use maud::{Markup, html};
use polis_core::task::history::{FieldChange, HistoryEntry};
use polis_core::{Raw, TaskId};
use polis_ops::op::{self, TaskHistory};
use polis_view::conflict::{Outcome, compare};
use polis_view::{history, labels};

use super::edit;
use super::form::{Typed, numbers_text};
use crate::error_page::{OrRefuse as _, Refused};
use crate::request_context::Visit;
use crate::side_by_side;
use crate::time_ago::ago;

/// Name of a field in the history, and its accessor in the form.
type Field = (&'static str, fn(&mut Typed) -> &mut String);

const FIELDS: [Field; 7] = [
    ("subject", |typed| &mut typed.subject),
    ("description", |typed| &mut typed.description),
    ("requiredRole", |typed| &mut typed.role),
    ("taskType", |typed| &mut typed.kind),
    ("owner", |typed| &mut typed.owner),
    ("blockedBy", |typed| &mut typed.blocked_by),
    ("blocks", |typed| &mut typed.blocks),
];

/// Maximum number of changes of others shown (the newest).
const TOLD: usize = 50;

/// A field that was changed, with both versions and the outcome of the merge.
struct Clash {
    name: &'static str,
    theirs: String,
    mine: String,
    outcome: Outcome,
}

/// Renders the conflict: the changes of the others, the conflicting fields, and the form with the reader's text. A
/// change made by only one side is kept, so saving undoes only what is shown.
pub(super) async fn body(
    visit: &Visit,
    id: TaskId,
    version: u64,
    mine: Typed,
) -> Result<Markup, Refused> {
    let request = TaskHistory {
        task_id: id,
        cursor: None,
        limit: None,
    };
    let told = op::task_history(&visit.polis, &request).await;
    let told = told.or_refuse(visit)?.history;
    let view = op::get_task(&visit.polis, id).await.or_refuse(visit)?;
    let later: Vec<&HistoryEntry> = told
        .iter()
        .filter(|entry| entry.version.is_some_and(|then| then > version))
        .collect();
    let (merged, clashes) = merge(mine, Typed::of(&view.task), &later);
    let lang = visit.lang();
    Ok(html! {
        div.notice.warn.conflict role="alert" data-code="version_mismatch" {
            p { b { (lang.say("Somebody else has changed this task while you were editing.", "在您编辑期间，其他人修改了该任务。")) } }
            p { (lang.say("Nothing was saved yet, and your text is in the form below.", "尚未保存任何内容，您的文本保留在下方表单中。")) }
        }
        section.card {
            h2 { (lang.say("What they did", "对方的修改")) }
            ol.list { @for entry in later.iter().rev().take(TOLD) { li {
                div { b { (entry.actor) } " " (history::sentence(entry, lang)) " " span.small { (ago(visit, &entry.at)) } }
                @for detail in history::details(entry, lang) { (super::history::change(&detail)) }
            } } }
        }
        @for clash in clashes.iter().filter(|clash| clash.outcome == Outcome::Both) {
            section.card data-clash=(clash.name) {
                h2 { (lang.say("Both changed: ", "双方都修改了：")) (labels::field(clash.name, lang)) }
                (side_by_side::table(
                    visit,
                    (lang.say("Theirs, as it is now", "对方的（当前）"), &clash.theirs),
                    (lang.say("Yours", "您的"), &clash.mine),
                ))
            }
        }
        @if !clashes.iter().any(|clash| clash.outcome == Outcome::Both) {
            p { (lang.say("You changed different things; the form has both.", "双方修改的内容不同，表单中已包含两者。")) }
        }
        @let kept: Vec<&str> = clashes.iter().filter(|c| c.outcome == Outcome::Theirs).map(|c| labels::field(c.name, lang)).collect();
        @if !kept.is_empty() { p.muted { (lang.say("Taken from them, as you did not touch it: ", "您未改动、已采用对方的内容：")) (kept.join(lang.say(", ", "、"))) } }
        p { a.button href={ "/tasks/" (id) "/edit" } { (lang.say("Take theirs and start again", "采用对方的版本并重新编辑")) }
            " " (lang.say("or save yours over it:", "或用您的版本覆盖：")) }
        (edit::form(visit, id, view.task.version, &merged))
    })
}

/// Returns the merged content of the form, and the outcome for each changed field.
fn merge(mut mine: Typed, mut theirs: Typed, later: &[&HistoryEntry]) -> (Typed, Vec<Clash>) {
    let mut base = theirs.clone();
    // In reverse order: the first change since the form was loaded contains the base value of a field.
    for entry in later.iter().rev() {
        for change in &entry.changes {
            let field = FIELDS.iter().find(|(name, _)| *name == change.field);
            if let Some((name, of)) = field {
                let was = of(&mut base);
                *was = match change.partly {
                    true => undone(was, change),
                    false => as_typed(name, change.from.as_ref()),
                };
            }
        }
    }
    let mut merged = mine.clone();
    let mut clashes = Vec::new();
    for (name, of) in FIELDS {
        let (was, they, i) = (of(&mut base), of(&mut theirs), of(&mut mine));
        let outcome = compare(was.as_str(), they.as_str(), i.as_str());
        if outcome == Outcome::Theirs {
            of(&mut merged).clone_from(they);
        }
        if outcome != Outcome::Same {
            clashes.push(Clash {
                name,
                theirs: they.clone(),
                mine: i.clone(),
                outcome,
            });
        }
    }
    (merged, clashes)
}

/// Returns a long list before a change that records only the added and removed entries.
fn undone(list: &str, change: &FieldChange) -> String {
    let ids = |raw: &Option<Raw>| raw.as_ref().and_then(Raw::to::<Vec<TaskId>>);
    let put_in: HashSet<TaskId> = ids(&change.to).unwrap_or_default().into_iter().collect();
    let now = list.split(", ").filter_map(|id| id.parse::<TaskId>().ok());
    let mut before: Vec<TaskId> = now.filter(|id| !put_in.contains(id)).collect();
    before.extend(ids(&change.from).unwrap_or_default());
    numbers_text(&before)
}

/// Returns a value of the history as the form represents it.
fn as_typed(field: &str, value: Option<&Raw>) -> String {
    let Some(value) = value else {
        return String::new();
    };
    match field {
        "blocks" | "blockedBy" => numbers_text(&value.to::<Vec<TaskId>>().unwrap_or_default()),
        _ => value.to::<String>().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use polis_core::Timestamp;

    use super::*;

    fn changed(field: &str, from: &str, to: &str) -> HistoryEntry {
        HistoryEntry {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: "ada".into(),
            kind: "task.updated".into(),
            version: Some(2),
            changes: vec![FieldChange {
                field: field.into(),
                from: Raw::parse(from).ok(),
                to: Raw::parse(to).ok(),
                partly: false,
            }],
            data: None,
        }
    }

    #[test]
    fn what_only_one_of_two_changed_holds_and_what_both_changed_clashes() {
        let later = [
            changed("description", "\"old\"", "\"between\""),
            changed("description", "\"between\"", "\"theirs\""),
            changed("blockedBy", "[\"1\"]", "[\"1\",\"2\"]"),
        ];
        let theirs = Typed {
            subject: "S".into(),
            description: "theirs".into(),
            blocked_by: "1, 2".into(),
            ..Typed::default()
        };
        let mine = Typed {
            subject: "my S".into(),
            description: "mine".into(),
            blocked_by: "1".into(),
            ..Typed::default()
        };
        let (merged, clashes) = merge(mine, theirs, &later.iter().collect::<Vec<_>>());
        let told: Vec<_> = clashes.iter().map(|c| (c.name, c.outcome)).collect();
        assert_eq!(
            told,
            [
                ("subject", Outcome::Mine),
                ("description", Outcome::Both),
                ("blockedBy", Outcome::Theirs),
            ]
        );
        assert_eq!(merged.subject, "my S");
        assert_eq!(merged.description, "mine");
        assert_eq!(merged.blocked_by, "1, 2");
    }

    #[test]
    fn the_same_change_twice_is_no_conflict() {
        let later = [changed("subject", "\"old\"", "\"new\"")];
        let new = Typed {
            subject: "new".into(),
            ..Typed::default()
        };
        let (_, clashes) = merge(new.clone(), new, &later.iter().collect::<Vec<_>>());
        assert!(clashes.is_empty());
    }
}
