//! Agent page tests: agent tree, messages between agent and user, runs with members, conversations and
//! budgets, and the actions on them.

use http::StatusCode;
use polis_core::record::RecordBody;
use polis_core::society::member::{self, MemberState};
use polis_core::society::run::run_record_name;
use polis_core::society::{MemberKey, VersionedRecord};
use polis_core::{AgentId, AgentStatus, Changeset, RunId, StoreWrite};
use polis_ops::op::{self, CheckMessagesParams, ListAgentsParams};
use serde_json::{Value, json};

use crate::task_pages::post_with_htmx;
use crate::test_server::TestServer;

async fn add_agent_under(server: &TestServer, id: &str, role: &str, under: &str) {
    let add = json!({"id": id, "role": role, "supervisor": under});
    let add = serde_json::from_value(add).unwrap();
    op::add_agent(&server.app.request(&AgentId::user()), &add)
        .await
        .unwrap();
}

/// Starts a run with an architect that has hired a programmer.
pub(crate) async fn start_sample_run(server: &TestServer) {
    let start = json!({"requirement": "build <it>", "taskId": "shop", "budget": {"tokens": 1000}});
    let start = serde_json::from_value(start).unwrap();
    op::start_run(&server.app.request(&AgentId::user()), &start)
        .await
        .unwrap();
    let run: RunId = "shop".parse().unwrap();
    let root = server.app.request(&AgentId::root()).in_run(run);
    hire_member(&root, "architect", "arch").await;
    let arch = server.app.request(&"arch".parse().unwrap());
    hire_member(&arch, "programmer", "prog").await;
}

async fn hire_member(request: &polis_ops::Request, role: &str, name: &str) {
    let made = json!({"name": role, "rolePrompt": "work"});
    let made = serde_json::from_value(made).unwrap();
    op::create_role(request, &made).await.unwrap();
    let hired =
        json!({"role": role, "name": name, "taskBrief": {"objective": format!("be {name}")}});
    let hired = serde_json::from_value(hired).unwrap();
    let hired = op::spawn_agent(request, &hired).await.unwrap();
    assert_eq!(hired.id.as_str(), name);
}

/// Records turns of a member, as the runtime does.
async fn append_turns(server: &TestServer, who: &str, turns: &[Value]) {
    let key: MemberKey = who.parse().unwrap();
    let name = member::member_state_record_name(&key);
    let stored = server.app.store.record(&name).await.unwrap().unwrap();
    let state: VersionedRecord<MemberState> = VersionedRecord::from_stored(&stored).unwrap();
    let caller = server
        .app
        .request(&key.agent)
        .resolve_caller()
        .await
        .unwrap();
    let mut changes = Changeset::new(&caller, server.app.now());
    let mut new = state.value.clone();
    for entries in turns {
        let body = json!({"at": server.app.clock.now_millis(), "of": entries});
        changes = changes.with_write(StoreWrite::AppendTurn {
            member: key.to_string(),
            turn: new.next_turn,
            body: RecordBody::Text(body.to_string()),
        });
        new.next_turn += 1;
    }
    changes.writes.push(state.update_write(name, &new));
    server.app.store.commit(changes).await.unwrap();
}

