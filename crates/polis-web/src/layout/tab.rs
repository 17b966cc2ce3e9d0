//! Web properties of the tabs, which `polis_view::Tab` defines: URL, areas that the reader must have access
//! to, keyboard shortcut, and the stylesheets and scripts that the pages of a tab need in addition.

use polis_core::token::{AccessLevel, OperationArea};
use polis_view::Tab;

use crate::request::request_context::RequestContext;

/// Scopes that the overview tab needs.
pub(crate) const OVERVIEW_SCOPES: [(OperationArea, AccessLevel); 4] = [
    (OperationArea::Tasks, AccessLevel::Read),
    (OperationArea::Agents, AccessLevel::Read),
    (OperationArea::Boards, AccessLevel::Read),
    (OperationArea::Events, AccessLevel::Read),
];

/// Returns the URL of a tab.
pub(crate) fn tab_url(tab: Tab) -> &'static str {
    match tab {
        Tab::Overview => "/",
        Tab::Tasks => "/tasks",
        Tab::Boards => "/boards",
        Tab::Agents => "/agents",
        Tab::Workspaces => "/workspaces",
        Tab::Events => "/events",
    }
}

/// Returns whether the session may see a tab.
pub(crate) fn may_see_tab(tab: Tab, context: &RequestContext) -> bool {
    let scopes: &[(OperationArea, AccessLevel)] = match tab {
        Tab::Overview => &OVERVIEW_SCOPES,
        Tab::Tasks => &[(OperationArea::Tasks, AccessLevel::Read)],
        Tab::Boards => &[(OperationArea::Boards, AccessLevel::Read)],
        Tab::Agents => &[(OperationArea::Agents, AccessLevel::Read)],
        Tab::Workspaces => &[(OperationArea::Files, AccessLevel::Read)],
        Tab::Events => &[(OperationArea::Events, AccessLevel::Read)],
    };
    scopes
        .iter()
        .all(|(area, level)| context.may_access(*area, *level))
}

/// Returns a tab's stylesheets in addition to those of every page.
pub(crate) fn tab_stylesheets(tab: Tab) -> &'static [&'static str] {
    match tab {
        Tab::Overview => &[],
        Tab::Events => &["others.css"],
        Tab::Tasks => &["others.css", "tasks.css", "sides.css"],
        Tab::Boards => &["others.css", "boards.css", "sides.css"],
        Tab::Agents => &["others.css", "agents.css"],
        // A Markdown file is rendered like a board.
        Tab::Workspaces => &["others.css", "files.css", "boards.css"],
    }
}

/// Returns a tab's scripts in addition to those of every page.
pub(crate) fn tab_scripts(tab: Tab) -> &'static [&'static str] {
    match tab {
        Tab::Tasks => &["board-drag.js"],
        Tab::Boards => &["boards.js"],
        Tab::Events => &["events.js"],
        Tab::Overview | Tab::Agents | Tab::Workspaces => &[],
    }
}

/// Returns the key that opens the tab after `g`.
pub(crate) fn tab_shortcut_key(tab: Tab) -> &'static str {
    match tab {
        Tab::Overview => "n",
        Tab::Tasks => "t",
        Tab::Boards => "b",
        Tab::Agents => "a",
        Tab::Workspaces => "w",
        Tab::Events => "e",
    }
}
