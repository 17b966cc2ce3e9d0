//! Capture of a command's output in bounded memory: the head and the tail of each stream are kept, and the position
//! and the number of the bytes omitted between them. The operation inserts a line there, in the caller's language.
//!
//! All output is also passed to [`crate::sandbox::output::spool`], which writes it to a file once a stream is
//! truncated. The caller reads the pipes.

use polis_core::number::saturating_cast;
use polis_core::workspace::command_outcome::{OutputStream, StreamOutput};
use polis_core::workspace::output_tail::OutputTail;

use crate::sandbox::output::spool::{OutputSpool, SpoolDirectory, SpoolFile};

/// Captures both streams of a running command, and spools the complete output to a file if it is long.
#[derive(Debug)]
pub(crate) struct OutputCapture {
    stdout: StreamCapture,
    stderr: StreamCapture,
    spool: Option<OutputSpool>,
}

/// Captured output of a finished command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CapturedOutput {
    /// Captured stdout.
    pub(crate) stdout: StreamOutput,
    /// Captured stderr.
    pub(crate) stderr: StreamOutput,
    /// File with both streams, if a part of them was omitted.
    pub(crate) spooled: Option<SpoolFile>,
}

impl OutputCapture {
    /// Creates an empty capture. Keeps at most `limit` bytes of each stream; without `spool_directory` the
    /// complete output is not written to a file.
    pub(crate) fn new(limit: usize, spool_directory: Option<SpoolDirectory>) -> Self {
        Self {
            stdout: StreamCapture::new(limit),
            stderr: StreamCapture::new(limit),
            spool: spool_directory.map(OutputSpool::new),
        }
    }

    /// Adds a piece of output. May write to the file, so it may block on the disk.
    pub(crate) fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        let capture = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        capture.push(bytes);
        if let Some(spool) = &mut self.spool {
            spool.push(bytes);
            if capture.is_truncated() {
                spool.start_file();
            }
        }
    }

    /// Returns the captured output.
    pub(crate) fn finish(self) -> CapturedOutput {
        let spooled = self.spool.and_then(OutputSpool::finish);
        CapturedOutput {
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            spooled,
        }
    }
}

/// Head, tail and total length of one stream.
#[derive(Debug)]
pub(crate) struct StreamCapture {
    head: Vec<u8>,
    head_limit: usize,
    tail: OutputTail,
    bytes: u64,
}

impl StreamCapture {
    /// Creates an empty capture that keeps at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        let tail_limit = limit / 2;
        Self {
            head: Vec::new(),
            head_limit: limit - tail_limit,
            tail: OutputTail::new(tail_limit),
            bytes: 0,
        }
    }

    /// Adds the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(as_u64(bytes.len()));
        let free = self.head_limit.saturating_sub(self.head.len());
        let (first, rest) = bytes
            .split_at_checked(free)
            .unwrap_or((bytes, Default::default()));
        extend_within_limit(&mut self.head, first, self.head_limit);
        self.tail.push(rest);
    }

    /// Returns whether a part of the stream was omitted.
    pub(crate) fn is_truncated(&self) -> bool {
        self.bytes > as_u64(self.head.len() + self.tail.kept_bytes())
    }

    /// Returns the captured text.
    pub(crate) fn finish(self) -> StreamOutput {
        let overflows = self.is_truncated();
        let mut buffer = self.head;
        let mut tail = self.tail;
        let tail = tail.bytes();
        if !overflows {
            buffer.extend_from_slice(tail);
            return StreamOutput {
                text: into_lossy_string(buffer),
                bytes: self.bytes,
                ..StreamOutput::default()
            };
        }
        buffer.truncate(buffer.len() - incomplete_char_at_end(&buffer));
        let omitted = self
            .bytes
            .saturating_sub(as_u64(buffer.len()))
            .saturating_sub(as_u64(tail.len()));
        let mut text = into_lossy_string(buffer);
        let omitted_at = text.len();
        text.push_str(&String::from_utf8_lossy(tail));
        StreamOutput {
            text,
            bytes: self.bytes,
            omitted,
            omitted_at,
        }
    }
}

/// Converts to text; without copying if the bytes are UTF-8, which is the usual case.
fn into_lossy_string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns how many bytes at the end are an incomplete UTF-8 character.
fn incomplete_char_at_end(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(4);
    for (after, byte) in last.enumerate() {
        let width = match byte {
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        return if after + 1 < width { after + 1 } else { 0 };
    }
    0
}

/// Appends; the capacity never exceeds `limit` bytes.
fn extend_within_limit(buffer: &mut Vec<u8>, more: &[u8], limit: usize) {
    let needed = buffer.len() + more.len();
    if needed > buffer.capacity() {
        let capacity = needed.max(buffer.capacity() * 2).min(limit.max(needed));
        buffer.reserve_exact(capacity - buffer.len());
    }
    buffer.extend_from_slice(more);
}

fn as_u64(length: usize) -> u64 {
    saturating_cast::<u64>(length)
}

#[cfg(test)]
mod tests;
