//! Tests of board decisions and milestones: proposals, signatures, vetoes, appeals and quorums, in both
//! languages.

use serde_json::{Value, json};

use crate::board::board_helpers::{register_agent, write_config};
use crate::harness::test_project::{TestProject, on_both_stores};

fn register_signers(project: &TestProject) {
    for id in ["ana", "bea", "cem"] {
        register_agent(project, id, "team-lead", "top", "");
    }
    register_agent(project, "ada", "architect", "mid", "ana");
    register_agent(project, "dev", "backend-leader", "bottom", "ada");
}

fn run_decision(project: &TestProject, agent: &str, args: &[&str]) -> Value {
    project.run_ok(agent, &[&["board", "decision"], args].concat())
}

fn propose_decision(project: &TestProject, agent: &str, text: &str) -> String {
    let decision = run_decision(project, agent, &["propose", "--content", text]);
    assert_eq!(decision["status"], "pending");
    decision["id"].as_str().unwrap().to_owned()
}

fn find_decision(project: &TestProject, id: &str) -> Value {
    let all = project.run_ok("user", &["board", "decisions", "global"]);
    let found = all["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|d| d["id"] == id);
    found.unwrap().clone()
}

fn decision_with_two_signatures_is_approved(project: &TestProject) {
    register_signers(project);
    let id = propose_decision(project, "ada", "Use Rust.\n\nIt is *fast*.");
    assert_eq!(id, "1");
    let one = run_decision(project, "ana", &["sign", &id]);
    assert_eq!(
        (&one["status"], &one["signers"]),
        (&"pending".into(), &json!(["ana"]))
    );
    assert_eq!(
        run_decision(project, "ana", &["sign", &id])["signers"],
        json!(["ana"]),
        "a repeated signature counts once"
    );
    assert_eq!(project.board_version("global"), 2);
    let two = run_decision(project, "bea", &["sign", &id]);
    assert_eq!(
        (&two["status"], &two["version"]),
        (&"approved".into(), &3.into())
    );
    let found = find_decision(project, &id);
    assert_eq!(found["proposer"], "ada");
    assert_eq!(found["content"], "Use Rust.\n\nIt is *fast*.");
    assert_eq!(found["signers"], json!(["ana", "bea"]));
    assert_eq!(found["status"], "approved");
    assert!(found["time"].as_str().unwrap().ends_with('Z'));
    project.run_refused(
        "cem",
        &["board", "decision", "sign", &id],
        5,
        "decision_closed",
    );
    project.run_refused(
        "cem",
        &["board", "decision", "veto", &id],
        5,
        "decision_closed",
    );
    project.run_refused(
        "cem",
        &["board", "decision", "appeal", &id],
        5,
        "decision_closed",
    );
    let text = project.board_text("global");
    for line in [
        "### Decision #1\n",
        "- **Proposer**: ada\n",
        "- **Signers**: ana, bea\n",
        "- **Status**: Approved\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let kinds: Vec<_> = project
        .board_event_kinds("global")
        .into_iter()
        .filter(|kind| kind.starts_with("decision."))
        .collect();
    assert_eq!(
        kinds,
        ["decision.proposed", "decision.signed", "decision.signed"]
    );
    assert_eq!(propose_decision(project, "ana", "Another."), "2");
}

fn decision_by_non_signer_is_refused(project: &TestProject) {
    register_signers(project);
    let id = propose_decision(project, "ada", "Something.");
    let before = project.read_log();
    for agent in ["ada", "dev", "stranger"] {
        for verb in ["sign", "veto"] {
            let refused =
                project.run_refused(agent, &["board", "decision", verb, &id], 3, "not_a_signer");
            assert!(refused.message.contains("ana, bea, cem"), "{refused:?}");
        }
    }
    project.run_refused(
        "dev",
        &["board", "decision", "propose", "--content", "x"],
        3,
        "permission_denied",
    );
    project.run_refused(
        "ana",
        &["board", "decision", "sign", "9"],
        4,
        "decision_not_found",
    );
    assert_eq!(project.read_log(), before);
    write_config(project, "[decisions]\nsigners = [\"ada\", \"ana\"]\n");
    // A signer may sign on a board that it can only read.
    run_decision(project, "ada", &["sign", &id]);
    project.run_refused(
        "bea",
        &["board", "decision", "sign", &id],
        3,
        "not_a_signer",
    );
    assert_eq!(
        run_decision(project, "ana", &["sign", &id])["status"],
        "approved"
    );
    // A retired agent is no longer a signer.
    write_config(project, "");
    project.run_ok("user", &["agent", "retire", "cem"]);
    let id = propose_decision(project, "ana", "Another.");
    project.run_refused(
        "cem",
        &["board", "decision", "sign", &id],
        3,
        "permission_denied",
    );
}

fn veto_rejects_decision_and_appeal_reopens_it(project: &TestProject) {
    register_signers(project);
    let id = propose_decision(project, "ada", "Contested.");
    run_decision(project, "ana", &["sign", &id]);
    let vetoed = run_decision(project, "cem", &["veto", &id, "--reason", "too dear"]);
    assert_eq!(vetoed["status"], "rejected");
    assert_eq!(
        (&vetoed["vetoedBy"], &vetoed["reason"]),
        (&json!(["cem"]), &"too dear".into())
    );
    project.run_refused(
        "bea",
        &["board", "decision", "sign", &id],
        5,
        "decision_closed",
    );
    project.run_refused(
        "dev",
        &["board", "decision", "appeal", &id],
        3,
        "not_a_signer",
    );
    let appealed = run_decision(project, "ada", &["appeal", &id]);
    assert_eq!(
        (&appealed["status"], &appealed["appealedBy"]),
        (&"appealing".into(), &"ada".into())
    );
    let signed = run_decision(project, "bea", &["sign", &id]);
    assert_eq!(
        (&signed["status"], &signed["signers"]),
        (&"approved".into(), &json!(["ana", "bea"]))
    );
    assert!(
        project
            .board_text("global")
            .contains("- **Status**: Approved\n")
    );
    // An appeal is rejected when two of three veto it.
    let id = propose_decision(project, "ada", "Hopeless.");
    run_decision(project, "ana", &["veto", &id]);
    run_decision(project, "ada", &["appeal", &id]);
    assert_eq!(
        run_decision(project, "bea", &["veto", &id])["status"],
        "rejected"
    );
    let kinds: Vec<_> = project
        .board_event_kinds("global")
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

fn decision_quorum_follows_configuration(project: &TestProject) {
    register_signers(project);
    write_config(
        project,
        "[decisions]\nsignatures = 1\nappeal_signatures = 3\n",
    );
    let id = propose_decision(project, "ana", "Alone.");
    assert_eq!(
        run_decision(project, "ana", &["sign", &id])["status"],
        "approved"
    );
    let id = propose_decision(project, "ana", "Appealed.");
    run_decision(project, "bea", &["veto", &id]);
    run_decision(project, "ana", &["appeal", &id]);
    for (agent, status) in [
        ("ana", "appealing"),
        ("cem", "appealing"),
        ("bea", "approved"),
    ] {
        assert_eq!(
            run_decision(project, agent, &["sign", &id])["status"],
            status
        );
    }
    write_config(project, "[decisions]\nsignatures = 3\n");
    let id = propose_decision(project, "ana", "All.");
    for (agent, status) in [("ana", "pending"), ("cem", "pending"), ("bea", "approved")] {
        assert_eq!(
            run_decision(project, agent, &["sign", &id])["status"],
            status
        );
    }
}

fn milestone_decision_needs_three_signatures(project: &TestProject) {
    register_signers(project);
    let add = [
        "board",
        "milestone",
        "add",
        "Beta",
        "--description",
        "ready for friends",
    ];
    project.run_refused("ada", &add, 3, "permission_denied");
    assert_eq!(project.run_ok("ana", &add)["done"], false);
    project.run_refused("ana", &add, 5, "milestone_exists");
    let args = [
        "propose",
        "--content",
        "Beta is reached.",
        "--milestone",
        "Beta",
    ];
    let proposed = run_decision(project, "ada", &args);
    assert_eq!(
        (&proposed["kind"], &proposed["milestone"]),
        (&"milestone".into(), &"Beta".into())
    );
    let id = proposed["id"].as_str().unwrap();
    let milestones =
        || project.run_ok("user", &["board", "milestones", "global"])["milestones"].clone();
    for agent in ["ana", "bea"] {
        assert_eq!(
            run_decision(project, agent, &["sign", id])["status"],
            "pending"
        );
        assert_eq!(milestones()[0]["done"], false);
    }
    assert_eq!(
        run_decision(project, "cem", &["sign", id])["status"],
        "approved"
    );
    assert_eq!(
        milestones(),
        json!([{"title": "Beta", "description": "ready for friends", "done": true}])
    );
    assert!(
        project
            .board_text("global")
            .contains("- [x] Beta: ready for friends")
    );
    project.run_ok("ana", &["board", "milestone", "add", "Final"]);
    assert_eq!(
        project.run_ok("ana", &["board", "milestone", "done", "Final"])["done"],
        true
    );
    project.run_refused(
        "ana",
        &["board", "milestone", "done", "Nothing"],
        4,
        "milestone_not_found",
    );
    assert_eq!(
        project
            .board_event_kinds("global")
            .iter()
            .filter(|kind| kind.starts_with("milestone."))
            .count(),
        3
    );
}

fn decisions_and_milestones_are_written_in_chinese(like: &TestProject) {
    let project = &like.uninitialized_sibling();
    project.run_ok("user", &["init", "--lang", "zh"]);
    register_signers(project);
    project.run_ok(
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
    let id = propose_decision(project, "ana", "采用 Rust");
    run_decision(project, "bea", &["sign", &id]);
    run_decision(project, "cem", &["veto", &id, "--reason", "太贵"]);
    let text = project.board_text("global");
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
    run_decision(project, "ana", &["appeal", &id]);
    assert!(
        project
            .board_text("global")
            .contains("- **状态**: 申诉中\n")
    );
    run_decision(project, "ana", &["sign", &id]);
    assert!(
        project
            .board_text("global")
            .contains("- **状态**: 已批准\n")
    );
    project.run_ok("ana", &["board", "milestone", "done", "里程碑1"]);
    assert!(
        project
            .board_text("global")
            .contains("- [x] 里程碑1: 第一步 (已完成)\n")
    );
    let found = find_decision(project, &id);
    assert_eq!(
        (&found["status"], &found["content"]),
        (&"approved".into(), &"采用 Rust".into())
    );
    let milestones = project.run_ok("user", &["board", "milestones", "global"]);
    assert_eq!(
        milestones["milestones"][0],
        json!({"title": "里程碑1", "description": "第一步", "done": true})
    );
}

/// The decision record of requirement 000 (docs/requirements.md), typed by hand into a board of the other
/// language.
fn hand_written_decision_record_is_read_and_signed(project: &TestProject) {
    register_signers(project);
    project.write_board(
        "global",
        "# 全局白板\n\n## 关键决策记录\n### 决策 #7\n- **时间**: 2026-02-25T10:00:00Z\n- **提议者**: ana\n\
         - **内容**: 手写\n- **签字方**: ana\n- **状态**: 待批准\n\n## 里程碑\n- [ ] 里程碑1: a\n- [x] 里程碑3: c (已完成)\n",
    );
    let found = find_decision(project, "7");
    assert_eq!(
        (&found["status"], &found["signers"]),
        (&"pending".into(), &json!(["ana"]))
    );
    assert_eq!(
        run_decision(project, "bea", &["sign", "7"])["status"],
        "approved"
    );
    let text = project.board_text("global");
    assert!(
        text.contains("- **签字方**: ana, bea\n- **状态**: 已批准\n"),
        "the record keeps its language: {text}"
    );
    assert_eq!(propose_decision(project, "ana", "next"), "8");
    let milestones = project.run_ok("user", &["board", "milestones", "global"]);
    assert_eq!(
        milestones["milestones"],
        json!([{"title": "里程碑1", "description": "a", "done": false}, {"title": "里程碑3", "description": "c", "done": true}])
    );
}

fn user_may_sign_and_veto(project: &TestProject) {
    register_signers(project);
    let id = propose_decision(project, "ada", "Asked.");
    run_decision(project, "user", &["sign", &id]);
    assert_eq!(
        run_decision(project, "ana", &["sign", &id])["status"],
        "approved"
    );
    let id = propose_decision(project, "ada", "Refused.");
    assert_eq!(
        run_decision(project, "user", &["veto", &id])["status"],
        "rejected"
    );
}

/// Concurrent signatures all count.
fn concurrent_signatures_all_count(project: &TestProject) {
    for n in 0..6 {
        register_agent(project, &format!("top-{n}"), "team-lead", "top", "");
    }
    write_config(project, "[decisions]\nsignatures = 6\n");
    let id = propose_decision(project, "user", "All of us.");
    crate::task::task_concurrency::run_concurrently(6, |n| {
        run_decision(project, &format!("top-{n}"), &["sign", &id])
    });
    let found = find_decision(project, &id);
    assert_eq!(found["status"], "approved");
    assert_eq!(found["signers"].as_array().unwrap().len(), 6);
}

on_both_stores!(
    decision_with_two_signatures_is_approved,
    decision_by_non_signer_is_refused,
    veto_rejects_decision_and_appeal_reopens_it,
    decision_quorum_follows_configuration,
    milestone_decision_needs_three_signatures,
    decisions_and_milestones_are_written_in_chinese,
    hand_written_decision_record_is_read_and_signed,
    user_may_sign_and_veto,
    concurrent_signatures_all_count,
);
