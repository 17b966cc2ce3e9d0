//! Excerpts of user-supplied texts: truncates a text to what a page can show, with a link to the full text.
//!
//! Agents may write texts of any length. To bound the size of a page and its rendering time, every such text is
//! truncated by its length, and additionally by the length of its markup.

use maud::{Markup, html};
use polis_core::message::Message;
use polis_core::{Code, Raw, Refusal};
use polis_view::{conversation, number_format};

use crate::error_page::{OrRefuse as _, Refused};
use crate::markdown;
use crate::request_context::Visit;

/// Excerpt in a list with a link to the full text, in bytes.
pub(crate) const LEAD: usize = 480;
/// Excerpt of a message or an argument on a card.
pub(crate) const CARD: usize = 4 << 10;
/// Excerpt of a comment or an answer on a page.
pub(crate) const PASSAGE: usize = 16 << 10;
/// Excerpt of a task's description on its page.
pub(crate) const DESCRIPTION: usize = 64 << 10;
/// Limit of a page that shows a single text.
pub(crate) const WHOLE: usize = 256 << 10;

/// Markup that is longer than this many times its text is not sent; the source text is shown instead.
const GROWTH: usize = 8;

/// Returns the beginning of a text, at most `most` bytes.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let end = text.floor_char_boundary(most);
    text.get(..end).unwrap_or(text)
}

/// Renders a Markdown text, truncated; if it was truncated, `all` links to the full text.
pub(crate) fn prose(visit: &Visit, text: &str, most: usize, all: Option<&str>) -> Markup {
    let shown = beginning(text, most);
    let drawn = markdown::html(shown);
    // A text that consists only of markup characters grows many times in length.
    let odd = drawn.0.len() > (shown.len() * GROWTH).max(CARD);
    html! {
        @if odd { pre.text { (shown) } } @else { div.prose { (drawn) } }
        (rest(visit, text, shown, all))
    }
}

/// Renders the content of a message, truncated; if it was truncated, a link leads to the message's own page.
pub(crate) fn letter(visit: &Visit, message: &Message, most: usize) -> Markup {
    let all = format!("/agents/letters/{}", message.id);
    let all = (most < WHOLE).then_some(all.as_str());
    match conversation::letter(&message.payload) {
        Some(text) => prose(visit, &text, most, all),
        None => data(visit, &message.payload, most, all),
    }
}

/// Renders formatted JSON data, truncated. Data longer than any page shows is not formatted first.
pub(crate) fn data(visit: &Visit, data: &Raw, most: usize, all: Option<&str>) -> Markup {
    match data.text() {
        long if long.len() > WHOLE => plain(visit, long, most, all),
        text => plain(visit, &conversation::laid_out(text), most, all),
    }
}

/// Renders preformatted text, truncated; if it was truncated, `all` links to the full text.
fn plain(visit: &Visit, text: &str, most: usize, all: Option<&str>) -> Markup {
    let shown = beginning(text, most);
    html! {
        pre.text.out { (shown) }
        (rest(visit, text, shown, all))
    }
}

/// Note on a truncated text.
fn rest(visit: &Visit, text: &str, shown: &str, all: Option<&str>) -> Markup {
    let (some, whole) = (bytes(shown), bytes(text));
    html! {
        @if shown.len() < text.len() {
            p.small.muted.cut-off {
                (visit.say(format!("{some} of {whole} are shown."), format!("显示 {some}，共 {whole}。")))
                @if let Some(all) = all { " " a href=(all) { (visit.say("Show all", "显示全部")) } }
            }
        }
    }
}

fn bytes(text: &str) -> String {
    number_format::bytes(u64::try_from(text.len()).unwrap_or(u64::MAX))
}

/// Renders potentially long content on a blocking thread, so that the server's async threads are not blocked.
pub(crate) async fn drawn<T: Send + 'static>(
    visit: &Visit,
    draw: impl FnOnce(&Visit) -> T + Send + 'static,
) -> Result<T, Refused> {
    let own = visit.clone();
    let drawn = tokio::task::spawn_blocking(move || draw(&own)).await;
    let drawn = drawn.map_err(|error| {
        Refusal::new(
            Code::ReadFailed,
            format!("The page could not be drawn: {error}."),
            "load the page again",
        )
    });
    drawn.or_refuse(visit)
}
