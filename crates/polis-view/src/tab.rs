//! The tabs of the web interface and of the terminal UI, in the order in which both show them, with their
//! names on screen, in URLs and on the command line.

use polis_i18n::msg;

use crate::UiLanguage;

/// A tab of the web interface and of the terminal UI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Overview: current work, and items that need the person's attention.
    Overview,
    /// Task board and single tasks.
    Tasks,
    /// Whiteboards and blackboard files.
    Boards,
    /// Registered agents and runs.
    Agents,
    /// Workspaces: files and commands.
    Workspaces,
    /// Event log.
    Events,
}

impl Tab {
    /// All tabs, in order.
    pub const ALL: [Self; 6] = [
        Self::Overview,
        Self::Tasks,
        Self::Boards,
        Self::Agents,
        Self::Workspaces,
        Self::Events,
    ];

    /// Returns its index in [`Tab::ALL`].
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }

    /// Returns its display name.
    pub fn name(self, lang: UiLanguage) -> &'static str {
        match self {
            Self::Overview => msg::common_tab_overview(lang),
            Self::Tasks => msg::common_tab_tasks(lang),
            Self::Boards => msg::common_tab_boards(lang),
            Self::Agents => msg::common_tab_agents(lang),
            Self::Workspaces => msg::common_tab_workspaces(lang),
            Self::Events => msg::common_tab_events(lang),
        }
    }

    /// Returns its name on the command line and in URLs.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Overview => "now",
            Self::Tasks => "tasks",
            Self::Boards => "boards",
            Self::Agents => "agents",
            Self::Workspaces => "workspaces",
            Self::Events => "events",
        }
    }

    /// Parses the name that [`Tab::slug`] returns.
    pub fn parse(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.slug() == slug)
    }
}
