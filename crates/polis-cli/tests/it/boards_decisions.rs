//! Tests of decisions and milestones: proposals, signatures, vetoes and appeals on a board, in both languages.

use serde_json::{Value, json};

use crate::board::{Board, on_both_stores};
use crate::boards_team::{add, configure};

fn team(board: &Board) {
    for id in ["ana", "bea", "cem"] {
        add(board, id, "team-lead", "top", "");
    }
    add(board, "ada", "architect", "mid", "ana");
    add(board, "dev", "backend-leader", "bottom", "ada");
}

fn decide(board: &Board, agent: &str, args: &[&str]) -> Value {
    board.ok(agent, &[&["board", "decision"], args].concat())
}

fn propose(board: &Board, agent: &str, text: &str) -> String {
    let decision = decide(board, agent, &["propose", "--content", text]);
    assert_eq!(decision["status"], "pending");
    decision["id"].as_str().unwrap().to_owned()
}

fn decision(board: &Board, id: &str) -> Value {
    let all = board.ok("user", &["board", "decisions", "global"]);
    let found = all["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|d| d["id"] == id);
    found.unwrap().clone()
}

fn two_signatures_approve(board: &Board) {
    team(board);
    let id = propose(board, "ada", "Use Rust.\n\nIt is *fast*.");
    assert_eq!(id, "1");
    let one = decide(board, "ana", &["sign", &id]);
    assert_eq!(
        (&one["status"], &one["signers"]),
        (&"pending".into(), &json!(["ana"]))
    );
    assert_eq!(
        decide(board, "ana", &["sign", &id])["signers"],
        json!(["ana"]),
        "once each"
    );
    assert_eq!(board.version("global"), 2);
    let two = decide(board, "bea", &["sign", &id]);
    assert_eq!(
        (&two["status"], &two["version"]),
        (&"approved".into(), &3.into())
    );
    let found = decision(board, &id);
    assert_eq!(found["proposer"], "ada");
    assert_eq!(found["content"], "Use Rust.\n\nIt is *fast*.");
    assert_eq!(found["signers"], json!(["ana", "bea"]));
    assert_eq!(found["status"], "approved");
    assert!(found["time"].as_str().unwrap().ends_with('Z'));
    board.refused(
        "cem",
        &["board", "decision", "sign", &id],
        5,
        "decision_closed",
    );
    board.refused(
        "cem",
        &["board", "decision", "veto", &id],
        5,
        "decision_closed",
    );
    board.refused(
        "cem",
        &["board", "decision", "appeal", &id],
        5,
        "decision_closed",
    );
    let text = board.text("global");
    for line in [
        "### Decision #1\n",
        "- **Proposer**: ada\n",
        "- **Signers**: ana, bea\n",
        "- **Status**: Approved\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let kinds: Vec<_> = board
        .told("global")
        .into_iter()
        .filter(|kind| kind.starts_with("decision."))
        .collect();
    assert_eq!(
        kinds,
        ["decision.proposed", "decision.signed", "decision.signed"]
    );
    assert_eq!(propose(board, "ana", "Another."), "2");
}

fn only_signers_decide(board: &Board) {
    team(board);
    let id = propose(board, "ada", "Something.");
    let before = board.log();
    for agent in ["ada", "dev", "stranger"] {
        for verb in ["sign", "veto"] {
            let refused =
                board.refused(agent, &["board", "decision", verb, &id], 3, "not_a_signer");
            assert!(refused.message.contains("ana, bea, cem"), "{refused:?}");
        }
    }
    board.refused(
        "dev",
        &["board", "decision", "propose", "--content", "x"],
        3,
        "permission_denied",
    );
    board.refused(
        "ana",
        &["board", "decision", "sign", "9"],
        4,
        "decision_not_found",
    );
    assert_eq!(board.log(), before);
    configure(board, "[decisions]\nsigners = [\"ada\", \"ana\"]\n");
    // A signer may sign on a board that it can only read.
    decide(board, "ada", &["sign", &id]);
    board.refused(
        "bea",
        &["board", "decision", "sign", &id],
        3,
        "not_a_signer",
    );
    assert_eq!(decide(board, "ana", &["sign", &id])["status"], "approved");
    // A retired agent is no longer a signer.
    configure(board, "");
    board.ok("user", &["agent", "retire", "cem"]);
    let id = propose(board, "ana", "Another.");
    board.refused(
        "cem",
        &["board", "decision", "sign", &id],
        3,
        "permission_denied",
    );
}

fn a_veto_rejects_and_an_appeal_asks_again(board: &Board) {
    team(board);
    let id = propose(board, "ada", "Contested.");
    decide(board, "ana", &["sign", &id]);
    let vetoed = decide(board, "cem", &["veto", &id, "--reason", "too dear"]);
    assert_eq!(vetoed["status"], "rejected");
    assert_eq!(
        (&vetoed["vetoedBy"], &vetoed["reason"]),
        (&json!(["cem"]), &"too dear".into())
    );
    board.refused(
        "bea",
        &["board", "decision", "sign", &id],
        5,
        "decision_closed",
    );
    board.refused(
        "dev",
        &["board", "decision", "appeal", &id],
        3,
        "not_a_signer",
    );
    let appealed = decide(board, "ada", &["appeal", &id]);
    assert_eq!(
        (&appealed["status"], &appealed["appealedBy"]),
        (&"appealing".into(), &"ada".into())
    );
    let signed = decide(board, "bea", &["sign", &id]);
    assert_eq!(
        (&signed["status"], &signed["signers"]),
        (&"approved".into(), &json!(["ana", "bea"]))
    );
    assert!(board.text("global").contains("- **Status**: Approved\n"));
    // An appeal is rejected when two of three veto it.
    let id = propose(board, "ada", "Hopeless.");
    decide(board, "ana", &["veto", &id]);
    decide(board, "ada", &["appeal", &id]);
    assert_eq!(decide(board, "bea", &["veto", &id])["status"], "rejected");
    let kinds: Vec<_> = board
        .told("global")
        .into_iter()
        .filter(|kind| kind.starts_with("decision."))
        .collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "decision.vetoed")
            .count(),
        3
    );
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "decision.appealed")
            .count(),
        2
    );
}

