//! Tools for messages and artifacts, by which agents exchange data.

use polis_core::Raw;
use polis_core::artifact::PutArtifact;
use polis_core::message::{Message, SendMessage};

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{at_most, fit, join, rest, shorten};
use crate::op::{self, ArtifactView, CheckMessages, GetArtifact, KeptArtifact, Mail, Sent};

/// The message and artifact tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("send_message", Messages, Add, SendMessage => Sent, send, { usual, listed },
        "Send a message."),
    tool!("check_messages", Messages, Add, CheckMessages => Mail, check, { usual, listed },
        "Get your unread messages, and mark them as read."),
    tool!("put_artifact", Artifacts, Add, PutArtifact => KeptArtifact, put, { usual, listed, idempotent },
        "Keep text or JSON; others read it by the ref you get."),
    tool!("get_artifact", Artifacts, Look, GetArtifact => ArtifactView, get, { usual, listed },
        "Read an artifact by its ref."),
];

async fn send(call: Call<'_>, given: SendMessage) -> Told<Sent> {
    let sent = op::send_message(call.polis, call.by, &given).await?;
    const SHOWN: usize = 20;
    let first = sent.messages.iter().take(SHOWN);
    let first: Vec<String> = first
        .map(|one| format!("{} (message {})", one.to, one.id))
        .collect();
    let more = match sent.messages.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!("Sent to {}{more}.", first.join(", "));
    Ok(Reply::new(sent, text))
}

async fn check(call: Call<'_>, given: CheckMessages) -> Told<Mail> {
    let mut mail = op::check_messages(call.polis, call.by, &given).await?;
    let mut again = None;
    if call.brief {
        let offset = given.offset.filter(|_| given.since.is_some());
        for (n, message) in mail.messages.iter_mut().enumerate() {
            cut_payload(message, offset.filter(|_| n == 0).unwrap_or(0));
        }
        // Messages that do not fit were marked as read, but are still in the mailbox.
        if fit(&mut mail.messages) {
            again = mail.messages.last().map(|message| message.id);
        }
    }
    let text = join(mail.messages.iter().map(line), "No new messages.");
    let cut = match again {
        Some(last) => Some(format!("there are more; to see them pass since={last}")),
        None => mail.more.then(|| "there are more; check again".to_owned()),
    };
    mail.more |= again.is_some();
    Ok(Reply::new(mail, text).cut(cut))
}

fn line(message: &Message) -> String {
    let answers = message.reply_to;
    let answers = answers.map_or_else(String::new, |id| format!(", answering {id}"));
    format!(
        "[{}] from {}{answers}: {}",
        message.id,
        message.from,
        said(&message.payload)
    )
}

fn said(value: &Raw) -> String {
    value
        .to::<String>()
        .unwrap_or_else(|| value.text().to_owned())
}

/// Truncates a long payload and appends how to read the rest.
fn cut_payload(message: &mut Message, offset: u64) {
    let whole = said(&message.payload);
    let mut shown = whole.clone();
    let before = message.id.saturating_sub(1);
    shorten(&mut shown, offset, |next| {
        format!("check_messages since={before} limit=1 offset={next}")
    });
    if shown != whole
        && let Ok(shown) = Raw::of(&shown)
    {
        message.payload = shown;
    }
}

async fn put(call: Call<'_>, given: PutArtifact) -> Told<KeptArtifact> {
    let kept = op::put_artifact(call.polis, call.by, &given).await?;
    let text = format!("Kept as {}", kept.reference);
    Ok(Reply::new(kept, text))
}

async fn get(call: Call<'_>, mut given: GetArtifact) -> Told<ArtifactView> {
    if call.brief {
        given.max_bytes = at_most(given.max_bytes);
    }
    let found = op::get_artifact(call.polis, call.by, &given).await?;
    let text = said(&found.artifact.content);
    let cut = rest(found.next_offset, found.size);
    Ok(Reply::new(found, text).cut(cut))
}
