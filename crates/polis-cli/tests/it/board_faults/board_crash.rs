//! Crash tests of boards: writer processes are killed (SIGKILL) at random moments. Acknowledged writes are
//! present, and the mirror file matches the store.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::board::board_helpers::{content_field, version_field};
use crate::harness::random_kill::{
    KillDelay, RECOVERY_TIMEOUT, SeededRng, crash_rounds, run_and_kill_after,
};
use crate::harness::test_project::{TestProject, on_both_stores, wait_until};

const WRITER_COUNT: u64 = 4;
/// The boards that are written, and their files.
const BOARD_FILES: [(&str, &str); 2] = [
    ("global", "global-whiteboard.md"),
    ("top", "whiteboards/top-layer.md"),
];

/// Writes that were acknowledged.
#[derive(Default)]
struct AcknowledgedBoardWrites {
    /// Entries appended to `global`, by version.
    appended: BTreeMap<u64, String>,
    /// Last number that each worker set in its section of `global`.
    set: BTreeMap<u64, u64>,
    /// Texts written to `top`, by version.
    written: BTreeMap<u64, String>,
    /// Last version of each board.
    newest: BTreeMap<&'static str, u64>,
}

impl AcknowledgedBoardWrites {
    fn record_version(&mut self, board: &'static str, version: u64) {
        let newest = self.newest.entry(board).or_default();
        *newest = version.max(*newest);
    }
}

/// Returns a text whose every line carries its name, so that a torn write is visible.
fn uniform_text(name: &str) -> String {
    format!("{name}\n").repeat(300)
}

fn is_uniform_text(text: &str) -> bool {
    let name = text.lines().next().unwrap_or_default();
    text == uniform_text(name)
}

/// Performs one random write, by a process that may be killed.
fn random_board_write(
    project: &TestProject,
    dice: &mut SeededRng,
    pace: &KillDelay,
    (worker, n): (u64, u64),
    told: &Mutex<AcknowledgedBoardWrites>,
) {
    let name = format!("<{worker}/{n}>");
    let kind = dice.next_below(3);
    let delay = pace.random_delay(dice);
    let (title, text) = (format!("Of {worker}"), uniform_text(&name));
    let number = n.to_string();
    let args = match kind {
        0 => ["board", "append", "global", "--content", &name].to_vec(),
        1 => [
            "board",
            "section",
            "set",
            "global",
            &title,
            "--content",
            &number,
        ]
        .to_vec(),
        _ => ["board", "write", "top", "--content", &text, "--force"].to_vec(),
    };
    let answer = run_and_kill_after(project, &args, delay, &[]);
    pace.adjust(answer.is_some());
    let Some(answer) = answer else { return };
    let mut told = told.lock().unwrap();
    let at = version_field(&answer);
    let twice = match kind {
        0 => told.appended.insert(at, name).is_some(),
        1 => {
            told.set.insert(worker, n);
            false
        }
        _ => told.written.insert(at, text).is_some(),
    };
    assert!(!twice, "a version was assigned twice");
    told.record_version(if kind == 2 { "top" } else { "global" }, at);
}

/// Reads while writers are being killed, and asserts that every text is complete.
fn read_until_stopped(project: &TestProject, over: &AtomicBool) {
    let mut seen = 0;
    while !over.load(Ordering::Relaxed) {
        let view = project.read_board("top");
        assert!(
            is_uniform_text(content_field(&view)),
            "a torn text was shown"
        );
        assert!(version_field(&view) >= seen, "the version decreased");
        seen = version_field(&view);
    }
}

/// Reads a board once the server has finished the requests of killed clients.
fn read_settled_board(project: &TestProject, name: &str) -> (u64, String) {
    let mut found = (0, String::new());
    wait_until("the store becoming idle", || {
        let before = project.board_version(name);
        let view = project.read_board(name);
        found = (version_field(&view), content_field(&view).to_owned());
        found.0 == before
    });
    found
}

