//! Tests of workspace records: inheritance from ancestors, binding, overlapping directories and permissions.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::agent::{AgentStatus, Layer};

fn id(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn agent(name: &str, supervisor: Option<&str>) -> Agent {
    Agent {
        id: id(name),
        name: name.to_owned(),
        role: "architect".to_owned(),
        layer: Layer::Mid,
        supervisor: supervisor.map(id),
        status: AgentStatus::Active,
        run: None,
        created_at: moment(0),
    }
}

fn workspace(name: &str, path: Option<&str>) -> Workspace {
    Workspace {
        workspace_id: id(name),
        workspace_path: path.map(str::to_owned),
        created_at: moment(0),
    }
}

fn caller(name: &str) -> Caller {
    Caller::resolve(
        id(name),
        Some(&agent(name, None)).filter(|_| name != "user"),
    )
    .unwrap()
}

fn binding(directory: &str, workspaces: Vec<Workspace>) -> Binding {
    Binding {
        directory: directory.to_owned(),
        workspaces,
        fence: 4,
    }
}

fn bind(
    current: Option<&AssignedWorkspace>,
    exists: bool,
    force: bool,
    binding: &Binding,
) -> Result<(Workspace, Changeset), Refusal> {
    let ada = agent("ada", Some("root"));
    let target = Target {
        agent: &ada,
        current,
        exists,
        force,
    };
    decide_bind(
        target,
        binding,
        &Policy::default(),
        &caller("ada"),
        moment(9),
    )
}

#[test]
fn directories_overlap_by_their_parts() {
    for (ours, refused) in [
        ("/w/b", Some("is the")),
        ("/w/b/c", Some("is inside of")),
        ("/w", Some("is around")),
        ("/", Some("is around")),
        ("/w/bc", None),
        ("/w/a", None),
        ("/x/w/b", None),
        ("/w/B", None),
    ] {
        let others = vec![workspace("bob", Some("/w/b")), workspace("eve", None)];
        let answer = bind(None, false, false, &binding(ours, others));
        match refused {
            None => assert!(answer.is_ok(), "{ours}"),
            Some(how) => {
                let refusal = answer.unwrap_err();
                assert_eq!(refusal.code, Code::WorkspaceOverlaps);
                assert!(refusal.message.contains(how), "{}", refusal.message);
                assert!(!refusal.message.contains("/w"), "names a directory");
            }
        }
    }
}

#[test]
fn a_workspace_is_not_left_behind_by_accident() {
    let at = |path: Option<&str>| AssignedWorkspace {
        workspace: workspace("ada", path),
        revision: 3,
    };
    let (default, elsewhere, here) = (at(None), at(Some("/old")), at(Some("/new")));
    let new = binding("/new", vec![here.workspace.clone()]);
    for (current, exists, force, accepted) in [
        (None, false, false, true),
        (Some(&default), false, false, true),
        (Some(&default), true, false, false),
        (Some(&default), true, true, true),
        (Some(&elsewhere), false, false, false),
        (Some(&elsewhere), true, true, true),
        (Some(&here), true, false, true),
    ] {
        let answer = bind(current, exists, force, &new);
        match answer {
            Err(refusal) => {
                assert!(!accepted, "{refusal:?}");
                assert_eq!(refusal.code, Code::WorkspaceExists);
            }
            Ok((workspace, changes)) => {
                assert!(accepted);
                assert_eq!(workspace.workspace_path.as_deref(), Some("/new"));
                let again = current == Some(&here);
                assert_eq!(changes.is_empty(), again, "binding it again is harmless");
                let touches = Write::TouchFence {
                    fence: Fence::Workspaces,
                    expected: 4,
                };
                assert_eq!(changes.writes.contains(&touches), !again);
                for event in &changes.events {
                    assert!(!event.data.contains("/new"), "the log names no directory");
                }
            }
        }
    }
}

#[test]
fn who_binds_is_the_agent_itself_or_one_who_keeps_the_registry() {
    let policy = Policy::default();
    let (head, below) = (agent("ada", None), agent("bob", Some("ada")));
    assert!(check_bind(&head, &policy, &caller("user")).is_ok());
    assert!(check_bind(&head, &policy, &caller("ada")).is_ok());
    let other = check_bind(&head, &policy, &caller("bob")).unwrap_err();
    assert_eq!(other.code, Code::PermissionDenied);
    for who in ["user", "bob"] {
        let refusal = check_bind(&below, &policy, &caller(who)).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidWorkspace);
        assert!(refusal.hint.contains("\"ada\""), "{}", refusal.hint);
    }
}

#[test]
fn only_the_person_acts_in_others_workspaces() {
    let (own, other) = (id("ada"), id("eve"));
    assert!(check_use(&caller("user"), None, &other).is_ok());
    assert!(check_use(&caller("bob"), Some(&own), &own).is_ok());
    for own in [None, Some(&own)] {
        let refusal = check_use(&caller("bob"), own, &other).unwrap_err();
        assert_eq!(refusal.code, Code::PermissionDenied);
    }
}

#[test]
fn what_to_do_without_a_workspace_is_said() {
    for (who, registered, hint) in [
        ("user", false, "--of AGENT"),
        ("root", false, "polis ws list"),
        ("nobody", false, "polis agent add nobody"),
        ("ada", true, "polis ws bind"),
    ] {
        let refusal = not_assigned(&id(who), registered);
        assert_eq!(refusal.code, Code::WorkspaceNotAssigned);
        assert!(refusal.hint.contains(hint), "{}", refusal.hint);
    }
}

/// Agents `0..n`, each with a random supervisor: another agent, `root`, the person, or none. Cycles are
/// possible.
fn registries() -> impl Strategy<Value = (BTreeMap<AgentId, Option<AgentId>>, BTreeSet<AgentId>)> {
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
        for (n, (above, has)) in all.into_iter().enumerate() {
            let one = id(&format!("a{n}"));
            if has {
                workspaces.insert(one.clone());
            }
            supervisors.insert(one, above.map(|name| id(&name)));
        }
        (supervisors, workspaces)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Property 6 of document 002: the first ancestor that has a workspace is found, in any registry.
    #[test]
    fn the_first_ancestor_with_a_workspace_is_found((supervisors, workspaces) in registries()) {
        for agent in supervisors.keys() {
            let found = find(
                agent,
                |one| supervisors.get(one).and_then(Option::as_ref),
                |one| workspaces.contains(one),
            );
            // The loop in the document, which does not terminate if the registry has a cycle.
            let mut at = Some(agent.clone());
            let mut expected = None;
            for _ in 0..=supervisors.len() {
                let Some(here) = at.filter(|a| !["root", "user"].contains(&a.as_str())) else {
                    at = None;
                    continue;
                };
                if workspaces.contains(&here) {
                    expected = Some(here);
                    break;
                }
                at = supervisors.get(&here).cloned().flatten();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
