//! Tests for the agents pages.

use http::StatusCode;
use polis_core::record::RecordBody;
use polis_core::society::member::{self, MemberState};
use polis_core::society::run::record_name;
use polis_core::society::{Kept, MemberKey};
use polis_core::{AgentId, AgentStatus, Changeset, RunId, Write};
use polis_ops::op::{self, CheckMessages, ListAgents};
use serde_json::{Value, json};

use crate::tasks::htmx;
use crate::town::Town;

async fn add(town: &Town, id: &str, role: &str, under: &str) {
    let add = json!({"id": id, "role": role, "supervisor": under});
    let add = serde_json::from_value(add).unwrap();
    op::add_agent(&town.polis, &AgentId::user(), &add)
        .await
        .unwrap();
}

/// Starts a run with an architect that has hired a programmer.
pub(crate) async fn run(town: &Town) {
    let start = json!({"requirement": "build <it>", "taskId": "shop", "budget": {"tokens": 1000}});
    let start = serde_json::from_value(start).unwrap();
    op::start_run(&town.polis, &AgentId::user(), &start)
        .await
        .unwrap();
    let run: RunId = "shop".parse().unwrap();
    let inside = town.polis.within(run);
    hire(&inside, "root", "architect", "arch").await;
    hire(&town.polis, "arch", "programmer", "prog").await;
}

async fn hire(polis: &polis_ops::Polis, by: &str, role: &str, name: &str) {
    let by: AgentId = by.parse().unwrap();
    let made = json!({"name": role, "rolePrompt": "work"});
    let made = serde_json::from_value(made).unwrap();
    op::create_role(polis, &by, &made).await.unwrap();
    let hired =
        json!({"role": role, "name": name, "taskBrief": {"objective": format!("be {name}")}});
    let hired = serde_json::from_value(hired).unwrap();
    let hired = op::spawn_agent(polis, &by, &hired).await.unwrap();
    assert_eq!(hired.id.as_str(), name);
}

/// Records turns of a member, as the runtime does.
async fn speak(town: &Town, who: &str, turns: &[Value]) {
    let key: MemberKey = who.parse().unwrap();
    let name = member::state_name(&key);
    let stored = town.polis.store.record(&name).await.unwrap().unwrap();
    let state: Kept<MemberState> = Kept::read(&stored).unwrap();
    let caller = town.polis.caller(&key.agent).await.unwrap();
    let mut changes = Changeset::by(&caller, town.polis.now());
    let mut new = state.value.clone();
    for entries in turns {
        let body = json!({"at": town.polis.clock.now_millis(), "of": entries});
        changes = changes.write(Write::AppendTurn {
            member: key.to_string(),
            turn: new.next_turn,
            body: RecordBody::Text(body.to_string()),
        });
        new.next_turn += 1;
    }
    changes.writes.push(state.put(name, &new));
    town.polis.store.commit(changes).await.unwrap();
}

