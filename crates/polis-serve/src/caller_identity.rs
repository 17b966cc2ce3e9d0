//! Caller identity: the authenticated agent of a request and the scopes of its token.
//!
//! It is determined from the token or the transport before the request is read; no content of the request can
//! change it.

use std::sync::Arc;

use polis_core::token::{AccessLevel, OperationArea, TokenScopes};
use polis_core::{AgentId, Refusal, RegisteredAgent};
use polis_ops::{App, Request};

/// Authenticated caller and the scopes of its token.
///
/// Equality compares the caller only: the cached registry entry may change between two requests.
#[derive(Debug, Clone)]
pub struct CallerIdentity {
    /// The agent that acts; the id `user` is the person.
    pub agent: AgentId,
    /// Scopes granted by the token; all where the transport itself is trusted (stdio).
    pub scopes: TokenScopes,
    /// Token id, for rate limits and the access log; `None` without a token.
    pub token: Option<String>,
    /// The agent's registry entry, if it was loaded together with the token.
    pub registry_entry: CallerRegistryEntry,
    /// The session of a stdio process, which claims are bound to.
    pub session: Option<Arc<str>>,
}

impl PartialEq for CallerIdentity {
    fn eq(&self, other: &Self) -> bool {
        self.agent == other.agent && self.scopes == other.scopes && self.token == other.token
    }
}

impl Eq for CallerIdentity {}

/// Cached registry entry of a caller.
#[derive(Debug, Clone, Default)]
pub enum CallerRegistryEntry {
    /// Not loaded yet: the operation reads it from the store.
    #[default]
    NotLoaded,
    /// Loaded; `None` for the person: only agents are in the registry.
    Loaded(Box<Option<RegisteredAgent>>),
}

impl CallerIdentity {
    /// Creates an identity without a token, for an agent named by the process that started the program.
    pub fn from_trusted_agent(agent: AgentId) -> Self {
        Self {
            agent,
            scopes: TokenScopes::all(),
            token: None,
            registry_entry: CallerRegistryEntry::NotLoaded,
            session: None,
        }
    }

    /// Binds the identity to a session: tasks that it claims are bound to the session, too.
    #[must_use]
    pub fn in_session(mut self, id: &str) -> Self {
        self.session = Some(id.into());
        self
    }

    /// Returns a request of this caller that starts now, with the registry entry that was loaded during
    /// authentication.
    pub fn request(&self, app: &App) -> Request {
        let mut request = app.request(&self.agent);
        if let CallerRegistryEntry::Loaded(entry) = &self.registry_entry {
            request = request.with_registry_entry((**entry).clone());
        }
        match &self.session {
            Some(session) => request.in_session(session),
            None => request,
        }
    }

    /// Fails with `InsufficientScope` if the token's scopes do not cover this access.
    pub fn check_scope(&self, area: OperationArea, access: AccessLevel) -> Result<(), Refusal> {
        self.scopes.check(area, access)
    }
}
