//! Test harness for the society without a model: tests call the operations on behalf of the agents.

use std::sync::Arc;

use polis_core::message::{Recipients, SendMessage};
use polis_core::society::brief::TaskBrief;
use polis_core::society::budget::Limits;
use polis_core::society::dismiss::{Dismissed, TerminateAgent};
use polis_core::society::hire::{Hired, SpawnAgent};
use polis_core::society::member::{self, MemberState};
use polis_core::society::role::{CreateRole, MadeRole};
use polis_core::society::run::{HireLimits, Run};
use polis_core::society::start::StartRun;
use polis_core::society::{Kept, MemberKey, RunId};
use polis_core::{Agent, AgentId, Code, Raw};
use polis_ops::op::{self, GetOrg, OfRun, Org, Sent};
use polis_ops::{OpError, Polis, Settings, SocietyRules};

use crate::test_store::{agent, run_named};
use crate::{CountedChance, FixedClock, Ground};

/// A society with a manual clock.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) polis: Polis,
    pub(super) clock: Arc<FixedClock>,
}

impl Scene {
    pub(super) async fn on(ground: &dyn Ground) -> Self {
        Self::with(ground, HireLimits::default()).await
    }

    pub(super) async fn with(ground: &dyn Ground, hire: HireLimits) -> Self {
        let clock = Arc::new(FixedClock::default());
        let settings = Settings {
            society: SocietyRules {
                hire,
                ..SocietyRules::default()
            },
            ..Settings::default()
        };
        let polis = Polis::new(
            ground.open().await.unwrap(),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountedChance::default()),
            settings,
        );
        Self { polis, clock }
    }

    /// The same society through another handle on the store, as in another process.
    pub(super) async fn elsewhere(&self, ground: &dyn Ground) -> Self {
        let mut polis = self.polis.clone();
        polis.store = ground.open().await.unwrap();
        Self {
            polis,
            clock: Arc::clone(&self.clock),
        }
    }

    pub(super) async fn start(&self, name: &str, budget: Option<Limits>) -> Run {
        let params = StartRun {
            requirement: format!("build {name}"),
            task_id: Some(run_named(name)),
            budget,
            ..StartRun::default()
        };
        op::start_run(&self.polis, &AgentId::user(), &params)
            .await
            .unwrap()
    }

    /// Returns the `Polis` and agent for `who`: `RUN/root` acts as root of that run, other names act as
    /// themselves.
    fn as_(&self, who: &str) -> (Polis, AgentId) {
        match who.split_once('/') {
            Some((run, name)) => (self.polis.within(run_named(run)), agent(name)),
            None => (self.polis.clone(), agent(who)),
        }
    }

    pub(super) async fn role(
        &self,
        who: &str,
        name: &str,
        prompt: &str,
    ) -> Result<MadeRole, OpError> {
        let (polis, id) = self.as_(who);
        let params = CreateRole {
            name: name.to_owned(),
            role_prompt: prompt.to_owned(),
            tools: None,
            model: None,
            approve: None,
        };
        op::create_role(&polis, &id, &params).await
    }

    pub(super) async fn hire(&self, who: &str, role: &str) -> Result<Hired, OpError> {
        self.hire_for(who, role, None).await
    }

    pub(super) async fn hire_for(
        &self,
        who: &str,
        role: &str,
        budget: Option<Limits>,
    ) -> Result<Hired, OpError> {
        let (polis, id) = self.as_(who);
        let params = SpawnAgent {
            role: Some(role.to_owned()),
            task_brief: TaskBrief::of("do it"),
            budget,
            ..SpawnAgent::default()
        };
        op::spawn_agent(&polis, &id, &params).await
    }

    /// Hires an agent of a role, creating the role if necessary.
    pub(super) async fn staff(&self, who: &str, role: &str) -> String {
        let made = self.role(who, role, "work").await;
        assert!(made.is_ok() || code(made) == Code::RoleExists);
        self.hire(who, role).await.unwrap().id.to_string()
    }

    pub(super) async fn dismiss(&self, who: &str, whom: &str) -> Result<Dismissed, OpError> {
        let (polis, id) = self.as_(who);
        let params = TerminateAgent {
            agent_id: agent(whom),
            reason: None,
        };
        op::terminate_agent(&polis, &id, &params).await
    }

    pub(super) async fn send(&self, who: &str, to: &str, text: &str) -> Result<Sent, OpError> {
        let (polis, id) = self.as_(who);
        let params = SendMessage {
            to: Recipients::One(to.to_owned()),
            payload: Raw::of(&text).unwrap(),
            reply_to: None,
            delay_ms: None,
        };
        op::send_message(&polis, &id, &params).await
    }

    pub(super) async fn heard(&self, who: &str) -> Vec<String> {
        let (polis, id) = self.as_(who);
        let mail = op::check_messages(&polis, &id, &op::CheckMessages::default()).await;
        let mail = mail.unwrap().messages.into_iter();
        mail.map(|m| m.payload.to().unwrap()).collect()
    }

    pub(super) async fn run(&self, name: &str) -> Run {
        let params = OfRun {
            task_id: run_named(name),
        };
        op::show_run(&self.polis, &AgentId::user(), &params)
            .await
            .unwrap()
    }

    pub(super) async fn org(&self, name: &str) -> Org {
        let params = GetOrg {
            task_id: Some(run_named(name)),
            all: true,
        };
        op::get_org(&self.polis, &AgentId::user(), &params)
            .await
            .unwrap()
    }

    pub(super) async fn agents(&self, run: &RunId) -> Vec<Agent> {
        let found = self.polis.store.agents_of_run(Some(run), None);
        found.await.unwrap()
    }

    pub(super) async fn state(&self, key: &MemberKey) -> Kept<MemberState> {
        let stored = self.polis.store.record(&member::state_name(key)).await;
        Kept::read(&stored.unwrap().unwrap()).unwrap()
    }
}

/// Runs all of these futures concurrently on several threads; results are in no particular order.
pub(super) async fn together<F>(work: impl Iterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let all: tokio::task::JoinSet<F::Output> = work.collect();
    all.join_all().await
}

/// Returns the code of a refusal.
pub(super) fn code<T: std::fmt::Debug>(answer: Result<T, OpError>) -> Code {
    answer.unwrap_err().code()
}