fn a_quorum_can_be_set(board: &Board) {
    team(board);
    configure(
        board,
        "[decisions]\nsignatures = 1\nappeal_signatures = 3\n",
    );
    let id = propose(board, "ana", "Alone.");
    assert_eq!(decide(board, "ana", &["sign", &id])["status"], "approved");
    let id = propose(board, "ana", "Appealed.");
    decide(board, "bea", &["veto", &id]);
    decide(board, "ana", &["appeal", &id]);
    for (agent, status) in [
        ("ana", "appealing"),
        ("cem", "appealing"),
        ("bea", "approved"),
    ] {
        assert_eq!(decide(board, agent, &["sign", &id])["status"], status);
    }
    configure(board, "[decisions]\nsignatures = 3\n");
    let id = propose(board, "ana", "All.");
    for (agent, status) in [("ana", "pending"), ("cem", "pending"), ("bea", "approved")] {
        assert_eq!(decide(board, agent, &["sign", &id])["status"], status);
    }
}

fn three_signatures_reach_a_milestone(board: &Board) {
    team(board);
    let add = [
        "board",
        "milestone",
        "add",
        "Beta",
        "--description",
        "ready for friends",
    ];
    board.refused("ada", &add, 3, "permission_denied");
    assert_eq!(board.ok("ana", &add)["done"], false);
    board.refused("ana", &add, 5, "milestone_exists");
    let args = [
        "propose",
        "--content",
        "Beta is reached.",
        "--milestone",
        "Beta",
    ];
    let proposed = decide(board, "ada", &args);
    assert_eq!(
        (&proposed["kind"], &proposed["milestone"]),
        (&"milestone".into(), &"Beta".into())
    );
    let id = proposed["id"].as_str().unwrap();
    let milestones = || board.ok("user", &["board", "milestones", "global"])["milestones"].clone();
    for agent in ["ana", "bea"] {
        assert_eq!(decide(board, agent, &["sign", id])["status"], "pending");
        assert_eq!(milestones()[0]["done"], false);
    }
    assert_eq!(decide(board, "cem", &["sign", id])["status"], "approved");
    assert_eq!(
        milestones(),
        json!([{"title": "Beta", "description": "ready for friends", "done": true}])
    );
    assert!(
        board
            .text("global")
            .contains("- [x] Beta: ready for friends")
    );
    board.ok("ana", &["board", "milestone", "add", "Final"]);
    assert_eq!(
        board.ok("ana", &["board", "milestone", "done", "Final"])["done"],
        true
    );
    board.refused(
        "ana",
        &["board", "milestone", "done", "Nothing"],
        4,
        "milestone_not_found",
    );
    assert_eq!(
        board
            .told("global")
            .iter()
            .filter(|kind| kind.starts_with("milestone."))
            .count(),
        3
    );
}

