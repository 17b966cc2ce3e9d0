//! Operations on workspaces: their directories, files and commands.

pub(crate) mod bind_workspace;
mod command_notices;
pub(crate) mod commands;
pub(crate) mod list_workspaces;
pub(crate) mod run_command;
pub(crate) mod workspace_files;

pub use bind_workspace::{WorkspaceBindParams, bind_workspace};
pub use commands::{
    CommandEntry, CommandList, CommandView, ListCommandsParams, ShowCommandParams, list_commands,
    show_command,
};
pub use list_workspaces::{
    WorkspaceEntry, WorkspaceList, WorkspaceReport, get_workspace_info, list_workspaces,
};
pub use run_command::{CancelFuture, CommandObservers, CommandResult, run_command, sandbox_report};
pub use workspace_files::{
    delete_file, edit_file, list_files, make_dir, move_file, read_file, search_files, write_file,
};
