//! Editor for a board or one of its sections, with a preview. The form contains the version it was created from
//! (optimistic concurrency). On a conflict the page shows the changes of the others and keeps what was typed.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, PreEscaped, html};
use polis_core::refusal::Details;
use polis_core::{Code, Refusal};
use polis_ops::OpError;
use polis_ops::op::{self, BoardOverwrite, BoardRead, SectionAct, SectionChange, VersionShow};
use polis_serve::http::problem;

use super::board_url::{self, Wish};
use super::{Asked, Call, Sent, history, lacks};
use crate::error_page::{OrRefuse as _, Refused, notice};
use crate::layout::{Tab, page, part};
use crate::markdown;

/// Maximum length of a text that is edited in a browser.
const LONGEST: usize = 1 << 20;
/// Maximum number of parts shown in the preview.
const PREVIEWED: usize = 4;

/// Content of the form.
#[derive(Debug)]
struct Draft {
    content: String,
    version: u64,
    section: Option<String>,
    nth: Option<usize>,
    crlf: bool,
}

/// Restores the line breaks of a submitted text: browsers send every line break as CRLF.
pub(super) fn typed(content: String, crlf: &str) -> String {
    let content = match content.contains('\r') {
        true => content.replace("\r\n", "\n"),
        false => content,
    };
    match crlf.is_empty() {
        true => content,
        false => content.replace('\n', "\r\n"),
    }
}

pub(super) async fn ask(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let visit = &call.visit;
    let request = BoardRead {
        section: asked.section.clone(),
        nth: asked.nth,
        ..BoardRead::of(call.board.clone())
    };
    let found = op::read_board(&visit.polis, &visit.me, &request).await;
    let view = found.or_refuse(visit)?;
    let content = view.content.unwrap_or_default();
    if content.len() > LONGEST {
        let refusal = Refusal::new(
            Code::RequestTooLarge,
            visit.say(
                "The text is too long to be edited in a browser.",
                "文本太长，无法在浏览器中编辑。",
            ),
            visit.say(
                "edit one of its sections from the table of contents, append to it, or use `polis board write --content-file`",
                "请从目录中编辑某一节、在末尾追加，或使用 `polis board write --content-file`",
            ),
        );
        return Err(Refused::of(visit, refusal.into()));
    }
    let draft = Draft {
        crlf: content.contains("\r\n"),
        content: content.as_ref().clone(),
        version: view.version,
        section: asked.section.clone(),
        nth: asked.nth,
    };
    Ok(whole(call, &draft, &form(call, &draft, false)))
}

fn whole(call: &Call, draft: &Draft, body: &Markup) -> Response {
    let visit = &call.visit;
    let board = &call.board;
    let title = match &draft.section {
        None => visit.say(format!("Edit {board}"), format!("编辑 {board}")),
        Some(section) => visit.say(
            format!("Edit “{section}” of {board}"),
            format!("编辑 {board} 的“{section}”"),
        ),
    };
    page(visit, Tab::Boards, &title, "", body)
}

fn form(call: &Call, draft: &Draft, conflict: bool) -> Markup {
    let Call { visit, board, .. } = call;
    html! {
        form #edit.editor method="post" action=(board_url::to(board, Wish::Edit)) {
            input type="hidden" name="csrf" value=(visit.csrf);
            input type="hidden" name="version" value=(draft.version);
            @if let Some(section) = &draft.section { input type="hidden" name="section" value=(section); }
            @if let Some(nth) = draft.nth { input type="hidden" name="nth" value=(nth); }
            @if draft.crlf { input type="hidden" name="crlf" value="1"; }
            div.panes {
                div {
                    label for="content" { (visit.say("Markdown", "Markdown")) }
                    // A browser drops the first line break within a textarea.
                    textarea #content.mono name="content" rows="28" spellcheck="false" autofocus[!conflict]
                        hx-post=(board_url::to(board, Wish::Preview)) hx-trigger="input changed delay:400ms"
                        hx-target="#preview" hx-swap="innerHTML" hx-sync="this:replace" { "\n" (draft.content) }
                }
                div {
                    p.label { (visit.say("Preview", "预览")) }
                    div #preview.board.card aria-live="off" { (shown(&draft.content)) }
                }
            }
            div.actions {
                button.main { (visit.say("Save", "保存")) }
                @if !conflict {
                    label.inline { input type="checkbox" name="merge" value="1" checked;
                        " " (visit.say("merge with what others change meanwhile, where it does not overlap", "若他人同时修改而不重叠，则自动合并")) }
                }
                a.button.quiet href=(board_url::of(board)) { (visit.say("Back", "返回")) }
                span.muted.small { (visit.say("from version", "基于版本")) " " (draft.version) }
            }
        }
    }
}

fn shown(content: &str) -> Markup {
    let parts = markdown::document(content).parts;
    html! {
        @for part in parts.iter().take(PREVIEWED) { (PreEscaped(&part.html)) }
        @if parts.len() > PREVIEWED { p.muted { "…" } }
    }
}

pub(super) async fn preview(call: &Call, sent: Sent) -> Result<Response, Refused> {
    let content = typed(sent.content, "");
    let drawn = tokio::task::spawn_blocking(move || shown(&content)).await;
    let drawn = drawn.map_err(|error| super::render_cache::failed(&error));
    Ok(part(drawn.or_refuse(&call.visit)?))
}

