//! Test suite for controlling runs: messages and artifacts of runs, pausing and resuming, call approvals,
//! stopping, and commit hooks. The tests call the operations and are run over every store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polis_core::artifact::PutArtifactParams;
use polis_core::changeset::{Receipt, StoreWrite};
use polis_core::record::RecordBody;
use polis_core::refusal::Reason;
use polis_core::society::call_approval::{CallApproval, approval_record_name};
use polis_core::society::member::{self, MemberStatus};
use polis_core::society::run::RunStatus;
use polis_core::{AgentId, Caller, Changeset, RawJson, RecordKey, Refusal, RefusalCode};
use polis_i18n::{Surface, UiLanguage};
use polis_ops::op::{
    self, DecideApprovalParams, GetArtifactParams, PauseSocietyParams, RunIdParams, TellRunParams,
};
use polis_ops::{CommitHook, ResponseBuilder};

use super::test_society::{TestSociety, refusal_code};
use crate::StoreFactory;
use crate::store_factory::{parse_agent_id, parse_member_key, parse_run_id};

/// A message is delivered within its run, and refused if its recipient is in another run.
///
/// # Panics
/// If that does not hold.
pub async fn message_to_other_run_is_refused(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    society.start_run("two", None).await;
    let (a, b) = (
        society.create_role_and_hire("one/root", "architect").await,
        society.create_role_and_hire("two/root", "architect").await,
    );
    let helper = society.create_role_and_hire(&a, "programmer").await;
    let across = society.send_message(&a, &b, "psst").await.unwrap_err();
    assert_eq!(across.code(), RefusalCode::RECIPIENT_NOT_FOUND);
    let text = across.render(Surface::Tool, UiLanguage::En).message;
    assert!(text.contains("another run"), "{text}");
    assert_eq!(
        refusal_code(society.send_message("one/root", &b, "psst").await),
        RefusalCode::RECIPIENT_NOT_FOUND
    );
    assert_eq!(
        refusal_code(society.send_message(&a, "nobody-7", "hi").await),
        RefusalCode::RECIPIENT_NOT_FOUND
    );
    // A role recipient is resolved within the run.
    let sent = society
        .send_message(&helper, "role:architect", "done")
        .await
        .unwrap();
    assert_eq!(sent.messages.len(), 1);
    assert_eq!(sent.messages[0].to.as_str(), a);
    society
        .send_message(&a, "user", "a question")
        .await
        .unwrap();
    let user = AgentId::user();
    let mail = op::check_messages(
        &society.app.request(&user),
        &op::CheckMessagesParams::default(),
    )
    .await;
    let question = mail.unwrap().messages.remove(0);
    assert_eq!(question.run, Some(parse_run_id("one")));
    // The person reaches all agents. For root the run must be given, or follows from the message that is
    // answered.
    society.send_message("user", &b, "hello").await.unwrap();
    assert_eq!(society.unread_texts(&b).await, ["hello"]);
    assert_eq!(
        refusal_code(society.send_message("user", "root", "?").await),
        RefusalCode::RECIPIENT_NOT_FOUND
    );
    society.unread_texts("one/root").await;
    let params = TellRunParams {
        run_id: parse_run_id("one"),
        to: None,
        payload: RawJson::from_value(&"hurry").unwrap(),
        reply_to: None,
    };
    op::tell_run(&society.app.request(&user), &params)
        .await
        .unwrap();
    society
        .send_message("one/root", "user", "ready")
        .await
        .unwrap();
    let mail = op::check_messages(
        &society.app.request(&user),
        &op::CheckMessagesParams::default(),
    )
    .await;
    let ready = mail.unwrap().messages.remove(0);
    let answer = polis_core::message::SendMessageParams {
        to: polis_core::message::MessageRecipients::One("root".to_owned()),
        payload: RawJson::from_value(&"thanks").unwrap(),
        reply_to: Some(ready.id),
        delay_ms: None,
    };
    op::send_message(&society.app.request(&user), &answer)
        .await
        .unwrap();
    assert_eq!(society.unread_texts("one/root").await, ["hurry", "thanks"]);
}

