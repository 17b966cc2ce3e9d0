//! Tests of section edits: their results, refusals, and what stays unchanged.

use proptest::prelude::*;

use super::*;
use crate::board::section::tests::hostile_markdown;

fn apply_edit(text: &str, title: &str, edit: SectionEdit<'_>) -> String {
    edit_section(text, title, None, edit).unwrap().apply(text)
}

fn refusal_code(text: &str, title: &str, edit: SectionEdit<'_>) -> RefusalCode {
    edit_section(text, title, None, edit).unwrap_err().code
}

use SectionEdit::{Append, Delete, Set};

#[test]
fn set_replaces_only_the_body() {
    let cases = [
        (
            "# t\n\n## a\nold\n### b\nold\n## c\nx\n",
            "new",
            "# t\n\n## a\n\nnew\n\n## c\nx\n",
        ),
        ("## a\n\nold\n", "new\n\n\n", "## a\n\nnew\n"),
        ("## a", "new", "## a\n\nnew\n"),
        (
            "x\r\n## a\r\nold\r\n## c",
            "new",
            "x\r\n## a\r\n\r\nnew\r\n\r\n## c",
        ),
        ("x\r\n## a", "1\n2", "x\r\n## a\r\n\r\n1\n2\r\n"),
        ("## a\nold\n## c\n", "", "## a\n\n## c\n"),
        ("## a\nold\n", "\n \n", "## a\n"),
        ("## a\nold\n", "## a\n\nnew", "## a\n\nnew\n"),
        ("## a ##\nold\n", "a\n---\nnew", "## a ##\n\nnew\n"),
        ("a\n---\nold\n", "new", "a\n---\n\nnew\n"),
        ("## a\nold\n", "\n    code\n", "## a\n\n    code\n"),
        (
            "## a\nold\n## b\n",
            "### deeper\nx",
            "## a\n\n### deeper\nx\n\n## b\n",
        ),
        ("## b\nx", "new", "## b\nx\n\n## a\n\nnew\n"),
        ("", "new", "## a\n\nnew\n"),
        ("x\n\n", "", "x\n\n## a\n"),
    ];
    for (text, content, expected) in cases {
        assert_eq!(apply_edit(text, "a", Set(content)), expected, "{text:?}");
    }
}

#[test]
fn append_adds_a_block_or_a_list_item() {
    let cases = [
        ("## a\n- 1\n\n## b\n", "- 2", "## a\n- 1\n- 2\n\n## b\n"),
        (
            "## a\n- 1\n  more\n",
            "- 2\n- 3\n",
            "## a\n- 1\n  more\n- 2\n- 3\n",
        ),
        ("## a\ntext\n## b\n", "- 2", "## a\ntext\n\n- 2\n\n## b\n"),
        ("## a\n1. x", "2. y", "## a\n1. x\n2. y\n"),
        ("## a\n- 1\n", "text", "## a\n- 1\n\ntext\n"),
        ("## a\n\n\n## b\n", "text", "## a\n\ntext\n\n## b\n"),
        ("## a\r\nx", "y", "## a\r\nx\r\n\r\ny\r\n"),
        ("## a\nx\n", "", "## a\nx\n"),
        ("## b\n", "- 1", "## b\n\n## a\n\n- 1\n"),
    ];
    for (text, content, expected) in cases {
        assert_eq!(apply_edit(text, "a", Append(content)), expected, "{text:?}");
    }
}

#[test]
fn delete_removes_heading_and_body() {
    assert_eq!(
        apply_edit("# t\n\n## a\nx\n### b\n## c\n", "a", Delete),
        "# t\n\n## c\n"
    );
    assert_eq!(
        apply_edit("x\n## a\ny\n\nc\n---\n", "a", Delete),
        "x\n\nc\n---\n"
    );
    assert_eq!(
        refusal_code("## b\n", "a", Delete),
        RefusalCode::SECTION_NOT_FOUND
    );
    assert_eq!(
        refusal_code("- x\n\n## a\n\n  # b\n", "a", Delete),
        RefusalCode::INVALID_SECTION
    );
}

