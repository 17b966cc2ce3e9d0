//! Content arguments of commands: text on the command line, a file, or standard input.

use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_core::board::MAX_BYTES;
use polis_core::{Code, Refusal};

use crate::error::{Failure, invalid};

/// A text that is given in one of several ways.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Content {
    /// The text; - reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = OsStringValueParser::new())]
    content: Option<OsString>,
    /// A file with the text; - reads standard input
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    content_file: Option<PathBuf>,
}

impl Content {
    /// Reads the content as text, for a board. Reads only slightly more than the size limit, enough to detect that the
    /// content is too large.
    pub(crate) fn text(self) -> Result<String, Failure> {
        // Includes the rest of a multi-byte character that crosses the limit.
        let mut bytes = self.read(MAX_BYTES + 4)?;
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
            && error.valid_up_to() as u64 > MAX_BYTES
        {
            bytes.truncate(error.valid_up_to());
        }
        String::from_utf8(bytes).map_err(|_| {
            Refusal::new(
                Code::NotUtf8,
                "The content is not UTF-8.",
                "convert it to UTF-8; nothing was changed",
            )
            .into()
        })
    }

    /// Reads the content as bytes. Refuses content longer than `most`.
    pub(crate) fn bytes(self, most: u64) -> Result<Vec<u8>, Failure> {
        let bytes = self.read(most.saturating_add(1))?;
        if bytes.len() as u64 <= most {
            return Ok(bytes);
        }
        Err(Refusal::new(
            Code::FileTooLarge,
            format!("The content is longer than {} MiB.", most >> 20),
            "let a command in the workspace make it (`polis exec`), or write it in parts",
        )
        .into())
    }

    /// Reads at most `most` bytes of a file or of standard input.
    fn read(self, most: u64) -> Result<Vec<u8>, Failure> {
        match (self.content, self.content_file) {
            (Some(text), _) if text == "-" => stdin(most),
            (Some(text), _) => Ok(text.into_encoded_bytes()),
            (None, Some(file)) if file.as_os_str() == "-" => stdin(most),
            (None, Some(file)) => read_file(&file, most),
            (None, None) => Ok(Vec::new()),
        }
    }
}

fn stdin(most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_file(file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "there is none of that name",
                ErrorKind::PermissionDenied => "you may not read it",
                ErrorKind::IsADirectory => "it is a directory",
                _ => "it is not a readable file",
            };
            invalid(
                format!("The content file cannot be read: {why}."),
                "check its name and that you may read it",
            )
        })?;
    Ok(bytes)
}
