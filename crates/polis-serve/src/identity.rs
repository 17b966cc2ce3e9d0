//! Who a request comes from. Decided before the request is read; nothing in it can change that.

use polis_core::token::{Access, Area, Scopes};
use polis_core::{AgentId, Refusal, Registered};
use polis_ops::Polis;

/// Who a request comes from, and what it is good for.
///
/// Two are equal if they are the same caller's: the entry that was looked up may have changed in between.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Who acts.
    pub agent: AgentId,
    /// What the token allows; everything where the surface itself is the proof (stdio).
    pub scopes: Scopes,
    /// The token's id, for limits and the access log; none where there is no token.
    pub token: Option<String>,
    /// The agent's entry of the registry, if it was looked up along with the token.
    pub entry: Entry,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.agent == other.agent && self.scopes == other.scopes && self.token == other.token
    }
}

impl Eq for Identity {}

/// An entry of the registry that a request may have looked up already.
#[derive(Debug, Clone, Default)]
pub enum Entry {
    /// It was not.
    #[default]
    Unknown,
    /// It was; the person has none.
    Known(Box<Option<Registered>>),
}

impl Identity {
    /// An agent that needs no token, because whoever started the program has said who it is.
    pub fn trusted(agent: AgentId) -> Self {
        Self {
            agent,
            scopes: Scopes::all(),
            token: None,
            entry: Entry::Unknown,
        }
    }

    /// The ground for one request of this caller.
    pub fn on(&self, polis: &Polis) -> Polis {
        match &self.entry {
            Entry::Unknown => polis.clone(),
            Entry::Known(entry) => polis.knowing(self.agent.clone(), entry.as_ref().clone()),
        }
    }

    /// Refuses what its token is not good for.
    pub fn check(&self, area: Area, access: Access) -> Result<(), Refusal> {
        self.scopes.check(area, access)
    }
}
