//! Tests of the scanner against the parser: hand-written cases, random texts, hostile texts.

use proptest::prelude::*;

use super::*;

/// Returns the outline that the parser finds in the whole text.
fn reference_outline(text: &str) -> SectionOutline {
    let start = front_matter_end(text);
    let mut sections: Vec<_> = commonmark::parse_headings(&text[start..])
        .into_iter()
        .map(|(level, range)| {
            let heading = start + range.start..start + range.end;
            Section {
                level,
                title: heading_title::heading_title(&text[heading.clone()]),
                end: heading.end,
                heading,
            }
        })
        .collect();
    // Finds the ends with a simple loop, to check the fast algorithm.
    for index in 0..sections.len() {
        let level = sections[index].level;
        sections[index].end = sections[index + 1..]
            .iter()
            .find(|next| next.level <= level)
            .map_or(text.len(), |next| next.heading.start);
    }
    SectionOutline { sections }
}

/// Fragments that begin, end or disturb blocks. They are joined without a separator, so that lines form at
/// random.
const FRAGMENTS: &[&str] = &[
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    " ",
    "  ",
    "   ",
    "    ",
    "\t",
    "# a\n",
    "## b\n",
    "### `c` *d*\n",
    "#",
    "##",
    "###### six\n",
    "####### seven\n",
    "#e\n",
    "# \n",
    "#\n",
    "## f ##\n",
    "## g #h\n",
    "## i\\#\n",
    "#\tj\n",
    " # k\n",
    "   ## l\n",
    "    # m\n",
    "- ",
    "- # n\n",
    "1. ",
    "2) ",
    "> ",
    ">",
    "> # o\n",
    "* ",
    "+ ",
    "---\n",
    "---",
    "--\n",
    "-\n",
    "===\n",
    "=\n",
    "=",
    "***\n",
    "- - -\n",
    "----\n",
    "--- \t\n",
    "  ---\n",
    "   ===\n",
    "```\n",
    "``` rust\n",
    "```",
    "````\n",
    "~~~\n",
    "~~~~ x\n",
    "   ```\n",
    "    ```\n",
    "``` a`b\n",
    "``\n",
    "```\t\n",
    "```  \n",
    "<div>\n",
    "</div>\n",
    "<b>\n",
    "<script>\n",
    "</script>\n",
    "<!-- ",
    "-->\n",
    "<!-- c -->\n",
    "<?",
    "?>\n",
    "<![CDATA[",
    "]]>",
    "<a href='x'>",
    "<https://a.b>\n",
    "<pre>\n",
    "</pre>",
    "[a]: b\n",
    "[a]: b 'c\n",
    "d'\n",
    "[e",
    "]: /f\n",
    "[g]\n",
    "text\n",
    "text",
    "naïve 板\n",
    "\u{a0}",
    "&amp; ",
    "\\",
    "\\\n",
    "a  \n",
    "...\n",
    "key: v\n",
    "| a | b |\n",
    "|---|---|\n",
    "\x0b",
    "\x0c",
    "\0",
    "`",
    "*",
    "_",
    "!",
];

pub(crate) fn hostile_markdown() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(FRAGMENTS), 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn scanner_agrees_with_the_parser(text in hostile_markdown()) {
        prop_assert_eq!(parse_outline(&text), reference_outline(&text));
    }

    #[test]
    fn lone_carriage_returns_end_lines(text in hostile_markdown()) {
        let text = text.replace("\n\n", "\r");
        prop_assert_eq!(parse_outline(&text), reference_outline(&text));
    }
}

fn section_titles(text: &str) -> Vec<(u8, String)> {
    let outline = parse_outline(text);
    assert_eq!(outline, reference_outline(text), "{text:?}");
    outline
        .sections
        .into_iter()
        .map(|section| (section.level, section.title))
        .collect()
}

