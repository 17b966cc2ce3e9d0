//! Concurrency tests of tasks with real processes: nothing is done twice, nothing is lost, and no dependency cycle is
//! created.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::Barrier;

use serde_json::Value;

use crate::board::{Answer, Board, eventually, finish, on_both_stores, start};

/// Runs `work` on this many threads at once and collects the results.
pub(crate) fn together<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let (barrier, work) = (&barrier, &work);
        let running: Vec<_> = (0..threads)
            .map(|n| {
                scope.spawn(move || {
                    barrier.wait();
                    work(n)
                })
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

fn eight_processes_create_fifty_tasks_each(board: &Board) {
    let ids = together(8, |n| {
        let agent = format!("backend-leader-{n}");
        let create = |k: usize| {
            let subject = format!("{n}/{k}");
            let task = board.ok(&agent, &["task", "create", "--subject", &subject]);
            (task["id"].as_str().unwrap().to_owned(), subject)
        };
        (0..50).map(create).collect::<Vec<_>>()
    });
    let ids: BTreeSet<(String, String)> = ids.into_iter().flatten().collect();
    let distinct: BTreeSet<&String> = ids.iter().map(|(id, _)| id).collect();
    assert_eq!(distinct.len(), 400);
    let page = board.ok("user", &["task", "list"]);
    let listed: BTreeSet<(String, String)> = page["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            (
                t["id"].as_str().unwrap().to_owned(),
                t["subject"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(listed, ids);
    assert_eq!(board.log().len(), 400);
}

/// One registered agent with several concurrent claims, each of which updates the agent's own record.
fn a_registered_agent_claims_many_at_once(board: &Board) {
    board.ok(
        "user",
        &["agent", "add", "many-hands", "--role", "architect"],
    );
    for n in 0..8 {
        board.ok("user", &["task", "create", "--subject", &n.to_string()]);
    }
    let claimed = together(8, |n| {
        let id = (n + 1).to_string();
        board.ok("many-hands", &["task", "claim", &id])["owner"].clone()
    });
    assert!(claimed.iter().all(|owner| owner == "many-hands"));
}

fn one_of_thirty_two_claimers_wins(board: &Board) {
    let id = board.create(&["--required-role", "backend-leader"]);
    let children: Vec<Child> = (0..32)
        .map(|n| {
            start(&mut board.json_command(&format!("backend-leader-{n}"), &["task", "claim", &id]))
        })
        .collect();
    let answers: Vec<Answer> = children.into_iter().map(finish).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit == Some(0));
    assert_eq!(won.len(), 1);
    let task = won[0].document();
    for answer in &lost {
        let refused = answer.refusal(5, "already_claimed");
        assert!(
            refused.message.contains(task["owner"].as_str().unwrap()),
            "{refused:?}"
        );
    }
    assert_eq!(lost.len(), 31);
    assert_eq!(board.get(&id), task);
    let log = board.log();
    assert_eq!(
        log.iter().filter(|e| e["kind"] == "task.claimed").count(),
        1
    );
    assert_eq!(
        log.iter().filter(|e| e["kind"] == "task.refused").count(),
        31
    );
}

fn one_of_many_takes_a_stale_task(board: &Board) {
    let id = board.create(&[]);
    board.ok("architect", &["task", "claim", &id, "--lease", "1ms"]);
    eventually("the lease running out", || board.get(&id)["stale"] == true);
    let children: Vec<Child> = (0..16)
        .map(|n| start(&mut board.json_command(&format!("architect-{n}"), &["task", "claim", &id])))
        .collect();
    let answers: Vec<Answer> = children.into_iter().map(finish).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit == Some(0));
    assert_eq!(won.len(), 1);
    for answer in lost {
        answer.refusal(5, "already_claimed");
    }
    assert_eq!(board.get(&id), won[0].document());
}

fn a_name_is_registered_once(board: &Board) {
    let children: Vec<Child> = (0..8)
        .map(|_| {
            start(&mut board.json_command("user", &["agent", "add", "ada", "--role", "architect"]))
        })
        .collect();
    let answers: Vec<Answer> = children.into_iter().map(finish).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit == Some(0));
    assert_eq!(won.len(), 1);
    for answer in lost {
        answer.refusal(5, "agent_exists");
    }
    let kinds: Vec<_> = board
        .log()
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, ["agent.added", "workspace.assigned"]);
}

