//! Reading files: whole, by lines, up to a size, as text or as bytes.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsFd as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use polis_core::Code;
use polis_core::id::quoted;
use polis_core::workspace::file::{Encoding, FileContent, ReadFile};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, FileType, OFlags, Stat};

use super::beneath::kind;
use super::fault::{self, Doing};
use super::hold::AT_ONCE;
use super::{WorkspaceDir, hash};

impl WorkspaceDir {
    /// A file's content. Links are followed as long as they stay inside.
    ///
    /// A file larger than [`FileLimits::max_read`](super::FileLimits::max_read) is read by lines or
    /// with `max_bytes`; lines are looked for without holding the file in memory.
    pub fn read(&self, ask: &ReadFile) -> Result<FileContent, PortError> {
        let path = WorkspacePath::parse(&ask.path)?;
        if path.names_directory() {
            return Err(fault::is_a_directory(&path.to_string()));
        }
        let lines = Lines::asked(ask)?;
        let (file, stat) = self.open_file(&path)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        match lines {
            Some(lines) => self.read_lines(&path, file, size, &lines, ask),
            None => self.read_whole(&path, file, size, ask),
        }
    }

    /// Opens a regular file for reading, without waiting for anybody.
    pub(super) fn open_file(&self, path: &WorkspacePath) -> Result<(File, Stat), PortError> {
        let failed = Doing::Reading.at(path);
        let flags = OFlags::RDONLY | AT_ONCE;
        let fd = self
            .resolver
            .open(self.root.as_fd(), path.as_str().as_bytes(), flags)
            .map_err(&failed)?;
        let stat = fs::fstat(&fd).map_err(&failed)?;
        match kind(&stat) {
            FileType::RegularFile => Ok((File::from(fd), stat)),
            FileType::Directory => Err(fault::is_a_directory(&path.to_string())),
            _ => Err(fault::not_a_file(&path.to_string())),
        }
    }

    fn read_whole(
        &self,
        path: &WorkspacePath,
        file: File,
        size: u64,
        ask: &ReadFile,
    ) -> Result<FileContent, PortError> {
        let most = self.limits.max_read;
        if ask.max_bytes.is_none() && size > most {
            return Err(too_large(path, size, most));
        }
        let most = most.min(ask.max_bytes.unwrap_or(most));
        // One byte more than wanted tells whether there is more.
        let room = usize::try_from(size.min(most)).unwrap_or(0);
        let mut content = Vec::with_capacity(room + 1);
        file.take(most.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(Doing::Reading.io_at(path))?;
        let read = u64::try_from(content.len()).unwrap_or(u64::MAX);
        let truncated = read > most;
        if truncated {
            if ask.max_bytes.is_none() {
                return Err(too_large(path, read, most));
            }
            content.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        }
        let hash = (!truncated).then(|| hash::of(&content));
        Ok(FileContent {
            content: encode(path, content, truncated, ask.encoding)?,
            encoding: named(ask.encoding),
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
        lines: &Lines,
        ask: &ReadFile,
    ) -> Result<FileContent, PortError> {
        let limit = self.limits.max_read;
        let most = usize::try_from(limit.min(ask.max_bytes.unwrap_or(limit))).unwrap_or(usize::MAX);
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let mut found = Found::default();
        // To the end where that is near, so that the number of lines can be told.
        let to_the_end = size <= limit;
        loop {
            let piece = match reader.fill_buf() {
                Ok([]) => {
                    found.ended = true;
                    break;
                }
                Ok(piece) => piece,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Doing::Reading.io_at(path)(error)),
            };
            let count = piece.len();
            found.take(piece, lines, most);
            reader.consume(count);
            if found.done(lines) && !to_the_end {
                break;
            }
        }
        let last = found.line - u64::from(!found.within_line);
        let some = !found.content.is_empty();
        Ok(FileContent {
            content: encode(path, found.content, found.truncated, ask.encoding)?,
            encoding: named(ask.encoding),
            size,
            hash: None,
            start_line: Some(lines.first),
            end_line: some.then_some(found.last),
            total_lines: found.ended.then_some(last),
            truncated: found.truncated,
        })
    }
}

/// Which lines are wanted.
#[derive(Debug)]
struct Lines {
    first: u64,
    last: u64,
}

impl Lines {
    fn asked(ask: &ReadFile) -> Result<Option<Self>, PortError> {
        if ask.start_line.is_none() && ask.end_line.is_none() {
            return Ok(None);
        }
        let first = ask.start_line.unwrap_or(1);
        let last = ask.end_line.unwrap_or(u64::MAX);
        if first == 0 || last < first {
            return Err(fault::invalid(
                "Lines are counted from 1, and the last one wanted is not before the first.",
                "give startLine and endLine (`--lines`), such as 1 and 200",
            ));
        }
        Ok(Some(Self { first, last }))
    }
}

/// What a search for lines has found so far.
#[derive(Debug)]
struct Found {
    content: Vec<u8>,
    /// The line we are in, or before.
    line: u64,
    /// Whether anything of that line was met.
    within_line: bool,
    /// The last line of the content.
    last: u64,
    truncated: bool,
    ended: bool,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            content: Vec::new(),
            line: 1,
            within_line: false,
            last: 0,
            truncated: false,
            ended: false,
        }
    }
}

impl Found {
    /// Goes through the next piece of the file.
    fn take(&mut self, mut piece: &[u8], lines: &Lines, most: usize) {
        while !piece.is_empty() {
            let end = memchr::memchr(b'\n', piece).map(|at| at + 1);
            let (part, rest) = piece
                .split_at_checked(end.unwrap_or(piece.len()))
                .unwrap_or((piece, &[]));
            if (lines.first..=lines.last).contains(&self.line) && !self.truncated {
                let room = most - self.content.len();
                self.truncated = part.len() > room;
                if room > 0 {
                    self.last = self.line;
                }
                self.content
                    .extend_from_slice(part.get(..room).unwrap_or(part));
            }
            self.within_line = end.is_none();
            if end.is_some() {
                self.line += 1;
            }
            piece = rest;
        }
    }

    fn done(&self, lines: &Lines) -> bool {
        self.truncated || self.line > lines.last
    }
}

fn named(encoding: Encoding) -> Option<Encoding> {
    match encoding {
        Encoding::Utf8 => None,
        Encoding::Base64 => Some(encoding),
    }
}

/// The content as it is answered. Text that was cut may have been cut within a character.
fn encode(
    path: &WorkspacePath,
    mut content: Vec<u8>,
    cut: bool,
    encoding: Encoding,
) -> Result<String, PortError> {
    match encoding {
        Encoding::Base64 => Ok(STANDARD.encode(content)),
        Encoding::Utf8 => {
            if cut
                && let Err(error) = std::str::from_utf8(&content)
                && error.error_len().is_none()
            {
                content.truncate(error.valid_up_to());
            }
            String::from_utf8(content).map_err(|_| {
                PortError::new(
                    Code::NotText,
                    format!("{} is not text in UTF-8.", quoted(&path.to_string())),
                    "ask for it with encoding base64 (`--base64`)",
                )
            })
        }
    }
}

fn too_large(path: &WorkspacePath, size: u64, most: u64) -> PortError {
    PortError::new(
        Code::FileTooLarge,
        format!(
            "{} has {size} bytes; at most {most} are read at once.",
            quoted(&path.to_string())
        ),
        "read a part of it: give startLine and endLine (`--lines`), or maxBytes (`--max-bytes`)",
    )
}
