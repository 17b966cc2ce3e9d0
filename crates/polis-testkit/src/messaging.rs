//! Test suite for messages, mailboxes, artifacts, tokens and idempotency keys. The tests call the operations
//! and are run over every store.

use std::sync::Arc;

use polis_core::agent::AgentAddParams;
use polis_core::artifact::PutArtifactParams;
use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::token::{AccessLevel, OperationArea, TokenIssueParams, TokenScopes};
use polis_core::{AgentId, RawJson, RefusalCode};
use polis_ops::op::{
    self, CheckMessagesParams, GetArtifactParams, LogReadParams, MailboxPage, SendMessageResult,
};
use polis_ops::tool::{Tool, ToolRequest};
use polis_ops::{App, InstallationSettings, OpError, idempotency};
use serde_json::{Value, json};

use crate::store_factory::parse_agent_id;
use crate::{CountingRandomSource, FixedClock, StoreFactory};

/// A team of agents, a manual clock, and a store.
struct TestStore {
    app: App,
    clock: Arc<FixedClock>,
}

impl TestStore {
    async fn with_team(factory: &dyn StoreFactory) -> Self {
        let clock = Arc::new(FixedClock::default());
        let app = App::new(
            factory.open().await.unwrap(),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountingRandomSource::default()),
            InstallationSettings::default(),
        );
        for (id, role) in [
            ("ann", "backend-leader"),
            ("bob", "frontend-leader"),
            ("cem", "frontend-leader"),
        ] {
            let add = AgentAddParams {
                id: parse_agent_id(id),
                name: None,
                role: role.to_owned(),
                layer: None,
                supervisor: None,
                workspace_path: None,
            };
            op::add_agent(&app.request(&AgentId::user()), &add)
                .await
                .unwrap();
        }
        Self { app, clock }
    }

    /// Opens the same team through another handle on the store, as another process would.
    async fn open_second_handle(&self, factory: &dyn StoreFactory) -> App {
        let mut app = self.app.clone();
        app.store = factory.open().await.unwrap();
        app
    }

    async fn send_message(
        &self,
        from: &str,
        to: &[&str],
        text: &str,
    ) -> Result<SendMessageResult, OpError> {
        self.send_with_options(from, to, text, None, None).await
    }

    async fn send_with_options(
        &self,
        from: &str,
        to: &[&str],
        text: &str,
        reply_to: Option<u64>,
        delay_ms: Option<u64>,
    ) -> Result<SendMessageResult, OpError> {
        let params = SendMessageParams {
            to: MessageRecipients::Several(to.iter().map(|&t| t.to_owned()).collect()),
            payload: RawJson::from_value(&text).unwrap(),
            reply_to,
            delay_ms,
        };
        op::send_message(&self.app.request(&parse_agent_id(from)), &params).await
    }

    async fn unread_texts(&self, agent: &str) -> Vec<String> {
        message_texts(
            self.check_mailbox(agent, CheckMessagesParams::default())
                .await,
        )
    }

    async fn check_mailbox(&self, agent: &str, params: CheckMessagesParams) -> MailboxPage {
        op::check_messages(&self.app.request(&parse_agent_id(agent)), &params)
            .await
            .unwrap()
    }

    async fn call_with_idempotency_key(
        &self,
        tool: &str,
        caller: &str,
        params: Value,
        key: &str,
    ) -> Result<idempotency::IdempotentResponse, OpError> {
        let tool = Tool::find(tool).unwrap();
        let params = params.as_object().cloned().unwrap_or_default();
        idempotency::call_idempotent(
            &self.app.request(&parse_agent_id(caller)),
            tool,
            ToolRequest::new(params),
            key,
        )
        .await
    }

    async fn issue_token(
        &self,
        agent: &str,
        scopes: &str,
        expires_in_ms: Option<i64>,
    ) -> op::IssuedToken {
        let params = TokenIssueParams {
            agent: parse_agent_id(agent),
            scopes: scopes.parse().unwrap(),
            expires_in_ms,
        };
        op::issue_token(&self.app.request(&AgentId::user()), &params)
            .await
            .unwrap()
    }
}

fn message_texts(mail: MailboxPage) -> Vec<String> {
    mail.messages
        .into_iter()
        .map(|m| m.payload.parse_as().unwrap())
        .collect()
}

fn refusal_code<T: std::fmt::Debug>(answer: Result<T, OpError>) -> RefusalCode {
    answer.unwrap_err().code()
}

