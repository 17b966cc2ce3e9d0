//! Messages in PostgreSQL: plans the message writes of a batch of changesets, and reads mailboxes.

use std::collections::{BTreeMap, HashMap};

use polis_core::message::{Message, NewMessage};
use polis_core::society::RunId;
use polis_core::{AgentId, RecordKey};
use polis_ops::PortError;
use polis_ops::port::{MailboxKey, MailboxQuery, PersonMailQuery};
use tokio_postgres::{Error, Row};

use super::connection::PgParam;
use super::pool::ReadPool;
use super::read_queries::{query_params, read_column};
use crate::message_row::{
    MessageRow, SELECT_NEXT_DELIVERY, SELECT_NEXT_DELIVERY_ANY_MAILBOX, UNREAD_AGENT_MAIL,
    mailbox_page_key, mailbox_page_sql as mailbox_sql, parse_mailbox_row,
    person_mail_query as person_mail_sql, select_message_sql as one_sql,
};
use crate::task_row::clamp_to_i64;

/// Mark with the number of the newest message. It is only changed while holding the lock on the log head, so
/// messages become visible in the order of their numbers.
pub(super) const MESSAGE_NUMBER_MARK: &str = "message-number";

/// Selects which of these ids are unread messages of these mailboxes.
pub(super) const SELECT_UNREAD: &str = "SELECT m.id, m.recipient FROM unnest($1::text[], $2::bigint[]) AS n (recipient, id) \
     JOIN messages AS m ON m.recipient = n.recipient AND m.id = n.id WHERE m.read_at IS NULL";
pub(super) const INSERT_MESSAGES: &str = "INSERT INTO messages (id, recipient, sender, at, deliver_at, reply_to, payload, task) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])";
// Runs after the inserts: a batch may contain both the sending and the reading of a message.
pub(super) const MARK_MESSAGES_READ: &str = "UPDATE messages SET read_at = n.at \
     FROM unnest($1::text[], $2::bigint[], $3::text[]) AS n (recipient, id, at) \
     WHERE messages.recipient = n.recipient AND messages.id = n.id";

/// Decodes the result of [`SELECT_UNREAD`].
pub(super) fn decode_unread(rows: &[Row]) -> Result<HashMap<i64, String>, Error> {
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// A message to be inserted.
#[derive(Debug)]
struct PlannedMessage<'a> {
    id: i64,
    message: &'a NewMessage,
    reply_to: Option<i64>,
}

/// The message writes of a batch.
#[derive(Debug, Default)]
pub(super) struct MessagePlan<'a> {
    /// The unread messages by id, with their recipient.
    unread: HashMap<i64, String>,
    sent: Vec<PlannedMessage<'a>>,
    /// The messages marked as read by id, with recipient and time.
    read: BTreeMap<i64, (&'a str, &'a str)>,
}

