//! Texts of others, as much of them as a page bears: the beginning, and a link to all of it.
//!
//! Agents write what they like, as long as they like. A page's size and the time it takes to draw it are
//! ours, so every such text is cut by its length, and its markup by its own.

use maud::{Markup, html};
use polis_core::message::Message;
use polis_core::{Code, Raw, Refusal};
use polis_view::{conversation, number_format};

use crate::error_page::{OrRefuse as _, Refused};
use crate::markdown;
use crate::request_context::Visit;

/// How much there is of a text that stands in a list, with a link to it.
pub(crate) const LEAD: usize = 480;
/// How much of a letter or an argument a card has.
pub(crate) const CARD: usize = 4 << 10;
/// How much of a comment or an answer a page has.
pub(crate) const PASSAGE: usize = 16 << 10;
/// How much of a task's description its page has.
pub(crate) const DESCRIPTION: usize = 64 << 10;
/// How much a page has that is there for one text alone.
pub(crate) const WHOLE: usize = 256 << 10;

/// Markup longer than so many times its text is not sent: the text is shown as it was written.
const GROWTH: usize = 8;

/// The beginning of a text, at most so many bytes.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let end = text.floor_char_boundary(most);
    text.get(..end).unwrap_or(text)
}

/// A text in Markdown, cut; where it is, `all` leads to the whole.
pub(crate) fn prose(visit: &Visit, text: &str, most: usize, all: Option<&str>) -> Markup {
    let shown = beginning(text, most);
    let drawn = markdown::html(shown);
    // A text of nothing but marks becomes many times as long.
    let odd = drawn.0.len() > (shown.len() * GROWTH).max(CARD);
    html! {
        @if odd { pre.text { (shown) } } @else { div.prose { (drawn) } }
        (rest(visit, text, shown, all))
    }
}

/// What a letter says, cut; where it is, a link leads to the letter alone.
pub(crate) fn letter(visit: &Visit, message: &Message, most: usize) -> Markup {
    let all = format!("/agents/letters/{}", message.id);
    let all = (most < WHOLE).then_some(all.as_str());
    match conversation::letter(&message.payload) {
        Some(text) => prose(visit, &text, most, all),
        None => data(visit, &message.payload, most, all),
    }
}

/// Data on lines of its own, cut. What is longer than any page has of it is not even laid out.
pub(crate) fn data(visit: &Visit, data: &Raw, most: usize, all: Option<&str>) -> Markup {
    match data.text() {
        long if long.len() > WHOLE => plain(visit, long, most, all),
        text => plain(visit, &conversation::laid_out(text), most, all),
    }
}

/// A text as it stands, cut; where it is, `all` leads to the whole.
fn plain(visit: &Visit, text: &str, most: usize, all: Option<&str>) -> Markup {
    let shown = beginning(text, most);
    html! {
        pre.text.out { (shown) }
        (rest(visit, text, shown, all))
    }
}

/// What is said where a text was cut.
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

/// Draws what may be long, away from the threads that serve.
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
