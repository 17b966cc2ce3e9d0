//! Tests for the task pages.

use axum::body::Body;
use http::{Method, StatusCode};
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, Task, TaskId};
use polis_ops::op;
use serde_json::{Value, json};

use crate::town::{Answer, Browser, Town};

/// Submits a form as htmx does.
pub(crate) async fn htmx(browser: &mut Browser<'_>, path: &str, form: &str) -> Answer {
    let word = browser.word().await;
    let request = browser
        .request(Method::POST, path)
        .header("hx-request", "true")
        .header("x-polis-csrf", word)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()));
    browser.send(request.unwrap()).await
}

async fn create(town: &Town, task: Value) -> TaskId {
    let params = serde_json::from_value(task).unwrap();
    let made = op::create_task(&town.polis, &AgentId::user(), &params).await;
    made.unwrap().task.id
}

async fn task(town: &Town, id: u64) -> Task {
    let id = TaskId::new(id).unwrap();
    op::get_task(&town.polis, id).await.unwrap().task
}

async fn change(town: &Town, id: u64, by: &str, changes: Value) {
    let mut whole = json!({"taskId": id.to_string()});
    for (name, value) in changes.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let params: TaskUpdate = serde_json::from_value(whole).unwrap();
    let by = by.parse().unwrap();
    op::update_task(&town.polis, &by, &params).await.unwrap();
}

/// Returns the content of a column of the board.
fn column<'a>(page: &'a str, status: &str) -> &'a str {
    let start = page
        .find(&format!("data-column=\"{status}\""))
        .unwrap_or_else(|| panic!("no column {status}: {page}"));
    let rest = &page[start..];
    &rest[..rest.find("</section>").unwrap()]
}

fn cards(column: &str) -> usize {
    column.matches("data-task=").count()
}

