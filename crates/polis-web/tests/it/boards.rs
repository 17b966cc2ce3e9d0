//! Tests for the board pages: reading, editing, deciding and restoring in a browser.

use http::StatusCode;
use polis_core::AgentId;
use polis_core::board::BoardName;
use polis_ops::op::{self, BoardOverwrite, BoardRead};

use crate::town::{Browser, Town};

async fn write(town: &Town, board: &str, content: &str) -> u64 {
    let request = BoardOverwrite {
        board: BoardName::from_stored(board).unwrap(),
        content: content.to_owned(),
        expected_version: None,
        merge: false,
        force: true,
    };
    let written = op::write_board(&town.polis, &AgentId::user(), &request).await;
    written.unwrap().version
}

async fn text(town: &Town, board: &str) -> String {
    let request = BoardRead::of(BoardName::from_stored(board).unwrap());
    let view = op::read_board(&town.polis, &AgentId::user(), &request).await;
    view.unwrap().content.unwrap().as_ref().clone()
}

/// Returns the text between two marks at their first occurrence.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("no {start} in {text}"));
    rest.split_once(end).map_or(rest, |(found, _)| found)
}

async fn edit(person: &mut Browser<'_>, board: &str, fields: &str) -> crate::town::Answer {
    person
        .submit(&format!("/boards/{board}/edit"), fields)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_tells_of_every_board_its_version_and_who_has_it() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let empty = person.get("/boards").await.good().text;
    assert!(empty.contains("Nobody has written yet"), "{empty}");
    write(&town, "global", "# One\n").await;
    write(&town, "global", "# Two\n").await;
    write(&town, "mid/架构师", "x").await;
    person.submit("/boards/global/lock", "").await.to();
    let list = person.part("/boards/list").await.good().text;
    let global = between(&list, "data-board=\"global\"", "</tr>");
    assert!(global.contains("href=\"/boards/global\""), "{global}");
    assert!(global.contains(">2</td>"), "{global}");
    assert!(
        global.contains("<span class=\"pill warn\">user</span>"),
        "{global}"
    );
    let role = between(&list, "data-board=\"mid/架构师\"", "</tr>");
    let link = between(role, "href=\"", "\"");
    assert_eq!(link, "/boards/mid/%E6%9E%B6%E6%9E%84%E5%B8%88");
    let page = person.get(link).await.good().text;
    assert!(page.contains("<p>x</p>"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_is_shown_with_contents_and_fetches_itself_again() {
    let town = Town::new().await;
    write(
        &town,
        "mid/architect",
        "# 目标\n\n*Soon*\n\n## 步骤\n\n- [x] a\n",
    )
    .await;
    let mut person = town.person().await;
    let page = person.get("/boards/mid/architect").await.good().text;
    assert!(page.contains("data-live=\"board/mid/architect\""), "{page}");
    assert!(page.contains("<em>Soon</em>"), "{page}");
    assert!(
        page.contains("hx-trigger=\"polis:board:mid:architect from:body\""),
        "{page}"
    );
    let toc = between(&page, "<nav class=\"toc\"", "</nav>");
    assert!(toc.contains(">目标<") && toc.contains(">步骤<"), "{toc}");
    write(&town, "mid/architect", "# 目标\n\n*Later*\n").await;
    let again = between(&page, "hx-get=\"/boards/mid/architect/text", "\"").to_owned();
    let again = format!("/boards/mid/architect/text{again}");
    let text = person.part(&again).await.good().text;
    assert!(text.starts_with("<article"), "{text}");
    assert!(
        text.contains("<em>Later</em>") && text.contains("data-version=\"2\""),
        "{text}"
    );
    let about = person.part("/boards/mid/architect/about").await.good().text;
    assert!(
        between(&about, "data-fact=\"version\"", "</dd>").ends_with('2'),
        "{about}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_comes_in_pages_and_is_searched_by_name() {
    let town = Town::new().await;
    for number in 0..230 {
        let add = serde_json::json!({"id": format!("worker-{number:03}"), "role": "test-leader", "layer": "bottom"});
        let add = serde_json::from_value(add).unwrap();
        let added = op::add_agent(&town.polis, &AgentId::user(), &add).await;
        added.unwrap();
    }
    let mut person = town.person().await;
    let page = person.get("/boards").await.good().text;
    assert_eq!(page.matches("data-board=").count(), 200);
    let next = between(&page, "<a href=\"/boards?after=", "\"");
    let rest = person.get(&format!("/boards?after={next}")).await;
    let rest = rest.good().text;
    let shown = rest.matches("data-board=").count();
    assert!(shown > 30 && shown < 50, "{shown}");
    assert!(rest.contains("worker-229") && !rest.contains("more boards"));
    let found = person.part("/boards/list?q=WORKER-22").await.good().text;
    assert_eq!(found.matches("data-board=").count(), 10, "{found}");
    let none = person.part("/boards/list?q=nothing").await.good().text;
    assert!(none.contains("No board is called so"), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_only_reads_is_offered_nothing_to_change() {
    let town = Town::new().await;
    write(
        &town,
        "global",
        "# A\n\n## B\n\ntext\n\n## Milestones\n\n- [ ] Alpha\n",
    )
    .await;
    write(&town, "global", "# A\n\n## B\n\nnew\n").await;
    let mut person = town.person().await;
    person
        .submit("/boards/global/decide", "act=propose&content=Go")
        .await
        .to();
    let offered = person.get("/boards/global").await.good().text;
    for what in [
        "/boards/global/edit",
        "/boards/global/append",
        "/boards/global/lock",
        "value=\"sign\"",
    ] {
        assert!(offered.contains(what), "{what}: {offered}");
    }
    let mut lead = town
        .agent(
            "lead",
            "tasks:read,agents:read,boards:read,blackboard:read,events:read",
        )
        .await;
    for path in ["/boards/global", "/boards/global/history"] {
        let page = lead.get(path).await.good().text;
        for what in ["edit", "append", "lock", "decide\"", "restore"] {
            let what = format!("/boards/global/{what}");
            assert!(!page.contains(&what), "{what}: {page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_board_is_refused_by_name() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/boards/nothing/at/all").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.text);
    assert!(page.text.contains("invalid_board"), "{}", page.text);
    assert_eq!(
        person.get("/boards/global/append").await.status,
        StatusCode::NOT_FOUND
    );
    let mut ada = town.agent("ada", "tasks").await;
    let refused = ada.get("/boards/global").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_saved_as_it_was_typed_and_previewed_without_being_saved() {
    let town = Town::new().await;
    write(&town, "global", "\n# Old\n").await;
    let mut person = town.person().await;
    let page = person.get("/boards/global/edit").await.good().text;
    let form = between(&page, "<form class=\"editor\"", "</form>");
    assert!(form.contains("name=\"version\" value=\"1\""), "{form}");
    // A browser drops the first line break of a textarea.
    assert!(form.contains(">\n\n# Old\n</textarea>"), "{form}");
    let shown = person
        .submit(
            "/boards/global/preview",
            "content=%23+New%0D%0A%0D%0A%3Cscript%3E",
        )
        .await
        .good()
        .text;
    assert!(
        shown.contains("<h2>New") && shown.contains("&lt;script&gt;"),
        "{shown}"
    );
    assert_eq!(text(&town, "global").await, "\n# Old\n");
    let saved = edit(
        &mut person,
        "global",
        "version=1&content=%23+New%0D%0A%0D%0Atext%0D%0A",
    )
    .await;
    assert_eq!(saved.to(), "/boards/global");
    assert_eq!(text(&town, "global").await, "# New\n\ntext\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_slower_sees_what_changed_and_loses_nothing() {
    let town = Town::new().await;
    write(&town, "global", "one\ntwo\nthree\n").await;
    write(&town, "global", "one\nTWO\nthree\n").await;
    let mut person = town.person().await;
    let mine = "version=1&merge=1&content=one%0D%0A2%0D%0Athree%0D%0A";
    let refused = edit(&mut person, "global", mine).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    let page = refused.text;
    assert!(page.contains("data-code=\"version_conflict\""), "{page}");
    assert_eq!(page.matches("class=\"diff sides\"").count(), 2, "{page}");
    assert!(page.contains("TWO"), "what others wrote is shown");
    for said in ["Theirs, as it is now", "Yours", "Take theirs"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(
        !page.contains("marked places"),
        "the text has no marks: {page}"
    );
    assert!(
        page.contains("one\n2\nthree\n</textarea>"),
        "what was typed is kept: {page}"
    );
    assert_eq!(text(&town, "global").await, "one\nTWO\nthree\n");
    // The form is now based on the current version.
    assert!(page.contains("name=\"version\" value=\"2\""), "{page}");
    let saved = edit(
        &mut person,
        "global",
        "version=2&content=one%0A2%0Athree%0A",
    )
    .await;
    assert_eq!(saved.to(), "/boards/global");
    assert_eq!(text(&town, "global").await, "one\n2\nthree\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_about_a_section_shows_that_section_also_when_it_is_gone() {
    let town = Town::new().await;
    write(&town, "global", "# A\n\n## Plan\n\nold\n").await;
    write(&town, "global", "# A\n\n## Plan\n\ntheirs\n").await;
    let mut person = town.person().await;
    let mine = "section=Plan&nth=1&content=mine";
    let refused = edit(&mut person, "global", &format!("version=1&{mine}")).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    let asked = between(&refused.text, "What saving would change now", "</section>");
    assert!(
        asked.contains("theirs") && asked.contains("mine"),
        "{asked}"
    );
    assert!(!asked.contains("## Plan"), "only the section: {asked}");
    write(&town, "global", "# A\n").await;
    let gone = edit(&mut person, "global", &format!("version=1&{mine}")).await;
    assert_eq!(gone.status, StatusCode::CONFLICT, "{}", gone.text);
    assert!(gone.text.contains("What saving would change now"));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_do_not_overlap_are_merged() {
    let town = Town::new().await;
    write(&town, "global", "one\n\nb\n\nc\n\nd\n\nlast\n").await;
    write(&town, "global", "ONE\n\nb\n\nc\n\nd\n\nlast\n").await;
    let mut person = town.person().await;
    let mine = "version=1&merge=1&content=one%0A%0Ab%0A%0Ac%0A%0Ad%0A%0ALAST%0A";
    assert_eq!(
        edit(&mut person, "global", mine).await.to(),
        "/boards/global"
    );
    assert_eq!(text(&town, "global").await, "ONE\n\nb\n\nc\n\nd\n\nLAST\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_section_is_edited_and_no_other_byte() {
    let town = Town::new().await;
    let board = "# A\n\nfirst\n\n## 计划\n\nold\n\n## C\n\nkept  \n";
    write(&town, "global", board).await;
    let mut person = town.person().await;
    let page = person.get("/boards/global").await.good().text;
    let toc = between(&page, "<nav class=\"toc\"", "</nav>");
    let link = format!(
        "/boards/global/edit?section=%E8%AE%A1%E5%88%92&nth=1{}",
        between(
            toc,
            "/boards/global/edit?section=%E8%AE%A1%E5%88%92&amp;nth=1",
            "\""
        )
    );
    let form = person.get(&link).await.good().text;
    assert!(form.contains(">\nold</textarea>"), "{form}");
    let fields = "version=1&section=%E8%AE%A1%E5%88%92&nth=1&content=new";
    assert_eq!(
        edit(&mut person, "global", fields).await.to(),
        "/boards/global"
    );
    assert_eq!(text(&town, "global").await, board.replace("old", "new"));
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_appended_and_locks_taken_and_ended() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let done = person
        .submit("/boards/global/append", "content=We+begin.%0D%0ASoon.")
        .await;
    assert_eq!(done.to(), "/boards/global");
    assert!(text(&town, "global").await.contains("We begin.\nSoon."));
    let empty = person.submit("/boards/global/append", "content=+").await;
    assert_eq!(empty.status, StatusCode::BAD_REQUEST);
    person.submit("/boards/global/lock", "").await.to();
    let about = person.part("/boards/global/about").await.good().text;
    assert!(
        between(&about, "data-fact=\"lock\"", "</dd>").contains("user"),
        "{about}"
    );
    person.submit("/boards/global/unlock", "").await.to();
    let about = person.part("/boards/global/about").await.good().text;
    assert!(
        between(&about, "data-fact=\"lock\"", "</dd>").contains("free"),
        "{about}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_proposed_signed_vetoed_and_appealed() {
    let town = Town::new().await;
    let mut person = town.person().await;
    for content in ["Use+*Rust*", "Use+Go"] {
        let fields = format!("act=propose&content={content}");
        assert_eq!(
            person.submit("/boards/global/decide", &fields).await.to(),
            "/boards/global"
        );
    }
    let page = person.get("/boards/global").await.good().text;
    let ids: Vec<&str> = page
        .split("data-decision=\"")
        .skip(1)
        .map(|t| between(t, "", "\""))
        .collect();
    let [second, first] = ids.as_slice() else {
        panic!("{ids:?}")
    };
    assert!(page.contains("<em>Rust</em>"), "{page}");
    let fields = format!("act=sign&id={first}");
    assert_eq!(
        person.submit("/boards/global/decide", &fields).await.to(),
        "/boards/global"
    );
    let page = person.get("/boards/global").await.good().text;
    let signed = between(&page, &format!("data-decision=\"{first}\""), "</article>");
    assert!(signed.contains("Signed:"), "{signed}");
    // A veto asks for its reason on a page of its own.
    let ask = person
        .get(&format!("/boards/global/decide?id={second}&act=veto"))
        .await
        .good()
        .text;
    assert!(ask.contains("name=\"reason\""), "{ask}");
    let fields = format!("act=veto&id={second}&reason=too+slow");
    assert_eq!(
        person.submit("/boards/global/decide", &fields).await.to(),
        "/boards/global"
    );
    let page = person.get("/boards/global").await.good().text;
    let vetoed = between(&page, &format!("data-decision=\"{second}\""), "</article>");
    assert!(
        vetoed.contains("status-rejected") && vetoed.contains("too slow"),
        "{vetoed}"
    );
    assert!(vetoed.contains("value=\"appeal\""), "{vetoed}");
    let fields = format!("act=appeal&id={second}");
    person.submit("/boards/global/decide", &fields).await;
    let strange = person
        .submit("/boards/global/decide", "act=dance&id=1")
        .await;
    assert_eq!(strange.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn milestones_are_added_reached_and_shown_as_progress() {
    let town = Town::new().await;
    let mut person = town.person().await;
    for title in ["Alpha", "Beta"] {
        let fields = format!("add=1&title={title}&content=when+ready");
        assert_eq!(
            person
                .submit("/boards/global/milestone", &fields)
                .await
                .to(),
            "/boards/global"
        );
    }
    person
        .submit("/boards/global/milestone", "title=Alpha")
        .await
        .to();
    let page = person.get("/boards/global").await.good().text;
    let alpha = between(&page, "data-milestone=\"Alpha\"", "</li>");
    assert!(alpha.contains("reached"), "{alpha}");
    assert!(between(&page, "data-milestone=\"Beta\"", "</li>").contains("<form"));
    assert!(page.contains("<progress "), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_two_versions_stand_side_by_side_and_an_old_one_is_brought_back() {
    let town = Town::new().await;
    for content in ["the old plan\n", "the new plan\n", "no plan at all\n"] {
        write(&town, "global", content).await;
    }
    let mut person = town.person().await;
    let page = person
        .get("/boards/global/history?from=1&to=2")
        .await
        .good()
        .text;
    assert!(
        page.contains("<del>old</del>") && page.contains("<ins>new</ins>"),
        "{page}"
    );
    assert_eq!(page.matches("data-version=").count(), 3, "{page}");
    let ask = person
        .get("/boards/global/restore?version=1")
        .await
        .good()
        .text;
    assert!(ask.contains("class=\"diff sides\""), "{ask}");
    assert_eq!(text(&town, "global").await, "no plan at all\n");
    assert!(ask.contains("name=\"now\" value=\"3\""), "{ask}");
    write(&town, "global", "somebody was faster\n").await;
    let again = person
        .submit("/boards/global/restore", "version=1&now=3")
        .await;
    assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.text);
    assert!(again.text.contains("data-code=\"version_conflict\""));
    assert!(again.text.contains("name=\"now\" value=\"4\""));
    assert!(again.text.contains("somebody was faster"), "what changes");
    assert_eq!(text(&town, "global").await, "somebody was faster\n");
    let done = person
        .submit("/boards/global/restore", "version=1&now=4")
        .await;
    assert_eq!(done.to(), "/boards/global");
    assert_eq!(text(&town, "global").await, "the old plan\n");
    let lost = person.get("/boards/global/history?from=1&to=99").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
    assert!(lost.text.contains("version_not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_version_that_is_kept_is_shown_though_none_is_before_it() {
    let town = Town::new().await;
    let kept = town.polis.settings.boards.max_versions;
    for number in 0..kept + 5 {
        write(&town, "top", &format!("text {number}\n")).await;
    }
    let mut person = town.person().await;
    let list = person.get("/boards/top/history").await.good().text;
    assert!(list.contains("id=\"difference\""), "the newest two");
    let oldest = list.rsplit("data-version=\"").next().unwrap();
    let oldest = oldest.split('"').next().unwrap();
    let page = person
        .get(&format!("/boards/top/history?to={oldest}"))
        .await;
    let page = page.good().text;
    assert!(page.contains("is the oldest that is kept"), "{page}");
    assert!(page.contains("data-version=") && !page.contains("id=\"difference\""));
    let gone = person
        .get(&format!("/boards/top/history?from=1&to={oldest}"))
        .await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND, "one that was asked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_board_comes_in_parts_and_only_what_changed_comes_again() {
    let town = Town::new().await;
    let chapters: Vec<String> = (0..4_000)
        .map(|n| format!("## Chapter {n}\n\n{}\n\n", "Some words of it. ".repeat(20)))
        .collect();
    let long = chapters.concat();
    write(&town, "global", &long).await;
    let mut person = town.person().await;
    let page = person.get("/boards/global").await.good().text;
    assert!(page.len() < 200_000, "{}", page.len());
    let places: Vec<&str> = page
        .split("hx-get=\"/boards/global/part")
        .skip(1)
        .map(|rest| between(rest, "", "\""))
        .collect();
    assert!(places.len() > 10, "{}", places.len());
    assert!(
        page.contains("<h3>Chapter 0<"),
        "the first part is in the page"
    );
    let mut whole = String::new();
    for place in &places {
        let address = format!("/boards/global/part{}", place.replace("&amp;", "&"));
        let part = person.part(&address).await.good().text;
        assert!(
            part.starts_with("<div class=\"part\"") && !part.contains("hx-preserve"),
            "{part}"
        );
        whole.push_str(&part);
    }
    let seen = whole.matches("<h3>").count()
        + between(&page, "<article", "</article>")
            .matches("<h3>")
            .count();
    assert_eq!(seen, 4_000);
    // One change in the middle: unchanged parts are only referenced.
    write(
        &town,
        "global",
        &long.replace("## Chapter 2000\n", "## Another\n"),
    )
    .await;
    let again = person.part("/boards/global/text?have=1").await.good().text;
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
        .part("/boards/global/part?id=p-0000000000000000&version=1")
        .await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_appended_or_proposed_twice_is_there_once() {
    let town = Town::new().await;
    let mut person = town.person().await;
    for _ in 0..2 {
        person
            .submit("/boards/global/append", "content=only+once&once=a1")
            .await
            .to();
        person
            .submit(
                "/boards/global/decide",
                "act=propose&content=Use+Rust&once=a2",
            )
            .await
            .to();
    }
    let text = text(&town, "global").await;
    assert_eq!(text.matches("only once").count(), 1, "{text}");
    assert_eq!(text.matches("Use Rust").count(), 1, "{text}");
}
