//! Unsaved drafts: from the external editor to the store, including conflicts and failed saves.
//!
//! No draft is lost: each is shown until it is saved or discarded, one at a time, and never over an input
//! that is in progress.

use crossterm::event::{KeyCode, KeyEvent};
use polis_core::board::merge::{Merged, has_marks, merge};

use super::action_keys::begin;
use super::actions::{Act, Draft, Sheet};
use super::bindings::alone;
use super::message::{Effect, Refused};
use super::overlay::{Cause, Clash, Kept, Last, Overlay};
use super::{App, Notice};

/// Handles a closed editor.
pub(super) fn edited(app: &mut App, draft: Draft, answer: Result<String, Refused>) -> Vec<Effect> {
    if let Some(file) = draft.file.as_ref().filter(|file| !app.files.contains(file)) {
        app.files.push(file.clone());
    }
    match answer {
        // The draft contains no user changes worth keeping.
        Err(refused) if !draft.unread && draft.of.is_same(&draft.text, &draft.base) => {
            show(app, Overlay::Refused(refused, None));
            forget(app, draft)
        }
        Err(refused) => {
            keep(app, draft, refused, Cause::Editor);
            Vec::new()
        }
        Ok(text) if draft.of.is_same(&text, &draft.base) => {
            let nothing = app.lang.say("Nothing was changed.", "没有改动。");
            app.notice = Some(Notice::Done(nothing.to_owned()));
            forget(app, draft)
        }
        Ok(text) => save(app, Draft { text, ..draft }),
    }
}

/// Saves a draft. If it still contains conflict markers, asks the user first.
fn save(app: &mut App, draft: Draft) -> Vec<Effect> {
    if !has_marks(&draft.text, &draft.base, draft.marked) {
        return begin(app, Act::Save(draft));
    }
    let lang = app.lang;
    let refused = Refused {
        code: "merge_conflict".to_owned(),
        message: lang
            .say(
                "Marks of the conflict are still in the text; nothing was saved.",
                "文本中仍有冲突标记，尚未保存。",
            )
            .to_owned(),
        hint: lang
            .say(
                "edit again, keep what is to stay and take the lines with the marks out",
                "请再次编辑，保留需要的内容并删去标记行",
            )
            .to_owned(),
        detail: String::new(),
        passing: false,
    };
    keep(app, draft, refused, Cause::Marks);
    Vec::new()
}

/// Shows a draft that could not be saved.
pub(super) fn keep(app: &mut App, draft: Draft, refused: Refused, cause: Cause) {
    let kept = Kept {
        draft,
        refused,
        cause,
    };
    show(app, Overlay::Kept(Box::new(kept)));
}

/// Shows a draft that conflicts with another author's newer version.
pub(super) fn clashed(app: &mut App, clash: Clash) -> Vec<Effect> {
    if clash.draft.of.is_same(&clash.text, &clash.draft.text) {
        let of = &clash.draft.of;
        let said = app.lang.say(
            format!("{of} reads as in your text already."),
            format!("{of} 已与您的文本一致。"),
        );
        app.notice = Some(Notice::Done(said));
        return forget(app, clash.draft);
    }
    show(app, Overlay::Clash(Box::new(clash)));
    Vec::new()
}

/// Queues an overlay; it is shown after the current one is closed.
fn show(app: &mut App, overlay: Overlay) {
    app.waiting.push_back(overlay);
}

/// Postpones a draft. Its file stays; the path was shown, and is printed again on exit.
fn put_off(app: &mut App, overlay: Overlay) -> Vec<Effect> {
    if let Some(draft) = overlay.draft() {
        let of = &draft.of;
        let said = app.lang.say(
            format!("Your text of {of} is kept; e on {of} brings it back."),
            format!("您的 {of} 文本已保留，在 {of} 上按 e 可找回。"),
        );
        app.notice = Some(Notice::Done(said));
    }
    app.later.push(overlay);
    Vec::new()
}

/// Shows a postponed draft of this text, if there is one.
pub(super) fn take_up(app: &mut App, of: &Sheet) -> bool {
    let is_of = |overlay: &Overlay| overlay.draft().is_some_and(|draft| draft.of == *of);
    let Some(at) = app.later.iter().position(is_of) else {
        return false;
    };
    app.overlay = Some(app.later.remove(at));
    true
}

