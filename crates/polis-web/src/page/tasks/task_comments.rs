//! Comments on a task: the list with pagination and live updates, the form, the handler that adds a comment,
//! and the page of a single comment. Long comments are truncated in the list.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::TaskId;
use polis_core::task::Comment;
use polis_core::token::OperationArea;
use polis_i18n::msg;
use polis_ops::op::{self, TaskCommentParams, TaskCommentsParams};
use serde::Deserialize;

use crate::component::excerpt;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::live_updates;
use crate::request::extract::{FormFields, PathParams, QueryParams};
use crate::request::form_idempotency;
use crate::request::request_context::RequestContext;

/// Maximum number of comments per page.
const COMMENTS_PER_PAGE: u32 = 100;

/// Returns the comments fragment, for live updates and pagination. It does not include the form, in which the
/// reader may be typing.
pub(super) async fn show_comments(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
    QueryParams(from): QueryParams<CommentsQuery>,
) -> Result<Response, PageError> {
    let comments = render_comment_list(&context, id, &from).await?;
    if context.is_fragment {
        return Ok(html_fragment(comments));
    }
    // Not requested by htmx: the link to older comments was opened as a page of its own.
    let body =
        html! { p { a href={ "/tasks/" (id) } { "← #" (id) } } section.card #talk { (comments) } };
    let title = msg::task_comments_title(context.lang());
    let live = match from.before {
        Some(_) => String::new(),
        None => format!("task/{id}"),
    };
    Ok(tab_page(&context, Tab::Tasks, title, &live, &body))
}

/// Pagination of the comments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CommentsQuery {
    before: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommentForm {
    body: String,
    #[serde(default)]
    idempotency_key: String,
}

/// Adds a comment and returns the updated comments.
pub(super) async fn submit_comment(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
    FormFields(form): FormFields<CommentForm>,
) -> Result<Response, PageError> {
    let request = TaskCommentParams {
        task_id: id,
        body: form.body.replace("\r\n", "\n"),
        reply_to: None,
    };
    let comment = async |hooked| op::comment_task(&hooked, &request).await;
    let done =
        form_idempotency::submit_once(&context, &form.idempotency_key, &request, comment).await;
    done.or_page_error(&context)?;
    if context.is_fragment {
        Ok(html_fragment(render_comments_section(&context, id).await?))
    } else {
        Ok(Redirect::to(&format!("/tasks/{id}#talk")).into_response())
    }
}

/// Renders the comments and the form.
pub(super) async fn render_comments_section(
    context: &RequestContext,
    id: TaskId,
) -> Result<Markup, PageError> {
    let comments = render_comment_list(context, id, &CommentsQuery::default()).await?;
    let to = format!("/tasks/{id}/comments");
    Ok(html! {
        section.card #talk {
            h2 { (msg::task_comments_title(context.lang())) }
            (comments)
            @if context.may_write(&[OperationArea::Tasks]) {
                form.stack method="post" action=(to) hx-post=(to) hx-target="#talk" hx-swap="outerHTML" {
                    input type="hidden" name="csrf" value=(context.csrf);
                    (form_idempotency::render_idempotency_key_field(context))
                    label for="comment" { (msg::task_add_comment(context.lang())) " "
                        span.muted { (msg::task_comment_placeholder(context.lang())) } }
                    textarea #comment name="body" rows="3" required {}
                    div { button { (msg::task_comment_field(context.lang())) } }
                }
            }
        }
    })
}

/// Renders the newest comments, or those before a given one, as many as a page can show. Long ones are
/// truncated.
async fn render_comment_list(
    context: &RequestContext,
    id: TaskId,
    from: &CommentsQuery,
) -> Result<Markup, PageError> {
    let request = TaskCommentsParams {
        before: from.before,
        newest: true,
        limit: Some(COMMENTS_PER_PAGE),
        ..TaskCommentsParams::for_task(id)
    };
    let found = op::list_task_comments(&context.request, &request).await;
    let found = found.or_page_error(context)?;
    let mut all = found.comments;
    let mut bytes = 0;
    let fits = all.iter().rev().take_while(|comment| {
        let first = bytes == 0;
        bytes += comment.body.len().min(excerpt::COMMENT_EXCERPT_BYTES);
        first || bytes <= excerpt::MAX_PAGE_TEXT_BYTES
    });
    let visible = all.split_off(all.len().saturating_sub(fits.count()));
    let early = found.earlier.is_some() || !all.is_empty();
    // Older pages do not change.
    let newest = from.before.is_none();
    let at = format!("/tasks/{id}/comments");
    let trigger = newest.then(|| live_updates::htmx_trigger(&format!("task/{id}")));
    excerpt::render_blocking(context, move |context| html! {
        div #comments hx-get=[newest.then_some(&at)] hx-trigger=[trigger] hx-swap="morph:outerHTML" {
            @if let Some(first) = visible.first().filter(|_| early) {
                @let older = format!("{at}?before={}", first.id);
                p { a.button.small href=(older) hx-get=(older) hx-target="#comments" hx-swap="outerHTML" {
                    (msg::common_earlier(context.lang())) } }
            }
            @if visible.is_empty() { p.muted { (msg::task_no_comments(context.lang())) } }
            @else { ol.list { @for comment in &visible { (render_comment(context, id, comment, Some(&visible))) } } }
            @if !newest { p { a.button.small href={ "/tasks/" (id) "#talk" } hx-get=(at) hx-target="#comments" hx-swap="outerHTML" {
                (msg::common_newest(context.lang())) } } }
        }
    }).await
}

/// Returns the page of a single comment, for long comments.
pub(super) async fn show_comment(
    context: RequestContext,
    PathParams((id, number)): PathParams<(TaskId, u64)>,
) -> Result<Response, PageError> {
    let found = op::get_task_comment(&context.request, id, number).await;
    let found = found.or_page_error(&context)?;
    let body = excerpt::render_blocking(&context, move |context| {
        html! {
            p { a href={ "/tasks/" (id) "#talk" } { "← #" (id) } }
            ol.card.list { (render_comment(context, id, &found, None)) }
        }
    });
    let body = body.await?;
    let title = msg::task_comment_field(context.lang());
    Ok(tab_page(&context, Tab::Tasks, title, "", &body))
}

/// Renders a comment: truncated in a list, or complete on its own page.
fn render_comment(
    context: &RequestContext,
    id: TaskId,
    comment: &Comment,
    siblings: Option<&[Comment]>,
) -> Markup {
    let at = |number: u64| format!("/tasks/{id}/comments/{number}");
    let own_url = at(comment.id);
    let (max_bytes, all) = match siblings {
        Some(_) => (excerpt::COMMENT_EXCERPT_BYTES, Some(own_url.as_str())),
        None => (excerpt::MAX_PAGE_TEXT_BYTES, None),
    };
    let parent = comment.reply_to.map(|to| {
        let on_page = siblings.is_some_and(|others| others.iter().any(|other| other.id == to));
        (
            to,
            if on_page {
                format!("#comment-{to}")
            } else {
                at(to)
            },
        )
    });
    html! {
        li id={ "comment-" (comment.id) } {
            div.small { a href={ "/agents/" (comment.author) } { b { (comment.author) } } " " (render_time_ago(context, &comment.at))
                @if let Some((to, parent_url)) = &parent { " · " a href=(parent_url) { (msg::task_reply_to_comment(context.lang())) " #" (to) } } }
            (excerpt::render_markdown_excerpt(context, &comment.body, max_bytes, all))
        }
    }
}
