//! Harness for society tests that need no model: the test itself calls the operations as the agents.

use std::sync::Arc;

use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::society::brief::TaskBrief;
use polis_core::society::budget::BudgetLimits;
use polis_core::society::dismiss::{TerminateAgentParams, TerminateAgentResult};
use polis_core::society::hire::{SpawnAgentParams, SpawnAgentResult};
use polis_core::society::member::{self, MemberState};
use polis_core::society::run::{HireLimits, Run};
use polis_core::society::society_role::{CreateRoleParams, CreateRoleResult};
use polis_core::society::start_run::StartRunParams;
use polis_core::society::{MemberKey, RunId, VersionedRecord};
use polis_core::{Agent, AgentId, RawJson, RefusalCode};
use polis_ops::op::{self, GetOrgParams, OrgChart, RunIdParams, SendMessageResult};
use polis_ops::{App, InstallationSettings, OpError, Request, SocietySettings};

use crate::store_factory::{parse_agent_id, parse_run_id};
use crate::{CountingRandomSource, FixedClock, StoreFactory};

/// A society with a manual clock.
#[derive(Clone)]
pub(super) struct TestSociety {
    pub(super) app: App,
    pub(super) clock: Arc<FixedClock>,
}

impl TestSociety {
    pub(super) async fn new(factory: &dyn StoreFactory) -> Self {
        Self::with_hire_limits(factory, HireLimits::default()).await
    }

    pub(super) async fn with_hire_limits(factory: &dyn StoreFactory, hire: HireLimits) -> Self {
        let clock = Arc::new(FixedClock::default());
        let settings = InstallationSettings {
            society: SocietySettings {
                hire_limits: hire,
                ..SocietySettings::default()
            },
            ..InstallationSettings::default()
        };
        let app = App::new(
            factory.open().await.unwrap(),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountingRandomSource::default()),
            settings,
        );
        Self { app, clock }
    }

    /// Opens the same society through another handle on the store, as another process would.
    pub(super) async fn open_second_handle(&self, factory: &dyn StoreFactory) -> Self {
        let mut app = self.app.clone();
        app.store = factory.open().await.unwrap();
        Self {
            app,
            clock: Arc::clone(&self.clock),
        }
    }

    pub(super) async fn start_run(&self, name: &str, budget: Option<BudgetLimits>) -> Run {
        let params = StartRunParams {
            requirement: format!("build {name}"),
            run_id: Some(parse_run_id(name)),
            budget,
            ..StartRunParams::default()
        };
        op::start_run(&self.app.request(&AgentId::user()), &params)
            .await
            .unwrap()
    }

    /// Returns a request of `actor`: `RUN/root` acts as root of that run, other names act as themselves.
    pub(super) fn request(&self, actor: &str) -> Request {
        match actor.split_once('/') {
            Some((run, name)) => {
                let request = self.app.request(&parse_agent_id(name));
                request.in_run(parse_run_id(run))
            }
            None => self.app.request(&parse_agent_id(actor)),
        }
    }

    pub(super) async fn create_role(
        &self,
        actor: &str,
        name: &str,
        prompt: &str,
    ) -> Result<CreateRoleResult, OpError> {
        let request = self.request(actor);
        let params = CreateRoleParams {
            name: name.to_owned(),
            role_prompt: prompt.to_owned(),
            tools: None,
            model: None,
            approve: None,
        };
        op::create_role(&request, &params).await
    }

    pub(super) async fn hire_agent(
        &self,
        actor: &str,
        role: &str,
    ) -> Result<SpawnAgentResult, OpError> {
        self.hire_with_budget(actor, role, None).await
    }

    pub(super) async fn hire_with_budget(
        &self,
        actor: &str,
        role: &str,
        budget: Option<BudgetLimits>,
    ) -> Result<SpawnAgentResult, OpError> {
        let request = self.request(actor);
        let params = SpawnAgentParams {
            role: Some(role.to_owned()),
            task_brief: TaskBrief::from_objective("do it"),
            budget,
            ..SpawnAgentParams::default()
        };
        op::spawn_agent(&request, &params).await
    }

    /// Hires an agent of a role, creating the role if necessary.
    pub(super) async fn create_role_and_hire(&self, actor: &str, role: &str) -> String {
        let created = self.create_role(actor, role, "work").await;
        assert!(created.is_ok() || refusal_code(created) == RefusalCode::ROLE_EXISTS);
        self.hire_agent(actor, role).await.unwrap().id.to_string()
    }

    pub(super) async fn dismiss_agent(
        &self,
        actor: &str,
        target: &str,
    ) -> Result<TerminateAgentResult, OpError> {
        let request = self.request(actor);
        let params = TerminateAgentParams {
            agent_id: parse_agent_id(target),
            reason: None,
        };
        op::terminate_agent(&request, &params).await
    }

    pub(super) async fn send_message(
        &self,
        actor: &str,
        to: &str,
        text: &str,
    ) -> Result<SendMessageResult, OpError> {
        let request = self.request(actor);
        let params = SendMessageParams {
            to: MessageRecipients::One(to.to_owned()),
            payload: RawJson::from_value(&text).unwrap(),
            reply_to: None,
            delay_ms: None,
        };
        op::send_message(&request, &params).await
    }

    pub(super) async fn unread_texts(&self, actor: &str) -> Vec<String> {
        let request = self.request(actor);
        let mail = op::check_messages(&request, &op::CheckMessagesParams::default()).await;
        let mail = mail.unwrap().messages.into_iter();
        mail.map(|m| m.payload.parse_as().unwrap()).collect()
    }

    pub(super) async fn show_run(&self, name: &str) -> Run {
        let params = RunIdParams {
            run_id: parse_run_id(name),
        };
        op::show_run(&self.app.request(&AgentId::user()), &params)
            .await
            .unwrap()
    }

    pub(super) async fn org_chart(&self, name: &str) -> OrgChart {
        let params = GetOrgParams {
            run_id: Some(parse_run_id(name)),
            all: true,
        };
        op::get_org(&self.app.request(&AgentId::user()), &params)
            .await
            .unwrap()
    }

    pub(super) async fn agents_of_run(&self, run: &RunId) -> Vec<Agent> {
        let found = self.app.store.agents_of_run(Some(run), None);
        found.await.unwrap()
    }

    pub(super) async fn member_state(&self, key: &MemberKey) -> VersionedRecord<MemberState> {
        let stored = self
            .app
            .store
            .record(&member::member_state_record_name(key))
            .await;
        VersionedRecord::from_stored(&stored.unwrap().unwrap()).unwrap()
    }
}

/// Runs all of these futures concurrently on several threads; results are in no particular order.
pub(super) async fn run_concurrently<F>(work: impl Iterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let all: tokio::task::JoinSet<F::Output> = work.collect();
    all.join_all().await
}

/// Returns the code of a refusal.
pub(super) fn refusal_code<T: std::fmt::Debug>(answer: Result<T, OpError>) -> RefusalCode {
    answer.unwrap_err().code()
}