/// Drops a draft that was saved or discarded, and removes its file.
pub(super) fn forget(app: &mut App, draft: Draft) -> Vec<Effect> {
    if draft.file.is_some() {
        let file = |overlay: &Overlay| overlay.draft().and_then(|draft| draft.file.clone());
        app.later.retain(|overlay| file(overlay) != draft.file);
    }
    app.files.retain(|file| draft.file.as_ref() != Some(file));
    draft.file.map(Effect::Forget).into_iter().collect()
}

/// Asks for confirmation of something irreversible.
fn ask(app: &mut App, last: Last, over: Overlay) -> Vec<Effect> {
    app.overlay = Some(Overlay::Sure(last, Box::new(over)));
    Vec::new()
}

/// Handles a key in the conflict overlay.
pub(super) fn clash_key(app: &mut App, mut clash: Box<Clash>, key: KeyEvent) -> Vec<Effect> {
    match alone(key) {
        KeyCode::Char('e') => {
            // Three-way merge: changes that do not overlap are combined; overlapping ones are put between
            // conflict markers.
            let (both, marked) = match merge(&clash.draft.base, &clash.text, &clash.draft.text) {
                Merged::Clean(text) => (text, false),
                Merged::Conflict(text) => (text, true),
            };
            let draft = Draft {
                text: both,
                marked,
                ..clash.seen()
            };
            return vec![Effect::Edit(draft)];
        }
        KeyCode::Char('o') => return ask(app, Last::Over, Overlay::Clash(clash)),
        KeyCode::Char('x') => return ask(app, Last::Drop, Overlay::Clash(clash)),
        KeyCode::Esc | KeyCode::Char('q') => return put_off(app, Overlay::Clash(clash)),
        KeyCode::Char('j') | KeyCode::Down => clash.offset += 1,
        KeyCode::Char('k') | KeyCode::Up => clash.offset = clash.offset.saturating_sub(1),
        _ => {}
    }
    let last = clash.diff.len().saturating_sub(1);
    clash.offset = clash.offset.min(last);
    app.overlay = Some(Overlay::Clash(clash));
    Vec::new()
}

/// Handles a key in the overlay of a draft that could not be saved.
pub(super) fn kept_key(app: &mut App, kept: Box<Kept>, key: KeyEvent) -> Vec<Effect> {
    // A text that exists only in the file cannot be sent from here.
    let here = !kept.draft.unread;
    let marks = kept.cause == Cause::Marks;
    match alone(key) {
        KeyCode::Char('e') => vec![Effect::Edit(kept.draft)],
        KeyCode::Char('r') if here && !marks => save(app, kept.draft),
        KeyCode::Char('S') if here && marks => begin(app, Act::Save(kept.draft)),
        KeyCode::Char('x') => ask(app, Last::Drop, Overlay::Kept(kept)),
        KeyCode::Esc | KeyCode::Char('q') => put_off(app, Overlay::Kept(kept)),
        _ => {
            app.overlay = Some(Overlay::Kept(kept));
            Vec::new()
        }
    }
}

/// Handles a key in the confirmation overlay.
pub(super) fn sure_key(app: &mut App, last: Last, over: Overlay, key: KeyEvent) -> Vec<Effect> {
    match (alone(key), last, over) {
        (KeyCode::Char('y' | 'Y'), Last::Over, Overlay::Clash(clash)) => {
            // Overwrites only the version the user has seen; a newer one is not overwritten.
            begin(app, Act::Save(clash.seen()))
        }
        (KeyCode::Char('y' | 'Y'), Last::Drop, Overlay::Clash(clash)) => {
            drop_draft(app, clash.draft)
        }
        (KeyCode::Char('y' | 'Y'), Last::Drop, Overlay::Kept(kept)) => drop_draft(app, kept.draft),
        (KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc, _, over) => {
            app.overlay = Some(over);
            Vec::new()
        }
        (_, last, over) => ask(app, last, over),
    }
}

/// Discards the user's text.
fn drop_draft(app: &mut App, draft: Draft) -> Vec<Effect> {
    let said = app.lang.say(
        format!("Your text was dropped; {} stays as it is.", draft.of),
        format!("已放弃您的文本，{} 保持不变。", draft.of),
    );
    app.notice = Some(Notice::Done(said));
    forget(app, draft)
}
