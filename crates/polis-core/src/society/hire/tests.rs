//! Tests of hiring: a table of limits, names, and the content of the commit.

use proptest::prelude::*;

use super::*;
use crate::RefusalCode;
use crate::event::EventKind;
use crate::society::society_role;

fn test_time() -> Timestamp {
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
        created_at: test_time(),
        outside: false,
    }
}

fn test_role() -> SocietyRole {
    let params = society_role::CreateRoleParams {
        name: "程序员".to_owned(),
        role_prompt: "p".to_owned(),
        tools: None,
        model: None,
        approve: None,
    };
    society_role::create_role(&params, &AgentId::root(), &test_time()).unwrap()
}

struct HireCase {
    parent: Member,
    state: MemberState,
    run: Run,
    limits: HireLimits,
    brief: &'static str,
}

impl HireCase {
    fn new(parent: &str, depth: u32) -> Self {
        Self {
            parent: member(parent, depth),
            state: MemberState::new(BudgetAccount::default()),
            run: Run::new(
                "r".parse().unwrap(),
                "x".to_owned(),
                &AgentId::user(),
                &test_time(),
            ),
            limits: HireLimits {
                depth: 3,
                agents: 4,
                per_minute: 2,
            },
            brief: "do it",
        }
    }

    fn decide(&self) -> Result<(SpawnAgentResult, Changeset), Refusal> {
        let params = SpawnAgentParams {
            task_brief: TaskBrief::from_objective(self.brief),
            ..SpawnAgentParams::default()
        };
        let run = VersionedRecord {
            value: self.run.clone(),
            revision: 3,
        };
        let state = VersionedRecord {
            value: self.state.clone(),
            revision: 5,
        };
        let context = HireContext {
            run: Some(&run),
            role: &test_role(),
            parent: HiringAgent {
                member: &self.parent,
                state: Some(&state),
                entry: None,
            },
            new_id: &generate_agent_id("程序员", 7),
            binding: None,
            limits: &self.limits,
        };
        let hirer = caller(self.parent.agent.as_str());
        decide_hire_agent(&params, &self.run, context, &hirer, &test_time())
    }
}

#[test]
fn hire_beyond_a_limit_is_refused() {
    let now = 1_000_000;
    type Change = fn(&mut HireCase);
    let table: [(&str, u32, Change, Option<RefusalCode>); 10] = [
        ("root", 0, |_| {}, None),
        ("boss", 2, |_| {}, None),
        ("boss", 3, |_| {}, Some(RefusalCode::HIRE_LIMIT)),
        (
            "root",
            0,
            |case| case.state.children.push(AgentId::user()),
            Some(RefusalCode::HIRE_LIMIT),
        ),
        (
            "boss",
            1,
            |case| case.state.children.push(AgentId::user()),
            None,
        ),
        (
            "boss",
            1,
            |case| case.run.agents = 4,
            Some(RefusalCode::HIRE_LIMIT),
        ),
        (
            "boss",
            1,
            |case| case.run.hired_at = vec![999_000, 999_500],
            Some(RefusalCode::HIRE_LIMIT),
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
            Some(RefusalCode::WRONG_STATE),
        ),
        (
            "boss",
            1,
            |case| case.brief = " ",
            Some(RefusalCode::INVALID_BRIEF),
        ),
    ];
    for (n, (parent, depth, change, expected)) in table.into_iter().enumerate() {
        let mut case = HireCase::new(parent, depth);
        change(&mut case);
        let result = case.decide();
        assert_eq!(result.as_ref().err().map(|r| r.code), expected, "row {n}");
        if let Ok((_, changes)) = result {
            let name = run::run_record_name(&case.run.id);
            let run: Run = serde_json::from_str(changes.record_text(&name).unwrap()).unwrap();
            assert_eq!(
                (run.agents, run.hired),
                (case.run.agents + 1, case.run.hired + 1)
            );
            assert!(
                run.hired_at
                    .iter()
                    .all(|at| *at > now - HIRE_RATE_WINDOW_MS),
                "row {n}"
            );
        }
    }
    let mut dismissed = HireCase::new("boss", 1);
    dismissed.state.status = MemberStatus::Dismissed;
    assert_eq!(
        dismissed.decide().unwrap_err().code,
        RefusalCode::PERMISSION_DENIED
    );
}

