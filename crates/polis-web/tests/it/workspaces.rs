//! Tests for the workspace pages.

use http::StatusCode;
use polis_core::AgentId;
use polis_core::workspace::file::{Encoding, WriteFile};
use polis_ops::op::{self, Desk};

use crate::town::Town;

async fn put(town: &Town, path: &str, content: &str, encoding: Encoding) {
    let ada: AgentId = "ada".parse().unwrap();
    let request = WriteFile {
        path: path.to_owned(),
        content: content.to_owned(),
        encoding,
        ..WriteFile::default()
    };
    op::write_file(&town.polis, Desk::own(&ada), &request)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_are_listed_and_measured_apart() {
    let town = Town::new().await;
    put(&town, "a.txt", "12345", Encoding::Utf8).await;
    let mut person = town.person().await;
    let page = person.get("/workspaces").await.good().text;
    assert!(page.contains("href=\"/workspaces/ada\""), "{page}");
    assert!(page.contains("hx-get=\"/workspaces/ada/size\""), "{page}");
    let size = person.part("/workspaces/ada/size").await.good().text;
    assert!(size.contains("5 B") && size.contains("1 file "), "{size}");
    let lost = person.get("/workspaces/nobody").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
    assert!(lost.text.contains("workspace_not_assigned"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_opens_folder_by_folder_and_names_may_be_of_any_script() {
    let town = Town::new().await;
    put(&town, "src/main.rs", "fn main() {}\n", Encoding::Utf8).await;
    put(&town, "文档/说 明.md", "# 标题\n", Encoding::Utf8).await;
    let mut person = town.person().await;
    let page = person.get("/workspaces/ada").await.good().text;
    assert!(
        page.contains("hx-get=\"/workspaces/ada/tree?path=src\""),
        "{page}"
    );
    assert!(
        !page.contains("main.rs"),
        "folders are read when they are opened"
    );
    let folder = "/workspaces/ada/tree?path=%E6%96%87%E6%A1%A3";
    assert!(page.contains(folder), "{page}");
    let whole = person.get(folder).await.good().text;
    assert!(
        whole.contains("<html") && whole.contains("%E8%AF%B4%20%E6%98%8E.md"),
        "{whole}"
    );
    assert!(
        !whole.contains("main.rs"),
        "only that folder is open: {whole}"
    );
    let list = person.part(folder).await.good().text;
    assert!(!list.contains("<html"), "{list}");
    let file = "/workspaces/ada/file/%E6%96%87%E6%A1%A3/%E8%AF%B4%20%E6%98%8E.md";
    assert!(list.contains(file), "{list}");
    let page = person.get(file).await.good().text;
    assert!(
        page.contains("<h2>标题"),
        "Markdown is shown as it is meant: {page}"
    );
    assert!(
        page.contains("aria-current=\"page\""),
        "the tree is open at the file"
    );
    let source = person.get(&format!("{file}?view=source")).await.good().text;
    assert!(
        source.contains("<span class=\"hl-head\"># 标题</span>"),
        "{source}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_shown_in_colours_with_its_lines_numbered() {
    let town = Town::new().await;
    put(&town, "main.rs", "// <b>\nfn main() {}\n", Encoding::Utf8).await;
    put(
        &town,
        "long.txt",
        &"0123456789abcdef\n".repeat(50_000),
        Encoding::Utf8,
    )
    .await;
    put(&town, "empty.txt", "", Encoding::Utf8).await;
    let mut person = town.person().await;
    let page = person.get("/workspaces/ada/file/main.rs").await.good().text;
    assert!(
        page.contains("<span class=\"hl-comment\">// &lt;b&gt;</span>"),
        "{page}"
    );
    assert!(
        page.contains("id=\"L2\" data-line=\"2\"><span class=\"hl-word\">fn</span>"),
        "{page}"
    );
    let long = person
        .get("/workspaces/ada/file/long.txt")
        .await
        .good()
        .text;
    assert!(long.contains("from=2001"), "a long file has parts");
    assert!(long.len() < 4 << 20, "{}", long.len());
    let empty = person
        .get("/workspaces/ada/file/empty.txt")
        .await
        .good()
        .text;
    assert!(empty.contains("The file is empty."), "{empty}");
    let lost = person
        .get("/workspaces/ada/file/nothing.txt")
        .await
        .good()
        .text;
    assert!(lost.contains("file_not_found"), "{lost}");
    let outside = person
        .get("/workspaces/ada/file/..%2F..%2Fetc/passwd")
        .await;
    assert_eq!(outside.status, StatusCode::FORBIDDEN, "{}", outside.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_text_is_only_a_download() {
    let town = Town::new().await;
    // The first bytes of an image, and a page that would execute if it were displayed.
    put(
        &town,
        "图.png",
        "iVBORw0KGgoAAAANSUhEUgD/",
        Encoding::Base64,
    )
    .await;
    put(
        &town,
        "page.html",
        "<script>alert(1)</script>",
        Encoding::Utf8,
    )
    .await;
    let mut person = town.person().await;
    let page = person
        .get("/workspaces/ada/file/%E5%9B%BE.png")
        .await
        .good()
        .text;
    assert!(page.contains("This file is not text"), "{page}");
    assert!(!page.contains("src=\"/workspaces"), "{page}");
    for (path, name) in [
        ("%E5%9B%BE.png", "%E5%9B%BE.png"),
        ("page.html", "page.html"),
    ] {
        let raw = person
            .get(&format!("/workspaces/ada/raw/{path}"))
            .await
            .good();
        assert_eq!(raw.header("content-type"), "application/octet-stream");
        assert_eq!(raw.header("x-content-type-options"), "nosniff");
        assert_eq!(
            raw.header("content-disposition"),
            format!("attachment; filename*=UTF-8''{name}")
        );
        assert!(raw.header("content-security-policy").contains("sandbox"));
    }
    let shown = person
        .get("/workspaces/ada/file/page.html")
        .await
        .good()
        .text;
    assert!(!shown.contains("<script>alert"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agents_files_are_refused() {
    let town = Town::new().await;
    put(&town, "secret.txt", "x", Encoding::Utf8).await;
    let mut lead = town.agent("lead", "all").await;
    let refused = lead.get("/workspaces/ada/file/secret.txt").await;
    assert_ne!(refused.status, StatusCode::OK, "{}", refused.text);
    assert!(!refused.text.contains("hl-"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_and_files_are_looked_at_again() {
    let town = Town::new().await;
    put(&town, "src/main.rs", "fn main() {}\n", Encoding::Utf8).await;
    put(&town, "docs/a/b.md", "# B\n", Encoding::Utf8).await;
    let mut person = town.person().await;
    let page = person.get("/workspaces").await.good().text;
    assert!(
        page.contains("hx-trigger=\"intersect once\""),
        "not all at once: {page}"
    );
    let slow = "polis:file~ from:body, polis:command~ from:body";
    let size = person.part("/workspaces/ada/size").await.good().text;
    assert!(
        size.contains("hx-get=\"/workspaces/ada/size\"") && size.contains(slow),
        "{size}"
    );
    let page = person.get("/workspaces/ada").await.good().text;
    assert!(
        page.contains("hx-get=\"/workspaces/ada/files\"") && page.contains(slow),
        "{page}"
    );
    put(&town, "src/new.rs", "", Encoding::Utf8).await;
    // Expanded directories stay expanded, and paths that no longer exist, or never did, are omitted.
    let again = "/workspaces/ada/files?open=src&open=docs%2Fa&open=docs&open=gone&open=src%2Fmain.rs&open=..%2Fx";
    let tree = person.part(again).await.good().text;
    for there in ["main.rs", "new.rs", "b.md", "id=\"dir-docs%2Fa\""] {
        assert!(tree.contains(there), "{there}: {tree}");
    }
    assert_eq!(tree.matches("<details open").count(), 3, "{tree}");
    let closed = person
        .part("/workspaces/ada/files?open=docs%2Fa")
        .await
        .good()
        .text;
    assert!(
        !closed.contains("b.md") && !closed.contains("<details open"),
        "{closed}"
    );
    let whole = person.get("/workspaces/ada/files").await.good().text;
    assert!(whole.contains("<html"), "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_directory_is_gone_still_has_a_page_with_the_tree() {
    let town = Town::new().await;
    put(&town, "src/main.rs", "fn main() {}\n", Encoding::Utf8).await;
    let mut person = town.person().await;
    for path in ["gone/deep/x.rs", "src/main.rs/x", "src/gone/x.rs"] {
        let page = person.get(&format!("/workspaces/ada/file/{path}")).await;
        if page.status == StatusCode::OK {
            assert!(page.text.contains("file_not_found"), "{}", page.text);
            assert!(page.text.contains("id=\"dir-src\""), "{}", page.text);
        } else {
            assert_eq!(path, "src/main.rs/x", "{}", page.text);
        }
    }
}
