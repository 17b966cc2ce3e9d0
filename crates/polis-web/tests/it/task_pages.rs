//! Task page tests: task board with columns and filters, creating, moving, editing with conflicts, comments
//! and the actions of a task page.

use axum::body::Body;
use http::{Method, StatusCode};
use polis_core::task::TaskField;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, Task, TaskId, TaskPriority};
use polis_ops::op;
use polis_testkit::sample_task;
use polis_view::{UiLanguage, labels};
use serde_json::{Value, json};

use crate::test_server::{HttpResponse, TestBrowser, TestServer};

/// Submits a form as htmx does.
pub(crate) async fn post_with_htmx(
    browser: &mut TestBrowser<'_>,
    path: &str,
    form: &str,
) -> HttpResponse {
    let word = browser.csrf_token().await;
    let request = browser
        .request_builder(Method::POST, path)
        .header("hx-request", "true")
        .header("x-polis-csrf", word)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()));
    browser.send(request.unwrap()).await
}

async fn create_task(server: &TestServer, task: Value) -> TaskId {
    let params = serde_json::from_value(task).unwrap();
    let made = op::create_task(&server.app.request(&AgentId::user()), &params).await;
    made.unwrap().task.id
}

async fn get_task(server: &TestServer, id: u64) -> Task {
    let id = TaskId::new(id).unwrap();
    op::get_task(&server.app.person_request(), id)
        .await
        .unwrap()
        .task
}

async fn update_task_as(server: &TestServer, id: u64, by: &str, changes: Value) {
    let mut whole = json!({"taskId": id.to_string()});
    for (name, value) in changes.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let params: TaskUpdateParams = serde_json::from_value(whole).unwrap();
    let by = by.parse().unwrap();
    op::update_task(&server.app.request(&by), &params)
        .await
        .unwrap();
}

/// Returns the content of a column of the board.
fn column_html<'a>(page: &'a str, status: &str) -> &'a str {
    let start = page
        .find(&format!("data-column=\"{status}\""))
        .unwrap_or_else(|| panic!("no column {status}: {page}"));
    let rest = &page[start..];
    &rest[..rest.find("</section>").unwrap()]
}

fn count_cards(column: &str) -> usize {
    column.matches("data-task=").count()
}

