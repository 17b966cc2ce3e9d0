//! Messages: plans the message writes of a batch, and reads mailboxes.

use std::collections::{BTreeMap, HashMap};

use polis_core::message::{Message, NewMessage};
use polis_core::society::RunId;
use polis_core::{AgentId, RecordKey};
use polis_ops::PortError;
use polis_ops::port::{Mailbox, MailboxQuery, PersonMailQuery};
use tokio_postgres::{Error, Row};

use super::connection::Parameter;
use super::pool::Pool;
use super::read::{column, parameters};
use crate::message_row::{
    MessageRow, NEXT_DELIVERY, NEXT_DELIVERY_OF_ANY, WAITING, mailbox as mailbox_sql, mailbox_key,
    one as one_sql, person_mail as person_mail_sql, waiting_mailbox,
};
use crate::row::bound;

/// Mark with the number of the newest message. It is only changed while holding the lock on the log head, so
/// messages become visible in the order of their numbers.
pub(super) const MESSAGE_NUMBER: &str = "message-number";

/// Selects which of these ids are unread messages of these mailboxes.
pub(super) const UNREAD: &str = "SELECT m.id, m.recipient FROM unnest($1::text[], $2::bigint[]) AS n (recipient, id) \
     JOIN messages AS m ON m.recipient = n.recipient AND m.id = n.id WHERE m.read_at IS NULL";
pub(super) const INSERT_MESSAGES: &str = "INSERT INTO messages (id, recipient, sender, at, deliver_at, reply_to, payload, task) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])";
// Runs after the inserts: a batch may contain both the sending and the reading of a message.
pub(super) const READ_MESSAGES: &str = "UPDATE messages SET read_at = n.at \
     FROM unnest($1::text[], $2::bigint[], $3::text[]) AS n (recipient, id, at) \
     WHERE messages.recipient = n.recipient AND messages.id = n.id";

/// Decodes the result of [`UNREAD`].
pub(super) fn found(rows: &[Row]) -> Result<HashMap<i64, String>, Error> {
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// A message to be inserted.
#[derive(Debug)]
struct Sent<'a> {
    id: i64,
    message: &'a NewMessage,
    reply_to: Option<i64>,
}

/// The message writes of a batch.
#[derive(Debug, Default)]
pub(super) struct MessagePlan<'a> {
    /// The unread messages by id, with their recipient.
    unread: HashMap<i64, String>,
    sent: Vec<Sent<'a>>,
    /// The messages marked as read by id, with recipient and time.
    read: BTreeMap<i64, (&'a str, &'a str)>,
}

impl<'a> MessagePlan<'a> {
    pub(super) fn on(unread: HashMap<i64, String>) -> Self {
        Self {
            unread,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.read.is_empty()
    }

    /// Returns the first of these ids that is not an unread message in this mailbox.
    pub(super) fn conflict(&self, recipient: &AgentId, ids: &[u64]) -> Option<RecordKey> {
        let unread = |id: &u64| {
            let whose = self.unread.get(&bound(*id));
            whose.is_some_and(|owner| owner == recipient.as_str())
        };
        let id = ids.iter().find(|id| !unread(id))?;
        Some(RecordKey::Message(*id))
    }

    pub(super) fn send(&mut self, id: i64, message: &'a NewMessage, reply_to: Option<i64>) {
        self.unread.insert(id, message.to.to_string());
        self.sent.push(Sent {
            id,
            message,
            reply_to,
        });
    }

    /// Returns the last message sent, with its number.
    pub(super) fn last_sent(&self) -> Option<(i64, &NewMessage)> {
        self.sent.last().map(|sent| (sent.id, sent.message))
    }

    pub(super) fn mark_read(&mut self, recipient: &'a AgentId, ids: &[u64], at: &'a str) {
        for id in ids.iter().map(|id| bound(*id)) {
            self.unread.remove(&id);
            self.read.insert(id, (recipient.as_str(), at));
        }
    }
}

/// The message writes as one array per column.
#[derive(Debug, Default)]
pub(super) struct MessageColumns<'a> {
    id: Vec<i64>,
    recipient: Vec<&'a str>,
    sender: Vec<&'a str>,
    at: Vec<&'a str>,
    deliver_at: Vec<i64>,
    reply_to: Vec<Option<i64>>,
    payload: Vec<&'a str>,
    task: Vec<&'a str>,
    reader: Vec<&'a str>,
    read: Vec<i64>,
    read_at: Vec<&'a str>,
}

