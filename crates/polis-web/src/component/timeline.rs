//! Renders an event as a list item (time, sentence, kind, number), and links to agents and event subjects.

use maud::{Markup, html};
use polis_core::Event;
use polis_core::board::BoardName;
use polis_view::event_sentence::{EventSentence, format_event};

use crate::page::boards::board_url;
use crate::request::request_context::RequestContext;
use crate::url::encode_segment;

/// Renders an event as a list item.
pub(crate) fn render_event_row(context: &RequestContext, event: &Event) -> Markup {
    let sentence = format_event(event, context.lang());
    html! {
        li class=[sentence.is_refused.then_some("refused")] id={ "e" (event.seq) } data-row data-kind=(event.kind) {
            time.clock datetime=(event.at.as_str()) { (time_of_day(event.at.as_str())) }
            div { (render_event_sentence(&sentence)) }
            span.muted.small { code { (event.kind) } " " (event.seq) }
        }
    }
}

/// Renders the sentence with its links.
pub(crate) fn render_event_sentence(sentence: &EventSentence) -> Markup {
    html! {
        (render_agent_link(&sentence.actor)) " " (sentence.verb)
        @if let Some(thing) = &sentence.object {
            @match subject_url(&thing.subject) {
                Some(to) => a href=(to) { (thing.text) },
                None => span { (thing.text) },
            }
        }
        (sentence.verb_end)
        @if !sentence.details.is_empty() { span.muted { (sentence.details) } }
    }
}

/// Renders a name with a link to the agent's page; the person, `root` (there is one in every run) and
/// `system` have none.
pub(crate) fn render_agent_link(agent: &str) -> Markup {
    match agent {
        "user" | "root" | "system" | "" => html! { b { (agent) } },
        _ => html! { a href={ "/agents/" (encode_segment(agent)) } { (agent) } },
    }
}

/// Returns the URL of the page of an event's subject (`task/5`), or `None` if there is none.
pub(crate) fn subject_url(subject: &str) -> Option<String> {
    let (class, name) = subject.split_once('/')?;
    let segment = encode_segment(name);
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
            .map(|board| board_url::board_url(&board)),
        "blackboard" => BoardName::from_stored(subject).map(|board| board_url::board_url(&board)),
        _ => None,
    }
}

/// Returns the time of day in UTC; the page's script converts it to the reader's time zone.
fn time_of_day(at: &str) -> &str {
    at.get(11..19).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_url_matches_subject_class() {
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
            assert_eq!(subject_url(subject).as_deref(), page, "{subject}");
        }
    }
}