fn assert_writes_present(project: &TestProject, told: &AcknowledgedBoardWrites) {
    let (global_version, text) = read_settled_board(project, "global");
    assert!(global_version >= *told.newest.get("global").unwrap_or(&0));
    let entries: Vec<&str> = text.lines().filter(|line| line.starts_with('<')).collect();
    // Acknowledged entries are present in version order.
    let mut found = entries.iter();
    for name in told.appended.values() {
        assert!(
            found.any(|entry| entry == name),
            "{name} is lost, or out of order"
        );
    }
    let headings = text.matches("### Update - ").count();
    assert_eq!(entries.len(), headings, "an incomplete entry");
    let mut once = entries.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), entries.len(), "an entry is present twice");
    for (worker, n) in &told.set {
        let section = text.split_once(&format!("## Of {worker}\n\n")).unwrap().1;
        let number: u64 = section.lines().next().unwrap().parse().unwrap();
        assert!(
            number >= *n,
            "section {worker} is at {number}, and {n} was acknowledged"
        );
    }
    let (top_version, text) = read_settled_board(project, "top");
    assert!(is_uniform_text(&text));
    assert!(top_version >= *told.newest.get("top").unwrap_or(&0));
    for version in project.board_versions("top") {
        let shown = project.run_ok("user", &["board", "show", "top", &version.to_string()]);
        assert!(is_uniform_text(content_field(&shown)));
        if let Some(written) = told.written.get(&version) {
            assert_eq!(
                content_field(&shown),
                written,
                "version {version} has other content"
            );
        }
    }
}

/// Asserts that file and store agree after one command, and that no half-written file is left among the
/// boards.
fn assert_files_match_store(project: &TestProject) {
    for (name, file) in BOARD_FILES {
        let text = project.board_text(name);
        assert!(
            project.data_file_bytes(file) == text.as_bytes(),
            "{file} differs from its board"
        );
    }
    let names = std::fs::read_dir(project.data_path("whiteboards")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort_unstable();
    assert_eq!(names, [".locks", "top-layer.md"]);
    for copy in std::fs::read_dir(project.data_path("whiteboard-history")).unwrap() {
        let path = copy.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            !stem.starts_with("top-layer") || is_uniform_text(&text),
            "{stem} is torn"
        );
    }
}

fn acknowledged_board_writes_survive_kills(project: &TestProject) {
    let sections: String = (0..WRITER_COUNT)
        .map(|n| format!("## Of {n}\n\n0\n\n"))
        .collect();
    project.write_board("global", &format!("# Storm\n\n{sections}## Log\n"));
    project.write_board("top", &uniform_text("<begun>"));
    let told = Mutex::new(AcknowledgedBoardWrites::default());
    let pace = KillDelay::from_micros(10_000);
    for round in 0..crash_rounds() {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| read_until_stopped(project, &over));
            let writers: Vec<_> = (0..WRITER_COUNT)
                .map(|worker| {
                    let (told, pace) = (&told, &pace);
                    scope.spawn(move || {
                        let mut dice = SeededRng(round * 1_000 + worker);
                        for n in 1..=8 {
                            random_board_write(
                                project,
                                &mut dice,
                                pace,
                                (worker, round * 8 + n),
                                told,
                            );
                        }
                    })
                })
                .collect();
            let done: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            over.store(true, Ordering::Relaxed);
            reader.join().unwrap();
            done.into_iter().for_each(Result::unwrap);
        });
        let begun = Instant::now();
        let name = format!("<after {round}>");
        let answer = project.run_ok("user", &["board", "append", "global", "--content", &name]);
        assert!(
            begun.elapsed() < RECOVERY_TIMEOUT,
            "the next command waited for a killed process"
        );
        let mut told = told.lock().unwrap();
        told.appended.insert(version_field(&answer), name);
        assert_writes_present(project, &told);
        if project.is_embedded() {
            assert_files_match_store(project);
        }
    }
    let told = told.into_inner().unwrap();
    assert!(told.newest.len() == 2, "nothing was ever acknowledged");
    // No crash was recorded as an edit or as a deleted file.
    let kinds: Vec<_> = project
        .read_log()
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    for kind in ["board.external", "board.file-restored"] {
        assert!(!kinds.contains(&kind.into()), "{kind}");
    }
    if project.is_embedded() {
        assert_eq!(project.run_ok("user", &["doctor"])["ok"], true);
    }
}

on_both_stores!(acknowledged_board_writes_survive_kills);