/// An artifact is found by members of its run, not by those of another run, even if they store the same
/// content.
///
/// # Panics
/// If that does not hold.
pub async fn artifact_is_visible_in_its_run_only(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    society.start_run("two", None).await;
    let (a, b) = (
        society.create_role_and_hire("one/root", "architect").await,
        society.create_role_and_hire("two/root", "architect").await,
    );
    let params = PutArtifactParams {
        artifact_type: "spec".to_owned(),
        content: RawJson::from_value(&"the same").unwrap(),
        meta: None,
    };
    let stored = op::put_artifact(&society.app.request(&parse_agent_id(&a)), &params)
        .await
        .unwrap();
    let get = GetArtifactParams {
        reference: stored.reference.clone(),
        ..GetArtifactParams::default()
    };
    let found = op::get_artifact(&society.app.request(&parse_agent_id(&a)), &get)
        .await
        .unwrap();
    assert_eq!(found.artifact.run, Some(parse_run_id("one")));
    let hidden = op::get_artifact(&society.app.request(&parse_agent_id(&b)), &get).await;
    assert_eq!(refusal_code(hidden), RefusalCode::ARTIFACT_NOT_FOUND);
    op::get_artifact(&society.app.request(&AgentId::user()), &get)
        .await
        .unwrap();
    let other = op::put_artifact(&society.app.request(&parse_agent_id(&b)), &params)
        .await
        .unwrap();
    assert!(!other.existed && other.reference != stored.reference);
    let again = op::put_artifact(&society.app.request(&parse_agent_id(&a)), &params)
        .await
        .unwrap();
    assert!(again.existed && again.reference == stored.reference);
}

/// The person and the agents above a member can pause and resume it; a member of its own level cannot.
/// Pausing a run does not change the status of its members.
///
/// # Panics
/// If that does not hold.
pub async fn pause_and_resume_change_member_and_run_status(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let a = society.create_role_and_hire(&boss, "programmer").await;
    let b = society.create_role_and_hire(&boss, "programmer").await;
    let pause_params = |agent: &str, subtree| PauseSocietyParams {
        agent_id: Some(parse_agent_id(agent)),
        subtree,
        ..PauseSocietyParams::default()
    };
    let status = async |agent: &str| {
        society
            .member_state(&parse_member_key(&format!("one/{agent}")))
            .await
            .value
            .status
    };
    let by_peer = op::pause_society(
        &society.app.request(&parse_agent_id(&a)),
        &pause_params(&b, false),
    )
    .await;
    assert_eq!(refusal_code(by_peer), RefusalCode::NOT_DESCENDANT);
    let paused = op::pause_society(
        &society.app.request(&parse_agent_id(&boss)),
        &pause_params(&a, false),
    )
    .await;
    assert_eq!(paused.unwrap().agents, [parse_agent_id(&a)]);
    let paused = op::pause_society(
        &society.app.request(&AgentId::user()),
        &pause_params(&boss, true),
    )
    .await;
    assert_eq!(paused.unwrap().agents.len(), 2, "one is already paused");
    for agent in [&boss, &a, &b] {
        assert_eq!(status(agent).await, MemberStatus::Paused);
    }
    let resumed = op::resume_society(
        &society.app.request(&AgentId::user()),
        &pause_params(&boss, true),
    )
    .await;
    assert_eq!(resumed.unwrap().agents.len(), 3);
    assert_eq!(status(&b).await, MemberStatus::Working);
    let run = PauseSocietyParams {
        run_id: Some(parse_run_id("one")),
        ..PauseSocietyParams::default()
    };
    let paused = op::pause_society(&society.app.request(&AgentId::user()), &run)
        .await
        .unwrap();
    assert_eq!(paused.status, RunStatus::Paused);
    assert_eq!(status(&b).await, MemberStatus::Working);
    let resumed = op::resume_society(&society.app.request(&AgentId::user()), &run)
        .await
        .unwrap();
    assert_eq!(resumed.status, RunStatus::Active);
}

