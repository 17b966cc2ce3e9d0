//! Page of a file: source with syntax highlighting and line numbers, rendered Markdown, and a download.
//!
//! The files of a workspace are untrusted. They are never sent with a content type that a browser would execute or
//! display by itself: a download is sent as `application/octet-stream` attachment.

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
use polis_core::workspace::file::{Encoding, FileContent, ReadFile};
use polis_core::{AgentId, Code, Refusal};
use polis_ops::op::{self, Desk};
use polis_view::highlight::{Language, language_of_path};
use polis_view::number_format;
use serde::Deserialize;

use super::{tree, workspace_url};
use crate::error_page::{OrRefuse as _, Refused, notice};
use crate::excerpt;
use crate::extract::{Path, Query};
use crate::layout::{Tab, page};
use crate::markdown;
use crate::request_context::Visit;
use crate::url::segment;

/// Maximum number of bytes shown at once.
const SHOWN: u64 = 256 << 10;
/// Maximum number of lines shown at once; browsers are slow with more.
const LINES: u64 = 2_000;
/// Maximum amount of markup of a file.
const HEAVIEST: usize = 1 << 20;
/// Maximum size of a download; it is built in memory.
const LARGEST: u64 = 32 << 20;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    /// `source` shows the source of a Markdown file.
    #[serde(default)]
    view: String,
    /// First line to show, for a file that is too long to be shown at once.
    #[serde(default)]
    from: Option<u64>,
}

pub(super) async fn show(
    visit: Visit,
    Path((id, path)): Path<(AgentId, String)>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let desk = Desk {
        by: &visit.me,
        of: Some(&id),
    };
    let language = language_of_path(&path);
    let is_markdown = language.is_some_and(|one| one.name == "Markdown");
    let sight = Sight {
        language,
        is_markdown,
        rendered: is_markdown && asked.view != "source" && asked.from.is_none(),
        from: asked.from.unwrap_or(1).max(1),
    };
    let request = ReadFile {
        path: path.clone(),
        max_bytes: Some(SHOWN),
        start_line: (!sight.rendered).then_some(sight.from),
        end_line: (!sight.rendered).then_some(sight.from.saturating_add(LINES - 1)),
        ..ReadFile::default()
    };
    let content = match op::read_file(&visit.polis, desk, &request).await {
        Ok(content) => read(&visit, &id, &path, content, sight).await?,
        Err(error) if error.code() == Code::NotText => html! {
            div.empty {
                h2 { (visit.say("This file is not text", "这个文件不是文本")) }
                p { (visit.say("It can be saved and opened with another program.", "可以下载后用其他程序打开。")) }
                p { (save(&visit, &id, &path)) }
            }
        },
        Err(error) if error.code() == Code::FileNotFound => {
            // The tree is still useful.
            notice(visit.taste, &error, false)
        }
        Err(error) => return Err(Refused::of(&visit, error)),
    };
    let body = html! {
        p { a href=(workspace_url::of(id.as_str())) { "← " (id) } " · " span.mono { (path) } }
        div.side {
            (tree::root(&visit, &id, Some(&path), true).await?)
            section.card { (content) }
        }
    };
    let name = path.rsplit('/').next().unwrap_or(&path);
    let live = "file~,command~";
    Ok(page(&visit, Tab::Workspaces, name, live, &body))
}

/// How a file is displayed.
#[derive(Debug, Clone, Copy)]
struct Sight {
    language: Option<&'static Language>,
    is_markdown: bool,
    rendered: bool,
    from: u64,
}

