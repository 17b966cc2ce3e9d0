//! Snapshot tests of every tab and overlay, in both languages, at 80x24 and on a narrow screen. The expected
//! frames are in `frames/`; `POLIS_WRITE_FRAMES=1` rewrites them, to be reviewed before they are committed.

use std::path::PathBuf;

use polis_tui::Tab;
use polis_view::Lang;

use crate::hall::Hall;

const USUAL: (u16, u16) = (80, 24);
const NARROW: (u16, u16) = (44, 12);

/// A name, the initial tab, and the keys to press.
const SCENES: &[(&str, Tab, &str)] = &[
    ("now", Tab::Now, ""),
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
const BUSY: &[(&str, Tab, &str)] = &[
    ("busy-now", Tab::Now, ""),
    ("busy-allow", Tab::Now, "ygo on"),
    ("busy-agents", Tab::Agents, ""),
    ("busy-member", Tab::Agents, "<enter>"),
    ("busy-commands", Tab::Workspaces, "jc"),
    ("busy-command", Tab::Workspaces, "jc<enter>"),
];

/// Returns every scene, and the function that opens it.
fn scenes() -> impl Iterator<Item = (&'static (&'static str, Tab, &'static str), Open)> {
    let usual = SCENES.iter().map(|scene| (scene, Hall::open as Open));
    usual.chain(BUSY.iter().map(|scene| (scene, Hall::busy as Open)))
}

type Open = fn(Lang, (u16, u16), Tab) -> Hall;

fn expected(name: &str, lang: Lang, size: (u16, u16)) -> PathBuf {
    let file = format!("{name}-{}-{}x{}.txt", lang.code(), size.0, size.1);
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/frames")
        .join(file)
}

fn check(size: (u16, u16)) {
    let write = std::env::var_os("POLIS_WRITE_FRAMES").is_some();
    for lang in [Lang::En, Lang::Zh] {
        for ((name, tab, keys), open) in scenes() {
            let mut hall = open(lang, size, *tab);
            hall.keys(keys);
            let file = expected(name, lang, size);
            if write {
                let drawn = hall.frame().join("\n");
                std::fs::write(file, format!("{}\n", drawn.trim_end())).unwrap();
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            hall.shows(&file.display().to_string(), &text);
        }
    }
}

#[test]
fn every_page_is_drawn_as_expected_at_80x24() {
    check(USUAL);
}

#[test]
fn every_page_is_drawn_as_expected_on_a_narrow_screen() {
    check(NARROW);
}

#[test]
fn a_screen_that_is_too_small_says_so() {
    for (lang, said) in [(Lang::En, "Too small"), (Lang::Zh, "窗口太小")] {
        for size in [(39, 24), (80, 9), (10, 3), (1, 1)] {
            let hall = Hall::open(lang, size, Tab::Tasks);
            let drawn = hall.frame().join(" ");
            assert!(size.0 < 20 || drawn.contains(said), "{size:?}: {drawn}");
        }
    }
}

#[test]
fn nothing_is_drawn_beyond_the_edge_of_any_screen() {
    for width in (1..100).step_by(7) {
        for height in (1..40).step_by(5) {
            for ((name, tab, keys), open) in scenes() {
                let mut hall = open(Lang::Zh, (width, height), *tab);
                hall.keys(keys);
                for line in hall.frame() {
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
fn a_resize_keeps_what_is_selected_in_view() {
    let mut hall = Hall::open(Lang::En, USUAL, Tab::Events);
    hall.keys("ggjj");
    assert!(hall.has("registered backend"));
    for size in [(60, 15), (44, 10), (20, 5), (80, 24)] {
        hall.tell(polis_tui::app::Message::Resize(size.0, size.1));
        assert!(size.0 < 40 || hall.has("registered backend"), "{size:?}");
    }
    assert_eq!(hall.app.page().unwrap().selected, 2);
}

#[test]
fn text_of_others_cannot_drive_the_terminal() {
    let mut hall = Hall::open(Lang::En, USUAL, Tab::Tasks);
    let user = polis_core::AgentId::user();
    let hostile = "a\u{1b}[2J\u{9b}31m\u{202e}b";
    let file = polis_core::workspace::file::WriteFile {
        path: "evil.sh".to_owned(),
        content: hostile.to_owned(),
        ..Default::default()
    };
    let lead: polis_core::AgentId = "lead".parse().unwrap();
    let desk = polis_ops::op::Desk::own(&lead);
    hall.wait(polis_ops::op::write_file(hall.polis(), desk, &file))
        .unwrap();
    let board = polis_ops::op::BoardOverwrite {
        board: polis_core::board::BoardName::Global,
        content: hostile.to_owned(),
        expected_version: None,
        merge: false,
        force: true,
    };
    hall.wait(polis_ops::op::write_board(hall.polis(), &user, &board))
        .unwrap();
    for keys in ["3<enter>", "v<enter>", "5<enter><enter>", "6G<enter>"] {
        hall.keys(keys);
        let drawn = hall.frame().join("");
        let drives = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!drawn.contains(drives), "{keys}: {drawn:?}");
        assert!(
            keys.starts_with('6') || drawn.contains("a�[2J�31m�b"),
            "{keys}: {drawn}"
        );
    }
}
