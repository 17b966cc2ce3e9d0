//! Page of a file: source with syntax highlighting and line numbers, rendered Markdown, and a download.
//!
//! The files of a workspace are untrusted. They are never sent with a content type that a browser would
//! execute or display by itself: a download is sent as `application/octet-stream` attachment.

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use maud::{Markup, PreEscaped, html};
use polis_core::number::saturating_cast;
use polis_core::workspace::file_tools::{FileContent, FileEncoding, ReadFileParams};
use polis_core::{AgentId, Refusal, RefusalCode};
use polis_i18n::msg;
use polis_ops::op::{self};
use polis_view::highlight::{SourceLanguage, language_for_path};
use polis_view::number_format;
use serde::Deserialize;

use super::{file_tree, workspace_url};
use crate::component::excerpt;
use crate::component::markdown;
use crate::error_page::{OrPageError as _, PageError, render_error_notice};
use crate::layout::{Tab, tab_page};
use crate::refusal_tables::PageRefusal;
use crate::request::extract::{PathParams, QueryParams};
use crate::request::request_context::RequestContext;
use crate::url::encode_segment;

/// Maximum number of bytes shown at once.
const MAX_SHOWN_BYTES: u64 = 256 << 10;
/// Maximum number of lines shown at once; browsers are slow with more.
const LINES_PER_PAGE: u64 = 2_000;
/// Maximum amount of markup of a file.
const MAX_MARKUP_BYTES: usize = 1 << 20;
/// Maximum size of a download; it is built in memory.
const MAX_DOWNLOAD_BYTES: u64 = 32 << 20;

#[derive(Debug, Default, Deserialize)]
pub(super) struct FileQuery {
    /// `source` shows the source of a Markdown file.
    #[serde(default)]
    view: String,
    /// First line to show, for a file that is too long to be shown at once.
    #[serde(default)]
    from: Option<u64>,
}

pub(super) async fn show_file(
    context: RequestContext,
    PathParams((id, path)): PathParams<(AgentId, String)>,
    QueryParams(query): QueryParams<FileQuery>,
) -> Result<Response, PageError> {
    let language = language_for_path(&path);
    let is_markdown = language.is_some_and(|one| one.name == "Markdown");
    let display = FileDisplay {
        language,
        is_markdown,
        rendered: is_markdown && query.view != "source" && query.from.is_none(),
        from: query.from.unwrap_or(1).max(1),
    };
    let request = ReadFileParams {
        path: path.clone(),
        max_bytes: Some(MAX_SHOWN_BYTES),
        start_line: (!display.rendered).then_some(display.from),
        end_line: (!display.rendered).then_some(display.from.saturating_add(LINES_PER_PAGE - 1)),
        ..ReadFileParams::default()
    };
    let content = match op::read_file(&context.request, Some(&id), &request).await {
        Ok(content) => render_file(&context, &id, &path, content, display).await?,
        Err(error) if error.code() == RefusalCode::NOT_TEXT => html! {
            div.empty {
                h2 { (msg::workspace_file_not_text(context.lang())) }
                p { (msg::workspace_file_not_text_explanation(context.lang())) }
                p { (render_download_link(&context, &id, &path)) }
            }
        },
        Err(error) if error.code() == RefusalCode::FILE_NOT_FOUND => {
            // The tree is still useful.
            render_error_notice(context.preferences, &error, false)
        }
        Err(error) => return Err(PageError::new(&context, error)),
    };
    let body = html! {
        p { a href=(workspace_url::workspace_url(id.as_str())) { "← " (id) } " · " span.mono { (path) } }
        div.side {
            (file_tree::render_file_tree(&context, &id, Some(&path), true).await?)
            section.card { (content) }
        }
    };
    let name = path.rsplit('/').next().unwrap_or(&path);
    let live = "file~,command~";
    Ok(tab_page(&context, Tab::Workspaces, name, live, &body))
}

/// How a file is displayed.
#[derive(Debug, Clone, Copy)]
struct FileDisplay {
    language: Option<&'static SourceLanguage>,
    is_markdown: bool,
    rendered: bool,
    from: u64,
}

