//! Open questions of a run's members to the person, and the person's open messages (neither read nor
//! answered).
//!
//! A question is open until the person answers it or the member that asked is dismissed. This is derived from
//! the stored messages and member states.

use std::collections::BTreeMap;

use polis_core::AgentId;
use polis_core::message::{Message, payload_text};
use polis_core::number::saturating_cast;
use polis_core::society::member::{self, MemberState, MemberStatus};
use polis_core::society::question::{answers_question, is_question};
use polis_core::society::{MemberKey, RunId};

use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_record;
use crate::port::{MailboxQuery, PersonMailQuery};
use crate::request::Request;

/// Number of messages read per store query.
const PAGE_SIZE: u32 = 100;
/// Maximum number of pages read to fill one page of open messages, since closed questions are left out.
const MAX_PAGES_READ: usize = 20;

/// Returns the open questions of a run's members to the person, oldest first. Reading a question does not
/// answer it. The questions of a dismissed member are closed: it no longer receives messages, so they could
/// never be answered. Fails only if the store does.
pub async fn open_questions(request: &Request, run: &RunId) -> Result<Vec<Message>, OpError> {
    let mut open = Vec::new();
    let mut query = mailbox_query(&request.app, AgentId::user(), run, 0);
    loop {
        let page = request.app.store.mailbox(&query).await?;
        let Some(last) = page.last() else {
            return Ok(open);
        };
        query.after = last.id;
        for message in page {
            if is_question(&payload_text(&message.payload))
                && is_open_question(request, &message).await?
            {
                open.push(message);
            }
        }
    }
}

/// Returns whether a question of a run's member still needs an answer: the person has not answered it, and
/// the member was not dismissed. Fails only if the store does.
pub async fn is_open_question(request: &Request, question: &Message) -> Result<bool, OpError> {
    Ok(!is_asker_dismissed(&request.app, question).await?
        && !is_answered(&request.app, question).await?)
}

/// Returns the open messages to the person, newest first: those it has neither read nor answered, without the
/// questions of dismissed members. Other messages of a dismissed member can still be read, so they are
/// included. Fails only if the store does.
pub(crate) async fn list_open_mail(
    app: &App,
    mut query: PersonMailQuery,
) -> Result<Vec<Message>, OpError> {
    let limit = saturating_cast::<usize>(query.limit);
    let mut dismissed = BTreeMap::new();
    let mut open = Vec::new();
    for _ in 0..MAX_PAGES_READ {
        let page = app.store.person_mail(&query).await?;
        let is_last = page.len() < limit;
        query.before = page.last().map(|last| last.id);
        for message in page {
            if is_question(&payload_text(&message.payload)) {
                let asker = (message.run.clone(), message.from.clone());
                let is_dismissed = match dismissed.get(&asker) {
                    Some(cached) => *cached,
                    None => is_asker_dismissed(app, &message).await?,
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

async fn is_asker_dismissed(app: &App, question: &Message) -> Result<bool, OpError> {
    let Some(run) = &question.run else {
        return Ok(false);
    };
    let key = MemberKey::new(run.clone(), question.from.clone());
    let state = load_record::<MemberState>(app, &member::member_state_record_name(&key)).await?;
    Ok(state.is_some_and(|state| state.value.status == MemberStatus::Dismissed))
}

async fn is_answered(app: &App, question: &Message) -> Result<bool, OpError> {
    let Some(run) = &question.run else {
        return Ok(false);
    };
    let mut query = mailbox_query(app, question.from.clone(), run, question.id);
    loop {
        let page = app.store.mailbox(&query).await?;
        if page
            .iter()
            .any(|message| answers_question(question, message))
        {
            return Ok(true);
        }
        let Some(last) = page.last() else {
            return Ok(false);
        };
        query.after = last.id;
    }
}

fn mailbox_query(app: &App, recipient: AgentId, run: &RunId, after: u64) -> MailboxQuery {
    MailboxQuery {
        recipient,
        run: Some(run.clone()),
        unread: false,
        now: app.clock.now_millis(),
        after,
        limit: PAGE_SIZE,
    }
}