#[test]
fn headings_of_all_kinds_are_found() {
    let cases: &[(&str, &[(u8, &str)])] = &[
        ("", &[]),
        ("no heading\n", &[]),
        ("# a", &[(1, "a")]),
        ("# a\r\n## b\r\n", &[(1, "a"), (2, "b")]),
        ("#\n##\n# ", &[(1, ""), (2, ""), (1, "")]),
        ("#a\n#######  b\n", &[]),
        ("   # a\n    # b\n", &[(1, "a")]),
        ("#\ta\tb\n", &[(1, "a\tb")]),
        (
            "## a ##\n## b #c\n## d \\#\n## e#\n",
            &[(2, "a"), (2, "b #c"), (2, "d #"), (2, "e#")],
        ),
        ("# *a* `b` **c** &amp; [d](e) \\*\n", &[(1, "a b c & d *")]),
        ("# [a]\n\n[a]: /b\n", &[(1, "[a]")]),
        ("a\n===\nb\nc\n---\n", &[(1, "a"), (2, "b c")]),
        ("a\n\n---\nb\n", &[]),
        ("```\n# a\n```\n# b\n", &[(1, "b")]),
        ("~~~~\n# a\n~~~\n# b\n", &[]),
        ("``` a`b\n# c\n", &[(1, "c")]),
        ("> # a\n- # b\n1. # c\n", &[]),
        ("- a\n\n  # b\n\n# c\n", &[(1, "c")]),
        ("- a\n\n # b\n", &[(1, "b")]),
        ("<div>\n# a\n\n# b\n", &[(1, "b")]),
        ("<!--\n\n# a\n\n-->\n# b\n", &[(1, "b")]),
        ("<script>\n# a\n</script>\n# b\n", &[(1, "b")]),
        ("---\n# a\n---\n# b\n", &[(1, "b")]),
        ("---\nk: v\n...\n# b\n", &[(1, "b")]),
        ("---\n\n# a\n---\n# b\n", &[(1, "a"), (1, "b")]),
        ("---\n# a\n", &[(1, "a")]),
        ("\u{feff}# a\n", &[(1, "a")]),
        ("[a]: b\n---\n# c\n", &[(1, "c")]),
        ("[a]: b\nc\n---\n", &[(2, "c")]),
        (
            "## 关键决策记录\n内容\n## 里程碑　\n",
            &[(2, "关键决策记录"), (2, "里程碑")],
        ),
        ("---\u{b}\na\n---\n", &[(2, "--- a")]),
        ("a\r# b\rc\r---\r", &[(1, "b"), (2, "c")]),
    ];
    for (text, expected) in cases {
        let found = section_titles(text);
        let found: Vec<_> = found
            .iter()
            .map(|(level, title)| (*level, title.as_str()))
            .collect();
        assert_eq!(found, *expected, "{text:?}");
    }
}

#[test]
fn section_ranges_cover_whole_lines_and_subsections() {
    let text = "x\n\n  # a \r\n1\n### b\n2\n## c\n3\n\nd\ne\n---\n4\n# f";
    let parts: Vec<_> = parse_outline(text)
        .sections
        .iter()
        .map(|s| (&text[s.heading.clone()], &text[s.body_range()]))
        .collect();
    assert_eq!(
        parts,
        [
            ("  # a \r\n", "1\n### b\n2\n## c\n3\n\nd\ne\n---\n4\n"),
            ("### b\n", "2\n"),
            ("## c\n", "3\n\n"),
            ("d\ne\n---\n", "4\n"),
            ("# f", ""),
        ]
    );
}

#[test]
fn digest_depends_only_on_the_section() {
    let digest = |text: &str| section_digest(text, &parse_outline(text).sections[0]);
    assert_eq!(digest("## a\n1\n## b\n"), digest("x\n## a\n1\n## c\n2\n"));
    assert_ne!(digest("## a\n1\n"), digest("## a\n2\n"));
    assert_eq!(digest("# a"), "cc5ace17d39b98b5");
}

/// With a quadratic algorithm these would not finish.
#[test]
fn hostile_texts_are_scanned_in_linear_time() {
    const SIZE: usize = 1 << 19;
    let nested: String = (0..1000)
        .map(|depth| " ".repeat(2 * depth) + "- a\n")
        .collect();
    for unit in [
        "- ",
        "> ",
        ">",
        "a",
        "#",
        "# a\n",
        "a\n---\n",
        "---\n",
        "===\n",
        "<",
        "<\n",
        "<div>\n# a\n",
        "<b>\n\n# a\n",
        "`",
        "```\n",
        "``` `\n",
        "~~~\n# a\n",
        " # a\n",
        "- a\n",
        "- a\n  ```\n",
        "[",
        "[a]: ",
        "[a\n",
        "*",
        "_a ",
        "\r",
        "\r\n",
        "\n",
        "<!--",
        "<!--\n# a\n",
        "<?\n# a\n",
        "<a b='\n# a\n",
        "&",
        "\\",
        "![",
        "1. ",
        "> - ",
        &nested,
    ] {
        let text = unit.repeat(SIZE / unit.len());
        assert!(parse_outline(&text).sections.len() <= SIZE, "{unit:?}");
    }
    for (deep, lines) in [
        ("- ", "a\n"),
        ("> ", "a\n"),
        ("1. ", "\n\n  a"),
        ("> - ", ">\n"),
        ("- ", "\n---\n"),
    ] {
        let text = ["<b>\n\n", &deep.repeat(SIZE / 4), &lines.repeat(SIZE / 4)].concat();
        assert!(parse_outline(&text).sections.len() <= SIZE, "{deep:?}");
    }
}

#[test]
fn deep_nesting_is_limited_without_losing_headings() {
    let text = format!(
        "<b>\n\n{}a\n# b\n{}\n# c\n",
        "> ".repeat(1000),
        "- ".repeat(1000)
    );
    assert_eq!(
        section_titles(&text),
        [(1, "b".to_owned()), (1, "c".to_owned())]
    );
}
