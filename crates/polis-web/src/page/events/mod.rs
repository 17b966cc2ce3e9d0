//! Events tab: the event log as sentences, filtered by kind, actor, subject and text. The newest page is
//! updated live, and a slider goes back to the beginning of the log.

mod event_query;

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use maud::{Markup, html};
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::{Event, EventArea};
use polis_i18n::msg;
use polis_ops::op::{self, LogPage};
use polis_view::labels;

use self::event_query::{EventPageQuery, LogPosition};
use crate::component::timeline;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::request::extract::QueryParams;
use crate::request::request_context::RequestContext;
use crate::route_table::{RouteAccess, WebRoute};
use crate::state::WebState;

/// Request header with the id of the element that triggered an htmx request, and response header with the URL
/// to show.
const HX_TRIGGER: HeaderName = HeaderName::from_static("hx-trigger");
const HX_REPLACE_URL: HeaderName = HeaderName::from_static("hx-replace-url");

const READ: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Events, AccessLevel::Read)]);

pub(crate) fn event_routes() -> Vec<WebRoute> {
    vec![
        WebRoute::get("/events", READ, show_events),
        WebRoute::get("/events/list", READ, refresh_events),
    ]
}

async fn show_events(
    State(state): State<Arc<WebState>>,
    context: RequestContext,
    QueryParams(query): QueryParams<EventPageQuery>,
) -> Result<Response, PageError> {
    let head = state.hub.last_sequence().await.or_page_error(&context)?;
    let list = render_event_list(&context, &query, head).await?;
    let title = msg::common_tab_events(context.lang());
    let body = html! { (render_filter_form(&context, &query, head)) (list) };
    Ok(tab_page(&context, Tab::Events, title, "event", &body))
}

async fn refresh_events(
    State(state): State<Arc<WebState>>,
    context: RequestContext,
    headers: HeaderMap,
    QueryParams(query): QueryParams<EventPageQuery>,
) -> Result<Response, PageError> {
    let head = state.hub.last_sequence().await.or_page_error(&context)?;
    let mut answer = html_fragment(render_event_list(&context, &query, head).await?);
    // After filtering, the address bar shows the filtered URL, so that it can be reloaded and bookmarked.
    if headers
        .get(HX_TRIGGER)
        .is_some_and(|trigger| trigger == "filter")
        && let Ok(address) = HeaderValue::try_from(query.url_at(query.log_position()))
    {
        answer.headers_mut().insert(HX_REPLACE_URL, address);
    }
    Ok(answer)
}

/// Renders the filter and the slider. Works as a plain form; with the script, the list follows the slider.
fn render_filter_form(context: &RequestContext, query: &EventPageQuery, head: u64) -> Markup {
    let lang = context.lang();
    let end = head.saturating_add(1);
    let at = match query.log_position() {
        LogPosition::Head => end,
        LogPosition::Before(before) => before.min(end),
        LogPosition::After(after) => after.saturating_add(1).min(end),
    };
    // The script updates this text while the slider is moved; `{}` is the number of events before the
    // position.
    let value_text = msg::event_position(lang, "{}", head);
    html! {
        form.toolbar #filter action="/events" method="get" hx-get="/events/list" hx-target="#list" hx-swap="morph:outerHTML"
            hx-trigger="submit, input delay:100ms" hx-sync="#list:replace" {
            label { (msg::event_area_field(lang))
                select name="kind" {
                    option value="" { (msg::event_all_areas(lang)) }
                    @for area in EventArea::ALL {
                        option value=(area.as_str()) selected[query.kind == area.as_str()] { (labels::event_area_label(*area, lang)) }
                    }
                }
            }
            label { (msg::event_actor(lang)) input type="text" name="who" value=(query.who) autocomplete="off"; }
            label { (msg::event_subject(lang)) input type="text" name="about" value=(query.about) placeholder="task/5" autocomplete="off"; }
            label.grow { (msg::event_text_field(lang)) input type="search" name="text" value=(query.text) autocomplete="off" data-filter; }
            button { (msg::event_show(lang)) }
            a.button.quiet href="/events" { (msg::event_clear(lang)) }
            input type="hidden" name="head" value=(end);
            label.scrub {
                (msg::event_go_back_in_time(lang))
                input type="range" name="before" min="1" max=(end) value=(at) step="1"
                    aria-label=(msg::event_go_back_in_time(lang))
                    aria-valuetext=(value_text.replace("{}", &at.saturating_sub(1).to_string())) data-says=(value_text);
            }
        }
    }
}

