//! The tabs: what there is to look at, in the order both screens have it.

use crate::Lang;

/// A tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Who does what this minute, and what waits for a person.
    Now,
    /// The task board.
    Tasks,
    /// Whiteboards.
    Boards,
    /// Who there is.
    Agents,
    /// Files and commands.
    Workspaces,
    /// The log.
    Events,
}

impl Tab {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Now,
        Self::Tasks,
        Self::Boards,
        Self::Agents,
        Self::Workspaces,
        Self::Events,
    ];

    /// Its place among them.
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }

    /// Its name for people.
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

    /// Its name on a command line and in addresses.
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

    /// The tab of such a name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.word() == word)
    }
}
