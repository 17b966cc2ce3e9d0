//! Crash tests of boards: writers are killed at any moment. Acknowledged writes are present, and the file matches the
//! store.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::board::{Board, eventually, on_both_stores};
use crate::boards_team::{content, version};
use crate::kill::{AT_ONCE, Dice, Pace, killed_after, rounds};

const WORKERS: u64 = 4;
/// The boards that are written, and their files.
const FILES: [(&str, &str); 2] = [
    ("global", "global-whiteboard.md"),
    ("top", "whiteboards/top-layer.md"),
];

/// Writes that were acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// Entries appended to `global`, by version.
    appended: BTreeMap<u64, String>,
    /// Last number that each worker set in its section of `global`.
    set: BTreeMap<u64, u64>,
    /// Texts written to `top`, by version.
    written: BTreeMap<u64, String>,
    /// Last version of each board.
    newest: BTreeMap<&'static str, u64>,
}

impl Acknowledged {
    fn version(&mut self, board: &'static str, version: u64) {
        let newest = self.newest.entry(board).or_default();
        *newest = version.max(*newest);
    }
}

/// Returns a text whose every line carries its name, so that a torn write is visible.
fn whole(name: &str) -> String {
    format!("{name}\n").repeat(300)
}

fn is_whole(text: &str) -> bool {
    let name = text.lines().next().unwrap_or_default();
    text == whole(name)
}

/// Performs one random write, by a process that may be killed.
fn one_write(
    board: &Board,
    dice: &mut Dice,
    pace: &Pace,
    (worker, n): (u64, u64),
    told: &Mutex<Acknowledged>,
) {
    let name = format!("<{worker}/{n}>");
    let kind = dice.below(3);
    let delay = pace.delay(dice);
    let (title, text) = (format!("Of {worker}"), whole(&name));
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
    let answer = killed_after(board, &args, delay, &[]);
    pace.learn(answer.is_some());
    let Some(answer) = answer else { return };
    let mut told = told.lock().unwrap();
    let at = version(&answer);
    let twice = match kind {
        0 => told.appended.insert(at, name).is_some(),
        1 => {
            told.set.insert(worker, n);
            false
        }
        _ => told.written.insert(at, text).is_some(),
    };
    assert!(!twice, "a version was given out twice");
    told.version(if kind == 2 { "top" } else { "global" }, at);
}

/// Reads while writers are being killed, and asserts that every text is complete.
fn keep_reading(board: &Board, over: &AtomicBool) {
    let mut seen = 0;
    while !over.load(Ordering::Relaxed) {
        let view = board.view("top");
        assert!(is_whole(content(&view)), "a torn text was shown");
        assert!(version(&view) >= seen, "a version went back");
        seen = version(&view);
    }
}

/// Reads a board once the server has finished the requests of killed clients.
fn at_rest(board: &Board, name: &str) -> (u64, String) {
    let mut found = (0, String::new());
    eventually("the store coming to rest", || {
        let before = board.version(name);
        let view = board.view(name);
        found = (version(&view), content(&view).to_owned());
        found.0 == before
    });
    found
}

fn check(board: &Board, told: &Acknowledged) {
    let (global_version, text) = at_rest(board, "global");
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
    assert_eq!(entries.len(), headings, "half an entry");
    let mut once = entries.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), entries.len(), "an entry is there twice");
    for (worker, n) in &told.set {
        let section = text.split_once(&format!("## Of {worker}\n\n")).unwrap().1;
        let number: u64 = section.lines().next().unwrap().parse().unwrap();
        assert!(
            number >= *n,
            "section {worker} is at {number}, and {n} was acknowledged"
        );
    }
    let (top_version, text) = at_rest(board, "top");
    assert!(is_whole(&text));
    assert!(top_version >= *told.newest.get("top").unwrap_or(&0));
    for version in board.versions("top") {
        let shown = board.ok("user", &["board", "show", "top", &version.to_string()]);
        assert!(is_whole(content(&shown)));
        if let Some(written) = told.written.get(&version) {
            assert_eq!(content(&shown), written, "version {version} is another");
        }
    }
}

/// Asserts that file and store agree after one command, and that no half-written file is left among the boards.
fn check_files(board: &Board) {
    for (name, file) in FILES {
        let text = board.text(name);
        assert!(
            board.bytes(file) == text.as_bytes(),
            "{file} is not its board"
        );
    }
    let names = std::fs::read_dir(board.workspace("whiteboards")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort_unstable();
    assert_eq!(names, [".locks", "top-layer.md"]);
    for copy in std::fs::read_dir(board.workspace("whiteboard-history")).unwrap() {
        let path = copy.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            !stem.starts_with("top-layer") || is_whole(&text),
            "{stem} is torn"
        );
    }
}

fn acknowledged_writes_survive_kills(board: &Board) {
    let sections: String = (0..WORKERS)
        .map(|n| format!("## Of {n}\n\n0\n\n"))
        .collect();
    board.put("global", &format!("# Storm\n\n{sections}## Log\n"));
    board.put("top", &whole("<begun>"));
    let told = Mutex::new(Acknowledged::default());
    let pace = Pace::of_micros(10_000);
    for round in 0..rounds() {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| keep_reading(board, &over));
            let writers: Vec<_> = (0..WORKERS)
                .map(|worker| {
                    let (told, pace) = (&told, &pace);
                    scope.spawn(move || {
                        let mut dice = Dice(round * 1_000 + worker);
                        for n in 1..=8 {
                            one_write(board, &mut dice, pace, (worker, round * 8 + n), told);
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
        let answer = board.ok("user", &["board", "append", "global", "--content", &name]);
        assert!(
            begun.elapsed() < AT_ONCE,
            "the next command waited for the dead"
        );
        let mut told = told.lock().unwrap();
        told.appended.insert(version(&answer), name);
        check(board, &told);
        if board.is_embedded() {
            check_files(board);
        }
    }
    let told = told.into_inner().unwrap();
    assert!(told.newest.len() == 2, "nothing was ever acknowledged");
    // No crash was recorded as an edit or as a deleted file.
    let kinds: Vec<_> = board
        .log()
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    for kind in ["board.external", "board.file-restored"] {
        assert!(!kinds.contains(&kind.into()), "{kind}");
    }
    if board.is_embedded() {
        assert_eq!(board.ok("user", &["doctor"])["ok"], true);
    }
}

on_both_stores!(acknowledged_writes_survive_kills);
