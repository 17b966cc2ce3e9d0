//! Property tests of workspace assignment: which agent works in which workspace, for any order of
//! registering, binding and retiring.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use polis_core::agent::AgentAdd;
use polis_core::workspace::command::RunCommand;
use polis_core::workspace::file::WriteFile;
use polis_core::{AgentId, AgentStatus, Code, Event, Layer};
use polis_ops::op::{self, Desk, Follow, ListAgents, WorkspaceBind};
use polis_ops::port::Workspaces as _;
use polis_ops::{OpError, Polis};
use polis_testkit::test_store::{agent, polis};
use polis_testkit::workspaces::{MemoryWorkspaces, default_place};
use polis_testkit::{MemoryStore, run};
use proptest::prelude::*;
use tokio::runtime::Builder;

pub(crate) struct World {
    pub(crate) polis: Polis,
    store: Arc<MemoryStore>,
    pub(crate) ground: Arc<MemoryWorkspaces>,
}

pub(crate) fn world() -> World {
    let store = Arc::new(MemoryStore::default());
    let ground = Arc::new(MemoryWorkspaces::default());
    let polis = polis(Arc::<MemoryStore>::clone(&store))
        .with_workspaces(Arc::<MemoryWorkspaces>::clone(&ground), ground.clone());
    World {
        polis,
        store,
        ground,
    }
}

fn addition(name: &str, supervisor: Option<&str>, directory: Option<&str>) -> AgentAdd {
    AgentAdd {
        id: agent(name),
        name: None,
        role: "architect".to_owned(),
        layer: Some(Layer::Bottom),
        supervisor: supervisor.map(agent),
        workspace_path: directory.map(str::to_owned),
    }
}

impl World {
    pub(crate) async fn add(&self, name: &str, supervisor: Option<&str>) {
        let request = addition(name, supervisor, None);
        op::add_agent(&self.polis, &agent("user"), &request)
            .await
            .unwrap();
    }

    async fn write(&self, desk: Desk<'_>, path: &str) -> Result<(), OpError> {
        let ask = WriteFile {
            path: path.to_owned(),
            content: "x".to_owned(),
            ..WriteFile::default()
        };
        op::write_file(&self.polis, desk, &ask).await.map(|_| ())
    }

    async fn bind(&self, by: &str, of: Option<&str>, to: &str, force: bool) -> Result<(), OpError> {
        let ask = WorkspaceBind {
            directory: to.to_owned(),
            of: of.map(agent),
            force,
        };
        op::bind_workspace(&self.polis, &agent(by), &ask)
            .await
            .map(|_| ())
    }

    pub(crate) async fn run(&self, by: &str, command: &str) -> Result<op::CommandResult, OpError> {
        let ask = RunCommand {
            command: command.to_owned(),
            timeout_ms: None,
        };
        let by = agent(by);
        let done = op::run_command(&self.polis, Desk::own(&by), &ask, Follow::default()).await;
        done.map(|noted| {
            assert!(noted.logged);
            noted.answer
        })
    }

    pub(crate) async fn log(&self) -> Vec<Event> {
        let everything = op::LogRead::default();
        let page = op::read_log(&self.polis, &AgentId::user(), &everything).await;
        page.unwrap().events
    }
}

pub(crate) fn data(event: &Event) -> serde_json::Value {
    event.data.to().unwrap()
}

pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, OpError>) -> Code {
    answer.unwrap_err().code()
}

/// For each of up to 14 agents its supervisor: `None`, `root`, or an earlier agent.
fn trees() -> impl Strategy<Value = Vec<Option<String>>> {
    let above = |n: usize| {
        prop_oneof![
            1 => Just(None),
            1 => Just(Some("root".to_owned())),
            4 => (0..n.max(1)).prop_map(move |m| (n > 0).then(|| format!("a{m}"))),
        ]
    };
    (1_usize..14).prop_flat_map(move |size| (0..size).map(above).collect::<Vec<_>>())
}

