//! Guarantees of the list queries of `Tasks`: filters, search, claim candidates and counts, each compared
//! with the in-memory model over random tasks.

use std::sync::Arc;

use polis_core::task::search::Search;
use polis_core::{TaskId, TaskStatus};
use polis_ops::port::{CandidateQuery, Store, TaskQuery};

use super::sample::{AGENTS, ROLES, TYPES, board, fill, id, open};
use crate::clock::BEGINNING;
use crate::{Dice, Ground, MemoryStore};

const BOARD: u64 = 120;

/// The search texts to choose from at random.
const SEARCHES: [&str; 4] = ["task", "1", "#12", "TASK 3"];

/// Creates a store and the model with the same random tasks.
async fn pair(ground: &dyn Ground, dice: &mut Dice) -> (Arc<dyn Store>, Arc<dyn Store>) {
    let board = board(dice, BOARD);
    let store = open(ground).await;
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    fill(&store, &board).await;
    fill(&model, &board).await;
    (store, model)
}

/// A page contains exactly the tasks that match every condition, by number, and never deleted ones.
pub async fn a_list_is_what_the_conditions_admit(ground: &dyn Ground) {
    let mut dice = Dice::of(4);
    let (store, model) = pair(ground, &mut dice).await;
    let roles = [&ROLES[..], &["helper"]].concat();
    let mut found = 0;
    for _ in 0..1_000 {
        let searched = dice.maybe(&SEARCHES).filter(|_| dice.once_in(2));
        let searched = searched.unwrap_or_default();
        let query = TaskQuery {
            role: dice.maybe(&roles).map(str::to_owned),
            status: dice.maybe(&TaskStatus::ALL),
            owner: dice
                .once_in(4)
                .then(|| (*dice.pick(&["", AGENTS[0], AGENTS[1], AGENTS[3]])).to_owned()),
            task_type: dice.once_in(3).then(|| *dice.pick(&TYPES)),
            claimable_at: dice
                .once_in(3)
                .then(|| BEGINNING + dice.below(5) as i64 - 2),
            required_role: dice
                .once_in(4)
                .then(|| (*dice.pick(&["", ROLES[0], ROLES[1]])).to_owned()),
            search: Search::parse(searched).unwrap(),
            newest: dice.once_in(2),
            after: dice.once_in(2).then(|| id(dice.below(BOARD + 5) + 1)),
            limit: *dice.pick(&[0, 1, 2, 7, 1_001]),
        };
        let listed = store.list_tasks(&query).await.unwrap();
        found += listed.len();
        assert_eq!(listed, model.list_tasks(&query).await.unwrap(), "{query:?}");
    }
    assert!(found > 500, "the boards say nothing: {found}");
}

