//! Workspaces tab: the list of workspaces with their sizes, their files as a tree, the page of a file, and the commands
//! that ran there.

mod commands;
mod file;
mod list;
mod tree;
pub(crate) mod workspace_url;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::state::House;

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/workspaces", get(list::show))
        .route("/workspaces/list", get(list::refresh))
        .route("/workspaces/{id}", get(list::one))
        .route("/workspaces/{id}/size", get(list::size))
        .route("/workspaces/{id}/commands", get(commands::refresh))
        .route("/workspaces/{id}/command", get(commands::show))
        .route("/workspaces/{id}/tree", get(tree::refresh))
        .route("/workspaces/{id}/files", get(tree::again))
        .route("/workspaces/{id}/file/{*path}", get(file::show))
        .route("/workspaces/{id}/raw/{*path}", get(file::download))
}
