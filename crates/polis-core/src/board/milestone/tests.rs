//! Tests of milestones: parsing, adding and completing.

use proptest::prelude::*;

use super::*;
use crate::RefusalCode;

fn parsed_tuples(text: &str) -> Vec<(String, String, bool)> {
    parse_milestones(text)
        .into_iter()
        .map(|m| (m.title, m.description, m.done))
        .collect()
}

fn expected_tuple(title: &str, description: &str, done: bool) -> (String, String, bool) {
    (title.to_owned(), description.to_owned(), done)
}

#[test]
fn template_list_is_parsed() {
    let text = "## 里程碑\n- [ ] 里程碑1: 设计\n- [ ] 里程碑2：{description}\n\
                - [x] 里程碑3: 上线 (已完成)\n\n## 其他\n- [ ] not: one\n";
    assert_eq!(
        parsed_tuples(text),
        [
            expected_tuple("里程碑1", "设计", false),
            expected_tuple("里程碑3", "上线", true)
        ]
    );
}

#[test]
fn list_variants_are_parsed() {
    let text = "### milestones\n* [X] **A**: x（完成）\n  + [ ] **B:** y: z\n1. [ ] C\n\n\
                ```\n- [ ] code: no\n```\n- [ ] {title}\n- plain: no\n- [x] D (done)\n";
    assert_eq!(
        parsed_tuples(text),
        [
            expected_tuple("A", "x", true),
            expected_tuple("B", "y: z", false),
            expected_tuple("C", "", false),
            expected_tuple("D", "", true)
        ]
    );
}

#[test]
fn milestone_is_added_after_the_last_and_completed_alone() {
    let text = "## 里程碑\n- [ ] a: b\n  more of it\n\n## 团队结构\n";
    let text = add_milestone(text, "c", "d", ContentLanguage::Zh)
        .unwrap()
        .apply(text);
    assert_eq!(
        text,
        "## 里程碑\n- [ ] a: b\n  more of it\n- [ ] c: d\n\n## 团队结构\n"
    );
    let text = complete_milestone(&text, "a").unwrap().apply(&text);
    assert_eq!(
        text,
        "## 里程碑\n- [x] a: b (已完成)\n  more of it\n- [ ] c: d\n\n## 团队结构\n"
    );
    assert_eq!(complete_milestone(&text, "a"), Ok(TextSplice::default()));
    let refusal = complete_milestone(&text, "z").unwrap_err();
    assert_eq!(refusal.code, RefusalCode::MILESTONE_NOT_FOUND);
    let refusal = add_milestone(&text, " a", "", ContentLanguage::Zh).unwrap_err();
    assert_eq!(refusal.code, RefusalCode::MILESTONE_EXISTS);
    for bad in ["", " ", "a\nb", "a: b", "a：b"] {
        assert!(
            add_milestone(&text, bad, "", ContentLanguage::Zh).is_err(),
            "{bad:?}"
        );
    }
}

#[test]
fn first_milestone_replaces_placeholder_or_creates_section() {
    for (before, after) in [
        (
            "## Milestones\n(none yet)\n\n## Team\n",
            "## Milestones\n- [ ] m\n\n## Team\n",
        ),
        ("# Board", "# Board\n\n## Milestones\n- [ ] m\n"),
        ("", "## Milestones\n- [ ] m\n"),
        (
            "## Milestones\nSoon.\n### Old\n",
            "## Milestones\nSoon.\n\n- [ ] m\n\n### Old\n",
        ),
        (
            "## Milestones\n<!-- open\n",
            "## Milestones\n- [ ] m\n\n<!-- open\n",
        ),
        ("```\nopen\n", "## Milestones\n- [ ] m\n\n```\nopen\n"),
    ] {
        let splice = add_milestone(before, "m", "", ContentLanguage::En).unwrap();
        assert_eq!(splice.apply(before), after);
    }
}

fn any_board() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("## 里程碑"),
        Just("## Milestones"),
        Just("### deeper"),
        Just("- [ ] a: b"),
        Just("* [x] c: d (已完成)"),
        Just("  - [ ] nested"),
        Just("> - [ ] quoted"),
        Just("```"),
        Just("<!--"),
        Just("（暂无）"),
        Just("text"),
        Just("---"),
        Just(""),
        Just("    code"),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    (prop::collection::vec(line, 0..12), end).prop_map(|(lines, end)| lines.join(end))
}

proptest! {
    #[test]
    fn added_milestone_is_parsed_and_other_text_is_unchanged(
        text in any_board(),
        title in "[#*\\[\\](){}&,;x2C中 -]{0,8}[(（](done|已完成|x)[)）]|\\*\\*[a-z]\\*\\*|\\{x\\}|\\PC{1,12}",
        description in "|\\PC{1,12}|\\{x\\}|y \\(done\\)",
    ) {
        let Ok(splice) = add_milestone(&text, &title, &description, ContentLanguage::Zh) else {
            return Ok(());
        };
        let changed = splice.apply(&text);
        let added = Milestone {
            title: title.trim().to_owned(),
            description: description.trim().to_owned(),
            done: false,
        };
        prop_assert!(parse_milestones(&changed).contains(&added), "{changed:?}");
        prop_assert!(changed.starts_with(&text[..splice.start]));
        prop_assert!(changed.ends_with(&text[splice.start + splice.removed..]));
        let removed = &text[splice.start..splice.start + splice.removed];
        prop_assert!(removed.is_empty() || removed.trim() == "（暂无）", "{removed:?}");

        let done = complete_milestone(&changed, &added.title).unwrap().apply(&changed);
        let mut expected = parse_milestones(&changed);
        let at = expected.iter().position(|m| *m == added).unwrap();
        expected[at].done = true;
        prop_assert_eq!(parse_milestones(&done), expected);
    }

    #[test]
    fn parsing_arbitrary_text_never_panics(text in "(\\PC|\n|\r|- \\[ \\] |## 里程碑\n){0,40}") {
        let _ = parse_milestones(&text);
    }
}