/// Returns the value of a form field of the page.
fn value_of<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no field {name}: {page}"));
    rest.split('"').next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_board_teaches_how_to_make_the_first_task() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/tasks").await.good();
    assert!(page.text.contains("polis task create --subject"));
    assert!(page.text.contains("href=\"/tasks/new\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_stands_in_the_column_of_its_state_with_what_matters_about_it() {
    let town = Town::new().await;
    create(&town, json!({"subject": "plan <b>it</b>", "requiredRole": "backend-leader", "taskType": "api_design"})).await;
    create(&town, json!({"subject": "build it", "addBlockedBy": ["1"]})).await;
    change(
        &town,
        1,
        "ada",
        json!({"owner": "ada", "status": "in_progress"}),
    )
    .await;
    town.clock.advance(3 * 60_000);
    let mut person = town.person().await;
    let page = person.get("/tasks").await.good();
    let begun = column(&page.text, "in_progress");
    assert_eq!(cards(begun), 1);
    for part in [
        "data-task=\"1\"",
        "data-version=\"3\"",
        "plan &lt;b&gt;it&lt;/b&gt;",
        "backend-leader",
        "API design",
        "href=\"/agents/ada\"",
        "3 min ago",
    ] {
        assert!(begun.contains(part), "{part}: {begun}");
    }
    let pending = column(&page.text, "pending");
    assert!(pending.contains("blocked by 1"), "{pending}");
    assert_eq!(cards(column(&page.text, "completed")), 0);
    person.keep("polis-lang", "zh");
    let page = person.get("/tasks").await.good();
    assert!(column(&page.text, "in_progress").contains("3 分钟前"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ran_out_is_marked() {
    let town = Town::new().await;
    create(&town, json!({"subject": "leased"})).await;
    let claim = serde_json::from_value(json!({"taskId": "1", "leaseMs": 60_000})).unwrap();
    let ada = "ada".parse().unwrap();
    op::claim_task(&town.polis, &ada, &claim).await.unwrap();
    let mut person = town.person().await;
    assert!(
        !person
            .get("/tasks")
            .await
            .good()
            .text
            .contains("status-stale")
    );
    town.clock.advance(60_000);
    assert!(
        person
            .get("/tasks")
            .await
            .good()
            .text
            .contains("status-stale")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_shows_fifty_tells_the_total_and_offers_more() {
    let town = Town::new().await;
    for n in 1..=120 {
        create(&town, json!({"subject": format!("task {n}")})).await;
    }
    let mut person = town.person().await;
    let page = person.get("/tasks").await.good();
    let pending = column(&page.text, "pending");
    assert_eq!(cards(pending), 50);
    assert!(pending.contains(">120<"), "the total");
    assert!(pending.contains("data-task=\"120\""), "the newest first");
    assert!(pending.contains("href=\"/tasks?pending=100\""));
    let page = person.get("/tasks?pending=100").await.good();
    assert_eq!(cards(column(&page.text, "pending")), 100);
    let page = person.get("/tasks?pending=150").await.good();
    assert_eq!(cards(column(&page.text, "pending")), 120);
    assert!(!page.text.contains("pending=200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_board_is_filtered_and_keeps_its_filter_when_it_is_refreshed() {
    let town = Town::new().await;
    create(
        &town,
        json!({"subject": "支付接口", "requiredRole": "architect"}),
    )
    .await;
    create(&town, json!({"subject": "login", "taskType": "testing"})).await;
    create(&town, json!({"subject": "logout", "addBlockedBy": ["2"]})).await;
    change(
        &town,
        1,
        "user",
        json!({"owner": "ada", "forceAssign": true}),
    )
    .await;
    let mut person = town.person().await;
    for (query, found) in [
        ("role=architect", vec![1]),
        ("type=testing", vec![2]),
        ("owner=ada", vec![1]),
        ("ready=1", vec![2]),
        ("q=LOG", vec![2, 3]),
        ("q=%E6%94%AF%E4%BB%98", vec![1]),
        ("q=%233", vec![3]),
        ("type=nonsense", vec![]),
        ("q=login&role=architect", vec![]),
    ] {
        let page = person.get(&format!("/tasks?{query}")).await.good();
        for id in 1..=3 {
            let there = page.text.contains(&format!("data-task=\"{id}\""));
            assert_eq!(there, found.contains(&id), "{query}: {id}");
        }
        // It is refreshed with the form's values at that moment.
        assert!(page.text.contains("hx-get=\"/tasks/board\""), "{query}");
        assert!(
            page.text
                .contains("hx-include=\"#filter, #board &gt; input\""),
            "{query}"
        );
        let part = person.part(&format!("/tasks/board?{query}")).await.good();
        assert_eq!(cards(&part.text), found.len(), "{query}");
        assert!(!part.text.contains("<html"));
    }
    let typed = person.part("/tasks/filter?q=log&role=&type=").await.good();
    assert_eq!(typed.header("hx-replace-url"), "/tasks?q=log");
}

fn value_after(page: &str, before: &str) -> Option<String> {
    let (_, rest) = page.split_once(before)?;
    Some(rest.split('"').next()?.replace("&amp;", "&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_moved_and_a_refused_move_explains_itself() {
    let town = Town::new().await;
    create(&town, json!({"subject": "first"})).await;
    create(&town, json!({"subject": "second", "addBlockedBy": ["1"]})).await;
    let mut person = town.person().await;
    let moved = htmx(
        &mut person,
        "/tasks/1/move",
        "to=in_progress&version=2&query=q%3Dfirst",
    )
    .await;
    let board = moved.good().text;
    assert_eq!(cards(column(&board, "in_progress")), 1);
    assert_eq!(
        cards(column(&board, "pending")),
        0,
        "the filter is kept: {board}"
    );
    for (path, form, code) in [
        (
            "/tasks/1/move",
            "to=pending&version=3",
            "invalid_transition",
        ),
        (
            "/tasks/1/move",
            "to=completed&version=2",
            "version_mismatch",
        ),
        ("/tasks/2/move", "to=in_progress&version=1", "task_blocked"),
    ] {
        let refused = htmx(&mut person, path, form).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
        assert_eq!(refused.header("hx-retarget"), "#notices");
        assert!(
            refused.text.contains(&format!("data-code=\"{code}\"")),
            "{}",
            refused.text
        );
        assert!(refused.text.contains("class=\"hint\""));
    }
    assert_eq!(task(&town, 1).await.version, 3);
    assert_eq!(task(&town, 2).await.version, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_created_with_what_it_waits_for_and_a_refused_one_stays_in_the_form() {
    let town = Town::new().await;
    create(&town, json!({"subject": "first"})).await;
    let mut person = town.person().await;
    let form = "subject=second+%3Cone%3E&description=a%0D%0Ab&role=architect&type=testing&blocked_by=%231&blocks=&priority=high";
    let made = person.submit("/tasks/new", form).await;
    assert_eq!(made.to(), "/tasks/2");
    let made = task(&town, 2).await;
    assert_eq!(made.subject, "second <one>");
    assert_eq!(made.description, "a\nb");
    assert_eq!(made.blocked_by, [TaskId::new(1).unwrap()]);
    assert_eq!(made.required_role.as_deref(), Some("architect"));
    assert!(made.metadata.unwrap().get("priority").is_some());
    let refused = person
        .submit(
            "/tasks/new",
            "subject=kept&description=my+text&blocked_by=99",
        )
        .await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND, "{}", refused.text);
    assert!(refused.text.contains("data-code=\"task_not_found\""));
    assert_eq!(value_of(&refused.text, "subject"), "kept");
    assert!(refused.text.contains("my text"));
    let refused = person
        .submit("/tasks/new", "subject=kept&blocked_by=soon")
        .await;
    assert!(refused.text.contains("data-code=\"invalid_input\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tasks_page_has_its_text_its_graph_its_talk_and_its_history() {
    let town = Town::new().await;
    create(
        &town,
        json!({"subject": "base", "description": "**bold** <script>alert(1)</script>"}),
    )
    .await;
    create(&town, json!({"subject": "middle", "addBlockedBy": ["1"]})).await;
    create(
        &town,
        json!({"subject": "last", "addBlockedBy": ["2", "1"]}),
    )
    .await;
    change(
        &town,
        1,
        "ada",
        json!({"owner": "ada", "status": "in_progress"}),
    )
    .await;
    town.clock.advance(90_000);
    let mut person = town.person().await;
    assert_eq!(
        person
            .submit("/tasks/1/comments", "body=hello+%40ada")
            .await
            .to(),
        "/tasks/1#talk"
    );
    let page = person.get("/tasks/1").await.good().text;
    for part in [
        "<strong>bold</strong>",
        "class=\"graph\"",
        "href=\"/tasks/2\"",
        "href=\"/tasks/3\"",
        "hello",
        "claimed it",
        "1 min 30 s",
        "data-live=\"task~,task/1,task/1~\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script>alert"), "{page}");
    assert_eq!(
        page.matches("class=\"edge").count(),
        3,
        "every edge is drawn"
    );
    for part in ["main", "graph", "comments", "history"] {
        let part = person.part(&format!("/tasks/1/{part}")).await.good();
        assert!(!part.text.contains("<html"));
    }
    assert_eq!(person.get("/tasks/99").await.status, StatusCode::NOT_FOUND);
    assert_eq!(person.get("/tasks/x").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_all_the_way_by_the_buttons_of_its_page() {
    let town = Town::new().await;
    create(&town, json!({"subject": "work"})).await;
    let mut person = town.person().await;
    let mut deed = async |name: &str, more: &str| {
        let version = task(&town, 1).await.version;
        let form = format!("deed={name}&version={version}{more}");
        let answer = htmx(&mut person, "/tasks/1/act", &form).await;
        answer.good().text
    };
    assert!(deed("claim", "").await.contains("status-in_progress"));
    assert_eq!(task(&town, 1).await.owner, "user");
    deed("release", "").await;
    assert_eq!(task(&town, 1).await.owner, "");
    deed("claim", "").await;
    let page = deed("approve", "&note=well+done").await;
    assert!(page.contains("well done"), "{page}");
    assert!(deed("complete", "").await.contains("status-completed"));
    let sure = person.get("/tasks/1/delete").await.good().text;
    let version = value_of(&sure, "version");
    let done = person
        .submit("/tasks/1/delete", &format!("version={version}"))
        .await;
    assert_eq!(done.to(), "/tasks");
    assert_eq!(task(&town, 1).await.status, polis_core::TaskStatus::Deleted);
    // A plain form does the same and redirects to the page.
    create(&town, json!({"subject": "plain"})).await;
    let answer = person.submit("/tasks/2/act", "deed=start&version=1").await;
    assert_eq!(answer.to(), "/tasks/2");
}

#[tokio::test(flavor = "multi_thread")]
async fn task_the_reader_cannot_hold_offers_assign_instead_of_claim() {
    let town = Town::new().await;
    create(&town, json!({"subject": "open to all"})).await;
    create(
        &town,
        json!({"subject": "for a role", "requiredRole": "backend-leader"}),
    )
    .await;
    let mut person = town.person().await;
    let claim = "value=\"claim\"";
    let open = person.get("/tasks/1").await.good().text;
    assert!(open.contains(claim), "{open}");
    let page = person.get("/tasks/2").await.good().text;
    assert!(!page.contains(claim), "{page}");
    assert!(page.contains("value=\"assign\""), "{page}");
    // Agents with the role come first, the others in a separate group.
    let (fitting, others) = page.split_once("<optgroup").unwrap();
    let has_role = |id: &str| id == "ada";
    for id in ["ada", "lead"] {
        let option = format!("<option value=\"{id}\"");
        assert_eq!(fitting.contains(&option), has_role(id), "{id}: {page}");
        assert_eq!(others.contains(&option), !has_role(id), "{id}: {page}");
    }
    let assign = async |person: &mut Browser<'_>, owner: &str| {
        let version = task(&town, 2).await.version;
        let form = format!("deed=assign&version={version}&owner={owner}");
        htmx(person, "/tasks/2/act", &form).await
    };
    assign(&mut person, "ada").await.good();
    assert_eq!(task(&town, 2).await.owner, "ada");
    // The person may assign across roles.
    assign(&mut person, "lead").await.good();
    assert_eq!(task(&town, 2).await.owner, "lead");
    for owner in ["", "no such name"] {
        let lost = assign(&mut person, owner).await;
        assert!(lost.status.is_client_error(), "{owner}: {}", lost.status);
        assert_eq!(task(&town, 2).await.owner, "lead");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_task_of_another_agent_offers_assign_instead_of_claim() {
    let town = Town::new().await;
    create(&town, json!({"subject": "open to all"})).await;
    let mut person = town.person().await;
    let claim = "value=\"claim\"";
    let assign_is_main = "<button class=\"main\" name=\"deed\" value=\"assign\"";
    let page = person.get("/tasks/1").await.good().text;
    assert!(
        page.contains(claim) && !page.contains(assign_is_main),
        "{page}"
    );
    let version = task(&town, 1).await.version;
    let form = format!("deed=assign&version={version}&owner=ada");
    let after = htmx(&mut person, "/tasks/1/act", &form).await.good().text;
    for page in [after, person.get("/tasks/1").await.good().text] {
        assert!(!page.contains(claim), "{page}");
        assert!(page.contains(assign_is_main), "{page}");
    }
    // Its owner can claim it.
    let mut owner = town.agent("ada", "all").await;
    let page = owner.get("/tasks/1").await.good().text;
    assert!(page.contains(claim), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn editing_changes_what_was_changed_and_nothing_else() {
    let town = Town::new().await;
    create(&town, json!({"subject": "base"})).await;
    create(&town, json!({"subject": "old", "description": "text", "requiredRole": "architect", "addBlockedBy": ["1"]})).await;
    let mut person = town.person().await;
    let form = person.get("/tasks/2/edit").await.good().text;
    assert_eq!(value_of(&form, "subject"), "old");
    assert_eq!(value_of(&form, "blocked_by"), "1");
    let version = value_of(&form, "version").to_owned();
    let edited = format!(
        "version={version}&subject=new&description=text&role=architect&type=&owner=&blocked_by=&blocks="
    );
    assert_eq!(
        person.submit("/tasks/2/edit", &edited).await.to(),
        "/tasks/2"
    );
    let now = task(&town, 2).await;
    assert_eq!((now.subject.as_str(), now.version), ("new", 2));
    assert!(now.blocked_by.is_empty());
    // An edit without a change writes nothing.
    let same = edited.replace("version=1", "version=2");
    assert_eq!(person.submit("/tasks/2/edit", &same).await.to(), "/tasks/2");
    assert_eq!(task(&town, 2).await.version, 2);
    // If the edit is refused, the typed values stay in the form.
    let wrong = same
        .replace("blocked_by=", "blocked_by=2")
        .replace("subject=new", "subject=kept");
    let refused = person.submit("/tasks/2/edit", &wrong).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    assert_eq!(value_of(&refused.text, "subject"), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_shows_what_the_other_did_and_loses_neither_text() {
    let town = Town::new().await;
    create(
        &town,
        json!({"subject": "old", "description": "first line\nsecond line"}),
    )
    .await;
    let mut person = town.person().await;
    let form = person.get("/tasks/1/edit").await.good().text;
    assert_eq!(value_of(&form, "version"), "1");
    change(
        &town,
        1,
        "lead",
        json!({"description": "first line\nTHEIR line", "requiredRole": "architect"}),
    )
    .await;
    let mine = "version=1&subject=my+subject&description=first+line%0D%0Amy+line&role=&type=&owner=&blocked_by=&blocks=";
    let clash = person.submit("/tasks/1/edit", mine).await;
    assert_eq!(clash.status, StatusCode::CONFLICT);
    let page = &clash.text;
    for part in [
        "conflict",
        "data-code=\"version_mismatch\"",
        "data-clash=\"description\"",
        "<b>lead</b>",
        "THEIR",
        "my line",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(
        !page.contains("data-clash=\"subject\""),
        "only one of us changed it"
    );
    assert_eq!(task(&town, 1).await.version, 2, "nothing was saved");
    // The form has the new version, my texts, and the other side's values for the fields I did not change.
    assert_eq!(value_of(page, "version"), "2");
    assert_eq!(value_of(page, "subject"), "my subject");
    assert!(page.contains("value=\"architect\" selected"));
    assert!(
        page.contains("href=\"/tasks/1/edit\""),
        "a way to take theirs"
    );
    let over = "version=2&subject=my+subject&description=first+line%0D%0Amy+line&role=architect&type=&owner=&blocked_by=&blocks=";
    assert_eq!(person.submit("/tasks/1/edit", over).await.to(), "/tasks/1");
    let now = task(&town, 1).await;
    assert_eq!(now.description, "first line\nmy line");
    assert_eq!(
        now.required_role.as_deref(),
        Some("architect"),
        "theirs is not undone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_waits_for_others_says_so_and_offers_no_beginning() {
    let town = Town::new().await;
    create(&town, json!({"subject": "first"})).await;
    create(&town, json!({"subject": "second", "addBlockedBy": ["1"]})).await;
    let mut person = town.person().await;
    let free = person.get("/tasks/1").await.good().text;
    assert!(
        free.contains("value=\"claim\"") && !free.contains("status-blocked"),
        "{free}"
    );
    let page = person.get("/tasks/2").await.good().text;
    assert!(page.contains("status-blocked\">blocked by 1"), "{page}");
    assert!(
        !page.contains("value=\"claim\"") && !page.contains("value=\"start\""),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_sent_twice_adds_one_thing() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/tasks/new").await.good().text;
    let key = value_after(&page, "name=\"once\" value=\"").unwrap();
    let form = format!("subject=new&once={key}");
    let first = person.submit("/tasks/new", &form).await;
    let second = person.submit("/tasks/new", &form).await;
    assert_eq!(first.to(), "/tasks/1");
    assert_eq!(second.to(), "/tasks/1");
    let refused = person
        .submit("/tasks/new", &format!("subject=&once={key}2"))
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let mended = person
        .submit("/tasks/new", &format!("subject=x&once={key}2"))
        .await;
    assert_eq!(mended.to(), "/tasks/2", "a refused form may be sent again");
    let other = person
        .submit("/tasks/new", &format!("subject=other&once={key}"))
        .await;
    assert_eq!(other.to(), "/tasks/3", "gone back, and written anew");
    let page = person.get("/tasks/1").await.good().text;
    let key = value_after(&page, "name=\"once\" value=\"").unwrap();
    for _ in 0..2 {
        let said = person
            .submit("/tasks/1/comments", &format!("body=hello&once={key}"))
            .await;
        assert_eq!(said.to(), "/tasks/1#talk");
    }
    let page = person.get("/tasks/1").await.good().text;
    assert_eq!(page.matches("id=\"comment-").count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn old_comments_stay_where_they_are_and_lead_back() {
    let town = Town::new().await;
    create(&town, json!({"subject": "talk"})).await;
    let mut person = town.person().await;
    for number in 1..=3 {
        person
            .submit("/tasks/1/comments", &format!("body=word{number}"))
            .await;
    }
    let older = person.part("/tasks/1/comments?before=3").await.good().text;
    assert!(
        older.contains("word2") && !older.contains("word3"),
        "{older}"
    );
    assert!(older.contains(">Newest<"), "{older}");
    assert!(!older.contains("id=\"comments\" hx-get"), "{older}");
    let newest = person.part("/tasks/1/comments").await.good().text;
    assert!(newest.contains("id=\"comments\" hx-get"), "{newest}");
    let alone = person.get("/tasks/1/comments?before=3").await.good().text;
    assert!(
        alone.contains("<html") && alone.contains("word2"),
        "{alone}"
    );
}
