//! Board page tests: list and search, reading in parts, editing with merge and conflicts, locks, decisions,
//! milestones, history and restoring.

use http::StatusCode;
use polis_core::AgentId;
use polis_core::board::BoardName;
use polis_ops::op::{self, BoardReadParams, BoardWriteParams};

use crate::test_server::{TestBrowser, TestServer};

/// Overwrites a board as the user and returns the new version.
async fn overwrite_board(server: &TestServer, board: &str, content: &str) -> u64 {
    let request = BoardWriteParams {
        board: BoardName::from_stored(board).unwrap(),
        content: content.to_owned(),
        expected_version: None,
        merge: false,
        force: true,
    };
    let written = op::write_board(&server.app.request(&AgentId::user()), &request).await;
    written.unwrap().version
}

/// Returns the text of a board in the store.
async fn read_board_text(server: &TestServer, board: &str) -> String {
    let request = BoardReadParams::for_board(BoardName::from_stored(board).unwrap());
    let view = op::read_board(&server.app.request(&AgentId::user()), &request).await;
    view.unwrap().content.unwrap().as_ref().clone()
}

/// Returns the text between two marks at their first occurrence.
fn text_between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("no {start} in {text}"));
    rest.split_once(end).map_or(rest, |(found, _)| found)
}

/// Submits the edit form of a board.
async fn submit_board_edit(
    person: &mut TestBrowser<'_>,
    board: &str,
    fields: &str,
) -> crate::test_server::HttpResponse {
    person
        .post_with_csrf(&format!("/boards/{board}/edit"), fields)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn board_list_shows_version_and_lock_holder() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let empty = person.get("/boards").await.expect_ok().text;
    assert!(empty.contains("No board has been written yet"), "{empty}");
    overwrite_board(&server, "global", "# One\n").await;
    overwrite_board(&server, "global", "# Two\n").await;
    overwrite_board(&server, "mid/架构师", "x").await;
    person
        .post_with_csrf("/boards/global/lock", "")
        .await
        .redirect_target();
    let list = person.get_fragment("/boards/list").await.expect_ok().text;
    let global = text_between(&list, "data-board=\"global\"", "</tr>");
    assert!(global.contains("href=\"/boards/global\""), "{global}");
    assert!(global.contains(">2</td>"), "{global}");
    assert!(
        global.contains("<span class=\"pill warn\">user</span>"),
        "{global}"
    );
    let role = text_between(&list, "data-board=\"mid/架构师\"", "</tr>");
    let link = text_between(role, "href=\"", "\"");
    assert_eq!(link, "/boards/mid/%E6%9E%B6%E6%9E%84%E5%B8%88");
    let page = person.get(link).await.expect_ok().text;
    assert!(page.contains("<p>x</p>"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn board_page_has_table_of_contents_and_refreshes() {
    let server = TestServer::new().await;
    overwrite_board(
        &server,
        "mid/architect",
        "# 目标\n\n*Soon*\n\n## 步骤\n\n- [x] a\n",
    )
    .await;
    let mut person = server.login_as_user().await;
    let page = person.get("/boards/mid/architect").await.expect_ok().text;
    assert!(page.contains("data-live=\"board/mid/architect\""), "{page}");
    assert!(page.contains("<em>Soon</em>"), "{page}");
    assert!(
        page.contains("hx-trigger=\"polis:board:mid:architect from:body\""),
        "{page}"
    );
    let toc = text_between(&page, "<nav class=\"toc\"", "</nav>");
    assert!(toc.contains(">目标<") && toc.contains(">步骤<"), "{toc}");
    overwrite_board(&server, "mid/architect", "# 目标\n\n*Later*\n").await;
    let again = text_between(&page, "hx-get=\"/boards/mid/architect/text", "\"").to_owned();
    let again = format!("/boards/mid/architect/text{again}");
    let text = person.get_fragment(&again).await.expect_ok().text;
    assert!(text.starts_with("<article"), "{text}");
    assert!(
        text.contains("<em>Later</em>") && text.contains("data-version=\"2\""),
        "{text}"
    );
    let about = person
        .get_fragment("/boards/mid/architect/about")
        .await
        .expect_ok()
        .text;
    assert!(
        text_between(&about, "data-fact=\"version\"", "</dd>").ends_with('2'),
        "{about}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn board_list_is_paginated_and_searchable() {
    let server = TestServer::new().await;
    for number in 0..230 {
        let add = serde_json::json!({"id": format!("worker-{number:03}"), "role": "test-leader", "layer": "bottom"});
        let add = serde_json::from_value(add).unwrap();
        let added = op::add_agent(&server.app.request(&AgentId::user()), &add).await;
        added.unwrap();
    }
    let mut person = server.login_as_user().await;
    let page = person.get("/boards").await.expect_ok().text;
    assert_eq!(page.matches("data-board=").count(), 200);
    let next = text_between(&page, "<a href=\"/boards?after=", "\"");
    let rest = person.get(&format!("/boards?after={next}")).await;
    let rest = rest.expect_ok().text;
    let shown = rest.matches("data-board=").count();
    assert!(shown > 30 && shown < 50, "{shown}");
    assert!(rest.contains("worker-229") && !rest.contains("more boards"));
    let found = person
        .get_fragment("/boards/list?q=WORKER-22")
        .await
        .expect_ok()
        .text;
    assert_eq!(found.matches("data-board=").count(), 10, "{found}");
    let none = person
        .get_fragment("/boards/list?q=nothing")
        .await
        .expect_ok()
        .text;
    assert!(none.contains("No matching boards"), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_session_is_offered_no_board_actions() {
    let server = TestServer::new().await;
    overwrite_board(
        &server,
        "global",
        "# A\n\n## B\n\ntext\n\n## Milestones\n\n- [ ] Alpha\n",
    )
    .await;
    overwrite_board(&server, "global", "# A\n\n## B\n\nnew\n").await;
    let mut person = server.login_as_user().await;
    person
        .post_with_csrf("/boards/global/decide", "act=propose&content=Go")
        .await
        .redirect_target();
    let offered = person.get("/boards/global").await.expect_ok().text;
    for what in [
        "/boards/global/edit",
        "/boards/global/append",
        "/boards/global/lock",
        "value=\"sign\"",
    ] {
        assert!(offered.contains(what), "{what}: {offered}");
    }
    let mut lead = server
        .login_as_agent(
            "lead",
            "tasks:read,agents:read,boards:read,blackboard:read,events:read",
        )
        .await;
    for path in ["/boards/global", "/boards/global/history"] {
        let page = lead.get(path).await.expect_ok().text;
        for what in ["edit", "append", "lock", "decide\"", "restore"] {
            let what = format!("/boards/global/{what}");
            assert!(!page.contains(&what), "{what}: {page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_board_name_is_refused() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let page = person.get("/boards/nothing/at/all").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.text);
    assert!(page.text.contains("invalid_board"), "{}", page.text);
    assert_eq!(
        person.get("/boards/global/append").await.status,
        StatusCode::NOT_FOUND
    );
    let mut ada = server.login_as_agent("ada", "tasks").await;
    let refused = ada.get("/boards/global").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn board_edit_is_previewed_and_saved_verbatim() {
    let server = TestServer::new().await;
    overwrite_board(&server, "global", "\n# Old\n").await;
    let mut person = server.login_as_user().await;
    let page = person.get("/boards/global/edit").await.expect_ok().text;
    let form = text_between(&page, "<form class=\"editor\"", "</form>");
    assert!(form.contains("name=\"version\" value=\"1\""), "{form}");
    // A browser drops the first line break of a textarea.
    assert!(form.contains(">\n\n# Old\n</textarea>"), "{form}");
    let shown = person
        .post_with_csrf(
            "/boards/global/preview",
            "content=%23+New%0D%0A%0D%0A%3Cscript%3E",
        )
        .await
        .expect_ok()
        .text;
    assert!(
        shown.contains("<h2>New") && shown.contains("&lt;script&gt;"),
        "{shown}"
    );
    assert_eq!(read_board_text(&server, "global").await, "\n# Old\n");
    let saved = submit_board_edit(
        &mut person,
        "global",
        "version=1&content=%23+New%0D%0A%0D%0Atext%0D%0A",
    )
    .await;
    assert_eq!(saved.redirect_target(), "/boards/global");
    assert_eq!(read_board_text(&server, "global").await, "# New\n\ntext\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicting_board_edit_shows_diff_and_keeps_text() {
    let server = TestServer::new().await;
    overwrite_board(&server, "global", "one\ntwo\nthree\n").await;
    overwrite_board(&server, "global", "one\nTWO\nthree\n").await;
    let mut person = server.login_as_user().await;
    let mine = "version=1&merge=1&content=one%0D%0A2%0D%0Athree%0D%0A";
    let refused = submit_board_edit(&mut person, "global", mine).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    let page = refused.text;
    assert!(page.contains("data-code=\"version_conflict\""), "{page}");
    assert_eq!(page.matches("class=\"diff sides\"").count(), 2, "{page}");
    assert!(page.contains("TWO"), "the other edit is shown");
    for said in ["Theirs (current)", "Yours", "Use theirs"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(
        !page.contains("resolve the conflict markers"),
        "the text has no conflict markers: {page}"
    );
    assert!(
        page.contains("one\n2\nthree\n</textarea>"),
        "the typed text is kept: {page}"
    );
    assert_eq!(
        read_board_text(&server, "global").await,
        "one\nTWO\nthree\n"
    );
    // The form is now based on the current version.
    assert!(page.contains("name=\"version\" value=\"2\""), "{page}");
    let saved = submit_board_edit(
        &mut person,
        "global",
        "version=2&content=one%0A2%0Athree%0A",
    )
    .await;
    assert_eq!(saved.redirect_target(), "/boards/global");
    assert_eq!(read_board_text(&server, "global").await, "one\n2\nthree\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn section_conflict_shows_section_even_if_deleted() {
    let server = TestServer::new().await;
    overwrite_board(&server, "global", "# A\n\n## Plan\n\nold\n").await;
    overwrite_board(&server, "global", "# A\n\n## Plan\n\ntheirs\n").await;
    let mut person = server.login_as_user().await;
    let mine = "section=Plan&nth=1&content=mine";
    let refused = submit_board_edit(&mut person, "global", &format!("version=1&{mine}")).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    let asked = text_between(&refused.text, "Changes if you save now", "</section>");
    assert!(
        asked.contains("theirs") && asked.contains("mine"),
        "{asked}"
    );
    assert!(!asked.contains("## Plan"), "only the section: {asked}");
    overwrite_board(&server, "global", "# A\n").await;
    let gone = submit_board_edit(&mut person, "global", &format!("version=1&{mine}")).await;
    assert_eq!(gone.status, StatusCode::CONFLICT, "{}", gone.text);
    assert!(gone.text.contains("Changes if you save now"));
}

#[tokio::test(flavor = "multi_thread")]
async fn non_overlapping_board_edits_are_merged() {
    let server = TestServer::new().await;
    overwrite_board(&server, "global", "one\n\nb\n\nc\n\nd\n\nlast\n").await;
    overwrite_board(&server, "global", "ONE\n\nb\n\nc\n\nd\n\nlast\n").await;
    let mut person = server.login_as_user().await;
    let mine = "version=1&merge=1&content=one%0A%0Ab%0A%0Ac%0A%0Ad%0A%0ALAST%0A";
    assert_eq!(
        submit_board_edit(&mut person, "global", mine)
            .await
            .redirect_target(),
        "/boards/global"
    );
    assert_eq!(
        read_board_text(&server, "global").await,
        "ONE\n\nb\n\nc\n\nd\n\nLAST\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn section_edit_leaves_rest_of_board_unchanged() {
    let server = TestServer::new().await;
    let board = "# A\n\nfirst\n\n## 计划\n\nold\n\n## C\n\nkept  \n";
    overwrite_board(&server, "global", board).await;
    let mut person = server.login_as_user().await;
    let page = person.get("/boards/global").await.expect_ok().text;
    let toc = text_between(&page, "<nav class=\"toc\"", "</nav>");
    let link = format!(
        "/boards/global/edit?section=%E8%AE%A1%E5%88%92&nth=1{}",
        text_between(
            toc,
            "/boards/global/edit?section=%E8%AE%A1%E5%88%92&amp;nth=1",
            "\""
        )
    );
    let form = person.get(&link).await.expect_ok().text;
    assert!(form.contains(">\nold</textarea>"), "{form}");
    let fields = "version=1&section=%E8%AE%A1%E5%88%92&nth=1&content=new";
    assert_eq!(
        submit_board_edit(&mut person, "global", fields)
            .await
            .redirect_target(),
        "/boards/global"
    );
    assert_eq!(
        read_board_text(&server, "global").await,
        board.replace("old", "new")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn board_entries_are_appended_and_locks_toggled() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let done = person
        .post_with_csrf("/boards/global/append", "content=We+begin.%0D%0ASoon.")
        .await;
    assert_eq!(done.redirect_target(), "/boards/global");
    assert!(
        read_board_text(&server, "global")
            .await
            .contains("We begin.\nSoon.")
    );
    let empty = person
        .post_with_csrf("/boards/global/append", "content=+")
        .await;
    assert_eq!(empty.status, StatusCode::BAD_REQUEST);
    person
        .post_with_csrf("/boards/global/lock", "")
        .await
        .redirect_target();
    let about = person
        .get_fragment("/boards/global/about")
        .await
        .expect_ok()
        .text;
    assert!(
        text_between(&about, "data-fact=\"lock\"", "</dd>").contains("user"),
        "{about}"
    );
    person
        .post_with_csrf("/boards/global/unlock", "")
        .await
        .redirect_target();
    let about = person
        .get_fragment("/boards/global/about")
        .await
        .expect_ok()
        .text;
    assert!(
        text_between(&about, "data-fact=\"lock\"", "</dd>").contains("unlocked"),
        "{about}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_proposed_signed_vetoed_and_appealed() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    for content in ["Use+*Rust*", "Use+Go"] {
        let fields = format!("act=propose&content={content}");
        assert_eq!(
            person
                .post_with_csrf("/boards/global/decide", &fields)
                .await
                .redirect_target(),
            "/boards/global"
        );
    }
    let page = person.get("/boards/global").await.expect_ok().text;
    let ids: Vec<&str> = page
        .split("data-decision=\"")
        .skip(1)
        .map(|t| text_between(t, "", "\""))
        .collect();
    let [second, first] = ids.as_slice() else {
        panic!("{ids:?}")
    };
    assert!(page.contains("<em>Rust</em>"), "{page}");
    let fields = format!("act=sign&id={first}");
    assert_eq!(
        person
            .post_with_csrf("/boards/global/decide", &fields)
            .await
            .redirect_target(),
        "/boards/global"
    );
    let page = person.get("/boards/global").await.expect_ok().text;
    let signed = text_between(&page, &format!("data-decision=\"{first}\""), "</article>");
    assert!(signed.contains("Signed:"), "{signed}");
    // A veto asks for its reason on a page of its own.
    let ask = person
        .get(&format!("/boards/global/decide?id={second}&act=veto"))
        .await
        .expect_ok()
        .text;
    assert!(ask.contains("name=\"reason\""), "{ask}");
    let fields = format!("act=veto&id={second}&reason=too+slow");
    assert_eq!(
        person
            .post_with_csrf("/boards/global/decide", &fields)
            .await
            .redirect_target(),
        "/boards/global"
    );
    let page = person.get("/boards/global").await.expect_ok().text;
    let vetoed = text_between(&page, &format!("data-decision=\"{second}\""), "</article>");
    assert!(
        vetoed.contains("status-rejected") && vetoed.contains("too slow"),
        "{vetoed}"
    );
    assert!(vetoed.contains("value=\"appeal\""), "{vetoed}");
    let fields = format!("act=appeal&id={second}");
    person
        .post_with_csrf("/boards/global/decide", &fields)
        .await;
    let strange = person
        .post_with_csrf("/boards/global/decide", "act=dance&id=1")
        .await;
    assert_eq!(strange.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn milestones_are_added_reached_and_shown_as_progress() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    for title in ["Alpha", "Beta"] {
        let fields = format!("add=1&title={title}&content=when+ready");
        assert_eq!(
            person
                .post_with_csrf("/boards/global/milestone", &fields)
                .await
                .redirect_target(),
            "/boards/global"
        );
    }
    person
        .post_with_csrf("/boards/global/milestone", "title=Alpha")
        .await
        .redirect_target();
    let page = person.get("/boards/global").await.expect_ok().text;
    let alpha = text_between(&page, "data-milestone=\"Alpha\"", "</li>");
    assert!(alpha.contains("reached"), "{alpha}");
    assert!(text_between(&page, "data-milestone=\"Beta\"", "</li>").contains("<form"));
    assert!(page.contains("<progress "), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn board_versions_are_compared_and_restored() {
    let server = TestServer::new().await;
    for content in ["the old plan\n", "the new plan\n", "no plan at all\n"] {
        overwrite_board(&server, "global", content).await;
    }
    let mut person = server.login_as_user().await;
    let page = person
        .get("/boards/global/history?from=1&to=2")
        .await
        .expect_ok()
        .text;
    assert!(
        page.contains("<del>old</del>") && page.contains("<ins>new</ins>"),
        "{page}"
    );
    assert_eq!(page.matches("data-version=").count(), 3, "{page}");
    let ask = person
        .get("/boards/global/restore?version=1")
        .await
        .expect_ok()
        .text;
    assert!(ask.contains("class=\"diff sides\""), "{ask}");
    assert_eq!(read_board_text(&server, "global").await, "no plan at all\n");
    assert!(ask.contains("name=\"now\" value=\"3\""), "{ask}");
    overwrite_board(&server, "global", "somebody was faster\n").await;
    let again = person
        .post_with_csrf("/boards/global/restore", "version=1&now=3")
        .await;
    assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.text);
    assert!(again.text.contains("data-code=\"version_conflict\""));
    assert!(again.text.contains("name=\"now\" value=\"4\""));
    assert!(
        again.text.contains("somebody was faster"),
        "the diff shows the newest text"
    );
    assert_eq!(
        read_board_text(&server, "global").await,
        "somebody was faster\n"
    );
    let done = person
        .post_with_csrf("/boards/global/restore", "version=1&now=4")
        .await;
    assert_eq!(done.redirect_target(), "/boards/global");
    assert_eq!(read_board_text(&server, "global").await, "the old plan\n");
    let lost = person.get("/boards/global/history?from=1&to=99").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
    assert!(lost.text.contains("version_not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn oldest_retained_version_is_shown_without_diff() {
    let server = TestServer::new().await;
    let kept = server.app.settings.boards.max_versions;
    for number in 0..kept + 5 {
        overwrite_board(&server, "top", &format!("text {number}\n")).await;
    }
    let mut person = server.login_as_user().await;
    let list = person.get("/boards/top/history").await.expect_ok().text;
    assert!(
        list.contains("id=\"difference\""),
        "the newest two versions are compared"
    );
    let oldest = list.rsplit("data-version=\"").next().unwrap();
    let oldest = oldest.split('"').next().unwrap();
    let page = person
        .get(&format!("/boards/top/history?to={oldest}"))
        .await;
    let page = page.expect_ok().text;
    assert!(page.contains("is the oldest stored version"), "{page}");
    assert!(page.contains("data-version=") && !page.contains("id=\"difference\""));
    let gone = person
        .get(&format!("/boards/top/history?from=1&to={oldest}"))
        .await;
    assert_eq!(
        gone.status,
        StatusCode::NOT_FOUND,
        "a requested version must exist"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn long_board_is_loaded_in_parts_and_resends_only_changes() {
    let server = TestServer::new().await;
    let chapters: Vec<String> = (0..4_000)
        .map(|n| format!("## Chapter {n}\n\n{}\n\n", "Some words of it. ".repeat(20)))
        .collect();
    let long = chapters.concat();
    overwrite_board(&server, "global", &long).await;
    let mut person = server.login_as_user().await;
    let page = person.get("/boards/global").await.expect_ok().text;
    assert!(page.len() < 200_000, "{}", page.len());
    let places: Vec<&str> = page
        .split("hx-get=\"/boards/global/part")
        .skip(1)
        .map(|rest| text_between(rest, "", "\""))
        .collect();
    assert!(places.len() > 10, "{}", places.len());
    assert!(
        page.contains("<h3>Chapter 0<"),
        "the first part is in the page"
    );
    let mut whole = String::new();
    for place in &places {
        let address = format!("/boards/global/part{}", place.replace("&amp;", "&"));
        let part = person.get_fragment(&address).await.expect_ok().text;
        assert!(
            part.starts_with("<div class=\"part\"") && !part.contains("hx-preserve"),
            "{part}"
        );
        whole.push_str(&part);
    }
    let seen = whole.matches("<h3>").count()
        + text_between(&page, "<article", "</article>")
            .matches("<h3>")
            .count();
    assert_eq!(seen, 4_000);
    // One change in the middle: unchanged parts are only referenced.
    overwrite_board(
        &server,
        "global",
        &long.replace("## Chapter 2000\n", "## Another\n"),
    )
    .await;
    let again = person
        .get_fragment("/boards/global/text?loaded=1")
        .await
        .expect_ok()
        .text;
    assert!(
        again.contains("<h3>Another<"),
        "the changed part is sent along"
    );
    assert!(
        again.matches("hx-preserve=\"true\"").count() + 3 > places.len(),
        "the others are kept"
    );
    assert!(again.len() < 200_000, "{}", again.len());
    // A part of a version that is no longer cached is found by its id, or does not exist.
    let gone = person
        .get_fragment("/boards/global/part?id=p-0000000000000000&version=1")
        .await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_append_or_proposal_is_idempotent() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    for _ in 0..2 {
        person
            .post_with_csrf(
                "/boards/global/append",
                "content=only+once&idempotency_key=a1",
            )
            .await
            .redirect_target();
        person
            .post_with_csrf(
                "/boards/global/decide",
                "act=propose&content=Use+Rust&idempotency_key=a2",
            )
            .await
            .redirect_target();
    }
    let text = read_board_text(&server, "global").await;
    assert_eq!(text.matches("only once").count(), 1, "{text}");
    assert_eq!(text.matches("Use Rust").count(), 1, "{text}");
}
