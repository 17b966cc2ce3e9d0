//! Replacing text in a file. No other byte changes, also in files that are not UTF-8.

use std::io::Read as _;

use memchr::memmem;
use polis_core::Code;
use polis_core::id::quoted;
use polis_core::workspace::file::{EditFile, Edited};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;

use super::fault::{self, Doing};
use super::hold::Wants;
use super::place::Made;
use super::{WorkspaceDir, hash};

/// The largest file that is edited, in bytes, before and after: both are held in memory.
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
        let mut content = Vec::new();
        let size = (&held.file)
            .take(MAX_EDITED + 1)
            .read_to_end(&mut content)
            .map_err(Doing::Reading.io_at(&path))?;
        if u64::try_from(size).unwrap_or(u64::MAX) > MAX_EDITED {
            return Err(too_large(&path, "is"));
        }
        if let Some(expected) = &expected {
            hash::compare(&path, expected, hash::of(&content))?;
        }
        let (new, replaced) = replace(&path, &content, ask)?;
        if new != content {
            self.put(&path, &place, &new, Some(&held.stat), &Made::default())?;
        }
        Ok(Edited {
            ok: true,
            replaced,
            bytes: u64::try_from(new.len()).unwrap_or(u64::MAX),
            hash: hash::of(&new),
        })
    }
}

/// The content with the text replaced, and in how many places.
fn replace(
    path: &WorkspacePath,
    content: &[u8],
    ask: &EditFile,
) -> Result<(Vec<u8>, u64), PortError> {
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
    let count = if ask.replace_all {
        finder.find_iter(content).count()
    } else {
        1
    };
    let size = content
        .len()
        .saturating_sub(count.saturating_mul(old.len()));
    let size = size.saturating_add(count.saturating_mul(new.len()));
    if u64::try_from(size).unwrap_or(u64::MAX) > MAX_EDITED {
        return Err(too_large(path, "would become"));
    }
    let mut edited = Vec::with_capacity(size);
    let (mut from, mut replaced) = (0, 0);
    for at in finder.find_iter(content) {
        edited.extend_from_slice(content.get(from..at).unwrap_or_default());
        edited.extend_from_slice(new);
        from = at + old.len();
        replaced += 1;
    }
    edited.extend_from_slice(content.get(from..).unwrap_or_default());
    Ok((edited, replaced))
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
