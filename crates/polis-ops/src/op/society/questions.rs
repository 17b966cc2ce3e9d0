//! Open questions of a run's members to the person, and the person's open letters.
//!
//! A question is open until the person answers it or the member that asked is dismissed. This is derived from the
//! stored messages and member states.

use std::collections::BTreeMap;

use polis_core::AgentId;
use polis_core::message::{Message, payload_text};
use polis_core::society::member::{self, MemberState, MemberStatus};
use polis_core::society::question::{answers, is_question};
use polis_core::society::{MemberKey, RunId};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{MailboxQuery, PersonMailQuery};

/// Number of messages read per store query.
const PAGE: u32 = 100;
/// Maximum number of pages read to fill one page of open letters, since closed questions are left out.
const MAX_OPEN_PAGES: usize = 20;

/// Returns the open questions of a run's members to the person, oldest first. Reading a question does not answer it.
/// The questions of a dismissed member are closed: it no longer receives messages, so they could never be answered.
pub async fn open_questions(polis: &Polis, run: &RunId) -> Result<Vec<Message>, OpError> {
    let mut open = Vec::new();
    let mut query = mailbox_of(polis, AgentId::user(), run, 0);
    loop {
        let page = polis.store.mailbox(&query).await?;
        let Some(last) = page.last() else {
            return Ok(open);
        };
        query.after = last.id;
        for message in page {
            if is_question(&payload_text(&message.payload))
                && is_open_question(polis, &message).await?
            {
                open.push(message);
            }
        }
    }
}

/// Returns whether a question of a run's member still needs an answer: the person has not answered it, and the member
/// was not dismissed.
pub async fn is_open_question(polis: &Polis, question: &Message) -> Result<bool, OpError> {
    Ok(!is_asker_dismissed(polis, question).await? && !is_answered(polis, question).await?)
}

/// Returns the open letters to the person, newest first: those it has neither read nor answered, without the questions
/// of dismissed members. Other letters of a dismissed member can still be read, so they are included.
pub(in crate::op) async fn open_letters(
    polis: &Polis,
    mut query: PersonMailQuery,
) -> Result<Vec<Message>, OpError> {
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let mut dismissed = BTreeMap::new();
    let mut open = Vec::new();
    for _ in 0..MAX_OPEN_PAGES {
        let page = polis.store.person_mail(&query).await?;
        let is_last = page.len() < limit;
        query.before = page.last().map(|last| last.id);
        for message in page {
            if is_question(&payload_text(&message.payload)) {
                let asker = (message.run.clone(), message.from.clone());
                let is_dismissed = match dismissed.get(&asker) {
                    Some(known) => *known,
                    None => is_asker_dismissed(polis, &message).await?,
                };
                dismissed.insert(asker, is_dismissed);
                if is_dismissed {
                    continue;
                }
            }
            open.push(message);
        }
        if is_last || open.len() >= limit {
            break;
        }
    }
    open.truncate(limit);
    Ok(open)
}

async fn is_asker_dismissed(polis: &Polis, question: &Message) -> Result<bool, OpError> {
    let Some(run) = &question.run else {
        return Ok(false);
    };
    let key = MemberKey::new(run.clone(), question.from.clone());
    let state = polis.kept::<MemberState>(&member::state_name(&key)).await?;
    Ok(state.is_some_and(|state| state.value.status == MemberStatus::Gone))
}

async fn is_answered(polis: &Polis, question: &Message) -> Result<bool, OpError> {
    let Some(run) = &question.run else {
        return Ok(false);
    };
    let mut query = mailbox_of(polis, question.from.clone(), run, question.id);
    loop {
        let page = polis.store.mailbox(&query).await?;
        if page.iter().any(|message| answers(question, message)) {
            return Ok(true);
        }
        let Some(last) = page.last() else {
            return Ok(false);
        };
        query.after = last.id;
    }
}

fn mailbox_of(polis: &Polis, recipient: AgentId, run: &RunId, after: u64) -> MailboxQuery {
    MailboxQuery {
        recipient,
        run: Some(run.clone()),
        unread: false,
        now: polis.clock.now_millis(),
        after,
        limit: PAGE,
    }
}
