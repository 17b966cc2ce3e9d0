//! What is kept of a command's output, in memory that does not grow.
//!
//! Of each stream the beginning and the end are kept and the bytes between them counted. Reading
//! the pipes is left to the caller, the file with the whole output to [`super::spool`].

use polis_core::workspace::command::Captured;
use polis_ops::port::Stream;

use super::spool::{Spool, SpoolPlace, Spooled};

/// Both streams of a running command, and the file that the whole output goes to if it is long.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: Capture,
    stderr: Capture,
    spool: Option<Spool>,
}

/// What came out of a command that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collected {
    /// What it wrote.
    pub(crate) stdout: Captured,
    /// What it complained.
    pub(crate) stderr: Captured,
    /// The file with both, if some was left out of the texts.
    pub(crate) spooled: Option<Spooled>,
}

impl Output {
    /// Nothing yet. At most `limit` bytes of each stream are kept; without a place for it the whole
    /// output is not written anywhere.
    pub(crate) fn new(limit: usize, place: Option<SpoolPlace>) -> Self {
        Self {
            stdout: Capture::new(limit),
            stderr: Capture::new(limit),
            spool: place.map(Spool::new),
        }
    }

    /// Takes a piece of output. May write to the file, so it may block for as long as the disk
    /// does.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let capture = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        capture.push(bytes);
        if let Some(spool) = &mut self.spool {
            spool.push(bytes);
            if capture.overflows() {
                spool.start();
            }
        }
    }

    /// What was kept.
    pub(crate) fn finish(self) -> Collected {
        let spooled = self.spool.and_then(Spool::finish);
        Collected {
            stdout: self.stdout.finish(spooled.as_ref()),
            stderr: self.stderr.finish(spooled.as_ref()),
            spooled,
        }
    }
}

/// One stream: its first bytes, its last bytes, and how many there were.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    head_limit: usize,
    tail: Ring,
    bytes: u64,
}

impl Capture {
    /// Nothing yet; at most `limit` bytes are kept.
    pub(crate) fn new(limit: usize) -> Self {
        let tail_limit = limit / 2;
        Self {
            head: Vec::new(),
            head_limit: limit - tail_limit,
            tail: Ring::new(tail_limit),
            bytes: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(as_u64(bytes.len()));
        let free = self.head_limit.saturating_sub(self.head.len());
        let (first, rest) = bytes
            .split_at_checked(free)
            .unwrap_or((bytes, Default::default()));
        grow(&mut self.head, first, self.head_limit);
        self.tail.push(rest);
    }

    /// Whether the stream is longer than what is kept of it.
    pub(crate) fn overflows(&self) -> bool {
        self.bytes > as_u64(self.head.len() + self.tail.len())
    }

    /// The text of what was kept. A line where the middle is left out names the file, if there is
    /// one.
    pub(crate) fn finish(self, spooled: Option<&Spooled>) -> Captured {
        let overflows = self.overflows();
        let mut kept = self.head;
        let tail = self.tail.into_vec();
        if !overflows {
            kept.extend_from_slice(&tail);
            return Captured {
                text: lossy(kept),
                bytes: self.bytes,
                omitted: 0,
            };
        }
        kept.truncate(kept.len() - torn_end(&kept));
        let tail = tail.get(torn_start(&tail)..).unwrap_or_default();
        let omitted = self
            .bytes
            .saturating_sub(as_u64(kept.len()))
            .saturating_sub(as_u64(tail.len()));
        let mut text = lossy(kept);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&seam(omitted, spooled));
        text.push_str(&String::from_utf8_lossy(tail));
        Captured {
            text,
            bytes: self.bytes,
            omitted,
        }
    }
}

/// The line in place of what is left out.
fn seam(omitted: u64, spooled: Option<&Spooled>) -> String {
    let plural = if omitted == 1 { "" } else { "s" };
    let left_out = format!("{} byte{plural} left out", thousands(omitted));
    match spooled {
        None => format!("… {left_out} …\n"),
        Some(Spooled { name, bytes, cut }) => {
            let part = if *cut {
                format!("the first {} bytes of the output are", thousands(*bytes))
            } else {
                "the whole output is".into()
            };
            format!("… {left_out}; {part} in $POLIS_OUTPUT/{name}, for the next command …\n")
        }
    }
}

/// A number with commas between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Text without a copy if the bytes are UTF-8, as they mostly are.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// How many bytes at the end are the beginning of a character whose rest is missing.
fn torn_end(bytes: &[u8]) -> usize {
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

/// How many bytes at the start are the end of a character whose beginning is missing.
fn torn_start(bytes: &[u8]) -> usize {
    let rest = |byte: &&u8| matches!(byte, 0x80..=0xBF);
    bytes.iter().take(3).take_while(rest).count()
}

/// The last bytes of a stream.
#[derive(Debug)]
struct Ring {
    bytes: Vec<u8>,
    limit: usize,
    /// Where the oldest byte is, once the ring is full.
    oldest: usize,
}

impl Ring {
    fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            oldest: 0,
        }
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn push(&mut self, bytes: &[u8]) {
        // What would be overwritten in the same call is not copied at all.
        let skip = bytes.len().saturating_sub(self.limit);
        let bytes = bytes.get(skip..).unwrap_or_default();
        let free = self.limit - self.bytes.len();
        let (first, mut rest) = bytes
            .split_at_checked(free)
            .unwrap_or((bytes, Default::default()));
        grow(&mut self.bytes, first, self.limit);
        while !rest.is_empty() {
            let Some(room) = self.bytes.get_mut(self.oldest..) else {
                return;
            };
            let count = room.len().min(rest.len());
            let (now, later) = rest.split_at(count);
            for (old, new) in room.iter_mut().zip(now) {
                *old = *new;
            }
            rest = later;
            self.oldest += count;
            if self.oldest >= self.limit {
                self.oldest = 0;
            }
        }
    }

    fn into_vec(mut self) -> Vec<u8> {
        if self.oldest <= self.bytes.len() {
            self.bytes.rotate_left(self.oldest);
        }
        self.bytes
    }
}

/// Appends, without ever taking more memory than `limit` bytes.
fn grow(kept: &mut Vec<u8>, more: &[u8], limit: usize) {
    let needed = kept.len() + more.len();
    if needed > kept.capacity() {
        let capacity = needed.max(kept.capacity() * 2).min(limit.max(needed));
        kept.reserve_exact(capacity - kept.len());
    }
    kept.extend_from_slice(more);
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
