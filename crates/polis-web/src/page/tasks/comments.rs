//! Comments on a task: list with pagination, form, and the page of a single comment.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::TaskId;
use polis_core::task::Comment;
use polis_core::token::Area;
use polis_ops::op::{self, TaskComment, TaskComments};
use serde::Deserialize;

use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt;
use crate::extract::{Form, Path, Query};
use crate::form_idempotency;
use crate::layout::{Tab, page, part};
use crate::live;
use crate::request_context::Visit;
use crate::time_ago::ago;

/// Maximum number of comments per page.
const MOST: u32 = 100;

/// Returns the comments fragment, for live updates and pagination. It does not include the form, in which the reader
/// may be typing.
pub(super) async fn refresh(
    visit: Visit,
    Path(id): Path<TaskId>,
    Query(from): Query<Before>,
) -> Result<Response, Refused> {
    let said = comments(&visit, id, &from).await?;
    if visit.part {
        return Ok(part(said));
    }
    // Not requested by htmx: the link to older comments was opened as a page of its own.
    let body =
        html! { p { a href={ "/tasks/" (id) } { "← #" (id) } } section.card #talk { (said) } };
    let title = visit.say("Comments", "评论");
    let live = match from.before {
        Some(_) => String::new(),
        None => format!("task/{id}"),
    };
    Ok(page(&visit, Tab::Tasks, title, &live, &body))
}

/// Pagination of the comments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Before {
    before: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Say {
    body: String,
    #[serde(default)]
    once: String,
}

/// Adds a comment.
pub(super) async fn say(
    visit: Visit,
    Path(id): Path<TaskId>,
    Form(said): Form<Say>,
) -> Result<Response, Refused> {
    let request = TaskComment {
        task_id: id,
        body: said.body.replace("\r\n", "\n"),
        reply_to: None,
    };
    let comment = async |polis| op::comment_task(&polis, &visit.me, &request).await;
    let done = form_idempotency::done(&visit, &said.once, &request, comment).await;
    done.or_refuse(&visit)?;
    match visit.part {
        true => Ok(part(talk(&visit, id).await?)),
        false => Ok(Redirect::to(&format!("/tasks/{id}#talk")).into_response()),
    }
}

/// Renders the comments and the form.
pub(super) async fn talk(visit: &Visit, id: TaskId) -> Result<Markup, Refused> {
    let said = comments(visit, id, &Before::default()).await?;
    let to = format!("/tasks/{id}/comments");
    Ok(html! {
        section.card #talk {
            h2 { (visit.say("Comments", "评论")) }
            (said)
            @if visit.may_change(&[Area::Tasks]) {
                form.stack method="post" action=(to) hx-post=(to) hx-target="#talk" hx-swap="outerHTML" {
                    input type="hidden" name="csrf" value=(visit.csrf);
                    (form_idempotency::field(visit))
                    label for="comment" { (visit.say("Say something", "发表评论")) " "
                        span.muted { (visit.say("@name mentions somebody", "@名字 可提及他人")) } }
                    textarea #comment name="body" rows="3" required {}
                    div { button { (visit.say("Comment", "评论")) } }
                }
            }
        }
    })
}

/// Renders the newest comments, or those before a given one, as many as a page can show. Long ones are truncated.
async fn comments(visit: &Visit, id: TaskId, from: &Before) -> Result<Markup, Refused> {
    let request = TaskComments {
        before: from.before,
        newest: true,
        limit: Some(MOST),
        ..TaskComments::of(id)
    };
    let found = op::task_comments(&visit.polis, &request).await;
    let found = found.or_refuse(visit)?;
    let mut all = found.comments;
    let mut bytes = 0;
    let fits = all.iter().rev().take_while(|comment| {
        let first = bytes == 0;
        bytes += comment.body.len().min(excerpt::PASSAGE);
        first || bytes <= excerpt::WHOLE
    });
    let shown = all.split_off(all.len().saturating_sub(fits.count()));
    let early = found.earlier.is_some() || !all.is_empty();
    // Older pages do not change.
    let newest = from.before.is_none();
    let at = format!("/tasks/{id}/comments");
    let trigger = newest.then(|| live::on(&format!("task/{id}")));
    excerpt::drawn(visit, move |visit| html! {
        div #comments hx-get=[newest.then_some(&at)] hx-trigger=[trigger] hx-swap="morph:outerHTML" {
            @if let Some(first) = shown.first().filter(|_| early) {
                @let older = format!("{at}?before={}", first.id);
                p { a.button.small href=(older) hx-get=(older) hx-target="#comments" hx-swap="outerHTML" {
                    (visit.say("Earlier", "更早")) } }
            }
            @if shown.is_empty() { p.muted { (visit.say("Nothing was said yet.", "还没有评论。")) } }
            @else { ol.list { @for comment in &shown { (one(visit, id, comment, Some(&shown))) } } }
            @if !newest { p { a.button.small href={ "/tasks/" (id) "#talk" } hx-get=(at) hx-target="#comments" hx-swap="outerHTML" {
                (visit.say("Newest", "最新")) } } }
        }
    }).await
}

/// Returns the page of a single comment, for long comments.
pub(super) async fn alone(
    visit: Visit,
    Path((id, number)): Path<(TaskId, u64)>,
) -> Result<Response, Refused> {
    let found = op::task_comment(&visit.polis, id, number).await;
    let found = found.or_refuse(&visit)?;
    let body = excerpt::drawn(&visit, move |visit| {
        html! {
            p { a href={ "/tasks/" (id) "#talk" } { "← #" (id) } }
            ol.card.list { (one(visit, id, &found, None)) }
        }
    });
    let body = body.await?;
    let title = visit.say("Comment", "评论");
    Ok(page(&visit, Tab::Tasks, title, "", &body))
}

/// Renders a comment: truncated in a list, or complete on its own page.
fn one(visit: &Visit, id: TaskId, comment: &Comment, among: Option<&[Comment]>) -> Markup {
    let at = |number: u64| format!("/tasks/{id}/comments/{number}");
    let own = at(comment.id);
    let (most, all) = match among {
        Some(_) => (excerpt::PASSAGE, Some(own.as_str())),
        None => (excerpt::WHOLE, None),
    };
    let answered = comment.reply_to.map(|to| {
        let here = among.is_some_and(|others| others.iter().any(|other| other.id == to));
        (
            to,
            if here {
                format!("#comment-{to}")
            } else {
                at(to)
            },
        )
    });
    html! {
        li id={ "comment-" (comment.id) } {
            div.small { a href={ "/agents/" (comment.author) } { b { (comment.author) } } " " (ago(visit, &comment.at))
                @if let Some((to, place)) = &answered { " · " a href=(place) { (visit.say("answers", "回复")) " #" (to) } } }
            (excerpt::prose(visit, &comment.body, most, all))
        }
    }
}
