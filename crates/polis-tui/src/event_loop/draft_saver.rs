//! Saves an edited draft, if the text of its board or task has not changed since it was loaded (optimistic
//! concurrency control). Otherwise the resulting message contains the current text, so that the conflict can
//! be resolved.

use polis_core::board::BoardName;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{RefusalCode, TaskId};
use polis_ops::OpError;
use polis_ops::op;

use super::TuiConfig;
use crate::app::{
    AppMessage, DisplayError, EditDraft, EditTarget, UserAction, subject_and_description, task_text,
};

/// Number of history entries searched for the last author of a task's text.
const MAX_SEARCHED_ENTRIES: usize = 100;

/// The current text, after another author has changed it.
struct CurrentText {
    version: u64,
    text: String,
    author: String,
}

/// Saves a draft. Returns `ActionFinished` with the new version or the error, or `SaveConflict` with the
/// current text.
pub(super) async fn save_draft(screen: &TuiConfig, draft: EditDraft) -> AppMessage {
    let saved = match &draft.target {
        EditTarget::Board(name) => save_board(screen, name, &draft).await,
        EditTarget::Task(id) => save_task(screen, *id, &draft).await,
    };
    match saved {
        Ok(Ok(version)) => {
            let new = Some(version.to_string());
            AppMessage::ActionFinished(UserAction::Save(draft), Ok(new))
        }
        Ok(Err(now)) => AppMessage::SaveConflict {
            draft,
            version: now.version,
            text: now.text,
            by: now.author,
        },
        Err(refused) => {
            let refused = DisplayError::from_error(&refused, screen.lang);
            AppMessage::ActionFinished(UserAction::Save(draft), Err(refused))
        }
    }
}

async fn save_board(
    screen: &TuiConfig,
    name: &BoardName,
    draft: &EditDraft,
) -> Result<Result<u64, CurrentText>, OpError> {
    let write = op::BoardWriteParams {
        board: name.clone(),
        content: draft.text.clone(),
        expected_version: Some(draft.version),
        merge: false,
        force: false,
    };
    let refused = match op::write_board(&screen.request(), &write).await {
        Ok(changed) => return Ok(Ok(changed.version)),
        Err(refused) => refused,
    };
    if refused.code() != RefusalCode::VERSION_CONFLICT {
        return Err(refused);
    }
    match op::read_board(
        &screen.request(),
        &op::BoardReadParams::for_board(name.clone()),
    )
    .await
    {
        Ok(now) => Ok(Err(CurrentText {
            version: now.version,
            text: now
                .content
                .map(|text| text.as_ref().clone())
                .unwrap_or_default(),
            author: now.last_modified_by.unwrap_or_default(),
        })),
        Err(_) => Err(refused),
    }
}

async fn save_task(
    screen: &TuiConfig,
    id: TaskId,
    draft: &EditDraft,
) -> Result<Result<u64, CurrentText>, OpError> {
    let (subject, description) = subject_and_description(&draft.text);
    let before = subject_and_description(&draft.base);
    // Unchanged fields are not written.
    let set = |mine: &str, before: &str| (mine != before).then(|| mine.to_owned());
    let mut change = TaskUpdateParams {
        subject: set(subject, before.0),
        description: set(description, before.1),
        expected_version: Some(draft.version),
        ..TaskUpdateParams::new(id)
    };
    loop {
        let refused = match op::update_task(&screen.request(), &change).await {
            Ok(changed) => return Ok(Ok(changed.task.version)),
            Err(refused) => refused,
        };
        if refused.code() != RefusalCode::VERSION_MISMATCH {
            return Err(refused);
        }
        let Ok(now) = op::get_task(&screen.request(), id).await else {
            return Err(refused);
        };
        let (version, text) = (
            now.task.version,
            task_text(&now.task.subject, &now.task.description),
        );
        // The task changed, but not its text, for example because it was claimed: retry with the new version.
        if draft.target.is_same_text(&text, &draft.base) && change.expected_version < Some(version)
        {
            change.expected_version = Some(version);
            continue;
        }
        let author = last_text_author(screen, id).await.unwrap_or_default();
        return Ok(Err(CurrentText {
            version,
            text,
            author,
        }));
    }
}

/// Returns the last author of a task's subject or description, empty if the newest history entries have none.
async fn last_text_author(screen: &TuiConfig, id: TaskId) -> Result<String, OpError> {
    let history = op::newest_task_history(&screen.request(), id, MAX_SEARCHED_ENTRIES)
        .await?
        .history;
    let changes = history.into_iter().filter(|entry| {
        let mut fields = entry.changes.iter().map(|change| change.field.as_str());
        fields.any(|field| field == "subject" || field == "description")
    });
    let last = changes.max_by_key(|entry| entry.seq);
    Ok(last.map(|entry| entry.actor).unwrap_or_default())
}
