//! Renders events: the timeline, and one event with its details.

use polis_core::{Event, Timestamp};
use polis_view::style::{Style, StyledLines, Styles};

use super::{Cell, Row, Thing, Ways, Writer, age};
use crate::app::Place;

/// Maximum number of events kept while following the newest; the oldest are evicted first.
const MOST: usize = 10_000;

/// A range of the log.
#[derive(Debug)]
pub struct EventSheet {
    /// The events found in the range, oldest first.
    pub events: Vec<Event>,
    /// The search text.
    pub search: String,
    /// First sequence number of the range.
    pub from: u64,
    /// Last sequence number of the range.
    pub to: u64,
    /// Whether there are more events before it.
    pub more: bool,
}

impl EventSheet {
    /// Joins two adjacent ranges; otherwise returns only the new one.
    #[must_use]
    pub fn joined_by(mut self, mut new: Self) -> Self {
        if self.search != new.search {
            return new;
        }
        if new.to.saturating_add(1) == self.from {
            new.events.append(&mut self.events);
            new.to = self.to;
            return new;
        }
        if new.from != self.to.saturating_add(1) {
            return new;
        }
        self.events.append(&mut new.events);
        self.to = new.to;
        self
    }

    /// Evicts the oldest events. Not while the user looks at older ones: on the way to the beginning they
    /// would be loaded again and again.
    pub fn let_go(&mut self) {
        let over = self.events.len().saturating_sub(MOST);
        if over > 0 {
            self.events.drain(..over);
            self.from = self.events.first().map_or(self.from, |first| first.seq);
            self.more = true;
        }
    }
}

pub(super) fn rows(sheet: &EventSheet, ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    let mut rows = Vec::with_capacity(sheet.events.len() + 1);
    // How far back the search went only matters if little or nothing was found.
    if sheet.more && !sheet.search.trim().is_empty() {
        let from = sheet.from;
        rows.push(Row::heading(&lang.say(
            format!("Searched back to event {from}. gg searches on."),
            format!("已搜索到事件 {from}，按 gg 继续搜索。"),
        )));
    } else if sheet.events.is_empty() {
        let text = match sheet.search.trim() {
            "" => lang.say("Nothing has happened yet.", "还没有任何事件。"),
            _ => lang.say("Nothing was found.", "没有找到。"),
        };
        rows.push(Row::heading(text));
    }
    rows.extend(sheet.events.iter().map(|event| row(event, ways)));
    rows
}

pub(super) fn row(event: &Event, ways: &Ways) -> Row {
    let said = polis_view::event::sentence(event, ways.lang);
    let style = match said.refused {
        true => Styles::from(Style::Red),
        false => Styles::NONE,
    };
    let about = said.about.as_ref().map_or("", |thing| thing.text.as_str());
    let parts = [said.what, about, said.more.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let text = parts.join(" ");
    Row::new(
        [
            Cell::dim(&event.seq.to_string()),
            Cell::plain(&said.who),
            Cell::new(&text, style),
            Cell::dim(&age(Some(&event.at), ways)),
        ],
        Thing::Event(event.seq),
        Some(Place::Event(Box::new(event.clone()))),
    )
}

pub(super) fn text(event: &Event, ways: &Ways) -> StyledLines {
    let lang = ways.lang;
    let mut page = Writer::new(ways.width);
    let none = Styles::NONE;
    page.fact(lang.say("What", "类型"), &event.kind, Style::Bold);
    page.fact(lang.say("Who", "谁"), &event.actor, none);
    page.fact(lang.say("About", "对象"), &event.subject, none);
    page.fact(lang.say("When", "时间"), Timestamp::as_str(&event.at), none);
    page.heading(lang.say("Particulars", "详情"));
    let value: Option<serde_json::Value> = event.data.to();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    page.verbatim(pretty.as_deref().unwrap_or(event.data.text()), none);
    page.finish()
}
