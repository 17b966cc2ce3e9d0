//! Test suite for the budgets of runs and their members: concurrent draws never exceed a budget, the unspent
//! draw of a dismissed member is refunded, and a budget that is set later counts earlier spending. The tests
//! draw with the operations, commit the spending themselves as the runtime does, and are run over every store.
//!
//! A member draws (reserves) an amount from the accounts above it and later spends part of it.

use polis_core::society::budget::{BudgetAmount, BudgetLimits};
use polis_core::society::member;
use polis_core::society::{MemberKey, VersionedRecord};
use polis_core::{AgentId, Caller, Changeset, RefusalCode};
use polis_ops::op::{self, SetBudgetParams};
use polis_ops::{CommitOutcome, OpError};

use super::test_society::{TestSociety, refusal_code, run_concurrently};
use crate::StoreFactory;
use crate::store_factory::{parse_agent_id, parse_member_key, parse_run_id};

fn turn_amount(turns: u64) -> BudgetAmount {
    BudgetAmount {
        turns,
        ..BudgetAmount::default()
    }
}

fn turn_limit(turns: u64) -> Option<BudgetLimits> {
    Some(BudgetLimits {
        turns: Some(turns),
        ..BudgetLimits::default()
    })
}

impl TestSociety {
    /// Draws the budget of a turn and spends it, as the runtime does: in a commit that expects the state it
    /// was drawn on.
    async fn draw_and_spend_turn(&self, member_key: &MemberKey) -> Result<(), OpError> {
        loop {
            let record =
                op::draw_budget(&self.app, member_key, &turn_amount(1), &turn_amount(8)).await?;
            if self.commit_spending(member_key, &record, 1).await {
                return Ok(());
            }
        }
    }

    async fn commit_spending(
        &self,
        member_key: &MemberKey,
        record: &VersionedRecord<member::MemberState>,
        amount: u64,
    ) -> bool {
        let mut state = record.value.clone();
        state.account.spend(&turn_amount(amount));
        let caller = Caller::resolve(AgentId::user(), None).unwrap();
        let changes = Changeset::new(&caller, self.app.now())
            .with_write(record.update_write(member::member_state_record_name(member_key), &state));
        let outcome = self.app.store.commit(changes).await.unwrap();
        matches!(outcome, CommitOutcome::Committed(_))
    }

    async fn turns_spent(&self, run: &str) -> u64 {
        let top = self.org_chart(run).await.members.remove(0);
        top.spent_below.unwrap().turns
    }
}

/// With any number of concurrent draws from several processes, exactly the budget is spent.
///
/// # Panics
/// If that does not hold.
pub async fn concurrent_draws_spend_exactly_the_budget(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", turn_limit(40)).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let mut members = vec![
        parse_member_key("one/root"),
        parse_member_key(&format!("one/{boss}")),
    ];
    for _ in 0..3 {
        let one = society.create_role_and_hire(&boss, "programmer").await;
        members.push(parse_member_key(&format!("one/{one}")));
    }
    let second = society.open_second_handle(factory).await;
    let results = run_concurrently(members.clone().into_iter().enumerate().map(
        |(n, member_key)| {
            let handle = if n % 2 == 0 { &society } else { &second }.clone();
            async move {
                let mut done = 0;
                loop {
                    match handle.draw_and_spend_turn(&member_key).await {
                        Ok(()) => done += 1,
                        Err(error) => break (done, error.code()),
                    }
                }
            }
        },
    ))
    .await;
    assert!(
        results
            .iter()
            .all(|(_, code)| *code == RefusalCode::BUDGET_EXHAUSTED)
    );
    let spent: u64 = results.iter().map(|(done, _)| done).sum();
    assert_eq!((spent, society.turns_spent("one").await), (40, 40));
    // More can be spent after the person raises the budget.
    let more = SetBudgetParams {
        run_id: Some(parse_run_id("one")),
        budget: turn_limit(45).unwrap(),
        ..SetBudgetParams::default()
    };
    op::set_budget(&society.app.request(&AgentId::user()), &more)
        .await
        .unwrap();
    for _ in 0..5 {
        society.draw_and_spend_turn(&members[4]).await.unwrap();
    }
    assert_eq!(
        refusal_code(society.draw_and_spend_turn(&members[1]).await),
        RefusalCode::BUDGET_EXHAUSTED
    );
}

/// The unspent draw of a dismissed agent returns to the accounts above it; its spending stays counted.
///
/// # Panics
/// If that does not hold.
pub async fn unspent_draw_of_dismissed_member_is_refunded(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", turn_limit(20)).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    society
        .create_role(&boss, "programmer", "work")
        .await
        .unwrap();
    let hired = society
        .hire_with_budget(&boss, "programmer", turn_limit(12))
        .await
        .unwrap();
    let member_key = parse_member_key(&format!("one/{}", hired.id));
    for _ in 0..2 {
        society.draw_and_spend_turn(&member_key).await.unwrap();
    }
    assert!(
        society
            .member_state(&parse_member_key("one/root"))
            .await
            .value
            .account
            .drawn_by_children
            .turns
            > 2
    );
    society
        .dismiss_agent(&boss, hired.id.as_str())
        .await
        .unwrap();
    let boss = parse_member_key(&format!("one/{boss}"));
    let account = society.member_state(&boss).await.value.account;
    assert_eq!(
        (account.drawn.turns, account.drawn_by_children.turns),
        (3, 2)
    );
    for _ in 0..18 {
        society.draw_and_spend_turn(&boss).await.unwrap();
    }
    assert_eq!(
        refusal_code(society.draw_and_spend_turn(&boss).await),
        RefusalCode::BUDGET_EXHAUSTED
    );
    assert_eq!(society.turns_spent("one").await, 20);
}

/// A budget that is set later counts earlier spending.
///
/// # Panics
/// If that does not hold.
pub async fn budget_set_later_counts_earlier_spending(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let one = society.create_role_and_hire(&boss, "programmer").await;
    let member_key = parse_member_key(&format!("one/{one}"));
    for _ in 0..7 {
        society.draw_and_spend_turn(&member_key).await.unwrap();
    }
    let set = SetBudgetParams {
        run_id: Some(parse_run_id("one")),
        budget: turn_limit(9).unwrap(),
        ..SetBudgetParams::default()
    };
    let by_child = op::set_budget(&society.app.request(&parse_agent_id(&boss)), &set).await;
    assert_eq!(refusal_code(by_child), RefusalCode::NOT_DESCENDANT);
    op::set_budget(&society.app.request(&AgentId::user()), &set)
        .await
        .unwrap();
    let boss = parse_member_key(&format!("one/{boss}"));
    society.draw_and_spend_turn(&boss).await.unwrap();
    society.draw_and_spend_turn(&member_key).await.unwrap();
    for member_key in [&boss, &member_key] {
        assert_eq!(
            refusal_code(society.draw_and_spend_turn(member_key).await),
            RefusalCode::BUDGET_EXHAUSTED
        );
    }
    assert_eq!(society.turns_spent("one").await, 9);
}