fn head_of(tree: &[Option<String>], name: &str) -> String {
    let n: usize = name[1..].parse().unwrap();
    match tree[n].as_deref() {
        None | Some("root") => name.to_owned(),
        Some(above) => head_of(tree, above),
    }
}

fn alone<T>(work: impl Future<Output = T>) -> T {
    Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Property 6 of the workspace specification (document 002): files and commands of an agent act in the
    /// workspace of its closest ancestor that has one, also after agents were retired.
    #[test]
    fn descendants_inherit_through_their_ancestors(tree in trees(), retired in 0_usize..14) {
        alone(async {
            let world = world();
            for (n, above) in tree.iter().enumerate() {
                world.add(&format!("a{n}"), above.as_deref()).await;
            }
            // Retired agents can no longer act, but their descendants still inherit through them.
            let gone = agent(&format!("a{}", retired % tree.len()));
            let retired = op::retire_agent(&world.polis, &agent("user"), &gone).await.is_ok();
            for n in 0..tree.len() {
                let name = format!("a{n}");
                let by = agent(&name);
                let path = format!("from-{name}");
                let written = world.write(Desk::own(&by), &path).await;
                if retired && by == gone {
                    assert_eq!(code(written), Code::PermissionDenied);
                    continue;
                }
                written.unwrap();
                world.run(&name, &path).await.unwrap();
                let head = agent(&head_of(&tree, &name));
                let file = (default_place(&head), path.clone(), "x".to_owned());
                assert!(world.ground.all_files().contains(&file), "{name} wrote elsewhere");
                let order = world.ground.orders().pop().unwrap();
                assert_eq!((order.0.workspace, order.1), (head, path), "{name} ran elsewhere");
            }
        });
    }

    /// Property 8: the head of a team has a workspace with its own id, in the commit of its registration.
    /// Property 7: all workspaces are separate. Property 1: no directory is created before it is used.
    #[test]
    fn every_direct_child_of_root_has_its_own(tree in trees()) {
        alone(async {
            let world = world();
            for (n, above) in tree.iter().enumerate() {
                let name = format!("a{n}");
                world.add(&name, above.as_deref()).await;
                let found = world.store.workspace(&agent(&name)).await.unwrap();
                let head = matches!(above.as_deref(), None | Some("root"));
                assert_eq!(found.is_some(), head, "{name}");
                if let Some(found) = found {
                    assert_eq!(found.workspace.workspace_id, agent(&name));
                    assert_eq!(found.workspace.workspace_path, None);
                }
            }
            assert!(world.ground.directories().is_empty(), "a directory was made too early");
            let list = op::list_workspaces(&world.polis, &agent("user")).await.unwrap();
            let places: BTreeMap<_, _> = list
                .workspaces
                .iter()
                .map(|entry| (entry.workspace_path.clone().unwrap(), &entry.workspace_id))
                .collect();
            assert_eq!(places.len(), list.workspaces.len(), "two workspaces are one place");
            assert!(list.workspaces.iter().all(|entry| !entry.created && !entry.bound));
        });
    }

    /// For any order of binding, no two workspaces overlap, a refusal changes nothing, and no directory is
    /// created for it.
    #[test]
    fn bound_directories_never_overlap(
        requests in prop::collection::vec((0_usize..4, 0_usize..9, any::<bool>(), any::<bool>()), 1..20),
    ) {
        const PLACES: [&str; 9] =
            ["/w", "/w/a", "/w/a/b", "/w/ab", "/x", "/w/a/../ab/", "/data", "/data/x", "/"];
        alone(async {
            let world = world();
            for name in ["a0", "a1", "a2"] {
                world.add(name, None).await;
            }
            world.add("below", Some("a0")).await;
            for (n, (who, place, force, late)) in requests.into_iter().enumerate() {
                let before = (world.store.workspaces().await.unwrap(), world.ground.directories());
                let done = if late {
                    let request = addition(&format!("late{n}"), None, Some(PLACES[place]));
                    op::add_agent(&world.polis, &agent("user"), &request).await.map(|_| ())
                } else {
                    let who = ["a0", "a1", "a2", "below"][who];
                    world.bind("user", Some(who), PLACES[place], force).await
                };
                let after = world.store.workspaces().await.unwrap();
                if let Err(error) = done {
                    let expected =
                        [Code::WorkspaceOverlaps, Code::WorkspaceExists, Code::InvalidWorkspace];
                    assert!(expected.contains(&error.code()), "{error:?}");
                    assert_eq!((after.clone(), world.ground.directories()), before);
                }
                let bound: Vec<_> = after.iter().filter_map(|w| w.workspace_path.as_deref()).collect();
                for (n, one) in bound.iter().enumerate() {
                    for other in &bound[n + 1..] {
                        let (one, other) = (Path::new(one), Path::new(other));
                        assert!(!one.starts_with(other) && !other.starts_with(one), "{bound:?}");
                    }
                }
            }
        });
    }
}

