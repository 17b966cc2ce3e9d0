//! Tests of budgets: tables, and properties that hold for every tree and every order of draws.

use proptest::prelude::*;

use super::*;

fn account_with_turns(limit: Option<u64>) -> BudgetAccount {
    BudgetAccount::with_limits(BudgetLimits {
        turns: limit,
        ..BudgetLimits::default()
    })
}

fn turns_amount(turns: u64) -> BudgetAmount {
    BudgetAmount {
        turns,
        ..BudgetAmount::default()
    }
}

#[test]
fn requested_limit_replaces_or_removes_the_default() {
    let defaults = BudgetLimits {
        tokens: Some(10),
        turns: Some(20),
        ..BudgetLimits::default()
    };
    let requested = BudgetLimits {
        tokens: Some(BudgetLimits::NO_LIMIT),
        commands: Some(5),
        ..BudgetLimits::default()
    };
    let limits = requested.or_defaults(defaults);
    assert_eq!(
        (limits.tokens, limits.turns, limits.commands),
        (None, Some(20), Some(5))
    );
}

#[test]
fn account_without_limits_draws_nothing() {
    let mut chain = [account_with_turns(None), account_with_turns(None)];
    assert_eq!(
        draw_budget(&mut chain, &turns_amount(5), &turns_amount(9)),
        Ok(0)
    );
    assert_eq!(chain, [account_with_turns(None), account_with_turns(None)]);
}

#[test]
fn limited_account_below_unlimited_ones_draws_nothing() {
    let mut chain = [account_with_turns(Some(10)), account_with_turns(None)];
    assert_eq!(
        draw_budget(&mut chain, &turns_amount(10), &turns_amount(10)),
        Ok(0)
    );
    chain[0].spend(&turns_amount(4));
    let short = draw_budget(&mut chain, &turns_amount(7), &turns_amount(7)).unwrap_err();
    assert_eq!((short.account_index, short.limit), (0, 10));
}

#[test]
fn draw_is_handed_down_the_chain() {
    let mut chain = [
        account_with_turns(None),
        account_with_turns(None),
        account_with_turns(Some(100)),
    ];
    assert_eq!(
        draw_budget(&mut chain, &turns_amount(1), &turns_amount(8)),
        Ok(3)
    );
    assert_eq!(chain.map(|a| a.drawn.turns), [8, 8, 0]);
    assert_eq!(chain.map(|a| a.drawn_by_children.turns), [0, 8, 8]);
    // The drawn chunk lasts for several turns.
    chain[0].spend(&turns_amount(7));
    assert_eq!(
        draw_budget(&mut chain, &turns_amount(1), &turns_amount(8)),
        Ok(0)
    );
    chain[0].spend(&turns_amount(1));
    assert_eq!(
        draw_budget(&mut chain, &turns_amount(1), &turns_amount(8)),
        Ok(3)
    );
    assert_eq!(chain[2].drawn_by_children.turns, 16);
}

#[test]
fn insufficient_budget_names_the_nearest_limit() {
    let mut chain = [
        account_with_turns(None),
        account_with_turns(Some(3)),
        account_with_turns(Some(100)),
    ];
    let short = draw_budget(&mut chain, &turns_amount(4), &turns_amount(4)).unwrap_err();
    assert_eq!((short.account_index, short.limit), (1, 3));
    assert_eq!(
        draw_budget(&mut chain, &turns_amount(3), &turns_amount(3)),
        Ok(3)
    );
    assert!(draw_budget(&mut chain, &turns_amount(4), &turns_amount(4)).is_err());
}

#[test]
fn next_draw_covers_the_overdraft() {
    let mut chain = [account_with_turns(None), account_with_turns(Some(100))];
    draw_budget(&mut chain, &turns_amount(2), &turns_amount(2)).unwrap();
    chain[0].spend(&turns_amount(10));
    draw_budget(&mut chain, &turns_amount(2), &turns_amount(2)).unwrap();
    assert_eq!(chain[1].drawn_by_children.turns, 12);
}

#[test]
fn settling_returns_the_unused_draw() {
    let mut tree = [
        (None, 0, account_with_turns(Some(10))),
        (Some(0), 1, account_with_turns(None)),
        (Some(1), 2, account_with_turns(None)),
    ]
    .map(|(parent, depth, account)| AccountNode {
        parent,
        depth,
        account,
    });
    let mut chain = [tree[2].account, tree[1].account, tree[0].account];
    draw_budget(&mut chain, &turns_amount(8), &turns_amount(8)).unwrap();
    chain[0].spend(&turns_amount(3));
    for (leaf, account) in tree.iter_mut().rev().zip(chain) {
        leaf.account = account;
    }
    settle_accounts(&mut tree, |at| at > 0);
    assert_eq!(tree[0].account.drawn_by_children.turns, 3);
    assert_eq!(tree[0].account.remaining(BudgetResource::Turns), Some(7));
}

