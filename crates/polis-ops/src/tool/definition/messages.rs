//! Tools for messages and artifacts, by which agents exchange data: definitions, and handlers that call the
//! operation and render its result as text.

use polis_core::RawJson;
use polis_core::artifact::PutArtifactParams;
use polis_core::message::{Message, SendMessageParams};

use polis_i18n::{UiLanguage, msg};

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{
    self, ArtifactView, CheckMessagesParams, GetArtifactParams, MailboxPage, PutArtifactResult,
    SendMessageResult,
};
use crate::tool::Tool;
use crate::tool::truncation::{
    fit_entries, join_lines, limit_text_bytes, next_offset_note, truncate_with_note,
};

/// Definitions of the message and artifact tools.
pub(super) const MESSAGE_TOOLS: &[Tool] = &[
    tool!("send_message", Messages, Additive, SendMessageParams => SendMessageResult, send_message, { is_default, is_offered_to_agents }),
    tool!("check_messages", Messages, Additive, CheckMessagesParams => MailboxPage, check_messages, { is_default, is_offered_to_agents }),
    tool!("put_artifact", Artifacts, Additive, PutArtifactParams => PutArtifactResult, put_artifact, { is_default, is_offered_to_agents, idempotent }),
    tool!("get_artifact", Artifacts, ReadOnly, GetArtifactParams => ArtifactView, get_artifact, { is_default, is_offered_to_agents }),
];

async fn send_message(
    call: ToolContext<'_>,
    params: SendMessageParams,
) -> ToolResult<SendMessageResult> {
    let sent = op::send_message(call.request, &params).await?;
    const MAX_SHOWN: usize = 20;
    let first = sent.messages.iter().take(MAX_SHOWN);
    let first: Vec<String> = first
        .map(|one| msg::tool_message_recipient(call.lang, &one.to, one.id))
        .collect();
    let first = first.join(msg::common_list_separator(call.lang));
    let recipients = match sent.messages.len().saturating_sub(MAX_SHOWN) {
        0 => first,
        more => msg::tool_result_and_more(call.lang, first, more),
    };
    let text = msg::tool_message_sent(call.lang, recipients);
    Ok(ToolReply::new(sent, text))
}

async fn check_messages(
    call: ToolContext<'_>,
    params: CheckMessagesParams,
) -> ToolResult<MailboxPage> {
    let mut mail = op::check_messages(call.request, &params).await?;
    let mut last_shown = None;
    if call.for_model {
        let offset = params.offset.filter(|_| params.since.is_some());
        for (n, message) in mail.messages.iter_mut().enumerate() {
            truncate_payload(call.lang, message, offset.filter(|_| n == 0).unwrap_or(0));
        }
        // Messages that do not fit were marked as read, but are still in the mailbox.
        if fit_entries(&mut mail.messages) {
            last_shown = mail.messages.last().map(|message| message.id);
        }
    }
    let lines = mail.messages.iter();
    let lines = lines.map(|message| render_message(message, call.lang));
    let text = join_lines(lines, msg::tool_message_none(call.lang));
    let note = match last_shown {
        Some(last) => Some(msg::tool_message_more_since(call.lang, last)),
        None => (mail.more).then(|| msg::tool_message_more(call.lang).to_owned()),
    };
    mail.more |= last_shown.is_some();
    Ok(ToolReply::new(mail, text).with_continuation(note))
}

fn render_message(message: &Message, lang: UiLanguage) -> String {
    let (id, from, text) = (message.id, &message.from, value_text(&message.payload));
    match message.reply_to {
        Some(other) => msg::tool_message_received_reply(lang, id, from, other, text),
        None => msg::tool_message_received(lang, id, from, text),
    }
}

fn value_text(value: &RawJson) -> String {
    value
        .parse_as::<String>()
        .unwrap_or_else(|| value.as_str().to_owned())
}

/// Truncates a long payload and appends how to read the rest.
fn truncate_payload(lang: UiLanguage, message: &mut Message, offset: u64) {
    let full_text = value_text(&message.payload);
    let mut shown_text = full_text.clone();
    let before = message.id.saturating_sub(1);
    truncate_with_note(lang, &mut shown_text, offset, |next| {
        format!("check_messages since={before} limit=1 offset={next}")
    });
    if shown_text != full_text
        && let Ok(payload) = RawJson::from_value(&shown_text)
    {
        message.payload = payload;
    }
}

async fn put_artifact(
    call: ToolContext<'_>,
    params: PutArtifactParams,
) -> ToolResult<PutArtifactResult> {
    let stored = op::put_artifact(call.request, &params).await?;
    let text = msg::tool_message_artifact_stored(call.lang, &stored.reference);
    Ok(ToolReply::new(stored, text))
}

async fn get_artifact(
    call: ToolContext<'_>,
    mut params: GetArtifactParams,
) -> ToolResult<ArtifactView> {
    if call.for_model {
        params.max_bytes = limit_text_bytes(params.max_bytes);
    }
    let found = op::get_artifact(call.request, &params).await?;
    let text = value_text(&found.artifact.content);
    let note = next_offset_note(call.lang, found.next_offset, found.size);
    Ok(ToolReply::new(found, text).with_continuation(note))
}