#[test]
fn of_racing_binds_to_overlapping_directories_one_succeeds() {
    run(async {
        for round in 0..20 {
            let world = Arc::new(world());
            for n in 0..6 {
                world.add(&format!("a{n}"), None).await;
            }
            let racing = (0..6).map(|n| {
                let world = Arc::clone(&world);
                let place = ["/w", "/w/deep", "/w/deep/er"][(n + round) % 3];
                tokio::spawn(async move {
                    let who = format!("a{n}");
                    world.bind(&who, None, place, false).await.is_ok()
                })
            });
            let mut succeeded = 0;
            for one in racing.collect::<Vec<_>>() {
                succeeded += u32::from(one.await.unwrap());
            }
            assert_eq!(succeeded, 1);
        }
    });
}

#[test]
fn who_has_no_workspace_is_told_what_to_do() {
    run(async {
        let world = world();
        for name in ["user", "root", "stranger"] {
            let by = agent(name);
            let refused = world.write(Desk::own(&by), "x").await.unwrap_err();
            assert_eq!(refused.code(), Code::WorkspaceNotAssigned, "{name}");
            assert!(!refused.document().error.hint.is_empty());
            let bound = world.bind(name, None, "/w", false).await;
            assert_eq!(code(bound), Code::WorkspaceNotAssigned, "{name}");
        }
        assert!(world.ground.directories().is_empty());
    });
}

#[test]
fn only_the_person_acts_in_any_workspace() {
    run(async {
        let world = world();
        world.add("ada", None).await;
        world.add("bob", Some("ada")).await;
        world.add("eve", Some("root")).await;
        let [user, ada, bob, eve] = ["user", "ada", "bob", "eve"].map(agent);
        let at = |by, of| Desk { by, of: Some(of) };
        world.write(at(&user, &bob), "by-user").await.unwrap();
        world.write(at(&bob, &ada), "by-bob").await.unwrap();
        world.write(at(&ada, &bob), "by-ada").await.unwrap();
        for (by, of) in [(&eve, &ada), (&bob, &eve), (&ada, &eve)] {
            let refused = world.write(at(by, of), "no").await;
            assert_eq!(code(refused), Code::PermissionDenied);
        }
        let places: Vec<_> = world.ground.all_files().into_iter().map(|f| f.0).collect();
        assert_eq!(places, vec![default_place(&ada); 3]);
        let refused = world.log().await.pop().unwrap();
        assert_eq!(
            (
                refused.kind.as_str(),
                refused.subject.as_str(),
                refused.actor.as_str()
            ),
            ("file.refused", "workspace/eve", "ada")
        );
        assert_eq!(
            data(&refused),
            serde_json::json!({"op": "write_file", "path": "no", "code": "permission_denied"})
        );
    });
}

