//! Identifiers of runs ([`RunId`]) and of members ([`MemberKey`]).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::{AgentId, quote_untrusted};
use crate::refusal::{Refusal, SocietyRefusal};
use crate::refusal_serde::deserialize_from_text;

/// Name of a run. It follows the rules of agent ids, because an agent outside of all runs that hires gets a
/// run named after itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match text.parse::<AgentId>() {
            Ok(name) => Ok(Self(name.as_str().to_owned())),
            Err(_) => Err(Refusal::from(SocietyRefusal::InvalidRunId {
                text: quote_untrusted(text),
            })),
        }
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, str::parse)
    }
}

/// Identifies a member of a run. `root` is a member of every run, with a separate conversation in each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberKey {
    /// Run that it is a member of.
    pub run: RunId,
    /// Id of the agent, or `root`.
    pub agent: AgentId,
}

impl MemberKey {
    /// Creates a member's key.
    pub fn new(run: RunId, agent: AgentId) -> Self {
        Self { run, agent }
    }
}

/// Formats the key as used in record names: `RUN/AGENT`. Neither part contains a slash.
impl fmt::Display for MemberKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.agent)
    }
}

impl FromStr for MemberKey {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let (run, agent) = text.split_once('/').unwrap_or((text, ""));
        Ok(Self::new(run.parse()?, agent.parse()?))
    }
}
