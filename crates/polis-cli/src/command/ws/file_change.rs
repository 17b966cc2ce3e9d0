//! `polis ws write`, `edit`, `rm`, `mv` and `mkdir`: changes files of a workspace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, FileEncoding, MakeDirParams, MoveFileParams, WriteFileParams,
};
use polis_i18n::msg;
use polis_ops::op::{self, LoggedResult};
use serde::Serialize;

use super::{WorkspaceArg, format_bytes, warn_unlogged};
use crate::command::content::ContentArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, sanitize_line};

/// Maximum size of a write, in bytes.
const MAX_WRITE_BYTES: u64 = 64 << 20;

/// Write a file atomically; missing directories are created.
#[derive(Debug, Args)]
pub(crate) struct WsWriteArgs {
    /// File, relative to the workspace
    path: String,
    #[command(flatten)]
    content: ContentArgs,
    /// SHA-256 of the content you have read; refused if the file has changed since
    #[arg(long, value_name = "HASH")]
    expect_hash: Option<String>,
    /// Refuse if the file exists
    #[arg(long)]
    create_only: bool,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsWriteArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let (content, encoding) = match String::from_utf8(self.content.read_bytes(MAX_WRITE_BYTES)?)
        {
            Ok(text) => (text, FileEncoding::Utf8),
            Err(error) => (STANDARD.encode(error.into_bytes()), FileEncoding::Base64),
        };
        let params = WriteFileParams {
            path: self.path,
            content,
            encoding,
            expected_hash: self.expect_hash,
            create_only: self.create_only,
        };
        let owner = owner.as_ref();
        let result = context.block_on(op::write_file(&context.request(), owner, &params))?;
        print_file_change(&result, out, |written| {
            let (size, path) = (format_bytes(written.bytes), sanitize_line(&params.path));
            if written.created {
                msg::cli_workspace_file_created(out.lang(), size, path)
            } else {
                msg::cli_workspace_file_written(out.lang(), size, path)
            }
        })
    }
}

/// Prints the result of a file change, with a warning if it could not be logged.
fn print_file_change<T: Serialize>(
    result: &LoggedResult<T>,
    out: &CliOutput,
    human: impl FnOnce(&T) -> String,
) -> Result<(), CliError> {
    out.print_result(result, |result| human(&result.result))?;
    warn_unlogged(result.logged, out);
    Ok(())
}

/// Replace text in a file; it must match exactly and occur exactly once.
#[derive(Debug, Args)]
pub(crate) struct WsEditArgs {
    /// File, relative to the workspace
    path: String,
    /// Text to replace
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    old: String,
    /// New text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    new: String,
    /// Replace all occurrences
    #[arg(long)]
    all: bool,
    /// SHA-256 of the content you have read; refused if the file has changed since
    #[arg(long, value_name = "HASH")]
    expect_hash: Option<String>,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsEditArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let params = EditFileParams {
            path: self.path,
            old_text: self.old,
            new_text: self.new,
            replace_all: self.all,
            expected_hash: self.expect_hash,
        };
        let owner = owner.as_ref();
        let result = context.block_on(op::edit_file(&context.request(), owner, &params))?;
        print_file_change(&result, out, |edited| {
            let path = sanitize_line(&params.path);
            msg::cli_workspace_text_replaced(out.lang(), edited.replaced, path)
        })
    }
}

/// Delete a file or directory; a symlink is deleted itself, never its target.
#[derive(Debug, Args)]
pub(crate) struct WsRmArgs {
    /// File or directory, relative to the workspace
    path: String,
    /// Delete a directory with everything in it
    #[arg(long)]
    recursive: bool,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsRmArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let params = DeleteFileParams {
            path: self.path,
            recursive: self.recursive,
        };
        let owner = owner.as_ref();
        let result = context.block_on(op::delete_file(&context.request(), owner, &params))?;
        print_file_change(&result, out, |_| {
            msg::cli_workspace_deleted(out.lang(), sanitize_line(&params.path))
        })
    }
}

/// Move or rename a file or directory; missing directories are created.
#[derive(Debug, Args)]
pub(crate) struct WsMvArgs {
    /// Source, relative to the workspace
    from: String,
    /// Destination, relative to the workspace
    to: String,
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsMvArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let params = MoveFileParams {
            from: self.from,
            to: self.to,
            overwrite: self.overwrite,
        };
        let owner = owner.as_ref();
        let result = context.block_on(op::move_file(&context.request(), owner, &params))?;
        print_file_change(&result, out, |_| {
            let (from, to) = (sanitize_line(&params.from), sanitize_line(&params.to));
            msg::cli_workspace_moved(out.lang(), from, to)
        })
    }
}

/// Create a directory and its missing parents; an existing directory is not an error.
#[derive(Debug, Args)]
pub(crate) struct WsMkdirArgs {
    /// Directory, relative to the workspace
    path: String,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsMkdirArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let params = MakeDirParams { path: self.path };
        let owner = owner.as_ref();
        let result = context.block_on(op::make_dir(&context.request(), owner, &params))?;
        print_file_change(&result, out, |_| {
            msg::cli_workspace_directory_created(out.lang(), sanitize_line(&params.path))
        })
    }
}