impl<'a> MessageColumns<'a> {
    pub(super) fn of(plan: &'a MessagePlan<'_>) -> Self {
        let mut all = Self::default();
        for (id, (reader, at)) in &plan.read {
            all.reader.push(reader);
            all.read.push(*id);
            all.read_at.push(at);
        }
        for sent in &plan.sent {
            all.id.push(sent.id);
            all.recipient.push(sent.message.to.as_str());
            all.sender.push(sent.message.from.as_str());
            all.at.push(sent.message.created_at.as_str());
            all.deliver_at.push(sent.message.deliver_at);
            all.reply_to.push(sent.reply_to);
            all.payload.push(sent.message.payload.text());
            let run = sent.message.run.as_ref();
            all.task.push(run.map_or("", RunId::as_str));
        }
        all
    }

    pub(super) fn sends(&self) -> bool {
        !self.id.is_empty()
    }

    pub(super) fn reads(&self) -> bool {
        !self.read.is_empty()
    }

    pub(super) fn sent(&self) -> [Parameter<'_>; 8] {
        [
            &self.id,
            &self.recipient,
            &self.sender,
            &self.at,
            &self.deliver_at,
            &self.reply_to,
            &self.payload,
            &self.task,
        ]
    }

    pub(super) fn read(&self) -> [Parameter<'_>; 3] {
        [&self.reader, &self.read, &self.read_at]
    }
}

fn message(row: &Row) -> Result<Message, PortError> {
    MessageRow {
        id: column(row, 0)?,
        sender: column(row, 1)?,
        recipient: column(row, 2)?,
        at: column(row, 3)?,
        deliver_at: column(row, 4)?,
        reply_to: column(row, 5)?,
        payload: column(row, 6)?,
        read_at: column(row, 7)?,
        task: column(row, 8)?,
    }
    .message()
}

pub(super) async fn mailbox(pool: &Pool, query: &MailboxQuery) -> Result<Vec<Message>, PortError> {
    let (recipient, after) = (query.recipient.as_str(), bound(query.after));
    let limit = i64::from(query.limit);
    let mut parameters: Vec<Parameter<'_>> = vec![&recipient, &after, &query.now];
    let run = query.run.as_ref().map(RunId::as_str);
    if let Some(run) = &run {
        parameters.push(run);
    }
    parameters.push(&limit);
    let rows = pool.query(&mailbox_sql(query), &parameters).await?;
    rows.iter().map(message).collect()
}

pub(super) async fn person_mail(
    pool: &Pool,
    query: &PersonMailQuery,
) -> Result<Vec<Message>, PortError> {
    let asked = person_mail_sql(query);
    let rows = pool.query(&asked.text, &parameters(&asked)).await?;
    rows.iter().map(message).collect()
}

pub(super) async fn one(pool: &Pool, id: u64) -> Result<Option<Message>, PortError> {
    let rows = pool.query(&one_sql(), &[&bound(id)]).await?;
    rows.first().map(message).transpose()
}

pub(super) async fn next_delivery(
    pool: &Pool,
    recipient: &AgentId,
    now: i64,
) -> Result<Option<i64>, PortError> {
    let rows = pool
        .query(NEXT_DELIVERY, &[&recipient.as_str(), &now])
        .await?;
    rows.first().map_or(Ok(None), |row| column(row, 0))
}

pub(super) async fn next_delivery_of_any(pool: &Pool, now: i64) -> Result<Option<i64>, PortError> {
    let rows = pool.query(NEXT_DELIVERY_OF_ANY, &[&now]).await?;
    rows.first().map_or(Ok(None), |row| column(row, 0))
}

/// Returns the mailboxes with deliverable unread messages. One index step each: the recursive query jumps to
/// the next mailbox, past all messages of the previous one; the limit ends the recursion.
pub(super) async fn waiting(
    pool: &Pool,
    now: i64,
    after: Option<&Mailbox>,
    limit: u32,
) -> Result<Vec<Mailbox>, PortError> {
    let next = |task: &str, recipient: &str| {
        format!(
            "SELECT task, recipient FROM messages WHERE {WAITING} AND (task, recipient) > ({task}, {recipient}) \
             AND deliver_at + 0 <= $3 ORDER BY task, recipient LIMIT 1"
        )
    };
    let sql = format!(
        "WITH RECURSIVE waiting AS (({}) UNION ALL \
         SELECT n.task, n.recipient FROM waiting AS w CROSS JOIN LATERAL ({}) AS n) \
         SELECT task, recipient FROM waiting LIMIT $4",
        next("$1", "$2"),
        next("w.task", "w.recipient"),
    );
    let (task, recipient) = mailbox_key(after);
    let rows = pool
        .query(&sql, &[&task, &recipient, &now, &i64::from(limit)])
        .await?;
    rows.iter()
        .map(|row| waiting_mailbox(column(row, 0)?, column(row, 1)?))
        .collect()
}
