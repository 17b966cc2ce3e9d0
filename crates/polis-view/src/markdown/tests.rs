//! Tests of the Markdown renderer: exact output, hostile input, and properties that hold for any input.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr as _;

use super::*;

fn render_plain(markdown: &str, width: usize) -> String {
    let options = RenderOptions {
        width,
        colour: false,
    };
    render_markdown(markdown, &options).to_ansi_text(options.colour)
}

fn render_coloured(markdown: &str, width: usize) -> String {
    let options = RenderOptions {
        width,
        colour: true,
    };
    render_markdown(markdown, &options).to_ansi_text(options.colour)
}

#[track_caller]
fn check_rendering(cases: &[(&str, &str)]) {
    for (markdown, page) in cases {
        assert_eq!(render_plain(markdown, 24), *page, "{markdown}");
    }
}

#[test]
fn headings_and_paragraphs() {
    check_rendering(&[
        ("", ""),
        ("\n\n", ""),
        ("# 全局白板\ntext", "全局白板\n════════\n\ntext\n"),
        ("# \ntext", "text\n"),
        (
            "## 目标\n### a\n#### b\ntext",
            "## 目标\n### a\n#### b\ntext\n",
        ),
        (
            "## a heading of two lines\n",
            "## a heading of two\n   lines\n",
        ),
        ("##\ntext", "##\ntext\n"),
        ("one\ntwo\n\nthree  \nfour", "one two\n\nthree\nfour\n"),
        ("one\\\ntwo", "one\ntwo\n"),
        ("一\n二，\nthree\n四", "一二，three 四\n"),
        ("a\n\n---\n\nb", "a\n\n────────────────────────\n\nb\n"),
    ]);
}

#[test]
fn inline_elements() {
    check_rendering(&[
        ("**b** *i* `c  d` a&amp;b", "b i `c  d` a&b\n"),
        ("~~old~~ new", "~~old~~ new\n"),
        ("[a](http://b)", "a (http://b)\n"),
        ("<http://b> [http://b](http://b)", "http://b http://b\n"),
        ("<a@b.cn> [a@b.cn](mailto:a@b.cn)", "a@b.cn a@b.cn\n"),
        ("[a]() [b][c]\n\n[c]: /d", "a b (/d)\n"),
        ("![alt](b.png) ![](c)", "[image: alt] [image]\n"),
        ("[![alt](b.png)](/c)", "[image: alt] (/c)\n"),
        ("a <b>c</b>", "a <b>c</b>\n"),
        ("<!-- a\n  b -->\n\nc", "<!-- a\nb -->\n\nc\n"),
        ("a[^1]", "a[^1]\n"),
    ]);
}

#[test]
fn list_items_have_hanging_indent() {
    check_rendering(&[
        ("- a\n- b\n\ntext", "- a\n- b\n\ntext\n"),
        ("text\n- a", "text\n\n- a\n"),
        (
            "- an item that takes two lines\n  - another one of two lines",
            "- an item that takes two\n  lines\n  - another one of two\n    lines\n",
        ),
        (
            "9. nine\n10. ten and what follows it\n    - nested\n",
            "9. nine\n10. ten and what follows\n    it\n    - nested\n",
        ),
        ("- a\n\n- b\n\n  c\n", "- a\n\n- b\n\n  c\n"),
        ("- a\n  - b\n- c\n", "- a\n  - b\n- c\n"),
        ("- - a\n- \n- > b\n", "- - a\n-\n- │ b\n"),
        ("- a\n\n1. b\n", "- a\n\n1. b\n"),
        ("- a\n  ```\n  b\n  ```\n- c\n", "- a\n      b\n- c\n"),
        ("- # a\n  b\n", "- a\n  ═\n  b\n"),
        (
            "- [ ] open\n- [x] done，但是这一行比较长\n- other\n",
            "☐ open\n✓ done，但是这一行比较长\n- other\n",
        ),
        ("- [x] a\n\n- [ ] b\n", "✓ a\n\n☐ b\n"),
        ("1. [x] a\n2. [ ] b\n", "1. ✓ a\n2. ☐ b\n"),
    ]);
}

#[test]
fn deep_lists_stay_within_page_width() {
    let markdown: String = (0..9)
        .map(|n| format!("{}- {n}\n", "  ".repeat(n)))
        .collect();
    assert_eq!(
        render_plain(&markdown, 20),
        "- 0\n  - 1\n    - 2\n      - 3\n      - 4\n      - 5\n      - 6\n      - 7\n      - 8\n"
    );
    assert_eq!(
        render_plain("999999999. a number\n", 20),
        "999999999. a number\n"
    );
}