#[test]
fn earliest_time_limit_is_the_deadline() {
    let wall = |wall_ms| BudgetLimits {
        wall_ms,
        ..BudgetLimits::default()
    };
    assert_eq!(earliest_deadline([(wall(None), 0)]), None);
    assert_eq!(
        earliest_deadline([(wall(Some(50)), 100), (wall(Some(100)), 0)]),
        Some(100)
    );
    assert_eq!(
        earliest_deadline([(wall(Some(u64::MAX)), i64::MAX)]),
        Some(i64::MAX)
    );
}

/// A tree: each member's parent precedes it in the list.
fn account_tree() -> impl Strategy<Value = Vec<AccountNode>> {
    let limit = prop_oneof![2 => Just(None), 1 => (0u64..60).prop_map(Some)];
    prop::collection::vec((any::<prop::sample::Index>(), limit), 1..9).prop_map(|accounts| {
        let mut tree: Vec<AccountNode> = Vec::new();
        for (parent, limit) in accounts {
            let parent_index = (!tree.is_empty()).then(|| parent.index(tree.len()));
            let depth = parent_index.map_or(0, |parent_index| tree[parent_index].depth + 1);
            let account = account_with_turns(limit);
            tree.push(AccountNode {
                parent: parent_index,
                depth,
                account,
            });
        }
        tree
    })
}

fn account_chain(tree: &[AccountNode], from: usize) -> Vec<usize> {
    std::iter::successors(Some(from), |at| tree[*at].parent).collect()
}

fn spent_in_subtree(tree: &[AccountNode], top: usize) -> u64 {
    (0..tree.len())
        .filter(|at| account_chain(tree, *at).contains(&top))
        .map(|at| tree[at].account.spent.turns)
        .sum()
}

#[derive(Debug, Clone)]
enum BudgetStep {
    Spend(prop::sample::Index, u64, u64),
    Square(prop::sample::Index),
}

fn budget_step() -> impl Strategy<Value = BudgetStep> {
    prop_oneof![
        4 => (any::<prop::sample::Index>(), 1u64..12, 1u64..30)
            .prop_map(|(who, want, chunk)| BudgetStep::Spend(who, want, chunk)),
        1 => any::<prop::sample::Index>().prop_map(BudgetStep::Square),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn limits_hold_and_totals_are_preserved(
        mut tree in account_tree(),
        acts in prop::collection::vec(budget_step(), 1..60),
    ) {
        for step in acts {
            match step {
                BudgetStep::Spend(who, amount, chunk) => {
                    let indexes = account_chain(&tree, who.index(tree.len()));
                    let mut chain: Vec<BudgetAccount> = indexes.iter().map(|at| tree[*at].account).collect();
                    let before = chain.clone();
                    match draw_budget(&mut chain, &turns_amount(amount), &turns_amount(chunk)) {
                        Ok(touched) => {
                            prop_assert_eq!(&chain[touched..], &before[touched..]);
                            chain[0].spend(&turns_amount(amount));
                            for (at, account) in indexes.iter().zip(chain) {
                                tree[*at].account = account;
                            }
                        }
                        Err(short) => {
                            prop_assert_eq!(&chain, &before);
                            prop_assert!(short.account_index < indexes.len());
                            // A draw is refused only if a limit has too little left.
                            let limiting_account = &before[short.account_index];
                            prop_assert!(limiting_account.limits.turns.is_some());
                        }
                    }
                }
                BudgetStep::Square(who) => {
                    let who = who.index(tree.len());
                    let in_subtree: Vec<bool> =
                        (0..tree.len()).map(|at| account_chain(&tree, at).contains(&who)).collect();
                    let spent = spent_in_subtree(&tree, 0);
                    settle_accounts(&mut tree, |at| in_subtree[at]);
                    prop_assert_eq!(spent_in_subtree(&tree, 0), spent);
                }
            }
            for (at, leaf) in tree.iter().enumerate() {
                if let Some(limit) = leaf.account.limits.turns {
                    prop_assert!(spent_in_subtree(&tree, at) <= limit, "member {}", at);
                    prop_assert!(leaf.account.used_amount(BudgetResource::Turns) <= limit);
                }
                // An account has lent exactly what its children have drawn.
                let total_drawn: u64 = tree.iter().filter(|l| l.parent == Some(at)).map(|l| l.account.drawn.turns).sum();
                prop_assert_eq!(leaf.account.drawn_by_children.turns, total_drawn);
            }
        }
        // After squaring all accounts, the top account contains all spending.
        settle_accounts(&mut tree, |_| true);
        let top = &tree[0].account;
        prop_assert_eq!(top.used_amount(BudgetResource::Turns), spent_in_subtree(&tree, 0));
    }
}
