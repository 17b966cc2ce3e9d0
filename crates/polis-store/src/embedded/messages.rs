//! SQL access to messages: inserting into mailboxes and marking as read inside a transaction, and reading
//! mailboxes.

use polis_core::AgentId;
use polis_core::message::{Message, NewMessage};
use polis_core::society::RunId;
use polis_ops::PortError;
use polis_ops::port::{Mailbox, MailboxQuery, PersonMailQuery};
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::error::from_sqlite;
use super::read::rows;
use crate::message_row::{
    MessageRow, NEXT_DELIVERY, NEXT_DELIVERY_OF_ANY, WAITING, mailbox as mailbox_sql, mailbox_key,
    one as one_sql, person_mail as person_mail_sql, waiting_mailbox,
};
use crate::row::bound;

/// Inserts a message into its mailbox and returns its number. Messages are never deleted, so the largest
/// number is the last one assigned.
pub(super) fn send(
    connection: &Connection,
    message: &NewMessage,
    reply_to: Option<i64>,
) -> rusqlite::Result<u64> {
    let id: i64 = connection
        .prepare_cached(
            "INSERT INTO messages (id, recipient, sender, at, deliver_at, reply_to, payload, task) \
             VALUES ((SELECT coalesce(max(id), 0) + 1 FROM messages), ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        )?
        .query_row(
            params![
                message.to.as_str(),
                message.from.as_str(),
                message.created_at.as_str(),
                message.deliver_at,
                reply_to,
                message.payload.text(),
                message.run.as_ref().map_or("", RunId::as_str)
            ],
            |row| row.get(0),
        )?;
    Ok(id.unsigned_abs())
}

/// Returns the first of these ids that is not an unread message in this mailbox.
pub(super) fn not_unread(
    connection: &Connection,
    recipient: &AgentId,
    ids: &[u64],
) -> Result<Option<u64>, PortError> {
    let sql = "SELECT 1 FROM messages WHERE id = ? AND recipient = ? AND read_at IS NULL";
    let mut select = connection.prepare_cached(sql).map_err(from_sqlite)?;
    for id in ids {
        let unread = select.exists(params![bound(*id), recipient.as_str()]);
        if !unread.map_err(from_sqlite)? {
            return Ok(Some(*id));
        }
    }
    Ok(None)
}

pub(super) fn mark_read(connection: &Connection, ids: &[u64], at: &str) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached("UPDATE messages SET read_at = ?2 WHERE id = ?1")?;
    for id in ids {
        update.execute(params![bound(*id), at])?;
    }
    Ok(())
}

fn message_row(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
    Ok(MessageRow {
        id: row.get(0)?,
        sender: row.get(1)?,
        recipient: row.get(2)?,
        at: row.get(3)?,
        deliver_at: row.get(4)?,
        reply_to: row.get(5)?,
        payload: row.get(6)?,
        read_at: row.get(7)?,
        task: row.get(8)?,
    })
}

pub(super) fn mailbox(
    connection: &Connection,
    query: &MailboxQuery,
) -> Result<Vec<Message>, PortError> {
    let sql = mailbox_sql(query);
    let (recipient, after) = (query.recipient.as_str(), bound(query.after));
    let found = match &query.run {
        None => {
            let parameters = params![recipient, after, query.now, query.limit];
            rows(connection, &sql, parameters, message_row)
        }
        Some(run) => {
            let parameters = params![recipient, after, query.now, run.as_str(), query.limit];
            rows(connection, &sql, parameters, message_row)
        }
    };
    found?.into_iter().map(MessageRow::message).collect()
}

pub(super) fn person_mail(
    connection: &Connection,
    query: &PersonMailQuery,
) -> Result<Vec<Message>, PortError> {
    let query = person_mail_sql(query);
    let parameters = params_from_iter(&query.params);
    let found = rows(connection, &query.text, parameters, message_row)?;
    found.into_iter().map(MessageRow::message).collect()
}

pub(super) fn one(connection: &Connection, id: u64) -> Result<Option<Message>, PortError> {
    let found = rows(connection, &one_sql(), [bound(id)], message_row)?;
    found
        .into_iter()
        .next()
        .map(MessageRow::message)
        .transpose()
}

pub(super) fn next_delivery(
    connection: &Connection,
    recipient: &AgentId,
    now: i64,
) -> Result<Option<i64>, PortError> {
    connection
        .prepare_cached(NEXT_DELIVERY)
        .and_then(|mut select| {
            select
                .query_row(params![recipient.as_str(), now], |row| row.get(0))
                .optional()
        })
        .map(Option::flatten)
        .map_err(from_sqlite)
}

pub(super) fn next_delivery_of_any(
    connection: &Connection,
    now: i64,
) -> Result<Option<i64>, PortError> {
    connection
        .prepare_cached(NEXT_DELIVERY_OF_ANY)
        .and_then(|mut select| select.query_row([now], |row| row.get(0)))
        .map_err(from_sqlite)
}

/// Returns the mailboxes with deliverable unread messages. One index step each: the query jumps to the next
/// mailbox, past all messages of the previous one.
pub(super) fn waiting(
    connection: &Connection,
    now: i64,
    after: Option<&Mailbox>,
    limit: u32,
) -> Result<Vec<Mailbox>, PortError> {
    let sql = format!(
        "SELECT task, recipient FROM messages WHERE {WAITING} AND (task, recipient) > (?1, ?2) \
         AND deliver_at + 0 <= ?3 ORDER BY task, recipient LIMIT 1"
    );
    let mut select = connection.prepare_cached(&sql).map_err(from_sqlite)?;
    let (task, recipient) = mailbox_key(after);
    let mut last = (task.to_owned(), recipient.to_owned());
    let mut found = Vec::new();
    for _ in 0..limit {
        let next = select.query_row(params![last.0, last.1, now], |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        let Some(next) = next.optional().map_err(from_sqlite)? else {
            break;
        };
        last = next;
        found.push(waiting_mailbox(&last.0, &last.1)?);
    }
    Ok(found)
}
