//! Tests of board templates: a board without a version reads as its template, in the project's language.

use crate::board::board_helpers::{content_field, register_agent, register_team, version_field};
use crate::harness::test_project::{TestProject, on_both_stores};

/// Returns the level-2 headings of a text.
fn level_two_headings(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect()
}

const GLOBAL_HEADINGS: [(&str, &str); 7] = [
    ("任务概述", "Overview"),
    ("核心目标", "Goals"),
    ("关键决策记录", "Key decisions"),
    ("里程碑", "Milestones"),
    ("团队结构", "Team"),
    ("问题与风险", "Issues and risks"),
    ("更新日志", "Change log"),
];
const LAYER_HEADINGS: [(&str, &str); 5] = [
    ("基本信息", "Profile"),
    ("当前任务", "Current tasks"),
    ("决策与协商", "Decisions and negotiation"),
    ("知识积累", "Knowledge"),
    ("执行日志", "Execution log"),
];

fn project_in_language(like: &TestProject, language: &str) -> TestProject {
    let project = like.uninitialized_sibling();
    project.run_ok("user", &["init", "--lang", language]);
    project
}

fn unwritten_board_reads_as_its_template_in_both_languages(like: &TestProject) {
    for (language, project) in [
        ("zh", project_in_language(like, "zh")),
        ("en", project_in_language(like, "en")),
    ] {
        register_team(&project);
        let name =
            |(zh, en): &(&'static str, &'static str)| if language == "zh" { *zh } else { *en };
        let global: Vec<&str> = GLOBAL_HEADINGS.iter().map(name).collect();
        let layer: Vec<&str> = LAYER_HEADINGS.iter().map(name).collect();
        for (board_name, expected) in [
            ("global", &global),
            ("top", &layer),
            ("mid/architect", &layer),
            ("bottom/dev-1", &layer),
        ] {
            let view = project.read_board(board_name);
            assert_eq!(version_field(&view), 0);
            assert!(view["lastModifiedBy"].is_null() && view["lastModifiedAt"].is_null());
            assert_eq!(
                &level_two_headings(content_field(&view)),
                expected,
                "{board_name}"
            );
        }
        // All placeholders are filled in, with the active agents only.
        let text = project.board_text("global");
        assert!(text.contains("- ana: team-lead\n") && text.contains("- loner: backend-leader\n"));
        assert!(!text.contains("gone") && !text.contains('{'), "{text}");
        let mid = project.board_text("mid/architect");
        assert!(mid.contains("**Agent ID**: ada\n"), "{mid}");
        let (above, below) = if language == "zh" {
            ("上级", "下级")
        } else {
            ("Supervisor", "Subordinates")
        };
        assert!(
            mid.contains(&format!("**{above}**: ana\n"))
                && mid.contains(&format!("**{below}**: dev-1\n")),
            "{mid}"
        );
        assert_eq!(
            project
                .read_log()
                .iter()
                .filter(|e| e["kind"] == "board.written")
                .count(),
            0
        );
        if project.is_embedded() {
            assert!(
                !project.data_path("global-whiteboard.md").exists(),
                "reading wrote a file"
            );
        }
    }
}

fn template_heading_is_found_in_either_language(like: &TestProject) {
    for (language, project) in [
        ("zh", project_in_language(like, "zh")),
        ("en", project_in_language(like, "en")),
    ] {
        for (zh, en) in GLOBAL_HEADINGS {
            let [a, b] = [zh, en].map(|title| {
                project.run_ok("user", &["board", "read", "global", "--section", title])
            });
            assert_eq!(a, b);
            assert_eq!(a["section"], if language == "zh" { zh } else { en });
        }
        for title in ["问题与风险", "Issues and risks"] {
            project.run_ok(
                "user",
                &[
                    "board",
                    "section",
                    "append",
                    "global",
                    title,
                    "--content",
                    title,
                ],
            );
        }
        let text = project.board_text("global");
        assert_eq!(
            level_two_headings(&text).len(),
            7,
            "no section was added: {text}"
        );
        assert!(
            text.contains("\n\n问题与风险\n\nIssues and risks\n\n## "),
            "{text}"
        );
        project.run_refused(
            "user",
            &["board", "read", "global", "--section", "Nothing"],
            4,
            "section_not_found",
        );
    }
}

fn first_change_keeps_the_template_text(project: &TestProject) {
    register_agent(project, "ada", "architect", "mid", "");
    let template = project.board_text("global");
    let answer = project.run_ok(
        "ada",
        &[
            "board",
            "append",
            "global",
            "--content",
            "first\n\nsecond paragraph",
        ],
    );
    assert_eq!(version_field(&answer), 1);
    let view = project.read_board("global");
    let at = view["lastModifiedAt"].as_str().unwrap();
    // The format of requirement 000 (docs/requirements.md), in English.
    let entry = format!("\n\n### Update - {at}\n**By**: ada\n\nfirst\n\nsecond paragraph");
    assert_eq!(content_field(&view), format!("{template}{entry}"));
    if project.is_embedded() {
        assert_eq!(
            project.data_file_bytes("global-whiteboard.md"),
            content_field(&view).as_bytes()
        );
    }
    let template = project.board_text("top");
    project.run_ok(
        "user",
        &[
            "board",
            "section",
            "set",
            "top",
            "Knowledge",
            "--content",
            "known",
        ],
    );
    let text = project.board_text("top");
    assert_eq!(
        text,
        template.replace("## Knowledge\n(none yet)\n", "## Knowledge\n\nknown\n")
    );
    // The stored text is fixed: an agent that joins later does not change it.
    register_agent(project, "new", "architect", "mid", "");
    assert_eq!(project.board_text("top"), text);
}

fn entry_on_a_chinese_board_has_a_chinese_byline(like: &TestProject) {
    let project = project_in_language(like, "zh");
    project.run_ok("user", &["board", "append", "global", "--content", "进展"]);
    let text = project.board_text("global");
    let (_, entry) = text.rsplit_once("\n\n### 更新 - ").unwrap();
    assert!(entry.ends_with("Z\n**操作者**: user\n\n进展"), "{entry}");
}

#[test]
fn init_takes_the_language_from_the_locale() {
    for (variable, locale, language) in [
        ("LANG", "zh_CN.UTF-8", "zh"),
        ("LANG", "de_DE.UTF-8", "en"),
        ("LANG", "C", "en"),
        ("LC_ALL", "zh_TW", "zh"),
        ("LC_MESSAGES", "zh_CN", "zh"),
    ] {
        let project = TestProject::uninitialized();
        let mut init = project.command();
        let status = init
            .arg("init")
            .env(variable, locale)
            .output()
            .unwrap()
            .status;
        assert!(status.success());
        let first = project.board_text("global");
        let expected = if language == "zh" {
            "# 全局白板 - "
        } else {
            "# Global board - "
        };
        assert!(first.starts_with(expected), "{variable}={locale}: {first}");
    }
}

on_both_stores!(
    unwritten_board_reads_as_its_template_in_both_languages,
    template_heading_is_found_in_either_language,
    first_change_keeps_the_template_text,
    entry_on_a_chinese_board_has_a_chinese_byline,
);