/// A search finds words in subjects and descriptions, ignoring the case of ASCII letters; no character of a
/// word is a wildcard, and other characters match exactly.
pub async fn a_search_finds_words_to_the_letter(ground: &dyn Ground) {
    let texts = [
        ("Fix the Login page", "It says 100% and a_b!"),
        ("登录页 broken", "see #1, É and a\\b"),
        ("third", "THE LOGIN of 登录 is slow: [a-z]*"),
        ("", "aXb 1000 é"),
    ];
    let store = open(ground).await;
    for (n, (subject, description)) in texts.into_iter().enumerate() {
        let mut one = super::sample::record(n as u64 + 1);
        one.task.subject = subject.to_owned();
        one.task.description = description.to_owned();
        super::sample::commit(&store, super::sample::only(super::sample::insert(&one))).await;
    }
    let cases: [(&str, &[u64]); 18] = [
        ("", &[1, 2, 3, 4]),
        ("login", &[1, 3]),
        ("LOGIN", &[1, 3]),
        ("login PAGE", &[1]),
        ("page login", &[1]),
        ("登录", &[2, 3]),
        ("登录 slow", &[3]),
        ("100%", &[1]),
        ("%", &[1]),
        ("a_b", &[1]),
        ("b!", &[1]),
        ("a\\b", &[2]),
        ("[a-z]*", &[3]),
        ("É", &[2]),
        ("é", &[4]),
        ("#1", &[1, 2]),
        ("3", &[3]),
        ("nowhere", &[]),
    ];
    for (text, expected) in cases {
        let query = TaskQuery {
            search: Search::parse(text).unwrap(),
            limit: 10,
            ..TaskQuery::default()
        };
        let found = store.list_tasks(&query).await.unwrap();
        let found: Vec<u64> = found.iter().map(|task| task.id.number()).collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// Candidates are the assigned tasks, the stale tasks, and the first free tasks of every group, without
/// duplicates.
pub async fn candidates_are_the_first_of_every_group(ground: &dyn Ground) {
    let mut dice = Dice::of(5);
    let (store, model) = pair(ground, &mut dice).await;
    let mut found = 0;
    for agent in AGENTS {
        for role in ROLES {
            for per_group in [0, 1, 2, 50] {
                let query = CandidateQuery {
                    agent: agent.to_owned(),
                    role: role.to_owned(),
                    now: BEGINNING + dice.below(5) as i64 - 2,
                    per_group,
                    skip: (1..40)
                        .filter(|_| dice.below(3) == 0)
                        .filter_map(TaskId::new)
                        .collect(),
                };
                let by_number = |mut all: Vec<polis_core::TaskRecord>| {
                    all.sort_by_key(|record| record.task.id);
                    all
                };
                let listed = by_number(store.candidates(&query).await.unwrap());
                found += listed.len();
                let expected = by_number(model.candidates(&query).await.unwrap());
                assert_eq!(listed, expected, "{query:?}");
            }
        }
    }
    assert!(found > 200, "the boards say nothing: {found}");
}

/// Lists reflect every change immediately: they are compared with the model again after each step.
pub async fn lists_follow_changes(ground: &dyn Ground) {
    let mut dice = Dice::of(6);
    let (store, model) = pair(ground, &mut dice).await;
    for _ in 0..40 {
        let at = id(dice.below(BOARD) + 1);
        let before = model.tasks(&[at]).await.unwrap().pop().unwrap();
        let donor = board(&mut dice, 1).pop().unwrap();
        let mut write = super::sample::replace(&before, |task| {
            task.status = donor.task.status;
            task.owner = donor.task.owner;
            task.required_role = donor.task.required_role;
            task.task_type = donor.task.task_type;
            task.metadata = donor.task.metadata;
            task.blocks = donor.task.blocks;
            task.lease_expires_at = donor.task.lease_expires_at;
        });
        if let polis_core::Write::PutTask { record, .. } = &mut write {
            record.owner_role = donor.owner_role;
        }
        for one in [&store, &model] {
            super::sample::commit(one, super::sample::only(write.clone())).await;
        }
        let query = TaskQuery {
            role: dice.maybe(&ROLES).map(str::to_owned),
            status: dice.maybe(&TaskStatus::ALL),
            claimable_at: dice.once_in(2).then_some(BEGINNING),
            limit: 1_000,
            ..TaskQuery::default()
        };
        let listed = store.list_tasks(&query).await.unwrap();
        assert_eq!(listed, model.list_tasks(&query).await.unwrap(), "{query:?}");
    }
    let all = store.scan_tasks(None, 1_000).await.unwrap();
    assert_eq!(all, model.scan_tasks(None, 1_000).await.unwrap());
}

/// Tasks are read by number, each once; numbers that do not exist are left out.
pub async fn tasks_are_read_by_number(ground: &dyn Ground) {
    let mut dice = Dice::of(7);
    let (store, model) = pair(ground, &mut dice).await;
    for ids in [vec![], vec![9, 3, 3, 500, 1], (1..=100).rev().collect()] {
        let ids: Vec<_> = ids.into_iter().map(id).collect();
        let found = store.tasks(&ids).await.unwrap();
        assert!(found.is_sorted_by_key(|record| record.task.id));
        assert_eq!(found, model.tasks(&ids).await.unwrap());
    }
}

/// A scan returns every task, including deleted ones, by number and in pages.
pub async fn a_scan_shows_every_task(ground: &dyn Ground) {
    let mut dice = Dice::of(8);
    let (store, model) = pair(ground, &mut dice).await;
    let mut after = None;
    let mut seen = Vec::new();
    loop {
        let page = store.scan_tasks(after, 7).await.unwrap();
        assert!(page.len() <= 7);
        let Some(last) = page.last() else { break };
        after = Some(last.task.id);
        seen.extend(page);
    }
    assert_eq!(seen, model.scan_tasks(None, u32::MAX).await.unwrap());
    assert_eq!(seen.len() as u64, BOARD);
}

/// `blocks_of` returns the tasks that wait for each requested task that exists and is not deleted.
pub async fn blocks_are_read_for_many_tasks(ground: &dyn Ground) {
    let mut dice = Dice::of(9);
    let (store, model) = pair(ground, &mut dice).await;
    let ids: Vec<_> = (1..=BOARD + 3).map(id).collect();
    let by_number = |mut all: Vec<(TaskId, Vec<TaskId>)>| {
        all.sort();
        all
    };
    let found = by_number(store.blocks_of(&ids).await.unwrap());
    assert_eq!(found, by_number(model.blocks_of(&ids).await.unwrap()));
    let deleted = store.count_tasks().await.unwrap().deleted;
    assert_eq!(found.len() as u64, BOARD - deleted);
    assert_eq!(store.blocks_of(&[]).await.unwrap(), []);
}

/// The types of an agent's completed tasks, newest first, and the number of tasks per status.
pub async fn completed_types_and_counts_are_those_of_the_board(ground: &dyn Ground) {
    let mut dice = Dice::of(10);
    let (store, model) = pair(ground, &mut dice).await;
    for agent in [&AGENTS[..], &["", "nobody"]].concat() {
        for limit in [0, 1, 3, 500] {
            assert_eq!(
                store.completed_types(agent, limit).await.unwrap(),
                model.completed_types(agent, limit).await.unwrap(),
                "{agent} {limit}"
            );
        }
    }
    let counts = store.count_tasks().await.unwrap();
    assert_eq!(counts, model.count_tasks().await.unwrap());
    let all = counts.pending + counts.in_progress + counts.completed + counts.deleted;
    assert_eq!(all, BOARD);
    // The sort order of texts depends on the database.
    let sorted = |mut loads: Vec<(String, u64)>| {
        loads.sort();
        loads
    };
    for limit in [0, 1, 3, 1_000] {
        let held = store.held_tasks(limit).await.unwrap();
        assert_eq!(held, model.held_tasks(limit).await.unwrap());
        assert_eq!(held.is_empty(), limit == 0);
    }
    let loads = sorted(store.loads().await.unwrap());
    assert_eq!(loads, sorted(model.loads().await.unwrap()));
    assert!(
        loads
            .iter()
            .all(|(owner, held)| !owner.is_empty() && *held > 0)
    );
    assert!(!loads.is_empty());
}

/// The count of a list covers all of its pages, regardless of the start and length of a page.
pub async fn a_list_is_counted_over_all_of_its_pages(ground: &dyn Ground) {
    let mut dice = Dice::of(12);
    let (store, model) = pair(ground, &mut dice).await;
    for _ in 0..60 {
        let query = TaskQuery {
            role: dice.maybe(&ROLES).map(str::to_owned),
            status: dice.maybe(&TaskStatus::ALL),
            owner: dice.maybe(&AGENTS).map(str::to_owned),
            claimable_at: dice.once_in(3).then_some(BEGINNING),
            after: dice.once_in(2).then(|| id(BOARD / 2)),
            newest: dice.once_in(2),
            limit: 1,
            ..TaskQuery::default()
        };
        let whole = TaskQuery {
            after: None,
            limit: 10_000,
            ..query.clone()
        };
        let counted = store.count_list(&query).await.unwrap();
        assert_eq!(
            counted,
            model.count_list(&query).await.unwrap(),
            "{query:?}"
        );
        let listed = store.list_tasks(&whole).await.unwrap().len();
        assert_eq!(counted, listed as u64, "{query:?}");
    }
}