/// A message is delivered once by checking the mailbox, and can be read again on request.
pub async fn message_is_delivered_once_and_can_be_reread(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    store.send_message("ann", &["bob"], "一").await.unwrap();
    store.send_message("ann", &["bob"], "二").await.unwrap();
    assert_eq!(store.unread_texts("cem").await, Vec::<String>::new());
    assert_eq!(store.unread_texts("bob").await, ["一", "二"]);
    assert_eq!(store.unread_texts("bob").await, Vec::<String>::new());
    let again = CheckMessagesParams {
        since: Some(0),
        ..CheckMessagesParams::default()
    };
    let again = store.check_mailbox("bob", again).await;
    assert!(again.messages.iter().all(|m| m.read_at.is_some()));
    assert_eq!(message_texts(again), ["一", "二"]);
}

/// Each of several recipients and role members gets one message; a recipient named twice gets it once.
pub async fn message_to_several_recipients_is_sent_once_to_each(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    let sent = store
        .send_message("bob", &["role:frontend-leader", "ann", "ann", "user"], "x")
        .await
        .unwrap();
    let to: Vec<&str> = sent.messages.iter().map(|m| m.to.as_str()).collect();
    assert_eq!(
        to,
        ["cem", "ann", "user"],
        "a message to the sender's own role goes to its other members"
    );
    let ids: Vec<u64> = sent.messages.iter().map(|m| m.id).collect();
    assert_eq!(ids, [1, 2, 3]);
    for agent in ["cem", "ann", "user"] {
        assert_eq!(store.unread_texts(agent).await, ["x"], "{agent}");
    }
}

/// A message with an undeliverable recipient is refused as a whole.
pub async fn message_to_unknown_recipient_is_refused(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    op::retire_agent(&store.app.request(&AgentId::user()), &parse_agent_id("cem"))
        .await
        .unwrap();
    for (to, code) in [
        (&["bob", "dan"][..], RefusalCode::RECIPIENT_NOT_FOUND),
        (&["cem"], RefusalCode::RECIPIENT_NOT_FOUND),
        (&["role:nobody"], RefusalCode::RECIPIENT_NOT_FOUND),
        (&[], RefusalCode::RECIPIENT_NOT_FOUND),
        (&["a/b"], RefusalCode::INVALID_AGENT_ID),
        (&["root"], RefusalCode::RECIPIENT_NOT_FOUND),
    ] {
        assert_eq!(
            refusal_code(store.send_message("ann", to, "x").await),
            code,
            "{to:?}"
        );
    }
    assert_eq!(
        refusal_code(store.send_message("ann", &["bob"], " ").await),
        RefusalCode::INVALID_MESSAGE
    );
    assert_eq!(
        refusal_code(
            store
                .send_with_options("ann", &["bob"], "x", Some(9), None)
                .await
        ),
        RefusalCode::MESSAGE_NOT_FOUND
    );
    assert_eq!(store.unread_texts("bob").await, Vec::<String>::new());
}

/// Only the sender and the recipients of a message can reply to it.
pub async fn reply_is_allowed_to_sender_and_recipients_only(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    let id = store
        .send_message("ann", &["bob"], "?")
        .await
        .unwrap()
        .messages[0]
        .id;
    assert_eq!(
        refusal_code(
            store
                .send_with_options("cem", &["ann"], "!", Some(id), None)
                .await
        ),
        RefusalCode::MESSAGE_NOT_FOUND
    );
    store
        .send_with_options("bob", &["ann"], "!", Some(id), None)
        .await
        .unwrap();
    let mail = store
        .check_mailbox("ann", CheckMessagesParams::default())
        .await;
    assert_eq!(mail.messages[0].reply_to, Some(id));
    assert_eq!(mail.messages[0].from, parse_agent_id("bob"));
}

/// A delayed message is not visible before its delivery time.
pub async fn delayed_message_is_hidden_until_delivery_time(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    store
        .send_with_options("ann", &["bob"], "later", None, Some(1_000))
        .await
        .unwrap();
    store.send_message("ann", &["bob"], "now").await.unwrap();
    assert_eq!(store.unread_texts("bob").await, ["now"]);
    store.clock.advance_millis(999);
    assert_eq!(store.unread_texts("bob").await, Vec::<String>::new());
    store.clock.advance_millis(1);
    assert_eq!(store.unread_texts("bob").await, ["later"]);
}

