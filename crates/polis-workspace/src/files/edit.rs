//! Replacing text in a file. No other byte changes, also in files that are not UTF-8.

use std::io::{self, BufWriter, Read as _, Write};

use memchr::memmem;
use polis_core::Code;
use polis_core::id::quoted;
use polis_core::workspace::file::{EditFile, Edited};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;

use super::fault::{self, Doing};
use super::hold::Wants;
use super::memory::{MAX_SMALL_BYTES, TurnOfLarge};
use super::place::Made;
use super::write::NewContent;
use super::{WorkspaceDir, hash};

/// The largest file that is edited, in bytes, before and after.
const MAX_EDITED: u64 = 16 * 1024 * 1024;

impl WorkspaceDir {
    /// Replaces text in a file, whole or not at all, durably. Two edits of one file at the same
    /// time both count.
    pub fn edit(&self, ask: &EditFile) -> Result<Edited, PortError> {
        let path = WorkspacePath::parse(&ask.path)?;
        if path.names_directory() {
            return Err(fault::is_a_directory(&path.to_string()));
        }
        let expected = hash::expected(ask.expected_hash.as_deref())?;
        if ask.old_text.is_empty() {
            return Err(fault::invalid(
                "The text to replace is empty.",
                "give the text as it stands in the file; to write a new file, write it whole",
            ));
        }
        let place = self.place(&path, Doing::Writing)?;
        let place = self.behind_links(&path, place)?;
        let held = self
            .hold(&path, &place, Wants::Content)?
            .ok_or_else(|| fault::not_found(&path.to_string()))?;
        let size = u64::try_from(held.stat.st_size).unwrap_or(u64::MAX);
        if size > MAX_EDITED {
            return Err(too_large(&path, "is"));
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        // A lock that is waited for comes before the turn.
        let quota = self.lock_quota(&path)?;
        let _turn = (size > MAX_SMALL_BYTES).then(TurnOfLarge::wait);
        let mut content = Vec::with_capacity(size + 1);
        // No more than was seen: another program may be appending to the file.
        let most = u64::try_from(size).unwrap_or(u64::MAX);
        let read = (&held.file).take(most + 1).read_to_end(&mut content);
        if read.map_err(Doing::Reading.io_at(&path))? > size {
            return Err(grows(&path));
        }
        if let Some(expected) = &expected {
            hash::compare(&path, expected, hash::of(&content))?;
        }
        let replacement = Replacement::of(&path, &content, ask)?;
        let new = NewContent {
            size: replacement.size,
            write: &|file| replacement.write(file),
        };
        if ask.old_text != ask.new_text {
            let (old, made) = (Some(&held.stat), Made::default());
            self.put(&path, &place, &new, old, &made, quota.as_ref())?;
        }
        Ok(Edited {
            ok: true,
            replaced: replacement.count,
            bytes: replacement.size,
            hash: hash::of_written(|hasher| replacement.write(hasher)),
        })
    }
}

/// The content of a file with a text replaced. It is written piece by piece, so only the old content is in memory.
struct Replacement<'a> {
    content: &'a [u8],
    finder: memmem::Finder<'a>,
    new: &'a [u8],
    /// In how many places.
    count: u64,
    /// How long the new content is.
    size: u64,
}

impl<'a> Replacement<'a> {
    fn of(path: &WorkspacePath, content: &'a [u8], ask: &'a EditFile) -> Result<Self, PortError> {
        let (old, new) = (ask.old_text.as_bytes(), ask.new_text.as_bytes());
        let finder = memmem::Finder::new(old);
        let Some(first) = finder.find(content) else {
            return Err(not_found(path, content, ask));
        };
        if !ask.replace_all {
            // Places may overlap: "aa" is twice in "aaa".
            let after = content.get(first + 1..).unwrap_or_default();
            if finder.find(after).is_some() {
                let count = finder.find_iter(content).count().max(2);
                return Err(PortError::new(
                    Code::TextNotUnique,
                    format!(
                        "The text to replace is {count} times in {}; nothing was changed.",
                        quoted(&path.to_string())
                    ),
                    "give more of the text around it, or replaceAll (`--all`)",
                ));
            }
        }
        // Counted before it is made: a short text in many places can make a file of any size.
        let count = finder.find_iter(content).count();
        let size = content
            .len()
            .saturating_sub(count.saturating_mul(old.len()));
        let size = size.saturating_add(count.saturating_mul(new.len()));
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        if size > MAX_EDITED {
            return Err(too_large(path, "would become"));
        }
        Ok(Self {
            content,
            finder,
            new,
            count: u64::try_from(count).unwrap_or(u64::MAX),
            size,
        })
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        // Pieces may be as short as a letter.
        let mut to = BufWriter::with_capacity(64 * 1024, to);
        let mut from = 0;
        for at in self.finder.find_iter(self.content) {
            to.write_all(self.content.get(from..at).unwrap_or_default())?;
            to.write_all(self.new)?;
            from = at + self.finder.needle().len();
        }
        to.write_all(self.content.get(from..).unwrap_or_default())?;
        to.flush()
    }
}

fn grows(path: &WorkspacePath) -> PortError {
    PortError::new(
        Code::FileBusy,
        format!(
            "Another program is writing to {}; nothing was changed.",
            quoted(&path.to_string())
        ),
        "retry when it has finished",
    )
}

fn too_large(path: &WorkspacePath, is: &str) -> PortError {
    PortError::new(
        Code::FileTooLarge,
        format!(
            "{} {is} larger than the {MAX_EDITED} bytes that are edited; nothing was changed.",
            quoted(&path.to_string())
        ),
        "edit it with a command, such as sed",
    )
}

fn not_found(path: &WorkspacePath, content: &[u8], ask: &EditFile) -> PortError {
    let windows = memmem::find(content, b"\r\n").is_some();
    let hint = if windows && ask.old_text.contains('\n') && !ask.old_text.contains('\r') {
        "the lines of this file end with \\r\\n: give them so"
    } else {
        "read the file, and give the text exactly as it stands there, with its blanks"
    };
    PortError::new(
        Code::TextNotFound,
        format!(
            "The text to replace is not in {}; nothing was changed.",
            quoted(&path.to_string())
        ),
        hint,
    )
}
