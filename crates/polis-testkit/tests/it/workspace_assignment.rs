//! Property tests of workspace assignment: which agent works in which workspace, for any order of
//! registering, binding and retiring.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use polis_core::agent::AgentAddParams;
use polis_core::workspace::command::RunCommandParams;
use polis_core::workspace::file_tools::WriteFileParams;
use polis_core::{AgentId, AgentLayer, AgentStatus, Event, RefusalCode};
use polis_i18n::{Surface, UiLanguage};
use polis_ops::op::{self, CommandObservers, ListAgentsParams, WorkspaceBindParams};
use polis_ops::port::WorkspaceReader as _;
use polis_ops::{App, OpError};
use polis_testkit::memory_workspaces::{MemoryWorkspaces, default_workspace_directory};
use polis_testkit::store_factory::{new_test_app, parse_agent_id};
use polis_testkit::{MemoryStore, run_test};
use proptest::prelude::*;
use tokio::runtime::Builder;

pub(crate) struct TestWorkspace {
    pub(crate) app: App,
    store: Arc<MemoryStore>,
    pub(crate) files: Arc<MemoryWorkspaces>,
}

pub(crate) fn new_test_workspace() -> TestWorkspace {
    let store = Arc::new(MemoryStore::default());
    let files = Arc::new(MemoryWorkspaces::default());
    let app = new_test_app(Arc::<MemoryStore>::clone(&store))
        .with_workspaces(Arc::<MemoryWorkspaces>::clone(&files), files.clone());
    TestWorkspace { app, store, files }
}

fn agent_add_params(
    name: &str,
    supervisor: Option<&str>,
    directory: Option<&str>,
) -> AgentAddParams {
    AgentAddParams {
        id: parse_agent_id(name),
        name: None,
        role: "architect".to_owned(),
        layer: Some(AgentLayer::Bottom),
        supervisor: supervisor.map(parse_agent_id),
        workspace_path: directory.map(str::to_owned),
    }
}

impl TestWorkspace {
    pub(crate) async fn add_agent(&self, name: &str, supervisor: Option<&str>) {
        let request = agent_add_params(name, supervisor, None);
        op::add_agent(&self.app.request(&parse_agent_id("user")), &request)
            .await
            .unwrap();
    }

    async fn write_file(
        &self,
        by: &AgentId,
        owner: Option<&AgentId>,
        path: &str,
    ) -> Result<(), OpError> {
        let ask = WriteFileParams {
            path: path.to_owned(),
            content: "x".to_owned(),
            ..WriteFileParams::default()
        };
        op::write_file(&self.app.request(by), owner, &ask)
            .await
            .map(|_| ())
    }

    async fn bind_workspace(
        &self,
        by: &str,
        of: Option<&str>,
        to: &str,
        force: bool,
    ) -> Result<(), OpError> {
        let ask = WorkspaceBindParams {
            directory: to.to_owned(),
            owner: of.map(parse_agent_id),
            force,
        };
        op::bind_workspace(&self.app.request(&parse_agent_id(by)), &ask)
            .await
            .map(|_| ())
    }

    pub(crate) async fn run_command(
        &self,
        by: &str,
        command: &str,
    ) -> Result<op::CommandResult, OpError> {
        let ask = RunCommandParams {
            command: command.to_owned(),
            timeout_ms: None,
        };
        let by = parse_agent_id(by);
        let done = op::run_command(
            &self.app.request(&by),
            None,
            &ask,
            CommandObservers::default(),
            UiLanguage::En,
        )
        .await;
        done.map(|noted| {
            assert!(noted.logged);
            noted.result
        })
    }

    pub(crate) async fn read_log(&self) -> Vec<Event> {
        let everything = op::LogReadParams::default();
        let page = op::read_log(&self.app.request(&AgentId::user()), &everything).await;
        page.unwrap().events
    }
}

pub(crate) fn event_data(event: &Event) -> serde_json::Value {
    event.data.parse_as().unwrap()
}

pub(crate) fn refusal_code<T: std::fmt::Debug>(answer: Result<T, OpError>) -> RefusalCode {
    answer.unwrap_err().code()
}

