//! Tests of board templates: a board without a version reads as its template, in the project's language.

use crate::board::{Board, on_both_stores};
use crate::boards_team::{add, content, register, version};

/// Returns the level-2 headings of a text.
fn headings(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect()
}

const GLOBAL: [(&str, &str); 7] = [
    ("任务概述", "Overview"),
    ("核心目标", "Goals"),
    ("关键决策记录", "Key decisions"),
    ("里程碑", "Milestones"),
    ("团队结构", "Team"),
    ("问题与风险", "Issues and risks"),
    ("更新日志", "Change log"),
];
const LAYER: [(&str, &str); 5] = [
    ("基本信息", "Profile"),
    ("当前任务", "Current tasks"),
    ("决策与协商", "Decisions and negotiation"),
    ("知识积累", "Knowledge"),
    ("执行日志", "Execution log"),
];

fn in_language(like: &Board, language: &str) -> Board {
    let board = like.bare_like();
    board.ok("user", &["init", "--lang", language]);
    board
}

fn a_board_reads_as_its_template_in_either_language(like: &Board) {
    for (language, board) in [
        ("zh", in_language(like, "zh")),
        ("en", in_language(like, "en")),
    ] {
        register(&board);
        let name =
            |(zh, en): &(&'static str, &'static str)| if language == "zh" { *zh } else { *en };
        let global: Vec<&str> = GLOBAL.iter().map(name).collect();
        let layer: Vec<&str> = LAYER.iter().map(name).collect();
        for (board_name, expected) in [
            ("global", &global),
            ("top", &layer),
            ("mid/architect", &layer),
            ("bottom/dev-1", &layer),
        ] {
            let view = board.view(board_name);
            assert_eq!(version(&view), 0);
            assert!(view["lastModifiedBy"].is_null() && view["lastModifiedAt"].is_null());
            assert_eq!(&headings(content(&view)), expected, "{board_name}");
        }
        // All placeholders are filled in, with the active agents only.
        let text = board.text("global");
        assert!(text.contains("- ana: team-lead\n") && text.contains("- loner: backend-leader\n"));
        assert!(!text.contains("gone") && !text.contains('{'), "{text}");
        let mid = board.text("mid/architect");
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
            board
                .log()
                .iter()
                .filter(|e| e["kind"] == "board.written")
                .count(),
            0
        );
        if board.is_embedded() {
            assert!(
                !board.workspace("global-whiteboard.md").exists(),
                "reading wrote a file"
            );
        }
    }
}

fn a_heading_is_found_in_the_other_language(like: &Board) {
    for (language, board) in [
        ("zh", in_language(like, "zh")),
        ("en", in_language(like, "en")),
    ] {
        for (zh, en) in GLOBAL {
            let [a, b] = [zh, en]
                .map(|title| board.ok("user", &["board", "read", "global", "--section", title]));
            assert_eq!(a, b);
            assert_eq!(a["section"], if language == "zh" { zh } else { en });
        }
        for title in ["问题与风险", "Issues and risks"] {
            board.ok(
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
        let text = board.text("global");
        assert_eq!(headings(&text).len(), 7, "no section was added: {text}");
        assert!(
            text.contains("\n\n问题与风险\n\nIssues and risks\n\n## "),
            "{text}"
        );
        board.refused(
            "user",
            &["board", "read", "global", "--section", "Nothing"],
            4,
            "section_not_found",
        );
    }
}

fn the_first_change_keeps_the_template(board: &Board) {
    add(board, "ada", "architect", "mid", "");
    let template = board.text("global");
    let answer = board.ok(
        "ada",
        &[
            "board",
            "append",
            "global",
            "--content",
            "first\n\nsecond paragraph",
        ],
    );
    assert_eq!(version(&answer), 1);
    let view = board.view("global");
    let at = view["lastModifiedAt"].as_str().unwrap();
    // As in the source document (000 §6.1).
    let entry = format!("\n\n### Update - {at}\n**By**: ada\n\nfirst\n\nsecond paragraph");
    assert_eq!(content(&view), format!("{template}{entry}"));
    if board.is_embedded() {
        assert_eq!(
            board.bytes("global-whiteboard.md"),
            content(&view).as_bytes()
        );
    }
    let template = board.text("top");
    board.ok(
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
    let text = board.text("top");
    assert_eq!(
        text,
        template.replace("## Knowledge\n(none yet)\n", "## Knowledge\n\nknown\n")
    );
    // The stored text is fixed: an agent that joins later does not change it.
    add(board, "new", "architect", "mid", "");
    assert_eq!(board.text("top"), text);
}

fn a_chinese_entry_is_signed_in_chinese(like: &Board) {
    let board = in_language(like, "zh");
    board.ok("user", &["board", "append", "global", "--content", "进展"]);
    let text = board.text("global");
    let (_, entry) = text.rsplit_once("\n\n### 更新 - ").unwrap();
    assert!(entry.ends_with("Z\n**操作者**: user\n\n进展"), "{entry}");
}

#[test]
fn the_locale_sets_the_language() {
    for (variable, locale, language) in [
        ("LANG", "zh_CN.UTF-8", "zh"),
        ("LANG", "de_DE.UTF-8", "en"),
        ("LANG", "C", "en"),
        ("LC_ALL", "zh_TW", "zh"),
        ("LC_MESSAGES", "zh_CN", "zh"),
    ] {
        let board = Board::bare();
        let mut init = board.command();
        let status = init
            .arg("init")
            .env(variable, locale)
            .output()
            .unwrap()
            .status;
        assert!(status.success());
        let first = board.text("global");
        let expected = if language == "zh" {
            "# 全局白板 - "
        } else {
            "# Global board - "
        };
        assert!(first.starts_with(expected), "{variable}={locale}: {first}");
    }
}

on_both_stores!(
    a_board_reads_as_its_template_in_either_language,
    a_heading_is_found_in_the_other_language,
    the_first_change_keeps_the_template,
    a_chinese_entry_is_signed_in_chinese,
);
