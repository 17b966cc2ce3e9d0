//! The tabs as pages: where each is, who may see it, and what its pages load.

use polis_core::token::{Access, Area};
use polis_view::Tab;

use crate::request_context::Visit;

/// What Now is about.
pub(crate) const NOW: [Area; 4] = [Area::Tasks, Area::Agents, Area::Boards, Area::Events];

/// Where a tab is.
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

/// Whether somebody may see it.
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

/// What its pages need beside what every page has: sheets.
pub(crate) fn sheets(tab: Tab) -> &'static [&'static str] {
    match tab {
        Tab::Now => &[],
        Tab::Events => &["others.css"],
        Tab::Tasks => &["others.css", "tasks.css", "sides.css"],
        Tab::Boards => &["others.css", "boards.css", "sides.css"],
        Tab::Agents => &["others.css", "agents.css"],
        // A file in Markdown is shown as a board is.
        Tab::Workspaces => &["others.css", "files.css", "boards.css"],
    }
}

/// And scripts.
pub(crate) fn scripts(tab: Tab) -> &'static [&'static str] {
    match tab {
        Tab::Tasks => &["board-drag.js"],
        Tab::Boards => &["boards.js"],
        Tab::Events => &["events.js"],
        Tab::Now | Tab::Agents | Tab::Workspaces => &[],
    }
}

/// The key that leads there after `g`.
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
