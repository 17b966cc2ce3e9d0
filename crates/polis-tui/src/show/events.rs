//! Events: the timeline, and one event with its particulars.

use polis_core::{Event, Timestamp};
use polis_view::style::{Style, StyledLines, Styles};

use super::{Cell, Row, Thing, Ways, Writer, age};
use crate::app::Place;

pub(super) fn rows(events: &[Event], ways: &Ways) -> Vec<Row> {
    if events.is_empty() {
        let text = ways
            .lang
            .say("Nothing has happened yet.", "还没有任何事件。");
        return vec![Row::heading(text)];
    }
    events.iter().map(|event| row(event, ways)).collect()
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
