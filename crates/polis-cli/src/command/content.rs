//! Content arguments of commands ([`ContentArgs`]): text on the command line, a file, or standard input, read
//! up to a size limit.

use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_core::Refusal;
use polis_core::board::MAX_BOARD_BYTES;

use crate::error::CliError;
use crate::refusal_tables::CommandRefusal;

/// Content, given as an argument, a file or standard input.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ContentArgs {
    /// Content; - reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = OsStringValueParser::new())]
    content: Option<OsString>,
    /// File with the content; - reads standard input
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    content_file: Option<PathBuf>,
}

impl ContentArgs {
    /// Reads the content as text, for a board. Reads only slightly more than the size limit, enough to detect
    /// that the content is too large.
    pub(crate) fn read_text(self) -> Result<String, CliError> {
        // Includes the rest of a multi-byte character that crosses the limit.
        let mut bytes = self.read_limited(MAX_BOARD_BYTES + 4)?;
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
            && error.valid_up_to() as u64 > MAX_BOARD_BYTES
        {
            bytes.truncate(error.valid_up_to());
        }
        String::from_utf8(bytes).map_err(|_| Refusal::from(CommandRefusal::ContentNotUtf8).into())
    }

    /// Reads the content as bytes. Refuses content longer than `limit`.
    pub(crate) fn read_bytes(self, limit: u64) -> Result<Vec<u8>, CliError> {
        let bytes = self.read_limited(limit.saturating_add(1))?;
        if bytes.len() as u64 <= limit {
            return Ok(bytes);
        }
        Err(Refusal::from(CommandRefusal::ContentTooLong {
            mebibytes: limit >> 20,
        })
        .into())
    }

    /// Reads at most `limit` bytes of the argument, the file or standard input.
    fn read_limited(self, limit: u64) -> Result<Vec<u8>, CliError> {
        match (self.content, self.content_file) {
            (Some(text), _) if text == "-" => read_stdin_limited(limit),
            (Some(text), _) => Ok(text.into_encoded_bytes()),
            (None, Some(file)) if file.as_os_str() == "-" => read_stdin_limited(limit),
            (None, Some(file)) => read_content_file(&file, limit),
            (None, None) => Ok(Vec::new()),
        }
    }
}

fn read_stdin_limited(limit: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_content_file(file: &Path, limit: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| {
            let reason = match error.kind() {
                ErrorKind::NotFound => "missing",
                ErrorKind::PermissionDenied => "denied",
                ErrorKind::IsADirectory => "directory",
                _ => "no-file",
            };
            CliError::from(CommandRefusal::ContentUnreadable {
                reason: reason.to_owned(),
            })
        })?;
    Ok(bytes)
}
