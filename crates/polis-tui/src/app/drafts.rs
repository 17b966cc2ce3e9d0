//! Unsaved drafts: from the external editor to the store, including conflicts and failed saves.
//!
//! No draft is lost: one that could not be saved is shown in an overlay until it is saved, discarded or
//! postponed; a postponed one stays available on its item. Such overlays are queued, so that they never
//! replace an input that is in progress.

use crossterm::event::{KeyCode, KeyEvent};
use polis_core::board::merge::{MergeResult, has_new_conflict_markers, three_way_merge};
use polis_i18n::msg;

use super::action_keys::start_action;
use super::actions::{EditDraft, EditTarget, UserAction};
use super::app_message::{AppEffect, DisplayError};
use super::bindings::unmodified_key;
use super::overlay::{DraftChoice, EditConflict, Overlay, SaveFailure, UnsavedDraft};
use super::{StatusNotice, TuiApp};

/// Handles a closed editor: saves the text if it was changed, and keeps the draft if that is not possible.
pub(super) fn editor_closed(
    app: &mut TuiApp,
    draft: EditDraft,
    answer: Result<String, DisplayError>,
) -> Vec<AppEffect> {
    if let Some(file) = draft
        .file
        .as_ref()
        .filter(|file| !app.draft_files.contains(file))
    {
        app.draft_files.push(file.clone());
    }
    match answer {
        // The draft is unchanged, so there is nothing to keep.
        Err(refused)
            if !draft.unreadable && draft.target.is_same_text(&draft.text, &draft.base) =>
        {
            queue_overlay(app, Overlay::Error(refused, None));
            forget_draft(app, draft)
        }
        Err(refused) => {
            show_unsaved_draft(app, draft, refused, SaveFailure::Editor);
            Vec::new()
        }
        Ok(text) if draft.target.is_same_text(&text, &draft.base) => {
            let message = msg::common_no_changes(app.lang);
            app.notice = Some(StatusNotice::Done(message.to_owned()));
            forget_draft(app, draft)
        }
        Ok(text) => save_draft(app, EditDraft { text, ..draft }),
    }
}

/// Saves a draft. If it still contains conflict markers, shows it instead and asks what to do.
fn save_draft(app: &mut TuiApp, draft: EditDraft) -> Vec<AppEffect> {
    if !has_new_conflict_markers(&draft.text, &draft.base, draft.has_conflict_markers) {
        return start_action(app, UserAction::Save(draft));
    }
    let lang = app.lang;
    let refused = DisplayError {
        code: "merge_conflict".to_owned(),
        message: msg::tui_conflict_markers_left(lang).to_owned(),
        hint: msg::tui_conflict_markers_left_hint(lang).to_owned(),
        is_temporary: false,
    };
    show_unsaved_draft(app, draft, refused, SaveFailure::ConflictMarkers);
    Vec::new()
}

/// Shows a draft that could not be saved.
pub(super) fn show_unsaved_draft(
    app: &mut TuiApp,
    draft: EditDraft,
    refused: DisplayError,
    cause: SaveFailure,
) {
    let unsaved = UnsavedDraft {
        draft,
        error: refused,
        cause,
    };
    queue_overlay(app, Overlay::UnsavedDraft(Box::new(unsaved)));
}

/// Shows a draft that conflicts with another author's newer version. If both texts are equal, there is
/// nothing to save, and the draft is dropped.
pub(super) fn show_conflict(app: &mut TuiApp, conflict: EditConflict) -> Vec<AppEffect> {
    if conflict
        .draft
        .target
        .is_same_text(&conflict.text, &conflict.draft.text)
    {
        let target = &conflict.draft.target;
        let message = msg::tui_draft_already_saved(app.lang, target);
        app.notice = Some(StatusNotice::Done(message));
        return forget_draft(app, conflict.draft);
    }
    queue_overlay(app, Overlay::Conflict(Box::new(conflict)));
    Vec::new()
}

/// Queues an overlay; it is shown after the current one is closed.
fn queue_overlay(app: &mut TuiApp, overlay: Overlay) {
    app.queued_overlays.push_back(overlay);
}

/// Postpones a draft. Its file stays; the path was shown, and is printed again on exit.
fn postpone_draft(app: &mut TuiApp, overlay: Overlay) -> Vec<AppEffect> {
    if let Some(draft) = overlay.draft() {
        let target = &draft.target;
        let message = msg::tui_draft_kept_notice(app.lang, target);
        app.notice = Some(StatusNotice::Done(message));
    }
    app.postponed_drafts.push(overlay);
    Vec::new()
}

/// Shows a postponed draft of this text. Returns false if there is none.
pub(super) fn resume_postponed_draft(app: &mut TuiApp, target: &EditTarget) -> bool {
    let is_of = |overlay: &Overlay| overlay.draft().is_some_and(|draft| draft.target == *target);
    let Some(at) = app.postponed_drafts.iter().position(is_of) else {
        return false;
    };
    app.overlay = Some(app.postponed_drafts.remove(at));
    true
}

