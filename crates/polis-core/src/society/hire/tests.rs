//! Tests of hiring: a table of limits, names, and the content of the commit.

use proptest::prelude::*;

use super::*;
use crate::society::role;

fn time() -> Timestamp {
    Timestamp::from_millis(1_000_000)
}

fn caller(name: &str) -> Caller {
    Caller::resolve(name.parse().unwrap(), None).unwrap()
}

fn member(name: &str, depth: u32) -> Member {
    Member {
        agent: name.parse().unwrap(),
        parent: None,
        role_id: None,
        role: "x".to_owned(),
        brief: TaskBrief::default(),
        depth,
        created_at: time(),
        outside: false,
    }
}

fn a_role() -> SocietyRole {
    let asked = role::CreateRole {
        name: "程序员".to_owned(),
        role_prompt: "p".to_owned(),
        tools: None,
        model: None,
        approve: None,
    };
    role::make(&asked, &AgentId::root(), &time()).unwrap()
}

struct Case {
    parent: Member,
    state: MemberState,
    run: Run,
    limits: HireLimits,
    brief: &'static str,
}

impl Case {
    fn of(parent: &str, depth: u32) -> Self {
        Self {
            parent: member(parent, depth),
            state: MemberState::new(Account::default()),
            run: Run::new(
                "r".parse().unwrap(),
                "x".to_owned(),
                &AgentId::user(),
                &time(),
            ),
            limits: HireLimits {
                depth: 3,
                agents: 4,
                a_minute: 2,
            },
            brief: "do it",
        }
    }

    fn decide(&self) -> Result<(Hired, Changeset), Refusal> {
        let params = SpawnAgent {
            task_brief: TaskBrief::of(self.brief),
            ..SpawnAgent::default()
        };
        let run = Kept {
            value: self.run.clone(),
            revision: 3,
        };
        let state = Kept {
            value: self.state.clone(),
            revision: 5,
        };
        let known = Known {
            run: Some(&run),
            role: &a_role(),
            parent: Parent {
                member: &self.parent,
                state: Some(&state),
                entry: None,
            },
            id: &agent_name("程序员", 7),
            binding: None,
            limits: &self.limits,
        };
        let by = caller(self.parent.agent.as_str());
        decide_hire(&params, &self.run, known, &by, &time())
    }
}

#[test]
fn limits_hold() {
    let now = 1_000_000;
    type Change = fn(&mut Case);
    let table: [(&str, u32, Change, Option<Code>); 10] = [
        ("root", 0, |_| {}, None),
        ("boss", 2, |_| {}, None),
        ("boss", 3, |_| {}, Some(Code::HireLimit)),
        (
            "root",
            0,
            |case| case.state.children.push(AgentId::user()),
            Some(Code::HireLimit),
        ),
        (
            "boss",
            1,
            |case| case.state.children.push(AgentId::user()),
            None,
        ),
        ("boss", 1, |case| case.run.agents = 4, Some(Code::HireLimit)),
        (
            "boss",
            1,
            |case| case.run.hired_at = vec![999_000, 999_500],
            Some(Code::HireLimit),
        ),
        (
            "boss",
            1,
            |case| case.run.hired_at = vec![940_000, 999_500],
            None,
        ),
        (
            "boss",
            1,
            |case| case.run.status = RunStatus::Stopped,
            Some(Code::WrongState),
        ),
        ("boss", 1, |case| case.brief = " ", Some(Code::InvalidBrief)),
    ];
    for (n, (parent, depth, change, refused)) in table.into_iter().enumerate() {
        let mut case = Case::of(parent, depth);
        change(&mut case);
        let came = case.decide();
        assert_eq!(came.as_ref().err().map(|r| r.code), refused, "row {n}");
        if let Ok((_, changes)) = came {
            let name = run::record_name(&case.run.id);
            let run: Run = serde_json::from_str(changes.text_of(&name).unwrap()).unwrap();
            assert_eq!(
                (run.agents, run.hired),
                (case.run.agents + 1, case.run.hired + 1)
            );
            assert!(run.hired_at.iter().all(|at| *at > now - MINUTE), "row {n}");
        }
    }
    let mut gone = Case::of("boss", 1);
    gone.state.status = MemberStatus::Gone;
    assert_eq!(gone.decide().unwrap_err().code, Code::PermissionDenied);
}

#[test]
fn one_commit_holds_all_of_it() {
    let (hired, changes) = Case::of("root", 0).decide().unwrap();
    assert_eq!(hired.id.as_str(), "程序员-7");
    assert!(hired.next.contains("send_message"), "{}", hired.next);
    let kinds: Vec<&str> = changes.events.iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            kind::AGENT_ADDED,
            kind::SOCIETY_HIRED,
            kind::WORKSPACE_ASSIGNED
        ]
    );
    let agents = changes.writes.iter().filter_map(|write| match write {
        Write::PutAgent { agent, .. } => Some(agent),
        _ => None,
    });
    let agents: Vec<&Agent> = agents.collect();
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0].supervisor, Some(AgentId::root()));
    assert_eq!(agents[0].run.as_ref().map(RunId::as_str), Some("r"));
    for name in ["r/程序员-7", "r/root"] {
        let key: MemberKey = name.parse().unwrap();
        let text = changes.text_of(&member::state_name(&key)).unwrap();
        let state: MemberState = serde_json::from_str(text).unwrap();
        assert_eq!(state.children.is_empty(), name != "r/root");
    }
    // An agent that is not a direct child of root works in the workspace of its ancestors.
    let (_, below) = Case::of("boss", 1).decide().unwrap();
    let has = below
        .events
        .iter()
        .any(|e| e.kind == kind::WORKSPACE_ASSIGNED);
    assert!(!has);
}

#[test]
fn names_tell_the_role() {
    for (role, name) in [
        ("程序员", "程序员-1"),
        ("Back End  Developer!", "back-end-developer-1"),
        ("///", "agent-1"),
        ("a.b_c", "a-b-c-1"),
        ("-x-", "x-1"),
    ] {
        assert_eq!(agent_name(role, 1).as_str(), name);
    }
    assert_eq!(wanted_name(" Lexer-Dev ").unwrap().as_str(), "lexer-dev");
    for bad in ["", "two words", "root", "User", "../x"] {
        assert_eq!(wanted_name(bad), None, "{bad}");
    }
}

#[test]
fn briefs_come_in_several_shapes() {
    for given in [
        r#"{"roleId":"r","taskBrief":{"objective":"x"}}"#,
        r#"{"roleName":"r","taskBrief":"x"}"#,
        r#"{"role":"r","brief":{"objective":"x","constraints":"one"}}"#,
    ] {
        let params: SpawnAgent = serde_json::from_str(given).unwrap();
        assert_eq!(params.task_brief.objective, "x");
    }
    for bad in [
        r#"{"roleId":"r"}"#,
        r#"{"roleId":"r","taskBrief":["x"]}"#,
        r#"{"roleId":"r","taskBrief":{"objective":"x","goal":"y"}}"#,
        r#"{"taskBrief":"x","budget":[1]}"#,
    ] {
        assert!(serde_json::from_str::<SpawnAgent>(bad).is_err(), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_role_gives_sound_and_distinct_names(role in "\\PC{0,120}", a in 1u64..10_000, b in 1u64..10_000) {
        let (first, second) = (agent_name(&role, a), agent_name(&role, b));
        prop_assert!(!AgentId::FIXED.contains(&first.as_str()), "{}", first);
        prop_assert_eq!(first == second, a == b);
        prop_assert!(first.as_str().ends_with(&format!("-{a}")), "{}", first);
    }
}