/// Builds a stored assistant entry, optionally with one tool call.
fn assistant_entry(text: &str, call: Option<(&str, &str, &str)>) -> Value {
    let calls: Vec<Value> = call
        .iter()
        .map(|(id, tool, arguments)| json!({"id": id, "function": {"name": tool, "arguments": arguments}}))
        .collect();
    json!({"said": {"m": {"role": "assistant", "content": text, "tool_calls": calls}, "used": {"in": 1200, "out": 34, "cost": 4200}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_tree_nests_by_supervisor_and_hides_retired() {
    let server = TestServer::new().await;
    add_agent_under(&server, "bob", "architect", "lead").await;
    add_agent_under(&server, "old", "test-leader", "lead").await;
    let user = AgentId::user();
    op::retire_agent(&server.app.request(&user), &"old".parse().unwrap())
        .await
        .unwrap();
    let task = serde_json::from_value(json!({"subject": "work"})).unwrap();
    op::create_task(&server.app.request(&user), &task)
        .await
        .unwrap();
    let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
    op::claim_task(&server.app.request(&"bob".parse().unwrap()), &claim)
        .await
        .unwrap();
    let mut person = server.login_as_user().await;
    let page = person.get("/agents").await.expect_ok().text;
    let row = |page: &str, id: &str| {
        let at = page.find(&format!("href=\"/agents/{id}\""))?;
        let start = page[..at].rfind("<tr").unwrap();
        let end = at + page[at..].find("</tr>").unwrap();
        Some(page[start..end].to_owned())
    };
    assert!(row(&page, "lead").unwrap().contains("depth-0"));
    let bob = row(&page, "bob").unwrap();
    for part in [
        "depth-1",
        "architect",
        "Mid layer",
        "href=\"/tasks?owner=bob\">1<",
    ] {
        assert!(bob.contains(part), "{part}: {bob}");
    }
    assert!(row(&page, "old").is_none());
    let all = person.get("/agents?all=1").await.expect_ok().text;
    assert!(row(&all, "old").unwrap().contains("status-retired"));
    let found = person
        .get_fragment("/agents/tree?q=ARCHI")
        .await
        .expect_ok()
        .text;
    assert!(row(&found, "bob").is_some() && row(&found, "lead").is_none());
    let below = person.get("/agents?under=bob").await.expect_ok().text;
    assert!(row(&below, "bob").is_some() && row(&below, "ada").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_page_shows_messages_with_user() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let page = post_with_htmx(&mut person, "/agents/ada/message", "text=please+**look**").await;
    let page = page.expect_ok().text;
    assert!(page.contains("<strong>look</strong>"), "{page}");
    assert!(page.contains("class=\"mine\""));
    let ada: AgentId = "ada".parse().unwrap();
    let mail = op::check_messages(&server.app.request(&ada), &CheckMessagesParams::default()).await;
    let mail = mail.unwrap().messages;
    assert_eq!(
        mail[0].payload.parse_as::<String>().as_deref(),
        Some("please **look**")
    );
    let answer = json!({"to": "user", "payload": {"text": "I <did>"}});
    let answer = serde_json::from_value(answer).unwrap();
    op::send_message(&server.app.request(&ada), &answer)
        .await
        .unwrap();
    let page = person.get("/agents/ada").await.expect_ok().text;
    assert!(
        page.contains("&lt;did&gt;") && !page.contains("<did>"),
        "{page}"
    );
    assert!(page.contains("read"), "the message is marked as read");
    let part = person
        .get_fragment("/agents/ada/mail")
        .await
        .expect_ok()
        .text;
    assert!(
        !part.contains("<textarea"),
        "a refresh must not replace the text field"
    );
    assert_eq!(
        person
            .post_with_csrf("/agents/ada/message", "text=plain")
            .await
            .redirect_target(),
        "/agents/ada#mail"
    );
    let nobody = person.get("/agents/nobody").await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
    let refused = post_with_htmx(&mut person, "/agents/nobody/message", "text=hello").await;
    assert!(
        refused.text.contains("data-code=\"recipient_not_found\""),
        "{}",
        refused.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_is_retired_after_confirmation() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let sure = person.get("/agents/ada/retire").await.expect_ok().text;
    assert!(sure.contains("action=\"/agents/ada/retire\""));
    assert_eq!(
        person
            .post_with_csrf("/agents/ada/retire", "")
            .await
            .redirect_target(),
        "/agents"
    );
    let all = op::list_agents(&server.app.person_request(), &ListAgentsParams::default()).await;
    let ada = all
        .unwrap()
        .agents
        .into_iter()
        .find(|a| a.id.as_str() == "ada");
    assert_eq!(ada.unwrap().status, AgentStatus::Retired);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_page_shows_members_and_budget() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    let mut person = server.login_as_user().await;
    assert!(
        person
            .get("/agents")
            .await
            .expect_ok()
            .text
            .contains("href=\"/agents/runs/shop\"")
    );
    let page = person.get("/agents/runs/shop").await.expect_ok().text;
    for part in [
        "build &lt;it&gt;",
        "be arch",
        "depth-2",
        "<meter",
        "max=\"1000\"",
        "2 agents",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // A member of a run has its page there.
    let to = person.get("/agents/arch").await;
    assert_eq!(to.redirect_target(), "/agents/runs/shop/members/arch");
    assert_eq!(
        person.get("/agents/runs/none").await.status,
        StatusCode::NOT_FOUND
    );
    let nobody = person.get("/agents/runs/shop/members/ada").await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_shows_calls_with_results_and_is_paginated() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    let turns = [
        json!([{"heard": {"ids": [1], "m": {"role": "user", "content": "begin <now>"}}}]),
        json!([assistant_entry(
            "I **look** <script>x</script>",
            Some(("c1", "read_file", r#"{"path":"a.rs"}"#))
        )]),
        json!([{"did": {"m": {"role": "tool", "tool_call_id": "c1", "content": "{\"ok\":true}"}, "end": "failed", "ms": 1500}}]),
    ];
    append_turns(&server, "shop/arch", &turns).await;
    let mut person = server.login_as_user().await;
    let page = person
        .get("/agents/runs/shop/members/arch")
        .await
        .expect_ok()
        .text;
    for part in [
        "begin &lt;now&gt;",
        "<strong>look</strong>",
        "data-tool=\"read_file\"",
        "a.rs",
        "Failed",
        "1.5 s",
        "1.2k → 34",
        "$0.0042",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script>x"), "{page}");
    assert_eq!(page.matches("data-tool=").count(), 1);
    let more: Vec<Value> = (0..30)
        .map(|n| json!([assistant_entry(&format!("word {n}."), None)]))
        .collect();
    append_turns(&server, "shop/arch", &more).await;
    let page = person
        .get("/agents/runs/shop/members/arch")
        .await
        .expect_ok()
        .text;
    assert!(page.contains("word 29.") && !page.contains("word 5."));
    assert!(
        page.contains("href=\"/agents/runs/shop/members/arch?from=0\""),
        "{page}"
    );
    let old = person
        .get("/agents/runs/shop/members/arch?from=0")
        .await
        .expect_ok()
        .text;
    assert!(old.contains("begin &lt;now&gt;") && old.contains("?from=20"));
    assert!(
        !old.contains("hx-get=\"/agents/runs/shop/members/arch/chat"),
        "an older page does not update"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn run_and_members_are_paused_resumed_and_dismissed() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    let mut person = server.login_as_user().await;
    let paused = post_with_htmx(&mut person, "/agents/runs/shop/pause", "action=pause")
        .await
        .expect_ok()
        .text;
    assert!(paused.contains("value=\"resume\""), "{paused}");
    let to = person
        .post_with_csrf("/agents/runs/shop/pause", "action=resume")
        .await;
    assert_eq!(to.redirect_target(), "/agents/runs/shop");
    let at = "/agents/runs/shop/members/arch";
    let held = person
        .post_with_csrf(&format!("{at}/pause"), "action=pause&subtree=1")
        .await;
    assert_eq!(held.redirect_target(), at);
    assert!(
        person
            .get(at)
            .await
            .expect_ok()
            .text
            .contains("status-paused")
    );
    let below = person
        .get("/agents/runs/shop/members/prog")
        .await
        .expect_ok()
        .text;
    assert!(
        below.contains("status-paused"),
        "members below are paused too"
    );
    let sure = person.get(&format!("{at}/dismiss")).await.expect_ok().text;
    assert!(
        sure.contains("prog"),
        "the confirmation names the members below"
    );
    let gone = person
        .post_with_csrf(&format!("{at}/dismiss"), "reason=enough")
        .await;
    assert_eq!(gone.redirect_target(), "/agents/runs/shop");
    let page = person.get("/agents/runs/shop").await.expect_ok().text;
    assert_eq!(page.matches("status-gone").count(), 2, "{page}");
    person.get("/agents/runs/shop/stop").await.expect_ok();
    person
        .post_with_csrf("/agents/runs/shop/stop", "")
        .await
        .redirect_target();
    let page = person.get("/agents/runs/shop").await.expect_ok().text;
    assert!(page.contains("status-stopped"));
    let refused = post_with_htmx(&mut person, "/agents/runs/shop/pause", "action=pause").await;
    assert!(
        refused.text.contains("data-code=\"wrong_state\""),
        "{}",
        refused.text
    );
    assert!(
        !person
            .get("/agents")
            .await
            .expect_ok()
            .text
            .contains("/agents/runs/shop")
    );
    assert!(
        person
            .get("/agents?all=1")
            .await
            .expect_ok()
            .text
            .contains("/agents/runs/shop")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn message_to_member_requires_scope() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    let mut person = server.login_as_user().await;
    for who in ["root", "arch"] {
        let at = format!("/agents/runs/shop/members/{who}");
        let page = post_with_htmx(&mut person, &format!("{at}/message"), "text=hello+there").await;
        assert!(page.expect_ok().text.contains("hello there"));
    }
    let mut tasks_alone = server.login_as_agent("user", "tasks,agents").await;
    let refused = post_with_htmx(&mut tasks_alone, "/agents/ada/message", "text=x").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    let refused = tasks_alone.get("/agents/runs/shop").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        !tasks_alone
            .get("/agents")
            .await
            .expect_ok()
            .text
            .contains("/agents/runs/shop")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_status_fragment_is_refreshed() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    let mut person = server.login_as_user().await;
    for at in ["/agents/ada", "/agents/runs/shop/members/prog"] {
        let page = person.get(at).await.expect_ok().text;
        let again = format!("id=\"status\" hx-get=\"{at}/status\"");
        assert!(page.contains(&again), "{page}");
    }
    let user = AgentId::user();
    let task = serde_json::from_value(json!({"subject": "work"})).unwrap();
    op::create_task(&server.app.request(&user), &task)
        .await
        .unwrap();
    let give = json!({"taskId": "1", "owner": "ada", "forceAssign": true});
    let give = serde_json::from_value(give).unwrap();
    op::update_task(&server.app.request(&user), &give)
        .await
        .unwrap();
    let part = person
        .get_fragment("/agents/ada/status")
        .await
        .expect_ok()
        .text;
    assert!(
        part.contains("#1 work") && !part.contains("<html"),
        "{part}"
    );
    assert!(
        !part.contains("<textarea"),
        "a refresh must not replace the text field"
    );
    op::retire_agent(&server.app.request(&user), &"lead".parse().unwrap())
        .await
        .unwrap();
    let part = person
        .get_fragment("/agents/lead/status")
        .await
        .expect_ok()
        .text;
    assert!(part.contains("status-retired"), "{part}");
    let hold = "action=pause";
    person
        .post_with_csrf("/agents/runs/shop/members/prog/pause", hold)
        .await
        .redirect_target();
    let part = person
        .get_fragment("/agents/runs/shop/members/prog/status")
        .await;
    let part = part.expect_ok().text;
    assert!(part.contains("value=\"resume\""), "{part}");
    assert!(
        part.contains("id=\"means\" hx-swap-oob=\"morph\""),
        "{part}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn older_messages_page_is_static_and_links_to_newest() {
    let server = TestServer::new().await;
    let ada: AgentId = "ada".parse().unwrap();
    for number in 0..40 {
        let letter = json!({"to": "user", "payload": format!("letter {number}")});
        let letter = serde_json::from_value(letter).unwrap();
        op::send_message(&server.app.request(&ada), &letter)
            .await
            .unwrap();
    }
    let mut person = server.login_as_user().await;
    let page = person.get("/agents/ada").await.expect_ok().text;
    assert!(!page.contains(">Newest<"), "{page}");
    let older = person
        .get_fragment("/agents/ada/mail?before=11")
        .await
        .expect_ok()
        .text;
    assert!(
        older.contains("letter 9") && older.contains(">Newest<"),
        "{older}"
    );
    assert!(!older.contains("id=\"letters\" hx-get"), "{older}");
    let alone = person
        .get("/agents/ada/mail?before=11")
        .await
        .expect_ok()
        .text;
    assert!(
        alone.contains("<html") && alone.contains("letter 9"),
        "{alone}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn session_without_task_scope_sees_no_task_counts() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    let task = serde_json::from_value(json!({"subject": "work"}));
    op::create_task(&server.app.request(&AgentId::user()), &task.unwrap())
        .await
        .unwrap();
    let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
    op::claim_task(&server.app.request(&"prog".parse().unwrap()), &claim)
        .await
        .unwrap();
    let mut person = server.login_as_user().await;
    let link = "/tasks?owner=prog";
    let page = person.get("/agents/runs/shop").await.expect_ok().text;
    assert!(page.contains(link), "{page}");
    let mut other = server
        .login_as_agent("user", "agents,society,events:read")
        .await;
    for path in ["/agents/runs/shop", "/agents"] {
        let page = other.get(path).await.expect_ok().text;
        assert!(!page.contains("/tasks?owner="), "{path}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_session_is_offered_no_actions() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    server.create_task("work").await;
    let mut reader = server.login_as_agent("user", "read").await;
    for path in [
        "/agents/ada",
        "/agents/runs/shop",
        "/agents/runs/shop/members/prog",
        "/tasks",
        "/tasks/1",
    ] {
        let page = reader.get(path).await.expect_ok().text;
        let (_, main) = page.split_once("<main").unwrap();
        for action in [
            "method=\"post\"",
            "button danger",
            "draggable=\"true\"",
            "/tasks/new",
        ] {
            assert!(!main.contains(action), "{path} has {action}: {main}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_message_submission_is_idempotent() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    for _ in 0..2 {
        let sent = person
            .post_with_csrf("/agents/ada/message", "text=once&idempotency_key=k1")
            .await;
        assert_eq!(sent.redirect_target(), "/agents/ada#mail");
    }
    let ada: AgentId = "ada".parse().unwrap();
    let mail = op::check_messages(&server.app.request(&ada), &CheckMessagesParams::default()).await;
    assert_eq!(mail.unwrap().messages.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_run_is_listed_with_its_state_and_duration() {
    let server = TestServer::new().await;
    start_sample_run(&server).await;
    let id: RunId = "shop".parse().unwrap();
    server.clock.advance_millis(5 * 60_000);
    let stored = server
        .app
        .store
        .record(&run_record_name(&id))
        .await
        .unwrap();
    let revision = stored.unwrap().revision;
    assert!(op::finish_run(&server.app, &id, revision).await.unwrap());
    let mut person = server.login_as_user().await;
    for (lang, state, duration) in [("en", "done", "after 5 min"), ("zh", "已完成", "用时 5 分")]
    {
        person
            .post_with_csrf("/preferences", &format!("lang={lang}"))
            .await;
        let page = person.get("/agents").await.expect_ok().text;
        let (_, list) = page.split_once("/agents/runs/shop").unwrap();
        let (list, _) = list.split_once("</li>").unwrap();
        assert!(list.contains(state) && list.contains(duration), "{list}");
    }
}
