//! Suite for what agents exchange through the operations: messages, artifacts, tokens, and idempotent
//! retries.

use std::sync::Arc;

use polis_core::agent::AgentAdd;
use polis_core::artifact::PutArtifact;
use polis_core::message::{Recipients, SendMessage};
use polis_core::token::{Access, Area, Scopes, TokenIssue};
use polis_core::{AgentId, Code, Raw};
use polis_ops::op::{self, CheckMessages, GetArtifact, LogRead, Mail, Sent};
use polis_ops::tool::{Ask, Tool};
use polis_ops::{OpError, Polis, Settings, idempotency};
use serde_json::{Value, json};

use crate::test_store::agent;
use crate::{CountedChance, FixedClock, Ground};

/// A team of agents, a manual clock, and a store.
struct Scene {
    polis: Polis,
    clock: Arc<FixedClock>,
}

impl Scene {
    async fn on(ground: &dyn Ground) -> Self {
        let clock = Arc::new(FixedClock::default());
        let polis = Polis::new(
            ground.open().await.unwrap(),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountedChance::default()),
            Settings::default(),
        );
        for (id, role) in [
            ("ann", "backend-leader"),
            ("bob", "frontend-leader"),
            ("cem", "frontend-leader"),
        ] {
            let add = AgentAdd {
                id: agent(id),
                name: None,
                role: role.to_owned(),
                layer: None,
                supervisor: None,
                workspace_path: None,
            };
            op::add_agent(&polis, &AgentId::user(), &add).await.unwrap();
        }
        Self { polis, clock }
    }

    /// The same team through another handle on the store, as in another process.
    async fn elsewhere(&self, ground: &dyn Ground) -> Polis {
        let mut polis = self.polis.clone();
        polis.store = ground.open().await.unwrap();
        polis
    }

    async fn send(&self, from: &str, to: &[&str], text: &str) -> Result<Sent, OpError> {
        self.send_as(from, to, text, None, None).await
    }

    async fn send_as(
        &self,
        from: &str,
        to: &[&str],
        text: &str,
        reply_to: Option<u64>,
        delay_ms: Option<u64>,
    ) -> Result<Sent, OpError> {
        let params = SendMessage {
            to: Recipients::Several(to.iter().map(|&t| t.to_owned()).collect()),
            payload: Raw::of(&text).unwrap(),
            reply_to,
            delay_ms,
        };
        op::send_message(&self.polis, &agent(from), &params).await
    }

    async fn check(&self, who: &str) -> Vec<String> {
        said(self.look(who, CheckMessages::default()).await)
    }

    async fn look(&self, who: &str, params: CheckMessages) -> Mail {
        op::check_messages(&self.polis, &agent(who), &params)
            .await
            .unwrap()
    }

    async fn once(
        &self,
        tool: &str,
        by: &str,
        params: Value,
        key: &str,
    ) -> Result<idempotency::Replied, OpError> {
        let tool = Tool::find(tool).unwrap();
        let params = params.as_object().cloned().unwrap_or_default();
        idempotency::call_once(&self.polis, tool, Ask::new(&agent(by), params), key).await
    }

    async fn issue(&self, who: &str, scopes: &str, expires_in_ms: Option<i64>) -> op::IssuedToken {
        let params = TokenIssue {
            agent: agent(who),
            scopes: scopes.parse().unwrap(),
            expires_in_ms,
        };
        op::issue_token(&self.polis, &AgentId::user(), &params)
            .await
            .unwrap()
    }
}

fn said(mail: Mail) -> Vec<String> {
    mail.messages
        .into_iter()
        .map(|m| m.payload.to().unwrap())
        .collect()
}

fn refused<T: std::fmt::Debug>(answer: Result<T, OpError>) -> Code {
    answer.unwrap_err().code()
}

/// A message is delivered once by checking the mailbox, and can be read again on request.
pub async fn a_message_is_read_once_and_stays(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.send("ann", &["bob"], "一").await.unwrap();
    scene.send("ann", &["bob"], "二").await.unwrap();
    assert_eq!(scene.check("cem").await, Vec::<String>::new());
    assert_eq!(scene.check("bob").await, ["一", "二"]);
    assert_eq!(scene.check("bob").await, Vec::<String>::new());
    let again = CheckMessages {
        since: Some(0),
        ..CheckMessages::default()
    };
    let again = scene.look("bob", again).await;
    assert!(again.messages.iter().all(|m| m.read_at.is_some()));
    assert_eq!(said(again), ["一", "二"]);
}

