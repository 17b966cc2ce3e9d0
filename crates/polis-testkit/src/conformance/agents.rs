//! Port guarantees: agents are read by name and by run.

use polis_core::changeset::Write;
use polis_core::{Agent, AgentStatus, Expect};

use super::sample::{changes, commit, member, only, open};
use crate::Ground;
use crate::test_store::{agent, run_named};

fn hired(name: &str, run: &str, role: &str) -> Agent {
    Agent {
        run: (!run.is_empty()).then(|| run_named(run)),
        role: role.to_owned(),
        ..member(name)
    }
}

fn put(agent: &Agent, expect: Expect) -> Write {
    Write::PutAgent {
        expect,
        agent: agent.clone(),
    }
}

fn names(found: &[Agent]) -> Vec<&str> {
    found.iter().map(|agent| agent.id.as_str()).collect()
}

/// `named` returns the existing agents with these ids, by id, each once.
pub async fn agents_are_read_by_name(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut all = changes();
    for name in ["b", "程序员", "a", "c"] {
        all.writes.push(put(&member(name), Expect::Absent));
    }
    commit(&store, all).await;
    let named = async |names: &[&str]| {
        let ids: Vec<_> = names.iter().map(|name| agent(name)).collect();
        other.named(&ids).await.unwrap()
    };
    assert_eq!(named(&[]).await, []);
    let found = named(&["程序员", "nobody", "b", "b", "a"]).await;
    assert_eq!(found, [member("a"), member("b"), member("程序员")]);
    assert_eq!(named(&["nobody", "user"]).await, []);
}

/// `agents_of_run` returns the agents hired for this run, or for none, of all roles or of this one, including
/// retired ones, by id and in their current state.
pub async fn agents_of_a_run_are_read(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut all = changes();
    for (name, run, role) in [
        ("d", "one", "tester"),
        ("a", "one", "writer"),
        ("c", "", "writer"),
        ("b", "two", "writer"),
        ("e", "one", "writer"),
        ("f", "", "tester"),
        ("程", "一", "作者"),
    ] {
        all.writes
            .push(put(&hired(name, run, role), Expect::Absent));
    }
    commit(&store, all).await;
    let find = async |run: &str, role: Option<&str>| {
        let run = (!run.is_empty()).then(|| run_named(run));
        other.agents_of_run(run.as_ref(), role).await.unwrap()
    };
    assert_eq!(names(&find("one", None).await), ["a", "d", "e"]);
    assert_eq!(names(&find("one", Some("writer")).await), ["a", "e"]);
    assert_eq!(names(&find("", None).await), ["c", "f"]);
    assert_eq!(names(&find("", Some("tester")).await), ["f"]);
    assert_eq!(find("一", Some("作者")).await, [hired("程", "一", "作者")]);
    assert_eq!(find("one", Some("")).await, []);
    assert_eq!(find("three", None).await, []);
    let retired = Agent {
        status: AgentStatus::Retired,
        ..hired("e", "one", "tester")
    };
    commit(&store, only(put(&retired, Expect::Revision(1)))).await;
    assert_eq!(names(&find("one", Some("writer")).await), ["a"]);
    let testers = find("one", Some("tester")).await;
    assert_eq!(testers, [hired("d", "one", "tester"), retired]);
}
