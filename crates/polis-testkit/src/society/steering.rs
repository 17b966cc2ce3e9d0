//! Suite for steering runs: messages and artifacts of runs, pausing and resuming, approvals, stopping, and
//! commit hooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polis_core::artifact::PutArtifact;
use polis_core::changeset::{Receipt, Write};
use polis_core::record::RecordBody;
use polis_core::society::approval::{Approval, record_name};
use polis_core::society::member::{self, MemberStatus};
use polis_core::society::run::RunStatus;
use polis_core::{AgentId, Caller, Changeset, Code, Raw, RecordKey, Refusal};
use polis_ops::op::{self, DecideApproval, GetArtifact, HoldSociety, OfRun, TellRun};
use polis_ops::{Alongside, AnswerOf};

use super::scene::{Scene, code};
use crate::Ground;
use crate::test_store::{agent, member as key, run_named};

/// # Panics
/// If a message crosses from one run into another, or is not delivered within its run.
pub async fn messages_stay_within_a_run(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    scene.start("two", None).await;
    let (a, b) = (
        scene.staff("one/root", "architect").await,
        scene.staff("two/root", "architect").await,
    );
    let helper = scene.staff(&a, "programmer").await;
    let across = scene.send(&a, &b, "psst").await.unwrap_err();
    assert_eq!(across.code(), Code::RecipientNotFound);
    assert!(across.to_string().contains("another run"), "{across}");
    assert_eq!(
        code(scene.send("one/root", &b, "psst").await),
        Code::RecipientNotFound
    );
    assert_eq!(
        code(scene.send(&a, "nobody-7", "hi").await),
        Code::RecipientNotFound
    );
    // A role recipient is resolved within the run.
    let sent = scene.send(&helper, "role:architect", "done").await.unwrap();
    assert_eq!(sent.messages.len(), 1);
    assert_eq!(sent.messages[0].to.as_str(), a);
    scene.send(&a, "user", "a question").await.unwrap();
    let user = AgentId::user();
    let mail = op::check_messages(&scene.polis, &user, &op::CheckMessages::default()).await;
    let question = mail.unwrap().messages.remove(0);
    assert_eq!(question.run, Some(run_named("one")));
    // The user reaches all agents. For root the run must be given, or follows from the message that is
    // answered.
    scene.send("user", &b, "hello").await.unwrap();
    assert_eq!(scene.heard(&b).await, ["hello"]);
    assert_eq!(
        code(scene.send("user", "root", "?").await),
        Code::RecipientNotFound
    );
    scene.heard("one/root").await;
    let tell = TellRun {
        task_id: run_named("one"),
        to: None,
        payload: Raw::of(&"hurry").unwrap(),
        reply_to: None,
    };
    op::tell_run(&scene.polis, &user, &tell).await.unwrap();
    scene.send("one/root", "user", "ready").await.unwrap();
    let mail = op::check_messages(&scene.polis, &user, &op::CheckMessages::default()).await;
    let ready = mail.unwrap().messages.remove(0);
    let answer = polis_core::message::SendMessage {
        to: polis_core::message::Recipients::One("root".to_owned()),
        payload: Raw::of(&"thanks").unwrap(),
        reply_to: Some(ready.id),
        delay_ms: None,
    };
    op::send_message(&scene.polis, &user, &answer)
        .await
        .unwrap();
    assert_eq!(scene.heard("one/root").await, ["hurry", "thanks"]);
}

/// # Panics
/// If an artifact is found by members of another run, or is shared with theirs.
pub async fn an_artifact_belongs_to_its_run(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    scene.start("two", None).await;
    let (a, b) = (
        scene.staff("one/root", "architect").await,
        scene.staff("two/root", "architect").await,
    );
    let put = PutArtifact {
        artifact_type: "spec".to_owned(),
        content: Raw::of(&"the same").unwrap(),
        meta: None,
    };
    let kept = op::put_artifact(&scene.polis, &agent(&a), &put)
        .await
        .unwrap();
    let get = GetArtifact {
        reference: kept.reference.clone(),
        ..GetArtifact::default()
    };
    let found = op::get_artifact(&scene.polis, &agent(&a), &get)
        .await
        .unwrap();
    assert_eq!(found.artifact.run, Some(run_named("one")));
    let hidden = op::get_artifact(&scene.polis, &agent(&b), &get).await;
    assert_eq!(code(hidden), Code::ArtifactNotFound);
    op::get_artifact(&scene.polis, &AgentId::user(), &get)
        .await
        .unwrap();
    let other = op::put_artifact(&scene.polis, &agent(&b), &put)
        .await
        .unwrap();
    assert!(!other.existed && other.reference != kept.reference);
    let again = op::put_artifact(&scene.polis, &agent(&a), &put)
        .await
        .unwrap();
    assert!(again.existed && again.reference == kept.reference);
}

