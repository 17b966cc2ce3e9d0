//! Workspaces tab: its routes, all read-only, with the access that each needs. The submodules render the
//! list of workspaces, the file tree, the page of a file with its download, and the commands that ran there.

mod command_log;
mod file_page;
mod file_tree;
mod workspace_list;
pub(crate) mod workspace_url;

use polis_core::token::{AccessLevel, OperationArea};

use crate::route_table::{RouteAccess, WebRoute};

const READ_FILES: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Files, AccessLevel::Read)]);
const READ_COMMANDS: RouteAccess = RouteAccess::Scoped(&[
    (OperationArea::Files, AccessLevel::Read),
    (OperationArea::Commands, AccessLevel::Read),
]);

pub(crate) fn workspace_routes() -> Vec<WebRoute> {
    vec![
        WebRoute::get("/workspaces", READ_FILES, workspace_list::show_workspaces),
        WebRoute::get(
            "/workspaces/list",
            READ_FILES,
            workspace_list::refresh_workspaces,
        ),
        WebRoute::get(
            "/workspaces/{id}",
            READ_FILES,
            workspace_list::show_workspace,
        ),
        WebRoute::get(
            "/workspaces/{id}/size",
            READ_FILES,
            workspace_list::refresh_size,
        ),
        WebRoute::get(
            "/workspaces/{id}/commands",
            READ_COMMANDS,
            command_log::refresh_command_log,
        ),
        WebRoute::get(
            "/workspaces/{id}/command",
            READ_COMMANDS,
            command_log::show_command,
        ),
        WebRoute::get(
            "/workspaces/{id}/tree",
            READ_FILES,
            file_tree::refresh_directory,
        ),
        WebRoute::get(
            "/workspaces/{id}/files",
            READ_FILES,
            file_tree::refresh_file_tree,
        ),
        WebRoute::get(
            "/workspaces/{id}/file/{*path}",
            READ_FILES,
            file_page::show_file,
        ),
        WebRoute::get(
            "/workspaces/{id}/raw/{*path}",
            READ_FILES,
            file_page::download_file,
        ),
    ]
}
