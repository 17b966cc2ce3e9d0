//! Concurrency tests of tasks with many processes: no task is claimed twice, no update is lost, and no
//! dependency cycle is created.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::Barrier;

use serde_json::Value;

use crate::harness::test_project::{
    CommandOutput, TestProject, on_both_stores, spawn_captured, wait_for_output, wait_until,
};

/// Runs `work` on this many threads at once and collects the results.
pub(crate) fn run_concurrently<T: Send>(
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
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

fn concurrent_creates_get_distinct_task_ids(project: &TestProject) {
    let ids = run_concurrently(8, |n| {
        let agent = format!("backend-leader-{n}");
        let create = |k: usize| {
            let subject = format!("{n}/{k}");
            let task = project.run_ok(&agent, &["task", "create", "--subject", &subject]);
            (task["id"].as_str().unwrap().to_owned(), subject)
        };
        (0..50).map(create).collect::<Vec<_>>()
    });
    let ids: BTreeSet<(String, String)> = ids.into_iter().flatten().collect();
    let distinct: BTreeSet<&String> = ids.iter().map(|(id, _)| id).collect();
    assert_eq!(distinct.len(), 400);
    let page = project.run_ok("user", &["task", "list"]);
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
    assert_eq!(project.read_log().len(), 400);
}

/// One registered agent with several concurrent claims, each of which updates the agent's own record.
fn concurrent_claims_by_one_agent_all_succeed(project: &TestProject) {
    project.run_ok(
        "user",
        &["agent", "add", "many-hands", "--role", "architect"],
    );
    for n in 0..8 {
        project.run_ok("user", &["task", "create", "--subject", &n.to_string()]);
    }
    let claimed = run_concurrently(8, |n| {
        let id = (n + 1).to_string();
        project.run_ok("many-hands", &["task", "claim", &id])["owner"].clone()
    });
    assert!(claimed.iter().all(|owner| owner == "many-hands"));
}

fn concurrent_claims_of_one_task_let_one_win(project: &TestProject) {
    let id = project.create_task(&["--required-role", "backend-leader"]);
    let children: Vec<Child> = (0..32)
        .map(|n| {
            spawn_captured(
                &mut project.json_command(&format!("backend-leader-{n}"), &["task", "claim", &id]),
            )
        })
        .collect();
    let answers: Vec<CommandOutput> = children.into_iter().map(wait_for_output).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit_code == Some(0));
    assert_eq!(won.len(), 1);
    let task = won[0].expect_document();
    for answer in &lost {
        let refused = answer.expect_refusal(5, "already_claimed");
        assert!(
            refused.message.contains(task["owner"].as_str().unwrap()),
            "{refused:?}"
        );
    }
    assert_eq!(lost.len(), 31);
    assert_eq!(project.get_task(&id), task);
    let log = project.read_log();
    assert_eq!(
        log.iter().filter(|e| e["kind"] == "task.claimed").count(),
        1
    );
    assert_eq!(
        log.iter().filter(|e| e["kind"] == "task.refused").count(),
        31
    );
}

fn concurrent_claims_of_a_stale_task_let_one_win(project: &TestProject) {
    let id = project.create_task(&[]);
    project.run_ok("architect", &["task", "claim", &id, "--lease", "1ms"]);
    wait_until("the lease running out", || {
        project.get_task(&id)["stale"] == true
    });
    let children: Vec<Child> = (0..16)
        .map(|n| {
            spawn_captured(
                &mut project.json_command(&format!("architect-{n}"), &["task", "claim", &id]),
            )
        })
        .collect();
    let answers: Vec<CommandOutput> = children.into_iter().map(wait_for_output).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit_code == Some(0));
    assert_eq!(won.len(), 1);
    for answer in lost {
        answer.expect_refusal(5, "already_claimed");
    }
    assert_eq!(project.get_task(&id), won[0].expect_document());
}

fn concurrent_registrations_of_one_name_let_one_win(project: &TestProject) {
    let children: Vec<Child> = (0..8)
        .map(|_| {
            spawn_captured(
                &mut project.json_command("user", &["agent", "add", "ada", "--role", "architect"]),
            )
        })
        .collect();
    let answers: Vec<CommandOutput> = children.into_iter().map(wait_for_output).collect();
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exit_code == Some(0));
    assert_eq!(won.len(), 1);
    for answer in lost {
        answer.expect_refusal(5, "agent_exists");
    }
    let kinds: Vec<_> = project
        .read_log()
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, ["agent.added", "workspace.assigned"]);
}

