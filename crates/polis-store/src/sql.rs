//! Query building shared by both stores: task lists, claim candidates, comments and events.
//!
//! Parameters are `$1`, `$2`, … in order of appearance, which both databases understand.

use polis_core::task::search::Word;
use polis_core::{TaskId, TaskStatus, TaskType};
use polis_ops::port::{CandidateQuery, CommentQuery, EventQuery, TaskQuery};

use crate::row::bound;

/// Columns of a complete task.
pub(crate) const TASK_COLUMNS: &str = "id, revision, version, status, owner, owner_role, required_role, task_type, \
     standing, open_blockers, lease_until, blocked_by, blocks, created_at, updated_at, subject, rest, description";

/// Columns of a task in a list.
pub(crate) const SUMMARY_COLUMNS: &str = "id, version, status, owner, required_role, task_type, open_blockers, lease_until, blocked_by, created_at, updated_at, subject";

/// Tasks whose lease expired by `$1`. A materialized CTE, because with several equality conditions a planner
/// without statistics picks the index of the least selective one.
const STALE: &str = "WITH stale AS MATERIALIZED (SELECT id FROM tasks WHERE lease_until IS NOT NULL AND lease_until <= $1)";
const IS_FREE: &str = "free = 1";
const IS_STALE: &str = "id IN (SELECT id FROM stale)";

/// Differences between the two SQL dialects.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Operator between a column and a pattern that ignores the case of ASCII letters only.
    like: &'static str,
}

/// SQLite.
pub(crate) const EMBEDDED: Dialect = Dialect { like: "LIKE" };
/// PostgreSQL.
pub(crate) const POSTGRES: Dialect = Dialect {
    like: "COLLATE \"C\" ILIKE",
};

/// A parameter of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Param {
    Int(i64),
    Text(String),
}

/// A query and its parameters.
#[derive(Debug, Default)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) params: Vec<Param>,
}

impl Query {
    pub(crate) fn bind(&mut self, param: Param) -> String {
        self.params.push(param);
        format!("${}", self.params.len())
    }
}

/// Builds the query of a task list.
///
/// "For this role" is a disjunction over different columns, and a task is listed in one of three states. For
/// each combination there is an index in order of task number, so each becomes an arm that stops after one
/// page, and the arms are merged: the time depends on the page size, not on the number of tasks.
pub(crate) fn list(query: &TaskQuery, dialect: &Dialect) -> Query {
    let mut q = Query::default();
    let (stale, arms) = arms(&mut q, query, dialect, Some(query.limit));
    let limit = q.bind(Param::Int(i64::from(query.limit)));
    let order = order(query);
    q.text = format!(
        "{stale} SELECT {SUMMARY_COLUMNS} FROM tasks WHERE id IN ({arms}) ORDER BY {order} LIMIT {limit}"
    );
    q
}

/// Builds the query that counts a list over all of its pages.
pub(crate) fn count_of_list(query: &TaskQuery, dialect: &Dialect) -> Query {
    let whole = TaskQuery {
        after: None,
        ..query.clone()
    };
    let mut q = Query::default();
    let (stale, arms) = arms(&mut q, &whole, dialect, None);
    q.text = format!("{stale} SELECT count(*) FROM ({arms}) AS listed");
    q
}

/// The number of unfinished tasks per agent.
pub(crate) const LOADS: &str = "SELECT owner, count(*) FROM tasks WHERE owner <> '' AND status IN ('pending', 'in_progress') \
     GROUP BY owner ORDER BY owner";

/// Builds the query for the newest task in progress of each agent.
pub(crate) fn held(limit: u32) -> Query {
    let mut q = Query::default();
    let limit = q.bind(Param::Int(i64::from(limit)));
    q.text = format!(
        "SELECT {SUMMARY_COLUMNS} FROM tasks WHERE id IN (SELECT max(id) FROM tasks WHERE status = 'in_progress' \
         AND owner <> '' GROUP BY owner) ORDER BY id DESC LIMIT {limit}"
    );
    q
}

