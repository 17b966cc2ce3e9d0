//! Parser of `rbac.yaml`, the role-based access control (RBAC) file. Errors name the line.
//!
//! ```yaml
//! mode: permissive            # or strict: roles that are not listed may only read
//! roles:
//!   backend-leader:
//!     permissions:
//!       - claim_task_type: [backend_implementation, bug_fix]
//!       - update_own_tasks
//!       - comment_on_all_tasks
//! task_type_roles:
//!   backend_implementation: [backend-leader]
//! ```

use polis_core::permission::RoleGrants;
use polis_core::refusal::Reason;
use polis_core::{Permission, PermissionMode, PermissionPolicy, Refusal, RoleSet, TaskType};
use saphyr::{MarkedYaml, YamlData};

use super::config_keys::suggestion;
use super::{RBAC_FILE, nearest_name};
use crate::refusal_tables::{ProjectRefusal, RbacProblem};
use crate::yaml_loader;

/// The permission that takes a list of task types.
const CLAIM_TASK_TYPE: &str = "claim_task_type";

/// Parses a permissions file.
pub(super) fn parse_rbac(source: &str, roles: &RoleSet) -> Result<PermissionPolicy, Refusal> {
    let documents =
        yaml_loader::load_yaml(source).map_err(|error| rbac_error(error.line, error.reason))?;
    let mut policy = PermissionPolicy::default();
    if let Some(second) = documents.get(1) {
        return Err(error_at(second, RbacProblem::SecondDocument));
    }
    let Some(root) = documents.first() else {
        return Ok(policy);
    };
    for (key, value) in expect_mapping(root, RbacProblem::File)? {
        match expect_string(key, RbacProblem::AKey)? {
            "mode" => {
                policy.mode = match expect_string(value, RbacProblem::Mode)? {
                    "permissive" => PermissionMode::Permissive,
                    "strict" => PermissionMode::Strict,
                    other => {
                        let mode = format!("{other:?}");
                        return Err(error_at(value, RbacProblem::UnknownMode { mode }));
                    }
                }
            }
            "roles" => {
                for (name, body) in expect_mapping(value, RbacProblem::Roles)? {
                    let role = parse_role(name, roles)?;
                    policy.roles.insert(role, parse_grants(body)?);
                }
            }
            "task_type_roles" => {
                for (name, list) in expect_mapping(value, RbacProblem::TypesOfRoles)? {
                    let task_type = parse_task_type(name)?;
                    let names = expect_sequence(list, RbacProblem::TypeRoles)?;
                    let names = names
                        .iter()
                        .map(|name| parse_role(name, roles))
                        .collect::<Result<_, _>>()?;
                    policy.type_roles.insert(task_type, names);
                }
            }
            other => {
                return Err(unknown_name(
                    key,
                    RbacProblem::Key,
                    other,
                    ["mode", "roles", "task_type_roles"].into_iter(),
                ));
            }
        }
    }
    Ok(policy)
}

fn parse_grants(body: &MarkedYaml<'_>) -> Result<RoleGrants, Refusal> {
    let mut grants = RoleGrants::default();
    for (key, value) in expect_mapping(body, RbacProblem::ARole)? {
        match expect_string(key, RbacProblem::AKey)? {
            "permissions" => {
                for entry in expect_sequence(value, RbacProblem::Permissions)? {
                    parse_permission(entry, &mut grants)?;
                }
            }
            other => {
                return Err(unknown_name(
                    key,
                    RbacProblem::Key,
                    other,
                    std::iter::once("permissions"),
                ));
            }
        }
    }
    Ok(grants)
}

fn parse_permission(entry: &MarkedYaml<'_>, grants: &mut RoleGrants) -> Result<(), Refusal> {
    let names = || {
        Permission::ALL
            .iter()
            .map(|(_, name)| *name)
            .chain([CLAIM_TASK_TYPE])
    };
    if let Some(name) = entry.data.as_str() {
        if name == CLAIM_TASK_TYPE {
            return Err(error_at(entry, RbacProblem::NoTypeList));
        }
        let permission = Permission::from_name(name)
            .ok_or_else(|| unknown_name(entry, RbacProblem::Permission, name, names()))?;
        grants.permissions.insert(permission);
        return Ok(());
    }
    for (key, value) in expect_mapping(entry, RbacProblem::APermission)? {
        match expect_string(key, RbacProblem::APermission)? {
            CLAIM_TASK_TYPE => {
                for name in expect_sequence(value, RbacProblem::ClaimedTypes)? {
                    grants.claim_types.insert(parse_task_type(name)?);
                }
            }
            other => {
                return Err(unknown_name(
                    key,
                    RbacProblem::PermissionWithList,
                    other,
                    std::iter::once(CLAIM_TASK_TYPE),
                ));
            }
        }
    }
    Ok(())
}

