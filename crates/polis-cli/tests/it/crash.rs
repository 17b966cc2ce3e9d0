//! Crash tests of tasks: writers are killed at any moment. Acknowledged writes are present; unacknowledged ones are
//! complete or absent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::board::{Board, eventually, on_both_stores};
use crate::kill::{AT_ONCE, Dice, Pace, killed_after, rounds};
use crate::task_files::{TaskFiles, exported};

/// The only refusal that the random writes cause.
const CIRCLE: &[&str] = &["dependency_cycle"];

/// Writes that were acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// Subjects by task number.
    created: BTreeMap<String, String>,
    /// Task number and metadata key.
    marked: BTreeSet<(String, String)>,
    /// Blocking and blocked task.
    linked: BTreeSet<(String, String)>,
}

/// Performs one random write, by a process that may be killed.
fn one_write(board: &Board, dice: &mut Dice, pace: &Pace, name: &str, told: &Mutex<Acknowledged>) {
    let known: Vec<String> = told.lock().unwrap().created.keys().cloned().collect();
    let mut any = || {
        let at = usize::try_from(dice.below(known.len() as u64)).unwrap();
        known.get(at).cloned()
    };
    let (first, second) = (any(), any());
    let kind = dice.below(3);
    let delay = pace.delay(dice);
    let answered = match (kind, first, second) {
        (1, Some(id), _) => {
            let patch = json!({ name: name }).to_string();
            let update = ["task", "update", &id, "--metadata", &patch];
            let answer = killed_after(board, &update, delay, CIRCLE);
            if answer.is_some() {
                let mark = (id, name.to_owned());
                told.lock().unwrap().marked.insert(mark);
            }
            answer
        }
        (2, Some(from), Some(to)) if from != to => {
            let update = ["task", "update", &from, "--add-blocks", &to];
            let answer = killed_after(board, &update, delay, CIRCLE);
            if answer.is_some() {
                told.lock().unwrap().linked.insert((from, to));
            }
            answer
        }
        _ => {
            let create = ["task", "create", "--subject", name, "--description", name];
            let answer = killed_after(board, &create, delay, CIRCLE);
            if let Some(task) = &answer {
                let id = task["id"].as_str().unwrap().to_owned();
                let twice = told.lock().unwrap().created.insert(id, name.to_owned());
                assert_eq!(twice, None, "a number was given out twice");
            }
            answer
        }
    };
    pace.learn(answered.is_some());
}

/// Returns the tasks and the log of one moment, once the server has finished the requests of killed clients.
fn at_rest(board: &Board, directory: &str) -> (BTreeMap<String, Value>, Vec<Value>) {
    let mut found = None;
    eventually("the store coming to rest", || {
        let before = board.log().len();
        let files = exported(board, directory);
        let log = board.log();
        let rests = log.len() == before;
        found = Some((files, log));
        rests
    });
    found.unwrap()
}

/// Asserts that every acknowledged write is present, and that everything present is complete.
fn check(board: &Board, told: &Acknowledged, directory: &str) {
    let (files, log) = at_rest(board, directory);
    let task = |id: &str| &files[&format!("{id}.json")];
    let names = |id: &str, field: &str, other: &str| {
        task(id)[field].as_array().unwrap().contains(&json!(other))
    };
    for (id, subject) in &told.created {
        assert_eq!(task(id)["subject"], subject.as_str());
    }
    for (id, key) in &told.marked {
        assert_eq!(
            task(id)["metadata"][key],
            key.as_str(),
            "a change of task {id} is lost"
        );
    }
    for (from, to) in &told.linked {
        assert!(names(from, "blocks", to), "the edge {from} -> {to} is lost");
    }
    for task in files.values() {
        assert_eq!(task["subject"], task["description"], "half a task");
        let id = task["id"].as_str().unwrap();
        for (field, back) in [("blocks", "blockedBy"), ("blockedBy", "blocks")] {
            for other in task[field].as_array().unwrap() {
                assert!(
                    names(other.as_str().unwrap(), back, id),
                    "an edge with one side at {id}"
                );
            }
        }
    }
    let created = log.iter().filter(|event| event["kind"] == "task.created");
    let created = created.count();
    assert_eq!(created, files.len(), "log and tasks disagree");
}