/// Renders the list at the requested position. The newest page is refreshed on events.
async fn render_event_list(
    context: &RequestContext,
    query: &EventPageQuery,
    head: u64,
) -> Result<Markup, PageError> {
    let params = query.log_read_params(head);
    let found = op::read_log(&context.request, &params).await;
    let found = found.or_page_error(context)?;
    let is_newest = query.log_position() == LogPosition::Head;
    let (refresh_url, trigger) = (
        is_newest.then_some("/events/list"),
        is_newest.then_some("polis:event from:body"),
    );
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the
        // meantime is included.
        section #list hx-get=[refresh_url] hx-trigger=[trigger] hx-swap="morph:outerHTML" hx-include="#filter" hx-sync="this:queue last"
            hx-disinherit="hx-include hx-sync" aria-live="off" {
            (render_log_pagination(context, query, &found, head))
            @if found.events.is_empty() {
                div.empty {
                    p { (msg::event_no_matches(context.lang())) }
                    @if !query.has_no_filter() { p { a href="/events" { (msg::event_show_all(context.lang())) } } }
                }
            } @else {
                (render_events_by_day(context, &found.events))
                (render_log_pagination(context, query, &found, head))
            }
        }
    })
}

/// Renders the events by day, newest first. Days and times are in UTC; the page's script converts them to the
/// reader's time zone.
fn render_events_by_day(context: &RequestContext, events: &[Event]) -> Markup {
    let day = |event: &Event| event.at.as_str().get(..10).map(str::to_owned);
    let newest: Vec<&Event> = events.iter().rev().collect();
    html! {
        ol.timeline.card data-days {
            @for events in newest.chunk_by(|a, b| day(a) == day(b)) {
                @if let Some(day) = events.first().and_then(|event| day(event)) {
                    li id={ "d" (day) } { b.day { (day) } }
                }
                @for event in events { (timeline::render_event_row(context, event)) }
            }
        }
    }
}

/// Renders the position in the event log and the pagination links.
fn render_log_pagination(
    context: &RequestContext,
    query: &EventPageQuery,
    found: &LogPage,
    head: u64,
) -> Markup {
    let first = found
        .events
        .first()
        .map_or(found.through, |event| event.seq);
    let last = found.events.last().map_or(found.through, |event| event.seq);
    let older = match query.log_position() {
        LogPosition::After(after) => (after > 0).then(|| first.max(1)),
        LogPosition::Head | LogPosition::Before(_) => found.next,
    };
    let newer = match query.log_position() {
        LogPosition::Head => None,
        LogPosition::Before(before) => (before <= head).then(|| before.saturating_sub(1)),
        LogPosition::After(_) => found.next,
    };
    html! {
        nav.row.small aria-label=(msg::event_log_pages(context.lang())) {
            @if let Some(before) = older {
                a href=(query.url_at(LogPosition::Before(before))) rel="prev" { "← " (msg::event_older(context.lang())) }
            }
            @if let Some(after) = newer {
                a href=(query.url_at(LogPosition::After(after))) rel="next" { (msg::event_newer(context.lang())) " →" }
            }
            @if query.log_position() != LogPosition::Head {
                a href=(query.url_at(LogPosition::Head)) { (msg::event_newest(context.lang())) }
            } @else {
                span.pill.good { (msg::event_live(context.lang())) }
            }
            span.muted {
                @if found.events.is_empty() { (head) " " (msg::event_unit(context.lang())) }
                @else { (first) "–" (last) " / " (head) }
            }
        }
    }
}
