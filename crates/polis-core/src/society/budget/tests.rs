//! Tests of budgets: tables, and properties that hold for every tree and every order of draws.

use proptest::prelude::*;

use super::*;

fn turns(limit: Option<u64>) -> Account {
    Account::with(Limits {
        turns: limit,
        ..Limits::default()
    })
}

fn want(turns: u64) -> Amount {
    Amount {
        turns,
        ..Amount::default()
    }
}

#[test]
fn without_limits_nothing_is_drawn() {
    let mut chain = [turns(None), turns(None)];
    assert_eq!(draw(&mut chain, &want(5), &want(9)), Ok(0));
    assert_eq!(chain, [turns(None), turns(None)]);
}

#[test]
fn a_member_with_a_limit_and_nobody_limited_above_has_its_own_purse() {
    let mut chain = [turns(Some(10)), turns(None)];
    assert_eq!(draw(&mut chain, &want(10), &want(10)), Ok(0));
    chain[0].spend(&want(4));
    let short = draw(&mut chain, &want(7), &want(7)).unwrap_err();
    assert_eq!((short.whose, short.limit), (0, 10));
}

#[test]
fn credit_comes_down_the_chain() {
    let mut chain = [turns(None), turns(None), turns(Some(100))];
    assert_eq!(draw(&mut chain, &want(1), &want(8)), Ok(3));
    assert_eq!(chain.map(|a| a.drawn.turns), [8, 8, 0]);
    assert_eq!(chain.map(|a| a.lent.turns), [0, 8, 8]);
    // The drawn chunk lasts for several turns.
    chain[0].spend(&want(7));
    assert_eq!(draw(&mut chain, &want(1), &want(8)), Ok(0));
    chain[0].spend(&want(1));
    assert_eq!(draw(&mut chain, &want(1), &want(8)), Ok(3));
    assert_eq!(chain[2].lent.turns, 16);
}

#[test]
fn the_nearest_limit_counts_and_is_named() {
    let mut chain = [turns(None), turns(Some(3)), turns(Some(100))];
    let short = draw(&mut chain, &want(4), &want(4)).unwrap_err();
    assert_eq!((short.whose, short.limit), (1, 3));
    assert_eq!(draw(&mut chain, &want(3), &want(3)), Ok(3));
    assert!(draw(&mut chain, &want(4), &want(4)).is_err());
}

#[test]
fn what_was_spent_beyond_the_draw_is_made_up_for() {
    let mut chain = [turns(None), turns(Some(100))];
    draw(&mut chain, &want(2), &want(2)).unwrap();
    chain[0].spend(&want(10));
    draw(&mut chain, &want(2), &want(2)).unwrap();
    assert_eq!(chain[1].lent.turns, 12);
}

#[test]
fn what_is_left_goes_back() {
    let mut tree = [
        (None, 0, turns(Some(10))),
        (Some(0), 1, turns(None)),
        (Some(1), 2, turns(None)),
    ]
    .map(|(above, depth, account)| Leaf {
        above,
        depth,
        account,
    });
    let mut chain = [tree[2].account, tree[1].account, tree[0].account];
    draw(&mut chain, &want(8), &want(8)).unwrap();
    chain[0].spend(&want(3));
    for (leaf, account) in tree.iter_mut().rev().zip(chain) {
        leaf.account = account;
    }
    square(&mut tree, |at| at > 0);
    assert_eq!(tree[0].account.lent.turns, 3);
    assert_eq!(tree[0].account.left(Resource::Turns), Some(7));
}

#[test]
fn the_earliest_end_counts() {
    let wall = |wall_ms| Limits {
        wall_ms,
        ..Limits::default()
    };
    assert_eq!(deadline([(wall(None), 0)]), None);
    assert_eq!(
        deadline([(wall(Some(50)), 100), (wall(Some(100)), 0)]),
        Some(100)
    );
    assert_eq!(deadline([(wall(Some(u64::MAX)), i64::MAX)]), Some(i64::MAX));
}

/// A tree: each member's parent precedes it in the list.
fn tree() -> impl Strategy<Value = Vec<Leaf>> {
    let limit = prop_oneof![2 => Just(None), 1 => (0u64..60).prop_map(Some)];
    prop::collection::vec((any::<prop::sample::Index>(), limit), 1..9).prop_map(|made| {
        let mut tree: Vec<Leaf> = Vec::new();
        for (parent, limit) in made {
            let above = (!tree.is_empty()).then(|| parent.index(tree.len()));
            let depth = above.map_or(0, |above| tree[above].depth + 1);
            let account = turns(limit);
            tree.push(Leaf {
                above,
                depth,
                account,
            });
        }
        tree
    })
}

fn chain_of(tree: &[Leaf], from: usize) -> Vec<usize> {
    std::iter::successors(Some(from), |at| tree[*at].above).collect()
}

fn spent_below(tree: &[Leaf], top: usize) -> u64 {
    (0..tree.len())
        .filter(|at| chain_of(tree, *at).contains(&top))
        .map(|at| tree[at].account.spent.turns)
        .sum()
}

#[derive(Debug, Clone)]
enum Act {
    Spend(prop::sample::Index, u64, u64),
    Square(prop::sample::Index),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (any::<prop::sample::Index>(), 1u64..12, 1u64..30)
            .prop_map(|(who, want, chunk)| Act::Spend(who, want, chunk)),
        1 => any::<prop::sample::Index>().prop_map(Act::Square),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_limit_is_ever_exceeded_and_nothing_is_lost_or_made(
        mut tree in tree(),
        acts in prop::collection::vec(act(), 1..60),
    ) {
        for act in acts {
            match act {
                Act::Spend(who, amount, chunk) => {
                    let way = chain_of(&tree, who.index(tree.len()));
                    let mut chain: Vec<Account> = way.iter().map(|at| tree[*at].account).collect();
                    let before = chain.clone();
                    match draw(&mut chain, &want(amount), &want(chunk)) {
                        Ok(touched) => {
                            prop_assert_eq!(&chain[touched..], &before[touched..]);
                            chain[0].spend(&want(amount));
                            for (at, account) in way.iter().zip(chain) {
                                tree[*at].account = account;
                            }
                        }
                        Err(short) => {
                            prop_assert_eq!(&chain, &before);
                            prop_assert!(short.whose < way.len());
                            // A draw is refused only if a limit has too little left.
                            let whose = &before[short.whose];
                            prop_assert!(whose.limits.turns.is_some());
                        }
                    }
                }
                Act::Square(who) => {
                    let who = who.index(tree.len());
                    let below: Vec<bool> =
                        (0..tree.len()).map(|at| chain_of(&tree, at).contains(&who)).collect();
                    let spent = spent_below(&tree, 0);
                    square(&mut tree, |at| below[at]);
                    prop_assert_eq!(spent_below(&tree, 0), spent);
                }
            }
            for (at, leaf) in tree.iter().enumerate() {
                if let Some(limit) = leaf.account.limits.turns {
                    prop_assert!(spent_below(&tree, at) <= limit, "member {}", at);
                    prop_assert!(leaf.account.used(Resource::Turns) <= limit);
                }
                // An account has lent exactly what its children have drawn.
                let drawn: u64 = tree.iter().filter(|l| l.above == Some(at)).map(|l| l.account.drawn.turns).sum();
                prop_assert_eq!(leaf.account.lent.turns, drawn);
            }
        }
        // After squaring all accounts, the top account contains all spending.
        square(&mut tree, |_| true);
        let top = &tree[0].account;
        prop_assert_eq!(top.used(Resource::Turns), spent_below(&tree, 0));
    }
}