impl<'a> MessagePlan<'a> {
    pub(super) fn new(unread: HashMap<i64, String>) -> Self {
        Self {
            unread,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.read.is_empty()
    }

    /// Returns the first of these ids that is not an unread message in this mailbox.
    pub(super) fn find_conflict(&self, recipient: &AgentId, ids: &[u64]) -> Option<RecordKey> {
        let unread = |id: &u64| {
            let mailbox = self.unread.get(&clamp_to_i64(*id));
            mailbox.is_some_and(|owner| owner == recipient.as_str())
        };
        let id = ids.iter().find(|id| !unread(id))?;
        Some(RecordKey::Message(*id))
    }

    pub(super) fn plan_send(&mut self, id: i64, message: &'a NewMessage, reply_to: Option<i64>) {
        self.unread.insert(id, message.to.to_string());
        self.sent.push(PlannedMessage {
            id,
            message,
            reply_to,
        });
    }

    /// Returns the last message sent, with its number.
    pub(super) fn last_sent(&self) -> Option<(i64, &NewMessage)> {
        self.sent.last().map(|sent| (sent.id, sent.message))
    }

    pub(super) fn plan_mark_read(&mut self, recipient: &'a AgentId, ids: &[u64], at: &'a str) {
        for id in ids.iter().map(|id| clamp_to_i64(*id)) {
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
    pub(super) fn from_plan(plan: &'a MessagePlan<'_>) -> Self {
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
            all.payload.push(sent.message.payload.as_str());
            let run = sent.message.run.as_ref();
            all.task.push(run.map_or("", RunId::as_str));
        }
        all
    }

    pub(super) fn has_inserts(&self) -> bool {
        !self.id.is_empty()
    }

    pub(super) fn has_reads(&self) -> bool {
        !self.read.is_empty()
    }

    pub(super) fn insert_params(&self) -> [PgParam<'_>; 8] {
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

    pub(super) fn mark_read_params(&self) -> [PgParam<'_>; 3] {
        [&self.reader, &self.read, &self.read_at]
    }
}

fn parse_message(row: &Row) -> Result<Message, PortError> {
    MessageRow {
        id: read_column(row, 0)?,
        sender: read_column(row, 1)?,
        recipient: read_column(row, 2)?,
        at: read_column(row, 3)?,
        deliver_at: read_column(row, 4)?,
        reply_to: read_column(row, 5)?,
        payload: read_column(row, 6)?,
        read_at: read_column(row, 7)?,
        task: read_column(row, 8)?,
    }
    .into_message()
}

pub(super) async fn select_mailbox_page(
    pool: &ReadPool,
    query: &MailboxQuery,
) -> Result<Vec<Message>, PortError> {
    let (recipient, after) = (query.recipient.as_str(), clamp_to_i64(query.after));
    let limit = i64::from(query.limit);
    let mut parameters: Vec<PgParam<'_>> = vec![&recipient, &after, &query.now];
    let run = query.run.as_ref().map(RunId::as_str);
    if let Some(run) = &run {
        parameters.push(run);
    }
    parameters.push(&limit);
    let rows = pool.query(&mailbox_sql(query), &parameters).await?;
    rows.iter().map(parse_message).collect()
}

pub(super) async fn select_person_mail(
    pool: &ReadPool,
    query: &PersonMailQuery,
) -> Result<Vec<Message>, PortError> {
    let statement = person_mail_sql(query);
    let rows = pool
        .query(&statement.text, &query_params(&statement))
        .await?;
    rows.iter().map(parse_message).collect()
}

pub(super) async fn select_message(pool: &ReadPool, id: u64) -> Result<Option<Message>, PortError> {
    let rows = pool.query(&one_sql(), &[&clamp_to_i64(id)]).await?;
    rows.first().map(parse_message).transpose()
}

pub(super) async fn select_next_delivery(
    pool: &ReadPool,
    recipient: &AgentId,
    now: i64,
) -> Result<Option<i64>, PortError> {
    let rows = pool
        .query(SELECT_NEXT_DELIVERY, &[&recipient.as_str(), &now])
        .await?;
    rows.first().map_or(Ok(None), |row| read_column(row, 0))
}

pub(super) async fn select_next_delivery_any_mailbox(
    pool: &ReadPool,
    now: i64,
) -> Result<Option<i64>, PortError> {
    let rows = pool
        .query(SELECT_NEXT_DELIVERY_ANY_MAILBOX, &[&now])
        .await?;
    rows.first().map_or(Ok(None), |row| read_column(row, 0))
}

/// Returns the mailboxes of agents with deliverable unread messages; the person's mailbox is not included.
/// One index step each: the recursive query jumps to the next mailbox, past all messages of the previous one;
/// the limit ends the recursion.
pub(super) async fn select_waiting_mailboxes(
    pool: &ReadPool,
    now: i64,
    after: Option<&MailboxKey>,
    limit: u32,
) -> Result<Vec<MailboxKey>, PortError> {
    let next = |task: &str, recipient: &str| {
        format!(
            "SELECT task, recipient FROM messages WHERE {UNREAD_AGENT_MAIL} AND (task, recipient) > ({task}, {recipient}) \
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
    let (task, recipient) = mailbox_page_key(after);
    let rows = pool
        .query(&sql, &[&task, &recipient, &now, &i64::from(limit)])
        .await?;
    rows.iter()
        .map(|row| parse_mailbox_row(read_column(row, 0)?, read_column(row, 1)?))
        .collect()
}
