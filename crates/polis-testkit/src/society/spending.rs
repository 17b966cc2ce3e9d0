//! Suite for budgets: drawing and spending concurrently, and refunds on dismissal.

use polis_core::society::budget::{Amount, Limits};
use polis_core::society::member;
use polis_core::society::{Kept, MemberKey};
use polis_core::{AgentId, Caller, Changeset, Code};
use polis_ops::op::{self, SetBudget};
use polis_ops::{OpError, Outcome};

use super::scene::{Scene, code, together};
use crate::Ground;
use crate::test_store::{agent, member as key, run_named};

fn turns(turns: u64) -> Amount {
    Amount {
        turns,
        ..Amount::default()
    }
}

fn limit(turns: u64) -> Option<Limits> {
    Some(Limits {
        turns: Some(turns),
        ..Limits::default()
    })
}

impl Scene {
    /// Draws the budget of a turn and spends it, as the runtime does: in a commit that expects the state it
    /// was drawn on.
    async fn think(&self, who: &MemberKey) -> Result<(), OpError> {
        loop {
            let drawn = op::draw_budget(&self.polis, who, &turns(1), &turns(8)).await?;
            if self.spend(who, &drawn, 1).await {
                return Ok(());
            }
        }
    }

    async fn spend(&self, who: &MemberKey, on: &Kept<member::MemberState>, amount: u64) -> bool {
        let mut state = on.value.clone();
        state.account.spend(&turns(amount));
        let caller = Caller::resolve(AgentId::user(), None).unwrap();
        let changes =
            Changeset::by(&caller, self.polis.now()).write(on.put(member::state_name(who), &state));
        let outcome = self.polis.store.commit(changes).await.unwrap();
        matches!(outcome, Outcome::Committed(_))
    }

    async fn total(&self, run: &str) -> u64 {
        let top = self.org(run).await.members.remove(0);
        top.spent_below.unwrap().turns
    }
}

/// With any number of concurrent draws from several processes, exactly the budget is spent.
///
/// # Panics
/// If that does not hold.
pub async fn drawing_at_once_stays_within_the_budget(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", limit(40)).await;
    let boss = scene.staff("one/root", "architect").await;
    let mut members = vec![key("one/root"), key(&format!("one/{boss}"))];
    for _ in 0..3 {
        let one = scene.staff(&boss, "programmer").await;
        members.push(key(&format!("one/{one}")));
    }
    let there = scene.elsewhere(ground).await;
    let came = together(members.clone().into_iter().enumerate().map(|(n, who)| {
        let handle = if n % 2 == 0 { &scene } else { &there }.clone();
        async move {
            let mut done = 0;
            loop {
                match handle.think(&who).await {
                    Ok(()) => done += 1,
                    Err(error) => break (done, error.code()),
                }
            }
        }
    }))
    .await;
    assert!(came.iter().all(|(_, code)| *code == Code::BudgetExhausted));
    let spent: u64 = came.iter().map(|(done, _)| done).sum();
    assert_eq!((spent, scene.total("one").await), (40, 40));
    // More can be spent after the user raises the budget.
    let more = SetBudget {
        task_id: Some(run_named("one")),
        budget: limit(45).unwrap(),
        ..SetBudget::default()
    };
    op::set_budget(&scene.polis, &AgentId::user(), &more)
        .await
        .unwrap();
    for _ in 0..5 {
        scene.think(&members[4]).await.unwrap();
    }
    assert_eq!(code(scene.think(&members[1]).await), Code::BudgetExhausted);
}

/// # Panics
/// If the unspent draw of a dismissed agent is lost, or its spending is forgotten.
pub async fn what_the_dismissed_did_not_spend_goes_back(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", limit(20)).await;
    let boss = scene.staff("one/root", "architect").await;
    scene.role(&boss, "programmer", "work").await.unwrap();
    let hired = scene
        .hire_for(&boss, "programmer", limit(12))
        .await
        .unwrap();
    let who = key(&format!("one/{}", hired.id));
    for _ in 0..2 {
        scene.think(&who).await.unwrap();
    }
    assert!(scene.state(&key("one/root")).await.value.account.lent.turns > 2);
    scene.dismiss(&boss, hired.id.as_str()).await.unwrap();
    let boss = key(&format!("one/{boss}"));
    let account = scene.state(&boss).await.value.account;
    assert_eq!((account.drawn.turns, account.lent.turns), (3, 2));
    for _ in 0..18 {
        scene.think(&boss).await.unwrap();
    }
    assert_eq!(code(scene.think(&boss).await), Code::BudgetExhausted);
    assert_eq!(scene.total("one").await, 20);
}

/// # Panics
/// If a budget that is set later does not count earlier spending.
pub async fn a_budget_counts_what_was_spent_before(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let one = scene.staff(&boss, "programmer").await;
    let who = key(&format!("one/{one}"));
    for _ in 0..7 {
        scene.think(&who).await.unwrap();
    }
    let set = SetBudget {
        task_id: Some(run_named("one")),
        budget: limit(9).unwrap(),
        ..SetBudget::default()
    };
    let by_child = op::set_budget(&scene.polis, &agent(&boss), &set).await;
    assert_eq!(code(by_child), Code::NotDescendant);
    op::set_budget(&scene.polis, &AgentId::user(), &set)
        .await
        .unwrap();
    let boss = key(&format!("one/{boss}"));
    scene.think(&boss).await.unwrap();
    scene.think(&who).await.unwrap();
    for who in [&boss, &who] {
        assert_eq!(code(scene.think(who).await), Code::BudgetExhausted);
    }
    assert_eq!(scene.total("one").await, 9);
}