/// Drops a draft that was saved or discarded, and removes its file.
pub(super) fn forget_draft(app: &mut TuiApp, draft: EditDraft) -> Vec<AppEffect> {
    if draft.file.is_some() {
        let file = |overlay: &Overlay| overlay.draft().and_then(|draft| draft.file.clone());
        app.postponed_drafts
            .retain(|overlay| file(overlay) != draft.file);
    }
    app.draft_files
        .retain(|file| draft.file.as_ref() != Some(file));
    draft
        .file
        .map(AppEffect::RemoveDraftFile)
        .into_iter()
        .collect()
}

/// Asks for confirmation of an irreversible choice about the draft that `overlay` shows.
fn ask_draft_confirmation(app: &mut TuiApp, last: DraftChoice, overlay: Overlay) -> Vec<AppEffect> {
    app.overlay = Some(Overlay::ConfirmDraftChoice(last, Box::new(overlay)));
    Vec::new()
}

/// Handles a key in the conflict overlay.
pub(super) fn handle_conflict_key(
    app: &mut TuiApp,
    mut conflict: Box<EditConflict>,
    key: KeyEvent,
) -> Vec<AppEffect> {
    match unmodified_key(key) {
        KeyCode::Char('e') => {
            // Three-way merge: changes that do not overlap are combined; overlapping ones are put between
            // conflict markers.
            let (both, marked) =
                match three_way_merge(&conflict.draft.base, &conflict.text, &conflict.draft.text) {
                    MergeResult::Clean(text) => (text, false),
                    MergeResult::Conflict(text) => (text, true),
                };
            let draft = EditDraft {
                text: both,
                has_conflict_markers: marked,
                ..conflict.rebased_draft()
            };
            return vec![AppEffect::Edit(draft)];
        }
        KeyCode::Char('o') => {
            return ask_draft_confirmation(
                app,
                DraftChoice::Overwrite,
                Overlay::Conflict(conflict),
            );
        }
        KeyCode::Char('x') => {
            return ask_draft_confirmation(app, DraftChoice::Discard, Overlay::Conflict(conflict));
        }
        KeyCode::Esc | KeyCode::Char('q') => {
            return postpone_draft(app, Overlay::Conflict(conflict));
        }
        KeyCode::Char('j') | KeyCode::Down => conflict.offset += 1,
        KeyCode::Char('k') | KeyCode::Up => conflict.offset = conflict.offset.saturating_sub(1),
        _ => {}
    }
    let last = conflict.diff.len().saturating_sub(1);
    conflict.offset = conflict.offset.min(last);
    app.overlay = Some(Overlay::Conflict(conflict));
    Vec::new()
}

/// Handles a key in the overlay of a draft that could not be saved.
pub(super) fn handle_unsaved_draft_key(
    app: &mut TuiApp,
    unsaved: Box<UnsavedDraft>,
    key: KeyEvent,
) -> Vec<AppEffect> {
    // A text that exists only in the file cannot be sent from here.
    let is_readable = !unsaved.draft.unreadable;
    let marks = unsaved.cause == SaveFailure::ConflictMarkers;
    match unmodified_key(key) {
        KeyCode::Char('e') => vec![AppEffect::Edit(unsaved.draft)],
        KeyCode::Char('r') if is_readable && !marks => save_draft(app, unsaved.draft),
        KeyCode::Char('S') if is_readable && marks => {
            start_action(app, UserAction::Save(unsaved.draft))
        }
        KeyCode::Char('x') => {
            ask_draft_confirmation(app, DraftChoice::Discard, Overlay::UnsavedDraft(unsaved))
        }
        KeyCode::Esc | KeyCode::Char('q') => postpone_draft(app, Overlay::UnsavedDraft(unsaved)),
        _ => {
            app.overlay = Some(Overlay::UnsavedDraft(unsaved));
            Vec::new()
        }
    }
}

/// Handles a key in the confirmation overlay.
pub(super) fn handle_confirmation_key(
    app: &mut TuiApp,
    last: DraftChoice,
    overlay: Overlay,
    key: KeyEvent,
) -> Vec<AppEffect> {
    match (unmodified_key(key), last, overlay) {
        (KeyCode::Char('y' | 'Y'), DraftChoice::Overwrite, Overlay::Conflict(conflict)) => {
            // Overwrites only the version that was shown; a newer one leads to another conflict.
            start_action(app, UserAction::Save(conflict.rebased_draft()))
        }
        (KeyCode::Char('y' | 'Y'), DraftChoice::Discard, Overlay::Conflict(conflict)) => {
            discard_draft(app, conflict.draft)
        }
        (KeyCode::Char('y' | 'Y'), DraftChoice::Discard, Overlay::UnsavedDraft(unsaved)) => {
            discard_draft(app, unsaved.draft)
        }
        (KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc, _, overlay) => {
            app.overlay = Some(overlay);
            Vec::new()
        }
        (_, last, overlay) => ask_draft_confirmation(app, last, overlay),
    }
}

/// Discards the draft and its file.
fn discard_draft(app: &mut TuiApp, draft: EditDraft) -> Vec<AppEffect> {
    let message = msg::tui_draft_discarded(app.lang, &draft.target);
    app.notice = Some(StatusNotice::Done(message));
    forget_draft(app, draft)
}
