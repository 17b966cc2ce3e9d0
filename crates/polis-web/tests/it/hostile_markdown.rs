//! Hostile Markdown tests (XSS): a board with scripts, event handlers and dangerous links is rendered as
//! escaped text.

use polis_core::AgentId;
use polis_core::board::BoardName;
use polis_ops::op::{self, BoardWriteParams};

use crate::test_server::TestServer;

const HOSTILE_MARKDOWN: &str = r#"# <script>alert(1)</script>

<script>document.title = 'taken'</script>
<img src=x onerror="alert(1)"> <a href="javascript:alert(1)" onclick="x()">a</a>
<style>body { display: none }</style> <iframe src="https://evil.example"></iframe>
<form action="/boards/global/append" method="post"><input name="content"></form>

[a](javascript:alert(1)) [b](JAVASCRIPT:alert(1)) [c](data:text/html;base64,PHNjcmlwdD4=)
[d](vbscript:x) [e]("onmouseover="alert(1)) ![f](javascript:alert(1)) <javascript:alert(1)>
[g](https://fine.example "title\" onclick=\"x")

```"><script>alert(1)</script>
</code></pre><script>alert(1)</script>
```

| <script> | `<b>` |
|---|---|
| <img onerror=x> | "quoted" |

[main]: javascript:alert(1)
[main]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn hostile_markdown_is_rendered_as_escaped_text() {
    let server = TestServer::new().await;
    for (board, tail) in [("global", ""), ("top", "\n\nword ")] {
        let request = BoardWriteParams {
            board: BoardName::from_stored(board).unwrap(),
            content: format!("{HOSTILE_MARKDOWN}{}", tail.repeat(40_000)),
            expected_version: None,
            merge: false,
            force: true,
        };
        let written = op::write_board(&server.app.request(&AgentId::user()), &request).await;
        written.unwrap();
        let mut person = server.login_as_user().await;
        let page = person
            .get(&format!("/boards/{board}"))
            .await
            .expect_ok()
            .text;
        let (_, article) = page.split_once("<article").unwrap();
        let (article, _) = article.split_once("</article>").unwrap();
        assert!(
            article.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
            "{article}"
        );
        for bad in [
            "<script",
            "<img",
            "<style",
            "<iframe",
            "<form",
            "<input",
            "href=\"javascript",
            "href=\"data",
            "href=\"vb",
        ] {
            assert!(!article.to_lowercase().contains(bad), "{bad}");
        }
        // Every tag of the text has only attributes of our own.
        for tag in article.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            for name in [" on", " style=", " src=", " action=", " srcdoc="] {
                let outside: String = tag.split('"').step_by(2).collect();
                assert!(!outside.contains(name), "{tag}");
            }
        }
        assert!(
            article.contains("href=\"https://fine.example\""),
            "{article}"
        );
    }
}
