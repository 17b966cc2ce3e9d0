//! Roles: the set of valid role names, and the role that an unregistered agent's name implies.
//!
//! An installation has eight default roles and those that its configuration adds.

use crate::id::quoted;
use crate::refusal::{Code, Refusal};

/// The eight roles of the task documents, always defined.
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

/// The role that may assign across roles, approve completion, and delete completed tasks.
pub const TEAM_LEAD: &str = "team-lead";

/// The roles of one installation: the defaults and those its configuration adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleSet(Vec<String>);

impl Default for RoleSet {
    fn default() -> Self {
        Self::with([])
    }
}

impl RoleSet {
    /// Creates a set of the default roles and these.
    pub fn with(more: impl IntoIterator<Item = String>) -> Self {
        let mut roles: Vec<String> = DEFAULT_ROLES.iter().map(|&role| role.to_owned()).collect();
        for role in more {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        Self(roles)
    }

    /// Returns whether `role` is in the set.
    pub fn contains(&self, role: &str) -> bool {
        self.0.iter().any(|known| known == role)
    }

    /// Iterates over the roles, defaults first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Fails with `invalid_required_role` if `role` is not in the set.
    pub fn check_required(&self, role: &str) -> Result<(), Refusal> {
        self.check(role, Code::InvalidRequiredRole, "requiredRole")
    }

    /// Fails with `invalid_role` if `role` is not in the set.
    pub fn check_agent(&self, role: &str) -> Result<(), Refusal> {
        self.check(role, Code::InvalidRole, "role")
    }

    fn check(&self, role: &str, code: Code, field: &str) -> Result<(), Refusal> {
        if self.contains(role) {
            return Ok(());
        }
        Err(Refusal::new(
            code,
            format!(
                "Invalid {field}: {}. Valid roles: {}.",
                quoted(role),
                self.0.join(", ")
            ),
            "use one of the valid roles, or add yours to `roles` in .agent-workspace/polis.toml",
        ))
    }
}

/// Returns the role implied by an unregistered name: the name without a trailing `-N`.
pub fn role_of_name(name: &str) -> &str {
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

    #[test]
    fn a_trailing_number_is_not_part_of_the_role() {
        assert_eq!(role_of_name("backend-leader-2"), "backend-leader");
        assert_eq!(role_of_name("backend-leader"), "backend-leader");
        assert_eq!(role_of_name("team-lead-"), "team-lead-");
        assert_eq!(role_of_name("-7"), "-7");
        assert_eq!(role_of_name("x-1-2"), "x-1");
    }

    #[test]
    fn configured_roles_join_the_defaults() {
        let roles = RoleSet::with(["data-leader".to_owned(), "architect".to_owned()]);
        assert_eq!(roles.iter().count(), 9);
        assert!(roles.check_required("data-leader").is_ok());
        let refusal = roles.check_required("invalid-role").unwrap_err();
        assert!(refusal.message.starts_with("Invalid requiredRole"));
    }
}
