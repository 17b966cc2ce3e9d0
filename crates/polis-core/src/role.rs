//! Role names: the set that an installation accepts, and the role that an unregistered agent's name implies.
//!
//! An installation has eight default roles and those that its configuration adds.

use crate::id::quote_untrusted;
use crate::refusal::{AgentRefusal, Refusal};

/// The eight roles of the founding requirements, which every installation has.
pub const DEFAULT_ROLES: [&str; 8] = [
    "team-lead",
    "product-manager",
    "architect",
    "backend-leader",
    "frontend-leader",
    "client-leader",
    "test-leader",
    "devops-leader",
];

/// The role that leads a team. It has all permissions unless the permissions file lists it, and its agents are in
/// the top layer by default.
pub const TEAM_LEAD: &str = "team-lead";

/// The roles of one installation: the defaults and those its configuration adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleSet(Vec<String>);

impl Default for RoleSet {
    fn default() -> Self {
        Self::with_additional([])
    }
}

impl RoleSet {
    /// Creates a set of the default roles and these.
    pub fn with_additional(additional: impl IntoIterator<Item = String>) -> Self {
        let mut roles: Vec<String> = DEFAULT_ROLES.iter().map(|&role| role.to_owned()).collect();
        for role in additional {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        Self(roles)
    }

    /// Returns whether the installation has this role.
    pub fn contains(&self, role: &str) -> bool {
        self.0.iter().any(|existing| existing == role)
    }

    /// Iterates over the roles, defaults first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Fails with `invalid_required_role` if `role` is not in the set.
    pub fn check_required_role(&self, role: &str) -> Result<(), Refusal> {
        if self.contains(role) {
            return Ok(());
        }
        Err(AgentRefusal::InvalidRequiredRole {
            role: quote_untrusted(role),
            roles: self.0.clone(),
        }
        .into())
    }

    /// Fails with `invalid_role` if `role` is not in the set.
    pub fn check_agent_role(&self, role: &str) -> Result<(), Refusal> {
        if self.contains(role) {
            return Ok(());
        }
        Err(AgentRefusal::InvalidRole {
            role: quote_untrusted(role),
            roles: self.0.clone(),
        }
        .into())
    }
}

/// Returns the role implied by an unregistered name: the name without a trailing `-N`.
pub fn role_from_name(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((role, number)) if !role.is_empty() && is_number(number) => role,
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    #[test]
    fn role_from_name_drops_trailing_number() {
        assert_eq!(role_from_name("backend-leader-2"), "backend-leader");
        assert_eq!(role_from_name("backend-leader"), "backend-leader");
        assert_eq!(role_from_name("team-lead-"), "team-lead-");
        assert_eq!(role_from_name("-7"), "-7");
        assert_eq!(role_from_name("x-1-2"), "x-1");
    }

    #[test]
    fn configured_roles_are_added_to_the_defaults() {
        let roles = RoleSet::with_additional(["data-leader".to_owned(), "architect".to_owned()]);
        assert_eq!(roles.iter().count(), 9);
        assert!(roles.check_required_role("data-leader").is_ok());
        let refusal = roles.check_required_role("invalid-role").unwrap_err();
        assert_eq!(refusal.code, RefusalCode::INVALID_REQUIRED_ROLE);
        assert_eq!(refusal.reason.id(), "agent-invalid-required-role");
    }
}
