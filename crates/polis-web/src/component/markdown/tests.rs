//! Tests that only our own tags are emitted, regardless of the input.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn render_to_string(markdown: &str) -> String {
    render_markdown(markdown).into_string()
}

/// Returns what is wrong with a text that should be complete HTML consisting of our own tags.
fn check_html(html: &str) -> Result<(), String> {
    const TAGS: [&str; 30] = [
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "div",
        "em",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "span",
        "strong",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
        "",
        "",
        "",
        "",
    ];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        if rest[..at].contains(['>', '"', '\'']) {
            return Err(format!("unescaped text: {:?}", &rest[..at]));
        }
        let end = rest[at..].find('>').ok_or("a tag without end")?;
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing"));
            }
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !TAGS.contains(&name) {
            return Err(format!("a tag of others: {tag}"));
        }
        check_attributes(attributes)?;
        if name != "br" && name != "hr" {
            open.push(name);
        }
    }
    if rest.contains(['>', '"', '\'']) {
        return Err(format!("unescaped text: {rest:?}"));
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("left open: {open:?}"))
    }
}

fn check_attributes(attributes: &str) -> Result<(), String> {
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let (name, after) = rest
            .split_once("=\"")
            .ok_or("an attribute without quotes")?;
        let (value, after) = after.split_once('"').ok_or("a quote without end")?;
        let is_valid = match name {
            "class" | "id" | "rel" => true,
            "start" | "tabindex" => value.parse::<u64>().is_ok(),
            "href" => {
                let value = value.replace("&amp;", "&").to_lowercase();
                let scheme = value.split(['/', '?', '#', '\\']).next().unwrap_or("");
                match scheme.split_once(':') {
                    None => true,
                    Some((scheme, _)) => ["http", "https", "mailto"].contains(&scheme),
                }
            }
            _ => false,
        };
        if !is_valid {
            return Err(format!("an attribute of others: {name}={value}"));
        }
        rest = after.trim();
    }
    Ok(())
}

#[test]
fn markdown_is_rendered_as_expected_elements() {
    assert_eq!(
        render_to_string("# 标题\n\na *b* **c** ~~d~~ `e`\n\n- [x] done\n- [ ] open\n"),
        "<h3>标题</h3><p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p><ul>\
         <li><span class=\"tick done\">☑</span> done</li>\
         <li><span class=\"tick\">☐</span> open</li></ul>"
    );
    assert_eq!(
        render_to_string("| a | b |\n| --- | --: |\n| 1 | 2 |\n"),
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>a</th><th class=\"right\">b</th></tr>\
         </thead><tbody><tr><td>1</td><td class=\"right\">2</td></tr></tbody></table></div>"
    );
    assert_eq!(
        render_to_string("```rust\nfn a() {}\n```\n"),
        "<pre tabindex=\"0\"><code><span class=\"hl-word\">fn</span> \
         <span class=\"hl-call\">a</span>() {}\n</code></pre>"
    );
    assert_eq!(
        render_to_string("---\na: b\n---\n\ntext\n"),
        "<pre class=\"front\" tabindex=\"0\">---\na: b\n---\n</pre><p>text</p>"
    );
}

#[test]
fn raw_html_is_shown_as_text() {
    let html = render_to_string("<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> b\n");
    assert_eq!(check_html(&html), Ok(()));
    assert!(
        html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "{html}"
    );
    assert!(
        html.contains("&lt;img src=x onerror=alert(1)&gt;"),
        "{html}"
    );
}

#[test]
fn link_with_disallowed_scheme_is_shown_as_text() {
    for address in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "java&#10;script:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "\\:x",
    ] {
        let html = render_to_string(&format!("[go](<{address}>) ![p](<{address}>)"));
        assert!(!html.contains("href"), "{address}: {html}");
        assert!(html.contains("go"), "{html}");
    }
    for address in [
        "https://a.b/c?d=1&e",
        "mailto:a@b.c",
        "/tasks/1",
        "x/y:z",
        "#part",
        "?a=b",
    ] {
        let html = render_to_string(&format!("[go]({address})"));
        assert!(html.contains("href="), "{address}: {html}");
        assert_eq!(check_html(&html), Ok(()));
    }
}

#[test]
fn images_become_links_and_links_do_not_nest() {
    let html = render_to_string("![alt](https://a.b/c.png) [![in](x.png)](https://d.e)");
    assert!(!html.contains("<img"));
    assert_eq!(html.matches("<a ").count(), 2, "{html}");
    assert!(
        html.contains(">alt</a>") && html.contains(">in</a>"),
        "{html}"
    );
}

