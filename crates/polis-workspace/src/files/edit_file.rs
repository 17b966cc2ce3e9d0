//! Edits a file: replaces a text that occurs exactly once, or all occurrences of a text. All other bytes stay
//! as they are, even in files that are not UTF-8.

use std::io::{self, BufWriter, Read as _, Write};

use memchr::memmem;
use polis_core::id::quote_untrusted;
use polis_core::number::saturating_cast;
use polis_core::workspace::file_tools::{EditFileParams, EditFileResult};
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;

use super::entry_location::CreatedDirectories;
use super::file_error::{self, FileAccess};
use super::file_lock::LockPurpose;
use super::memory_budget::{LargeOperationGuard, MAX_UNGUARDED_BYTES};
use super::write_file::NewFileContent;
use super::{WorkspaceDir, content_hash};
use crate::refusal_tables::FileRefusal;

/// Maximum size of an edited file, before and after the edit.
const MAX_EDITED_BYTES: u64 = 16 * 1024 * 1024;

impl WorkspaceDir {
    /// Replaces text in a file, atomically and durably. Concurrent edits of one file are serialized by a
    /// lock, so none is lost. Fails with `text_not_found`, with `text_not_unique` if the text occurs several
    /// times and not all are to be replaced, and with `hash_mismatch` if the file does not have the expected
    /// content.
    pub fn edit(&self, params: &EditFileParams) -> Result<EditFileResult, PortError> {
        let path = WorkspacePath::parse(&params.path)?;
        if path.is_directory_path() {
            return Err(file_error::is_a_directory(&path.to_string()));
        }
        let expected = content_hash::parse_expected_hash(params.expected_hash.as_deref())?;
        if params.old_text.is_empty() {
            return Err(FileRefusal::EmptyOldText.into());
        }
        let location = self.locate(&path, FileAccess::Writing)?;
        let location = self.follow_final_symlinks(&path, location)?;
        let locked = self
            .lock_file(&path, &location, LockPurpose::ReadAndReplace)?
            .ok_or_else(|| file_error::not_found(&path.to_string()))?;
        let size = saturating_cast::<u64>(locked.stat.st_size);
        if size > MAX_EDITED_BYTES {
            return Err(FileRefusal::TooLargeToEdit {
                path: quote_untrusted(&path.to_string()),
                limit: MAX_EDITED_BYTES,
            }
            .into());
        }
        let size = saturating_cast::<usize>(size);
        // Locks that may have to be waited for are taken before the guard for large operations.
        let quota = self.lock_quota(&path)?;
        let _turn = (size > MAX_UNGUARDED_BYTES).then(LargeOperationGuard::acquire);
        let mut content = Vec::with_capacity(size + 1);
        // Reads no more than the size seen above: another program may be appending to the file.
        let limit = saturating_cast::<u64>(size);
        let read = (&locked.file).take(limit + 1).read_to_end(&mut content);
        if read.map_err(FileAccess::Reading.io_error_mapper(&path))? > size {
            return Err(concurrent_write_error(&path));
        }
        if let Some(expected) = &expected {
            content_hash::check_expected_hash(&path, expected, content_hash::sha256_hex(&content))?;
        }
        let replacement = TextReplacement::new(&path, &content, params)?;
        let new = NewFileContent {
            size: replacement.size,
            write: &|file| replacement.write_to(file),
        };
        if params.old_text != params.new_text {
            let (old, created) = (Some(&locked.stat), CreatedDirectories::default());
            self.publish_content(&path, &location, &new, old, &created, quota.as_ref())?;
        }
        Ok(EditFileResult {
            ok: true,
            replaced: replacement.count,
            bytes: replacement.size,
            hash: content_hash::sha256_hex_of_writer(|hasher| replacement.write_to(hasher)),
        })
    }
}

/// The content of a file with a text replaced. It is written in pieces, so that only the old content is in
/// memory.
struct TextReplacement<'a> {
    content: &'a [u8],
    finder: memmem::Finder<'a>,
    new: &'a [u8],
    /// Number of replacements.
    count: u64,
    /// Size of the new content in bytes.
    size: u64,
}

impl<'a> TextReplacement<'a> {
    fn new(
        path: &WorkspacePath,
        content: &'a [u8],
        params: &'a EditFileParams,
    ) -> Result<Self, PortError> {
        let (old, new) = (params.old_text.as_bytes(), params.new_text.as_bytes());
        let finder = memmem::Finder::new(old);
        let Some(first) = finder.find(content) else {
            return Err(text_not_found(path, content, params));
        };
        if !params.replace_all {
            // Matches may overlap: "aa" occurs twice in "aaa".
            let after = content.get(first + 1..).unwrap_or_default();
            if finder.find(after).is_some() {
                let count = finder.find_iter(content).count().max(2);
                return Err(PortError::from(FileRefusal::TextNotUnique {
                    count,
                    path: quote_untrusted(&path.to_string()),
                }));
            }
        }
        // The size is computed before writing: a short text with many matches can produce a file of any size.
        let count = finder.find_iter(content).count();
        let size = content
            .len()
            .saturating_sub(count.saturating_mul(old.len()));
        let size = size.saturating_add(count.saturating_mul(new.len()));
        let size = saturating_cast::<u64>(size);
        if size > MAX_EDITED_BYTES {
            return Err(FileRefusal::EditTooLarge {
                path: quote_untrusted(&path.to_string()),
                limit: MAX_EDITED_BYTES,
            }
            .into());
        }
        Ok(Self {
            content,
            finder,
            new,
            count: saturating_cast::<u64>(count),
            size,
        })
    }

    fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        // Pieces may be as short as one letter, so writes are buffered.
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

fn concurrent_write_error(path: &WorkspacePath) -> PortError {
    PortError::from(FileRefusal::WrittenConcurrently {
        path: quote_untrusted(&path.to_string()),
    })
}

fn text_not_found(path: &WorkspacePath, content: &[u8], params: &EditFileParams) -> PortError {
    let windows = memmem::find(content, b"\r\n").is_some();
    let path = quote_untrusted(&path.to_string());
    if windows && params.old_text.contains('\n') && !params.old_text.contains('\r') {
        FileRefusal::TextNotFoundCrLf { path }
    } else {
        FileRefusal::TextNotFound { path }
    }
    .into()
}
