//! Token scopes: the areas that a token gives access to, and whether for reading only.
//!
//! A scope is `all`, `read`, an area such as `tasks`, or `tasks:read`. [`Scopes::check`] is called for every
//! operation requested with a token.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::quoted;
use crate::refusal::{Code, Refusal};

/// Area of an operation. Tools are grouped by area, and token scopes refer to areas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// Tasks.
    Tasks,
    /// Whiteboards, decisions and milestones.
    Boards,
    /// The blackboard's files.
    Blackboard,
    /// Files of workspaces.
    Files,
    /// Commands.
    Commands,
    /// Messages.
    Messages,
    /// Artifacts.
    Artifacts,
    /// The registry of agents.
    Agents,
    /// The society: runs and their members.
    Society,
    /// The commit log.
    Events,
    /// The server itself: metrics, webhooks.
    Server,
}

impl Area {
    /// All areas, with their names.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Tasks, "tasks"),
        (Self::Boards, "boards"),
        (Self::Blackboard, "blackboard"),
        (Self::Files, "files"),
        (Self::Commands, "commands"),
        (Self::Messages, "messages"),
        (Self::Artifacts, "artifacts"),
        (Self::Agents, "agents"),
        (Self::Society, "society"),
        (Self::Events, "events"),
        (Self::Server, "server"),
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        let found = Self::ALL.iter().find(|(area, _)| *area == self);
        found.map_or("", |(_, name)| name)
    }

    /// Returns the area with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, n)| *n == name);
        found.map(|(area, _)| *area)
    }
}

/// Kind of access that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Changes nothing.
    Read,
    /// May change state.
    Write,
}

/// One element of a token's scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Grant {
    /// The area; all areas if absent.
    area: Option<Area>,
    /// The highest access granted.
    access: Access,
}

/// What a token is good for: `all`, `read`, an area such as `tasks`, or `tasks:read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub struct Scopes(BTreeSet<Grant>);

impl Scopes {
    /// Grants everything that the token's agent may do.
    pub fn all() -> Self {
        let grant = Grant {
            area: None,
            access: Access::Write,
        };
        Self(BTreeSet::from([grant]))
    }

    /// Returns whether the scopes allow this access.
    pub fn allow(&self, area: Area, access: Access) -> bool {
        self.0
            .iter()
            .any(|grant| grant.area.is_none_or(|granted| granted == area) && access <= grant.access)
    }

    /// Fails with `insufficient_scope` if the scopes do not allow this access.
    pub fn check(&self, area: Area, access: Access) -> Result<(), Refusal> {
        if self.allow(area, access) {
            return Ok(());
        }
        let wanted = Grant {
            area: Some(area),
            access,
        };
        Err(Refusal::new(
            Code::InsufficientScope,
            format!("This token is not good for {wanted}."),
            format!("have one issued with --scope {wanted} (`polis agent token issue`)"),
        ))
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.area, self.access) {
            (None, Access::Write) => f.write_str("all"),
            (None, Access::Read) => f.write_str("read"),
            (Some(area), Access::Write) => f.write_str(area.as_str()),
            (Some(area), Access::Read) => write!(f, "{}:read", area.as_str()),
        }
    }
}

impl FromStr for Grant {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let (name, access) = match text.split_once(':') {
            Some((name, "read")) => (name, Access::Read),
            Some((name, "write")) => (name, Access::Write),
            Some(_) => return Err(unknown(text)),
            None if text == "read" => {
                return Ok(Self {
                    area: None,
                    access: Access::Read,
                });
            }
            None if text == "all" => {
                return Ok(Self {
                    area: None,
                    access: Access::Write,
                });
            }
            None => (text, Access::Write),
        };
        let area = Area::from_name(name).ok_or_else(|| unknown(text))?;
        Ok(Self {
            area: Some(area),
            access,
        })
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, grant) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{grant}")?;
        }
        Ok(())
    }
}

impl FromStr for Scopes {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        Self::try_from(
            text.split(',')
                .map(|part| part.trim().to_owned())
                .collect::<Vec<_>>(),
        )
    }
}

impl TryFrom<Vec<String>> for Scopes {
    type Error = Refusal;

    fn try_from(names: Vec<String>) -> Result<Self, Refusal> {
        let grants = names
            .iter()
            .map(|name| name.parse())
            .collect::<Result<BTreeSet<_>, _>>()?;
        if grants.is_empty() {
            return Err(unknown(""));
        }
        Ok(Self(grants))
    }
}

impl From<Scopes> for Vec<String> {
    fn from(scopes: Scopes) -> Self {
        scopes.0.iter().map(ToString::to_string).collect()
    }
}

fn unknown(text: &str) -> Refusal {
    let areas: Vec<&str> = Area::ALL.iter().map(|(_, name)| *name).collect();
    Refusal::new(
        Code::InvalidScope,
        format!("{} is not a scope.", quoted(text)),
        format!(
            "use all, read, or of {}: AREA or AREA:read, separated by commas",
            areas.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Scopes {
        text.parse().unwrap()
    }

    #[test]
    fn a_scope_is_good_for_what_it_names_and_nothing_else() {
        let table = [
            ("all", Area::Commands, Access::Write, true),
            ("read", Area::Tasks, Access::Read, true),
            ("read", Area::Tasks, Access::Write, false),
            ("tasks", Area::Tasks, Access::Write, true),
            ("tasks", Area::Tasks, Access::Read, true),
            ("tasks", Area::Boards, Access::Read, false),
            ("tasks:read", Area::Tasks, Access::Write, false),
            ("tasks:read,boards", Area::Boards, Access::Write, true),
            ("tasks:read, boards:write", Area::Files, Access::Read, false),
        ];
        for (text, area, access, good) in table {
            assert_eq!(
                scopes(text).allow(area, access),
                good,
                "{text} {area:?} {access:?}"
            );
        }
    }

    #[test]
    fn scopes_read_back_as_they_are_written() {
        for (given, shown) in [
            ("all", "all"),
            ("boards:write,read,tasks:read", "read,tasks:read,boards"),
        ] {
            assert_eq!(scopes(given).to_string(), shown);
            assert_eq!(scopes(shown), scopes(given));
            let json = serde_json::to_string(&scopes(given)).unwrap();
            assert_eq!(
                serde_json::from_str::<Scopes>(&json).unwrap(),
                scopes(given)
            );
        }
    }

    #[test]
    fn what_is_no_scope_is_refused() {
        for bad in [
            "",
            ",",
            "tasks,",
            "task",
            "tasks:exec",
            "all:read",
            "*",
            "read:tasks",
            "TASKS",
        ] {
            assert_eq!(
                bad.parse::<Scopes>().unwrap_err().code,
                Code::InvalidScope,
                "{bad}"
            );
        }
    }
}