#[test]
fn heading_ids_are_unique_and_linkable() {
    let document =
        render_document("# 目标\n\n## Plan B!\n\n## Plan B!\n\n> # quoted\n\n[to](#plan-b)\n");
    let ids: Vec<_> = document
        .headings
        .iter()
        .map(|h| (h.id.as_str(), h.level, h.begins_section))
        .collect();
    assert_eq!(
        ids,
        [
            ("h-目标", 1, true),
            ("h-plan-b", 2, true),
            ("h-plan-b-1", 2, true),
            ("h-quoted", 1, false)
        ]
    );
    assert!(document.parts[0].html.contains("href=\"#h-plan-b\""));
    assert!(document.parts[0].html.contains("id=\"h-plan-b-1\""));
}

#[test]
fn long_text_is_split_into_valid_parts() {
    let table = format!(
        "| head | b |\n|---|---|\n{}",
        "| cell | other |\n".repeat(20_000)
    );
    let list: String = (1..20_000).map(|n| format!("{n}. item\n")).collect();
    let code = format!("```rust\n{}```\n", "let a = \"b\"; // c\n".repeat(8_000));
    let paragraph = "word *mark* ".repeat(30_000);
    let line = "字".repeat(300_000);
    let paragraphs = "A paragraph of some words.\n\n".repeat(20_000);
    for text in [&table, &list, &code, &paragraph, &line, &paragraphs] {
        let document = render_document(text);
        assert!(document.parts.len() > 2, "{:?}", text.get(..20));
        for part in &document.parts {
            assert!(part.html.len() < 200 << 10, "{}", part.html.len());
            assert_eq!(check_html(&part.html), Ok(()));
        }
    }
    let parts = render_document(&table).parts;
    assert!(parts.iter().all(|part| part.html.contains("<th>head</th>")));
    let rows: usize = parts
        .iter()
        .map(|part| part.html.matches("<td>cell</td>").count())
        .sum();
    assert_eq!(rows, 20_000);
    let parts = render_document(&list).parts;
    let second = &parts[1].html;
    let start: usize = second
        .split('"')
        .nth(1)
        .and_then(|n| n.parse().ok())
        .expect("a number");
    assert_eq!(parts[0].html.matches("<li>").count() + 1, start);
}

#[test]
fn change_at_the_beginning_keeps_most_parts() {
    let text: String = (0..20_000)
        .map(|n| format!("Paragraph {n} has its words.\n\n"))
        .collect();
    let before = render_document(&text).parts;
    let after = render_document(&format!("Something new.\n\n{text}")).parts;
    let unchanged = after.iter().filter(|part| before.contains(part)).count();
    assert!(
        unchanged * 2 > before.len(),
        "{unchanged} of {}",
        before.len()
    );
}

#[test]
fn hostile_texts_render_in_linear_time() {
    let count = 200_000;
    let texts = [
        ("quotes", ">".repeat(count)),
        ("lists", "- ".repeat(count)),
        ("emphasis", "*a _b ".repeat(count / 4)),
        ("brackets", "[".repeat(count)),
        ("links", "[a](b) ".repeat(count / 4)),
        (
            "references",
            format!("[x]: y\n\n{}", "[x] ".repeat(count / 4)),
        ),
        ("pictures", "![".repeat(count / 2)),
        ("backticks", "`a``b```c".repeat(count / 8)),
        (
            "a wide table",
            format!(
                "|{}\n|{}\n{}",
                "a|".repeat(2_000),
                "-|".repeat(2_000),
                "|x\n".repeat(2_000)
            ),
        ),
        (
            "a long table",
            format!("|a|\n|-|\n{}", "|x|\n".repeat(count / 4)),
        ),
        ("headings", "# a\n".repeat(count / 8)),
        ("tags", "<a ".repeat(count / 4)),
        ("entities", "&#x".repeat(count / 4)),
        ("one line", "a".repeat(count * 5)),
    ];
    for (name, text) in texts {
        let start = Instant::now();
        let document = render_document(&text);
        let elapsed = start.elapsed();
        assert!(elapsed < Duration::from_secs(10), "{name}: {elapsed:?}");
        for part in &document.parts {
            assert_eq!(check_html(&part.html), Ok(()), "{name}");
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_text_renders_only_own_tags(
        text in "([a-z \\n#>*_~`|\\-\\[\\]()!<>&;:\"'=./\\\\]|\\PC|<script>|onerror=|javascript:|\\]\\(|\\n\\n|&#x?[0-9a-f]{1,4};|<a href=|style=|\\|-\\|\\n|```){0,80}",
    ) {
        let html = render_to_string(&text);
        prop_assert_eq!(check_html(&html), Ok(()), "{}", html);
        for part in render_document(&text).parts {
            prop_assert_eq!(check_html(&part.html), Ok(()), "{}", part.html);
        }
    }
}
