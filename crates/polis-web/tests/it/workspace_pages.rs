//! Workspace page tests: list with sizes, lazy file tree, highlighted files, downloads, refresh, and access
//! to other agents' files.

use http::StatusCode;
use polis_core::AgentId;
use polis_core::workspace::file_tools::{FileEncoding, WriteFileParams};
use polis_ops::op;

use crate::test_server::TestServer;

async fn write_workspace_file(
    server: &TestServer,
    path: &str,
    content: &str,
    encoding: FileEncoding,
) {
    let ada: AgentId = "ada".parse().unwrap();
    let request = WriteFileParams {
        path: path.to_owned(),
        content: content.to_owned(),
        encoding,
        ..WriteFileParams::default()
    };
    op::write_file(&server.app.request(&ada), None, &request)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn workspace_list_loads_sizes_separately() {
    let server = TestServer::new().await;
    write_workspace_file(&server, "a.txt", "12345", FileEncoding::Utf8).await;
    let mut person = server.login_as_user().await;
    let page = person.get("/workspaces").await.expect_ok().text;
    assert!(page.contains("href=\"/workspaces/ada\""), "{page}");
    assert!(page.contains("hx-get=\"/workspaces/ada/size\""), "{page}");
    let size = person
        .get_fragment("/workspaces/ada/size")
        .await
        .expect_ok()
        .text;
    assert!(size.contains("5 B") && size.contains("1 file "), "{size}");
    let lost = person.get("/workspaces/nobody").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
    assert!(lost.text.contains("workspace_not_assigned"));
}

#[tokio::test(flavor = "multi_thread")]
async fn file_tree_expands_lazily_with_unicode_names() {
    let server = TestServer::new().await;
    write_workspace_file(&server, "src/main.rs", "fn main() {}\n", FileEncoding::Utf8).await;
    write_workspace_file(&server, "文档/说 明.md", "# 标题\n", FileEncoding::Utf8).await;
    let mut person = server.login_as_user().await;
    let page = person.get("/workspaces/ada").await.expect_ok().text;
    assert!(
        page.contains("hx-get=\"/workspaces/ada/tree?path=src\""),
        "{page}"
    );
    assert!(
        !page.contains("main.rs"),
        "directories are loaded when they are expanded"
    );
    let folder = "/workspaces/ada/tree?path=%E6%96%87%E6%A1%A3";
    assert!(page.contains(folder), "{page}");
    let whole = person.get(folder).await.expect_ok().text;
    assert!(
        whole.contains("<html") && whole.contains("%E8%AF%B4%20%E6%98%8E.md"),
        "{whole}"
    );
    assert!(
        !whole.contains("main.rs"),
        "only that directory is expanded: {whole}"
    );
    let list = person.get_fragment(folder).await.expect_ok().text;
    assert!(!list.contains("<html"), "{list}");
    let file = "/workspaces/ada/file/%E6%96%87%E6%A1%A3/%E8%AF%B4%20%E6%98%8E.md";
    assert!(list.contains(file), "{list}");
    let page = person.get(file).await.expect_ok().text;
    assert!(page.contains("<h2>标题"), "Markdown is rendered: {page}");
    assert!(
        page.contains("aria-current=\"page\""),
        "the tree is expanded at the file"
    );
    let source = person
        .get(&format!("{file}?view=source"))
        .await
        .expect_ok()
        .text;
    assert!(
        source.contains("<span class=\"hl-head\"># 标题</span>"),
        "{source}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn file_is_highlighted_with_line_numbers() {
    let server = TestServer::new().await;
    write_workspace_file(
        &server,
        "main.rs",
        "// <b>\nfn main() {}\n",
        FileEncoding::Utf8,
    )
    .await;
    write_workspace_file(
        &server,
        "long.txt",
        &"0123456789abcdef\n".repeat(50_000),
        FileEncoding::Utf8,
    )
    .await;
    write_workspace_file(&server, "empty.txt", "", FileEncoding::Utf8).await;
    let mut person = server.login_as_user().await;
    let page = person
        .get("/workspaces/ada/file/main.rs")
        .await
        .expect_ok()
        .text;
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
        .expect_ok()
        .text;
    assert!(long.contains("from=2001"), "a long file is paginated");
    assert!(long.len() < 4 << 20, "{}", long.len());
    let empty = person
        .get("/workspaces/ada/file/empty.txt")
        .await
        .expect_ok()
        .text;
    assert!(empty.contains("The file is empty."), "{empty}");
    let lost = person
        .get("/workspaces/ada/file/nothing.txt")
        .await
        .expect_ok()
        .text;
    assert!(lost.contains("file_not_found"), "{lost}");
    let outside = person
        .get("/workspaces/ada/file/..%2F..%2Fetc/passwd")
        .await;
    assert_eq!(outside.status, StatusCode::FORBIDDEN, "{}", outside.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_file_is_offered_only_as_download() {
    let server = TestServer::new().await;
    // The first bytes of an image, and a page that would execute if it were displayed.
    write_workspace_file(
        &server,
        "图.png",
        "iVBORw0KGgoAAAANSUhEUgD/",
        FileEncoding::Base64,
    )
    .await;
    write_workspace_file(
        &server,
        "page.html",
        "<script>alert(1)</script>",
        FileEncoding::Utf8,
    )
    .await;
    let mut person = server.login_as_user().await;
    let page = person
        .get("/workspaces/ada/file/%E5%9B%BE.png")
        .await
        .expect_ok()
        .text;
    assert!(page.contains("This is not a text file"), "{page}");
    assert!(!page.contains("src=\"/workspaces"), "{page}");
    for (path, name) in [
        ("%E5%9B%BE.png", "%E5%9B%BE.png"),
        ("page.html", "page.html"),
    ] {
        let raw = person
            .get(&format!("/workspaces/ada/raw/{path}"))
            .await
            .expect_ok();
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
        .expect_ok()
        .text;
    assert!(!shown.contains("<script>alert"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_another_agent_are_refused() {
    let server = TestServer::new().await;
    write_workspace_file(&server, "secret.txt", "x", FileEncoding::Utf8).await;
    let mut lead = server.login_as_agent("lead", "all").await;
    let refused = lead.get("/workspaces/ada/file/secret.txt").await;
    assert_ne!(refused.status, StatusCode::OK, "{}", refused.text);
    assert!(!refused.text.contains("hl-"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn workspace_sizes_and_tree_are_refreshed() {
    let server = TestServer::new().await;
    write_workspace_file(&server, "src/main.rs", "fn main() {}\n", FileEncoding::Utf8).await;
    write_workspace_file(&server, "docs/a/b.md", "# B\n", FileEncoding::Utf8).await;
    let mut person = server.login_as_user().await;
    let page = person.get("/workspaces").await.expect_ok().text;
    assert!(
        page.contains("hx-trigger=\"intersect once\""),
        "not all at once: {page}"
    );
    let slow = "polis:file~ from:body, polis:command~ from:body";
    let size = person
        .get_fragment("/workspaces/ada/size")
        .await
        .expect_ok()
        .text;
    assert!(
        size.contains("hx-get=\"/workspaces/ada/size\"") && size.contains(slow),
        "{size}"
    );
    let page = person.get("/workspaces/ada").await.expect_ok().text;
    assert!(
        page.contains("hx-get=\"/workspaces/ada/files\"") && page.contains(slow),
        "{page}"
    );
    write_workspace_file(&server, "src/new.rs", "", FileEncoding::Utf8).await;
    // Expanded directories stay expanded, and paths that no longer exist, or never did, are omitted.
    let again = "/workspaces/ada/files?open=src&open=docs%2Fa&open=docs&open=gone&open=src%2Fmain.rs&open=..%2Fx";
    let tree = person.get_fragment(again).await.expect_ok().text;
    for there in ["main.rs", "new.rs", "b.md", "id=\"dir-docs%2Fa\""] {
        assert!(tree.contains(there), "{there}: {tree}");
    }
    assert_eq!(tree.matches("<details open").count(), 3, "{tree}");
    let closed = person
        .get_fragment("/workspaces/ada/files?open=docs%2Fa")
        .await
        .expect_ok()
        .text;
    assert!(
        !closed.contains("b.md") && !closed.contains("<details open"),
        "{closed}"
    );
    let whole = person.get("/workspaces/ada/files").await.expect_ok().text;
    assert!(whole.contains("<html"), "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn file_in_deleted_directory_shows_tree_and_error() {
    let server = TestServer::new().await;
    write_workspace_file(&server, "src/main.rs", "fn main() {}\n", FileEncoding::Utf8).await;
    let mut person = server.login_as_user().await;
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