#[test]
fn content_that_breaks_out_of_its_section_is_refused() {
    for content in [
        "## b",
        "# b",
        "b\n---",
        "b\n===",
        "```\nopen",
        "<!-- open",
        "<script>",
        "~~~",
        "<pre>\n",
    ] {
        for text in ["## a\n", "## a\nx\n## c\n", "## c\n"] {
            for edit in [Set(content), Append(content)] {
                assert_eq!(
                    refusal_code(text, "a", edit),
                    RefusalCode::INVALID_SECTION,
                    "{text:?} {edit:?}"
                );
            }
        }
    }
    // The open fence before it would contain any added text.
    assert_eq!(
        refusal_code("## b\n```\n", "a", Set("x")),
        RefusalCode::INVALID_SECTION
    );
    assert_eq!(
        refusal_code("## a\n```\n", "a", Append("x")),
        RefusalCode::INVALID_SECTION
    );
    assert_eq!(apply_edit("## a\n```\n", "a", Set("x")), "## a\n\nx\n");
    // A second rule would turn all text before it into front matter.
    assert_eq!(
        refusal_code("---\nx\n## b\n## a\n", "a", Set("---")),
        RefusalCode::INVALID_SECTION
    );
    assert_eq!(apply_edit("x\n## a\n", "a", Set("---")), "x\n## a\n\n---\n");
}

#[test]
fn titles_that_do_not_round_trip_are_refused() {
    for title in [
        "", " ", "##", "a\nb", "a\rb", "*a*", "a #", "`a`", "<b>x", "&amp;",
    ] {
        assert_eq!(
            refusal_code("x\n", title, Set("y")),
            RefusalCode::INVALID_SECTION,
            "{title:?}"
        );
    }
    assert_eq!(apply_edit("", "### 板 a_b", Set("")), "## 板 a_b\n");
}

#[test]
fn sections_are_found_by_lenient_titles() {
    let text = "# 里程碑\n## Goals\n### x\n## y\n### x\n# z\n## z\n### z\n## *m* `n`\n";
    let outline = parse_outline(text);
    let start = |title: &str, nth| {
        find_section(text, &outline, title, nth)
            .map(|section| text[..section.heading.start].lines().count() + 1)
    };
    assert_eq!(start("Milestones", None).unwrap(), 1);
    assert_eq!(start("核心目标", None).unwrap(), 2);
    assert_eq!(start(" ## Goals ", None).unwrap(), 2);
    assert_eq!(start("z", None).unwrap(), 7);
    assert_eq!(start("z", Some(3)).unwrap(), 8);
    assert_eq!(start("*m* `n`", None).unwrap(), 9);
    assert_eq!(start("m n", None).unwrap(), 9);
    let several = start("x", None).unwrap_err();
    assert_eq!(several.code, RefusalCode::AMBIGUOUS_SECTION);
    assert_eq!(
        several.reason.to_string(),
        "section-ambiguous (count: 2, title: \"x\", lines: 3, 5)"
    );
    assert_eq!(start("x", Some(2)).unwrap(), 5);
    assert_eq!(
        start("x", Some(0)).unwrap_err().code,
        RefusalCode::SECTION_NOT_FOUND
    );
    assert_eq!(
        start("x", Some(3)).unwrap_err().code,
        RefusalCode::SECTION_NOT_FOUND
    );
    let none = start("q", None).unwrap_err();
    assert_eq!(none.code, RefusalCode::SECTION_NOT_FOUND);
    assert!(
        none.reason.to_string().contains("\"里程碑\", \"Goals\""),
        "{}",
        none.reason
    );
    assert_eq!(
        refusal_code(text, "q", Delete),
        RefusalCode::SECTION_NOT_FOUND
    );
    assert!(edit_section(text, "q", Some(1), Set("a")).is_err());
}

/// Returns the headings without their positions and ends.
fn section_headings<'t>(text: &'t str, sections: &'t [Section]) -> Vec<(u8, &'t str, &'t str)> {
    sections
        .iter()
        .map(|s| {
            (
                s.level,
                s.title.as_str(),
                text[s.heading.clone()].trim_end(),
            )
        })
        .collect()
}

