//! SQL access to messages: inserting into mailboxes and marking as read inside a transaction, and reading
//! mailboxes.

use polis_core::AgentId;
use polis_core::message::{Message, NewMessage};
use polis_core::society::RunId;
use polis_ops::PortError;
use polis_ops::port::{MailboxKey, MailboxQuery, PersonMailQuery};
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::error::from_sqlite;
use super::read_queries::query_rows;
use crate::message_row::{
    MessageRow, SELECT_NEXT_DELIVERY, SELECT_NEXT_DELIVERY_ANY_MAILBOX, UNREAD_AGENT_MAIL,
    mailbox_page_key, mailbox_page_sql as mailbox_sql, parse_mailbox_row,
    person_mail_query as person_mail_sql, select_message_sql as one_sql,
};
use crate::task_row::clamp_to_i64;

/// Inserts a message into its mailbox and returns its number. Messages are never deleted, so the largest
/// number is the last one assigned.
pub(super) fn insert_message(
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
                message.payload.as_str(),
                message.run.as_ref().map_or("", RunId::as_str)
            ],
            |row| row.get(0),
        )?;
    Ok(id.unsigned_abs())
}

/// Returns the first of these ids that is not an unread message in this mailbox.
pub(super) fn find_not_unread(
    connection: &Connection,
    recipient: &AgentId,
    ids: &[u64],
) -> Result<Option<u64>, PortError> {
    let sql = "SELECT 1 FROM messages WHERE id = ? AND recipient = ? AND read_at IS NULL";
    let mut select = connection.prepare_cached(sql).map_err(from_sqlite)?;
    for id in ids {
        let unread = select.exists(params![clamp_to_i64(*id), recipient.as_str()]);
        if !unread.map_err(from_sqlite)? {
            return Ok(Some(*id));
        }
    }
    Ok(None)
}

pub(super) fn mark_messages_read(
    connection: &Connection,
    ids: &[u64],
    at: &str,
) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached("UPDATE messages SET read_at = ?2 WHERE id = ?1")?;
    for id in ids {
        update.execute(params![clamp_to_i64(*id), at])?;
    }
    Ok(())
}

fn read_message_row(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
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

pub(super) fn select_mailbox_page(
    connection: &Connection,
    query: &MailboxQuery,
) -> Result<Vec<Message>, PortError> {
    let sql = mailbox_sql(query);
    let (recipient, after) = (query.recipient.as_str(), clamp_to_i64(query.after));
    let found = match &query.run {
        None => {
            let parameters = params![recipient, after, query.now, query.limit];
            query_rows(connection, &sql, parameters, read_message_row)
        }
        Some(run) => {
            let parameters = params![recipient, after, query.now, run.as_str(), query.limit];
            query_rows(connection, &sql, parameters, read_message_row)
        }
    };
    found?.into_iter().map(MessageRow::into_message).collect()
}

pub(super) fn select_person_mail(
    connection: &Connection,
    query: &PersonMailQuery,
) -> Result<Vec<Message>, PortError> {
    let query = person_mail_sql(query);
    let parameters = params_from_iter(&query.params);
    let found = query_rows(connection, &query.text, parameters, read_message_row)?;
    found.into_iter().map(MessageRow::into_message).collect()
}

pub(super) fn select_message(
    connection: &Connection,
    id: u64,
) -> Result<Option<Message>, PortError> {
    let found = query_rows(connection, &one_sql(), [clamp_to_i64(id)], read_message_row)?;
    found
        .into_iter()
        .next()
        .map(MessageRow::into_message)
        .transpose()
}

pub(super) fn select_next_delivery(
    connection: &Connection,
    recipient: &AgentId,
    now: i64,
) -> Result<Option<i64>, PortError> {
    connection
        .prepare_cached(SELECT_NEXT_DELIVERY)
        .and_then(|mut select| {
            select
                .query_row(params![recipient.as_str(), now], |row| row.get(0))
                .optional()
        })
        .map(Option::flatten)
        .map_err(from_sqlite)
}

pub(super) fn select_next_delivery_any_mailbox(
    connection: &Connection,
    now: i64,
) -> Result<Option<i64>, PortError> {
    connection
        .prepare_cached(SELECT_NEXT_DELIVERY_ANY_MAILBOX)
        .and_then(|mut select| select.query_row([now], |row| row.get(0)))
        .map_err(from_sqlite)
}

/// Returns the mailboxes of agents with deliverable unread messages; the person's mailbox is not included.
/// One index step each: the query jumps to the next mailbox, past all messages of the previous one.
pub(super) fn select_waiting_mailboxes(
    connection: &Connection,
    now: i64,
    after: Option<&MailboxKey>,
    limit: u32,
) -> Result<Vec<MailboxKey>, PortError> {
    let sql = format!(
        "SELECT task, recipient FROM messages WHERE {UNREAD_AGENT_MAIL} AND (task, recipient) > (?1, ?2) \
         AND deliver_at + 0 <= ?3 ORDER BY task, recipient LIMIT 1"
    );
    let mut select = connection.prepare_cached(&sql).map_err(from_sqlite)?;
    let (task, recipient) = mailbox_page_key(after);
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
        found.push(parse_mailbox_row(&last.0, &last.1)?);
    }
    Ok(found)
}
