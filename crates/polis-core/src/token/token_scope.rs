//! Token scopes: the areas that a token gives access to, and whether for reading only.
//!
//! A scope is `all`, `read`, an area such as `tasks`, or `tasks:read`. [`TokenScopes::check`] is called for
//! every operation requested with a token.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::quote_untrusted;
use crate::refusal::{Refusal, TokenRefusal};

/// Area of an operation. Tools are grouped by area, and token scopes refer to areas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationArea {
    /// Tasks and their comments.
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
    /// The event log.
    Events,
    /// The server: metrics and webhooks.
    Server,
}

impl OperationArea {
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

    /// Returns the area's name, as used in scopes.
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
pub enum AccessLevel {
    /// Changes nothing.
    Read,
    /// May change state.
    Write,
}

/// One element of a token's scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ScopeGrant {
    /// The area; all areas if absent.
    area: Option<OperationArea>,
    /// The highest access granted.
    access: AccessLevel,
}

/// Scopes of a token: `all`, `read`, an area such as `tasks`, or `tasks:read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub struct TokenScopes(BTreeSet<ScopeGrant>);

impl TokenScopes {
    /// Grants everything that the token's agent may do.
    pub fn all() -> Self {
        let grant = ScopeGrant {
            area: None,
            access: AccessLevel::Write,
        };
        Self(BTreeSet::from([grant]))
    }

    /// Returns whether the scopes allow this access.
    pub fn allows(&self, area: OperationArea, access: AccessLevel) -> bool {
        self.0
            .iter()
            .any(|grant| grant.area.is_none_or(|granted| granted == area) && access <= grant.access)
    }

    /// Fails with `insufficient_scope` if the scopes do not allow this access.
    pub fn check(&self, area: OperationArea, access: AccessLevel) -> Result<(), Refusal> {
        if self.allows(area, access) {
            return Ok(());
        }
        let required = ScopeGrant {
            area: Some(area),
            access,
        };
        Err(Refusal::from(TokenRefusal::ScopeMissing {
            required: required.to_string(),
        }))
    }
}

impl fmt::Display for ScopeGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.area, self.access) {
            (None, AccessLevel::Write) => f.write_str("all"),
            (None, AccessLevel::Read) => f.write_str("read"),
            (Some(area), AccessLevel::Write) => f.write_str(area.as_str()),
            (Some(area), AccessLevel::Read) => write!(f, "{}:read", area.as_str()),
        }
    }
}

impl FromStr for ScopeGrant {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let (name, access) = match text.split_once(':') {
            Some((name, "read")) => (name, AccessLevel::Read),
            Some((name, "write")) => (name, AccessLevel::Write),
            Some(_) => return Err(unknown_scope(text)),
            None if text == "read" => {
                return Ok(Self {
                    area: None,
                    access: AccessLevel::Read,
                });
            }
            None if text == "all" => {
                return Ok(Self {
                    area: None,
                    access: AccessLevel::Write,
                });
            }
            None => (text, AccessLevel::Write),
        };
        let area = OperationArea::from_name(name).ok_or_else(|| unknown_scope(text))?;
        Ok(Self {
            area: Some(area),
            access,
        })
    }
}

impl fmt::Display for TokenScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, grant) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{grant}")?;
        }
        Ok(())
    }
}

impl FromStr for TokenScopes {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        Self::try_from(
            text.split(',')
                .map(|part| part.trim().to_owned())
                .collect::<Vec<_>>(),
        )
    }
}

impl TryFrom<Vec<String>> for TokenScopes {
    type Error = Refusal;

    fn try_from(names: Vec<String>) -> Result<Self, Refusal> {
        let grants = names
            .iter()
            .map(|name| name.parse())
            .collect::<Result<BTreeSet<_>, _>>()?;
        if grants.is_empty() {
            return Err(unknown_scope(""));
        }
        Ok(Self(grants))
    }
}

impl From<TokenScopes> for Vec<String> {
    fn from(scopes: TokenScopes) -> Self {
        scopes.0.iter().map(ToString::to_string).collect()
    }
}

fn unknown_scope(text: &str) -> Refusal {
    let areas: Vec<&str> = OperationArea::ALL.iter().map(|(_, name)| *name).collect();
    Refusal::from(TokenRefusal::InvalidScope {
        text: quote_untrusted(text),
        areas: areas.iter().map(ToString::to_string).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    fn parse_scopes(text: &str) -> TokenScopes {
        text.parse().unwrap()
    }

    #[test]
    fn scope_allows_only_what_it_names() {
        let table = [
            ("all", OperationArea::Commands, AccessLevel::Write, true),
            ("read", OperationArea::Tasks, AccessLevel::Read, true),
            ("read", OperationArea::Tasks, AccessLevel::Write, false),
            ("tasks", OperationArea::Tasks, AccessLevel::Write, true),
            ("tasks", OperationArea::Tasks, AccessLevel::Read, true),
            ("tasks", OperationArea::Boards, AccessLevel::Read, false),
            (
                "tasks:read",
                OperationArea::Tasks,
                AccessLevel::Write,
                false,
            ),
            (
                "tasks:read,boards",
                OperationArea::Boards,
                AccessLevel::Write,
                true,
            ),
            (
                "tasks:read, boards:write",
                OperationArea::Files,
                AccessLevel::Read,
                false,
            ),
        ];
        for (text, area, access, expected) in table {
            assert_eq!(
                parse_scopes(text).allows(area, access),
                expected,
                "{text} {area:?} {access:?}"
            );
        }
    }

    #[test]
    fn scopes_round_trip() {
        for (given, expected) in [
            ("all", "all"),
            ("boards:write,read,tasks:read", "read,tasks:read,boards"),
        ] {
            assert_eq!(parse_scopes(given).to_string(), expected);
            assert_eq!(parse_scopes(expected), parse_scopes(given));
            let json = serde_json::to_string(&parse_scopes(given)).unwrap();
            assert_eq!(
                serde_json::from_str::<TokenScopes>(&json).unwrap(),
                parse_scopes(given)
            );
        }
    }

    #[test]
    fn unknown_scope_is_refused() {
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
                bad.parse::<TokenScopes>().unwrap_err().code,
                RefusalCode::INVALID_SCOPE,
                "{bad}"
            );
        }
    }
}
