//! Reads files: whole, by line range or up to a size, as UTF-8 text or base64 as the request asks.
//!
//! There is no fallback: content that is not UTF-8 is refused if text was asked for, and so is a whole file
//! above the size limit.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsFd as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use polis_core::id::quote_untrusted;
use polis_core::number::saturating_cast;
use polis_core::workspace::file_tools::{FileContent, FileEncoding, ReadFileParams};
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, FileType, OFlags, Stat};

use super::beneath::file_type;
use super::file_error::{self, FileAccess};
use super::file_lock::NONBLOCKING_FLAGS;
use super::{WorkspaceDir, content_hash};
use crate::refusal_tables::FileRefusal;

impl WorkspaceDir {
    /// Returns a file's content. Links are followed as long as they stay inside.
    ///
    /// A file larger than [`FileLimits::max_read_bytes`](super::FileLimits::max_read_bytes) can only be read
    /// by lines or with `max_bytes`; lines are found without loading the whole file. Fails with
    /// `file_too_large` otherwise, and with `not_text` if text is requested and the content is not UTF-8.
    pub fn read(&self, params: &ReadFileParams) -> Result<FileContent, PortError> {
        let path = WorkspacePath::parse(&params.path)?;
        if path.is_directory_path() {
            return Err(file_error::is_a_directory(&path.to_string()));
        }
        let lines = LineRange::from_params(params)?;
        let (file, stat) = self.open_regular_file(&path)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        match lines {
            Some(lines) => self.read_lines(&path, file, size, &lines, params),
            None => self.read_whole(&path, file, size, params),
        }
    }

    /// Opens a regular file for reading, without blocking.
    pub(super) fn open_regular_file(
        &self,
        path: &WorkspacePath,
    ) -> Result<(File, Stat), PortError> {
        let failed = FileAccess::Reading.errno_mapper(path);
        let flags = OFlags::RDONLY | NONBLOCKING_FLAGS;
        let fd = self
            .resolver
            .open(self.root.as_fd(), path.as_str().as_bytes(), flags)
            .map_err(&failed)?;
        let stat = fs::fstat(&fd).map_err(&failed)?;
        match file_type(&stat) {
            FileType::RegularFile => Ok((File::from(fd), stat)),
            FileType::Directory => Err(file_error::is_a_directory(&path.to_string())),
            _ => Err(file_error::not_a_file(&path.to_string())),
        }
    }