fn concurrent_claims_take_each_task_once(project: &TestProject) {
    let files = crate::task::task_file_dir::TaskFileDir::new(project, "list");
    for id in 1..=100 {
        files.write_task(id, &serde_json::json!({}));
    }
    files.import_as_user(project);
    let claimed = run_concurrently(8, |n| {
        let agent = format!("backend-leader-{n}");
        let mut mine = Vec::new();
        loop {
            let answer = project.run_json(&agent, &["task", "claim"]);
            if answer.exit_code == Some(4) {
                answer.expect_refusal(4, "nothing_to_claim");
                return mine;
            }
            let task = answer.expect_document();
            assert_eq!(task["owner"], agent.as_str());
            mine.push(task["id"].as_str().unwrap().to_owned());
        }
    });
    let all: Vec<String> = claimed.iter().flatten().cloned().collect();
    assert_eq!(all.len(), 100);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 100);
    let log = project.read_log();
    let claims: Vec<&Value> = log.iter().filter(|e| e["kind"] == "task.claimed").collect();
    let subjects: BTreeSet<&str> = claims
        .iter()
        .map(|e| e["subject"].as_str().unwrap())
        .collect();
    assert_eq!((claims.len(), subjects.len()), (100, 100));
    for (n, ids) in claimed.iter().enumerate() {
        for id in ids {
            assert_eq!(claiming_agent(&claims, id), format!("backend-leader-{n}"));
        }
    }
}

fn claiming_agent(claims: &[&Value], id: &str) -> String {
    let subject = format!("task/{id}");
    let claim = claims
        .iter()
        .find(|e| e["subject"] == subject.as_str())
        .unwrap();
    claim["actor"].as_str().unwrap().to_owned()
}

fn concurrent_dependency_updates_create_no_cycle(project: &TestProject) {
    for round in 0..20 {
        let [a, b, c, d] = [(); 4].map(|()| project.create_task(&[]));
        // a -> b and c -> d exist. b -> c and d -> a together would close the cycle, and the two writers
        // share no task.
        project.run_ok("user", &["task", "update", &a, "--add-blocks", &b]);
        project.run_ok("user", &["task", "update", &c, "--add-blocks", &d]);
        let children = [(&b, &c), (&d, &a)].map(|(from, to)| {
            spawn_captured(
                &mut project.json_command("user", &["task", "update", from, "--add-blocks", to]),
            )
        });
        let answers = children.map(wait_for_output);
        let won = answers
            .iter()
            .filter(|answer| answer.exit_code == Some(0))
            .count();
        assert_eq!(won, 1, "round {round}: {answers:?}");
        let lost = answers
            .iter()
            .find(|answer| answer.exit_code != Some(0))
            .unwrap();
        let refused = lost.expect_refusal(5, "dependency_cycle");
        assert_eq!(refused.message.matches('#').count(), 5, "{refused:?}");
        let edges: usize = [&a, &b, &c, &d]
            .map(|id| project.get_task(id)["blocks"].as_array().unwrap().len())
            .iter()
            .sum();
        assert_eq!(edges, 3);
    }
    project.read_log();
}

fn concurrent_updates_of_one_task_are_all_applied(project: &TestProject) {
    let id = project.create_task(&[]);
    run_concurrently(8, |n| {
        for k in 0..10 {
            let patch = format!(r#"{{"{n}-{k}":true}}"#);
            project.run_ok("user", &["task", "update", &id, "--metadata", &patch]);
        }
    });
    let task = project.get_task(&id);
    assert_eq!(task["version"], 81);
    assert_eq!(task["metadata"].as_object().unwrap().len(), 80);
    assert_eq!(project.read_log().len(), 81);
}

fn concurrent_completions_unblock_once(project: &TestProject) {
    for _ in 0..5 {
        let blockers: Vec<String> = (0..6).map(|_| project.create_task(&[])).collect();
        let waiting = project.create_task(&["--add-blocked-by", &blockers.join(",")]);
        for id in &blockers {
            project.run_ok("user", &["task", "claim", id]);
        }
        let unblocked = run_concurrently(6, |n| {
            let task = project.run_ok(
                "user",
                &["task", "update", &blockers[n], "--status", "completed"],
            );
            task["unblocked"].as_array().map_or(0, Vec::len)
        });
        assert_eq!(
            unblocked.iter().sum::<usize>(),
            1,
            "exactly one completion reports it"
        );
        project.run_ok("user", &["task", "claim", &waiting]);
    }
}

fn watcher_sees_concurrent_commits_in_order(project: &TestProject) {
    let watcher = spawn_captured(
        &mut project.json_command("user", &["watch", "--since", "0", "--limit", "80"]),
    );
    run_concurrently(4, |_| {
        for _ in 0..20 {
            project.create_task(&[]);
        }
    });
    let answer = wait_for_output(watcher);
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
    concurrent_creates_get_distinct_task_ids,
    concurrent_claims_by_one_agent_all_succeed,
    concurrent_claims_of_one_task_let_one_win,
    concurrent_claims_of_a_stale_task_let_one_win,
    concurrent_registrations_of_one_name_let_one_win,
    concurrent_claims_take_each_task_once,
    concurrent_dependency_updates_create_no_cycle,
    concurrent_updates_of_one_task_are_all_applied,
    concurrent_completions_unblock_once,
    watcher_sees_concurrent_commits_in_order,
);
