//! Columns of the `messages` table, their conversion to messages, and the SQL that reads messages: one
//! message, pages of a mailbox or of the person's mail (paginated by message number), and times of delivery.
//!
//! Shared by the SQLite store and the PostgreSQL store, which execute the queries and write the rows.

use polis_core::message::{Message, NewMessage};
use polis_core::society::RunId;
use polis_core::{AgentId, RawJson, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{MailboxKey, MailboxQuery, PersonMailQuery};

use crate::sql::{SqlParam, SqlQuery};
use crate::store_failure::StoreFailure;
use crate::task_row::clamp_to_i64;

/// The columns of a message, in the order of [`MessageRow`].
const MESSAGE_COLUMNS: &str =
    "id, sender, recipient, at, deliver_at, reply_to, payload, read_at, task";

/// Selects when the next unread message for `$1` is delivered after time `$2`.
pub(crate) const SELECT_NEXT_DELIVERY: &str = "SELECT min(deliver_at) FROM messages WHERE recipient = $1 AND read_at IS NULL AND deliver_at > $2";

/// Returns the query for message `$1`.
pub(crate) fn select_message_sql() -> String {
    format!("SELECT {MESSAGE_COLUMNS} FROM messages WHERE id = $1")
}

/// Selects when the next unread message in any mailbox is delivered after time `$1`.
pub(crate) const SELECT_NEXT_DELIVERY_ANY_MAILBOX: &str =
    "SELECT min(deliver_at) FROM messages WHERE read_at IS NULL AND deliver_at > $1";

/// Condition of the partial index over mailboxes with unread messages for agents.
pub(crate) const UNREAD_AGENT_MAIL: &str = "read_at IS NULL AND recipient <> 'user'";

/// Converts a row of [`MessageReader::unread_mailboxes`](polis_ops::port::MessageReader::unread_mailboxes).
pub(crate) fn parse_mailbox_row(task: &str, recipient: &str) -> Result<MailboxKey, PortError> {
    let run = (!task.is_empty()).then(|| task.parse()).transpose();
    let damaged = || PortError::from(StoreFailure::MailboxDamaged);
    Ok(MailboxKey {
        run: run.map_err(|_| damaged())?,
        recipient: recipient.parse().map_err(|_| damaged())?,
    })
}

/// Returns the key (run, recipient) after which the next page of mailboxes starts.
pub(crate) fn mailbox_page_key(after: Option<&MailboxKey>) -> (&str, &str) {
    after.map_or(("", ""), |mailbox| {
        let run = mailbox.run.as_ref().map_or("", RunId::as_str);
        (run, mailbox.recipient.as_str())
    })
}

/// Returns the query for messages of mailbox `$1` after number `$2` that are delivered by `$3`, restricted to
/// run `$4` if the query names one. The last parameter is the limit. Parameters appear in numerical order,
/// because SQLite counts them that way.
pub(crate) fn mailbox_page_sql(query: &MailboxQuery) -> String {
    let mut unread = match (query.unread, &query.run) {
        (true, Some(_)) if query.recipient.as_str() != AgentId::USER => {
            format!("AND {UNREAD_AGENT_MAIL}")
        }
        (true, _) => "AND read_at IS NULL".to_owned(),
        (false, _) => String::new(),
    };
    let limit = match query.run {
        Some(_) => {
            unread.push_str(" AND task = $4");
            "$5"
        }
        None => "$4",
    };
    // `+ 0` prevents the planner from using the index by delivery time, whose result would have to be sorted
    // by number.
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM messages WHERE recipient = $1 AND id > $2 AND deliver_at + 0 <= $3 {unread} \
         ORDER BY id LIMIT {limit}"
    )
}

/// Returns the query for messages to and from the person (the id `user`), newest first; only messages to the
/// person if open ones are requested. It has one arm per direction, because each direction has its own index.
pub(crate) fn person_mail_query(query: &PersonMailQuery) -> SqlQuery {
    let mut q = SqlQuery::default();
    let mut arms = vec![person_mail_arm_sql(&mut q, query, "recipient", "sender")];
    if !query.open_only {
        arms.push(person_mail_arm_sql(&mut q, query, "sender", "recipient"));
    }
    let limit = q.bind(SqlParam::Int(i64::from(query.limit)));
    q.text = format!(
        "SELECT {MESSAGE_COLUMNS} FROM ({}) AS mail ORDER BY id DESC LIMIT {limit}",
        arms.join(" UNION ALL ")
    );
    q
}

/// Returns one arm: the messages whose column `person` (`sender` or `recipient`) is the person. `other` is
/// the column of the correspondent.
fn person_mail_arm_sql(
    q: &mut SqlQuery,
    query: &PersonMailQuery,
    person: &str,
    other: &str,
) -> String {
    let mut conditions = vec![format!("{person} = 'user'")];
    match person {
        "recipient" => {
            let now = q.bind(SqlParam::Int(query.now));
            conditions.push(format!("deliver_at + 0 <= {now}"));
        }
        // Messages from `user` to `user` are in the other arm.
        _ => conditions.push("recipient <> 'user'".to_owned()),
    }
    if let Some(correspondent) = &query.correspondent {
        let correspondent = q.bind(SqlParam::Text(correspondent.to_string()));
        conditions.push(format!("{other} = {correspondent}"));
    }
    if let Some(run) = &query.run {
        let run = q.bind(SqlParam::Text(run.to_string()));
        conditions.push(format!("task = {run}"));
    }
    if let Some(before) = query.before {
        let before = q.bind(SqlParam::Int(clamp_to_i64(before)));
        conditions.push(format!("id < {before}"));
    }
    if query.open_only {
        conditions.push("read_at IS NULL".to_owned());
        conditions.push(
            "NOT EXISTS (SELECT 1 FROM messages AS later WHERE later.sender = 'user' \
             AND later.recipient = messages.sender AND later.task = messages.task \
             AND later.id > messages.id AND (later.reply_to IS NULL OR later.reply_to = messages.id))"
                .to_owned(),
        );
    }
    let limit = q.bind(SqlParam::Int(i64::from(query.limit)));
    let n = q.params.len();
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM (SELECT {MESSAGE_COLUMNS} FROM messages WHERE {} ORDER BY id DESC LIMIT {limit}) AS arm{n}",
        conditions.join(" AND ")
    )
}

/// A row of the `messages` table.
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
    pub(crate) task: String,
}

impl MessageRow {
    /// Converts the row into a message.
    pub(crate) fn into_message(self) -> Result<Message, PortError> {
        let id = self.id;
        let agent = |name: &str| name.parse().map_err(|_| damaged_message_error(id));
        let sent = NewMessage {
            from: agent(&self.sender)?,
            to: agent(&self.recipient)?,
            created_at: Timestamp::from_stored(self.at),
            deliver_at: self.deliver_at,
            reply_to: self.reply_to.map(i64::unsigned_abs),
            run: match self.task.as_str() {
                "" => None,
                task => Some(task.parse().map_err(|_| damaged_message_error(id))?),
            },
            payload: RawJson::parse(&self.payload)
                .map_err(|e| damaged_message_error(id).with_source(e))?,
        };
        Ok(Message {
            read_at: self.read_at.map(Timestamp::from_stored),
            ..sent.with_id(id.unsigned_abs())
        })
    }
}

fn damaged_message_error(id: i64) -> PortError {
    PortError::from(StoreFailure::MessageDamaged { id: id.to_string() })
}
