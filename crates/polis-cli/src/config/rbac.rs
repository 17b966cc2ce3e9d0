//! `rbac.yaml`: role-based permissions (source document 004, §10.1), validated on load; errors name the line.
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

use polis_core::permission::Grants;
use polis_core::{Code, Mode, Permission, Policy, Refusal, RoleSet, TaskType};
use saphyr::{MarkedYaml, YamlData};

use super::{RBAC, nearest};
use crate::yaml_text;

/// The permission that takes a list of task types.
const CLAIM_TYPE: &str = "claim_task_type";

/// Parses a permissions file.
pub(super) fn parse(source: &str, roles: &RoleSet) -> Result<Policy, Refusal> {
    let documents = yaml_text::load(source).map_err(|found| fault(found.line, &found.why))?;
    let mut policy = Policy::default();
    if let Some(second) = documents.get(1) {
        return Err(at(second, "there is a second document; only one is read"));
    }
    let Some(root) = documents.first() else {
        return Ok(policy);
    };
    for (key, value) in mapping(root, "the file")? {
        match text(key, "a key")? {
            "mode" => {
                policy.mode = match text(value, "mode")? {
                    "permissive" => Mode::Permissive,
                    "strict" => Mode::Strict,
                    other => {
                        return Err(at(
                            value,
                            &format!("mode {other:?} is not permissive or strict"),
                        ));
                    }
                }
            }
            "roles" => {
                for (name, body) in mapping(value, "roles")? {
                    let role = known_role(name, roles)?;
                    policy.roles.insert(role, grants(body)?);
                }
            }
            "task_type_roles" => {
                for (name, list) in mapping(value, "task_type_roles")? {
                    let task_type = known_type(name)?;
                    let names = sequence(list, "the roles of a type")?;
                    let names = names
                        .iter()
                        .map(|name| known_role(name, roles))
                        .collect::<Result<_, _>>()?;
                    policy.type_roles.insert(task_type, names);
                }
            }
            other => {
                return Err(unknown(
                    key,
                    "key",
                    other,
                    ["mode", "roles", "task_type_roles"].into_iter(),
                ));
            }
        }
    }
    Ok(policy)
}

fn grants(body: &MarkedYaml<'_>) -> Result<Grants, Refusal> {
    let mut grants = Grants::default();
    for (key, value) in mapping(body, "a role")? {
        match text(key, "a key")? {
            "permissions" => {
                for entry in sequence(value, "permissions")? {
                    grant(entry, &mut grants)?;
                }
            }
            other => return Err(unknown(key, "key", other, std::iter::once("permissions"))),
        }
    }
    Ok(grants)
}

fn grant(entry: &MarkedYaml<'_>, grants: &mut Grants) -> Result<(), Refusal> {
    let names = || {
        Permission::ALL
            .iter()
            .map(|(_, name)| *name)
            .chain([CLAIM_TYPE])
    };
    if let Some(name) = entry.data.as_str() {
        if name == CLAIM_TYPE {
            return Err(at(entry, "claim_task_type needs a list of task types"));
        }
        let permission = Permission::from_name(name)
            .ok_or_else(|| unknown(entry, "permission", name, names()))?;
        grants.permissions.insert(permission);
        return Ok(());
    }
    for (key, value) in mapping(entry, "a permission")? {
        match text(key, "a permission")? {
            CLAIM_TYPE => {
                for name in sequence(value, CLAIM_TYPE)? {
                    grants.claim_types.insert(known_type(name)?);
                }
            }
            other => {
                return Err(unknown(
                    key,
                    "permission with a list",
                    other,
                    std::iter::once(CLAIM_TYPE),
                ));
            }
        }
    }
    Ok(())
}

fn known_role(node: &MarkedYaml<'_>, roles: &RoleSet) -> Result<String, Refusal> {
    let name = text(node, "a role")?;
    if roles.contains(name) {
        Ok(name.to_owned())
    } else {
        Err(unknown(node, "role", name, roles.iter()))
    }
}

fn known_type(node: &MarkedYaml<'_>) -> Result<TaskType, Refusal> {
    let name = text(node, "a task type")?;
    TaskType::from_name(name).ok_or_else(|| {
        unknown(
            node,
            "task type",
            name,
            TaskType::ALL.iter().map(|t| t.as_str()),
        )
    })
}

fn mapping<'a, 'i>(
    node: &'a MarkedYaml<'i>,
    what: &str,
) -> Result<impl Iterator<Item = (&'a MarkedYaml<'i>, &'a MarkedYaml<'i>)>, Refusal> {
    match &node.data {
        YamlData::Mapping(map) => Ok(map.iter()),
        _ => Err(at(node, &format!("{what} must be a mapping of names"))),
    }
}

fn sequence<'a, 'i>(node: &'a MarkedYaml<'i>, what: &str) -> Result<&'a [MarkedYaml<'i>], Refusal> {
    match &node.data {
        YamlData::Sequence(list) => Ok(list),
        _ => Err(at(node, &format!("{what} must be a list"))),
    }
}

fn text<'a>(node: &'a MarkedYaml<'_>, what: &str) -> Result<&'a str, Refusal> {
    node.data
        .as_str()
        .ok_or_else(|| at(node, &format!("{what} must be a text")))
}

fn unknown<'a>(
    node: &MarkedYaml<'_>,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Refusal {
    let meant = nearest(name, known)
        .map(|n| format!("; did you mean {n:?}?"))
        .unwrap_or_default();
    at(node, &format!("unknown {what} {name:?}{meant}"))
}

fn at(node: &MarkedYaml<'_>, why: &str) -> Refusal {
    fault(node.span.start.line(), why)
}

fn fault(line: usize, why: &str) -> Refusal {
    Refusal::new(
        Code::InvalidRbac,
        format!("{RBAC}, line {line}: {why}"),
        "mend the line; `polis config check` checks the file",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Policy, Refusal> {
        parse(text, &RoleSet::default())
    }

    #[test]
    fn the_documents_example_is_read() {
        let policy = read(
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
        assert_eq!(policy.mode, Mode::Permissive);
    }

    #[test]
    fn faults_name_their_line() {
        let message = |text: &str| read(text).unwrap_err().message;
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
        assert!(read("").is_ok());
    }
}
