//! Authenticated caller of a request. It is determined before the request is read; no content of the request
//! can change it.

use polis_core::token::{Access, Area, Scopes};
use polis_core::{AgentId, Refusal, Registered};
use polis_ops::Polis;

/// Authenticated caller and the scopes of its token.
///
/// Equality compares the caller only: the registry entry that was looked up may change between two requests.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The acting agent.
    pub agent: AgentId,
    /// Scopes granted by the token; all where the transport itself is trusted (stdio).
    pub scopes: Scopes,
    /// Token id, for rate limits and the access log; `None` without a token.
    pub token: Option<String>,
    /// The agent's registry entry, if it was looked up together with the token.
    pub entry: Entry,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.agent == other.agent && self.scopes == other.scopes && self.token == other.token
    }
}

impl Eq for Identity {}

/// Cached registry entry of a caller.
#[derive(Debug, Clone, Default)]
pub enum Entry {
    /// Not looked up.
    #[default]
    Unknown,
    /// Looked up; `None` for the user, who has no entry.
    Known(Box<Option<Registered>>),
}

impl Identity {
    /// Creates an identity without a token, for an agent named by the process that started the program.
    pub fn trusted(agent: AgentId) -> Self {
        Self {
            agent,
            scopes: Scopes::all(),
            token: None,
            entry: Entry::Unknown,
        }
    }

    /// Returns a [`Polis`] for one request of this caller, which reuses the cached registry entry.
    pub fn on(&self, polis: &Polis) -> Polis {
        match &self.entry {
            Entry::Unknown => polis.clone(),
            Entry::Known(entry) => polis.knowing(self.agent.clone(), entry.as_ref().clone()),
        }
    }

    /// Fails if the token's scopes do not cover this access.
    pub fn check(&self, area: Area, access: Access) -> Result<(), Refusal> {
        self.scopes.check(area, access)
    }
}