/// Returns the value of a form field of the page.
fn form_field_value<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no field {name}: {page}"));
    rest.split('"').next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_task_board_explains_how_to_create_task() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let page = person.get("/tasks").await.expect_ok();
    assert!(page.text.contains("polis task create --subject"));
    assert!(page.text.contains("href=\"/tasks/new\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn task_card_is_in_status_column_with_details() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "plan <b>it</b>", "requiredRole": "backend-leader", "taskType": "api_design"})).await;
    create_task(
        &server,
        json!({"subject": "build it", "addBlockedBy": ["1"]}),
    )
    .await;
    update_task_as(
        &server,
        1,
        "ada",
        json!({"owner": "ada", "status": "in_progress"}),
    )
    .await;
    server.clock.advance_millis(3 * 60_000);
    let mut person = server.login_as_user().await;
    let page = person.get("/tasks").await.expect_ok();
    let begun = column_html(&page.text, "in_progress");
    assert_eq!(count_cards(begun), 1);
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
    let pending = column_html(&page.text, "pending");
    assert!(pending.contains("blocked by 1"), "{pending}");
    assert_eq!(count_cards(column_html(&page.text, "completed")), 0);
    person.set_cookie("polis-lang", "zh");
    let page = person.get("/tasks").await.expect_ok();
    assert!(column_html(&page.text, "in_progress").contains("3 分钟前"));
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_task_lease_is_marked_stale() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "leased"})).await;
    let claim = serde_json::from_value(json!({"taskId": "1", "leaseMs": 60_000})).unwrap();
    let ada = "ada".parse().unwrap();
    op::claim_task(&server.app.request(&ada), &claim)
        .await
        .unwrap();
    let mut person = server.login_as_user().await;
    assert!(
        !person
            .get("/tasks")
            .await
            .expect_ok()
            .text
            .contains("status-stale")
    );
    server.clock.advance_millis(60_000);
    assert!(
        person
            .get("/tasks")
            .await
            .expect_ok()
            .text
            .contains("status-stale")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn task_column_shows_50_cards_total_and_more_link() {
    let server = TestServer::new().await;
    for n in 1..=120 {
        create_task(&server, json!({"subject": format!("task {n}")})).await;
    }
    let mut person = server.login_as_user().await;
    let page = person.get("/tasks").await.expect_ok();
    let pending = column_html(&page.text, "pending");
    assert_eq!(count_cards(pending), 50);
    assert!(pending.contains(">120<"), "the total");
    assert!(pending.contains("data-task=\"120\""), "the newest is first");
    assert!(pending.contains("href=\"/tasks?pending=100\""));
    let page = person.get("/tasks?pending=100").await.expect_ok();
    assert_eq!(count_cards(column_html(&page.text, "pending")), 100);
    let page = person.get("/tasks?pending=150").await.expect_ok();
    assert_eq!(count_cards(column_html(&page.text, "pending")), 120);
    assert!(!page.text.contains("pending=200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn task_board_filter_survives_refresh() {
    let server = TestServer::new().await;
    create_task(
        &server,
        json!({"subject": "支付接口", "requiredRole": "architect"}),
    )
    .await;
    create_task(&server, json!({"subject": "login", "taskType": "testing"})).await;
    create_task(&server, json!({"subject": "logout", "addBlockedBy": ["2"]})).await;
    update_task_as(
        &server,
        1,
        "user",
        json!({"owner": "ada", "forceAssign": true}),
    )
    .await;
    let mut person = server.login_as_user().await;
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
        let page = person.get(&format!("/tasks?{query}")).await.expect_ok();
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
        let part = person
            .get_fragment(&format!("/tasks/board?{query}"))
            .await
            .expect_ok();
        assert_eq!(count_cards(&part.text), found.len(), "{query}");
        assert!(!part.text.contains("<html"));
    }
    let typed = person
        .get_fragment("/tasks/filter?q=log&role=&type=")
        .await
        .expect_ok();
    assert_eq!(typed.header("hx-replace-url"), "/tasks?q=log");
}

fn attribute_value_after(page: &str, before: &str) -> Option<String> {
    let (_, rest) = page.split_once(before)?;
    Some(rest.split('"').next()?.replace("&amp;", "&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn card_move_changes_status_or_shows_refusal() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "first"})).await;
    create_task(&server, json!({"subject": "second", "addBlockedBy": ["1"]})).await;
    let mut person = server.login_as_user().await;
    let moved = post_with_htmx(
        &mut person,
        "/tasks/1/move",
        "to=in_progress&version=2&query=q%3Dfirst",
    )
    .await;
    let board = moved.expect_ok().text;
    assert_eq!(count_cards(column_html(&board, "in_progress")), 1);
    assert_eq!(
        count_cards(column_html(&board, "pending")),
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
        let refused = post_with_htmx(&mut person, path, form).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
        assert_eq!(refused.header("hx-retarget"), "#notices");
        assert!(
            refused.text.contains(&format!("data-code=\"{code}\"")),
            "{}",
            refused.text
        );
        assert!(refused.text.contains("class=\"hint\""));
    }
    assert_eq!(get_task(&server, 1).await.version, 3);
    assert_eq!(get_task(&server, 2).await.version, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn task_form_creates_task_and_keeps_input_when_refused() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "first"})).await;
    let mut person = server.login_as_user().await;
    let form = "subject=second+%3Cone%3E&description=a%0D%0Ab&role=architect&type=testing&blocked_by=%231&blocks=&priority=high";
    let made = person.post_with_csrf("/tasks/new", form).await;
    assert_eq!(made.redirect_target(), "/tasks/2");
    let made = get_task(&server, 2).await;
    assert_eq!(made.subject, "second <one>");
    assert_eq!(made.description, "a\nb");
    assert_eq!(made.blocked_by, [TaskId::new(1).unwrap()]);
    assert_eq!(made.required_role.as_deref(), Some("architect"));
    assert_eq!(made.priority, Some(TaskPriority::High));
    let refused = person
        .post_with_csrf(
            "/tasks/new",
            "subject=kept&description=my+text&blocked_by=99",
        )
        .await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND, "{}", refused.text);
    assert!(refused.text.contains("data-code=\"task_not_found\""));
    assert_eq!(form_field_value(&refused.text, "subject"), "kept");
    assert!(refused.text.contains("my text"));
    let refused = person
        .post_with_csrf("/tasks/new", "subject=kept&blocked_by=soon")
        .await;
    assert!(refused.text.contains("data-code=\"invalid_input\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn task_page_shows_description_graph_comments_and_history() {
    let server = TestServer::new().await;
    create_task(
        &server,
        json!({"subject": "base", "description": "**bold** <script>alert(1)</script>"}),
    )
    .await;
    create_task(&server, json!({"subject": "middle", "addBlockedBy": ["1"]})).await;
    create_task(
        &server,
        json!({"subject": "last", "addBlockedBy": ["2", "1"]}),
    )
    .await;
    update_task_as(
        &server,
        1,
        "ada",
        json!({"owner": "ada", "status": "in_progress"}),
    )
    .await;
    server.clock.advance_millis(90_000);
    let mut person = server.login_as_user().await;
    assert_eq!(
        person
            .post_with_csrf("/tasks/1/comments", "body=hello+%40ada")
            .await
            .redirect_target(),
        "/tasks/1#talk"
    );
    let page = person.get("/tasks/1").await.expect_ok().text;
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
        let part = person
            .get_fragment(&format!("/tasks/1/{part}"))
            .await
            .expect_ok();
        assert!(!part.text.contains("<html"));
    }
    assert_eq!(person.get("/tasks/99").await.status, StatusCode::NOT_FOUND);
    assert_eq!(person.get("/tasks/x").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn task_page_buttons_cover_whole_lifecycle() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "work"})).await;
    let mut person = server.login_as_user().await;
    let mut action = async |name: &str, more: &str| {
        let version = get_task(&server, 1).await.version;
        let form = format!("action={name}&version={version}{more}");
        let answer = post_with_htmx(&mut person, "/tasks/1/act", &form).await;
        answer.expect_ok().text
    };
    assert!(action("claim", "").await.contains("status-in_progress"));
    assert_eq!(get_task(&server, 1).await.owner, "user");
    action("release", "").await;
    assert_eq!(get_task(&server, 1).await.owner, "");
    action("claim", "").await;
    let page = action("approve", "&note=well+done").await;
    assert!(page.contains("well done"), "{page}");
    assert!(action("complete", "").await.contains("status-completed"));
    let sure = person.get("/tasks/1/delete").await.expect_ok().text;
    let version = form_field_value(&sure, "version");
    let done = person
        .post_with_csrf("/tasks/1/delete", &format!("version={version}"))
        .await;
    assert_eq!(done.redirect_target(), "/tasks");
    assert_eq!(
        get_task(&server, 1).await.status,
        polis_core::TaskStatus::Deleted
    );
    // A plain form does the same and redirects to the page.
    create_task(&server, json!({"subject": "plain"})).await;
    let answer = person
        .post_with_csrf("/tasks/2/act", "action=start&version=1")
        .await;
    assert_eq!(answer.redirect_target(), "/tasks/2");
}

