//! Editor for a board or one of its sections, with a preview.
//!
//! The form contains the version it was created from (optimistic concurrency). On a conflict, the page shows
//! what others changed and keeps the typed text.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, PreEscaped, html};
use polis_core::refusal::RefusalDetails;
use polis_core::{Refusal, RefusalCode};
use polis_i18n::msg;
use polis_ops::OpError;
use polis_ops::op::{
    self, BoardReadParams, BoardVersionShowParams, BoardWriteParams, SectionAction,
    SectionEditParams,
};
use polis_serve::http::problem;

use super::board_url::{self, BoardViewKind};
use super::{BoardForm, BoardQuery, BoardRequest, board_history, missing_field_error};
use crate::component::markdown;
use crate::error_page::{OrPageError as _, PageError, render_error_notice};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::refusal_tables::PageRefusal;

/// Maximum length of a text that is edited in a browser.
const MAX_EDITABLE_BYTES: usize = 1 << 20;
/// Maximum number of parts shown in the preview.
const MAX_PREVIEW_PARTS: usize = 4;

/// Content of the form.
#[derive(Debug)]
struct BoardDraft {
    content: String,
    version: u64,
    section: Option<String>,
    nth: Option<usize>,
    crlf: bool,
}

/// Restores the line breaks of a submitted text: browsers send every line break as CRLF.
pub(super) fn normalize_line_breaks(content: String, crlf: &str) -> String {
    let content = if content.contains('\r') {
        content.replace("\r\n", "\n")
    } else {
        content
    };
    if crlf.is_empty() {
        content
    } else {
        content.replace('\n', "\r\n")
    }
}

pub(super) async fn show_editor(
    call: &BoardRequest,
    query: &BoardQuery,
) -> Result<Response, PageError> {
    let context = &call.context;
    let request = BoardReadParams {
        section: query.section.clone(),
        nth: query.nth,
        ..BoardReadParams::for_board(call.board.clone())
    };
    let found = op::read_board(&context.request, &request).await;
    let view = found.or_page_error(context)?;
    let content = view.content.unwrap_or_default();
    if content.len() > MAX_EDITABLE_BYTES {
        let refusal = Refusal::from(PageRefusal::TooLongToEdit);
        return Err(PageError::new(context, refusal.into()));
    }
    let draft = BoardDraft {
        crlf: content.contains("\r\n"),
        content: content.as_ref().clone(),
        version: view.version,
        section: query.section.clone(),
        nth: query.nth,
    };
    Ok(editor_page(
        call,
        &draft,
        &render_editor_form(call, &draft, false),
    ))
}

fn editor_page(call: &BoardRequest, draft: &BoardDraft, body: &Markup) -> Response {
    let context = &call.context;
    let board = &call.board;
    let title = match &draft.section {
        None => msg::board_edit_title(context.lang(), board),
        Some(section) => msg::board_edit_section_title(context.lang(), section, board),
    };
    tab_page(context, Tab::Boards, &title, "", body)
}

fn render_editor_form(call: &BoardRequest, draft: &BoardDraft, conflict: bool) -> Markup {
    let BoardRequest { context, board, .. } = call;
    html! {
        form #edit.editor method="post" action=(board_url::board_view_url(board, BoardViewKind::Edit)) {
            input type="hidden" name="csrf" value=(context.csrf);
            input type="hidden" name="version" value=(draft.version);
            @if let Some(section) = &draft.section { input type="hidden" name="section" value=(section); }
            @if let Some(nth) = draft.nth { input type="hidden" name="nth" value=(nth); }
            @if draft.crlf { input type="hidden" name="crlf" value="1"; }
            div.panes {
                div {
                    label for="content" { (msg::board_editor_markdown(context.lang())) }
                    // A browser drops the first line break within a textarea.
                    textarea #content.mono name="content" rows="28" spellcheck="false" autofocus[!conflict]
                        hx-post=(board_url::board_view_url(board, BoardViewKind::Preview)) hx-trigger="input changed delay:400ms"
                        hx-target="#preview" hx-swap="innerHTML" hx-sync="this:replace" { "\n" (draft.content) }
                }
                div {
                    p.label { (msg::board_editor_preview(context.lang())) }
                    div #preview.board.card aria-live="off" { (render_preview(&draft.content)) }
                }
            }
            div.actions {
                button.main { (msg::common_save(context.lang())) }
                @if !conflict {
                    label.inline { input type="checkbox" name="merge" value="1" checked;
                        " " (msg::board_editor_merge(context.lang())) }
                }
                a.button.quiet href=(board_url::board_url(board)) { (msg::common_back(context.lang())) }
                span.muted.small { (msg::board_editor_based_on(context.lang())) " " (draft.version) }
            }
        }
    }
}

fn render_preview(content: &str) -> Markup {
    let parts = markdown::render_document(content).parts;
    html! {
        @for part in parts.iter().take(MAX_PREVIEW_PARTS) { (PreEscaped(&part.html)) }
        @if parts.len() > MAX_PREVIEW_PARTS { p.muted { "…" } }
    }
}

pub(super) async fn preview_edit(
    call: &BoardRequest,
    sent: BoardForm,
) -> Result<Response, PageError> {
    let content = normalize_line_breaks(sent.content, "");
    let rendered = tokio::task::spawn_blocking(move || render_preview(&content)).await;
    let rendered = rendered.map_err(|error| super::render_cache::render_failed(&error));
    Ok(html_fragment(rendered.or_page_error(&call.context)?))
}

