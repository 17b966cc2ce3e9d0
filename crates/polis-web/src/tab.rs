//! The tabs as pages: URL, required scopes, keyboard shortcut, stylesheets and scripts.

use polis_core::token::{Access, Area};
use polis_view::Tab;

use crate::request_context::Visit;

/// Areas that the overview tab needs.
pub(crate) const NOW: [Area; 4] = [Area::Tasks, Area::Agents, Area::Boards, Area::Events];

/// Returns the URL of a tab.
pub(crate) fn path(tab: Tab) -> &'static str {
    match tab {
        Tab::Now => "/",
        Tab::Tasks => "/tasks",
        Tab::Boards => "/boards",
        Tab::Agents => "/agents",
        Tab::Workspaces => "/workspaces",
        Tab::Events => "/events",
    }
}

/// Returns whether the session may see a tab.
pub(crate) fn is_open_to(tab: Tab, visit: &Visit) -> bool {
    let areas: &[Area] = match tab {
        Tab::Now => &NOW,
        Tab::Tasks => &[Area::Tasks],
        Tab::Boards => &[Area::Boards],
        Tab::Agents => &[Area::Agents],
        Tab::Workspaces => &[Area::Files],
        Tab::Events => &[Area::Events],
    };
    areas.iter().all(|area| visit.allows(*area, Access::Read))
}

/// Returns a tab's stylesheets in addition to those of every page.
pub(crate) fn sheets(tab: Tab) -> &'static [&'static str] {
    match tab {
        Tab::Now => &[],
        Tab::Events => &["others.css"],
        Tab::Tasks => &["others.css", "tasks.css", "sides.css"],
        Tab::Boards => &["others.css", "boards.css", "sides.css"],
        Tab::Agents => &["others.css", "agents.css"],
        // A Markdown file is rendered like a board.
        Tab::Workspaces => &["others.css", "files.css", "boards.css"],
    }
}

/// Returns a tab's scripts in addition to those of every page.
pub(crate) fn scripts(tab: Tab) -> &'static [&'static str] {
    match tab {
        Tab::Tasks => &["board-drag.js"],
        Tab::Boards => &["boards.js"],
        Tab::Events => &["events.js"],
        Tab::Now | Tab::Agents | Tab::Workspaces => &[],
    }
}

/// Returns the key that opens the tab after `g`.
pub(crate) fn key(tab: Tab) -> &'static str {
    match tab {
        Tab::Now => "n",
        Tab::Tasks => "t",
        Tab::Boards => "b",
        Tab::Agents => "a",
        Tab::Workspaces => "w",
        Tab::Events => "e",
    }
}
