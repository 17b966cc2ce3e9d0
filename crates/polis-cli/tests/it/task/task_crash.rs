//! Crash tests of tasks: writer processes are killed (SIGKILL) at random moments. Acknowledged writes are
//! present; unacknowledged ones are complete or absent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::random_kill::{
    KillDelay, RECOVERY_TIMEOUT, SeededRng, crash_rounds, run_and_kill_after,
};
use crate::harness::test_project::{TestProject, on_both_stores, wait_until};
use crate::task::task_file_dir::{TaskFileDir, export_tasks};

/// The only refusal that the random writes cause.
const EXPECTED_REFUSALS: &[&str] = &["dependency_cycle"];

/// Writes that were acknowledged.
#[derive(Default)]
struct AcknowledgedTaskWrites {
    /// Subjects by task number.
    created: BTreeMap<String, String>,
    /// Task number and metadata key.
    marked: BTreeSet<(String, String)>,
    /// Blocking and blocked task.
    linked: BTreeSet<(String, String)>,
}

/// Performs one random write, by a process that may be killed.
fn random_task_write(
    project: &TestProject,
    dice: &mut SeededRng,
    pace: &KillDelay,
    name: &str,
    told: &Mutex<AcknowledgedTaskWrites>,
) {
    let known: Vec<String> = told.lock().unwrap().created.keys().cloned().collect();
    let mut any = || {
        let at = usize::try_from(dice.next_below(known.len() as u64)).unwrap();
        known.get(at).cloned()
    };
    let (first, second) = (any(), any());
    let kind = dice.next_below(3);
    let delay = pace.random_delay(dice);
    let answered = match (kind, first, second) {
        (1, Some(id), _) => {
            let patch = json!({ name: name }).to_string();
            let update = ["task", "update", &id, "--metadata", &patch];
            let answer = run_and_kill_after(project, &update, delay, EXPECTED_REFUSALS);
            if answer.is_some() {
                let mark = (id, name.to_owned());
                told.lock().unwrap().marked.insert(mark);
            }
            answer
        }
        (2, Some(from), Some(to)) if from != to => {
            let update = ["task", "update", &from, "--add-blocks", &to];
            let answer = run_and_kill_after(project, &update, delay, EXPECTED_REFUSALS);
            if answer.is_some() {
                told.lock().unwrap().linked.insert((from, to));
            }
            answer
        }
        _ => {
            let create = ["task", "create", "--subject", name, "--description", name];
            let answer = run_and_kill_after(project, &create, delay, EXPECTED_REFUSALS);
            if let Some(task) = &answer {
                let id = task["id"].as_str().unwrap().to_owned();
                let twice = told.lock().unwrap().created.insert(id, name.to_owned());
                assert_eq!(twice, None, "a task number was assigned twice");
            }
            answer
        }
    };
    pace.adjust(answered.is_some());
}

/// Returns the tasks and the log of one moment, once the server has finished the requests of killed clients.
fn read_settled_tasks(
    project: &TestProject,
    directory: &str,
) -> (BTreeMap<String, Value>, Vec<Value>) {
    let mut found = None;
    wait_until("the store becoming idle", || {
        let before = project.read_log().len();
        let files = export_tasks(project, directory);
        let log = project.read_log();
        let rests = log.len() == before;
        found = Some((files, log));
        rests
    });
    found.unwrap()
}

/// Asserts that every acknowledged write is present, and that everything present is complete.
fn assert_tasks_consistent(project: &TestProject, told: &AcknowledgedTaskWrites, directory: &str) {
    let (files, log) = read_settled_tasks(project, directory);
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
        assert_eq!(task["subject"], task["description"], "an incomplete task");
        let id = task["id"].as_str().unwrap();
        for (field, back) in [("blocks", "blockedBy"), ("blockedBy", "blocks")] {
            for other in task[field].as_array().unwrap() {
                assert!(
                    names(other.as_str().unwrap(), back, id),
                    "an edge is stored on one side only, at {id}"
                );
            }
        }
    }
    let created = log.iter().filter(|event| event["kind"] == "task.created");
    let created = created.count();
    assert_eq!(created, files.len(), "log and tasks disagree");
}