/// Each of several recipients and role members gets one message; a recipient named twice gets it once.
pub async fn a_message_to_several_is_one_for_each(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let sent = scene
        .send("bob", &["role:frontend-leader", "ann", "ann", "user"], "x")
        .await
        .unwrap();
    let to: Vec<&str> = sent.messages.iter().map(|m| m.to.as_str()).collect();
    assert_eq!(
        to,
        ["cem", "ann", "user"],
        "who writes to its own role means the others"
    );
    let ids: Vec<u64> = sent.messages.iter().map(|m| m.id).collect();
    assert_eq!(ids, [1, 2, 3]);
    for who in ["cem", "ann", "user"] {
        assert_eq!(scene.check(who).await, ["x"], "{who}");
    }
}

/// A message with an undeliverable recipient is refused as a whole.
pub async fn a_message_to_nobody_is_refused(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    op::retire_agent(&scene.polis, &AgentId::user(), &agent("cem"))
        .await
        .unwrap();
    for (to, code) in [
        (&["bob", "dan"][..], Code::RecipientNotFound),
        (&["cem"], Code::RecipientNotFound),
        (&["role:nobody"], Code::RecipientNotFound),
        (&[], Code::RecipientNotFound),
        (&["a/b"], Code::InvalidAgentId),
        (&["root"], Code::RecipientNotFound),
    ] {
        assert_eq!(refused(scene.send("ann", to, "x").await), code, "{to:?}");
    }
    assert_eq!(
        refused(scene.send("ann", &["bob"], " ").await),
        Code::InvalidMessage
    );
    assert_eq!(
        refused(scene.send_as("ann", &["bob"], "x", Some(9), None).await),
        Code::MessageNotFound
    );
    assert_eq!(scene.check("bob").await, Vec::<String>::new());
}

/// Only the sender and the recipients of a message can reply to it.
pub async fn a_message_is_answered_by_those_who_have_it(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let id = scene.send("ann", &["bob"], "?").await.unwrap().messages[0].id;
    assert_eq!(
        refused(scene.send_as("cem", &["ann"], "!", Some(id), None).await),
        Code::MessageNotFound
    );
    scene
        .send_as("bob", &["ann"], "!", Some(id), None)
        .await
        .unwrap();
    let mail = scene.look("ann", CheckMessages::default()).await;
    assert_eq!(mail.messages[0].reply_to, Some(id));
    assert_eq!(mail.messages[0].from, agent("bob"));
}

/// A delayed message is not visible before its delivery time.
pub async fn a_delayed_message_comes_later(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene
        .send_as("ann", &["bob"], "later", None, Some(1_000))
        .await
        .unwrap();
    scene.send("ann", &["bob"], "now").await.unwrap();
    assert_eq!(scene.check("bob").await, ["now"]);
    scene.clock.advance(999);
    assert_eq!(scene.check("bob").await, Vec::<String>::new());
    scene.clock.advance(1);
    assert_eq!(scene.check("bob").await, ["later"]);
}

