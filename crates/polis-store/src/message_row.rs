//! A message as columns, and the questions about mailboxes, the same in both stores.

use polis_core::message::{Message, NewMessage};
use polis_core::{Code, Raw, Timestamp};
use polis_ops::PortError;

/// The columns of a message, in the order of [`MessageRow`].
const COLUMNS: &str = "id, sender, recipient, at, deliver_at, reply_to, payload, read_at";

/// When the next unread message of `$1` that is still to come at `$2` will be delivered.
pub(crate) const NEXT_DELIVERY: &str = "SELECT min(deliver_at) FROM messages WHERE recipient = $1 AND read_at IS NULL AND deliver_at > $2";

/// Message `$1`.
pub(crate) fn one() -> String {
    format!("SELECT {COLUMNS} FROM messages WHERE id = $1")
}

/// Messages of mailbox `$1` after number `$2` that are delivered by `$3`, at most `$4`.
pub(crate) fn mailbox(unread: bool) -> String {
    let unread = if unread { "AND read_at IS NULL" } else { "" };
    // The sum keeps the condition from being looked up in an index by delivery, which would have to be
    // sorted by number.
    format!(
        "SELECT {COLUMNS} FROM messages WHERE recipient = $1 AND id > $2 AND deliver_at + 0 <= $3 {unread} \
         ORDER BY id LIMIT $4"
    )
}

/// The columns of a message.
#[derive(Debug)]
pub(crate) struct MessageRow {
    pub(crate) id: i64,
    pub(crate) sender: String,
    pub(crate) recipient: String,
    pub(crate) at: String,
    pub(crate) deliver_at: i64,
    pub(crate) reply_to: Option<i64>,
    pub(crate) payload: String,
    pub(crate) read_at: Option<String>,
}

impl MessageRow {
    /// The message of a row.
    pub(crate) fn message(self) -> Result<Message, PortError> {
        let id = self.id;
        let agent = |name: &str| name.parse().map_err(|_| damaged(id));
        let sent = NewMessage {
            from: agent(&self.sender)?,
            to: agent(&self.recipient)?,
            created_at: Timestamp::from_stored(self.at),
            deliver_at: self.deliver_at,
            reply_to: self.reply_to.map(i64::unsigned_abs),
            payload: Raw::parse(&self.payload).map_err(|e| damaged(id).because(e))?,
        };
        Ok(Message {
            read_at: self.read_at.map(Timestamp::from_stored),
            ..sent.numbered(id.unsigned_abs())
        })
    }
}

fn damaged(id: i64) -> PortError {
    PortError::new(
        Code::StoreCorrupt,
        format!("The row of message {id} is damaged."),
        "restore the store from a backup",
    )
}
