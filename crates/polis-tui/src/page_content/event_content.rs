//! Renders events: the list of events, and one event with its details. Also the loaded range of the event log
//! ([`LoadedEvents`]), to which older and newer events are added.

use polis_core::{Event, Timestamp};
use polis_i18n::msg;
use polis_view::style::{StyleSet, StyledLines, TextStyle};

use super::{ListCell, ListRow, RenderContext, Selection, TextPageBuilder, format_age};
use crate::app::Route;

/// Maximum number of events kept while following the newest; the oldest are evicted first.
const MAX_FOLLOWED_EVENTS: usize = 10_000;

/// A loaded range of the event log.
#[derive(Debug)]
pub struct LoadedEvents {
    /// The events found in the range, oldest first.
    pub events: Vec<Event>,
    /// The search that the events match; empty for all.
    pub search: String,
    /// First sequence number of the range.
    pub first_seq: u64,
    /// Last sequence number of the range.
    pub last_seq: u64,
    /// Whether there are more events before it.
    pub has_more: bool,
}

impl LoadedEvents {
    /// Joins two adjacent ranges of the same search, in either order. Otherwise returns only the new one.
    #[must_use]
    pub fn joined_with(mut self, mut new: Self) -> Self {
        if self.search != new.search {
            return new;
        }
        if new.last_seq.saturating_add(1) == self.first_seq {
            new.events.append(&mut self.events);
            new.last_seq = self.last_seq;
            return new;
        }
        if new.first_seq != self.last_seq.saturating_add(1) {
            return new;
        }
        self.events.append(&mut new.events);
        self.last_seq = new.last_seq;
        self
    }

    /// Evicts the oldest events beyond the limit. Called only while the page follows the newest events: on
    /// the way to the beginning, evicted ones would be loaded again and again.
    pub fn evict_oldest(&mut self) {
        let excess = self.events.len().saturating_sub(MAX_FOLLOWED_EVENTS);
        if excess > 0 {
            self.events.drain(..excess);
            self.first_seq = self
                .events
                .first()
                .map_or(self.first_seq, |first| first.seq);
            self.has_more = true;
        }
    }
}

pub(super) fn event_rows(loaded: &LoadedEvents, context: &RenderContext) -> Vec<ListRow> {
    let lang = context.lang;
    let mut rows = Vec::with_capacity(loaded.events.len() + 1);
    // How far back the search went only matters if little or nothing was found.
    if loaded.has_more && !loaded.search.trim().is_empty() {
        let from = loaded.first_seq;
        rows.push(ListRow::heading(&msg::tui_searched_back_to_event(
            lang, from,
        )));
    } else if loaded.events.is_empty() {
        let text = match loaded.search.trim() {
            "" => msg::event_none(lang),
            _ => msg::tui_no_matches(lang),
        };
        rows.push(ListRow::heading(text));
    }
    rows.extend(loaded.events.iter().map(|event| event_row(event, context)));
    rows
}

pub(super) fn event_row(event: &Event, context: &RenderContext) -> ListRow {
    let sentence = polis_view::event_sentence::format_event(event, context.lang);
    let style = if sentence.is_refused {
        StyleSet::from(TextStyle::Red)
    } else {
        StyleSet::NONE
    };
    let text = sentence.action_text();
    ListRow::new(
        [
            ListCell::dim(&event.seq.to_string()),
            ListCell::plain(&sentence.actor),
            ListCell::new(&text, style),
            ListCell::dim(&format_age(Some(&event.at), context)),
        ],
        Selection::Event(event.seq),
        Some(Route::Event(Box::new(event.clone()))),
    )
}

pub(super) fn render_event(event: &Event, context: &RenderContext) -> StyledLines {
    let lang = context.lang;
    let mut page = TextPageBuilder::new(context.width, context.lang);
    let none = StyleSet::NONE;
    page.labelled_value(msg::common_type(lang), &event.kind, TextStyle::Bold);
    page.labelled_value(msg::event_actor(lang), &event.actor, none);
    page.labelled_value(msg::event_subject(lang), &event.subject, none);
    page.labelled_value(msg::event_time(lang), Timestamp::as_str(&event.at), none);
    page.heading(msg::event_details(lang));
    let value: Option<serde_json::Value> = event.data.parse_as();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    page.verbatim_lines(pretty.as_deref().unwrap_or(event.data.as_str()), none);
    page.finish()
}