/// If several clients check one mailbox concurrently, each message goes to one of them.
pub async fn a_mailbox_is_shared_out(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    for n in 0..20 {
        scene.send("ann", &["bob"], &n.to_string()).await.unwrap();
    }
    let mut readers = Vec::new();
    for _ in 0..8 {
        let polis = scene.elsewhere(ground).await;
        readers.push(tokio::spawn(async move {
            let few = CheckMessages {
                limit: Some(3),
                ..CheckMessages::default()
            };
            let mut got = Vec::new();
            loop {
                let mail = op::check_messages(&polis, &agent("bob"), &few)
                    .await
                    .unwrap();
                if mail.messages.is_empty() {
                    return got;
                }
                got.extend(mail.messages.into_iter().map(|m| m.id));
            }
        }));
    }
    let mut all = Vec::new();
    for reader in readers {
        all.extend(reader.await.unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, (1..=20).collect::<Vec<u64>>());
}

/// A client that waits for a message is woken by it.
pub async fn waiting_for_a_message_ends_with_it(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let polis = scene.elsewhere(ground).await;
    let waiter = tokio::spawn(async move {
        let patient = CheckMessages {
            wait_ms: Some(60_000),
            ..CheckMessages::default()
        };
        op::check_messages(&polis, &agent("bob"), &patient).await
    });
    scene.send("ann", &["bob"], "wake up").await.unwrap();
    assert_eq!(said(waiter.await.unwrap().unwrap()), ["wake up"]);
}

/// A message's content is not in the log, and only its sender and recipient see that it was sent.
pub async fn the_log_keeps_letters_closed(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.send("ann", &["bob"], "secret").await.unwrap();
    let newest = scene.polis.store.last_sequence().await.unwrap();
    for (who, sees) in [("ann", true), ("bob", true), ("cem", false), ("user", true)] {
        let log = op::read_log(&scene.polis, &agent(who), &LogRead::default())
            .await
            .unwrap();
        let told = log.events.iter().find(|e| e.kind == "message.sent");
        assert_eq!(told.is_some(), sees, "{who}");
        assert!(told.is_none_or(|event| !event.data.text().contains("secret")));
        assert_eq!(
            log.through, newest,
            "{who}: the place moves on over what is hidden"
        );
    }
}

/// An artifact is stored once and read by its content hash.
pub async fn an_artifact_is_named_by_its_content(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let spec = PutArtifact {
        artifact_type: "spec".to_owned(),
        content: Raw::parse(r#"{"模块":"登录"}"#).unwrap(),
        meta: Some(Raw::parse(r#"{"v":1}"#).unwrap()),
    };
    let put = |by: &'static str, params: PutArtifact| {
        let polis = scene.polis.clone();
        async move { op::put_artifact(&polis, &agent(by), &params).await }
    };
    let first = put("ann", spec.clone()).await.unwrap();
    assert!(!first.existed);
    let again = put("bob", spec.clone()).await.unwrap();
    assert_eq!(
        (again.id.as_str(), again.existed),
        (first.id.as_str(), true)
    );
    let other = PutArtifact {
        meta: None,
        ..spec.clone()
    };
    assert_ne!(put("bob", other).await.unwrap().id, first.id);
    let get = |reference: String| {
        let polis = scene.polis.clone();
        let wanted = GetArtifact {
            reference,
            ..GetArtifact::default()
        };
        async move {
            let found = op::get_artifact(&polis, &agent("cem"), &wanted).await;
            found.map(|found| found.artifact)
        }
    };
    let found = get(first.reference.clone()).await.unwrap();
    assert_eq!(found.content.text(), spec.content.text());
    assert_eq!(found.created_by, agent("ann"));
    assert_eq!(get(first.id.clone()).await.unwrap(), found);
    for bad in [
        "",
        "artifact:",
        "artifact:../../polis.db",
        "../x",
        &"a".repeat(40),
        &first.id.to_uppercase(),
    ] {
        assert_eq!(
            refused(get(bad.to_owned()).await),
            Code::ArtifactNotFound,
            "{bad}"
        );
    }
    for (kind, content, meta) in [("", "1", None), ("x", "1", Some("[1]"))] {
        let bad = PutArtifact {
            artifact_type: kind.to_owned(),
            content: Raw::parse(content).unwrap(),
            meta: meta.map(|m| Raw::parse(m).unwrap()),
        };
        assert_eq!(refused(put("ann", bad).await), Code::InvalidArtifact);
    }
}

/// A token is valid until it expires, is revoked, or its agent is retired.
pub async fn a_token_counts_until_it_ends(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let admit = |text: &str| {
        let (polis, text) = (scene.polis.clone(), text.to_owned());
        async move { op::admit(&polis, &text).await }
    };
    let good = scene.issue("ann", "tasks,boards:read", None).await;
    let admitted = admit(&good.token).await.unwrap();
    assert_eq!(admitted.agent, agent("ann"));
    assert!(admitted.scopes.allow(Area::Tasks, Access::Write));
    assert!(!admitted.scopes.allow(Area::Boards, Access::Write));
    let brief = scene.issue("bob", "all", Some(1_000)).await;
    let retired = scene.issue("cem", "all", None).await;
    let person = scene.issue("user", "all", None).await;
    assert_eq!(admit(&person.token).await.unwrap().agent, AgentId::user());
    for token in [&brief, &retired] {
        assert!(admit(&token.token).await.is_ok());
    }
    scene.clock.advance(1_000);
    op::retire_agent(&scene.polis, &AgentId::user(), &agent("cem"))
        .await
        .unwrap();
    op::revoke_token(&scene.polis, &AgentId::user(), &good.view.id)
        .await
        .unwrap();
    let swapped = good.token.replace(&good.view.id, &person.view.id);
    for bad in [
        &good.token,
        &brief.token,
        &retired.token,
        &swapped,
        &String::new(),
    ] {
        assert_eq!(refused(admit(bad).await), Code::Unauthorized);
    }
    assert_eq!(
        refused(op::list_tokens(&scene.polis, &agent("ann"), None).await),
        Code::PermissionDenied
    );
    let listed = op::list_tokens(&scene.polis, &AgentId::user(), None)
        .await
        .unwrap();
    assert_eq!(listed.tokens.len(), 4);
    assert!(!serde_json::to_string(&listed).unwrap().contains("hash"));
    let for_nobody = TokenIssue {
        agent: agent("dan"),
        scopes: Scopes::all(),
        expires_in_ms: None,
    };
    let issued = op::issue_token(&scene.polis, &AgentId::user(), &for_nobody).await;
    assert_eq!(refused(issued), Code::AgentNotFound);
}

/// A request repeated with the same idempotency key is executed once and returns the stored response.
pub async fn a_request_that_comes_again_is_done_once(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let create = json!({ "subject": "x" });
    let first = scene
        .once("TaskCreate", "ann", create.clone(), "k1")
        .await
        .unwrap();
    assert!(!first.replayed);
    assert_eq!(first.document["id"], "1");
    scene.clock.advance(60_000);
    let again = scene
        .once("TaskCreate", "ann", create.clone(), "k1")
        .await
        .unwrap();
    assert!(again.replayed);
    assert_eq!(again.document, first.document);
    // A key is scoped to its agent and its request.
    let others = scene
        .once("TaskCreate", "bob", create.clone(), "k1")
        .await
        .unwrap();
    assert_eq!(others.document["id"], "2");
    let reused = scene
        .once("TaskCreate", "ann", json!({ "subject": "y" }), "k1")
        .await;
    assert_eq!(refused(reused), Code::IdempotencyKeyReused);
    for bad in ["", "a b", "é", &"x".repeat(256)] {
        assert_eq!(
            refused(scene.once("TaskCreate", "ann", create.clone(), bad).await),
            Code::InvalidInput
        );
    }
    // A refused request was not executed and may be retried with the same key.
    let claim = json!({ "taskId": "3" });
    assert_eq!(
        refused(scene.once("TaskClaim", "ann", claim.clone(), "k2").await),
        Code::TaskNotFound
    );
    scene
        .once("TaskCreate", "ann", create.clone(), "k3")
        .await
        .unwrap();
    let claimed = scene
        .once("TaskClaim", "ann", claim.clone(), "k2")
        .await
        .unwrap();
    assert_eq!(claimed.document["owner"], "ann");
    // After a day a key is free again.
    scene.clock.advance(idempotency::KEPT_MS);
    let later = scene
        .once("TaskCreate", "ann", create.clone(), "k1")
        .await
        .unwrap();
    assert!(!later.replayed);
    idempotency::forget_replies(&scene.polis).await.unwrap();
    let kept = scene.once("TaskCreate", "ann", create, "k1").await.unwrap();
    assert_eq!((kept.replayed, &kept.document), (true, &later.document));
}

/// If the same request is sent many times concurrently, it is executed once and all get the same response.
pub async fn twins_are_answered_alike(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let mut twins = Vec::new();
    for _ in 0..16 {
        let polis = scene.elsewhere(ground).await;
        twins.push(tokio::spawn(async move {
            let params = json!({ "subject": "one" }).as_object().cloned().unwrap();
            let tool = Tool::find("TaskCreate").unwrap();
            idempotency::call_once(&polis, tool, Ask::new(&agent("ann"), params), "same").await
        }));
    }
    let mut fresh = 0;
    for twin in twins {
        let replied = twin.await.unwrap().unwrap();
        assert_eq!(replied.document["id"], "1");
        fresh += u32::from(!replied.replayed);
    }
    assert_eq!(fresh, 1);
}
