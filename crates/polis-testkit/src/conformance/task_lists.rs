//! Conformance tests of the store port `TaskReader`, for its list queries: filters, search, claim candidates
//! and counts. Most are compared with the in-memory store over random tasks.

use std::sync::Arc;

use polis_core::task::task_search::TaskSearch;
use polis_core::task::{TaskCursor, TaskPriority, TaskSort};
use polis_core::{TaskId, TaskStatus};
use polis_ops::port::{CandidateQuery, Store, TaskQuery};

use super::store_fixtures::{
    AGENT_NAMES, ROLE_NAMES, TASK_TYPES, insert_tasks, open_store, random_tasks, task_id,
};
use crate::clock::START_MILLIS;
use crate::{MemoryStore, SeededRng, StoreFactory};

const TASK_COUNT: u64 = 120;

/// The search texts to choose from at random.
const SEARCH_TEXTS: [&str; 4] = ["task", "1", "#12", "TASK 3"];

/// Creates the store under test and an in-memory store (the model) with the same random tasks.
async fn store_and_model(
    factory: &dyn StoreFactory,
    rng: &mut SeededRng,
) -> (Arc<dyn Store>, Arc<dyn Store>) {
    let board = random_tasks(rng, TASK_COUNT);
    let store = open_store(factory).await;
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    insert_tasks(&store, &board).await;
    insert_tasks(&model, &board).await;
    (store, model)
}

/// A position in a list, which need not be that of a task.
fn random_cursor(rng: &mut SeededRng) -> TaskCursor {
    TaskCursor {
        priority: Some(*rng.choose(&TaskPriority::ALL)),
        id: task_id(rng.below(TASK_COUNT + 5) + 1),
    }
}

/// A page contains exactly the tasks that match every condition, by number, and never deleted ones.
pub async fn task_list_matches_every_filter(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(4);
    let (store, model) = store_and_model(factory, &mut rng).await;
    let roles = [&ROLE_NAMES[..], &["helper"]].concat();
    let mut found = 0;
    for _ in 0..1_000 {
        let searched = rng.choose_optional(&SEARCH_TEXTS).filter(|_| rng.one_in(2));
        let searched = searched.unwrap_or_default();
        let query = TaskQuery {
            role: rng.choose_optional(&roles).map(str::to_owned),
            status: rng.choose_optional(&TaskStatus::ALL),
            owner: rng.one_in(4).then(|| {
                (*rng.choose(&["", AGENT_NAMES[0], AGENT_NAMES[1], AGENT_NAMES[3]])).to_owned()
            }),
            task_type: rng.one_in(3).then(|| *rng.choose(&TASK_TYPES)),
            priority: rng.one_in(4).then(|| *rng.choose(&TaskPriority::ALL)),
            claimable_at: rng
                .one_in(3)
                .then(|| START_MILLIS + rng.below(5) as i64 - 2),
            required_role: rng
                .one_in(4)
                .then(|| (*rng.choose(&["", ROLE_NAMES[0], ROLE_NAMES[1]])).to_owned()),
            search: TaskSearch::parse(searched).unwrap(),
            sort: *rng.choose(&TaskSort::ALL),
            newest: rng.one_in(2),
            after: rng.one_in(2).then(|| random_cursor(&mut rng)),
            limit: *rng.choose(&[0, 1, 2, 7, 1_001]),
        };
        let listed = store.list_tasks(&query).await.unwrap();
        found += listed.len();
        assert_eq!(listed, model.list_tasks(&query).await.unwrap(), "{query:?}");
    }
    assert!(found > 500, "too few matches to test anything: {found}");
}

/// The pages of a list sorted by priority contain every task once, highest priority first. A page
/// continues at a position, not at a task.
pub async fn task_list_pages_follow_priority(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(14);
    let (store, model) = store_and_model(factory, &mut rng).await;
    for newest in [false, true] {
        for status in [None, Some(TaskStatus::Pending)] {
            let mut query = TaskQuery {
                status,
                sort: TaskSort::Priority,
                newest,
                limit: 1_000,
                ..TaskQuery::default()
            };
            let whole = model.list_tasks(&query).await.unwrap();
            assert!(whole.is_sorted_by_key(|task| task.priority.unwrap_or_default()));
            query.limit = 7;
            let mut paged = Vec::new();
            loop {
                let page = store.list_tasks(&query).await.unwrap();
                let Some(last) = page.last() else { break };
                query.after = Some(query.sort.cursor_after(last));
                paged.extend(page);
            }
            assert_eq!(paged, whole, "{query:?}");
        }
    }
    // A cursor is a position: it does not move with its task.
    let query = TaskQuery {
        sort: TaskSort::Priority,
        limit: 10,
        ..TaskQuery::default()
    };
    let first = store.list_tasks(&query).await.unwrap();
    let last = first.last().unwrap();
    let next = TaskQuery {
        after: Some(query.sort.cursor_after(last)),
        ..query
    };
    let expected = store.list_tasks(&next).await.unwrap();
    let before = store.tasks(&[last.id]).await.unwrap().pop().unwrap();
    let write = super::store_fixtures::replace_task(&before, |task| {
        task.status = TaskStatus::Deleted;
        task.metadata = None;
        task.priority = None;
    });
    let changes = super::store_fixtures::single_write(write);
    super::store_fixtures::commit_changeset(&store, changes).await;
    assert_eq!(store.list_tasks(&next).await.unwrap(), expected);
}

