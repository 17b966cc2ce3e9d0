//! Snapshot tests of every tab and overlay, in both languages, at 80x24 and on a narrow screen. The expected
//! frames are in `frames/`; `POLIS_WRITE_FRAMES=1` rewrites them, to be reviewed before they are committed.

use std::path::PathBuf;

use polis_tui::Tab;
use polis_view::UiLanguage;

use crate::test_tui::TestTui;

const DEFAULT_SIZE: (u16, u16) = (80, 24);
const NARROW_SIZE: (u16, u16) = (44, 12);

/// A name, the initial tab, and the keys to press.
const IDLE_TEAM_FRAMES: &[(&str, Tab, &str)] = &[
    ("now", Tab::Overview, ""),
    ("tasks", Tab::Tasks, ""),
    ("task", Tab::Tasks, "<enter>"),
    ("tasks-filtered", Tab::Tasks, "/test"),
    ("task-refused", Tab::Tasks, "["),
    ("task-form", Tab::Tasks, "a实现<tab>why"),
    ("task-delete", Tab::Tasks, "jD"),
    ("boards", Tab::Boards, ""),
    ("board", Tab::Boards, "<enter>"),
    ("board-versions", Tab::Boards, "v"),
    ("board-rulings", Tab::Boards, "o"),
    ("agents", Tab::Agents, ""),
    ("agent", Tab::Agents, "j<enter>"),
    ("workspaces", Tab::Workspaces, ""),
    ("files", Tab::Workspaces, "<enter>"),
    ("file", Tab::Workspaces, "<enter><enter>"),
    ("events", Tab::Events, ""),
    ("event", Tab::Events, "<enter>"),
    ("help", Tab::Tasks, "?"),
];

/// The same for a team with an active run.
const ACTIVE_RUN_FRAMES: &[(&str, Tab, &str)] = &[
    ("busy-now", Tab::Overview, ""),
    ("busy-allow", Tab::Overview, "ygo on"),
    ("busy-agents", Tab::Agents, ""),
    ("busy-member", Tab::Agents, "<enter>"),
    ("busy-commands", Tab::Workspaces, "jc"),
    ("busy-command", Tab::Workspaces, "jc<enter>"),
];

/// Returns every scene, and the function that opens it.
fn all_frames() -> impl Iterator<Item = (&'static (&'static str, Tab, &'static str), OpenTuiFn)> {
    let usual = IDLE_TEAM_FRAMES
        .iter()
        .map(|scene| (scene, TestTui::open_idle_team as OpenTuiFn));
    usual.chain(
        ACTIVE_RUN_FRAMES
            .iter()
            .map(|scene| (scene, TestTui::open_active_run as OpenTuiFn)),
    )
}

type OpenTuiFn = fn(UiLanguage, (u16, u16), Tab) -> TestTui;

fn expected_frame_path(name: &str, lang: UiLanguage, size: (u16, u16)) -> PathBuf {
    let file = format!("{name}-{}-{}x{}.txt", lang.code(), size.0, size.1);
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/frames")
        .join(file)
}

fn check_frames(size: (u16, u16)) {
    let write = std::env::var_os("POLIS_WRITE_FRAMES").is_some();
    for lang in [UiLanguage::En, UiLanguage::Zh] {
        for ((name, tab, keys), open) in all_frames() {
            let mut tui = open(lang, size, *tab);
            tui.press_keys(keys);
            let file = expected_frame_path(name, lang, size);
            if write {
                let drawn = tui.frame().join("\n");
                std::fs::write(file, format!("{}\n", drawn.trim_end())).unwrap();
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            tui.assert_frame(&file.display().to_string(), &text);
        }
    }
}

#[test]
fn frames_match_snapshots_at_80x24() {
    check_frames(DEFAULT_SIZE);
}

#[test]
fn frames_match_snapshots_at_44x12() {
    check_frames(NARROW_SIZE);
}

#[test]
fn too_small_terminal_shows_notice() {
    for (lang, said) in [(UiLanguage::En, "too small"), (UiLanguage::Zh, "窗口太小")] {
        for size in [(39, 24), (80, 9), (10, 3), (1, 1)] {
            let tui = TestTui::open_idle_team(lang, size, Tab::Tasks);
            let drawn = tui.frame().join(" ");
            assert!(size.0 < 20 || drawn.contains(said), "{size:?}: {drawn}");
        }
    }
}

#[test]
fn frames_never_exceed_terminal_width() {
    for width in (1..100).step_by(7) {
        for height in (1..40).step_by(5) {
            for ((name, tab, keys), open) in all_frames() {
                let mut tui = open(UiLanguage::Zh, (width, height), *tab);
                tui.press_keys(keys);
                for line in tui.frame() {
                    let columns = unicode_width::UnicodeWidthStr::width(line.as_str());
                    assert!(
                        columns <= usize::from(width),
                        "{name} {width}x{height}: {line}"
                    );
                }
            }
        }
    }
}

#[test]
fn resize_keeps_selection_visible() {
    let mut tui = TestTui::open_idle_team(UiLanguage::En, DEFAULT_SIZE, Tab::Events);
    tui.press_keys("ggjj");
    assert!(tui.shows_text("registered backend"));
    for size in [(60, 15), (44, 10), (20, 5), (80, 24)] {
        tui.send(polis_tui::app::AppMessage::Resize(size.0, size.1));
        assert!(
            size.0 < 40 || tui.shows_text("registered backend"),
            "{size:?}"
        );
    }
    assert_eq!(tui.app.page().unwrap().selected, 2);
}

#[test]
fn control_characters_in_content_are_sanitized() {
    let mut tui = TestTui::open_idle_team(UiLanguage::En, DEFAULT_SIZE, Tab::Tasks);
    let user = polis_core::AgentId::user();
    let hostile = "a\u{1b}[2J\u{9b}31m\u{202e}b";
    let file = polis_core::workspace::file_tools::WriteFileParams {
        path: "evil.sh".to_owned(),
        content: hostile.to_owned(),
        ..Default::default()
    };
    let lead: polis_core::AgentId = "lead".parse().unwrap();
    tui.block_on(polis_ops::op::write_file(
        &tui.app().request(&lead),
        None,
        &file,
    ))
    .unwrap();
    let board = polis_ops::op::BoardWriteParams {
        board: polis_core::board::BoardName::Global,
        content: hostile.to_owned(),
        expected_version: None,
        merge: false,
        force: true,
    };
    tui.block_on(polis_ops::op::write_board(
        &tui.app().request(&user),
        &board,
    ))
    .unwrap();
    for keys in ["3<enter>", "v<enter>", "5<enter><enter>", "6G<enter>"] {
        tui.press_keys(keys);
        let drawn = tui.frame().join("");
        let drives = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!drawn.contains(drives), "{keys}: {drawn:?}");
        assert!(
            keys.starts_with('6') || drawn.contains("a�[2J�31m�b"),
            "{keys}: {drawn}"
        );
    }
}