pub(super) async fn save(call: &Call, sent: Sent) -> Result<Response, Refused> {
    let Call { visit, board, .. } = call;
    let draft = Draft {
        version: sent.version.ok_or_else(|| lacks(call, "version"))?,
        content: typed(sent.content, &sent.crlf),
        section: sent.section,
        nth: sent.nth,
        crlf: !sent.crlf.is_empty(),
    };
    let merge = !sent.merge.is_empty();
    let saved = match &draft.section {
        None => {
            let request = BoardOverwrite {
                board: board.clone(),
                content: draft.content.clone(),
                expected_version: Some(draft.version),
                merge,
                force: false,
            };
            op::write_board(&visit.polis, &visit.me, &request).await
        }
        Some(title) => {
            let request = SectionChange {
                board: board.clone(),
                title: title.clone(),
                act: SectionAct::Set,
                content: draft.content.clone(),
                nth: draft.nth,
                expected_version: Some(draft.version),
                expected_section: None,
                merge,
            };
            op::edit_section(&visit.polis, &visit.me, &request).await
        }
    };
    let Err(error) = saved else {
        return Ok(Redirect::to(&board_url::of(board)).into_response());
    };
    let body = match (error.code(), current(&error)) {
        (Code::VersionConflict, Some(now)) => conflict(call, &draft, now).await?,
        _ => html! { (notice(visit.taste, &error, false)) (form(call, &draft, false)) },
    };
    let mut answer = whole(call, &draft, &body);
    *answer.status_mut() = problem::status_of(error.code());
    Ok(answer)
}

/// Returns the board's current version from a conflict error.
fn current(error: &OpError) -> Option<u64> {
    let OpError::Refused(refusal) = error else {
        return None;
    };
    match refusal.details.as_deref() {
        Some(Details::Version {
            current_version, ..
        }) => Some(*current_version),
        _ => None,
    }
}

/// Renders a version conflict: the changes of the others, the changes that saving would make now, and the form with the
/// reader's text, now based on the current version.
async fn conflict(call: &Call, draft: &Draft, now: u64) -> Result<Markup, Refused> {
    let visit = &call.visit;
    let text = |version: u64| {
        let request = VersionShow {
            board: call.board.clone(),
            version,
            offset: None,
            max_bytes: None,
        };
        async move { op::show_version(&visit.polis, &visit.me, &request).await }
    };
    let theirs = text(now).await.or_refuse(visit)?.content;
    // The version that the form was created from may no longer exist; then only the current text and the draft are
    // compared.
    let base = text(draft.version).await.ok().map(|found| found.content);
    let mine_of = Arc::new(draft.content.clone());
    let theirs_of = match &draft.section {
        None => Arc::clone(&theirs),
        Some(_) => current_section(call, draft).await?,
    };
    let theirs_name = visit.say("Theirs, as it is now", "对方的（当前）");
    let (theirs_name, mine_name) = (
        theirs_name.to_owned(),
        visit.say("Yours", "您的").to_owned(),
    );
    let next = Draft {
        content: draft.content.clone(),
        version: now,
        section: draft.section.clone(),
        nth: draft.nth,
        crlf: draft.crlf,
    };
    let changed = match base {
        None => html! {},
        Some(base) => html! {
            section.card { h2 { (visit.say("What others changed meanwhile", "他人在此期间的修改")) }
                (history::difference(call, (draft.version, base), (now, theirs)).await?) }
        },
    };
    Ok(html! {
        div.conflict {
            div.notice.warn role="alert" data-code=(Code::VersionConflict) {
                p { b { (visit.say(
                    "Somebody else has changed this board while you were editing.",
                    "在您编辑期间，其他人修改了该白板。",
                )) } }
                p { (visit.say(
                    "Nothing was saved yet. Your text is kept below: take over what others changed, then save; it then replaces the board as it is now.",
                    "尚未保存任何内容。您的文本保留在下方：请先并入他人的修改，再保存；保存后将替换白板当前的内容。",
                )) }
                code { (Code::VersionConflict) }
            }
            (changed)
            section.card { h2 { (visit.say("What saving would change now", "现在保存会改动什么")) }
                (history::side_by_side(call, (theirs_name, theirs_of), (mine_name, mine_of)).await?) }
            form.actions.board-actions method="get" action=(board_url::to(&call.board, Wish::Edit)) {
                @if let Some(section) = &draft.section { input type="hidden" name="section" value=(section); }
                @if let Some(nth) = draft.nth { input type="hidden" name="nth" value=(nth); }
                button data-confirm=(visit.say("Drop your text?", "确定放弃您的文本？")) {
                    (visit.say("Take theirs and start again", "采用对方的版本并重新编辑"))
                }
                span { (visit.say("or save yours over it:", "或用您的版本覆盖：")) }
            }
            (form(call, &next, true))
        }
    })
}

/// Returns the current text of the section; empty if it no longer exists.
async fn current_section(call: &Call, draft: &Draft) -> Result<Arc<String>, Refused> {
    let visit = &call.visit;
    let request = BoardRead {
        section: draft.section.clone(),
        nth: draft.nth,
        ..BoardRead::of(call.board.clone())
    };
    match op::read_board(&visit.polis, &visit.me, &request).await {
        Ok(view) => Ok(view.content.unwrap_or_default()),
        Err(error) if error.code() == Code::SectionNotFound => Ok(Arc::default()),
        Err(error) => Err(Refused::of(visit, error)),
    }
}
