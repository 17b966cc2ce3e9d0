//! Test of script injection (XSS): a board whose text tries to execute code in the browser.

use serde_json::json;

use super::with_signed_in_browser;
use crate::harness::test_project::TestProject;
use crate::harness::test_server::TestServer;

/// Markdown with known script injection techniques.
fn injection_markdown() -> String {
    let mut text = String::from(
        "# Hello <script>window.pwned = 1</script>\n\n\
         <script>window.pwned = 2</script>\n\n\
         <img src=x onerror=\"window.pwned = 3\">\n\n\
         <svg onload=\"window.pwned = 4\"></svg>\n\n\
         <iframe srcdoc=\"<script>parent.pwned = 5</script>\"></iframe>\n\n\
         [press me](javascript:window.pwned=6) and [me](JaVaScRiPt:window.pwned=7) and [me](data:text/html,<script>window.pwned=8</script>)\n\n\
         [spaces]( java\u{200b}script:window.pwned=9) <javascript:window.pwned=10>\n\n\
         ![picture](https://evil.example/x.png) ![b](x\" onerror=\"window.pwned=11)\n\n\
         <style>body { display: none }</style>\n\n\
         <form action=\"https://evil.example\"><button>press</button></form>\n\n\
         <a href=\"#\" onclick=\"window.pwned=12\">press</a>\n\n\
         <div hx-get=\"/tasks\" hx-trigger=\"load\" hx-on::load=\"window.pwned=13\">x</div>\n\n\
         ```\"><script>window.pwned=14</script>\ncode </code></pre><script>window.pwned=15</script>\n```\n\n\
         ## <b onmouseover=window.pwned=16>heading</b>\" onclick=\"window.pwned=17\n\n",
    );
    text.push_str("| a |");
    text.push_str(&" b |".repeat(400));
    text.push_str("\n| - |");
    text.push_str(&" - |".repeat(400));
    for n in 0..500 {
        text.push_str(&format!("\n| {n} | <script>window.pwned=18</script> |"));
    }
    text.push_str("\n\n");
    text.push_str(&"> ".repeat(2_000));
    text.push_str("deep\n\n");
    text.push_str(&"[".repeat(5_000));
    text.push_str("\n\nThe end of it.\n");
    text
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn script_injection_in_board_text_has_no_effect() {
    let project = TestProject::embedded();
    project.run_ok(
        "user",
        &[
            "board",
            "write",
            "global",
            "--content",
            &injection_markdown(),
        ],
    );
    project.run_ok(
        "user",
        &[
            "task",
            "create",
            "--subject",
            "<script>window.pwned=20</script>",
            "--description",
            &injection_markdown()[..2_000.min(injection_markdown().len())],
        ],
    );
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        for path in [
            "/boards/global",
            "/boards",
            "/tasks",
            "/tasks/1",
            "/",
            "/events",
        ] {
            browser.open_page(path).await;
            browser.wait_for_element("main h1").await;
            // Clicks everything clickable, and scrolls everything into view.
            browser
                .run_script("for (const e of document.querySelectorAll('article a, article button, article [onclick], article b'))
                       { e.addEventListener('click', event => event.preventDefault()); e.click(); e.dispatchEvent(new Event('mouseover', {bubbles: true})); }
                     window.scrollTo(0, document.body.scrollHeight)")
                .await;
            let harmless = browser
                .run_script("return window.pwned === undefined
                       && document.querySelectorAll('main script, main iframe, main style, main img, main object, main embed').length === 0
                       && ![...document.querySelectorAll('main *')].some(e => [...e.attributes].some(a => a.name.startsWith('on') || /^\\s*(javascript|data|vbscript):/i.test(a.value)))
                       && ![...document.querySelectorAll('article *')].some(e => [...e.attributes].some(a => a.name.startsWith('hx-') && !e.matches('[data-part]')))
                       && getComputedStyle(document.body).display !== 'none'")
                .await;
            assert_eq!(harmless, json!(true), "{path}");
        }
        browser.open_page("/boards/global").await;
        let shown = browser.page_text().await;
        assert!(
            shown.contains("<script>window.pwned = 2</script>"),
            "it is shown as text: {shown}"
        );
        assert_eq!(
            browser.console_errors().await,
            Vec::<String>::new(),
            "the content security policy blocked something"
        );
    });
}