    fn read_whole(
        &self,
        path: &WorkspacePath,
        file: File,
        size: u64,
        params: &ReadFileParams,
    ) -> Result<FileContent, PortError> {
        let limit = self.limits.max_read_bytes;
        if params.max_bytes.is_none() && size > limit {
            return Err(too_large_to_read(path, size, limit));
        }
        let limit = limit.min(params.max_bytes.unwrap_or(limit));
        // One byte more than requested shows whether the file continues.
        let room = usize::try_from(size.min(limit)).unwrap_or(0);
        let mut content = Vec::with_capacity(room + 1);
        file.take(limit.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(FileAccess::Reading.io_error_mapper(path))?;
        let read = saturating_cast::<u64>(content.len());
        let truncated = read > limit;
        if truncated {
            if params.max_bytes.is_none() {
                return Err(too_large_to_read(path, read, limit));
            }
            content.truncate(saturating_cast::<usize>(limit));
        }
        let hash = (!truncated).then(|| content_hash::sha256_hex(&content));
        Ok(FileContent {
            content: encode_content(path, content, truncated, params.encoding)?,
            encoding: non_default_encoding(params.encoding),
            size: if truncated { size.max(read) } else { read },
            hash,
            start_line: None,
            end_line: None,
            total_lines: None,
            truncated,
        })
    }

    fn read_lines(
        &self,
        path: &WorkspacePath,
        file: File,
        size: u64,
        lines: &LineRange,
        params: &ReadFileParams,
    ) -> Result<FileContent, PortError> {
        let limit = self.limits.max_read_bytes;
        let content_limit = saturating_cast::<usize>(limit.min(params.max_bytes.unwrap_or(limit)));
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let mut found = LineCollector::default();
        // A small file is read to its end, so that the total number of lines is known.
        let to_the_end = size <= limit;
        loop {
            let piece = match reader.fill_buf() {
                Ok([]) => {
                    found.reached_end = true;
                    break;
                }
                Ok(piece) => piece,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(FileAccess::Reading.io_error_mapper(path)(error)),
            };
            let count = piece.len();
            found.push_chunk(piece, lines, content_limit);
            reader.consume(count);
            if found.is_complete(lines) && !to_the_end {
                break;
            }
        }
        let last = found.line - u64::from(!found.is_within_line);
        let some = !found.content.is_empty();
        Ok(FileContent {
            content: encode_content(path, found.content, found.truncated, params.encoding)?,
            encoding: non_default_encoding(params.encoding),
            size,
            hash: None,
            start_line: Some(lines.first),
            end_line: some.then_some(found.last),
            total_lines: found.reached_end.then_some(last),
            truncated: found.truncated,
        })
    }
}

/// Requested range of lines, counted from 1, both ends included.
#[derive(Debug)]
struct LineRange {
    first: u64,
    last: u64,
}

impl LineRange {
    fn from_params(params: &ReadFileParams) -> Result<Option<Self>, PortError> {
        if params.start_line.is_none() && params.end_line.is_none() {
            return Ok(None);
        }
        let first = params.start_line.unwrap_or(1);
        let last = params.end_line.unwrap_or(u64::MAX);
        if first == 0 || last < first {
            return Err(FileRefusal::InvalidLines.into());
        }
        Ok(Some(Self { first, last }))
    }
}

/// Collects the requested lines while the file is read in chunks.
#[derive(Debug)]
struct LineCollector {
    content: Vec<u8>,
    /// Number of the current line.
    line: u64,
    /// Whether a part of that line was already read.
    is_within_line: bool,
    /// Number of the last line in the content.
    last: u64,
    truncated: bool,
    reached_end: bool,
}

impl Default for LineCollector {
    fn default() -> Self {
        Self {
            content: Vec::new(),
            line: 1,
            is_within_line: false,
            last: 0,
            truncated: false,
            reached_end: false,
        }
    }
}

impl LineCollector {
    /// Processes the next chunk of the file.
    fn push_chunk(&mut self, mut piece: &[u8], lines: &LineRange, limit: usize) {
        while !piece.is_empty() {
            let end = memchr::memchr(b'\n', piece).map(|at| at + 1);
            let (part, rest) = piece
                .split_at_checked(end.unwrap_or(piece.len()))
                .unwrap_or((piece, &[]));
            if (lines.first..=lines.last).contains(&self.line) && !self.truncated {
                let room = limit - self.content.len();
                self.truncated = part.len() > room;
                if room > 0 {
                    self.last = self.line;
                }
                self.content
                    .extend_from_slice(part.get(..room).unwrap_or(part));
            }
            self.is_within_line = end.is_none();
            if end.is_some() {
                self.line += 1;
            }
            piece = rest;
        }
    }

    fn is_complete(&self, lines: &LineRange) -> bool {
        self.truncated || self.line > lines.last
    }
}

fn non_default_encoding(encoding: FileEncoding) -> Option<FileEncoding> {
    match encoding {
        FileEncoding::Utf8 => None,
        FileEncoding::Base64 => Some(encoding),
    }
}

/// Encodes the content for the result. Truncated text may end within a character, which is removed.
fn encode_content(
    path: &WorkspacePath,
    mut content: Vec<u8>,
    cut: bool,
    encoding: FileEncoding,
) -> Result<String, PortError> {
    match encoding {
        FileEncoding::Base64 => Ok(STANDARD.encode(content)),
        FileEncoding::Utf8 => {
            if cut
                && let Err(error) = std::str::from_utf8(&content)
                && error.error_len().is_none()
            {
                content.truncate(error.valid_up_to());
            }
            String::from_utf8(content).map_err(|_| {
                PortError::from(FileRefusal::NotText {
                    path: quote_untrusted(&path.to_string()),
                })
            })
        }
    }
}

fn too_large_to_read(path: &WorkspacePath, size: u64, limit: u64) -> PortError {
    PortError::from(FileRefusal::TooLargeToRead {
        path: quote_untrusted(&path.to_string()),
        size,
        limit,
    })
}
