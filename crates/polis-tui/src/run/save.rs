//! Saves an edited draft, if its board or task has not changed since it was loaded (optimistic concurrency
//! control).

use polis_core::board::BoardName;
use polis_core::task::update::TaskUpdate;
use polis_core::{Code, TaskId};
use polis_ops::OpError;
use polis_ops::op;

use super::Screen;
use crate::app::{Act, Draft, Message, Refused, Sheet, subject_and_description, task_text};

/// Number of history entries searched for the last author of a task's text.
const LOOKED_AT: usize = 100;

/// The current text, after another author has changed it.
struct Now {
    version: u64,
    text: String,
    by: String,
}

/// Saves a draft. On a conflict the message contains the current text.
pub(super) async fn save(screen: &Screen, draft: Draft) -> Message {
    let saved = match &draft.of {
        Sheet::Board(name) => board(screen, name, &draft).await,
        Sheet::Task(id) => task(screen, *id, &draft).await,
    };
    match saved {
        Ok(Ok(version)) => {
            let new = Some(version.to_string());
            Message::Done(Act::Save(draft), Ok(new))
        }
        Ok(Err(now)) => Message::Clashed {
            draft,
            version: now.version,
            text: now.text,
            by: now.by,
        },
        Err(refused) => {
            let refused = Refused::of(&refused, screen.lang);
            Message::Done(Act::Save(draft), Err(refused))
        }
    }
}

async fn board(
    screen: &Screen,
    name: &BoardName,
    draft: &Draft,
) -> Result<Result<u64, Now>, OpError> {
    let (polis, me) = (&screen.polis, &screen.agent);
    let write = op::BoardOverwrite {
        board: name.clone(),
        content: draft.text.clone(),
        expected_version: Some(draft.version),
        merge: false,
        force: false,
    };
    let refused = match op::write_board(polis, me, &write).await {
        Ok(changed) => return Ok(Ok(changed.version)),
        Err(refused) => refused,
    };
    if refused.code() != Code::VersionConflict {
        return Err(refused);
    }
    match op::read_board(polis, me, &op::BoardRead::of(name.clone())).await {
        Ok(now) => Ok(Err(Now {
            version: now.version,
            text: now
                .content
                .map(|text| text.as_ref().clone())
                .unwrap_or_default(),
            by: now.last_modified_by.unwrap_or_default(),
        })),
        Err(_) => Err(refused),
    }
}

async fn task(screen: &Screen, id: TaskId, draft: &Draft) -> Result<Result<u64, Now>, OpError> {
    let (polis, me) = (&screen.polis, &screen.agent);
    let (subject, description) = subject_and_description(&draft.text);
    let before = subject_and_description(&draft.base);
    // Unchanged fields are not written.
    let set = |mine: &str, before: &str| (mine != before).then(|| mine.to_owned());
    let mut change = TaskUpdate {
        subject: set(subject, before.0),
        description: set(description, before.1),
        expected_version: Some(draft.version),
        ..TaskUpdate::of(id)
    };
    loop {
        let refused = match op::update_task(polis, me, &change).await {
            Ok(changed) => return Ok(Ok(changed.task.version)),
            Err(refused) => refused,
        };
        if refused.code() != Code::VersionMismatch {
            return Err(refused);
        }
        let Ok(now) = op::get_task(polis, id).await else {
            return Err(refused);
        };
        let (version, text) = (
            now.task.version,
            task_text(&now.task.subject, &now.task.description),
        );
        // The task changed, but not its text, for example because it was claimed: retry with the new version.
        if draft.of.is_same(&text, &draft.base) && change.expected_version < Some(version) {
            change.expected_version = Some(version);
            continue;
        }
        let by = writer(screen, id).await.unwrap_or_default();
        return Ok(Err(Now { version, text, by }));
    }
}

/// Returns the last author of a task's subject or description.
async fn writer(screen: &Screen, id: TaskId) -> Result<String, OpError> {
    let history = op::newest_history(&screen.polis, id, LOOKED_AT)
        .await?
        .history;
    let wrote = history.into_iter().filter(|entry| {
        let mut fields = entry.changes.iter().map(|change| change.field.as_str());
        fields.any(|field| field == "subject" || field == "description")
    });
    let last = wrote.max_by_key(|entry| entry.seq);
    Ok(last.map(|entry| entry.actor).unwrap_or_default())
}
