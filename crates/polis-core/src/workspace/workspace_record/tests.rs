//! Tests of workspace records: inheritance from ancestors, binding, overlapping directories and permissions.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::RefusalCode;
use crate::agent::{AgentLayer, AgentStatus};

fn id(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn agent(name: &str, supervisor: Option<&str>) -> Agent {
    Agent {
        id: id(name),
        name: name.to_owned(),
        role: "architect".to_owned(),
        layer: AgentLayer::Mid,
        supervisor: supervisor.map(id),
        status: AgentStatus::Active,
        run: None,
        created_at: timestamp(0),
    }
}

fn workspace(name: &str, path: Option<&str>) -> Workspace {
    Workspace {
        workspace_id: id(name),
        workspace_path: path.map(str::to_owned),
        created_at: timestamp(0),
    }
}

fn caller(name: &str) -> Caller {
    Caller::resolve(
        id(name),
        Some(&agent(name, None)).filter(|_| name != "user"),
    )
    .unwrap()
}

fn binding(directory: &str, workspaces: Vec<Workspace>) -> WorkspaceBinding {
    WorkspaceBinding {
        directory: directory.to_owned(),
        workspaces,
        fence: 4,
    }
}

fn decide_test_bind(
    current: Option<&AssignedWorkspace>,
    exists: bool,
    force: bool,
    binding: &WorkspaceBinding,
) -> Result<(Workspace, Changeset), Refusal> {
    let ada = agent("ada", Some("root"));
    let target = WorkspaceBindTarget {
        agent: &ada,
        current,
        exists,
        force,
    };
    decide_bind_workspace(
        target,
        binding,
        &PermissionPolicy::default(),
        &caller("ada"),
        timestamp(9),
    )
}

#[test]
fn directories_overlap_by_component() {
    for (ours, refused) in [
        ("/w/b", Some("same")),
        ("/w/b/c", Some("inside")),
        ("/w", Some("contains")),
        ("/", Some("contains")),
        ("/w/bc", None),
        ("/w/a", None),
        ("/x/w/b", None),
        ("/w/B", None),
    ] {
        let others = vec![workspace("bob", Some("/w/b")), workspace("eve", None)];
        let answer = decide_test_bind(None, false, false, &binding(ours, others));
        match refused {
            None => assert!(answer.is_ok(), "{ours}"),
            Some(relation) => {
                let refusal = answer.unwrap_err();
                assert_eq!(refusal.code, RefusalCode::WORKSPACE_OVERLAPS);
                assert_eq!(
                    refusal.reason.arg("relation").unwrap().to_string(),
                    relation
                );
                assert!(
                    !refusal.reason.to_string().contains("/w"),
                    "names a directory"
                );
            }
        }
    }
}

#[test]
fn abandoning_a_workspace_needs_force() {
    let at = |path: Option<&str>| AssignedWorkspace {
        workspace: workspace("ada", path),
        revision: 3,
    };
    let (default, elsewhere, bound) = (at(None), at(Some("/old")), at(Some("/new")));
    let new = binding("/new", vec![bound.workspace.clone()]);
    for (current, exists, force, accepted) in [
        (None, false, false, true),
        (Some(&default), false, false, true),
        (Some(&default), true, false, false),
        (Some(&default), true, true, true),
        (Some(&elsewhere), false, false, false),
        (Some(&elsewhere), true, true, true),
        (Some(&bound), true, false, true),
    ] {
        let answer = decide_test_bind(current, exists, force, &new);
        match answer {
            Err(refusal) => {
                assert!(!accepted, "{refusal:?}");
                assert_eq!(refusal.code, RefusalCode::WORKSPACE_EXISTS);
            }
            Ok((workspace, changes)) => {
                assert!(accepted);
                assert_eq!(workspace.workspace_path.as_deref(), Some("/new"));
                let is_rebind = current == Some(&bound);
                assert_eq!(
                    changes.is_empty(),
                    is_rebind,
                    "binding it again is harmless"
                );
                let touches = StoreWrite::TouchFence {
                    fence: Fence::Workspaces,
                    expected: 4,
                };
                assert_eq!(changes.writes.contains(&touches), !is_rebind);
                for event in &changes.events {
                    assert!(
                        !event.payload.to_json().contains("/new"),
                        "the log names no directory"
                    );
                }
            }
        }
    }
}

#[test]
fn binding_is_allowed_for_the_agent_and_registry_managers() {
    let policy = PermissionPolicy::default();
    let (head, subordinate) = (agent("ada", None), agent("bob", Some("ada")));
    assert!(check_may_bind(&head, &policy, &caller("user")).is_ok());
    assert!(check_may_bind(&head, &policy, &caller("ada")).is_ok());
    let other = check_may_bind(&head, &policy, &caller("bob")).unwrap_err();
    assert_eq!(other.code, RefusalCode::PERMISSION_DENIED);
    for who in ["user", "bob"] {
        let refusal = check_may_bind(&subordinate, &policy, &caller(who)).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::INVALID_WORKSPACE);
        assert_eq!(refusal.reason.arg("supervisor").unwrap().to_string(), "ada");
    }
}