fn acknowledged_task_writes_survive_kills(project: &TestProject) {
    let told = Mutex::new(AcknowledgedTaskWrites::default());
    let pace = KillDelay::from_micros(10_000);
    for round in 0..crash_rounds() {
        std::thread::scope(|scope| {
            for worker in 0..4_u64 {
                let (told, pace) = (&told, &pace);
                scope.spawn(move || {
                    let mut dice = SeededRng(round * 1_000 + worker);
                    for n in 0..10 {
                        random_task_write(
                            project,
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
        let id = project.run_ok("user", &create)["id"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            begun.elapsed() < RECOVERY_TIMEOUT,
            "the next command waited for a killed process"
        );
        let mut told = told.lock().unwrap();
        told.created.insert(id, name);
        assert_tasks_consistent(project, &told, &format!("out-{round}"));
    }
    let told = told.into_inner().unwrap();
    assert!(told.created.len() > 1, "nothing was ever acknowledged");
    if project.is_embedded() {
        assert_eq!(project.run_ok("user", &["doctor"])["ok"], true);
    }
}

fn killed_import_is_all_or_nothing(first: &TestProject) {
    const FILES: u64 = 2_000;
    let files = TaskFileDir::new(first, "list");
    for id in 1..=FILES {
        let blocked: Vec<String> = (id > 1).then(|| (id - 1).to_string()).into_iter().collect();
        let blocks: Vec<String> = (id < FILES)
            .then(|| (id + 1).to_string())
            .into_iter()
            .collect();
        files.write_task(id, &json!({"blockedBy": blocked, "blocks": blocks}));
    }
    let import = ["task", "import", files.path_arg()];
    let begun = Instant::now();
    files.import_as_user(first);
    let whole_time = u64::try_from(begun.elapsed().as_micros()).unwrap();
    let mut dice = SeededRng(2_000);
    for _ in 0..crash_rounds() {
        let project = first.new_sibling();
        let delay = Duration::from_micros(dice.next_below(whole_time * 5 / 4));
        let report = run_and_kill_after(&project, &import, delay, &[]);
        let begun = Instant::now();
        let overview = project.run_ok("user", &["stats"]);
        assert!(
            begun.elapsed() < RECOVERY_TIMEOUT,
            "the next command waited for a killed process"
        );
        let tasks = &overview["pending"];
        assert!(
            *tasks == FILES || *tasks == 0,
            "a partial import: {overview}"
        );
        assert!(
            *tasks == FILES || report.is_none(),
            "an acknowledged import is lost"
        );
        let again = files.import_as_user(&project);
        let (imported, unchanged) = (&again["imported"], &again["unchanged"]);
        assert!(
            *imported == 0 || *unchanged == 0,
            "a partial import: {again}"
        );
        assert!(*imported == FILES || *unchanged == FILES, "{again}");
        assert!(*tasks == 0 || *unchanged == FILES, "an import is lost");
        assert_eq!(project.read_log().len(), 2_000);
        assert_eq!(project.list_task_ids("user", &["task", "ready"]), ["1"]);
    }
}

#[test]
fn killed_init_can_be_repeated() {
    let mut dice = SeededRng(7);
    for _ in 0..crash_rounds() * 3 {
        let project = TestProject::uninitialized();
        let delay = Duration::from_micros(dice.next_below(12_000));
        run_and_kill_after(&project, &["init"], delay, &[]);
        project.run_ok("user", &["init"]);
        assert_eq!(project.create_task(&[]), "1");
        assert_eq!(project.run_ok("user", &["doctor"])["ok"], true);
    }
}

on_both_stores!(
    acknowledged_task_writes_survive_kills,
    killed_import_is_all_or_nothing
);
