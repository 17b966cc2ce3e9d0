//! Tests of dismissal: trees of every shape, and the content of the commit.

use proptest::prelude::*;

use super::*;
use crate::event::EventKind;
use crate::society::brief::TaskBrief;
use crate::society::budget::{BudgetAccount, BudgetAmount, BudgetLimits};

fn member_with_state(name: &str, parent: Option<&str>, depth: u32) -> MemberWithState {
    let time = Timestamp::from_millis(0);
    MemberWithState {
        member: Member {
            agent: name.parse().unwrap(),
            parent: parent.map(|p| p.parse().unwrap()),
            role_id: None,
            role: "x".to_owned(),
            brief: TaskBrief::default(),
            depth,
            created_at: time,
            outside: false,
        },
        state: VersionedRecord {
            value: MemberState::new(BudgetAccount::default()),
            revision: 1,
        },
    }
}

/// A tree: each member's parent precedes it in the list.
fn member_tree() -> impl Strategy<Value = Vec<MemberWithState>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0u64..9), 0..12).prop_map(|members| {
        let mut all = vec![member_with_state("root", None, 0)];
        for (n, (parent, spent)) in members.into_iter().enumerate() {
            let parent_index = parent.index(all.len());
            let (name, depth) = (
                all[parent_index].member.agent.to_string(),
                all[parent_index].member.depth,
            );
            let mut new_member = member_with_state(&format!("a{n}"), Some(&name), depth + 1);
            new_member.state.value.account.spent.turns = spent;
            all[parent_index]
                .state
                .value
                .children
                .push(new_member.member.agent.clone());
            all.push(new_member);
        }
        all
    })
}

fn decide_test_dismiss(
    members: &[MemberWithState],
    top: &AgentId,
    ends: bool,
) -> (Vec<AgentId>, Changeset, u32) {
    let caller = Caller::resolve(AgentId::user(), None).unwrap();
    let time = Timestamp::from_millis(0);
    let mut run = Run::new("r".parse().unwrap(), String::new(), &caller.id, &time);
    run.agents = u32::try_from(members.len() - 1).unwrap();
    let run = VersionedRecord {
        value: run,
        revision: 2,
    };
    let dismissed_agents = active_subtree(members, top);
    let holdings_of = |agent: &AgentId| AgentHoldings {
        agent: agent.clone(),
        entry: (!agent.is_root()).then(|| RegisteredAgent {
            agent: crate::agent::Agent {
                id: agent.clone(),
                name: agent.to_string(),
                role: "x".to_owned(),
                layer: crate::agent::AgentLayer::Bottom,
                supervisor: None,
                status: AgentStatus::Active,
                run: Some("r".parse().unwrap()),
                created_at: time.clone(),
            },
            revision: 1,
        }),
        mail: vec![1, 2],
        tasks: Vec::new(),
    };
    let holdings: Vec<AgentHoldings> = dismissed_agents.iter().map(holdings_of).collect();
    let context = DismissContext {
        run: &run,
        members,
        holdings: &holdings,
        ends_run: ends,
    };
    let (result, changes) = decide_dismiss_member(top, None, context, &caller, &time);
    assert_eq!(result.dismissed, dismissed_agents);
    assert_eq!(result.messages, dismissed_agents.len() * 2);
    let text = changes
        .record_text(&run::run_record_name(&run.value.id))
        .unwrap();
    let after: Run = serde_json::from_str(text).unwrap();
    assert_eq!(after.status == RunStatus::Stopped, ends);
    (dismissed_agents, changes, after.agents)
}

