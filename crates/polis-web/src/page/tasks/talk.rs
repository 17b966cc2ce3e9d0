//! What was said about a task, and saying something.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::task::Comment;
use polis_core::{Code, Refusal, TaskId};
use polis_ops::op::{self, TaskComment, TaskComments};
use serde::Deserialize;

use crate::brief;
use crate::given::{Form, Path, Query};
use crate::layout::{Tab, page, part};
use crate::live;
use crate::moment::ago;
use crate::refused::{OrRefuse as _, Refused};
use crate::visit::Visit;

/// The most comments a page has.
const MOST: usize = 200;

/// The comments alone, because somebody has said something. The form is not in it: somebody may be typing.
pub(super) async fn refresh(
    visit: Visit,
    Path(id): Path<TaskId>,
    Query(from): Query<Before>,
) -> Result<Response, Refused> {
    Ok(part(comments(&visit, id, &from).await?))
}

/// Which page of comments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Before {
    before: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Say {
    body: String,
}

/// Says something.
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
    let done = op::comment_task(&visit.polis, &visit.me, &request).await;
    done.or_refuse(&visit)?;
    match visit.part {
        true => Ok(part(talk(&visit, id).await?)),
        false => Ok(Redirect::to(&format!("/tasks/{id}#talk")).into_response()),
    }
}

/// The comments and the form.
pub(super) async fn talk(visit: &Visit, id: TaskId) -> Result<Markup, Refused> {
    let said = comments(visit, id, &Before::default()).await?;
    let to = format!("/tasks/{id}/comments");
    Ok(html! {
        section.card #talk {
            h2 { (visit.say("Comments", "评论")) }
            (said)
            form.stack method="post" action=(to) hx-post=(to) hx-target="#talk" hx-swap="outerHTML" {
                input type="hidden" name="csrf" value=(visit.csrf);
                label for="comment" { (visit.say("Say something", "发表评论")) " "
                    span.muted { (visit.say("@name mentions somebody", "@名字 可提及他人")) } }
                textarea #comment name="body" rows="3" required {}
                div { button { (visit.say("Comment", "评论")) } }
            }
        }
    })
}

/// The newest comments, or those before one, as many as a page bears. Long ones are cut.
async fn comments(visit: &Visit, id: TaskId, from: &Before) -> Result<Markup, Refused> {
    let mut all = read(visit, id).await?;
    if let Some(before) = from.before {
        all.retain(|comment| comment.id < before);
    }
    let mut bytes = 0;
    let fits = all.iter().rev().take(MOST).take_while(|comment| {
        let first = bytes == 0;
        bytes += comment.body.len().min(brief::PASSAGE);
        first || bytes <= brief::WHOLE
    });
    let shown = all.split_off(all.len().saturating_sub(fits.count()));
    let early = all.len();
    // Old pages stay as they are.
    let trigger = from.before.is_none();
    let trigger = trigger.then(|| live::on(&format!("task/{id}")));
    brief::drawn(visit, move |visit| html! {
        div #comments hx-get={ "/tasks/" (id) "/comments" } hx-trigger=[trigger] hx-swap="morph:outerHTML" {
            @if let Some(first) = shown.first().filter(|_| early > 0) {
                @let older = format!("/tasks/{id}/comments?before={}", first.id);
                p { a.button.small href=(older) hx-get=(older) hx-target="#comments" hx-swap="outerHTML" {
                    (visit.say("Earlier", "更早")) " (" (early) ")" } }
            }
            @if shown.is_empty() { p.muted { (visit.say("Nothing was said yet.", "还没有评论。")) } }
            @else { ol.list { @for comment in &shown { (one(visit, id, comment, brief::PASSAGE)) } } }
        }
    }).await
}

async fn read(visit: &Visit, id: TaskId) -> Result<Vec<Comment>, Refused> {
    let found = op::task_comments(&visit.polis, &TaskComments::of(id)).await;
    Ok(found.or_refuse(visit)?.comments)
}

/// A comment alone, for one that is long.
pub(super) async fn alone(
    visit: Visit,
    Path((id, number)): Path<(TaskId, u64)>,
) -> Result<Response, Refused> {
    let mut all = read(&visit, id).await?.into_iter();
    let Some(found) = all.find(|comment| comment.id == number) else {
        let refusal = Refusal::new(
            Code::CommentNotFound,
            format!("Task {id} has no comment {number}."),
            "go back to the task",
        );
        return Err(Refused::of(&visit, refusal.into()));
    };
    let body = brief::drawn(&visit, move |visit| {
        html! {
            p { a href={ "/tasks/" (id) "#comment-" (number) } { "← #" (id) } }
            ol.card.list { (one(visit, id, &found, brief::WHOLE)) }
        }
    });
    let body = body.await?;
    let title = visit.say("Comment", "评论");
    Ok(page(&visit, Tab::Tasks, title, "", &body))
}

fn one(visit: &Visit, id: TaskId, comment: &Comment, most: usize) -> Markup {
    let all = format!("/tasks/{id}/comments/{}", comment.id);
    let all = (most < brief::WHOLE).then_some(all.as_str());
    html! {
        li id={ "comment-" (comment.id) } {
            div.small { a href={ "/agents/" (comment.author) } { b { (comment.author) } } " " (ago(visit, &comment.at))
                @if let Some(to) = comment.reply_to { " · " a href={ "#comment-" (to) } { (visit.say("answers", "回复")) " #" (to) } } }
            (brief::prose(visit, &comment.body, most, all))
        }
    }
}
