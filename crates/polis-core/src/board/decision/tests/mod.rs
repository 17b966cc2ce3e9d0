//! Tests of decision records: parsing, rendering, editing and voting.

mod voting;

use proptest::prelude::*;

use super::*;
use crate::board::milestone::{add_milestone, parse_milestones};
use crate::board::template_text::ContentLanguage;
use crate::board::{TemplateBoard, TemplateValues, render_template};
use crate::refusal::RefusalCode;
use crate::timestamp::Timestamp;

fn to_strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn sample_decision() -> BoardDecision {
    BoardDecision {
        id: "7".to_owned(),
        time: "2026-02-15T00:00:00.000Z".to_owned(),
        proposer: "lead".to_owned(),
        content: "采用 Rust\n\n- 快\n- 稳".to_owned(),
        signers: to_strings(&["lead", "arch"]),
        status: DecisionStatus::Approved,
        ..BoardDecision::default()
    }
}

#[test]
fn rendered_record_matches_the_template() {
    assert_eq!(
        render_decision(&sample_decision(), ContentLanguage::Zh),
        "### 决策 #7\n- **时间**: 2026-02-15T00:00:00.000Z\n- **提议者**: lead\n\
         - **内容**: 采用 Rust\n\n  - 快\n  - 稳\n- **签字方**: lead, arch\n- **状态**: 已批准\n"
    );
    let pending = BoardDecision {
        id: "1".to_owned(),
        content: "```\ncode\n```".to_owned(),
        milestone: Some("M1".to_owned()),
        ..BoardDecision::default()
    };
    assert_eq!(
        render_decision(&pending, ContentLanguage::En),
        "### Decision #1\n- **Time**: -\n- **Proposer**: -\n- **Content**:\n  ```\n  code\n  ```\n\
         - **Signers**: (none yet)\n- **Status**: Pending\n- **Kind**: Milestone\n\
         - **Milestone**: M1\n"
    );
}

#[test]
fn decision_json_has_the_documented_fields() {
    assert_eq!(
        serde_json::to_value(sample_decision()).unwrap(),
        serde_json::json!({
            "id": "7", "time": "2026-02-15T00:00:00.000Z", "proposer": "lead",
            "content": "采用 Rust\n\n- 快\n- 稳", "signers": ["lead", "arch"], "status": "approved"
        })
    );
    let vetoed = BoardDecision {
        status: DecisionStatus::Rejected,
        kind: DecisionKind::Milestone,
        vetoed_by: to_strings(&["qa"]),
        ..sample_decision()
    };
    let json = serde_json::to_value(&vetoed).unwrap();
    assert_eq!(json["vetoedBy"], serde_json::json!(["qa"]));
    assert_eq!(json["kind"], "milestone");
    assert_eq!(
        serde_json::from_value::<BoardDecision>(json).unwrap(),
        vetoed
    );
}

#[test]
fn record_variants_are_parsed() {
    let text = "# B\n\n#### key decisions\n\nIntro.\n\n##### Decision #D-1: Use Rust\n\
                * Time: today\n+ __Proposer__：alice\n- **Content:**\n    one\n\n    two\n  \n\
                - **Signed by**:\n  - alice\n  - bob\n- **Note**: mine\n- **Status**: ✅ accepted (2/2)\n\
                not the status\n\n```\n- **Reason**: code\n```\n\n##### 决策＃2\n\
                - **签字方**：a，b、c / d\n- **状态**: 已批准 / 被否决 / 申诉中\n- **状态**: 已批准\n\
                ###### below\n- **内容**: not mine\n\n##### Other\n- **Time**: x\n\
                ##### 决策 #{id}\n- **时间**: {timestamp}\n\n# Elsewhere\n## 决策 #3\n";
    let found = parse_decisions(text);
    assert_eq!(
        found,
        [
            BoardDecision {
                id: "D-1".to_owned(),
                time: "today".to_owned(),
                proposer: "alice".to_owned(),
                content: "one\n\ntwo".to_owned(),
                signers: to_strings(&["alice", "bob"]),
                status: DecisionStatus::Approved,
                ..BoardDecision::default()
            },
            BoardDecision {
                id: "2".to_owned(),
                signers: to_strings(&["a", "b", "c", "d"]),
                ..BoardDecision::default()
            },
        ]
    );
}

#[test]
fn status_synonyms_are_parsed() {
    for (line, status) in [
        ("已批准", DecisionStatus::Approved),
        ("**APPROVED**", DecisionStatus::Approved),
        ("（已否决）", DecisionStatus::Rejected),
        ("vetoed", DecisionStatus::Rejected),
        ("Under appeal", DecisionStatus::Appealing),
        ("申诉中。", DecisionStatus::Appealing),
        ("待批准", DecisionStatus::Pending),
        ("Approved / Rejected / Appealing", DecisionStatus::Pending),
        ("whatever", DecisionStatus::Pending),
        ("", DecisionStatus::Pending),
    ] {
        assert_eq!(DecisionStatus::parse_line(line), status, "{line}");
    }
}