async fn render_file(
    context: &RequestContext,
    id: &AgentId,
    path: &str,
    file: FileContent,
    display: FileDisplay,
) -> Result<Markup, PageError> {
    let FileDisplay {
        language,
        is_markdown,
        rendered,
        from,
    } = display;
    let size = file.size;
    let line_count = saturating_cast::<u64>(file.content.lines().count());
    let last = from.saturating_add(line_count).saturating_sub(1);
    let more = match file.total_lines {
        Some(total) if !rendered => last < total,
        _ => file.truncated,
    };
    // Highlighting and Markdown rendering of long texts run on a blocking thread.
    let text = file.content;
    let markup = excerpt::render_blocking(context, move |_| {
        if rendered {
            render_markdown_file(&text)
        } else {
            (render_source(&text, language, from), false)
        }
    });
    let (markup, cut) = markup.await?;
    Ok(html! {
        div.row.file-head {
            span.pill { (language.map_or(msg::workspace_file_text(context.lang()), |one| one.name)) }
            span.muted { (number_format::format_bytes(size)) @if let Some(lines) = file.total_lines { " · " (lines) " " (msg::workspace_file_lines_unit(context.lang())) } }
            span.grow {}
            @if is_markdown {
                nav.choice aria-label=(msg::workspace_file_view(context.lang())) {
                    a.button.small href="?view=rendered" aria-current=[rendered.then_some("true")] { (msg::workspace_file_rendered(context.lang())) }
                    a.button.small href="?view=source" aria-current=[(!rendered).then_some("true")] { (msg::workspace_file_source(context.lang())) }
                }
            }
            (render_download_link(context, id, path))
        }
        @if rendered && (more || cut) {
            p.notice.warn { (msg::workspace_file_beginning_rendered(context.lang())) " " a href="?view=source" { (msg::workspace_file_view_parts(context.lang())) } }
        }
        @if size == 0 { p.muted { (msg::workspace_file_empty(context.lang())) } }
        @else if rendered { (markup) }
        @else { @let parts = render_line_pagination(context, from, last, more); (parts) (markup) (parts) }
    })
}

/// Renders the pagination of a long file.
fn render_line_pagination(context: &RequestContext, from: u64, last: u64, more: bool) -> Markup {
    let to = |line: u64| format!("?view=source&from={line}");
    html! {
        @if from > 1 || more {
            nav.row.small aria-label=(msg::workspace_file_parts(context.lang())) {
                @if from > 1 { a href=(to(from.saturating_sub(LINES_PER_PAGE).max(1))) rel="prev" { "← " (msg::workspace_file_previous_part(context.lang())) } }
                span.muted { (msg::workspace_file_lines_prefix(context.lang())) (from) "–" (last) }
                @if more { a href=(to(last.saturating_add(1))) rel="next" { (msg::workspace_file_next_part(context.lang())) " →" } }
            }
        }
    }
}

/// Renders Markdown, as much as a page can show. Returns whether it was truncated.
fn render_markdown_file(text: &str) -> (Markup, bool) {
    let all = markdown::render_document(text).parts;
    let mut bytes = 0;
    let fits = all.iter().take_while(|part| {
        bytes += part.html.len();
        bytes <= MAX_MARKUP_BYTES
    });
    let fits = fits.count();
    let markup =
        html! { div.board { @for part in all.iter().take(fits) { (PreEscaped(&part.html)) } } };
    (markup, fits < all.len())
}

/// Renders source text with line numbers and syntax highlighting; without highlighting if that would exceed
/// the limit.
fn render_source(text: &str, language: Option<&'static SourceLanguage>, from: u64) -> Markup {
    let mut lines = markdown::highlight_lines(text, language);
    if lines.iter().map(String::len).sum::<usize>() > MAX_MARKUP_BYTES {
        lines = text
            .lines()
            .map(|line| html! { (line) }.into_string())
            .collect();
    }
    html! {
        div.source tabindex="0" role="region" { code {
            @for (number, line) in (from..).zip(&lines) {
                span.line id={ "L" (number) } data-line=(number) { (PreEscaped(line)) "\n" }
            }
        } }
    }
}

fn render_download_link(context: &RequestContext, id: &AgentId, path: &str) -> Markup {
    html! { a.button.small href=(workspace_url::download_url(id.as_str(), path)) download { (msg::workspace_file_download(context.lang())) } }
}

/// Returns a file as a download. Fails with `RequestTooLarge` if it is larger than [`MAX_DOWNLOAD_BYTES`].
pub(super) async fn download_file(
    context: RequestContext,
    PathParams((id, path)): PathParams<(AgentId, String)>,
) -> Result<Response, PageError> {
    let request = ReadFileParams {
        path: path.clone(),
        max_bytes: Some(MAX_DOWNLOAD_BYTES),
        encoding: FileEncoding::Base64,
        ..ReadFileParams::default()
    };
    let file = op::read_file(&context.request, Some(&id), &request).await;
    let file = file.or_page_error(&context)?;
    if file.truncated {
        let refusal = Refusal::from(PageRefusal::DownloadTooLarge {
            size: number_format::format_bytes(file.size),
            limit: number_format::format_bytes(MAX_DOWNLOAD_BYTES),
        });
        return Err(PageError::new(&context, refusal.into()));
    }
    let bytes = STANDARD
        .decode(&file.content)
        .map_err(|_| Refusal::from(PageRefusal::FileCutShort));
    let bytes = bytes.or_page_error(&context)?;
    let name = path.rsplit('/').next().unwrap_or(&path);
    let disposition = format!("attachment; filename*=UTF-8''{}", encode_segment(name));
    let mut answer = Response::new(Body::from(bytes));
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "application/octet-stream"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    Ok(answer)
}