#[test]
fn quotes_are_prefixed_with_bars() {
    check_rendering(&[
        ("a\n> b\n> c\n\nd", "a\n\n│ b c\n\nd\n"),
        (
            "> 这是一条需要两行才能写完的决策\n>\n> - a\n",
            "│ 这是一条需要两行才能写\n│ 完的决策\n│\n│ - a\n",
        ),
        ("> a\n> > b\n> > > c\n", "│ a\n│\n│ │ b\n│ │\n│ │ │ c\n"),
        (
            "- a\n  > b\n  > ```\n  > c\n  > ```\n",
            "- a\n  │ b\n  │\n  │     c\n",
        ),
        (">\n\na\n", "a\n"),
        ("a\n\n>\n", "a\n"),
    ]);
}

#[test]
fn code_is_unchanged() {
    let long = "x ".repeat(40);
    let markdown = format!("a\n```sh\n{long}\n\n\ty  \n```\nb\n");
    let page = format!("a\n\n    {long}\n\n    \ty  \n\nb\n");
    assert_eq!(render_plain(&markdown, 24), page);
    assert_eq!(render_plain("    a\r\n      b\r\n", 24), "    a\n      b\n");
}

#[test]
fn front_matter_is_recognised_only_at_start() {
    check_rendering(&[
        ("---\nv: 1\n---\n# a\n", "---\nv: 1\n---\n\na\n═\n"),
        ("\u{feff}---\r\nv: 1\r\n---\r\n", "---\nv: 1\n---\n"),
        ("---\n\nv: 1\n", "────────────────────────\n\nv: 1\n"),
        ("---\nv: 1\n", "────────────────────────\n\nv: 1\n"),
    ]);
}

#[test]
fn table_columns_are_aligned() {
    check_rendering(&[
        (
            "| 名称 | n |\n|---|--:|\n| a | 1 |\n| 后端 | 200 |\n",
            "名称 │   n\n─────┼────\na    │   1\n后端 │ 200\n",
        ),
        (
            "| a | 中间 |\n|---|:-:|\n| `b` | c |\n| | x\n",
            "a   │ 中间\n────┼─────\n`b` │  c\n    │  x\n",
        ),
        ("|a|\n|-|\n", "a\n"),
        ("- |a|\n  |-|\n  |b|\n", "- a\n  ─\n  b\n"),
    ]);
}

#[test]
fn wide_tables_are_narrowed() {
    assert_eq!(
        render_plain(
            "| 角色 | 说明 |\n|---|---|\n| 前端 | 正在实现支付网关，等待批准 |\n| b | https://example.com/a |\n",
            24
        ),
        "角色 │ 说明\n\
         ─────┼──────────────────\n\
         前端 │ 正在实现支付网\n     │ 关，等待批准\n\
         ─────┼──────────────────\n\
         b    │ https://example.c\n     │ om/a\n"
    );
}

#[test]
fn tables_with_too_many_columns_become_records() {
    assert_eq!(
        render_plain(
            "| 角色 | status | 说明 |\n|---|---|---|\n| frontend-leader | finished | 正在实现支付网关 |\n| b | | 无 |\n",
            24
        ),
        "- 角色: frontend-leader\n  status: finished\n  说明: 正在实现支付网关\n- 角色: b\n  说明: 无\n"
    );
    let heads = "|head".repeat(20);
    assert_eq!(
        render_plain(&format!("{heads}\n{}\n", "|-".repeat(20)), 24)
            .lines()
            .next(),
        Some("head │ head │ head │")
    );
}