async fn read(
    visit: &Visit,
    id: &AgentId,
    path: &str,
    file: FileContent,
    sight: Sight,
) -> Result<Markup, Refused> {
    let Sight {
        language,
        is_markdown,
        rendered,
        from,
    } = sight;
    let size = file.size;
    let shown = u64::try_from(file.content.lines().count()).unwrap_or(u64::MAX);
    let last = from.saturating_add(shown).saturating_sub(1);
    let more = match file.total_lines {
        Some(total) if !rendered => last < total,
        _ => file.truncated,
    };
    // Highlighting and Markdown rendering of long texts run on a blocking thread.
    let text = file.content;
    let drawn = excerpt::drawn(visit, move |_| match rendered {
        true => as_meant(&text),
        false => (as_written(&text, language, from), false),
    });
    let (drawn, cut) = drawn.await?;
    Ok(html! {
        div.row.file-head {
            span.pill { (language.map_or(visit.say("text", "文本"), |one| one.name)) }
            span.muted { (number_format::bytes(size)) @if let Some(lines) = file.total_lines { " · " (lines) " " (visit.say("lines", "行")) } }
            span.grow {}
            @if is_markdown {
                nav.choice aria-label=(visit.say("View", "视图")) {
                    a.button.small href="?view=rendered" aria-current=[rendered.then_some("true")] { (visit.say("Rendered", "渲染")) }
                    a.button.small href="?view=source" aria-current=[(!rendered).then_some("true")] { (visit.say("Source", "源码")) }
                }
            }
            (save(visit, id, path))
        }
        @if rendered && (more || cut) {
            p.notice.warn { (visit.say(
                "The file is long: only its beginning is shown like this.",
                "文件较长：这里只显示开头部分。",
            )) " " a href="?view=source" { (visit.say("Show its source in parts", "分段显示源码")) } }
        }
        @if size == 0 { p.muted { (visit.say("The file is empty.", "文件是空的。")) } }
        @else if rendered { (drawn) }
        @else { @let parts = parts(visit, from, last, more); (parts) (drawn) (parts) }
    })
}

/// Renders the pagination of a long file.
fn parts(visit: &Visit, from: u64, last: u64, more: bool) -> Markup {
    let to = |line: u64| format!("?view=source&from={line}");
    html! {
        @if from > 1 || more {
            nav.row.small aria-label=(visit.say("Parts of the file", "文件分段")) {
                @if from > 1 { a href=(to(from.saturating_sub(LINES).max(1))) rel="prev" { "← " (visit.say("before", "前一段")) } }
                span.muted { (visit.say("lines ", "行 ")) (from) "–" (last) }
                @if more { a href=(to(last.saturating_add(1))) rel="next" { (visit.say("after", "后一段")) " →" } }
            }
        }
    }
}

/// Renders Markdown, as much as a page can show. Returns whether it was truncated.
fn as_meant(text: &str) -> (Markup, bool) {
    let all = markdown::document(text).parts;
    let mut bytes = 0;
    let fits = all.iter().take_while(|part| {
        bytes += part.html.len();
        bytes <= HEAVIEST
    });
    let fits = fits.count();
    let drawn =
        html! { div.board { @for part in all.iter().take(fits) { (PreEscaped(&part.html)) } } };
    (drawn, fits < all.len())
}

/// Renders source text with line numbers and syntax highlighting; without highlighting if that would exceed the limit.
fn as_written(text: &str, language: Option<&'static Language>, from: u64) -> Markup {
    let mut lines = markdown::spans(text, language);
    if lines.iter().map(String::len).sum::<usize>() > HEAVIEST {
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

fn save(visit: &Visit, id: &AgentId, path: &str) -> Markup {
    html! { a.button.small href=(workspace_url::raw(id.as_str(), path)) download { (visit.say("Download", "下载")) } }
}

/// Returns a file as a download.
pub(super) async fn download(
    visit: Visit,
    Path((id, path)): Path<(AgentId, String)>,
) -> Result<Response, Refused> {
    let desk = Desk {
        by: &visit.me,
        of: Some(&id),
    };
    let request = ReadFile {
        path: path.clone(),
        max_bytes: Some(LARGEST),
        encoding: Encoding::Base64,
        ..ReadFile::default()
    };
    let file = op::read_file(&visit.polis, desk, &request).await;
    let file = file.or_refuse(&visit)?;
    if file.truncated {
        let refusal = Refusal::new(
            Code::RequestTooLarge,
            visit.say(
                format!(
                    "The file has {}; up to {} are sent.",
                    number_format::bytes(file.size),
                    number_format::bytes(LARGEST)
                ),
                format!(
                    "文件有 {}，最多只发送 {}。",
                    number_format::bytes(file.size),
                    number_format::bytes(LARGEST)
                ),
            ),
            visit.say(
                "read it in the workspace's directory",
                "请在工作区目录中读取",
            ),
        );
        return Err(Refused::of(&visit, refusal.into()));
    }
    let bytes = STANDARD.decode(&file.content).map_err(|_| {
        Refusal::new(
            Code::ReadFailed,
            "The file did not arrive whole.",
            "try again",
        )
    });
    let bytes = bytes.or_refuse(&visit)?;
    let name = path.rsplit('/').next().unwrap_or(&path);
    let kept = format!("attachment; filename*=UTF-8''{}", segment(name));
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
    if let Ok(kept) = HeaderValue::from_str(&kept) {
        headers.insert(CONTENT_DISPOSITION, kept);
    }
    Ok(answer)
}