/// # Panics
/// If an agent is not paused, resumes by itself, or is paused by an agent without permission.
pub async fn holding_up_and_going_on(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let a = scene.staff(&boss, "programmer").await;
    let b = scene.staff(&boss, "programmer").await;
    let of = |whom: &str, subtree| HoldSociety {
        agent_id: Some(agent(whom)),
        subtree,
        ..HoldSociety::default()
    };
    let status = async |who: &str| scene.state(&key(&format!("one/{who}"))).await.value.status;
    let by_peer = op::pause_society(&scene.polis, &agent(&a), &of(&b, false)).await;
    assert_eq!(code(by_peer), Code::NotDescendant);
    let held = op::pause_society(&scene.polis, &agent(&boss), &of(&a, false)).await;
    assert_eq!(held.unwrap().agents, [agent(&a)]);
    let held = op::pause_society(&scene.polis, &AgentId::user(), &of(&boss, true)).await;
    assert_eq!(held.unwrap().agents.len(), 2, "one is held up already");
    for who in [&boss, &a, &b] {
        assert_eq!(status(who).await, MemberStatus::Paused);
    }
    let gone_on = op::resume_society(&scene.polis, &AgentId::user(), &of(&boss, true)).await;
    assert_eq!(gone_on.unwrap().agents.len(), 3);
    assert_eq!(status(&b).await, MemberStatus::Working);
    let run = HoldSociety {
        task_id: Some(run_named("one")),
        ..HoldSociety::default()
    };
    let held = op::pause_society(&scene.polis, &AgentId::user(), &run)
        .await
        .unwrap();
    assert_eq!(held.status, RunStatus::Paused);
    assert_eq!(status(&b).await, MemberStatus::Working);
    let held = op::resume_society(&scene.polis, &AgentId::user(), &run)
        .await
        .unwrap();
    assert_eq!(held.status, RunStatus::Active);
}