#[test]
fn colours_are_reset_at_line_end() {
    assert_eq!(
        render_coloured("# t\n## **h**\n*a **b*** ~~c~~ `d` [e](/f)\n", 24),
        "\x1b[1mt\x1b[0m\n\x1b[1m═\x1b[0m\n\n\
         \x1b[1;36m##\x1b[0m \x1b[1;36mh\x1b[0m\n\
         \x1b[3ma \x1b[0m\x1b[1;3mb\x1b[0m \x1b[9mc\x1b[0m \x1b[33m`d`\x1b[0m \
         \x1b[4me\x1b[0m\x1b[2m (/f)\x1b[0m\n"
    );
    assert_eq!(
        render_coloured("> - [x] **一二三四五六七八九十**\n> - [ ] a\n", 20),
        "\x1b[2m│\x1b[0m \x1b[32m✓\x1b[0m \x1b[1m一二三四五六七八\x1b[0m\n\
         \x1b[2m│\x1b[0m   \x1b[1m九十\x1b[0m\n\
         \x1b[2m│\x1b[0m \x1b[2m☐\x1b[0m a\n"
    );
    assert_eq!(
        render_coloured("```\na\nb\n```\n<p>\n", 20),
        "    \x1b[2ma\x1b[0m\n    \x1b[2mb\x1b[0m\n\n\x1b[2m<p>\x1b[0m\n"
    );
}

#[test]
fn control_characters_are_replaced() {
    let raw = "\x1b[2J \u{9b}1m \u{202e}x \u{2066} \x07";
    let encoded = "&#27;[2J &#x9b;1m &#x202e;x &#x2066; &#7;";
    for text in [raw, encoded] {
        for markdown in [
            text.to_owned(),
            format!("# {text}\n"),
            format!("[{text}]({text})\n"),
            format!("[a](<b{text}>)\n"),
            format!("`{text}`\n\n```\n{text}\n```\n"),
            format!("<p>{text}\n\n<i {text}>\n"),
            format!("|{text}|\n|-|\n|{text}|\n"),
            format!("---\n{text}\n---\n"),
            format!("![{text}](a)\n"),
        ] {
            let page = render_plain(&markdown, 60);
            assert!(!page.contains(is_terminal_control), "{page:?}");
        }
    }
    assert_eq!(render_plain("a\x1b[2Jb &#27;", 24), "a�[2Jb �\n");
}

fn is_terminal_control(c: char) -> bool {
    c.is_control() && c != '\n' || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks that a large page renders in linear time (quadratic time would take minutes instead of half a
/// second) and without recursion, which would overflow the small stack.
#[track_caller]
fn check_renders_in_linear_time(name: &'static str, markdown: String) {
    let run = move || {
        let size = markdown.len();
        let started = Instant::now();
        let page = render_plain(&markdown, 80);
        let elapsed = started.elapsed();
        assert!(elapsed < Duration::from_secs(30), "{name}: {elapsed:?}");
        assert!(page.len() <= 100 * size, "{name}: {} bytes", page.len());
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run);
    thread.unwrap().join().unwrap();
}

#[test]
fn hostile_boards_render_in_linear_time() {
    const SIZE: usize = 500_000;
    let half = SIZE / 2;
    check_renders_in_linear_time("quotes", ">".repeat(SIZE));
    check_renders_in_linear_time("lists", "- ".repeat(half) + "a");
    check_renders_in_linear_time("mixed", "> 1. ".repeat(SIZE / 5) + "a");
    check_renders_in_linear_time(
        "a deep list, then empty code",
        "- ".repeat(half / 2) + "```\n" + &"\n".repeat(half),
    );
    check_renders_in_linear_time(
        "a deep list, then lines",
        "- ".repeat(half / 2) + "a\n" + &"b\n".repeat(half / 2),
    );
    check_renders_in_linear_time(
        "deep quotes, then lines",
        ">".repeat(half) + "a\n" + &"b\n".repeat(half / 2),
    );
    let stairs = (0..1_000).map(|n| format!("{}- a\n", "  ".repeat(n)));
    check_renders_in_linear_time("stairs", stairs.collect::<String>() + &"\n".repeat(half));
    check_renders_in_linear_time("one word", "a".repeat(SIZE));
    check_renders_in_linear_time("one Chinese line", "长".repeat(SIZE / 3));
    check_renders_in_linear_time("one line of marks", "，".repeat(SIZE / 3));
    check_renders_in_linear_time(
        "one line of blanks",
        "a".to_owned() + &" ".repeat(SIZE) + "b",
    );
    check_renders_in_linear_time(
        "one line of accents",
        "a".to_owned() + &"\u{301}".repeat(half),
    );
    check_renders_in_linear_time("emphasis", "*a **b ".repeat(SIZE / 7));
    check_renders_in_linear_time("images", "![".repeat(half / 2) + &"](a)".repeat(half / 4));
    check_renders_in_linear_time("brackets", "[".repeat(half) + &"]".repeat(half));
    check_renders_in_linear_time("links", "[a]: /b\n\n".to_owned() + &"[a] ".repeat(SIZE / 4));
    check_renders_in_linear_time("rules", "***\n".repeat(SIZE / 4));
}

#[test]
fn hostile_tables_render_in_linear_time() {
    const SIZE: usize = 500_000;
    let half = SIZE / 2;
    let head = "|a|b|\n|-|-|\n".to_owned();
    check_renders_in_linear_time("rows", head.clone() + &"|a|b|\n".repeat(SIZE / 6));
    check_renders_in_linear_time(
        "columns",
        "|a".repeat(half / 2) + "\n" + &"|-".repeat(half / 2),
    );
    let square = "|a".repeat(1_000) + "\n" + &"|-".repeat(1_000) + "\n";
    check_renders_in_linear_time("empty cells", square + &"|b\n".repeat(SIZE / 3));
    check_renders_in_linear_time(
        "a long cell",
        head.clone() + "|" + &"长".repeat(SIZE / 3) + "|b|\n",
    );
    check_renders_in_linear_time(
        "a long word in a cell",
        head + "|a|" + &"b".repeat(SIZE) + "|\n",
    );
    let long_head = format!("|{}|b|\n|-|-|\n", "a".repeat(half));
    check_renders_in_linear_time("a long head", long_head + &"|a|b|\n".repeat(half / 6));
}

/// Generates lines of Markdown without code and front matter, in which no word and no cell is wider than the
/// narrowest available room.
fn tame_markdown() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a",
        "words",
        "`code`",
        "**bold**",
        "*斜体*",
        "[链接](/u)",
        "<b>",
        "![图](x)",
        "❤\u{fe0f}",
        "支付系统（旧）迁移，要求“零停机”。",
        "数据不丢失、完成！",
        "~~旧~~",
        "https://b",
        "e\u{301}",
    ]);
    let line = prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "));
    let marks = vec![
        "- ", "> ", "1. ", "10) ", "- [x] ", "  ", "# ", "## ", "", "", "",
    ];
    let marks = prop::collection::vec(prop::sample::select(marks), 0..5);
    let block = prop_oneof![
        6 => (marks, line.clone()).prop_map(|(marks, line)| marks.concat().replace("   ", "") + &line),
        1 => Just(String::new()),
        1 => Just("---".to_owned()),
        1 => (line.clone(), line).prop_map(|(a, b)| format!("\n| h | {a} |\n|:-:|--:|\n| {b} | {a} |\n")),
    ];
    prop::collection::vec(block, 0..30).prop_map(|blocks| "\n".to_owned() + &blocks.join("\n"))
}