/// A search finds words in subjects and descriptions, ignoring the case of ASCII letters; no character of a
/// word is a wildcard, and other characters match exactly.
pub async fn search_matches_words_without_wildcards(factory: &dyn StoreFactory) {
    let texts = [
        ("Fix the Login page", "It says 100% and a_b!"),
        ("登录页 broken", "see #1, É and a\\b"),
        ("third", "THE LOGIN of 登录 is slow: [a-z]*"),
        ("", "aXb 1000 é"),
    ];
    let store = open_store(factory).await;
    for (n, (subject, description)) in texts.into_iter().enumerate() {
        let mut one = super::store_fixtures::task_record(n as u64 + 1);
        one.task.subject = subject.to_owned();
        one.task.description = description.to_owned();
        super::store_fixtures::commit_changeset(
            &store,
            super::store_fixtures::single_write(super::store_fixtures::insert_task(&one)),
        )
        .await;
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
            search: TaskSearch::parse(text).unwrap(),
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
pub async fn claim_candidates_are_first_of_every_group(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(5);
    let (store, model) = store_and_model(factory, &mut rng).await;
    let mut found = 0;
    for agent in AGENT_NAMES {
        for role in ROLE_NAMES {
            for per_group in [0, 1, 2, 50] {
                let query = CandidateQuery {
                    agent: agent.to_owned(),
                    role: role.to_owned(),
                    now: START_MILLIS + rng.below(5) as i64 - 2,
                    per_group,
                    skip: (1..40)
                        .filter(|_| rng.below(3) == 0)
                        .filter_map(TaskId::new)
                        .collect(),
                };
                let by_number = |mut all: Vec<polis_core::TaskRecord>| {
                    all.sort_by_key(|record| record.task.id);
                    all
                };
                let listed = by_number(store.claim_candidates(&query).await.unwrap());
                found += listed.len();
                let expected = by_number(model.claim_candidates(&query).await.unwrap());
                assert_eq!(listed, expected, "{query:?}");
            }
        }
    }
    assert!(found > 200, "too few matches to test anything: {found}");
}

/// Lists reflect every change immediately: they are compared with the in-memory store again after each step.
pub async fn task_lists_reflect_changes_immediately(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(6);
    let (store, model) = store_and_model(factory, &mut rng).await;
    for _ in 0..40 {
        let at = task_id(rng.below(TASK_COUNT) + 1);
        let before = model.tasks(&[at]).await.unwrap().pop().unwrap();
        let donor = random_tasks(&mut rng, 1).pop().unwrap();
        let mut write = super::store_fixtures::replace_task(&before, |task| {
            task.status = donor.task.status;
            task.owner = donor.task.owner;
            task.required_role = donor.task.required_role;
            task.task_type = donor.task.task_type;
            task.metadata = donor.task.metadata;
            task.priority = donor.task.priority;
            task.blocks = donor.task.blocks;
            task.lease_expires_at = donor.task.lease_expires_at;
        });
        if let polis_core::StoreWrite::PutTask { record, .. } = &mut write {
            record.owner_role = donor.owner_role;
        }
        for one in [&store, &model] {
            super::store_fixtures::commit_changeset(
                one,
                super::store_fixtures::single_write(write.clone()),
            )
            .await;
        }
        let query = TaskQuery {
            role: rng.choose_optional(&ROLE_NAMES).map(str::to_owned),
            status: rng.choose_optional(&TaskStatus::ALL),
            claimable_at: rng.one_in(2).then_some(START_MILLIS),
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
pub async fn tasks_are_read_by_number_once_each(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(7);
    let (store, model) = store_and_model(factory, &mut rng).await;
    for ids in [vec![], vec![9, 3, 3, 500, 1], (1..=100).rev().collect()] {
        let ids: Vec<_> = ids.into_iter().map(task_id).collect();
        let found = store.tasks(&ids).await.unwrap();
        assert!(found.is_sorted_by_key(|record| record.task.id));
        assert_eq!(found, model.tasks(&ids).await.unwrap());
    }
}

/// A scan returns every task, including deleted ones, by number and in pages.
pub async fn scan_returns_every_task_in_pages(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(8);
    let (store, model) = store_and_model(factory, &mut rng).await;
    let mut after = None;
    let mut tasks = Vec::new();
    loop {
        let page = store.scan_tasks(after, 7).await.unwrap();
        assert!(page.len() <= 7);
        let Some(last) = page.last() else { break };
        after = Some(last.task.id);
        tasks.extend(page);
    }
    assert_eq!(tasks, model.scan_tasks(None, u32::MAX).await.unwrap());
    assert_eq!(tasks.len() as u64, TASK_COUNT);
}

/// `tasks_waiting_for` returns the tasks that wait for each requested task that exists and is not deleted.
pub async fn blocked_tasks_are_read_for_several_tasks(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(9);
    let (store, model) = store_and_model(factory, &mut rng).await;
    let ids: Vec<_> = (1..=TASK_COUNT + 3).map(task_id).collect();
    let by_number = |mut all: Vec<(TaskId, Vec<TaskId>)>| {
        all.sort();
        all
    };
    let found = by_number(store.tasks_waiting_for(&ids).await.unwrap());
    assert_eq!(
        found,
        by_number(model.tasks_waiting_for(&ids).await.unwrap())
    );
    let deleted = store.count_tasks_by_status().await.unwrap().deleted;
    assert_eq!(found.len() as u64, TASK_COUNT - deleted);
    assert_eq!(store.tasks_waiting_for(&[]).await.unwrap(), []);
}

/// The types of an agent's completed tasks (newest first), the number of tasks per status, the held tasks and
/// the number of unfinished tasks per owner match the in-memory store.
pub async fn completed_types_and_status_counts_match_tasks(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(10);
    let (store, model) = store_and_model(factory, &mut rng).await;
    for agent in [&AGENT_NAMES[..], &["", "nobody"]].concat() {
        for limit in [0, 1, 3, 500] {
            assert_eq!(
                store.completed_types(agent, limit).await.unwrap(),
                model.completed_types(agent, limit).await.unwrap(),
                "{agent} {limit}"
            );
        }
    }
    let counts = store.count_tasks_by_status().await.unwrap();
    assert_eq!(counts, model.count_tasks_by_status().await.unwrap());
    let all = counts.pending + counts.in_progress + counts.completed + counts.deleted;
    assert_eq!(all, TASK_COUNT);
    // The sort order of texts depends on the database.
    let sorted = |mut loads: Vec<(String, u64)>| {
        loads.sort();
        loads
    };
    for limit in [0, 1, 3, 1_000] {
        let tasks = store.held_tasks(limit).await.unwrap();
        assert_eq!(tasks, model.held_tasks(limit).await.unwrap());
        assert_eq!(tasks.is_empty(), limit == 0);
    }
    let loads = sorted(store.unfinished_tasks_by_owner().await.unwrap());
    assert_eq!(
        loads,
        sorted(model.unfinished_tasks_by_owner().await.unwrap())
    );
    assert!(
        loads
            .iter()
            .all(|(owner, count)| !owner.is_empty() && *count > 0)
    );
    assert!(!loads.is_empty());
}

/// The count of a list covers all of its pages, regardless of the start and length of a page.
pub async fn task_list_count_covers_all_pages(factory: &dyn StoreFactory) {
    let mut rng = SeededRng::from_seed(12);
    let (store, model) = store_and_model(factory, &mut rng).await;
    for _ in 0..60 {
        let query = TaskQuery {
            role: rng.choose_optional(&ROLE_NAMES).map(str::to_owned),
            status: rng.choose_optional(&TaskStatus::ALL),
            owner: rng.choose_optional(&AGENT_NAMES).map(str::to_owned),
            claimable_at: rng.one_in(3).then_some(START_MILLIS),
            priority: rng.one_in(3).then(|| *rng.choose(&TaskPriority::ALL)),
            sort: *rng.choose(&TaskSort::ALL),
            after: rng.one_in(2).then(|| random_cursor(&mut rng)),
            newest: rng.one_in(2),
            limit: 1,
            ..TaskQuery::default()
        };
        let whole = TaskQuery {
            after: None,
            limit: 10_000,
            ..query.clone()
        };
        let counted = store.count_matching_tasks(&query).await.unwrap();
        assert_eq!(
            counted,
            model.count_matching_tasks(&query).await.unwrap(),
            "{query:?}"
        );
        let listed = store.list_tasks(&whole).await.unwrap().len();
        assert_eq!(counted, listed as u64, "{query:?}");
    }
}