/// Only the person can decide a call approval, and the decision is final. The member that asked then
/// continues.
///
/// # Panics
/// If that does not hold.
pub async fn call_approval_is_decided_once_by_user(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let member_key = parse_member_key(&format!("one/{boss}"));
    let record = society.member_state(&member_key).await;
    let mut state = record.value.clone();
    state.status = MemberStatus::AwaitingApproval;
    let name = approval_record_name(&member_key, 3, 0);
    let approval = CallApproval {
        id: name.id.clone(),
        run: member_key.run.clone(),
        agent: member_key.agent.clone(),
        tool: "run_command".to_owned(),
        arguments: RawJson::parse(r#"{"command":"make"}"#).unwrap(),
        asked_at: society.app.now(),
        decision: None,
    };
    let caller = Caller::resolve(AgentId::user(), None).unwrap();
    let changes = Changeset::new(&caller, society.app.now())
        .with_write(record.update_write(member::member_state_record_name(&member_key), &state))
        .with_write(polis_core::society::versioned::new_record_write(
            name, &approval,
        ));
    society.app.store.commit(changes).await.unwrap();

    let user = AgentId::user();
    let list = op::list_approvals(
        &society.app.request(&user),
        &op::ListApprovalsParams::default(),
    )
    .await;
    assert_eq!(list.unwrap().approvals, std::slice::from_ref(&approval));
    let decide = |allowed| DecideApprovalParams {
        id: approval.id.clone(),
        allowed,
        note: None,
    };
    let by_agent =
        op::decide_approval(&society.app.request(&member_key.agent), &decide(true)).await;
    assert_eq!(refusal_code(by_agent), RefusalCode::PERMISSION_DENIED);
    assert_eq!(
        society.member_state(&member_key).await.value.status,
        MemberStatus::AwaitingApproval
    );
    op::decide_approval(&society.app.request(&user), &decide(true))
        .await
        .unwrap();
    assert_eq!(
        society.member_state(&member_key).await.value.status,
        MemberStatus::Working
    );
    op::decide_approval(&society.app.request(&user), &decide(true))
        .await
        .unwrap();
    let other = op::decide_approval(&society.app.request(&user), &decide(false)).await;
    assert_eq!(refusal_code(other), RefusalCode::WRONG_STATE);
    let unknown = DecideApprovalParams {
        id: "one/x/1.0".to_owned(),
        ..decide(true)
    };
    let unknown = op::decide_approval(&society.app.request(&user), &unknown).await;
    assert_eq!(refusal_code(unknown), RefusalCode::APPROVAL_NOT_FOUND);
    let list = op::list_approvals(
        &society.app.request(&user),
        &op::ListApprovalsParams::default(),
    )
    .await;
    assert_eq!(list.unwrap().approvals, []);
}

/// Stopping a run dismisses all its members, including root; they can no longer be reached.
///
/// # Panics
/// If that does not hold.
pub async fn stopping_run_dismisses_all_members(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let one = society.create_role_and_hire(&boss, "programmer").await;
    let stop = RunIdParams {
        run_id: parse_run_id("one"),
    };
    assert_eq!(
        refusal_code(op::stop_run(&society.app.request(&parse_agent_id(&boss)), &stop).await),
        RefusalCode::NOT_DESCENDANT
    );
    let user = AgentId::user();
    let result = op::stop_run(&society.app.request(&user), &stop)
        .await
        .unwrap();
    let mut names: Vec<&str> = result.dismissed.iter().map(AgentId::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, [boss.as_str(), one.as_str(), "root"]);
    let run = society.show_run("one").await;
    assert_eq!((run.status, run.agents), (RunStatus::Stopped, 0));
    assert_eq!(
        society
            .app
            .store
            .unread_mailboxes(i64::MAX, None, 9)
            .await
            .unwrap(),
        []
    );
    for to in [&one, "root"] {
        let sent = society.send_message("one/root", to, "?").await;
        assert_eq!(refusal_code(sent), RefusalCode::RECIPIENT_NOT_FOUND, "{to}");
    }
    assert_eq!(
        refusal_code(society.hire_agent("one/root", "architect").await),
        RefusalCode::WRONG_STATE
    );
    assert_eq!(
        op::stop_run(&society.app.request(&user), &stop)
            .await
            .unwrap()
            .dismissed,
        []
    );
    let runs = op::list_runs(&society.app.request(&user), &op::ListRunsParams::default()).await;
    assert_eq!(runs.unwrap().runs, []);
}

/// Commit hook that appends a turn with the operation's answer, as the runtime does.
#[derive(Debug)]
struct AppendTurnHook {
    member: String,
    turn: u64,
    commit_count: AtomicUsize,
}

impl CommitHook for AppendTurnHook {
    fn add_writes(&self, changes: Changeset, _: i64, answer: ResponseBuilder) -> Changeset {
        changes.with_write(StoreWrite::AppendTurn {
            member: self.member.clone(),
            turn: self.turn,
            body: RecordBody::FromReceipt(Arc::new(move |receipt: &Receipt| answer(receipt))),
        })
    }

    fn refusal_on_conflict(&self, key: &RecordKey) -> Option<Refusal> {
        matches!(key, RecordKey::Turn { .. })
            .then(|| Refusal::new(RefusalCode::OUTCOME_UNKNOWN, Reason::new("test-failure")))
    }

    fn on_committed(&self, _: &Receipt) {
        self.commit_count.fetch_add(1, Ordering::SeqCst);
    }
}

/// An operation and the writes of its commit hook are committed together or not at all.
///
/// # Panics
/// If that does not hold.
pub async fn commit_hook_writes_commit_with_operation_or_not_at_all(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let member_key = parse_member_key(&format!("one/{boss}"));
    let turning = |turn| {
        Arc::new(AppendTurnHook {
            member: member_key.to_string(),
            turn,
            commit_count: AtomicUsize::new(0),
        })
    };
    let message = polis_core::message::SendMessageParams {
        to: polis_core::message::MessageRecipients::One("user".to_owned()),
        payload: RawJson::from_value(&"done").unwrap(),
        reply_to: None,
        delay_ms: None,
    };
    let first = turning(0);
    let hooked = society
        .app
        .request(&member_key.agent)
        .with_commit_hook(Arc::<AppendTurnHook>::clone(&first));
    let sent = op::send_message(&hooked, &message).await.unwrap();
    assert_eq!(first.commit_count.load(Ordering::SeqCst), 1);
    let turns = society.app.store.turns(&member_key, 0, 9).await.unwrap();
    let body: serde_json::Value = serde_json::from_str(&turns[0].body).unwrap();
    assert_eq!(body["messages"][0]["id"], sent.messages[0].id);
    // The turn number is taken, so the message is not sent either.
    let second = turning(0);
    let hooked = society
        .app
        .request(&member_key.agent)
        .with_commit_hook(Arc::<AppendTurnHook>::clone(&second));
    let result = op::send_message(&hooked, &message).await;
    assert_eq!(refusal_code(result), RefusalCode::OUTCOME_UNKNOWN);
    assert_eq!(second.commit_count.load(Ordering::SeqCst), 0);
    assert_eq!(society.unread_texts("user").await, ["done"]);
    // A refused operation writes nothing.
    let third = turning(1);
    let hooked = society
        .app
        .request(&member_key.agent)
        .with_commit_hook(Arc::<AppendTurnHook>::clone(&third));
    let nobody = polis_core::message::SendMessageParams {
        to: polis_core::message::MessageRecipients::One("nobody".to_owned()),
        ..message
    };
    assert_eq!(
        refusal_code(op::send_message(&hooked, &nobody).await),
        RefusalCode::RECIPIENT_NOT_FOUND
    );
    assert_eq!(
        society
            .app
            .store
            .turns(&member_key, 0, 9)
            .await
            .unwrap()
            .len(),
        1
    );
    // The same for hiring.
    society
        .create_role(&boss, "programmer", "work")
        .await
        .unwrap();
    let hire = polis_core::society::hire::SpawnAgentParams {
        role: Some("programmer".to_owned()),
        task_brief: polis_core::society::brief::TaskBrief::from_objective("x"),
        ..Default::default()
    };
    let hooked = society
        .app
        .request(&member_key.agent)
        .with_commit_hook(turning(0));
    assert_eq!(
        refusal_code(op::spawn_agent(&hooked, &hire).await),
        RefusalCode::OUTCOME_UNKNOWN
    );
    assert_eq!(society.show_run("one").await.agents, 1);
    let hooked = society
        .app
        .request(&member_key.agent)
        .with_commit_hook(turning(1));
    let hired = op::spawn_agent(&hooked, &hire).await.unwrap();
    let turns = society.app.store.turns(&member_key, 1, 9).await.unwrap();
    assert!(
        turns[0].body.contains(hired.id.as_str()),
        "{}",
        turns[0].body
    );
}
