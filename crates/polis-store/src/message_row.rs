//! Columns of a message and the mailbox queries, shared by both stores.

use polis_core::message::{Message, NewMessage};
use polis_core::society::RunId;
use polis_core::{AgentId, Code, Raw, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{Mailbox, MailboxQuery, PersonMailQuery};

use crate::row::bound;
use crate::sql::{Param, Query};

/// The columns of a message, in the order of [`MessageRow`].
const COLUMNS: &str = "id, sender, recipient, at, deliver_at, reply_to, payload, read_at, task";

/// When the next undelivered unread message of `$1` after time `$2` will be delivered.
pub(crate) const NEXT_DELIVERY: &str = "SELECT min(deliver_at) FROM messages WHERE recipient = $1 AND read_at IS NULL AND deliver_at > $2";

/// Returns the query for message `$1`.
pub(crate) fn one() -> String {
    format!("SELECT {COLUMNS} FROM messages WHERE id = $1")
}

/// When the next undelivered unread message after time `$1` will be delivered, in any mailbox.
pub(crate) const NEXT_DELIVERY_OF_ANY: &str =
    "SELECT min(deliver_at) FROM messages WHERE read_at IS NULL AND deliver_at > $1";

/// Condition of the partial index over mailboxes with unread messages for agents.
pub(crate) const WAITING: &str = "read_at IS NULL AND recipient <> 'user'";

/// Converts a row of [`Messages::waiting`](polis_ops::port::Messages::waiting).
pub(crate) fn waiting_mailbox(task: &str, recipient: &str) -> Result<Mailbox, PortError> {
    let run = (!task.is_empty()).then(|| task.parse()).transpose();
    let damaged = || damaged_row("The row of a message is damaged.".to_owned());
    Ok(Mailbox {
        run: run.map_err(|_| damaged())?,
        recipient: recipient.parse().map_err(|_| damaged())?,
    })
}

/// Returns the key (run, recipient) after which the next page of mailboxes starts.
pub(crate) fn mailbox_key(after: Option<&Mailbox>) -> (&str, &str) {
    after.map_or(("", ""), |mailbox| {
        let run = mailbox.run.as_ref().map_or("", RunId::as_str);
        (run, mailbox.recipient.as_str())
    })
}

/// Returns the query for messages of mailbox `$1` after number `$2` that are delivered by `$3`, restricted to
/// run `$4` if the query names one. The last parameter is the limit. Parameters appear in numerical order,
/// because SQLite counts them that way.
pub(crate) fn mailbox(query: &MailboxQuery) -> String {
    let mut unread = match (query.unread, &query.run) {
        (true, Some(_)) if query.recipient.as_str() != AgentId::USER => format!("AND {WAITING}"),
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
        "SELECT {COLUMNS} FROM messages WHERE recipient = $1 AND id > $2 AND deliver_at + 0 <= $3 {unread} \
         ORDER BY id LIMIT {limit}"
    )
}

/// Returns the query for the user's messages. It has one arm per direction, because each direction has its
/// own index.
pub(crate) fn person_mail(query: &PersonMailQuery) -> Query {
    let mut q = Query::default();
    let mut arms = vec![person_arm(&mut q, query, "recipient", "sender")];
    if !query.open {
        arms.push(person_arm(&mut q, query, "sender", "recipient"));
    }
    let limit = q.bind(Param::Int(i64::from(query.limit)));
    q.text = format!(
        "SELECT {COLUMNS} FROM ({}) AS mail ORDER BY id DESC LIMIT {limit}",
        arms.join(" UNION ALL ")
    );
    q
}

/// Returns the arm for messages with the user as sender or as recipient.
fn person_arm(q: &mut Query, query: &PersonMailQuery, person: &str, other: &str) -> String {
    let mut words = vec![format!("{person} = 'user'")];
    match person {
        "recipient" => {
            let now = q.bind(Param::Int(query.now));
            words.push(format!("deliver_at + 0 <= {now}"));
        }
        // Messages from the user to itself are in the other arm.
        _ => words.push("recipient <> 'user'".to_owned()),
    }
    if let Some(with) = &query.with {
        let with = q.bind(Param::Text(with.to_string()));
        words.push(format!("{other} = {with}"));
    }
    if let Some(run) = &query.run {
        let run = q.bind(Param::Text(run.to_string()));
        words.push(format!("task = {run}"));
    }
    if let Some(before) = query.before {
        let before = q.bind(Param::Int(bound(before)));
        words.push(format!("id < {before}"));
    }
    if query.open {
        words.push("read_at IS NULL".to_owned());
        words.push(
            "NOT EXISTS (SELECT 1 FROM messages AS later WHERE later.sender = 'user' \
             AND later.recipient = messages.sender AND later.task = messages.task \
             AND later.id > messages.id AND (later.reply_to IS NULL OR later.reply_to = messages.id))"
                .to_owned(),
        );
    }
    let limit = q.bind(Param::Int(i64::from(query.limit)));
    let n = q.params.len();
    format!(
        "SELECT {COLUMNS} FROM (SELECT {COLUMNS} FROM messages WHERE {} ORDER BY id DESC LIMIT {limit}) AS arm{n}",
        words.join(" AND ")
    )
}

/// Columns of a message.
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
    pub(crate) fn message(self) -> Result<Message, PortError> {
        let id = self.id;
        let agent = |name: &str| name.parse().map_err(|_| damaged(id));
        let sent = NewMessage {
            from: agent(&self.sender)?,
            to: agent(&self.recipient)?,
            created_at: Timestamp::from_stored(self.at),
            deliver_at: self.deliver_at,
            reply_to: self.reply_to.map(i64::unsigned_abs),
            run: match self.task.as_str() {
                "" => None,
                task => Some(task.parse().map_err(|_| damaged(id))?),
            },
            payload: Raw::parse(&self.payload).map_err(|e| damaged(id).because(e))?,
        };
        Ok(Message {
            read_at: self.read_at.map(Timestamp::from_stored),
            ..sent.numbered(id.unsigned_abs())
        })
    }
}

fn damaged(id: i64) -> PortError {
    damaged_row(format!("The row of message {id} is damaged."))
}

fn damaged_row(what: String) -> PortError {
    PortError::new(Code::StoreCorrupt, what, "restore the store from a backup")
}
