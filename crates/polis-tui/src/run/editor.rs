//! Edits a draft in the user's external editor: draft file, child process and terminal state.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use polis_view::Lang;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;

use crate::app::{Draft, Message, Refused};

/// How long to wait for an editor after SIGTERM.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// An editor opened on a draft. The file stays until it is explicitly no longer needed.
pub(super) struct Editor {
    draft: Draft,
    file: PathBuf,
    id: Option<Pid>,
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
    /// The terminal settings before the editor was started.
    terminal: Option<Termios>,
    lang: Lang,
}

impl Editor {
    /// Opens a draft in an editor. On failure returns the message to process.
    pub(super) fn open(mut draft: Draft, editor: &str, lang: Lang) -> Result<Self, Box<Message>> {
        let terminal = tcgetattr(io::stdin()).ok();
        let opened = put(&draft).and_then(|file| {
            draft.file = Some(file.clone());
            spawn(&file, editor).map(|child| (file, child))
        });
        let (file, mut child) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let refused = failed(&error, lang);
                return Err(Box::new(Message::Edited(draft, Err(refused))));
            }
        };
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (tell, ended) = oneshot::channel();
        // On a separate thread, so that the program can exit even if the editor does not.
        std::thread::spawn(move || {
            let _ = tell.send(child.wait());
        });
        Ok(Self {
            draft,
            file,
            id,
            ended,
            terminal,
            lang,
        })
    }

    /// Waits until the editor exits.
    pub(super) async fn closed(&mut self) -> io::Result<ExitStatus> {
        let ended = (&mut self.ended).await;
        ended.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Returns the message with the result.
    pub(super) fn told(mut self, ended: io::Result<ExitStatus>) -> Message {
        let read = std::fs::read_to_string(&self.file);
        self.draft.unread = read.is_err();
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if read.as_ref().is_err_and(gone) {
            // The text given to the editor is all that is left; if it contains user changes, it gets a new
            // file.
            let draft = &mut self.draft;
            (draft.unread, draft.file) = (false, None);
            if !draft.of.is_same(&draft.text, &draft.base) {
                draft.file = put(draft).ok();
            }
        }
        let refused = match (&ended, &read) {
            (Ok(status), _) if !status.success() => ended_with(*status, self.lang),
            (Err(error), _) => failed(error, self.lang),
            (_, Err(error)) if gone(error) => deleted(self.lang),
            (_, Err(error)) if error.kind() == io::ErrorKind::InvalidData => no_text(self.lang),
            (_, Err(error)) => failed(error, self.lang),
            (Ok(_), Ok(text)) => {
                let text = text.clone();
                return Message::Edited(self.draft, Ok(text));
            }
        };
        // Text written before the editor failed is still the user's text.
        if let Ok(text) = read {
            self.draft.text = text;
        }
        Message::Edited(self.draft, Err(refused))
    }

    /// Terminates the editor, restores the terminal settings, and returns the path of the draft.
    pub(super) async fn end(mut self) -> PathBuf {
        if let Some(id) = self.id {
            let _ = kill_process(id, Signal::TERM);
        }
        let _ = tokio::time::timeout(LAST_WORDS, self.closed()).await;
        if let Some(terminal) = &self.terminal {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
        }
        self.file
    }
}

/// Writes the text to the draft file.
fn put(draft: &Draft) -> io::Result<PathBuf> {
    if let Some(file) = &draft.file {
        // Unreadable content exists only in the file, so it must not be overwritten.
        if !draft.unread || !file.exists() {
            std::fs::write(file, &draft.text)?;
        }
        return Ok(file.clone());
    }
    let prefix = match draft.of {
        crate::app::Sheet::Board(_) => "polis-board-",
        crate::app::Sheet::Task(_) => "polis-task-",
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

fn spawn(file: &Path, editor: &str) -> io::Result<Child> {
    // The setting may contain arguments, as in "code --wait", so the shell splits it. If it consists of plain
    // words, `exec` replaces the shell with the editor, so that signals reach it.
    let plain = |c: char| c.is_alphanumeric() || " _-./+:,@%".contains(c);
    let exec = match editor.chars().all(plain) {
        true => "exec ",
        false => "",
    };
    Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("{exec}{editor} \"$1\""))
        .arg("polis")
        .arg(file)
        .spawn()
}

fn ended_with(status: ExitStatus, lang: Lang) -> Refused {
    let how = match status.code() {
        Some(code) => lang.say(format!("status {code}"), format!("退出码 {code}")),
        None => lang.say("a signal", "信号").to_owned(),
    };
    Refused {
        code: "editor_failed".to_owned(),
        message: lang.say(
            format!("The editor ended with {how}; nothing was saved."),
            format!("编辑器以{how}结束，未保存任何内容。"),
        ),
        hint: lang
            .say(
                "look at $VISUAL and $EDITOR, then edit again",
                "请检查 $VISUAL 与 $EDITOR 后再编辑",
            )
            .to_owned(),
        detail: String::new(),
        passing: false,
    }
}

fn deleted(lang: Lang) -> Refused {
    Refused {
        code: "editor_failed".to_owned(),
        message: lang
            .say(
                "The editor has deleted its file; nothing was saved.",
                "编辑器删除了文件，未保存任何内容。",
            )
            .to_owned(),
        hint: lang.say("edit again", "请再次编辑").to_owned(),
        detail: String::new(),
        passing: false,
    }
}

fn no_text(lang: Lang) -> Refused {
    Refused {
        code: "editor_failed".to_owned(),
        message: lang
            .say(
                "The file is not UTF-8; nothing was saved, and your text is only in the file.",
                "文件不是 UTF-8 编码，未保存任何内容；您的文本只在该文件中。",
            )
            .to_owned(),
        hint: lang
            .say(
                "edit again and write it as UTF-8 (in vim: :set fileencoding=utf-8)",
                "请再次编辑并以 UTF-8 保存（vim：:set fileencoding=utf-8）",
            )
            .to_owned(),
        detail: String::new(),
        passing: false,
    }
}

fn failed(error: &io::Error, lang: Lang) -> Refused {
    Refused {
        code: "editor_failed".to_owned(),
        message: lang.say(
            format!("The text could not be edited: {error}."),
            format!("无法编辑文本：{error}。"),
        ),
        hint: lang
            .say(
                "look at $VISUAL, $EDITOR and $TMPDIR, then edit again",
                "请检查 $VISUAL、$EDITOR 与 $TMPDIR 后再编辑",
            )
            .to_owned(),
        detail: String::new(),
        passing: false,
    }
}