fn all_of_it_is_there_in_chinese(like: &Board) {
    let board = &like.bare_like();
    board.ok("user", &["init", "--lang", "zh"]);
    team(board);
    board.ok(
        "ana",
        &[
            "board",
            "milestone",
            "add",
            "里程碑1",
            "--description",
            "第一步",
        ],
    );
    let id = propose(board, "ana", "采用 Rust");
    decide(board, "bea", &["sign", &id]);
    decide(board, "cem", &["veto", &id, "--reason", "太贵"]);
    let text = board.text("global");
    for line in [
        "### 决策 #1\n",
        "- **提议者**: ana\n",
        "- **内容**: 采用 Rust\n",
        "- **签字方**: bea\n",
        "- **状态**: 被否决\n",
        "- [ ] 里程碑1: 第一步\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    decide(board, "ana", &["appeal", &id]);
    assert!(board.text("global").contains("- **状态**: 申诉中\n"));
    decide(board, "ana", &["sign", &id]);
    assert!(board.text("global").contains("- **状态**: 已批准\n"));
    board.ok("ana", &["board", "milestone", "done", "里程碑1"]);
    assert!(
        board
            .text("global")
            .contains("- [x] 里程碑1: 第一步 (已完成)\n")
    );
    let found = decision(board, &id);
    assert_eq!(
        (&found["status"], &found["content"]),
        (&"approved".into(), &"采用 Rust".into())
    );
    let milestones = board.ok("user", &["board", "milestones", "global"]);
    assert_eq!(
        milestones["milestones"][0],
        json!({"title": "里程碑1", "description": "第一步", "done": true})
    );
}

/// The example of the source document (000 §3.1), typed by hand into a board of the other language.
fn a_record_typed_by_hand_is_read_and_signed(board: &Board) {
    team(board);
    board.put(
        "global",
        "# 全局白板\n\n## 关键决策记录\n### 决策 #7\n- **时间**: 2026-02-25T10:00:00Z\n- **提议者**: ana\n\
         - **内容**: 手写\n- **签字方**: ana\n- **状态**: 待批准\n\n## 里程碑\n- [ ] 里程碑1: a\n- [x] 里程碑3: c (已完成)\n",
    );
    let found = decision(board, "7");
    assert_eq!(
        (&found["status"], &found["signers"]),
        (&"pending".into(), &json!(["ana"]))
    );
    assert_eq!(decide(board, "bea", &["sign", "7"])["status"], "approved");
    let text = board.text("global");
    assert!(
        text.contains("- **签字方**: ana, bea\n- **状态**: 已批准\n"),
        "the record keeps its language: {text}"
    );
    assert_eq!(propose(board, "ana", "next"), "8");
    let milestones = board.ok("user", &["board", "milestones", "global"]);
    assert_eq!(
        milestones["milestones"],
        json!([{"title": "里程碑1", "description": "a", "done": false}, {"title": "里程碑3", "description": "c", "done": true}])
    );
}

fn the_person_signs_and_vetoes(board: &Board) {
    team(board);
    let id = propose(board, "ada", "Asked.");
    decide(board, "user", &["sign", &id]);
    assert_eq!(decide(board, "ana", &["sign", &id])["status"], "approved");
    let id = propose(board, "ada", "Refused.");
    assert_eq!(decide(board, "user", &["veto", &id])["status"], "rejected");
}

/// Concurrent signatures all count.
fn signatures_at_the_same_moment_all_count(board: &Board) {
    for n in 0..6 {
        add(board, &format!("top-{n}"), "team-lead", "top", "");
    }
    configure(board, "[decisions]\nsignatures = 6\n");
    let id = propose(board, "user", "All of us.");
    crate::concurrency::together(6, |n| decide(board, &format!("top-{n}"), &["sign", &id]));
    let found = decision(board, &id);
    assert_eq!(found["status"], "approved");
    assert_eq!(found["signers"].as_array().unwrap().len(), 6);
}

on_both_stores!(
    two_signatures_approve,
    only_signers_decide,
    a_veto_rejects_and_an_appeal_asks_again,
    a_quorum_can_be_set,
    three_signatures_reach_a_milestone,
    all_of_it_is_there_in_chinese,
    a_record_typed_by_hand_is_read_and_signed,
    the_person_signs_and_vetoes,
    signatures_at_the_same_moment_all_count,
);
