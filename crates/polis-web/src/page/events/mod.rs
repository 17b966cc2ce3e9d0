//! Events tab: the event log as sentences, filtered by kind, actor, subject and text. The newest page is updated live,
//! and a slider goes back to the beginning of the log.

mod event_query;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, HeaderName, HeaderValue};
use maud::{Markup, html};
use polis_core::Event;
use polis_ops::op::{self, LogPage};
use polis_view::labels;

use self::event_query::{Asked, Place};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Query;
use crate::layout::{Tab, page, part};
use crate::request_context::Visit;
use crate::state::House;
use crate::timeline;

/// Request header with the id of the element that triggered an htmx request, and response header with the URL to show.
const TRIGGER: HeaderName = HeaderName::from_static("hx-trigger");
const REPLACE_URL: HeaderName = HeaderName::from_static("hx-replace-url");

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/events", get(show))
        .route("/events/list", get(refresh))
}

async fn show(
    State(house): State<Arc<House>>,
    visit: Visit,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let head = house.hub.now().await.or_refuse(&visit)?;
    let list = list(&visit, &asked, head).await?;
    let title = visit.say("Events", "事件");
    let body = html! { (form(&visit, &asked, head)) (list) };
    Ok(page(&visit, Tab::Events, title, "event", &body))
}

async fn refresh(
    State(house): State<Arc<House>>,
    visit: Visit,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let head = house.hub.now().await.or_refuse(&visit)?;
    let mut answer = part(list(&visit, &asked, head).await?);
    // After filtering, the address bar shows the filtered URL, so that it can be reloaded and bookmarked.
    if headers.get(TRIGGER).is_some_and(|by| by == "filter")
        && let Ok(address) = HeaderValue::try_from(asked.link(asked.place()))
    {
        answer.headers_mut().insert(REPLACE_URL, address);
    }
    Ok(answer)
}

/// Renders the filter and the slider. Works as a plain form; with the script, the list follows the slider.
fn form(visit: &Visit, asked: &Asked, head: u64) -> Markup {
    let lang = visit.lang();
    let end = head.saturating_add(1);
    let at = match asked.place() {
        Place::Head => end,
        Place::Before(before) => before.min(end),
        Place::After(after) => after.saturating_add(1).min(end),
    };
    // The script updates this text while the slider is moved; `{}` is the number of events before the position.
    let says = lang.say(
        format!("event {{}} of {head}"),
        format!("第 {{}} 个事件，共 {head} 个"),
    );
    html! {
        form.toolbar #filter action="/events" method="get" hx-get="/events/list" hx-target="#list" hx-swap="morph:outerHTML"
            hx-trigger="submit, input delay:100ms" hx-sync="#list:replace" {
            label { (lang.say("What", "类别"))
                select name="kind" {
                    option value="" { (lang.say("everything", "全部")) }
                    @for (area, ..) in labels::AREAS {
                        option value=(area) selected[asked.kind == *area] { (labels::area(area, lang)) }
                    }
                }
            }
            label { (lang.say("Who", "谁")) input type="text" name="who" value=(asked.who) autocomplete="off"; }
            label { (lang.say("About", "对象")) input type="text" name="about" value=(asked.about) placeholder="task/5" autocomplete="off"; }
            label.grow { (lang.say("Words", "文字")) input type="search" name="text" value=(asked.text) autocomplete="off" data-filter; }
            button { (lang.say("Show", "显示")) }
            a.button.quiet href="/events" { (lang.say("Clear", "清除")) }
            input type="hidden" name="head" value=(end);
            label.scrub {
                (lang.say("Back in time", "回溯"))
                input type="range" name="before" min="1" max=(end) value=(at) step="1"
                    aria-label=(lang.say("Back in time", "回溯"))
                    aria-valuetext=(says.replace("{}", &at.saturating_sub(1).to_string())) data-says=(says);
            }
        }
    }
}

/// Renders the list at the requested position. The newest page is refreshed on events.
async fn list(visit: &Visit, asked: &Asked, head: u64) -> Result<Markup, Refused> {
    let params = asked.params(head);
    let found = op::read_log(&visit.polis, &visit.me, &params).await;
    let found = found.or_refuse(visit)?;
    let again = asked.place() == Place::Head;
    let (again, trigger) = (
        again.then_some("/events/list"),
        again.then_some("polis:event from:body"),
    );
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the meantime is
        // included.
        section #list hx-get=[again] hx-trigger=[trigger] hx-swap="morph:outerHTML" hx-include="#filter" hx-sync="this:queue last"
            hx-disinherit="hx-include hx-sync" aria-live="off" {
            (ways(visit, asked, &found, head))
            @if found.events.is_empty() {
                div.empty {
                    p { (visit.say("No event here is what you look for.", "这里没有符合条件的事件。")) }
                    @if !asked.is_plain() { p { a href="/events" { (visit.say("Show all events", "显示全部事件")) } } }
                }
            } @else {
                (days(visit, &found.events))
                (ways(visit, asked, &found, head))
            }
        }
    })
}

/// Renders the events by day, newest first. Days and times are in UTC; the page's script converts them to the reader's
/// time zone.
fn days(visit: &Visit, events: &[Event]) -> Markup {
    let day = |event: &Event| event.at.as_str().get(..10).map(str::to_owned);
    let newest: Vec<&Event> = events.iter().rev().collect();
    html! {
        ol.timeline.card data-days {
            @for events in newest.chunk_by(|a, b| day(a) == day(b)) {
                @if let Some(day) = events.first().and_then(|event| day(event)) {
                    li id={ "d" (day) } { b.day { (day) } }
                }
                @for event in events { (timeline::line(visit, event)) }
            }
        }
    }
}

/// Renders the position in the log and the pagination links.
fn ways(visit: &Visit, asked: &Asked, found: &LogPage, head: u64) -> Markup {
    let first = found
        .events
        .first()
        .map_or(found.through, |event| event.seq);
    let last = found.events.last().map_or(found.through, |event| event.seq);
    let older = match asked.place() {
        Place::After(after) => (after > 0).then(|| first.max(1)),
        Place::Head | Place::Before(_) => found.next,
    };
    let newer = match asked.place() {
        Place::Head => None,
        Place::Before(before) => (before <= head).then(|| before.saturating_sub(1)),
        Place::After(_) => found.next,
    };
    html! {
        nav.row.small aria-label=(visit.say("Pages of the log", "日志分页")) {
            @if let Some(before) = older {
                a href=(asked.link(Place::Before(before))) rel="prev" { "← " (visit.say("older", "更早")) }
            }
            @if let Some(after) = newer {
                a href=(asked.link(Place::After(after))) rel="next" { (visit.say("newer", "更晚")) " →" }
            }
            @if asked.place() != Place::Head {
                a href=(asked.link(Place::Head)) { (visit.say("to the newest", "到最新")) }
            } @else {
                span.pill.good { (visit.say("live", "实时")) }
            }
            span.muted {
                @if found.events.is_empty() { (head) " " (visit.say("events", "个事件")) }
                @else { (first) "–" (last) " / " (head) }
            }
        }
    }
}
