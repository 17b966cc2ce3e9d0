//! Conformance tests of the store port `AgentReader`: reading agents by id, by run and by role.

use polis_core::changeset::StoreWrite;
use polis_core::{Agent, AgentStatus, WritePrecondition};

use super::store_fixtures::{
    commit_changeset, empty_changeset, new_agent, open_store, single_write,
};
use crate::StoreFactory;
use crate::store_factory::{parse_agent_id, parse_run_id};

fn hired_agent(name: &str, run: &str, role: &str) -> Agent {
    Agent {
        run: (!run.is_empty()).then(|| parse_run_id(run)),
        role: role.to_owned(),
        ..new_agent(name)
    }
}

fn put_agent(agent: &Agent, expect: WritePrecondition) -> StoreWrite {
    StoreWrite::PutAgent {
        expect,
        agent: agent.clone(),
    }
}

fn agent_names(found: &[Agent]) -> Vec<&str> {
    found.iter().map(|agent| agent.id.as_str()).collect()
}

/// `agents_by_id` returns the existing agents with these ids, by id, each once.
pub async fn agents_are_read_by_id(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut all = empty_changeset();
    for name in ["b", "程序员", "a", "c"] {
        all.writes
            .push(put_agent(&new_agent(name), WritePrecondition::Absent));
    }
    commit_changeset(&store, all).await;
    let named = async |names: &[&str]| {
        let ids: Vec<_> = names.iter().map(|name| parse_agent_id(name)).collect();
        other.agents_by_id(&ids).await.unwrap()
    };
    assert_eq!(named(&[]).await, []);
    let found = named(&["程序员", "nobody", "b", "b", "a"]).await;
    assert_eq!(found, [new_agent("a"), new_agent("b"), new_agent("程序员")]);
    assert_eq!(named(&["nobody", "user"]).await, []);
}

/// `agents_of_run` returns the agents hired for this run, or for none, of all roles or of this one, including
/// retired ones, by id and in their current state.
pub async fn agents_are_read_by_run_and_role(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut all = empty_changeset();
    for (name, run, role) in [
        ("d", "one", "tester"),
        ("a", "one", "writer"),
        ("c", "", "writer"),
        ("b", "two", "writer"),
        ("e", "one", "writer"),
        ("f", "", "tester"),
        ("程", "一", "作者"),
    ] {
        all.writes.push(put_agent(
            &hired_agent(name, run, role),
            WritePrecondition::Absent,
        ));
    }
    commit_changeset(&store, all).await;
    let find = async |run: &str, role: Option<&str>| {
        let run = (!run.is_empty()).then(|| parse_run_id(run));
        other.agents_of_run(run.as_ref(), role).await.unwrap()
    };
    assert_eq!(agent_names(&find("one", None).await), ["a", "d", "e"]);
    assert_eq!(agent_names(&find("one", Some("writer")).await), ["a", "e"]);
    assert_eq!(agent_names(&find("", None).await), ["c", "f"]);
    assert_eq!(agent_names(&find("", Some("tester")).await), ["f"]);
    assert_eq!(
        find("一", Some("作者")).await,
        [hired_agent("程", "一", "作者")]
    );
    assert_eq!(find("one", Some("")).await, []);
    assert_eq!(find("three", None).await, []);
    let retired = Agent {
        status: AgentStatus::Retired,
        ..hired_agent("e", "one", "tester")
    };
    commit_changeset(
        &store,
        single_write(put_agent(&retired, WritePrecondition::Revision(1))),
    )
    .await;
    assert_eq!(agent_names(&find("one", Some("writer")).await), ["a"]);
    let testers = find("one", Some("tester")).await;
    assert_eq!(testers, [hired_agent("d", "one", "tester"), retired]);
}