fn parse_role(node: &MarkedYaml<'_>, roles: &RoleSet) -> Result<String, Refusal> {
    let name = expect_string(node, RbacProblem::ARole)?;
    if roles.contains(name) {
        Ok(name.to_owned())
    } else {
        Err(unknown_name(node, RbacProblem::Role, name, roles.iter()))
    }
}

fn parse_task_type(node: &MarkedYaml<'_>) -> Result<TaskType, Refusal> {
    let name = expect_string(node, RbacProblem::ATaskType)?;
    TaskType::from_name(name).ok_or_else(|| {
        unknown_name(
            node,
            RbacProblem::TaskType,
            name,
            TaskType::ALL.iter().map(|t| t.as_str()),
        )
    })
}

fn expect_mapping<'a, 'i>(
    node: &'a MarkedYaml<'i>,
    part: RbacProblem,
) -> Result<impl Iterator<Item = (&'a MarkedYaml<'i>, &'a MarkedYaml<'i>)>, Refusal> {
    match &node.data {
        YamlData::Mapping(map) => Ok(map.iter()),
        _ => {
            let part = part.into();
            Err(error_at(node, RbacProblem::NotAMapping { part }))
        }
    }
}

fn expect_sequence<'a, 'i>(
    node: &'a MarkedYaml<'i>,
    part: RbacProblem,
) -> Result<&'a [MarkedYaml<'i>], Refusal> {
    match &node.data {
        YamlData::Sequence(list) => Ok(list),
        _ => {
            let part = part.into();
            Err(error_at(node, RbacProblem::NotAList { part }))
        }
    }
}

fn expect_string<'a>(node: &'a MarkedYaml<'_>, part: RbacProblem) -> Result<&'a str, Refusal> {
    node.data.as_str().ok_or_else(|| {
        let part = part.into();
        error_at(node, RbacProblem::NotAString { part })
    })
}

fn unknown_name<'a>(
    node: &MarkedYaml<'_>,
    part: RbacProblem,
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Refusal {
    let problem = RbacProblem::UnknownName {
        part: part.into(),
        name: format!("{name:?}"),
        suggestion: suggestion(nearest_name(name, candidates)),
    };
    error_at(node, problem)
}

fn error_at(node: &MarkedYaml<'_>, problem: RbacProblem) -> Refusal {
    rbac_error(node.span.start.line(), problem.into())
}

fn rbac_error(line: usize, reason: Reason) -> Refusal {
    Refusal::from(ProjectRefusal::RbacLine {
        rbac_file: RBAC_FILE.to_string(),
        line: line.to_string(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_with_default_roles(text: &str) -> Result<PermissionPolicy, Refusal> {
        parse_rbac(text, &RoleSet::default())
    }

    #[test]
    fn documented_example_is_parsed() {
        let policy = parse_with_default_roles(
            "roles:\n  backend-leader:\n    permissions:\n      - claim_task_type: [backend_implementation, bug_fix]\n      \
             - update_own_tasks\n      - comment_on_all_tasks\n",
        )
        .unwrap();
        let grants = &policy.roles["backend-leader"];
        assert_eq!(
            grants.claim_types,
            [TaskType::BackendImplementation, TaskType::BugFix].into()
        );
        assert_eq!(
            grants.permissions,
            [Permission::UpdateOwnTasks, Permission::CommentOnAllTasks].into()
        );
        assert_eq!(policy.mode, PermissionMode::Permissive);
    }

    #[test]
    fn parse_errors_name_line() {
        let message = |text: &str| {
            polis_i18n::render_reason(
                &parse_with_default_roles(text).unwrap_err().reason,
                polis_i18n::Surface::Cli,
                polis_i18n::UiLanguage::En,
            )
            .message
        };
        assert_eq!(
            message("mode: strict\nroles:\n  backend-leder: {}\n"),
            "rbac.yaml, line 3: unknown role \"backend-leder\"; did you mean \"backend-leader\"?"
        );
        assert!(
            message("roles:\n  architect:\n    permissions:\n      - update_own_task\n")
                .contains("line 4")
        );
        assert!(
            message("roles:\n  architect:\n    permissions:\n      - claim_task_type: [magic]\n")
                .contains("line 4")
        );
        assert!(message("mode: lax\n").contains("line 1"));
        assert!(message("roles: [a]\n").contains("mapping"));
        assert!(message("roles:\n  architect:\n   - : : x\n  - y").contains("line"));
        assert!(parse_with_default_roles("").is_ok());
    }
}
