//! Edits a draft in the external editor (`$VISUAL` or `$EDITOR`): draft file, child process and terminal
//! state.
//!
//! The result is a message with the edited text, or with an error if the editor failed or its file cannot be
//! read. The file stays until the draft is saved or discarded.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use polis_i18n::msg;
use polis_view::UiLanguage;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;

use crate::app::{AppMessage, DisplayError, EditDraft};

/// How long to wait for an editor after SIGTERM.
const TERMINATE_TIMEOUT: Duration = Duration::from_millis(500);

/// An editor opened on a draft. The file stays until it is explicitly no longer needed.
pub(super) struct ExternalEditor {
    draft: EditDraft,
    file: PathBuf,
    pid: Option<Pid>,
    exit_status: oneshot::Receiver<io::Result<ExitStatus>>,
    /// The terminal settings before the editor was started.
    terminal: Option<Termios>,
    lang: UiLanguage,
}

impl ExternalEditor {
    /// Opens a draft in an editor. Fails with the message to process if the file cannot be written or the
    /// editor cannot be started.
    pub(super) fn open(
        mut draft: EditDraft,
        editor: &str,
        lang: UiLanguage,
    ) -> Result<Self, Box<AppMessage>> {
        let terminal = tcgetattr(io::stdin()).ok();
        let opened = write_draft_file(&draft).and_then(|file| {
            draft.file = Some(file.clone());
            spawn_editor(&file, editor).map(|child| (file, child))
        });
        let (file, mut child) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let refused = edit_failed_error(&error, lang);
                return Err(Box::new(AppMessage::EditorClosed(draft, Err(refused))));
            }
        };
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (sender, exit_status) = oneshot::channel();
        // On a separate thread, so that the program can exit even if the editor does not.
        std::thread::spawn(move || {
            let _ = sender.send(child.wait());
        });
        Ok(Self {
            draft,
            file,
            pid: id,
            exit_status,
            terminal,
            lang,
        })
    }

    /// Waits until the editor exits.
    pub(super) async fn wait_for_exit(&mut self) -> io::Result<ExitStatus> {
        let result = (&mut self.exit_status).await;
        result.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Returns the message with the edited text, or with the error.
    pub(super) fn into_message(mut self, exit_result: io::Result<ExitStatus>) -> AppMessage {
        let read = std::fs::read_to_string(&self.file);
        self.draft.unreadable = read.is_err();
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if read.as_ref().is_err_and(is_missing) {
            // The text given to the editor is all that is left; if it contains changes, it gets a new file.
            let draft = &mut self.draft;
            (draft.unreadable, draft.file) = (false, None);
            if !draft.target.is_same_text(&draft.text, &draft.base) {
                draft.file = write_draft_file(draft).ok();
            }
        }
        let refused = match (&exit_result, &read) {
            (Ok(status), _) if !status.success() => exit_status_error(*status, self.lang),
            (Err(error), _) => edit_failed_error(error, self.lang),
            (_, Err(error)) if is_missing(error) => file_deleted_error(self.lang),
            (_, Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                not_utf8_error(self.lang)
            }
            (_, Err(error)) => edit_failed_error(error, self.lang),
            (Ok(_), Ok(text)) => {
                let text = text.clone();
                return AppMessage::EditorClosed(self.draft, Ok(text));
            }
        };
        // Text written before the editor failed is kept in the draft.
        if let Ok(text) = read {
            self.draft.text = text;
        }
        AppMessage::EditorClosed(self.draft, Err(refused))
    }

    /// Sends SIGTERM to the editor, waits a short time for it, restores the terminal settings, and returns
    /// the path of the draft.
    pub(super) async fn terminate(mut self) -> PathBuf {
        if let Some(id) = self.pid {
            let _ = kill_process(id, Signal::TERM);
        }
        let _ = tokio::time::timeout(TERMINATE_TIMEOUT, self.wait_for_exit()).await;
        if let Some(terminal) = &self.terminal {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
        }
        self.file
    }
}

/// Writes the text to the draft's file, or to a new temporary file if it has none. Returns its path.
fn write_draft_file(draft: &EditDraft) -> io::Result<PathBuf> {
    if let Some(file) = &draft.file {
        // Unreadable content exists only in the file, so it must not be overwritten.
        if !draft.unreadable || !file.exists() {
            std::fs::write(file, &draft.text)?;
        }
        return Ok(file.clone());
    }
    let prefix = match draft.target {
        crate::app::EditTarget::Board(_) => "polis-board-",
        crate::app::EditTarget::Task(_) => "polis-task-",
    };
    let mut file = tempfile::Builder::new()
        .prefix(prefix)
        .suffix(".md")
        .tempfile()?;
    file.write_all(draft.text.as_bytes())?;
    file.flush()?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}

fn spawn_editor(file: &Path, editor: &str) -> io::Result<Child> {
    // The setting may contain arguments, as in "code --wait", so the shell splits it. If it consists of plain
    // words, `exec` replaces the shell with the editor, so that signals reach it.
    let is_plain = |c: char| c.is_alphanumeric() || " _-./+:,@%".contains(c);
    let exec = if editor.chars().all(is_plain) {
        "exec "
    } else {
        ""
    };
    Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("{exec}{editor} \"$1\""))
        .arg("polis")
        .arg(file)
        .spawn()
}

fn exit_status_error(status: ExitStatus, lang: UiLanguage) -> DisplayError {
    let status_text = match status.code() {
        Some(code) => msg::tui_editor_exit_status(lang, code),
        None => msg::tui_editor_ended_by_signal(lang).to_owned(),
    };
    DisplayError {
        code: "editor_failed".to_owned(),
        message: msg::tui_editor_failed(lang, status_text),
        hint: msg::tui_editor_failed_hint(lang).to_owned(),
        is_temporary: false,
    }
}

fn file_deleted_error(lang: UiLanguage) -> DisplayError {
    DisplayError {
        code: "editor_failed".to_owned(),
        message: msg::tui_editor_file_deleted(lang).to_owned(),
        hint: msg::tui_edit_again_hint(lang).to_owned(),
        is_temporary: false,
    }
}

fn not_utf8_error(lang: UiLanguage) -> DisplayError {
    DisplayError {
        code: "editor_failed".to_owned(),
        message: msg::tui_editor_file_not_utf8(lang).to_owned(),
        hint: msg::tui_editor_file_not_utf8_hint(lang).to_owned(),
        is_temporary: false,
    }
}

fn edit_failed_error(error: &io::Error, lang: UiLanguage) -> DisplayError {
    DisplayError {
        code: "editor_failed".to_owned(),
        message: msg::tui_edit_failed(lang, error),
        hint: msg::tui_editor_not_started_hint(lang).to_owned(),
        is_temporary: false,
    }
}