/// Texts with sections, and the index of one of them.
fn text_with_section_index() -> impl Strategy<Value = (String, usize)> {
    (
        hostile_markdown(),
        hostile_markdown(),
        hostile_markdown(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(a, b, c, index)| {
            let text = format!("{a}\n\n## one\n{b}\n# two\n{c}");
            let index = index.index(parse_outline(&text).sections.len().max(1));
            (text, index)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, ..ProptestConfig::default() })]

    #[test]
    fn edit_changes_only_its_section((text, index) in text_with_section_index(), content in hostile_markdown(), kind in 0..3) {
        let old = parse_outline(&text);
        let Some(section) = old.sections.get(index).filter(|s| !s.title.is_empty()) else { return Ok(()) };
        let nth = 1 + old.sections[..index].iter().filter(|s| s.title == section.title).count();
        let edit = match kind { 0 => Set(&content), 1 => Append(&content), _ => Delete };
        // Refused for reasons that the tests above show.
        let Ok(splice) = edit_section(&text, &section.title, Some(nth), edit) else { return Ok(()) };
        let new_text = splice.apply(&text);
        let new = parse_outline(&new_text);
        let inner = |s: &&Section| s.heading.start > section.heading.start && s.heading.start < section.end;
        let behind: Vec<_> = old.sections.iter().filter(|s| s.heading.start >= section.end).cloned().collect();
        // The surrounding text is byte for byte the same.
        prop_assert!(new_text.starts_with(&text[..section.heading.start]));
        prop_assert!(new_text.ends_with(&text[section.end..]));
        prop_assert_eq!(section_headings(&new_text, &new.sections[..index]), section_headings(&text, &old.sections[..index]));
        let tail = new.sections.len() - behind.len();
        prop_assert_eq!(section_headings(&new_text, &new.sections[tail..]), section_headings(&text, &behind));
        if kind == 2 {
            prop_assert_eq!(tail, index);
            return Ok(());
        }
        prop_assert_eq!(section_headings(&new_text, &new.sections[index..=index]), section_headings(&text, &old.sections[index..=index]));
        prop_assert!(new.sections[index + 1..tail].iter().all(|s| s.level > section.level));
        let body = trim_blank_lines(&new_text[new.sections[index].body_range()]);
        if kind == 1 {
            prop_assert!(body.ends_with(trim_blank_lines(&content)));
            prop_assert!(new.sections[index + 1..tail].len() >= old.sections.iter().filter(inner).count());
        } else {
            prop_assert!(body == trim_blank_lines(&content) || parse_outline(&content).sections[0].title == section.title);
            let again = edit_section(&new_text, &section.title, Some(nth), edit).unwrap();
            prop_assert!(again.is_empty(), "{:?}", again);
        }
    }

    #[test]
    fn new_section_is_found_and_other_text_is_unchanged(text in hostile_markdown(), content in hostile_markdown(), set in any::<bool>()) {
        let edit = if set { Set(&content) } else { Append(&content) };
        let Ok(splice) = edit_section(&text, "New one", None, edit) else { return Ok(()) };
        let new_text = splice.apply(&text);
        prop_assert!(new_text.starts_with(&text));
        let (old, new) = (parse_outline(&text), parse_outline(&new_text));
        let count = old.sections.len();
        prop_assert_eq!(section_headings(&new_text, &new.sections[..count]), section_headings(&text, &old.sections));
        let section = find_section(&new_text, &new, "New one", None).unwrap();
        prop_assert_eq!(section, &new.sections[count]);
        prop_assert_eq!((section.level, section.end), (2, new_text.len()));
        prop_assert_eq!(trim_blank_lines(&new_text[section.body_range()]), trim_blank_lines(&content));
        if set {
            prop_assert!(edit_section(&new_text, "New one", None, edit).unwrap().is_empty());
        }
    }
}

#[test]
fn title_that_looks_like_a_heading_is_literal() {
    let text = "# # k\n\n# two\n";
    let refused = edit_section(text, "# k", None, Set(" # k\n"));
    assert_eq!(refused.unwrap_err().code, RefusalCode::INVALID_SECTION);
    let splice = edit_section(text, "# k", None, Set("# # k\nwords\n")).unwrap();
    assert_eq!(splice.apply(text), "# # k\n\nwords\n\n# two\n");
}