#[test]
fn hire_is_one_commit() {
    let (hired, changes) = HireCase::new("root", 0).decide().unwrap();
    assert_eq!(hired.id.as_str(), "程序员-7");
    let kinds: Vec<EventKind> = changes.events.iter().map(NewEvent::kind).collect();
    assert_eq!(
        kinds,
        [
            EventKind::AgentAdded,
            EventKind::SocietyHired,
            EventKind::WorkspaceAssigned
        ]
    );
    let agents = changes.writes.iter().filter_map(|write| match write {
        StoreWrite::PutAgent { agent, .. } => Some(agent),
        _ => None,
    });
    let agents: Vec<&Agent> = agents.collect();
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0].supervisor, Some(AgentId::root()));
    assert_eq!(agents[0].run.as_ref().map(RunId::as_str), Some("r"));
    for name in ["r/程序员-7", "r/root"] {
        let key: MemberKey = name.parse().unwrap();
        let text = changes
            .record_text(&member::member_state_record_name(&key))
            .unwrap();
        let state: MemberState = serde_json::from_str(text).unwrap();
        assert_eq!(state.children.is_empty(), name != "r/root");
    }
    // An agent that is not a direct child of root works in the workspace of its ancestors.
    let (_, child_changes) = HireCase::new("boss", 1).decide().unwrap();
    let has_workspace = child_changes
        .events
        .iter()
        .any(|e| e.kind() == EventKind::WorkspaceAssigned);
    assert!(!has_workspace);
}

#[test]
fn generated_ids_contain_the_role() {
    for (role, name) in [
        ("程序员", "程序员-1"),
        ("Back End  Developer!", "back-end-developer-1"),
        ("///", "agent-1"),
        ("a.b_c", "a-b-c-1"),
        ("-x-", "x-1"),
    ] {
        assert_eq!(generate_agent_id(role, 1).as_str(), name);
    }
    assert_eq!(
        requested_agent_id(" Lexer-Dev ").unwrap().as_str(),
        "lexer-dev"
    );
    for bad in ["", "two words", "root", "User", "../x"] {
        assert_eq!(requested_agent_id(bad), None, "{bad}");
    }
}

#[test]
fn brief_variants_are_parsed() {
    for json in [
        r#"{"roleId":"r","taskBrief":{"objective":"x"}}"#,
        r#"{"roleName":"r","taskBrief":"x"}"#,
        r#"{"role":"r","brief":{"objective":"x","constraints":"one"}}"#,
    ] {
        let params: SpawnAgentParams = serde_json::from_str(json).unwrap();
        assert_eq!(params.task_brief.objective, "x");
    }
    for bad in [
        r#"{"roleId":"r"}"#,
        r#"{"roleId":"r","taskBrief":["x"]}"#,
        r#"{"roleId":"r","taskBrief":{"objective":"x","goal":"y"}}"#,
        r#"{"taskBrief":"x","budget":[1]}"#,
    ] {
        assert!(
            serde_json::from_str::<SpawnAgentParams>(bad).is_err(),
            "{bad}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_role_gives_valid_and_distinct_ids(role in "\\PC{0,120}", a in 1u64..10_000, b in 1u64..10_000) {
        let (first, second) = (generate_agent_id(&role, a), generate_agent_id(&role, b));
        prop_assert!(!AgentId::RESERVED_NAMES.contains(&first.as_str()), "{}", first);
        prop_assert_eq!(first == second, a == b);
        prop_assert!(first.as_str().ends_with(&format!("-{a}")), "{}", first);
    }
}
