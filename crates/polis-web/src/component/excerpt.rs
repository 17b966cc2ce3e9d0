//! Excerpts: renders texts that agents and people wrote (Markdown, messages, JSON) as HTML, truncated to what
//! a page can show, with a link to the full text.
//!
//! Such a text may have any length. To bound the size of a page, it is truncated before it is rendered. If
//! its HTML is nevertheless many times longer than the text, the text itself is shown instead. Long texts are
//! rendered on a blocking thread ([`render_blocking`]).

use maud::{Markup, html};
use polis_core::message::Message;
use polis_core::number::saturating_cast;
use polis_core::{RawJson, Refusal};
use polis_i18n::msg;
use polis_view::{conversation, number_format};

use crate::component::markdown;
use crate::error_page::{OrPageError as _, PageError};
use crate::refusal_tables::PageRefusal;
use crate::request::request_context::RequestContext;

/// Maximum size in bytes of an excerpt in a list, with a link to the full text. The limits below are in
/// bytes, too.
pub(crate) const LIST_EXCERPT_BYTES: usize = 480;
/// Excerpt of a message or an argument on a card.
pub(crate) const CARD_EXCERPT_BYTES: usize = 4 << 10;
/// Excerpt of a comment on a task.
pub(crate) const COMMENT_EXCERPT_BYTES: usize = 16 << 10;
/// Excerpt of a task's description on its page.
pub(crate) const DESCRIPTION_EXCERPT_BYTES: usize = 64 << 10;
/// Limit of a page that shows a single text.
pub(crate) const MAX_PAGE_TEXT_BYTES: usize = 256 << 10;

/// Markup that is longer than this many times its text is not sent; the source text is shown instead.
const MAX_MARKUP_GROWTH: usize = 8;

/// Returns the beginning of a text, at most `max_bytes` bytes.
pub(crate) fn truncate_text(text: &str, max_bytes: usize) -> &str {
    let end = text.floor_char_boundary(max_bytes);
    text.get(..end).unwrap_or(text)
}

/// Renders a Markdown text, truncated; if it was truncated, `all` links to the full text.
pub(crate) fn render_markdown_excerpt(
    context: &RequestContext,
    text: &str,
    max_bytes: usize,
    all: Option<&str>,
) -> Markup {
    let visible = truncate_text(text, max_bytes);
    let rendered = markdown::render_markdown(visible);
    // A text that consists only of markup characters grows many times in length.
    let oversized = rendered.0.len() > (visible.len() * MAX_MARKUP_GROWTH).max(CARD_EXCERPT_BYTES);
    html! {
        @if oversized { pre.text { (visible) } } @else { div.prose { (rendered) } }
        (render_truncation_note(context, text, visible, all))
    }
}

/// Renders the content of a message, truncated; if it was truncated, a link leads to the message's own page.
pub(crate) fn render_message_excerpt(
    context: &RequestContext,
    message: &Message,
    max_bytes: usize,
) -> Markup {
    let all = format!("/agents/messages/{}", message.id);
    let all = (max_bytes < MAX_PAGE_TEXT_BYTES).then_some(all.as_str());
    match conversation::payload_text(&message.payload) {
        Some(text) => render_markdown_excerpt(context, &text, max_bytes, all),
        None => render_json_excerpt(context, &message.payload, max_bytes, all),
    }
}

/// Renders formatted JSON data, truncated. Data longer than any page shows is not formatted first.
pub(crate) fn render_json_excerpt(
    context: &RequestContext,
    data: &RawJson,
    max_bytes: usize,
    all: Option<&str>,
) -> Markup {
    match data.as_str() {
        long if long.len() > MAX_PAGE_TEXT_BYTES => {
            render_plain_excerpt(context, long, max_bytes, all)
        }
        text => render_plain_excerpt(
            context,
            &conversation::pretty_print_json(text),
            max_bytes,
            all,
        ),
    }
}

/// Renders preformatted text, truncated; if it was truncated, `all` links to the full text.
fn render_plain_excerpt(
    context: &RequestContext,
    text: &str,
    max_bytes: usize,
    all: Option<&str>,
) -> Markup {
    let visible = truncate_text(text, max_bytes);
    html! {
        pre.text.out { (visible) }
        (render_truncation_note(context, text, visible, all))
    }
}

/// Note on a truncated text.
fn render_truncation_note(
    context: &RequestContext,
    text: &str,
    visible: &str,
    all: Option<&str>,
) -> Markup {
    let (visible_size, total_size) = (format_text_size(visible), format_text_size(text));
    html! {
        @if visible.len() < text.len() {
            p.small.muted.cut-off {
                (msg::common_showing_part(context.lang(), visible_size, total_size))
                @if let Some(all) = all { " " a href=(all) { (msg::common_show_all(context.lang())) } }
            }
        }
    }
}

fn format_text_size(text: &str) -> String {
    number_format::format_bytes(saturating_cast::<u64>(text.len()))
}

/// Renders potentially long content on a blocking thread, so that the server's async threads are not blocked.
/// Fails with `ReadFailed` if rendering panics.
pub(crate) async fn render_blocking<T: Send + 'static>(
    context: &RequestContext,
    draw: impl FnOnce(&RequestContext) -> T + Send + 'static,
) -> Result<T, PageError> {
    let owned = context.clone();
    let rendered = tokio::task::spawn_blocking(move || draw(&owned)).await;
    let rendered = rendered.map_err(|error| {
        Refusal::from(PageRefusal::ExcerptFailed {
            error: error.to_string(),
        })
    });
    rendered.or_page_error(context)
}
