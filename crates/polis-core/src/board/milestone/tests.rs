//! Tests of milestones: parsing, adding and completing.

use proptest::prelude::*;

use super::*;

fn found(text: &str) -> Vec<(String, String, bool)> {
    milestones(text)
        .into_iter()
        .map(|m| (m.title, m.description, m.done))
        .collect()
}

fn one(title: &str, description: &str, done: bool) -> (String, String, bool) {
    (title.to_owned(), description.to_owned(), done)
}

#[test]
fn the_template_list_is_read() {
    let text = "## 里程碑\n- [ ] 里程碑1: 设计\n- [ ] 里程碑2：{description}\n\
                - [x] 里程碑3: 上线 (已完成)\n\n## 其他\n- [ ] not: one\n";
    assert_eq!(
        found(text),
        [one("里程碑1", "设计", false), one("里程碑3", "上线", true)]
    );
}

#[test]
fn lists_come_in_many_ways() {
    let text = "### milestones\n* [X] **A**: x（完成）\n  + [ ] **B:** y: z\n1. [ ] C\n\n\
                ```\n- [ ] code: no\n```\n- [ ] {title}\n- plain: no\n- [x] D (done)\n";
    assert_eq!(
        found(text),
        [
            one("A", "x", true),
            one("B", "y: z", false),
            one("C", "", false),
            one("D", "", true)
        ]
    );
}

#[test]
fn a_milestone_is_added_below_the_last_and_ticked_alone() {
    let text = "## 里程碑\n- [ ] a: b\n  more of it\n\n## 团队结构\n";
    let text = add(text, "c", "d", Language::Zh).unwrap().apply(text);
    assert_eq!(
        text,
        "## 里程碑\n- [ ] a: b\n  more of it\n- [ ] c: d\n\n## 团队结构\n"
    );
    let text = set_done(&text, "a").unwrap().apply(&text);
    assert_eq!(
        text,
        "## 里程碑\n- [x] a: b (已完成)\n  more of it\n- [ ] c: d\n\n## 团队结构\n"
    );
    assert_eq!(set_done(&text, "a"), Ok(Splice::default()));
    let refusal = set_done(&text, "z").unwrap_err();
    assert_eq!(refusal.code, Code::MilestoneNotFound);
    let refusal = add(&text, " a", "", Language::Zh).unwrap_err();
    assert_eq!(refusal.code, Code::MilestoneExists);
    for bad in ["", " ", "a\nb", "a: b", "a：b"] {
        assert!(add(&text, bad, "", Language::Zh).is_err(), "{bad:?}");
    }
}

#[test]
fn the_first_one_takes_the_remarks_place_or_makes_the_section() {
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
        let splice = add(before, "m", "", Language::En).unwrap();
        assert_eq!(splice.apply(before), after);
    }
}

fn board() -> impl Strategy<Value = String> {
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
    fn what_is_added_is_there_and_the_rest_is_as_it_was(
        text in board(),
        title in "[#*\\[\\](){}&,;x2C中 -]{0,8}[(（](done|已完成|x)[)）]|\\*\\*[a-z]\\*\\*|\\{x\\}|\\PC{1,12}",
        description in "|\\PC{1,12}|\\{x\\}|y \\(done\\)",
    ) {
        let Ok(splice) = add(&text, &title, &description, Language::Zh) else {
            return Ok(());
        };
        let changed = splice.apply(&text);
        let wanted = Milestone {
            title: title.trim().to_owned(),
            description: description.trim().to_owned(),
            done: false,
        };
        prop_assert!(milestones(&changed).contains(&wanted), "{changed:?}");
        prop_assert!(changed.starts_with(&text[..splice.start]));
        prop_assert!(changed.ends_with(&text[splice.start + splice.removed..]));
        let removed = &text[splice.start..splice.start + splice.removed];
        prop_assert!(removed.is_empty() || removed.trim() == "（暂无）", "{removed:?}");

        let done = set_done(&changed, &wanted.title).unwrap().apply(&changed);
        let mut expected = milestones(&changed);
        let at = expected.iter().position(|m| *m == wanted).unwrap();
        expected[at].done = true;
        prop_assert_eq!(milestones(&done), expected);
    }

    #[test]
    fn reading_never_fails(text in "(\\PC|\n|\r|- \\[ \\] |## 里程碑\n){0,40}") {
        let _ = milestones(&text);
    }
}
