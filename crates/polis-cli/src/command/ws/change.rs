//! `polis ws write`, `edit`, `rm`, `mv` and `mkdir`: changes files of a workspace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use polis_core::workspace::file::{DeleteFile, EditFile, Encoding, MakeDir, MoveFile, WriteFile};
use polis_ops::op::{self, Noted};
use serde::Serialize;

use super::{Of, counted, desk, size, warn_unlogged};
use crate::command::content::Content;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, clean};

/// Maximum size of a write, in bytes.
const MOST: u64 = 64 << 20;

/// Write a file, whole or not at all; directories on the way are made.
#[derive(Debug, Args)]
pub(crate) struct Write {
    /// The file, relative to the workspace
    path: String,
    #[command(flatten)]
    content: Content,
    /// SHA-256 of what you had read; if the file has another content nothing is written
    #[arg(long, value_name = "HASH")]
    expect_hash: Option<String>,
    /// Refuse if there is a file already
    #[arg(long)]
    create_only: bool,
    #[command(flatten)]
    of: Of,
}

impl Write {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let (content, encoding) = match String::from_utf8(self.content.bytes(MOST)?) {
            Ok(text) => (text, Encoding::Utf8),
            Err(error) => (STANDARD.encode(error.into_bytes()), Encoding::Base64),
        };
        let params = WriteFile {
            path: self.path,
            content,
            encoding,
            expected_hash: self.expect_hash,
            create_only: self.create_only,
        };
        let desk = desk(context, of.as_ref());
        let done = context.run(op::write_file(&context.polis, desk, &params))?;
        answer(&done, out, |written| {
            let new = if written.created { ", a new file" } else { "" };
            format!(
                "Wrote {} to {}{new}.",
                size(written.bytes),
                clean(&params.path)
            )
        })
    }
}

/// Prints the result, with a warning if it could not be logged.
fn answer<T: Serialize>(
    done: &Noted<T>,
    out: &Output,
    human: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    out.answer(done, |done| human(&done.answer))?;
    warn_unlogged(done.logged, out);
    Ok(())
}

/// Replace text in a file: exactly as it stands there, and exactly once.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The file, relative to the workspace
    path: String,
    /// The text to replace
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    old: String,
    /// What to put in its place
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    new: String,
    /// Replace it wherever it stands
    #[arg(long)]
    all: bool,
    /// SHA-256 of what you had read; if the file has another content nothing is written
    #[arg(long, value_name = "HASH")]
    expect_hash: Option<String>,
    #[command(flatten)]
    of: Of,
}

impl Edit {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let params = EditFile {
            path: self.path,
            old_text: self.old,
            new_text: self.new,
            replace_all: self.all,
            expected_hash: self.expect_hash,
        };
        let desk = desk(context, of.as_ref());
        let done = context.run(op::edit_file(&context.polis, desk, &params))?;
        answer(&done, out, |edited| {
            let places = counted(edited.replaced, "place", "places");
            format!("Changed {places} in {}.", clean(&params.path))
        })
    }
}

/// Delete a file or directory; a link is deleted, never what it points to.
#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The file or directory, relative to the workspace
    path: String,
    /// Delete a directory with everything in it
    #[arg(long)]
    recursive: bool,
    #[command(flatten)]
    of: Of,
}

impl Rm {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let params = DeleteFile {
            path: self.path,
            recursive: self.recursive,
        };
        let desk = desk(context, of.as_ref());
        let done = context.run(op::delete_file(&context.polis, desk, &params))?;
        answer(&done, out, |_| format!("Deleted {}.", clean(&params.path)))
    }
}

/// Move or rename a file or directory; directories on the way are made.
#[derive(Debug, Args)]
pub(crate) struct Mv {
    /// What, relative to the workspace
    from: String,
    /// Where to, relative to the workspace
    to: String,
    /// Replace a file that is there
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    of: Of,
}

impl Mv {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let params = MoveFile {
            from: self.from,
            to: self.to,
            overwrite: self.overwrite,
        };
        let desk = desk(context, of.as_ref());
        let done = context.run(op::move_file(&context.polis, desk, &params))?;
        answer(&done, out, |_| {
            format!("Moved {} to {}.", clean(&params.from), clean(&params.to))
        })
    }
}

/// Make a directory, and those on the way; one that is there is fine.
#[derive(Debug, Args)]
pub(crate) struct Mkdir {
    /// The directory, relative to the workspace
    path: String,
    #[command(flatten)]
    of: Of,
}

impl Mkdir {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let params = MakeDir { path: self.path };
        let desk = desk(context, of.as_ref());
        let done = context.run(op::make_dir(&context.polis, desk, &params))?;
        answer(&done, out, |_| format!("Made {}.", clean(&params.path)))
    }
}