#[test]
fn only_the_person_is_told_where_a_workspace_is() {
    run(async {
        let world = world();
        world.add("ada", None).await;
        world
            .bind("ada", None, "/home/ada/project", false)
            .await
            .unwrap();
        let ada = agent("ada");
        for (by, told) in [("user", true), ("ada", false), ("stranger", false)] {
            let list = op::list_workspaces(&world.polis, &agent(by)).await.unwrap();
            assert_eq!(list.workspaces[0].workspace_path.is_some(), told, "{by}");
            assert!(list.workspaces[0].created && list.workspaces[0].bound);
        }
        let user = agent("user");
        let at = Desk {
            by: &user,
            of: Some(&ada),
        };
        let report = op::get_workspace_info(&world.polis, at).await.unwrap();
        assert_eq!(report.workspace_path.as_deref(), Some("/home/ada/project"));
        let report = op::get_workspace_info(&world.polis, Desk::own(&ada))
            .await
            .unwrap();
        assert_eq!((report.workspace_path, report.workspace_id), (None, ada));
        for event in world.log().await {
            assert!(
                !event.data.text().contains("/home"),
                "the log names a directory"
            );
        }
    });
}

#[test]
fn without_workspaces_everything_else_works() {
    run(async {
        let polis = polis(Arc::new(MemoryStore::default()));
        let (user, ada) = (agent("user"), agent("ada"));
        let request = addition("ada", Some("root"), None);
        let added = op::add_agent(&polis, &user, &request).await.unwrap();
        assert_eq!(added.supervisor, Some(agent("root")));
        assert_eq!(added.status, AgentStatus::Active);
        let info = op::get_workspace_info(&polis, Desk::own(&ada)).await;
        assert_eq!(code(info), Code::NotInitialized);
        let request = addition("eve", None, Some("/w"));
        assert_eq!(
            code(op::add_agent(&polis, &user, &request).await),
            Code::NotInitialized
        );
        assert_eq!(
            op::list_agents(&polis, &ListAgents::default())
                .await
                .unwrap()
                .agents
                .len(),
            1
        );
        let list = op::list_workspaces(&polis, &user).await.unwrap();
        assert!(!list.workspaces[0].created);
    });
}

#[test]
fn a_directory_is_bound_for_heads_only_and_left_behind_on_purpose_only() {
    run(async {
        let world = world();
        world.add("ada", None).await;
        world.add("bob", Some("ada")).await;
        world.add("eve", None).await;
        let ada = agent("ada");
        assert_eq!(
            code(world.bind("bob", None, "/w", false).await),
            Code::InvalidWorkspace
        );
        assert_eq!(
            code(world.bind("eve", Some("ada"), "/w", false).await),
            Code::PermissionDenied
        );
        world.write(Desk::own(&ada), "x").await.unwrap();
        assert_eq!(
            code(world.bind("ada", None, "/w", false).await),
            Code::WorkspaceExists
        );
        assert_eq!(
            world.ground.directories(),
            [default_place(&ada)],
            "nothing was made"
        );
        world.bind("ada", None, "/w", true).await.unwrap();
        world.bind("ada", None, "/w/.", false).await.unwrap();
        assert_eq!(
            code(world.bind("ada", None, "/v", false).await),
            Code::WorkspaceExists
        );
        assert_eq!(
            code(world.bind("eve", None, "/w/x", false).await),
            Code::WorkspaceOverlaps
        );
        // It may move deeper or back up: its own directory does not count as an overlap.
        world.bind("ada", None, "/w/x", true).await.unwrap();
        world.bind("eve", None, "/w/y", false).await.unwrap();
        world
            .write(Desk::own(&agent("bob")), "from-bob")
            .await
            .unwrap();
        let last = world.ground.all_files().pop().unwrap();
        assert_eq!((last.0.as_str(), last.1.as_str()), ("/w/x", "from-bob"));
        let request = addition("new", Some("eve"), Some("/z"));
        let refused = op::add_agent(&world.polis, &agent("user"), &request).await;
        assert_eq!(code(refused), Code::InvalidWorkspace);
        let by: AgentId = agent("bob");
        let refused = op::add_agent(&world.polis, &by, &addition("n", None, Some("/z"))).await;
        assert_eq!(code(refused), Code::PermissionDenied);
        assert!(!world.ground.directories().contains(&"/z".to_owned()));
    });
}
