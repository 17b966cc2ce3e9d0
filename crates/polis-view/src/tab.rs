//! Tabs of the user interfaces, in the order both the web interface and the terminal UI show them.

use crate::Lang;

/// A tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Overview: current work, and items that need the user's attention.
    Now,
    /// The task board.
    Tasks,
    /// Whiteboards.
    Boards,
    /// Agents.
    Agents,
    /// Workspaces: files and commands.
    Workspaces,
    /// The event log.
    Events,
}

impl Tab {
    /// All tabs, in order.
    pub const ALL: [Self; 6] = [
        Self::Now,
        Self::Tasks,
        Self::Boards,
        Self::Agents,
        Self::Workspaces,
        Self::Events,
    ];

    /// Returns its index.
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }

    /// Returns its display name.
    pub fn name(self, lang: Lang) -> &'static str {
        match self {
            Self::Now => lang.say("Now", "此刻"),
            Self::Tasks => lang.say("Tasks", "任务"),
            Self::Boards => lang.say("Boards", "白板"),
            Self::Agents => lang.say("Agents", "智能体"),
            Self::Workspaces => lang.say("Workspaces", "工作区"),
            Self::Events => lang.say("Events", "事件"),
        }
    }

    /// Returns its name on the command line and in URLs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Tasks => "tasks",
            Self::Boards => "boards",
            Self::Agents => "agents",
            Self::Workspaces => "workspaces",
            Self::Events => "events",
        }
    }

    /// Parses such a name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.word() == word)
    }
}