fn acknowledged_writes_survive_kills(board: &Board) {
    let told = Mutex::new(Acknowledged::default());
    let pace = Pace::of_micros(10_000);
    for round in 0..rounds() {
        std::thread::scope(|scope| {
            for worker in 0..4_u64 {
                let (told, pace) = (&told, &pace);
                scope.spawn(move || {
                    let mut dice = Dice(round * 1_000 + worker);
                    for n in 0..10 {
                        one_write(
                            board,
                            &mut dice,
                            pace,
                            &format!("{round}/{worker}/{n}"),
                            told,
                        );
                    }
                });
            }
        });
        let begun = Instant::now();
        let name = format!("after {round}");
        let create = ["task", "create", "--subject", &name, "--description", &name];
        let id = board.ok("user", &create)["id"].as_str().unwrap().to_owned();
        assert!(
            begun.elapsed() < AT_ONCE,
            "the next command waited for the dead"
        );
        let mut told = told.lock().unwrap();
        told.created.insert(id, name);
        check(board, &told, &format!("out-{round}"));
    }
    let told = told.into_inner().unwrap();
    assert!(told.created.len() > 1, "nothing was ever acknowledged");
    if board.is_embedded() {
        assert_eq!(board.ok("user", &["doctor"])["ok"], true);
    }
}

fn a_killed_import_is_all_or_nothing(first: &Board) {
    const FILES: u64 = 2_000;
    let files = TaskFiles::new(first, "list");
    for id in 1..=FILES {
        let blocked: Vec<String> = (id > 1).then(|| (id - 1).to_string()).into_iter().collect();
        let blocks: Vec<String> = (id < FILES)
            .then(|| (id + 1).to_string())
            .into_iter()
            .collect();
        files.task(id, &json!({"blockedBy": blocked, "blocks": blocks}));
    }
    let import = ["task", "import", files.name()];
    let begun = Instant::now();
    files.import(first);
    let whole_time = u64::try_from(begun.elapsed().as_micros()).unwrap();
    let mut dice = Dice(2_000);
    for _ in 0..rounds() {
        let board = first.another();
        let delay = Duration::from_micros(dice.below(whole_time * 5 / 4));
        let report = killed_after(&board, &import, delay, &[]);
        let begun = Instant::now();
        let overview = board.ok("user", &["stats"]);
        assert!(
            begun.elapsed() < AT_ONCE,
            "the next command waited for the dead"
        );
        let tasks = &overview["pending"];
        assert!(*tasks == FILES || *tasks == 0, "half an import: {overview}");
        assert!(
            *tasks == FILES || report.is_none(),
            "an acknowledged import is lost"
        );
        let again = files.import(&board);
        let (imported, unchanged) = (&again["imported"], &again["unchanged"]);
        assert!(*imported == 0 || *unchanged == 0, "half an import: {again}");
        assert!(*imported == FILES || *unchanged == FILES, "{again}");
        assert!(*tasks == 0 || *unchanged == FILES, "an import is lost");
        assert_eq!(board.log().len(), 2_000);
        assert_eq!(board.listed("user", &["task", "ready"]), ["1"]);
    }
}

#[test]
fn an_interrupted_init_can_be_repeated() {
    let mut dice = Dice(7);
    for _ in 0..rounds() * 3 {
        let board = Board::bare();
        let delay = Duration::from_micros(dice.below(12_000));
        killed_after(&board, &["init"], delay, &[]);
        board.ok("user", &["init"]);
        assert_eq!(board.create(&[]), "1");
        assert_eq!(board.ok("user", &["doctor"])["ok"], true);
    }
}

on_both_stores!(
    acknowledged_writes_survive_kills,
    a_killed_import_is_all_or_nothing
);