#[test]
fn new_record_is_inserted_in_its_section() {
    let decision = BoardDecision {
        content: "x".to_owned(),
        ..sample_decision()
    };
    let record = render_decision(&decision, ContentLanguage::Zh);
    for (before, after) in [
        (
            "# B\n\n## 关键决策记录\n（暂无）\n\n## 里程碑\n",
            format!("# B\n\n## 关键决策记录\n{record}\n## 里程碑\n"),
        ),
        (
            "## Key decisions\nIntro.\n## Next\n",
            format!("## Key decisions\nIntro.\n\n{record}\n## Next\n"),
        ),
        ("# B", format!("# B\n\n## 关键决策记录\n{record}")),
        ("", format!("## 关键决策记录\n{record}")),
        (
            "## 关键决策记录\n```\n（暂无）\n",
            format!("## 关键决策记录\n{record}\n```\n（暂无）\n"),
        ),
        (
            "# B\n\n<!-- open\n",
            format!("## 关键决策记录\n{record}\n# B\n\n<!-- open\n"),
        ),
    ] {
        let splice = insert_decision(before, &decision, ContentLanguage::Zh);
        assert_eq!(splice.apply(before), after);
    }
}

#[test]
fn template_is_empty_and_accepts_first_decision_and_milestone() {
    let unfilled = "## 关键决策记录\n### 决策 #{id}\n- **时间**: {timestamp}\n\
                    - **状态**: 已批准 / 被否决 / 申诉中\n\n## 里程碑\n\
                    - [ ] 里程碑1: {description}\n- [x] 里程碑3: {description} (已完成)\n";
    assert!(parse_decisions(unfilled).is_empty());
    assert!(parse_milestones(unfilled).is_empty());
    for language in [ContentLanguage::En, ContentLanguage::Zh] {
        let facts = TemplateValues {
            language,
            project: "demo",
            created: &Timestamp::from_millis(0),
            agents: &[],
        };
        let text = render_template(TemplateBoard::Global, &facts);
        assert!(parse_decisions(&text).is_empty());
        let text = insert_decision(&text, &sample_decision(), language).apply(&text);
        let text = add_milestone(&text, "M1", "first", language)
            .unwrap()
            .apply(&text);
        assert_eq!(parse_decisions(&text), [sample_decision()]);
        assert_eq!(parse_milestones(&text).len(), 1);
        // The goals, the issues and the three layers are still empty.
        let left = text.matches(value::NONE_YET.in_language(language)).count();
        assert_eq!(left, 5, "{text}");
    }
}

#[test]
fn next_id_is_highest_plus_one() {
    assert_eq!(next_decision_id(""), 1);
    let text = "## Key decisions\n### Decision #9\n### Decision #x\n### Decision #3\n";
    assert_eq!(next_decision_id(text), 10);
    assert_eq!(find_decision(text, "#x").unwrap().id, "x");
    let refusal = find_decision(text, "4").unwrap_err();
    assert_eq!(refusal.code, RefusalCode::DECISION_NOT_FOUND);
}

#[test]
fn replaced_record_keeps_text_added_by_hand() {
    let text = "## 关键决策记录\r\n### 决策 #7: 标题\r\n*   时间：昨天\r\n* 备注: 我的\r\n\
                * **签字方**: a\r\n懒行\r\n\r\n说明。\r\n\r\n### 决策 #8\r\n";
    let mut decision = find_decision(text, "7").unwrap();
    decision.signers.push("b".to_owned());
    decision.status = DecisionStatus::Approved;
    let changed = replace_decision(text, &decision).unwrap().apply(text);
    assert_eq!(
        changed,
        "## 关键决策记录\r\n### 决策 #7: 标题\r\n*   时间：昨天\r\n* 备注: 我的\r\n\
         - **签字方**: a, b\n- **状态**: 已批准\r\n懒行\r\n\r\n说明。\r\n\r\n### 决策 #8\r\n"
    );
    assert_eq!(find_decision(&changed, "7").unwrap(), decision);
    assert_eq!(
        replace_decision(&changed, &decision).unwrap(),
        crate::board::TextSplice::default()
    );
    decision.id = "9".to_owned();
    assert!(replace_decision(text, &decision).is_err());
}

#[test]
fn record_without_fields_gets_all_fields() {
    let text = "## Key decisions\n### Decision #1\nSetext\n---\n";
    let mut decision = find_decision("## Key decisions\n### Decision #1", "1").unwrap();
    decision.signers = to_strings(&["a"]);
    decision.status = DecisionStatus::Approved;
    let changed = replace_decision(text, &decision).unwrap().apply(text);
    assert_eq!(
        changed,
        "## Key decisions\n### Decision #1\n- **Signers**: a\n- **Status**: Approved\n\nSetext\n---\n"
    );
}