/// Generates arbitrary text, rich in Markdown syntax.
fn wild_markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n", "\n\n", " ", "    ", "\t", "- ", "> ", "1. ", "# ", "```\n", "|", "|-|-|\n", "*",
            "**", "`", "[", "](", ")", "<", ">", "![", "&#27;", "\x1b[31m", "\u{202e}", "\r", "---\n",
            "[x] ", "词", "，", "\\", "<p>", "===", "\u{85}",
        ]).prop_map(str::to_owned),
        1 => "[a-z]{1,30}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_wider_than_the_page(markdown in tame_markdown(), width in 20_usize..100) {
        for line in render_plain(&markdown, width).lines() {
            prop_assert!(line.width() <= width, "{line:?} is {} wide", line.width());
        }
    }

    #[test]
    fn plain_page_has_no_control_characters(markdown in wild_markdown(), width in 0_usize..100) {
        let page = render_plain(&markdown, width).replace('\t', " ");
        prop_assert!(!page.contains(is_terminal_control), "{page:?}");
    }

    #[test]
    fn colours_do_not_change_the_text(markdown in wild_markdown(), width in 20_usize..100) {
        // Without colours, struck-out text has marks.
        let markdown = markdown.replace('~', "");
        let page = render_coloured(&markdown, width);
        let mut bare = String::new();
        for line in page.split_inclusive('\n') {
            let mut styled = false;
            let mut pieces = line.split('\x1b');
            bare.push_str(pieces.next().unwrap());
            for piece in pieces {
                let (code, text) = piece.split_once('m').unwrap();
                styled = code != "[0";
                bare.push_str(text);
            }
            prop_assert!(!styled, "{line:?}");
        }
        prop_assert_eq!(bare, render_plain(&markdown, width));
    }
}