#[tokio::test(flavor = "multi_thread")]
async fn task_of_other_role_offers_assign_instead_of_claim() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "open to all"})).await;
    create_task(
        &server,
        json!({"subject": "for a role", "requiredRole": "backend-leader"}),
    )
    .await;
    let mut person = server.login_as_user().await;
    let claim = "value=\"claim\"";
    let open = person.get("/tasks/1").await.expect_ok().text;
    assert!(open.contains(claim), "{open}");
    let page = person.get("/tasks/2").await.expect_ok().text;
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
    let assign = async |person: &mut TestBrowser<'_>, owner: &str| {
        let version = get_task(&server, 2).await.version;
        let form = format!("action=assign&version={version}&owner={owner}");
        post_with_htmx(person, "/tasks/2/act", &form).await
    };
    assign(&mut person, "ada").await.expect_ok();
    assert_eq!(get_task(&server, 2).await.owner, "ada");
    // The person may assign across roles.
    assign(&mut person, "lead").await.expect_ok();
    assert_eq!(get_task(&server, 2).await.owner, "lead");
    for owner in ["", "no such name"] {
        let lost = assign(&mut person, owner).await;
        assert!(lost.status.is_client_error(), "{owner}: {}", lost.status);
        assert_eq!(get_task(&server, 2).await.owner, "lead");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_task_of_another_agent_offers_assign_instead_of_claim() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "open to all"})).await;
    let mut person = server.login_as_user().await;
    let claim = "value=\"claim\"";
    let assign_is_main = "<button class=\"main\" name=\"action\" value=\"assign\"";
    let page = person.get("/tasks/1").await.expect_ok().text;
    assert!(
        page.contains(claim) && !page.contains(assign_is_main),
        "{page}"
    );
    let version = get_task(&server, 1).await.version;
    let form = format!("action=assign&version={version}&owner=ada");
    let after = post_with_htmx(&mut person, "/tasks/1/act", &form)
        .await
        .expect_ok()
        .text;
    for page in [after, person.get("/tasks/1").await.expect_ok().text] {
        assert!(!page.contains(claim), "{page}");
        assert!(page.contains(assign_is_main), "{page}");
    }
    // Its owner can claim it.
    let mut owner = server.login_as_agent("ada", "all").await;
    let page = owner.get("/tasks/1").await.expect_ok().text;
    assert!(page.contains(claim), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn task_edit_writes_only_changed_fields() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "base"})).await;
    create_task(&server, json!({"subject": "old", "description": "text", "requiredRole": "architect", "addBlockedBy": ["1"]})).await;
    let mut person = server.login_as_user().await;
    let form = person.get("/tasks/2/edit").await.expect_ok().text;
    assert_eq!(form_field_value(&form, "subject"), "old");
    assert_eq!(form_field_value(&form, "blocked_by"), "1");
    let version = form_field_value(&form, "version").to_owned();
    let edited = format!(
        "version={version}&subject=new&description=text&role=architect&type=&owner=&blocked_by=&blocks="
    );
    assert_eq!(
        person
            .post_with_csrf("/tasks/2/edit", &edited)
            .await
            .redirect_target(),
        "/tasks/2"
    );
    let now = get_task(&server, 2).await;
    assert_eq!((now.subject.as_str(), now.version), ("new", 2));
    assert!(now.blocked_by.is_empty());
    // An edit without a change writes nothing.
    let same = edited.replace("version=1", "version=2");
    assert_eq!(
        person
            .post_with_csrf("/tasks/2/edit", &same)
            .await
            .redirect_target(),
        "/tasks/2"
    );
    assert_eq!(get_task(&server, 2).await.version, 2);
    // If the edit is refused, the typed values stay in the form.
    let wrong = same
        .replace("blocked_by=", "blocked_by=2")
        .replace("subject=new", "subject=kept");
    let refused = person.post_with_csrf("/tasks/2/edit", &wrong).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    assert_eq!(form_field_value(&refused.text, "subject"), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn task_priority_is_shown_sorted_filtered_and_edited() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "later", "priority": "low"})).await;
    create_task(&server, json!({"subject": "now", "priority": "critical"})).await;
    create_task(&server, json!({"subject": "plain"})).await;
    let mut person = server.login_as_user().await;
    let board = person.get("/tasks").await.expect_ok().text;
    let pending = column_html(&board, "pending");
    let card = |id: u64| pending.find(&format!("id=\"task-{id}\"")).unwrap();
    assert!(card(2) < card(3) && card(3) < card(1), "{pending}");
    assert!(pending.contains("priority-critical") && pending.contains("priority-low"));
    assert!(!pending.contains("priority-normal"));
    for (filter, shown) in [("critical", "now"), ("normal", "plain"), ("low", "later")] {
        let page = person.get(&format!("/tasks?priority={filter}")).await;
        let page = page.expect_ok().text;
        let pending = column_html(&page, "pending");
        assert_eq!(count_cards(pending), 1, "{filter}: {pending}");
        assert!(pending.contains(shown), "{filter}: {pending}");
    }
    let page = person.get("/tasks/2").await.expect_ok().text;
    assert!(page.contains("priority-critical"), "{page}");
    let form = person.get("/tasks/3/edit").await.expect_ok().text;
    assert!(form.contains("value=\"normal\" selected"), "{form}");
    let edited =
        "version=1&subject=plain&description=&role=&type=&priority=high&owner=&blocked_by=&blocks=";
    let saved = person.post_with_csrf("/tasks/3/edit", edited).await;
    assert_eq!(saved.redirect_target(), "/tasks/3");
    assert_eq!(
        get_task(&server, 3).await.priority,
        Some(TaskPriority::High)
    );
    // The priority that another one set in the meantime is kept.
    update_task_as(&server, 1, "user", json!({"priority": "high"})).await;
    let stale =
        "version=1&subject=mine&description=&role=&type=&priority=low&owner=&blocked_by=&blocks=";
    let merged = person.post_with_csrf("/tasks/1/edit", stale).await;
    assert_eq!(merged.status, StatusCode::CONFLICT);
    assert!(
        merged.text.contains("value=\"high\" selected"),
        "{}",
        merged.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn task_edit_conflict_shows_both_texts() {
    let server = TestServer::new().await;
    create_task(
        &server,
        json!({"subject": "old", "description": "first line\nsecond line"}),
    )
    .await;
    let mut person = server.login_as_user().await;
    let form = person.get("/tasks/1/edit").await.expect_ok().text;
    assert_eq!(form_field_value(&form, "version"), "1");
    update_task_as(
        &server,
        1,
        "lead",
        json!({"description": "first line\nTHEIR line", "requiredRole": "architect"}),
    )
    .await;
    let mine = "version=1&subject=my+subject&description=first+line%0D%0Amy+line&role=&type=&owner=&blocked_by=&blocks=";
    let clash = person.post_with_csrf("/tasks/1/edit", mine).await;
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
        "only one side changed the subject"
    );
    assert_eq!(get_task(&server, 1).await.version, 2, "nothing was saved");
    // The form has the new version, my texts, and the other side's values for the fields I did not change.
    assert_eq!(form_field_value(page, "version"), "2");
    assert_eq!(form_field_value(page, "subject"), "my subject");
    assert!(page.contains("value=\"architect\" selected"));
    assert!(
        page.contains("href=\"/tasks/1/edit\""),
        "a link discards the own text"
    );
    let over = "version=2&subject=my+subject&description=first+line%0D%0Amy+line&role=architect&type=&owner=&blocked_by=&blocks=";
    assert_eq!(
        person
            .post_with_csrf("/tasks/1/edit", over)
            .await
            .redirect_target(),
        "/tasks/1"
    );
    let now = get_task(&server, 1).await;
    assert_eq!(now.description, "first line\nmy line");
    assert_eq!(
        now.required_role.as_deref(),
        Some("architect"),
        "the other change is kept"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_task_is_labelled_and_cannot_be_claimed() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "first"})).await;
    create_task(&server, json!({"subject": "second", "addBlockedBy": ["1"]})).await;
    let mut person = server.login_as_user().await;
    let free = person.get("/tasks/1").await.expect_ok().text;
    assert!(
        free.contains("value=\"claim\"") && !free.contains("status-blocked"),
        "{free}"
    );
    let page = person.get("/tasks/2").await.expect_ok().text;
    assert!(page.contains("status-blocked\">blocked by 1"), "{page}");
    assert!(
        !page.contains("value=\"claim\"") && !page.contains("value=\"start\""),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_form_submission_is_idempotent() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let page = person.get("/tasks/new").await.expect_ok().text;
    let key = attribute_value_after(&page, "name=\"idempotency_key\" value=\"").unwrap();
    let form = format!("subject=new&idempotency_key={key}");
    let first = person.post_with_csrf("/tasks/new", &form).await;
    let second = person.post_with_csrf("/tasks/new", &form).await;
    assert_eq!(first.redirect_target(), "/tasks/1");
    assert_eq!(second.redirect_target(), "/tasks/1");
    let refused = person
        .post_with_csrf("/tasks/new", &format!("subject=&idempotency_key={key}2"))
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let mended = person
        .post_with_csrf("/tasks/new", &format!("subject=x&idempotency_key={key}2"))
        .await;
    assert_eq!(
        mended.redirect_target(),
        "/tasks/2",
        "a refused form can be submitted again"
    );
    let other = person
        .post_with_csrf(
            "/tasks/new",
            &format!("subject=other&idempotency_key={key}"),
        )
        .await;
    assert_eq!(
        other.redirect_target(),
        "/tasks/3",
        "the same key with other content is a new form"
    );
    let page = person.get("/tasks/1").await.expect_ok().text;
    let key = attribute_value_after(&page, "name=\"idempotency_key\" value=\"").unwrap();
    for _ in 0..2 {
        let said = person
            .post_with_csrf(
                "/tasks/1/comments",
                &format!("body=hello&idempotency_key={key}"),
            )
            .await;
        assert_eq!(said.redirect_target(), "/tasks/1#talk");
    }
    let page = person.get("/tasks/1").await.expect_ok().text;
    assert_eq!(page.matches("id=\"comment-").count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn older_comments_page_is_static_and_links_to_newest() {
    let server = TestServer::new().await;
    create_task(&server, json!({"subject": "talk"})).await;
    let mut person = server.login_as_user().await;
    for number in 1..=3 {
        person
            .post_with_csrf("/tasks/1/comments", &format!("body=word{number}"))
            .await;
    }
    let older = person
        .get_fragment("/tasks/1/comments?before=3")
        .await
        .expect_ok()
        .text;
    assert!(
        older.contains("word2") && !older.contains("word3"),
        "{older}"
    );
    assert!(older.contains(">Newest<"), "{older}");
    assert!(!older.contains("id=\"comments\" hx-get"), "{older}");
    let newest = person
        .get_fragment("/tasks/1/comments")
        .await
        .expect_ok()
        .text;
    assert!(newest.contains("id=\"comments\" hx-get"), "{newest}");
    let alone = person
        .get("/tasks/1/comments?before=3")
        .await
        .expect_ok()
        .text;
    assert!(
        alone.contains("<html") && alone.contains("word2"),
        "{alone}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn task_page_shows_every_task_field() {
    let server = TestServer::new().await;
    let id = sample_task::import_sample_task(&server.app).await;
    let mut person = server.login_as_user().await;
    let page = person.get(&format!("/tasks/{id}")).await.expect_ok();
    for &field in TaskField::ALL {
        let shown = match field {
            TaskField::Status => "In progress",
            TaskField::RequiredRole => {
                labels::role_label(sample_task::sample_field_value(field).1, UiLanguage::En)
            }
            TaskField::TaskType => "Bug fix",
            _ => sample_task::sample_field_value(field).1,
        };
        assert!(page.text.contains(shown), "{field:?}: {}", page.text);
    }
}
