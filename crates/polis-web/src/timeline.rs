//! Renders events as list items: time, actor, action, and a link to the subject.

use maud::{Markup, html};
use polis_core::Event;
use polis_core::board::BoardName;
use polis_view::event::{Sentence, sentence};

use crate::page::boards::board_url;
use crate::request_context::Visit;
use crate::url::segment;

/// Renders an event as a list item.
pub(crate) fn line(visit: &Visit, event: &Event) -> Markup {
    let said = sentence(event, visit.lang());
    html! {
        li class=[said.refused.then_some("refused")] id={ "e" (event.seq) } data-row data-kind=(event.kind) {
            time.clock datetime=(event.at.as_str()) { (clock(event.at.as_str())) }
            div { (words(&said)) }
            span.muted.small { code { (event.kind) } " " (event.seq) }
        }
    }
}

/// Renders the sentence with its links.
pub(crate) fn words(said: &Sentence) -> Markup {
    html! {
        (somebody(&said.who)) " " (said.what)
        @if let Some(thing) = &said.about {
            " "
            @match href(&thing.subject) {
                Some(to) => a href=(to) { (thing.text) },
                None => span { (thing.text) },
            }
        }
        @if !said.more.is_empty() { " " span.muted { (said.more) } }
    }
}

/// Renders a name with a link to the agent's page; the person has none.
pub(crate) fn somebody(who: &str) -> Markup {
    match who {
        "user" | "root" | "system" | "" => html! { b { (who) } },
        _ => html! { a href={ "/agents/" (segment(who)) } { (who) } },
    }
}

/// Returns the URL of an event subject's page.
pub(crate) fn href(subject: &str) -> Option<String> {
    let (class, name) = subject.split_once('/')?;
    let segment = segment(name);
    match class {
        "task" => Some(format!("/tasks/{segment}")),
        "agent" | "mailbox" if !matches!(name, "user" | "root") => {
            Some(format!("/agents/{segment}"))
        }
        "run" => Some(format!("/agents/runs/{segment}")),
        "workspace" => Some(format!("/workspaces/{segment}")),
        "board" => name
            .parse::<BoardName>()
            .ok()
            .map(|board| board_url::of(&board)),
        "blackboard" => BoardName::from_stored(subject).map(|board| board_url::of(&board)),
        _ => None,
    }
}

/// Returns the time of day in UTC; the page's script converts it to the reader's time zone.
fn clock(at: &str) -> &str {
    at.get(11..19).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_have_pages() {
        let table = [
            ("task/5", Some("/tasks/5")),
            ("agent/ada", Some("/agents/ada")),
            ("mailbox/user", None),
            ("run/r-1", Some("/agents/runs/r-1")),
            ("workspace/ada", Some("/workspaces/ada")),
            ("board/mid/architect", Some("/boards/mid/architect")),
            ("blackboard/a.md", Some("/boards/blackboard/a.md")),
            ("webhook/x", None),
            ("odd", None),
            ("agent/a b/c", Some("/agents/a%20b%2Fc")),
        ];
        for (subject, page) in table {
            assert_eq!(href(subject).as_deref(), page, "{subject}");
        }
    }
}
