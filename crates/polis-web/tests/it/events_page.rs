//! Events page tests: rendering as sentences with links, filters, and pagination through the log.

use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn events_are_rendered_as_sentences_with_links() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    server.create_task("Write the <i>parser</i>").await;
    let page = person.get("/events").await.expect_ok().text;
    assert!(page.contains("<a href=\"/tasks/1\">task #1</a>"), "{page}");
    assert!(page.contains("Write the &lt;i&gt;parser"), "{page}");
    assert!(page.contains("<a href=\"/agents/ada\">ada</a>"), "{page}");
    person.post_with_csrf("/preferences", "lang=zh").await;
    let page = person.get("/events").await.expect_ok().text;
    assert!(page.contains("创建了"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn event_filters_narrow_list() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    server.create_task("apples").await;
    server.create_task("pears").await;
    for (query, shown, hidden) in [
        ("kind=task", "task.created", "agent.added"),
        ("kind=agent", "agent.added", "task.created"),
        ("about=task%2F2", "pears", "apples"),
        ("about=%231", "apples", "pears"),
        ("text=PEARS", "pears", "apples"),
        ("who=nobody", "No matching events", "task.created"),
    ] {
        let list = person
            .get_fragment(&format!("/events/list?{query}"))
            .await
            .expect_ok();
        let list = list.text;
        assert!(list.contains(shown), "{query}: {list}");
        assert!(!list.contains(hidden), "{query}: {list}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn event_pagination_reaches_both_ends() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    for n in 1..=250 {
        server.create_task(&format!("number {n}")).await;
    }
    let head = server.hub.last_sequence().await.unwrap();
    let page = person.get("/events").await.expect_ok().text;
    assert!(
        page.contains("polis:event from:body"),
        "the newest page updates live"
    );
    assert!(page.contains(&format!("max=\"{}\"", head + 1)), "{page}");
    let mut seen = page.matches("data-kind=").count();
    let mut page = page;
    let mut pages = 1;
    while let Some(at) = page.find("rel=\"prev\"") {
        let link = page[..at].rsplit("href=\"").next().unwrap();
        let link = link.split('"').next().unwrap().replace("&amp;", "&");
        page = person.get(&link).await.expect_ok().text;
        assert!(
            !page.contains("hx-trigger=\"polis:event"),
            "an older page does not update"
        );
        seen += page.matches("data-kind=").count();
        pages += 1;
    }
    assert_eq!(u64::try_from(seen).unwrap(), head);
    assert!(pages >= 3, "{pages}");
    // And forward again.
    let list = person
        .get_fragment("/events/list?after=0")
        .await
        .expect_ok()
        .text;
    assert!(
        list.contains("id=\"e1\"") && list.contains("rel=\"next\""),
        "{list}"
    );
    // The start of the slider is the oldest page.
    let slider = format!("/events/list?before=1&head={head}");
    let list = person.get_fragment(&slider).await.expect_ok().text;
    assert!(
        list.contains("id=\"e1\"") && !list.contains("No matching events"),
        "{list}"
    );
    assert_eq!(list.matches("data-kind=").count(), 100);
    // The end of the slider is the newest page, even if events were added since.
    let slider = format!("/events/list?before={head}&head={head}");
    let list = person.get_fragment(&slider).await.expect_ok().text;
    assert!(list.contains(&format!("id=\"e{head}\"")), "{list}");
}