fn a_hundred_tasks_are_each_claimed_once(board: &Board) {
    let files = crate::task_files::TaskFiles::new(board, "list");
    for id in 1..=100 {
        files.task(id, &serde_json::json!({}));
    }
    files.import(board);
    let claimed = together(8, |n| {
        let agent = format!("backend-leader-{n}");
        let mut mine = Vec::new();
        loop {
            let answer = board.run(&agent, &["task", "claim"]);
            if answer.exit == Some(4) {
                answer.refusal(4, "nothing_to_claim");
                return mine;
            }
            let task = answer.document();
            assert_eq!(task["owner"], agent.as_str());
            mine.push(task["id"].as_str().unwrap().to_owned());
        }
    });
    let all: Vec<String> = claimed.iter().flatten().cloned().collect();
    assert_eq!(all.len(), 100);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 100);
    let log = board.log();
    let claims: Vec<&Value> = log.iter().filter(|e| e["kind"] == "task.claimed").collect();
    let subjects: BTreeSet<&str> = claims
        .iter()
        .map(|e| e["subject"].as_str().unwrap())
        .collect();
    assert_eq!((claims.len(), subjects.len()), (100, 100));
    for (n, ids) in claimed.iter().enumerate() {
        for id in ids {
            assert_eq!(board_owner(&claims, id), format!("backend-leader-{n}"));
        }
    }
}

fn board_owner(claims: &[&Value], id: &str) -> String {
    let subject = format!("task/{id}");
    let claim = claims
        .iter()
        .find(|e| e["subject"] == subject.as_str())
        .unwrap();
    claim["actor"].as_str().unwrap().to_owned()
}

fn two_writers_never_close_a_circle(board: &Board) {
    for round in 0..20 {
        let [a, b, c, d] = [(); 4].map(|()| board.create(&[]));
        // a -> b and c -> d exist. b -> c and d -> a together would close the cycle, and the two writers share no task.
        board.ok("user", &["task", "update", &a, "--add-blocks", &b]);
        board.ok("user", &["task", "update", &c, "--add-blocks", &d]);
        let children = [(&b, &c), (&d, &a)].map(|(from, to)| {
            start(&mut board.json_command("user", &["task", "update", from, "--add-blocks", to]))
        });
        let answers = children.map(finish);
        let won = answers
            .iter()
            .filter(|answer| answer.exit == Some(0))
            .count();
        assert_eq!(won, 1, "round {round}: {answers:?}");
        let lost = answers
            .iter()
            .find(|answer| answer.exit != Some(0))
            .unwrap();
        let refused = lost.refusal(5, "dependency_cycle");
        assert_eq!(refused.message.matches('#').count(), 5, "{refused:?}");
        let edges: usize = [&a, &b, &c, &d]
            .map(|id| board.get(id)["blocks"].as_array().unwrap().len())
            .iter()
            .sum();
        assert_eq!(edges, 3);
    }
    board.log();
}

fn updates_of_one_task_are_all_counted(board: &Board) {
    let id = board.create(&[]);
    together(8, |n| {
        for k in 0..10 {
            let patch = format!(r#"{{"{n}-{k}":true}}"#);
            board.ok("user", &["task", "update", &id, "--metadata", &patch]);
        }
    });
    let task = board.get(&id);
    assert_eq!(task["version"], 81);
    assert_eq!(task["metadata"].as_object().unwrap().len(), 80);
    assert_eq!(board.log().len(), 81);
}

fn completions_at_the_same_moment_unblock_once(board: &Board) {
    for _ in 0..5 {
        let blockers: Vec<String> = (0..6).map(|_| board.create(&[])).collect();
        let waiting = board.create(&["--add-blocked-by", &blockers.join(",")]);
        for id in &blockers {
            board.ok("user", &["task", "claim", id]);
        }
        let unblocked = together(6, |n| {
            let task = board.ok(
                "user",
                &["task", "update", &blockers[n], "--status", "completed"],
            );
            task["unblocked"].as_array().map_or(0, Vec::len)
        });
        assert_eq!(unblocked.iter().sum::<usize>(), 1, "exactly one is told");
        board.ok("user", &["task", "claim", &waiting]);
    }
}

fn a_watcher_sees_a_storm_in_order(board: &Board) {
    let watcher =
        start(&mut board.json_command("user", &["watch", "--since", "0", "--limit", "80"]));
    together(4, |_| {
        for _ in 0..20 {
            board.create(&[]);
        }
    });
    let answer = finish(watcher);
    let seqs: Vec<u64> = answer
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["seq"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(seqs, (1..=80).collect::<Vec<u64>>());
}

on_both_stores!(
    eight_processes_create_fifty_tasks_each,
    a_registered_agent_claims_many_at_once,
    one_of_thirty_two_claimers_wins,
    one_of_many_takes_a_stale_task,
    a_name_is_registered_once,
    a_hundred_tasks_are_each_claimed_once,
    two_writers_never_close_a_circle,
    updates_of_one_task_are_all_counted,
    completions_at_the_same_moment_unblock_once,
    a_watcher_sees_a_storm_in_order,
);