/// Pieces of Markdown that could be mistaken for parts of the record.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "\\PC{0,6}",
        8 => Just("\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("   ".to_owned()),
        1 => Just("## 关键决策记录".to_owned()),
        1 => Just("### 决策 #9".to_owned()),
        1 => Just("# ".to_owned()),
        1 => Just("- **状态**: 已批准".to_owned()),
        1 => Just("* Signers: x".to_owned()),
        1 => Just("1. ".to_owned()),
        1 => Just("> ".to_owned()),
        1 => Just("```".to_owned()),
        1 => Just("~~~~".to_owned()),
        1 => Just("===".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("<!--".to_owned()),
        1 => Just("<script>".to_owned()),
        1 => Just("<div>".to_owned()),
        1 => Just("[a]: b".to_owned()),
        1 => Just("{description}".to_owned()),
        1 => Just("&#x2C;".to_owned()),
        1 => Just("**".to_owned()),
        1 => Just("\u{3000}".to_owned()),
        1 => Just("\u{2028}".to_owned()),
        1 => Just("\\".to_owned()),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn hostile_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,8}",
        "[-*+,/，、&#x2C;{} ab]{0,6}",
        Just("-".to_owned()),
        Just("（暂无）".to_owned()),
        Just("{signers}".to_owned()),
    ]
}

fn any_status() -> impl Strategy<Value = DecisionStatus> {
    prop::sample::select(DecisionStatus::ALL.to_vec())
}

prop_compose! {
    fn any_decision()(
        id in "[0-9]{1,4}|[A-Za-z][0-9A-Za-z.-]{0,5}",
        time in hostile_name(),
        proposer in hostile_name(),
        content in hostile_text(),
        signers in prop::collection::vec(hostile_name(), 0..4),
        status in any_status(),
        kind in prop::sample::select(vec![DecisionKind::Decision, DecisionKind::Milestone]),
        milestone in prop::option::of(hostile_name()),
        vetoed_by in prop::collection::vec(hostile_name(), 0..3),
        reason in prop::option::of(hostile_text()),
        appealed_by in prop::option::of(hostile_name()),
    ) -> BoardDecision {
        BoardDecision {
            id, time, proposer, content, signers, status, kind, milestone, vetoed_by, reason,
            appealed_by,
        }
    }
}

fn any_language() -> impl Strategy<Value = ContentLanguage> {
    prop::sample::select(vec![ContentLanguage::En, ContentLanguage::Zh])
}

/// A board that was edited by hand.
fn any_board() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("## 关键决策记录"),
        Just("## Key decisions"),
        Just("###### 关键决策记录"),
        Just("### 决策 #1"),
        Just("#### Decision #2"),
        Just("- **状态**: 已批准"),
        Just("- **Signers**: a"),
        Just("  more"),
        Just("text"),
        Just("（暂无）"),
        Just("```"),
        Just("<!--"),
        Just("---"),
        Just("> quote"),
        Just("    code"),
        Just(""),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    (prop::collection::vec(line, 0..14), end).prop_map(|(lines, end)| lines.join(end))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn rendered_decision_round_trips(decision in any_decision(), language in any_language()) {
        let text = format!(
            "# B\n\n## 关键决策记录\n{}\n## 里程碑\n",
            render_decision(&decision, language)
        );
        prop_assert_eq!(parse_decisions(&text), [decision.normalize()], "{}", text);
        prop_assert_eq!(crate::board::parse_outline(&text).sections.len(), 4);
    }

    #[test]
    fn normalize_is_idempotent(decision in any_decision()) {
        let normal = decision.normalize();
        prop_assert_eq!(normal.clone().normalize(), normal);
    }

    #[test]
    fn inserted_record_is_parsed_and_other_text_is_unchanged(
        board in any_board(),
        mut decision in any_decision(),
        language in any_language(),
    ) {
        decision.id = "77".to_owned();
        let splice = insert_decision(&board, &decision, language);
        let changed = splice.apply(&board);
        let mut found = parse_decisions(&changed);
        let position = found.iter().position(|decision_record| decision_record.id == "77");
        prop_assert!(position.is_some(), "{:?}", changed);
        prop_assert_eq!(found.remove(position.unwrap()), decision.normalize());
        for other in parse_decisions(&board) {
            prop_assert!(found.contains(&other), "{:?} in {:?}", other, changed);
        }
        let removed = &board[splice.start..splice.start + splice.removed];
        prop_assert!(removed.is_empty() || removed.trim() == "（暂无）", "{:?}", removed);
    }

    #[test]
    fn replaced_record_is_parsed_and_others_are_unchanged(
        board in any_board(),
        mut before in any_decision(),
        mut after in any_decision(),
        language in any_language(),
    ) {
        before.id = "77".to_owned();
        after.id = "77".to_owned();
        let board = insert_decision(&board, &before, language).apply(&board);
        let splice = replace_decision(&board, &after).unwrap();
        let changed = splice.apply(&board);
        let expected: Vec<_> = parse_decisions(&board)
            .into_iter()
            .map(|one| if one.id == "77" { after.clone().normalize() } else { one })
            .collect();
        prop_assert_eq!(parse_decisions(&changed), expected, "{:?}", changed);
    }

    #[test]
    fn parsing_arbitrary_text_never_panics(text in "(\\PC|\n|\r|\t|- \\*\\*状态\\*\\*|:|## 关键决策记录\n|### 决策 #1\n){0,40}") {
        let _ = parse_decisions(&text);
        let _ = next_decision_id(&text);
    }
}