fn said(text: &str, call: Option<(&str, &str, &str)>) -> Value {
    let calls: Vec<Value> = call
        .iter()
        .map(|(id, tool, arguments)| json!({"id": id, "function": {"name": tool, "arguments": arguments}}))
        .collect();
    json!({"said": {"m": {"role": "assistant", "content": text, "tool_calls": calls}, "used": {"in": 1200, "out": 34, "cost": 4200}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_stand_under_their_supervisors_and_the_retired_behind_a_switch() {
    let town = Town::new().await;
    add(&town, "bob", "architect", "lead").await;
    add(&town, "old", "test-leader", "lead").await;
    let user = AgentId::user();
    op::retire_agent(&town.polis, &user, &"old".parse().unwrap())
        .await
        .unwrap();
    let task = serde_json::from_value(json!({"subject": "work"})).unwrap();
    op::create_task(&town.polis, &user, &task).await.unwrap();
    let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
    op::claim_task(&town.polis, &"bob".parse().unwrap(), &claim)
        .await
        .unwrap();
    let mut person = town.person().await;
    let page = person.get("/agents").await.good().text;
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
        "mid layer",
        "href=\"/tasks?owner=bob\">1<",
    ] {
        assert!(bob.contains(part), "{part}: {bob}");
    }
    assert!(row(&page, "old").is_none());
    let all = person.get("/agents?all=1").await.good().text;
    assert!(row(&all, "old").unwrap().contains("status-retired"));
    let found = person.part("/agents/tree?q=ARCHI").await.good().text;
    assert!(row(&found, "bob").is_some() && row(&found, "lead").is_none());
    let below = person.get("/agents?under=bob").await.good().text;
    assert!(row(&below, "bob").is_some() && row(&below, "ada").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_page_has_its_tasks_and_the_letters_between_it_and_the_person() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = htmx(&mut person, "/agents/ada/say", "text=please+**look**").await;
    let page = page.good().text;
    assert!(page.contains("<strong>look</strong>"), "{page}");
    assert!(page.contains("class=\"mine\""));
    let ada: AgentId = "ada".parse().unwrap();
    let mail = op::check_messages(&town.polis, &ada, &CheckMessages::default()).await;
    let mail = mail.unwrap().messages;
    assert_eq!(
        mail[0].payload.to::<String>().as_deref(),
        Some("please **look**")
    );
    let answer = json!({"to": "user", "payload": {"text": "I <did>"}});
    let answer = serde_json::from_value(answer).unwrap();
    op::send_message(&town.polis, &ada, &answer).await.unwrap();
    let page = person.get("/agents/ada").await.good().text;
    assert!(
        page.contains("&lt;did&gt;") && !page.contains("<did>"),
        "{page}"
    );
    assert!(page.contains("read"), "what was read is told");
    let part = person.part("/agents/ada/mail").await.good().text;
    assert!(
        !part.contains("<textarea"),
        "nobody loses what is being typed"
    );
    assert_eq!(
        person.submit("/agents/ada/say", "text=plain").await.to(),
        "/agents/ada#mail"
    );
    let nobody = person.get("/agents/nobody").await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
    let refused = htmx(&mut person, "/agents/nobody/say", "text=hello").await;
    assert!(
        refused.text.contains("data-code=\"recipient_not_found\""),
        "{}",
        refused.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_retired_after_one_more_question() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let sure = person.get("/agents/ada/retire").await.good().text;
    assert!(sure.contains("action=\"/agents/ada/retire\""));
    assert_eq!(
        person.submit("/agents/ada/retire", "").await.to(),
        "/agents"
    );
    let all = op::list_agents(&town.polis, &ListAgents::default()).await;
    let ada = all
        .unwrap()
        .agents
        .into_iter()
        .find(|a| a.id.as_str() == "ada");
    assert_eq!(ada.unwrap().status, AgentStatus::Retired);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_shows_its_members_and_what_they_may_spend() {
    let town = Town::new().await;
    run(&town).await;
    let mut person = town.person().await;
    assert!(
        person
            .get("/agents")
            .await
            .good()
            .text
            .contains("href=\"/agents/runs/shop\"")
    );
    let page = person.get("/agents/runs/shop").await.good().text;
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
    assert_eq!(to.to(), "/agents/runs/shop/of/arch");
    assert_eq!(
        person.get("/agents/runs/none").await.status,
        StatusCode::NOT_FOUND
    );
    let nobody = person.get("/agents/runs/shop/of/ada").await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_reads_like_a_chat_with_each_call_and_what_came_of_it() {
    let town = Town::new().await;
    run(&town).await;
    let turns = [
        json!([{"heard": {"ids": [1], "m": {"role": "user", "content": "begin <now>"}}}]),
        json!([said(
            "I **look** <script>x</script>",
            Some(("c1", "read_file", r#"{"path":"a.rs"}"#))
        )]),
        json!([{"did": {"m": {"role": "tool", "tool_call_id": "c1", "content": "{\"ok\":true}"}, "end": "failed", "ms": 1500}}]),
    ];
    speak(&town, "shop/arch", &turns).await;
    let mut person = town.person().await;
    let page = person.get("/agents/runs/shop/of/arch").await.good().text;
    for part in [
        "begin &lt;now&gt;",
        "<strong>look</strong>",
        "data-tool=\"read_file\"",
        "a.rs",
        "failed",
        "1.5 s",
        "1.2k → 34",
        "$0.0042",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script>x"), "{page}");
    assert_eq!(page.matches("data-tool=").count(), 1);
    let more: Vec<Value> = (0..30)
        .map(|n| json!([said(&format!("word {n}."), None)]))
        .collect();
    speak(&town, "shop/arch", &more).await;
    let page = person.get("/agents/runs/shop/of/arch").await.good().text;
    assert!(page.contains("word 29.") && !page.contains("word 5."));
    assert!(
        page.contains("href=\"/agents/runs/shop/of/arch?from=0\""),
        "{page}"
    );
    let old = person
        .get("/agents/runs/shop/of/arch?from=0")
        .await
        .good()
        .text;
    assert!(old.contains("begin &lt;now&gt;") && old.contains("?from=20"));
    assert!(
        !old.contains("hx-get=\"/agents/runs/shop/of/arch/chat"),
        "an old page stays as it is"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_and_its_members_are_held_up_let_go_on_and_dismissed() {
    let town = Town::new().await;
    run(&town).await;
    let mut person = town.person().await;
    let paused = htmx(&mut person, "/agents/runs/shop/hold", "deed=pause")
        .await
        .good()
        .text;
    assert!(paused.contains("value=\"resume\""), "{paused}");
    let to = person.submit("/agents/runs/shop/hold", "deed=resume").await;
    assert_eq!(to.to(), "/agents/runs/shop");
    let at = "/agents/runs/shop/of/arch";
    let held = person
        .submit(&format!("{at}/hold"), "deed=pause&subtree=1")
        .await;
    assert_eq!(held.to(), at);
    assert!(person.get(at).await.good().text.contains("status-paused"));
    let below = person.get("/agents/runs/shop/of/prog").await.good().text;
    assert!(below.contains("status-paused"), "everybody below, too");
    let sure = person.get(&format!("{at}/terminate")).await.good().text;
    assert!(sure.contains("prog"), "it says who goes along");
    let gone = person
        .submit(&format!("{at}/terminate"), "reason=enough")
        .await;
    assert_eq!(gone.to(), "/agents/runs/shop");
    let page = person.get("/agents/runs/shop").await.good().text;
    assert_eq!(page.matches("status-gone").count(), 2, "{page}");
    person.get("/agents/runs/shop/stop").await.good();
    person.submit("/agents/runs/shop/stop", "").await.to();
    let page = person.get("/agents/runs/shop").await.good().text;
    assert!(page.contains("status-stopped"));
    let refused = htmx(&mut person, "/agents/runs/shop/hold", "deed=pause").await;
    assert!(
        refused.text.contains("data-code=\"wrong_state\""),
        "{}",
        refused.text
    );
    assert!(
        !person
            .get("/agents")
            .await
            .good()
            .text
            .contains("/agents/runs/shop")
    );
    assert!(
        person
            .get("/agents?all=1")
            .await
            .good()
            .text
            .contains("/agents/runs/shop")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_reaches_a_member_of_a_run_and_only_a_session_that_may_sends_it() {
    let town = Town::new().await;
    run(&town).await;
    let mut person = town.person().await;
    for who in ["root", "arch"] {
        let at = format!("/agents/runs/shop/of/{who}");
        let page = htmx(&mut person, &format!("{at}/say"), "text=hello+there").await;
        assert!(page.good().text.contains("hello there"));
    }
    let mut tasks_alone = town.agent("user", "tasks,agents").await;
    let refused = htmx(&mut tasks_alone, "/agents/ada/say", "text=x").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    let refused = tasks_alone.get("/agents/runs/shop").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        !tasks_alone
            .get("/agents")
            .await
            .good()
            .text
            .contains("/agents/runs/shop")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn how_somebody_stands_is_fetched_again() {
    let town = Town::new().await;
    run(&town).await;
    let mut person = town.person().await;
    for at in ["/agents/ada", "/agents/runs/shop/of/prog"] {
        let page = person.get(at).await.good().text;
        let again = format!("id=\"standing\" hx-get=\"{at}/standing\"");
        assert!(page.contains(&again), "{page}");
    }
    let user = AgentId::user();
    let task = serde_json::from_value(json!({"subject": "work"})).unwrap();
    op::create_task(&town.polis, &user, &task).await.unwrap();
    let give = json!({"taskId": "1", "owner": "ada", "forceAssign": true});
    let give = serde_json::from_value(give).unwrap();
    op::update_task(&town.polis, &user, &give).await.unwrap();
    let part = person.part("/agents/ada/standing").await.good().text;
    assert!(
        part.contains("#1 work") && !part.contains("<html"),
        "{part}"
    );
    assert!(
        !part.contains("<textarea"),
        "nobody loses what is being typed"
    );
    op::retire_agent(&town.polis, &user, &"lead".parse().unwrap())
        .await
        .unwrap();
    let part = person.part("/agents/lead/standing").await.good().text;
    assert!(part.contains("status-retired"), "{part}");
    let hold = "deed=pause";
    person
        .submit("/agents/runs/shop/of/prog/hold", hold)
        .await
        .to();
    let part = person.part("/agents/runs/shop/of/prog/standing").await;
    let part = part.good().text;
    assert!(part.contains("value=\"resume\""), "{part}");
    assert!(
        part.contains("id=\"means\" hx-swap-oob=\"morph\""),
        "{part}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn old_letters_stay_where_they_are_and_lead_back() {
    let town = Town::new().await;
    let ada: AgentId = "ada".parse().unwrap();
    for number in 0..40 {
        let letter = json!({"to": "user", "payload": format!("letter {number}")});
        let letter = serde_json::from_value(letter).unwrap();
        op::send_message(&town.polis, &ada, &letter).await.unwrap();
    }
    let mut person = town.person().await;
    let page = person.get("/agents/ada").await.good().text;
    assert!(!page.contains(">Newest<"), "{page}");
    let older = person.part("/agents/ada/mail?before=11").await.good().text;
    assert!(
        older.contains("letter 9") && older.contains(">Newest<"),
        "{older}"
    );
    assert!(!older.contains("id=\"letters\" hx-get"), "{older}");
    let alone = person.get("/agents/ada/mail?before=11").await.good().text;
    assert!(
        alone.contains("<html") && alone.contains("letter 9"),
        "{alone}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_see_tasks_is_told_of_no_loads() {
    let town = Town::new().await;
    run(&town).await;
    let task = serde_json::from_value(json!({"subject": "work"}));
    op::create_task(&town.polis, &AgentId::user(), &task.unwrap())
        .await
        .unwrap();
    let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
    op::claim_task(&town.polis, &"prog".parse().unwrap(), &claim)
        .await
        .unwrap();
    let mut person = town.person().await;
    let link = "/tasks?owner=prog";
    let page = person.get("/agents/runs/shop").await.good().text;
    assert!(page.contains(link), "{page}");
    let mut other = town.agent("user", "agents,society,events:read").await;
    for path in ["/agents/runs/shop", "/agents"] {
        let page = other.get(path).await.good().text;
        assert!(!page.contains("/tasks?owner="), "{path}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_may_only_look_is_offered_nothing_to_do() {
    let town = Town::new().await;
    run(&town).await;
    town.create_task("work").await;
    let mut reader = town.agent("user", "read").await;
    for path in [
        "/agents/ada",
        "/agents/runs/shop",
        "/agents/runs/shop/of/prog",
        "/tasks",
        "/tasks/1",
    ] {
        let page = reader.get(path).await.good().text;
        let (_, main) = page.split_once("<main").unwrap();
        for deed in [
            "method=\"post\"",
            "button danger",
            "draggable=\"true\"",
            "/tasks/new",
        ] {
            assert!(!main.contains(deed), "{path} has {deed}: {main}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_that_is_sent_twice_is_one() {
    let town = Town::new().await;
    let mut person = town.person().await;
    for _ in 0..2 {
        let sent = person.submit("/agents/ada/say", "text=once&once=k1").await;
        assert_eq!(sent.to(), "/agents/ada#mail");
    }
    let ada: AgentId = "ada".parse().unwrap();
    let mail = op::check_messages(&town.polis, &ada, &CheckMessages::default()).await;
    assert_eq!(mail.unwrap().messages.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_run_is_listed_with_its_state_and_duration() {
    let town = Town::new().await;
    run(&town).await;
    let id: RunId = "shop".parse().unwrap();
    town.clock.advance(5 * 60_000);
    let stored = town.polis.store.record(&record_name(&id)).await.unwrap();
    let revision = stored.unwrap().revision;
    assert!(op::finish_run(&town.polis, &id, revision).await.unwrap());
    let mut person = town.person().await;
    for (lang, state, duration) in [("en", "done", "after 5 min"), ("zh", "已完成", "用时 5 分")]
    {
        person.submit("/taste", &format!("lang={lang}")).await;
        let page = person.get("/agents").await.good().text;
        let (_, list) = page.split_once("/agents/runs/shop").unwrap();
        let (list, _) = list.split_once("</li>").unwrap();
        assert!(list.contains(state) && list.contains(duration), "{list}");
    }
}