pub(super) async fn save_edit(call: &BoardRequest, sent: BoardForm) -> Result<Response, PageError> {
    let BoardRequest { context, board, .. } = call;
    let draft = BoardDraft {
        version: sent
            .version
            .ok_or_else(|| missing_field_error(call, "version"))?,
        content: normalize_line_breaks(sent.content, &sent.crlf),
        section: sent.section,
        nth: sent.nth,
        crlf: !sent.crlf.is_empty(),
    };
    let merge = !sent.merge.is_empty();
    let saved = match &draft.section {
        None => {
            let request = BoardWriteParams {
                board: board.clone(),
                content: draft.content.clone(),
                expected_version: Some(draft.version),
                merge,
                force: false,
            };
            op::write_board(&context.request, &request).await
        }
        Some(title) => {
            let request = SectionEditParams {
                board: board.clone(),
                title: title.clone(),
                act: SectionAction::Set,
                content: draft.content.clone(),
                nth: draft.nth,
                expected_version: Some(draft.version),
                expected_section: None,
                merge,
            };
            op::edit_section(&context.request, &request).await
        }
    };
    let Err(error) = saved else {
        return Ok(Redirect::to(&board_url::board_url(board)).into_response());
    };
    let body = match (error.code(), conflict_version(&error)) {
        (RefusalCode::VERSION_CONFLICT, Some(now)) => render_conflict(call, &draft, now).await?,
        _ => {
            html! { (render_error_notice(context.preferences, &error, false)) (render_editor_form(call, &draft, false)) }
        }
    };
    let mut answer = editor_page(call, &draft, &body);
    *answer.status_mut() = problem::status_for_code(error.code());
    Ok(answer)
}

/// Returns the board's current version from a conflict error.
fn conflict_version(error: &OpError) -> Option<u64> {
    let OpError::Refused(refusal) = error else {
        return None;
    };
    match refusal.details.as_deref() {
        Some(RefusalDetails::Version {
            current_version, ..
        }) => Some(*current_version),
        _ => None,
    }
}

/// Renders a version conflict: the changes of the others, the changes that saving would make now, and the
/// form with the reader's text, now based on the current version.
async fn render_conflict(
    call: &BoardRequest,
    draft: &BoardDraft,
    now: u64,
) -> Result<Markup, PageError> {
    let context = &call.context;
    let text = |version: u64| {
        let request = BoardVersionShowParams {
            board: call.board.clone(),
            version,
            offset: None,
            max_bytes: None,
        };
        async move { op::show_board_version(&context.request, &request).await }
    };
    let theirs = text(now).await.or_page_error(context)?.content;
    // The version that the form was created from may no longer exist; then only the current text and the
    // draft are compared.
    let base = text(draft.version).await.ok().map(|found| found.content);
    let mine_of = Arc::new(draft.content.clone());
    let theirs_of = match &draft.section {
        None => Arc::clone(&theirs),
        Some(_) => load_current_section(call, draft).await?,
    };
    let theirs_name = msg::common_theirs(context.lang());
    let (theirs_name, mine_name) = (
        theirs_name.to_owned(),
        msg::common_yours(context.lang()).to_owned(),
    );
    let next = BoardDraft {
        content: draft.content.clone(),
        version: now,
        section: draft.section.clone(),
        nth: draft.nth,
        crlf: draft.crlf,
    };
    let changed = match base {
        None => html! {},
        Some(base) => html! {
            section.card { h2 { (msg::common_changes_by_others(context.lang())) }
                (board_history::render_version_diff(call, (draft.version, base), (now, theirs)).await?) }
        },
    };
    Ok(html! {
        div.conflict {
            div.notice.warn role="alert" data-code=(RefusalCode::VERSION_CONFLICT) {
                p { b { (msg::board_conflict_title(context.lang())) } }
                p { (msg::board_conflict_explanation(context.lang())) }
                code { (RefusalCode::VERSION_CONFLICT) }
            }
            (changed)
            section.card { h2 { (msg::board_conflict_changes_if_saved(context.lang())) }
                (board_history::render_text_diff(call, (theirs_name, theirs_of), (mine_name, mine_of)).await?) }
            form.actions.board-actions method="get" action=(board_url::board_view_url(&call.board, BoardViewKind::Edit)) {
                @if let Some(section) = &draft.section { input type="hidden" name="section" value=(section); }
                @if let Some(nth) = draft.nth { input type="hidden" name="nth" value=(nth); }
                button data-confirm=(msg::board_conflict_discard_question(context.lang())) {
                    (msg::common_use_theirs(context.lang()))
                }
                span { (msg::common_overwrite_with_yours(context.lang())) }
            }
            (render_editor_form(call, &next, true))
        }
    })
}

/// Returns the current text of the section; empty if it no longer exists.
async fn load_current_section(
    call: &BoardRequest,
    draft: &BoardDraft,
) -> Result<Arc<String>, PageError> {
    let context = &call.context;
    let request = BoardReadParams {
        section: draft.section.clone(),
        nth: draft.nth,
        ..BoardReadParams::for_board(call.board.clone())
    };
    match op::read_board(&context.request, &request).await {
        Ok(view) => Ok(view.content.unwrap_or_default()),
        Err(error) if error.code() == RefusalCode::SECTION_NOT_FOUND => Ok(Arc::default()),
        Err(error) => Err(PageError::new(context, error)),
    }
}