#[test]
fn using_another_workspace_is_allowed_only_for_the_person() {
    let (own, other) = (id("ada"), id("eve"));
    assert!(check_workspace_use(&caller("user"), None, &other).is_ok());
    assert!(check_workspace_use(&caller("bob"), Some(&own), &own).is_ok());
    for own in [None, Some(&own)] {
        let refusal = check_workspace_use(&caller("bob"), own, &other).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::PERMISSION_DENIED);
    }
}

#[test]
fn refusal_without_a_workspace_names_the_case() {
    for (who, registered, reason) in [
        ("user", false, "workspace-person-has-none"),
        ("root", false, "workspace-not-in-registry"),
        ("nobody", false, "workspace-owner-not-registered"),
        ("ada", true, "workspace-not-assigned"),
    ] {
        let refusal = workspace_not_assigned(&id(who), registered);
        assert_eq!(refusal.code, RefusalCode::WORKSPACE_NOT_ASSIGNED);
        assert_eq!(refusal.reason.id(), reason);
    }
}

/// Agents `0..n`, each with a random supervisor: another agent, `root`, the person, or none. Cycles are
/// possible.
fn any_registry() -> impl Strategy<Value = (BTreeMap<AgentId, Option<AgentId>>, BTreeSet<AgentId>)>
{
    let above = prop_oneof![
        6 => (0_usize..12).prop_map(|n| Some(format!("a{n}"))),
        1 => Just(Some("root".to_owned())),
        1 => Just(Some("user".to_owned())),
        1 => Just(None),
    ];
    let has = prop::bool::weighted(0.2);
    prop::collection::vec((above, has), 1..12).prop_map(|all| {
        let mut supervisors = BTreeMap::new();
        let mut workspaces = BTreeSet::new();
        for (n, (supervisor, has)) in all.into_iter().enumerate() {
            let agent = id(&format!("a{n}"));
            if has {
                workspaces.insert(agent.clone());
            }
            supervisors.insert(agent, supervisor.map(|name| id(&name)));
        }
        (supervisors, workspaces)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Property 6 of requirement 002: the first ancestor that has a workspace is found, in any registry.
    #[test]
    fn nearest_ancestor_with_a_workspace_is_found((supervisors, workspaces) in any_registry()) {
        for agent in supervisors.keys() {
            let found = find_workspace_owner(
                agent,
                |one| supervisors.get(one).and_then(Option::as_ref),
                |one| workspaces.contains(one),
            );
            // The loop of requirement 002, which does not terminate if the registry has a cycle.
            let mut at = Some(agent.clone());
            let mut expected = None;
            for _ in 0..=supervisors.len() {
                let Some(current) = at.filter(|a| !["root", "user"].contains(&a.as_str())) else {
                    at = None;
                    continue;
                };
                if workspaces.contains(&current) {
                    expected = Some(current);
                    break;
                }
                at = supervisors.get(&current).cloned().flatten();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
