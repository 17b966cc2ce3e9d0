//! Tests for the events page: filters, positions in the log, and links.

use crate::town::Town;

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_sentences_with_links() {
    let town = Town::new().await;
    let mut person = town.person().await;
    town.create_task("Write the <i>parser</i>").await;
    let page = person.get("/events").await.good().text;
    assert!(page.contains("<a href=\"/tasks/1\">task #1</a>"), "{page}");
    assert!(page.contains("Write the &lt;i&gt;parser"), "{page}");
    assert!(page.contains("<a href=\"/agents/ada\">ada</a>"), "{page}");
    person.submit("/taste", "lang=zh").await;
    let page = person.get("/events").await.good().text;
    assert!(page.contains("创建了"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_narrow_the_list() {
    let town = Town::new().await;
    let mut person = town.person().await;
    town.create_task("apples").await;
    town.create_task("pears").await;
    for (query, shown, hidden) in [
        ("kind=task", "task.created", "agent.added"),
        ("kind=agent", "agent.added", "task.created"),
        ("about=task%2F2", "pears", "apples"),
        ("about=%231", "apples", "pears"),
        ("text=PEARS", "pears", "apples"),
        ("who=nobody", "No event here", "task.created"),
    ] {
        let list = person.part(&format!("/events/list?{query}")).await.good();
        let list = list.text;
        assert!(list.contains(shown), "{query}: {list}");
        assert!(!list.contains(hidden), "{query}: {list}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_is_walked_back_and_forth() {
    let town = Town::new().await;
    let mut person = town.person().await;
    for n in 1..=250 {
        town.create_task(&format!("number {n}")).await;
    }
    let head = town.hub.now().await.unwrap();
    let page = person.get("/events").await.good().text;
    assert!(page.contains("polis:event from:body"), "live at its head");
    assert!(page.contains(&format!("max=\"{}\"", head + 1)), "{page}");
    let mut seen = page.matches("data-kind=").count();
    let mut page = page;
    let mut pages = 1;
    while let Some(at) = page.find("rel=\"prev\"") {
        let link = page[..at].rsplit("href=\"").next().unwrap();
        let link = link.split('"').next().unwrap().replace("&amp;", "&");
        page = person.get(&link).await.good().text;
        assert!(
            !page.contains("hx-trigger=\"polis:event"),
            "the past is still"
        );
        seen += page.matches("data-kind=").count();
        pages += 1;
    }
    assert_eq!(u64::try_from(seen).unwrap(), head);
    assert!(pages >= 3, "{pages}");
    // And forward again.
    let list = person.part("/events/list?after=0").await.good().text;
    assert!(
        list.contains("id=\"e1\"") && list.contains("rel=\"next\""),
        "{list}"
    );
    // The start of the slider is the oldest page.
    let slider = format!("/events/list?before=1&head={head}");
    let list = person.part(&slider).await.good().text;
    assert!(
        list.contains("id=\"e1\"") && !list.contains("No event"),
        "{list}"
    );
    assert_eq!(list.matches("data-kind=").count(), 100);
    // The end of the slider is the newest page, even if events were added since.
    let slider = format!("/events/list?before={head}&head={head}");
    let list = person.part(&slider).await.good().text;
    assert!(list.contains(&format!("id=\"e{head}\"")), "{list}");
}