/// Returns the CTE to put before the query, and the query for the distinct task numbers of a list; each arm
/// is limited to `limit`.
fn arms(
    q: &mut Query,
    query: &TaskQuery,
    dialect: &Dialect,
    limit: Option<u32>,
) -> (&'static str, String) {
    let stale = query.claimable_at.map_or("", |now| {
        q.bind(Param::Int(now));
        STALE
    });
    let mut arms = Vec::new();
    for by_role in role_conditions(query) {
        for by_state in state_conditions(query) {
            // A free task has no owner.
            let by_owner = by_role
                .iter()
                .any(|(column, _)| column.starts_with("owner"));
            if by_owner && by_state.iter().any(|(column, _)| *column == IS_FREE) {
                continue;
            }
            let conditions = [by_role.clone(), by_state].concat();
            arms.push(arm(q, query, dialect, conditions, limit));
        }
    }
    (stale, arms.join(" UNION "))
}

fn order(query: &TaskQuery) -> &'static str {
    if query.newest { "id DESC" } else { "id" }
}

/// Conditions: a column with the value it must equal, or a literal expression.
type Condition = Vec<(&'static str, Option<Param>)>;

fn role_conditions(query: &TaskQuery) -> Vec<Condition> {
    let Some(role) = &query.role else {
        return vec![Vec::new()];
    };
    let is = |column: &'static str| (column, Some(Param::Text(role.clone())));
    vec![
        vec![is("required_role")],
        vec![("required_role", Some(Param::Text(String::new())))],
        vec![is("owner"), ("owner <> ''", None)],
        vec![is("owner_role"), ("owner_role <> ''", None)],
    ]
}

fn state_conditions(query: &TaskQuery) -> Vec<Condition> {
    let is = |status: TaskStatus| ("status", Some(Param::Text(status.as_str().to_owned())));
    if query.claimable_at.is_some() {
        let free: Condition = vec![(IS_FREE, None)];
        let stale: Condition = vec![(IS_STALE, None)];
        // Concatenated, so that no planner prefers the index by status to the index of free tasks.
        let is = |status: TaskStatus| {
            (
                "status || '' =",
                Some(Param::Text(status.as_str().to_owned())),
            )
        };
        return match query.status {
            None => vec![free, stale],
            Some(TaskStatus::InProgress) => {
                vec![[free, vec![is(TaskStatus::InProgress)]].concat(), stale]
            }
            Some(status) => vec![[free, vec![is(status)]].concat()],
        };
    }
    match query.status {
        Some(TaskStatus::Deleted) => vec![vec![("1 = 0", None)]],
        Some(status) => vec![vec![is(status)]],
        None => [
            TaskStatus::Pending,
            TaskStatus::InProgress,
            TaskStatus::Completed,
        ]
        .map(|s| vec![is(s)])
        .into(),
    }
}

fn arm(
    q: &mut Query,
    query: &TaskQuery,
    dialect: &Dialect,
    mut conditions: Condition,
    limit: Option<u32>,
) -> String {
    if let Some(owner) = &query.owner {
        conditions.push(("owner", Some(Param::Text(owner.clone()))));
        conditions.push(("owner <> ''", None));
    }
    if let Some(t) = query.task_type {
        conditions.push(("task_type", Some(Param::Text(t.as_str().to_owned()))));
        conditions.push(("task_type <> ''", None));
    }
    if let Some(after) = query.after {
        let beyond = if query.newest { "id <" } else { "id >" };
        conditions.push((beyond, Some(number(after))));
    }
    if let Some(role) = &query.required_role {
        conditions.push(("required_role", Some(Param::Text(role.clone()))));
    }
    let mut words = Vec::new();
    for (column, param) in conditions {
        words.push(match param {
            None => column.to_owned(),
            Some(param) if column.ends_with(['<', '>', '=']) => {
                format!("{column} {}", q.bind(param))
            }
            Some(param) => format!("{column} = {}", q.bind(param)),
        });
    }
    for word in query.search.words() {
        words.push(has_word(q, word, dialect));
    }
    let words = words.join(" AND ");
    let Some(limit) = limit else {
        return format!("SELECT id FROM tasks WHERE {words}");
    };
    let limit = q.bind(Param::Int(i64::from(limit)));
    let n = q.params.len();
    format!(
        "SELECT id FROM (SELECT id FROM tasks WHERE {words} ORDER BY {} LIMIT {limit}) AS arm{n}",
        order(query)
    )
}

fn number(id: TaskId) -> Param {
    Param::Int(i64::try_from(id.number()).unwrap_or(i64::MAX))
}

/// Builds the condition that a task contains a word.
fn has_word(q: &mut Query, word: &Word, dialect: &Dialect) -> String {
    let mut pattern = String::from("%");
    for letter in word.text.chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    let pattern = q.bind(Param::Text(pattern));
    let like = dialect.like;
    let mut either =
        format!("subject {like} {pattern} ESCAPE '!' OR description {like} {pattern} ESCAPE '!'");
    if let Some(id) = word.number {
        let id = q.bind(number(id));
        either.push_str(&format!(" OR id = {id}"));
    }
    format!("({either})")
}

/// Builds the query of events, in the column order of an [`Event`](polis_core::Event); newest first if
/// requested.
pub(crate) fn events(query: &EventQuery) -> Query {
    let mut q = Query::default();
    let mut words = Vec::new();
    if let Some(subject) = &query.subject {
        words.push(format!(
            "subject = {}",
            q.bind(Param::Text(subject.clone()))
        ));
    }
    words.push(format!("seq > {}", q.bind(Param::Int(bound(query.after)))));
    if let Some(before) = query.before {
        words.push(format!("seq < {}", q.bind(Param::Int(bound(before)))));
    }
    if !query.except.is_empty() {
        let kinds = query.except.iter();
        let kinds: Vec<String> = kinds
            .map(|kind| q.bind(Param::Text((*kind).to_owned())))
            .collect();
        words.push(format!("kind NOT IN ({})", kinds.join(", ")));
    }
    let order = if query.newest { "seq DESC" } else { "seq" };
    let limit = q.bind(Param::Int(i64::from(query.limit)));
    q.text = format!(
        "SELECT seq, at, actor, kind, subject, data FROM events WHERE {} ORDER BY {order} LIMIT {limit}",
        words.join(" AND ")
    );
    q
}

/// Builds the query of a task's comments; newest first if requested.
pub(crate) fn comments(query: &CommentQuery) -> Query {
    let mut q = Query::default();
    let mut words = vec![format!("task_id = {}", q.bind(number(query.task)))];
    words.push(format!("id > {}", q.bind(Param::Int(bound(query.after)))));
    if let Some(before) = query.before {
        words.push(format!("id < {}", q.bind(Param::Int(bound(before)))));
    }
    let order = if query.newest { "id DESC" } else { "id" };
    let limit = q.bind(Param::Int(i64::from(query.limit)));
    q.text = format!(
        "SELECT body FROM comments WHERE {} ORDER BY {order} LIMIT {limit}",
        words.join(" AND ")
    );
    q
}

/// Builds the query for the first free tasks of one group: `$1` = required role, `$2` = type, `$3` = limit.
pub(crate) fn free_of_group() -> String {
    format!(
        "SELECT {TASK_COLUMNS} FROM tasks WHERE free = 1 AND required_role = $1 AND task_type = $2 \
         ORDER BY standing DESC, id LIMIT $3"
    )
}

/// Builds the query for pending tasks assigned to `$1`, at most `$2` per type and required role.
pub(crate) fn assigned_to() -> String {
    first_of_each(
        "",
        "owner = $1 AND owner <> '' AND status = 'pending' AND open_blockers = 0",
        2,
    )
}

/// Builds the query for tasks whose lease expired by `$1` and that the agent with role `$2` and name `$3` may
/// claim, at most `$4` per type, required role and owner.
pub(crate) fn stale_for() -> String {
    first_of_each(
        STALE,
        &format!("{IS_STALE} AND required_role IN ('', $2, $3)"),
        4,
    )
}

fn first_of_each(with: &str, condition: &str, limit: usize) -> String {
    format!(
        "{with} SELECT {TASK_COLUMNS} FROM (SELECT {TASK_COLUMNS}, row_number() OVER \
         (PARTITION BY task_type, required_role, owner ORDER BY standing DESC, id) AS place \
         FROM tasks WHERE {condition}) AS ranked WHERE place <= ${limit}"
    )
}

/// The types of the newest `$2` tasks completed by `$1`.
pub(crate) const COMPLETED_TYPES: &str = "SELECT task_type FROM tasks WHERE owner = $1 AND owner <> '' \
     AND status = 'completed' ORDER BY id DESC LIMIT $2";

/// Returns the groups of free tasks for an agent: those that require its role, its name or nothing, for every
/// type.
pub(crate) fn groups(query: &CandidateQuery) -> Vec<(&str, &'static str)> {
    let mut required = vec![query.role.as_str(), ""];
    if query.agent != query.role {
        required.push(&query.agent);
    }
    let types = || TaskType::ALL.iter().map(|t| t.as_str()).chain([""]);
    required
        .into_iter()
        .flat_map(|role| types().map(move |t| (role, t)))
        .collect()
}