fn states_after(members: &[MemberWithState], changes: &Changeset) -> Vec<MemberState> {
    let state_after = |entry: &MemberWithState| {
        let key = MemberKey::new("r".parse().unwrap(), entry.member.agent.clone());
        match changes.record_text(&member::member_state_record_name(&key)) {
            Some(text) => serde_json::from_str(text).unwrap(),
            None => entry.state.value.clone(),
        }
    };
    members.iter().map(state_after).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn dismissal_covers_exactly_the_subtree(members in member_tree(), which: prop::sample::Index) {
        let top = members[which.index(members.len())].member.agent.clone();
        let (dismissed_agents, changes, left) = decide_test_dismiss(&members, &top, false);
        for (one, state) in members.iter().zip(states_after(&members, &changes)) {
            let name = &one.member.agent;
            let is_covered = *name == top || is_ancestor(&members, &top, name);
            prop_assert_eq!(dismissed_agents.contains(name), is_covered, "{}", name);
            prop_assert_eq!(state.status == MemberStatus::Dismissed, is_covered, "{}", name);
            prop_assert!(state.children.iter().all(|child| !dismissed_agents.contains(child)));
        }
        let registered = dismissed_agents.iter().filter(|agent| !agent.is_root()).count();
        prop_assert_eq!(u32::try_from(members.len() - 1 - registered).unwrap(), left);
        // Each record is written once, with the revision it was decided on.
        let mut written: Vec<String> = changes.writes.iter().map(|write| match write {
            StoreWrite::PutRecord { name, .. } => format!("{name:?}"),
            StoreWrite::PutAgent { agent, .. } => format!("agent {}", agent.id),
            StoreWrite::ReadMessages { recipient, .. } => format!("mail {recipient}"),
            other => format!("{other:?}"),
        }).collect();
        let all = written.len();
        written.sort();
        written.dedup();
        prop_assert_eq!(written.len(), all);
    }

    #[test]
    fn spending_of_dismissed_members_is_booked_above(members in member_tree(), which: prop::sample::Index) {
        let top = which.index(members.len());
        let name = members[top].member.agent.clone();
        let (dismissed_agents, changes, _) = decide_test_dismiss(&members, &name, false);
        let after = states_after(&members, &changes);
        let spent: u64 = members.iter().zip(&after)
            .filter(|(one, _)| dismissed_agents.contains(&one.member.agent))
            .map(|(_, state)| state.account.spent.turns)
            .sum();
        let parent = members[top].member.parent.clone();
        if let Some(parent) = parent {
            let at = members.iter().position(|one| one.member.agent == parent).unwrap();
            prop_assert_eq!(after[at].account.drawn_by_children.turns, spent);
        }
    }
}

#[test]
fn agent_is_not_its_own_ancestor_and_cycles_terminate() {
    let mut members = vec![
        member_with_state("root", None, 0),
        member_with_state("a", Some("root"), 1),
        member_with_state("b", Some("a"), 2),
    ];
    let id = |name: &str| name.parse::<AgentId>().unwrap();
    for (upper, lower, expected) in [
        ("root", "b", true),
        ("a", "b", true),
        ("b", "b", false),
        ("b", "a", false),
        ("root", "nobody", false),
    ] {
        assert_eq!(
            is_ancestor(&members, &id(upper), &id(lower)),
            expected,
            "{upper} {lower}"
        );
    }
    members[1].member.parent = Some(id("b"));
    assert!(!is_ancestor(&members, &id("root"), &id("b")));
    assert_eq!(active_subtree(&members, &id("a")).len(), 2);
}

#[test]
fn unused_budget_is_returned_when_a_run_ends() {
    let mut members = vec![
        member_with_state("root", None, 0),
        member_with_state("a", Some("root"), 1),
    ];
    let account = &mut members[0].state.value.account;
    account.limits = BudgetLimits {
        turns: Some(10),
        ..BudgetLimits::default()
    };
    let five = BudgetAmount {
        turns: 5,
        ..BudgetAmount::default()
    };
    account.drawn_by_children = five;
    members[1].state.value.account.drawn = five;
    members[1].state.value.account.spent.turns = 2;
    let (_, changes, left) = decide_test_dismiss(&members, &AgentId::root(), true);
    let after = states_after(&members, &changes);
    assert_eq!(left, 0);
    assert_eq!(after[0].account.drawn_by_children.turns, 2);
    assert_eq!(after[1].account.drawn.turns, 2);
    let kinds: Vec<EventKind> = changes.events.iter().map(NewEvent::kind).collect();
    assert!(kinds.contains(&EventKind::SocietyStopped), "{kinds:?}");
}