/// If several clients check one mailbox concurrently, each message goes to one of them.
pub async fn concurrent_mailbox_checks_get_each_message_once(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    for n in 0..20 {
        store
            .send_message("ann", &["bob"], &n.to_string())
            .await
            .unwrap();
    }
    let mut readers = Vec::new();
    for _ in 0..8 {
        let app = store.open_second_handle(factory).await;
        readers.push(tokio::spawn(async move {
            let few = CheckMessagesParams {
                limit: Some(3),
                ..CheckMessagesParams::default()
            };
            let mut got = Vec::new();
            loop {
                let mail = op::check_messages(&app.request(&parse_agent_id("bob")), &few)
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
pub async fn waiting_check_returns_when_message_arrives(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    let app = store.open_second_handle(factory).await;
    let waiter = tokio::spawn(async move {
        let patient = CheckMessagesParams {
            wait_ms: Some(60_000),
            ..CheckMessagesParams::default()
        };
        op::check_messages(&app.request(&parse_agent_id("bob")), &patient).await
    });
    store
        .send_message("ann", &["bob"], "wake up")
        .await
        .unwrap();
    assert_eq!(message_texts(waiter.await.unwrap().unwrap()), ["wake up"]);
}

/// A message's content is not in the log, and only its sender and recipient see that it was sent.
pub async fn message_content_is_not_in_log(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    store.send_message("ann", &["bob"], "secret").await.unwrap();
    let newest = store.app.store.last_sequence().await.unwrap();
    for (agent, is_visible) in [("ann", true), ("bob", true), ("cem", false), ("user", true)] {
        let log = op::read_log(
            &store.app.request(&parse_agent_id(agent)),
            &LogReadParams::default(),
        )
        .await
        .unwrap();
        let sent_event = log.events.iter().find(|e| e.kind == "message.sent");
        assert_eq!(sent_event.is_some(), is_visible, "{agent}");
        assert!(sent_event.is_none_or(|event| !event.data.as_str().contains("secret")));
        assert_eq!(
            log.through, newest,
            "{agent}: the cursor advances past hidden events"
        );
    }
}

/// An artifact is stored once and read by its content hash.
pub async fn artifact_id_is_its_content_hash(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    let spec = PutArtifactParams {
        artifact_type: "spec".to_owned(),
        content: RawJson::parse(r#"{"模块":"登录"}"#).unwrap(),
        meta: Some(RawJson::parse(r#"{"v":1}"#).unwrap()),
    };
    let put = |author: &'static str, params: PutArtifactParams| {
        let app = store.app.clone();
        async move { op::put_artifact(&app.request(&parse_agent_id(author)), &params).await }
    };
    let first = put("ann", spec.clone()).await.unwrap();
    assert!(!first.existed);
    let again = put("bob", spec.clone()).await.unwrap();
    assert_eq!(
        (again.id.as_str(), again.existed),
        (first.id.as_str(), true)
    );
    let other = PutArtifactParams {
        meta: None,
        ..spec.clone()
    };
    assert_ne!(put("bob", other).await.unwrap().id, first.id);
    let get = |reference: String| {
        let app = store.app.clone();
        let request = GetArtifactParams {
            reference,
            ..GetArtifactParams::default()
        };
        async move {
            let found = op::get_artifact(&app.request(&parse_agent_id("cem")), &request).await;
            found.map(|found| found.artifact)
        }
    };
    let found = get(first.reference.clone()).await.unwrap();
    assert_eq!(found.content.as_str(), spec.content.as_str());
    assert_eq!(found.created_by, parse_agent_id("ann"));
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
            refusal_code(get(bad.to_owned()).await),
            RefusalCode::ARTIFACT_NOT_FOUND,
            "{bad}"
        );
    }
    for (kind, content, meta) in [("", "1", None), ("x", "1", Some("[1]"))] {
        let bad = PutArtifactParams {
            artifact_type: kind.to_owned(),
            content: RawJson::parse(content).unwrap(),
            meta: meta.map(|m| RawJson::parse(m).unwrap()),
        };
        assert_eq!(
            refusal_code(put("ann", bad).await),
            RefusalCode::INVALID_ARTIFACT
        );
    }
}

/// A token is valid until it expires, is revoked, or its agent is retired.
pub async fn token_is_valid_until_expiry_revocation_or_retirement(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    let admit = |text: &str| {
        let (app, text) = (store.app.clone(), text.to_owned());
        async move { op::authenticate_token(&app, &text).await }
    };
    let good = store.issue_token("ann", "tasks,boards:read", None).await;
    let admitted = admit(&good.token).await.unwrap();
    assert_eq!(admitted.agent, parse_agent_id("ann"));
    assert!(
        admitted
            .scopes
            .allows(OperationArea::Tasks, AccessLevel::Write)
    );
    assert!(
        !admitted
            .scopes
            .allows(OperationArea::Boards, AccessLevel::Write)
    );
    let brief = store.issue_token("bob", "all", Some(1_000)).await;
    let retired = store.issue_token("cem", "all", None).await;
    let person = store.issue_token("user", "all", None).await;
    assert_eq!(admit(&person.token).await.unwrap().agent, AgentId::user());
    for token in [&brief, &retired] {
        assert!(admit(&token.token).await.is_ok());
    }
    store.clock.advance_millis(1_000);
    op::retire_agent(&store.app.request(&AgentId::user()), &parse_agent_id("cem"))
        .await
        .unwrap();
    op::revoke_token(&store.app.request(&AgentId::user()), &good.view.id)
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
        assert_eq!(refusal_code(admit(bad).await), RefusalCode::UNAUTHORIZED);
    }
    assert_eq!(
        refusal_code(op::list_tokens(&store.app.request(&parse_agent_id("ann")), None).await),
        RefusalCode::PERMISSION_DENIED
    );
    let listed = op::list_tokens(&store.app.request(&AgentId::user()), None)
        .await
        .unwrap();
    assert_eq!(listed.tokens.len(), 4);
    assert!(!serde_json::to_string(&listed).unwrap().contains("hash"));
    let for_nobody = TokenIssueParams {
        agent: parse_agent_id("dan"),
        scopes: TokenScopes::all(),
        expires_in_ms: None,
    };
    let issued = op::issue_token(&store.app.request(&AgentId::user()), &for_nobody).await;
    assert_eq!(refusal_code(issued), RefusalCode::AGENT_NOT_FOUND);
}

/// A request repeated with the same idempotency key is executed once and returns the stored response.
pub async fn retry_with_idempotency_key_returns_stored_response(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    let create = json!({ "subject": "x" });
    let first = store
        .call_with_idempotency_key("TaskCreate", "ann", create.clone(), "k1")
        .await
        .unwrap();
    assert!(!first.replayed);
    assert_eq!(first.document["id"], "1");
    store.clock.advance_millis(60_000);
    let again = store
        .call_with_idempotency_key("TaskCreate", "ann", create.clone(), "k1")
        .await
        .unwrap();
    assert!(again.replayed);
    assert_eq!(again.document, first.document);
    // A key is scoped to its agent and its request.
    let others = store
        .call_with_idempotency_key("TaskCreate", "bob", create.clone(), "k1")
        .await
        .unwrap();
    assert_eq!(others.document["id"], "2");
    let reused = store
        .call_with_idempotency_key("TaskCreate", "ann", json!({ "subject": "y" }), "k1")
        .await;
    assert_eq!(refusal_code(reused), RefusalCode::IDEMPOTENCY_KEY_REUSED);
    for bad in ["", "a b", "é", &"x".repeat(256)] {
        assert_eq!(
            refusal_code(
                store
                    .call_with_idempotency_key("TaskCreate", "ann", create.clone(), bad)
                    .await
            ),
            RefusalCode::INVALID_INPUT
        );
    }
    // A refused request was not executed and may be retried with the same key.
    let claim = json!({ "taskId": "3" });
    assert_eq!(
        refusal_code(
            store
                .call_with_idempotency_key("TaskClaim", "ann", claim.clone(), "k2")
                .await
        ),
        RefusalCode::TASK_NOT_FOUND
    );
    store
        .call_with_idempotency_key("TaskCreate", "ann", create.clone(), "k3")
        .await
        .unwrap();
    let claimed = store
        .call_with_idempotency_key("TaskClaim", "ann", claim.clone(), "k2")
        .await
        .unwrap();
    assert_eq!(claimed.document["owner"], "ann");
    // After a day a key is free again.
    store.clock.advance_millis(idempotency::RESPONSE_TTL_MS);
    let later = store
        .call_with_idempotency_key("TaskCreate", "ann", create.clone(), "k1")
        .await
        .unwrap();
    assert!(!later.replayed);
    idempotency::delete_expired_responses(&store.app)
        .await
        .unwrap();
    let stored = store
        .call_with_idempotency_key("TaskCreate", "ann", create, "k1")
        .await
        .unwrap();
    assert_eq!((stored.replayed, &stored.document), (true, &later.document));
}

/// If the same request is sent many times concurrently, it is executed once and all get the same response.
pub async fn concurrent_requests_with_one_key_execute_once(factory: &dyn StoreFactory) {
    let store = TestStore::with_team(factory).await;
    let mut twins = Vec::new();
    for _ in 0..16 {
        let app = store.open_second_handle(factory).await;
        twins.push(tokio::spawn(async move {
            let params = json!({ "subject": "one" }).as_object().cloned().unwrap();
            let tool = Tool::find("TaskCreate").unwrap();
            idempotency::call_idempotent(
                &app.request(&parse_agent_id("ann")),
                tool,
                ToolRequest::new(params),
                "same",
            )
            .await
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
