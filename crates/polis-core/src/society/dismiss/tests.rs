//! Tests of dismissal: trees of every shape, and the content of the commit.

use proptest::prelude::*;

use super::*;
use crate::society::brief::TaskBrief;
use crate::society::budget::{Account, Amount, Limits};

fn someone(name: &str, parent: Option<&str>, depth: u32) -> Someone {
    let time = Timestamp::from_millis(0);
    Someone {
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
        state: Kept {
            value: MemberState::new(Account::default()),
            revision: 1,
        },
    }
}

/// A tree: each member's parent precedes it in the list.
fn tree() -> impl Strategy<Value = Vec<Someone>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0u64..9), 0..12).prop_map(|made| {
        let mut all = vec![someone("root", None, 0)];
        for (n, (parent, spent)) in made.into_iter().enumerate() {
            let above = parent.index(all.len());
            let (name, depth) = (all[above].member.agent.to_string(), all[above].member.depth);
            let mut one = someone(&format!("a{n}"), Some(&name), depth + 1);
            one.state.value.account.spent.turns = spent;
            all[above]
                .state
                .value
                .children
                .push(one.member.agent.clone());
            all.push(one);
        }
        all
    })
}

fn dismiss(members: &[Someone], top: &AgentId, ends: bool) -> (Vec<AgentId>, Changeset, u32) {
    let caller = Caller::resolve(AgentId::user(), None).unwrap();
    let time = Timestamp::from_millis(0);
    let mut run = Run::new("r".parse().unwrap(), String::new(), &caller.id, &time);
    run.agents = u32::try_from(members.len() - 1).unwrap();
    let run = Kept {
        value: run,
        revision: 2,
    };
    let going = subtree(members, top);
    let estate = |agent: &AgentId| Estate {
        agent: agent.clone(),
        entry: (!agent.is_root()).then(|| Registered {
            agent: crate::agent::Agent {
                id: agent.clone(),
                name: agent.to_string(),
                role: "x".to_owned(),
                layer: crate::agent::Layer::Bottom,
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
    let estates: Vec<Estate> = going.iter().map(estate).collect();
    let known = Known {
        run: &run,
        members,
        estates: &estates,
        ends,
    };
    let (told, changes) = decide_dismiss(top, None, known, &caller, &time);
    assert_eq!(told.dismissed, going);
    assert_eq!(told.messages, going.len() * 2);
    let text = changes.text_of(&run::record_name(&run.value.id)).unwrap();
    let after: Run = serde_json::from_str(text).unwrap();
    assert_eq!(after.status == RunStatus::Stopped, ends);
    (going, changes, after.agents)
}

fn states(members: &[Someone], changes: &Changeset) -> Vec<MemberState> {
    let after = |one: &Someone| {
        let key = MemberKey::new("r".parse().unwrap(), one.member.agent.clone());
        match changes.text_of(&member::state_name(&key)) {
            Some(text) => serde_json::from_str(text).unwrap(),
            None => one.state.value.clone(),
        }
    };
    members.iter().map(after).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn everybody_below_goes_and_nobody_else(members in tree(), which: prop::sample::Index) {
        let top = members[which.index(members.len())].member.agent.clone();
        let (going, changes, left) = dismiss(&members, &top, false);
        for (one, state) in members.iter().zip(states(&members, &changes)) {
            let name = &one.member.agent;
            let goes = *name == top || is_above(&members, &top, name);
            prop_assert_eq!(going.contains(name), goes, "{}", name);
            prop_assert_eq!(state.status == MemberStatus::Gone, goes, "{}", name);
            prop_assert!(state.children.iter().all(|child| !going.contains(child)));
        }
        let registered = going.iter().filter(|agent| !agent.is_root()).count();
        prop_assert_eq!(u32::try_from(members.len() - 1 - registered).unwrap(), left);
        // Each record is written once, with the revision it was decided on.
        let mut written: Vec<String> = changes.writes.iter().map(|write| match write {
            Write::PutRecord { name, .. } => format!("{name:?}"),
            Write::PutAgent { agent, .. } => format!("agent {}", agent.id),
            Write::ReadMessages { recipient, .. } => format!("mail {recipient}"),
            other => format!("{other:?}"),
        }).collect();
        let all = written.len();
        written.sort();
        written.dedup();
        prop_assert_eq!(written.len(), all);
    }

    #[test]
    fn what_was_spent_is_booked_above(members in tree(), which: prop::sample::Index) {
        let top = which.index(members.len());
        let name = members[top].member.agent.clone();
        let (going, changes, _) = dismiss(&members, &name, false);
        let after = states(&members, &changes);
        let spent: u64 = members.iter().zip(&after)
            .filter(|(one, _)| going.contains(&one.member.agent))
            .map(|(_, state)| state.account.spent.turns)
            .sum();
        let above = members[top].member.parent.clone();
        if let Some(above) = above {
            let at = members.iter().position(|one| one.member.agent == above).unwrap();
            prop_assert_eq!(after[at].account.lent.turns, spent);
        }
    }
}

#[test]
fn nobody_is_above_itself_and_circles_end() {
    let mut members = vec![
        someone("root", None, 0),
        someone("a", Some("root"), 1),
        someone("b", Some("a"), 2),
    ];
    let id = |name: &str| name.parse::<AgentId>().unwrap();
    for (upper, lower, above) in [
        ("root", "b", true),
        ("a", "b", true),
        ("b", "b", false),
        ("b", "a", false),
        ("root", "nobody", false),
    ] {
        assert_eq!(
            is_above(&members, &id(upper), &id(lower)),
            above,
            "{upper} {lower}"
        );
    }
    members[1].member.parent = Some(id("b"));
    assert!(!is_above(&members, &id("root"), &id("b")));
    assert_eq!(subtree(&members, &id("a")).len(), 2);
}

#[test]
fn what_is_left_goes_back_when_a_run_ends() {
    let mut members = vec![someone("root", None, 0), someone("a", Some("root"), 1)];
    let account = &mut members[0].state.value.account;
    account.limits = Limits {
        turns: Some(10),
        ..Limits::default()
    };
    let five = Amount {
        turns: 5,
        ..Amount::default()
    };
    account.lent = five;
    members[1].state.value.account.drawn = five;
    members[1].state.value.account.spent.turns = 2;
    let (_, changes, left) = dismiss(&members, &AgentId::root(), true);
    let after = states(&members, &changes);
    assert_eq!(left, 0);
    assert_eq!(after[0].account.lent.turns, 2);
    assert_eq!(after[1].account.drawn.turns, 2);
    let kinds: Vec<&str> = changes.events.iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&kind::SOCIETY_STOPPED), "{kinds:?}");
}