/// # Panics
/// If an agent can decide an approval, a decision can be changed, or the asking member does not resume.
pub async fn a_call_is_allowed_once_and_by_a_person(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let who = key(&format!("one/{boss}"));
    let asks = scene.state(&who).await;
    let mut state = asks.value.clone();
    state.status = MemberStatus::Asking;
    let name = record_name(&who, 3, 0);
    let approval = Approval {
        id: name.id.clone(),
        run: who.run.clone(),
        agent: who.agent.clone(),
        tool: "run_command".to_owned(),
        arguments: Raw::parse(r#"{"command":"make"}"#).unwrap(),
        asked_at: scene.polis.now(),
        decision: None,
    };
    let caller = Caller::resolve(AgentId::user(), None).unwrap();
    let changes = Changeset::by(&caller, scene.polis.now())
        .write(asks.put(member::state_name(&who), &state))
        .write(polis_core::society::versioned::add(name, &approval));
    scene.polis.store.commit(changes).await.unwrap();

    let user = AgentId::user();
    let list = op::list_approvals(&scene.polis, &user, &op::ListApprovals::default()).await;
    assert_eq!(list.unwrap().approvals, std::slice::from_ref(&approval));
    let decide = |allowed| DecideApproval {
        id: approval.id.clone(),
        allowed,
        note: None,
    };
    let by_agent = op::decide_approval(&scene.polis, &who.agent, &decide(true)).await;
    assert_eq!(code(by_agent), Code::PermissionDenied);
    assert_eq!(scene.state(&who).await.value.status, MemberStatus::Asking);
    op::decide_approval(&scene.polis, &user, &decide(true))
        .await
        .unwrap();
    assert_eq!(scene.state(&who).await.value.status, MemberStatus::Working);
    op::decide_approval(&scene.polis, &user, &decide(true))
        .await
        .unwrap();
    let other = op::decide_approval(&scene.polis, &user, &decide(false)).await;
    assert_eq!(code(other), Code::WrongState);
    let unknown = DecideApproval {
        id: "one/x/1.0".to_owned(),
        ..decide(true)
    };
    let unknown = op::decide_approval(&scene.polis, &user, &unknown).await;
    assert_eq!(code(unknown), Code::ApprovalNotFound);
    let list = op::list_approvals(&scene.polis, &user, &op::ListApprovals::default()).await;
    assert_eq!(list.unwrap().approvals, []);
}

/// # Panics
/// If members of a stopped run remain or can be reached.
pub async fn a_run_ends_for_everybody(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let one = scene.staff(&boss, "programmer").await;
    let stop = OfRun {
        task_id: run_named("one"),
    };
    assert_eq!(
        code(op::stop_run(&scene.polis, &agent(&boss), &stop).await),
        Code::NotDescendant
    );
    let user = AgentId::user();
    let gone = op::stop_run(&scene.polis, &user, &stop).await.unwrap();
    let mut names: Vec<&str> = gone.dismissed.iter().map(AgentId::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, [boss.as_str(), one.as_str(), "root"]);
    let run = scene.run("one").await;
    assert_eq!((run.status, run.agents), (RunStatus::Stopped, 0));
    assert_eq!(
        scene.polis.store.waiting(i64::MAX, None, 9).await.unwrap(),
        []
    );
    for to in [&one, "root"] {
        let sent = scene.send("one/root", to, "?").await;
        assert_eq!(code(sent), Code::RecipientNotFound, "{to}");
    }
    assert_eq!(
        code(scene.hire("one/root", "architect").await),
        Code::WrongState
    );
    assert_eq!(
        op::stop_run(&scene.polis, &user, &stop)
            .await
            .unwrap()
            .dismissed,
        []
    );
    let runs = op::list_runs(&scene.polis, &user, &op::ListRuns::default()).await;
    assert_eq!(runs.unwrap().runs, []);
}

/// Commit hook that appends a turn with the operation's answer, as the runtime does.
#[derive(Debug)]
struct Turning {
    member: String,
    turn: u64,
    committed: AtomicUsize,
}

impl Alongside for Turning {
    fn join(&self, changes: Changeset, _: i64, answer: AnswerOf) -> Changeset {
        changes.write(Write::AppendTurn {
            member: self.member.clone(),
            turn: self.turn,
            body: RecordBody::OfReceipt(Arc::new(move |receipt: &Receipt| answer(receipt))),
        })
    }

    fn lost(&self, key: &RecordKey) -> Option<Refusal> {
        matches!(key, RecordKey::Turn { .. })
            .then(|| Refusal::new(Code::OutcomeUnknown, "Taken.", "look again"))
    }

    fn committed(&self, _: &Receipt) {
        self.committed.fetch_add(1, Ordering::SeqCst);
    }
}

/// # Panics
/// If an operation is committed without its commit hook's write, or the other way round.
pub async fn what_goes_alongside_is_there_with_the_deed_or_neither_is(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let who = key(&format!("one/{boss}"));
    let turning = |turn| {
        Arc::new(Turning {
            member: who.to_string(),
            turn,
            committed: AtomicUsize::new(0),
        })
    };
    let message = polis_core::message::SendMessage {
        to: polis_core::message::Recipients::One("user".to_owned()),
        payload: Raw::of(&"done").unwrap(),
        reply_to: None,
        delay_ms: None,
    };
    let first = turning(0);
    let ground = scene.polis.alongside(Arc::<Turning>::clone(&first));
    let sent = op::send_message(&ground, &who.agent, &message)
        .await
        .unwrap();
    assert_eq!(first.committed.load(Ordering::SeqCst), 1);
    let turns = scene.polis.store.turns(&who, 0, 9).await.unwrap();
    let said: serde_json::Value = serde_json::from_str(&turns[0].body).unwrap();
    assert_eq!(said["messages"][0]["id"], sent.messages[0].id);
    // The turn number is taken, so the message is not sent either.
    let second = turning(0);
    let ground = scene.polis.alongside(Arc::<Turning>::clone(&second));
    let lost = op::send_message(&ground, &who.agent, &message).await;
    assert_eq!(code(lost), Code::OutcomeUnknown);
    assert_eq!(second.committed.load(Ordering::SeqCst), 0);
    assert_eq!(scene.heard("user").await, ["done"]);
    // A refused operation writes nothing.
    let third = turning(1);
    let ground = scene.polis.alongside(Arc::<Turning>::clone(&third));
    let nobody = polis_core::message::SendMessage {
        to: polis_core::message::Recipients::One("nobody".to_owned()),
        ..message
    };
    assert_eq!(
        code(op::send_message(&ground, &who.agent, &nobody).await),
        Code::RecipientNotFound
    );
    assert_eq!(scene.polis.store.turns(&who, 0, 9).await.unwrap().len(), 1);
    // The same for hiring.
    scene.role(&boss, "programmer", "work").await.unwrap();
    let hire = polis_core::society::hire::SpawnAgent {
        role: Some("programmer".to_owned()),
        task_brief: polis_core::society::brief::TaskBrief::of("x"),
        ..Default::default()
    };
    let ground = scene.polis.alongside(turning(0));
    assert_eq!(
        code(op::spawn_agent(&ground, &who.agent, &hire).await),
        Code::OutcomeUnknown
    );
    assert_eq!(scene.run("one").await.agents, 1);
    let ground = scene.polis.alongside(turning(1));
    let hired = op::spawn_agent(&ground, &who.agent, &hire).await.unwrap();
    let turns = scene.polis.store.turns(&who, 1, 9).await.unwrap();
    assert!(
        turns[0].body.contains(hired.id.as_str()),
        "{}",
        turns[0].body
    );
}