/// For each of up to 14 agents its supervisor: `None`, `root`, or an earlier agent.
fn supervisor_trees() -> impl Strategy<Value = Vec<Option<String>>> {
    let above = |n: usize| {
        prop_oneof![
            1 => Just(None),
            1 => Just(Some("root".to_owned())),
            4 => (0..n.max(1)).prop_map(move |m| (n > 0).then(|| format!("a{m}"))),
        ]
    };
    (1_usize..14).prop_flat_map(move |size| (0..size).map(above).collect::<Vec<_>>())
}

fn team_head(tree: &[Option<String>], name: &str) -> String {
    let n: usize = name[1..].parse().unwrap();
    match tree[n].as_deref() {
        None | Some("root") => name.to_owned(),
        Some(above) => team_head(tree, above),
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Property 6 of requirement 002 (docs/requirements.md): files and commands of an agent act in the
    /// workspace of the closest agent above it that has one, also after agents were retired.
    #[test]
    fn descendants_use_workspace_of_closest_ancestor(tree in supervisor_trees(), retired in 0_usize..14) {
        block_on(async {
            let harness = new_test_workspace();
            for (n, above) in tree.iter().enumerate() {
                harness.add_agent(&format!("a{n}"), above.as_deref()).await;
            }
            // Retired agents can no longer act, but the agents below them still inherit through them.
            let gone = parse_agent_id(&format!("a{}", retired % tree.len()));
            let retired = op::retire_agent(&harness.app.request(&parse_agent_id("user")), &gone).await.is_ok();
            for n in 0..tree.len() {
                let name = format!("a{n}");
                let by = parse_agent_id(&name);
                let path = format!("from-{name}");
                let written = harness.write_file(&by, None, &path).await;
                if retired && by == gone {
                    assert_eq!(refusal_code(written), RefusalCode::PERMISSION_DENIED);
                    continue;
                }
                written.unwrap();
                harness.run_command(&name, &path).await.unwrap();
                let head = parse_agent_id(&team_head(&tree, &name));
                let file = (default_workspace_directory(&head), path.clone(), "x".to_owned());
                assert!(harness.files.all_files().contains(&file), "{name} wrote to another workspace");
                let order = harness.files.executed_commands().pop().unwrap();
                assert_eq!((order.0.owner, order.1), (head, path), "{name} ran in another workspace");
            }
        });
    }

    /// Property 8: the head of a team has a workspace with its own id, in the commit of its registration.
    /// Property 7: all workspaces are separate. Property 1: no directory is created before it is used.
    #[test]
    fn children_of_root_have_own_workspace(tree in supervisor_trees()) {
        block_on(async {
            let harness = new_test_workspace();
            for (n, above) in tree.iter().enumerate() {
                let name = format!("a{n}");
                harness.add_agent(&name, above.as_deref()).await;
                let found = harness.store.workspace(&parse_agent_id(&name)).await.unwrap();
                let head = matches!(above.as_deref(), None | Some("root"));
                assert_eq!(found.is_some(), head, "{name}");
                if let Some(found) = found {
                    assert_eq!(found.workspace.workspace_id, parse_agent_id(&name));
                    assert_eq!(found.workspace.workspace_path, None);
                }
            }
            assert!(harness.files.directories().is_empty(), "a directory was created before its first use");
            let list = op::list_workspaces(&harness.app.request(&parse_agent_id("user"))).await.unwrap();
            let places: BTreeMap<_, _> = list
                .workspaces
                .iter()
                .map(|entry| (entry.workspace_path.clone().unwrap(), &entry.workspace_id))
                .collect();
            assert_eq!(places.len(), list.workspaces.len(), "two workspaces share a directory");
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
        block_on(async {
            let harness = new_test_workspace();
            for name in ["a0", "a1", "a2"] {
                harness.add_agent(name, None).await;
            }
            harness.add_agent("below", Some("a0")).await;
            for (n, (who, place, force, late)) in requests.into_iter().enumerate() {
                let before = (harness.store.workspaces().await.unwrap(), harness.files.directories());
                let done = if late {
                    let request = agent_add_params(&format!("late{n}"), None, Some(PLACES[place]));
                    op::add_agent(&harness.app.request(&parse_agent_id("user")), &request).await.map(|_| ())
                } else {
                    let who = ["a0", "a1", "a2", "below"][who];
                    harness.bind_workspace("user", Some(who), PLACES[place], force).await
                };
                let after = harness.store.workspaces().await.unwrap();
                if let Err(error) = done {
                    let expected =
                        [RefusalCode::WORKSPACE_OVERLAPS, RefusalCode::WORKSPACE_EXISTS, RefusalCode::INVALID_WORKSPACE];
                    assert!(expected.contains(&error.code()), "{error:?}");
                    assert_eq!((after.clone(), harness.files.directories()), before);
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
fn concurrent_binds_to_overlapping_directories_one_succeeds() {
    run_test(async {
        for round in 0..20 {
            let harness = Arc::new(new_test_workspace());
            for n in 0..6 {
                harness.add_agent(&format!("a{n}"), None).await;
            }
            let racing = (0..6).map(|n| {
                let harness = Arc::clone(&harness);
                let place = ["/w", "/w/deep", "/w/deep/er"][(n + round) % 3];
                tokio::spawn(async move {
                    let who = format!("a{n}");
                    harness
                        .bind_workspace(&who, None, place, false)
                        .await
                        .is_ok()
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
fn agent_without_workspace_is_refused_with_hint() {
    run_test(async {
        let harness = new_test_workspace();
        for name in ["user", "root", "stranger"] {
            let by = parse_agent_id(name);
            let refused = harness.write_file(&by, None, "x").await.unwrap_err();
            assert_eq!(
                refused.code(),
                RefusalCode::WORKSPACE_NOT_ASSIGNED,
                "{name}"
            );
            assert!(
                !refused
                    .render(Surface::Tool, UiLanguage::En)
                    .hint
                    .is_empty()
            );
            let bound = harness.bind_workspace(name, None, "/w", false).await;
            assert_eq!(
                refusal_code(bound),
                RefusalCode::WORKSPACE_NOT_ASSIGNED,
                "{name}"
            );
        }
        assert!(harness.files.directories().is_empty());
    });
}

#[test]
fn workspace_of_other_team_is_accessible_to_user_only() {
    run_test(async {
        let harness = new_test_workspace();
        harness.add_agent("ada", None).await;
        harness.add_agent("bob", Some("ada")).await;
        harness.add_agent("eve", Some("root")).await;
        let [user, ada, bob, eve] = ["user", "ada", "bob", "eve"].map(parse_agent_id);
        harness
            .write_file(&user, Some(&bob), "by-user")
            .await
            .unwrap();
        harness
            .write_file(&bob, Some(&ada), "by-bob")
            .await
            .unwrap();
        harness
            .write_file(&ada, Some(&bob), "by-ada")
            .await
            .unwrap();
        for (by, of) in [(&eve, &ada), (&bob, &eve), (&ada, &eve)] {
            let refused = harness.write_file(by, Some(of), "no").await;
            assert_eq!(refusal_code(refused), RefusalCode::PERMISSION_DENIED);
        }
        let places: Vec<_> = harness.files.all_files().into_iter().map(|f| f.0).collect();
        assert_eq!(places, vec![default_workspace_directory(&ada); 3]);
        let refused = harness.read_log().await.pop().unwrap();
        assert_eq!(
            (
                refused.kind.as_str(),
                refused.subject.as_str(),
                refused.actor.as_str()
            ),
            ("file.refused", "workspace/eve", "ada")
        );
        assert_eq!(
            event_data(&refused),
            serde_json::json!({"op": "write_file", "path": "no", "code": "permission_denied"})
        );
    });
}

#[test]
fn workspace_path_is_shown_to_user_only() {
    run_test(async {
        let harness = new_test_workspace();
        harness.add_agent("ada", None).await;
        harness
            .bind_workspace("ada", None, "/home/ada/project", false)
            .await
            .unwrap();
        let ada = parse_agent_id("ada");
        for (by, told) in [("user", true), ("ada", false), ("stranger", false)] {
            let list = op::list_workspaces(&harness.app.request(&parse_agent_id(by)))
                .await
                .unwrap();
            assert_eq!(list.workspaces[0].workspace_path.is_some(), told, "{by}");
            assert!(list.workspaces[0].created && list.workspaces[0].bound);
        }
        let user = parse_agent_id("user");
        let report = op::get_workspace_info(&harness.app.request(&user), Some(&ada))
            .await
            .unwrap();
        assert_eq!(report.workspace_path.as_deref(), Some("/home/ada/project"));
        let report = op::get_workspace_info(&harness.app.request(&ada), None)
            .await
            .unwrap();
        assert_eq!((report.workspace_path, report.workspace_id), (None, ada));
        for event in harness.read_log().await {
            assert!(
                !event.data.as_str().contains("/home"),
                "the log contains a directory"
            );
        }
    });
}

#[test]
fn agent_operations_work_without_workspace_port() {
    run_test(async {
        let app = new_test_app(Arc::new(MemoryStore::default()));
        let (user, ada) = (parse_agent_id("user"), parse_agent_id("ada"));
        let request = agent_add_params("ada", Some("root"), None);
        let added = op::add_agent(&app.request(&user), &request).await.unwrap();
        assert_eq!(added.supervisor, Some(parse_agent_id("root")));
        assert_eq!(added.status, AgentStatus::Active);
        let info = op::get_workspace_info(&app.request(&ada), None).await;
        assert_eq!(refusal_code(info), RefusalCode::NOT_INITIALIZED);
        let request = agent_add_params("eve", None, Some("/w"));
        assert_eq!(
            refusal_code(op::add_agent(&app.request(&user), &request).await),
            RefusalCode::NOT_INITIALIZED
        );
        assert_eq!(
            op::list_agents(&app.person_request(), &ListAgentsParams::default())
                .await
                .unwrap()
                .agents
                .len(),
            1
        );
        let list = op::list_workspaces(&app.request(&user)).await.unwrap();
        assert!(!list.workspaces[0].created);
    });
}

#[test]
fn directory_is_bound_by_team_heads_and_replaced_only_with_force() {
    run_test(async {
        let harness = new_test_workspace();
        harness.add_agent("ada", None).await;
        harness.add_agent("bob", Some("ada")).await;
        harness.add_agent("eve", None).await;
        let ada = parse_agent_id("ada");
        assert_eq!(
            refusal_code(harness.bind_workspace("bob", None, "/w", false).await),
            RefusalCode::INVALID_WORKSPACE
        );
        assert_eq!(
            refusal_code(
                harness
                    .bind_workspace("eve", Some("ada"), "/w", false)
                    .await
            ),
            RefusalCode::PERMISSION_DENIED
        );
        harness.write_file(&ada, None, "x").await.unwrap();
        assert_eq!(
            refusal_code(harness.bind_workspace("ada", None, "/w", false).await),
            RefusalCode::WORKSPACE_EXISTS
        );
        assert_eq!(
            harness.files.directories(),
            [default_workspace_directory(&ada)],
            "no directory was created"
        );
        harness
            .bind_workspace("ada", None, "/w", true)
            .await
            .unwrap();
        harness
            .bind_workspace("ada", None, "/w/.", false)
            .await
            .unwrap();
        assert_eq!(
            refusal_code(harness.bind_workspace("ada", None, "/v", false).await),
            RefusalCode::WORKSPACE_EXISTS
        );
        assert_eq!(
            refusal_code(harness.bind_workspace("eve", None, "/w/x", false).await),
            RefusalCode::WORKSPACE_OVERLAPS
        );
        // It may move deeper or back up: its own directory does not count as an overlap.
        harness
            .bind_workspace("ada", None, "/w/x", true)
            .await
            .unwrap();
        harness
            .bind_workspace("eve", None, "/w/y", false)
            .await
            .unwrap();
        harness
            .write_file(&parse_agent_id("bob"), None, "from-bob")
            .await
            .unwrap();
        let last = harness.files.all_files().pop().unwrap();
        assert_eq!((last.0.as_str(), last.1.as_str()), ("/w/x", "from-bob"));
        let request = agent_add_params("new", Some("eve"), Some("/z"));
        let refused = op::add_agent(&harness.app.request(&parse_agent_id("user")), &request).await;
        assert_eq!(refusal_code(refused), RefusalCode::INVALID_WORKSPACE);
        let by: AgentId = parse_agent_id("bob");
        let refused = op::add_agent(
            &harness.app.request(&by),
            &agent_add_params("n", None, Some("/z")),
        )
        .await;
        assert_eq!(refusal_code(refused), RefusalCode::PERMISSION_DENIED);
        assert!(!harness.files.directories().contains(&"/z".to_owned()));
    });
}
