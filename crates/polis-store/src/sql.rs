//! SQL query builder shared by the SQLite store and the PostgreSQL store: task lists and counts, claim
//! candidates, comments and events, with pagination by number (`after`, `before`, `limit`). [`SqlDialect`]
//! contains what differs between the two databases.
//!
//! Parameters are `$1`, `$2`, … in order of appearance, which both databases understand. Nothing is executed
//! here. The queries for messages are in `message_row`.

use polis_core::number::saturating_cast;
use polis_core::task::task_search::SearchWord;
use polis_core::task::{TaskPriority, TaskSort};
use polis_core::{TaskId, TaskStatus, TaskType};
use polis_ops::port::{CandidateQuery, CommentQuery, EventLogQuery, TaskQuery};

use crate::task_row::clamp_to_i64;

/// Columns of a complete task.
pub(crate) const TASK_COLUMNS: &str = "id, revision, version, status, owner, owner_role, required_role, task_type, \
     priority, standing, open_blockers, lease_until, blocked_by, blocks, created_at, updated_at, subject, rest, description";

/// Columns of a task in a list.
pub(crate) const SUMMARY_COLUMNS: &str = "id, version, status, owner, required_role, task_type, priority, open_blockers, lease_until, blocked_by, created_at, updated_at, subject";

/// Tasks whose lease expired by `$1`. A materialized CTE, because with several equality conditions a planner
/// without statistics picks the index of the least selective one.
const STALE_TASKS_CTE: &str = "WITH stale AS MATERIALIZED (SELECT id FROM tasks WHERE lease_until IS NOT NULL AND lease_until <= $1)";
const FREE_CONDITION: &str = "free = 1";
const STALE_CONDITION: &str = "id IN (SELECT id FROM stale)";

/// Differences between the two SQL dialects.
#[derive(Debug)]
pub(crate) struct SqlDialect {
    /// Operator between a column and a pattern that ignores the case of ASCII letters only.
    like_operator: &'static str,
}

/// The dialect of SQLite, which the embedded store uses.
pub(crate) const SQLITE_DIALECT: SqlDialect = SqlDialect {
    like_operator: "LIKE",
};
/// The dialect of PostgreSQL.
pub(crate) const POSTGRES_DIALECT: SqlDialect = SqlDialect {
    like_operator: "COLLATE \"C\" ILIKE",
};

/// A parameter of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlParam {
    Int(i64),
    Text(String),
}

/// A query and its parameters.
#[derive(Debug, Default)]
pub(crate) struct SqlQuery {
    pub(crate) text: String,
    pub(crate) params: Vec<SqlParam>,
}

impl SqlQuery {
    /// Adds a parameter and returns its placeholder.
    pub(crate) fn bind(&mut self, param: SqlParam) -> String {
        self.params.push(param);
        format!("${}", self.params.len())
    }
}

/// Builds the query of a task list.
///
/// "For this role" is a disjunction over different columns, and a task is listed in one of three states. For
/// each combination there is an index in order of task number, so each becomes an arm that stops after one
/// page, and the arms are merged: the time depends on the page size, not on the number of tasks. A list sorted
/// by priority has arms for each priority, because no index is in the order of two columns in both directions.
pub(crate) fn task_list_query(query: &TaskQuery, dialect: &SqlDialect) -> SqlQuery {
    let mut q = SqlQuery::default();
    let (stale, arms) = build_union_arms(&mut q, query, dialect, Some(query.limit));
    let limit = q.bind(SqlParam::Int(i64::from(query.limit)));
    let order = task_order(query);
    q.text = format!(
        "{stale} SELECT {SUMMARY_COLUMNS} FROM tasks WHERE id IN ({arms}) ORDER BY {order} LIMIT {limit}"
    );
    q
}

/// Builds the query that counts a list over all of its pages.
pub(crate) fn task_count_query(query: &TaskQuery, dialect: &SqlDialect) -> SqlQuery {
    let whole = TaskQuery {
        after: None,
        sort: TaskSort::Number,
        ..query.clone()
    };
    let mut q = SqlQuery::default();
    let (stale, arms) = build_union_arms(&mut q, &whole, dialect, None);
    q.text = format!("{stale} SELECT count(*) FROM ({arms}) AS listed");
    q
}

/// Selects the number of unfinished tasks of each owner.
pub(crate) const SELECT_TASK_LOADS: &str = "SELECT owner, count(*) FROM tasks WHERE owner <> '' AND status IN ('pending', 'in_progress') \
     GROUP BY owner ORDER BY owner";

/// Builds the query for the newest task in progress of each agent.
pub(crate) fn held_tasks_query(limit: u32) -> SqlQuery {
    let mut q = SqlQuery::default();
    let limit = q.bind(SqlParam::Int(i64::from(limit)));
    q.text = format!(
        "SELECT {SUMMARY_COLUMNS} FROM tasks WHERE id IN (SELECT max(id) FROM tasks WHERE status = 'in_progress' \
         AND owner <> '' GROUP BY owner) ORDER BY id DESC LIMIT {limit}"
    );
    q
}

/// Returns the CTE to put before the query, and the query for the distinct task numbers of a list; each arm
/// is limited to `limit`.
fn build_union_arms(
    q: &mut SqlQuery,
    query: &TaskQuery,
    dialect: &SqlDialect,
    limit: Option<u32>,
) -> (&'static str, String) {
    let stale = query.claimable_at.map_or("", |now| {
        q.bind(SqlParam::Int(now));
        STALE_TASKS_CTE
    });
    let mut arms = Vec::new();
    for by_role in role_conditions(query) {
        for by_state in state_conditions(query) {
            // A free task has no owner.
            let by_owner = by_role
                .iter()
                .any(|(column, _)| column.starts_with("owner"));
            if by_owner && by_state.iter().any(|(column, _)| *column == FREE_CONDITION) {
                continue;
            }
            for by_position in position_conditions(query) {
                let conditions = [by_role.clone(), by_state.clone(), by_position].concat();
                arms.push(build_union_arm(q, query, dialect, conditions, limit));
            }
        }
    }
    (stale, arms.join(" UNION "))
}

fn task_order(query: &TaskQuery) -> &'static str {
    match (query.sort, query.newest) {
        (TaskSort::Number, false) => "id",
        (TaskSort::Number, true) => "id DESC",
        (TaskSort::Priority, false) => "priority, id",
        (TaskSort::Priority, true) => "priority, id DESC",
    }
}

/// Conditions: a column with the value it must equal, or a literal expression.
type ArmConditions = Vec<(&'static str, Option<SqlParam>)>;

fn role_conditions(query: &TaskQuery) -> Vec<ArmConditions> {
    let Some(role) = &query.role else {
        return vec![Vec::new()];
    };
    let is = |column: &'static str| (column, Some(SqlParam::Text(role.clone())));
    vec![
        vec![is("required_role")],
        vec![("required_role", Some(SqlParam::Text(String::new())))],
        vec![is("owner"), ("owner <> ''", None)],
        vec![is("owner_role"), ("owner_role <> ''", None)],
    ]
}

fn state_conditions(query: &TaskQuery) -> Vec<ArmConditions> {
    let is = |status: TaskStatus| ("status", Some(SqlParam::Text(status.as_str().to_owned())));
    if query.claimable_at.is_some() {
        let free: ArmConditions = vec![(FREE_CONDITION, None)];
        let stale: ArmConditions = vec![(STALE_CONDITION, None)];
        // Concatenated, so that no planner prefers the index by status to the index of free tasks.
        let is = |status: TaskStatus| {
            (
                "status || '' =",
                Some(SqlParam::Text(status.as_str().to_owned())),
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

/// Returns the conditions of the priority and of the position after the cursor: one set for each priority of a
/// list that is sorted by it, otherwise one.
fn position_conditions(query: &TaskQuery) -> Vec<ArmConditions> {
    let of_priority = |priority: TaskPriority| {
        let rank = SqlParam::Int(i64::from(priority.rank()));
        ("priority", Some(rank))
    };
    let beyond = query.after.map(|after| {
        let column = if query.newest { "id <" } else { "id >" };
        (column, Some(task_id_param(after.id)))
    });
    if query.sort == TaskSort::Number {
        let priority = query.priority.map(of_priority);
        return vec![priority.into_iter().chain(beyond).collect()];
    }
    let first = query.after.map(|after| after.priority.unwrap_or_default());
    let listed = TaskPriority::ALL.into_iter().filter(|&priority| {
        query.priority.is_none_or(|only| only == priority)
            && first.is_none_or(|first| first <= priority)
    });
    let sets = listed.map(|priority| {
        let beyond = beyond.clone().filter(|_| first == Some(priority));
        [of_priority(priority)].into_iter().chain(beyond).collect()
    });
    let sets: Vec<ArmConditions> = sets.collect();
    if sets.is_empty() {
        // The cursor is after the only priority.
        return vec![vec![("1 = 0", None)]];
    }
    sets
}

fn build_union_arm(
    q: &mut SqlQuery,
    query: &TaskQuery,
    dialect: &SqlDialect,
    mut conditions: ArmConditions,
    limit: Option<u32>,
) -> String {
    if let Some(owner) = &query.owner {
        conditions.push(("owner", Some(SqlParam::Text(owner.clone()))));
        conditions.push(("owner <> ''", None));
    }
    if let Some(t) = query.task_type {
        conditions.push(("task_type", Some(SqlParam::Text(t.as_str().to_owned()))));
        conditions.push(("task_type <> ''", None));
    }
    if let Some(role) = &query.required_role {
        conditions.push(("required_role", Some(SqlParam::Text(role.clone()))));
    }
    let mut clauses = Vec::new();
    for (column, param) in conditions {
        clauses.push(match param {
            None => column.to_owned(),
            Some(param) if column.ends_with(['<', '>', '=']) => {
                format!("{column} {}", q.bind(param))
            }
            Some(param) => format!("{column} = {}", q.bind(param)),
        });
    }
    for word in query.search.words() {
        clauses.push(word_condition(q, word, dialect));
    }
    let words = clauses.join(" AND ");
    let Some(limit) = limit else {
        return format!("SELECT id FROM tasks WHERE {words}");
    };
    let limit = q.bind(SqlParam::Int(i64::from(limit)));
    let n = q.params.len();
    // The tasks of an arm have one priority if the list is sorted by it.
    let order = if query.newest { "id DESC" } else { "id" };
    format!(
        "SELECT id FROM (SELECT id FROM tasks WHERE {words} ORDER BY {order} LIMIT {limit}) AS arm{n}"
    )
}

fn task_id_param(id: TaskId) -> SqlParam {
    SqlParam::Int(saturating_cast::<i64>(id.number()))
}

/// Builds the condition that a task contains a word.
fn word_condition(q: &mut SqlQuery, word: &SearchWord, dialect: &SqlDialect) -> String {
    let mut pattern = String::from("%");
    for character in word.text.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    let pattern = q.bind(SqlParam::Text(pattern));
    let like = dialect.like_operator;
    let mut either =
        format!("subject {like} {pattern} ESCAPE '!' OR description {like} {pattern} ESCAPE '!'");
    if let Some(id) = word.number {
        let id = q.bind(task_id_param(id));
        either.push_str(&format!(" OR id = {id}"));
    }
    format!("({either})")
}

/// Builds the query of events, in the column order of an [`Event`](polis_core::Event); newest first if
/// requested.
pub(crate) fn event_list_query(query: &EventLogQuery) -> SqlQuery {
    let mut q = SqlQuery::default();
    let mut clauses = Vec::new();
    if let Some(subject) = &query.subject {
        clauses.push(format!(
            "subject = {}",
            q.bind(SqlParam::Text(subject.clone()))
        ));
    }
    clauses.push(format!(
        "seq > {}",
        q.bind(SqlParam::Int(clamp_to_i64(query.after)))
    ));
    if let Some(before) = query.before {
        clauses.push(format!(
            "seq < {}",
            q.bind(SqlParam::Int(clamp_to_i64(before)))
        ));
    }
    if !query.excluded_kinds.is_empty() {
        let kinds = query.excluded_kinds.iter();
        let kinds: Vec<String> = kinds
            .map(|kind| q.bind(SqlParam::Text(kind.as_str().to_owned())))
            .collect();
        clauses.push(format!("kind NOT IN ({})", kinds.join(", ")));
    }
    let order = if query.newest { "seq DESC" } else { "seq" };
    let limit = q.bind(SqlParam::Int(i64::from(query.limit)));
    q.text = format!(
        "SELECT seq, at, actor, kind, subject, data FROM events WHERE {} ORDER BY {order} LIMIT {limit}",
        clauses.join(" AND ")
    );
    q
}

/// Builds the query of a task's comments; newest first if requested.
pub(crate) fn comment_list_query(query: &CommentQuery) -> SqlQuery {
    let mut q = SqlQuery::default();
    let mut clauses = vec![format!("task_id = {}", q.bind(task_id_param(query.task)))];
    clauses.push(format!(
        "id > {}",
        q.bind(SqlParam::Int(clamp_to_i64(query.after)))
    ));
    if let Some(before) = query.before {
        clauses.push(format!(
            "id < {}",
            q.bind(SqlParam::Int(clamp_to_i64(before)))
        ));
    }
    let order = if query.newest { "id DESC" } else { "id" };
    let limit = q.bind(SqlParam::Int(i64::from(query.limit)));
    q.text = format!(
        "SELECT body FROM comments WHERE {} ORDER BY {order} LIMIT {limit}",
        clauses.join(" AND ")
    );
    q
}

/// Builds the query for the best-ranked free tasks of one group: `$1` = required role, `$2` = type, `$3` =
/// limit.
pub(crate) fn free_tasks_sql() -> String {
    format!(
        "SELECT {TASK_COLUMNS} FROM tasks WHERE free = 1 AND required_role = $1 AND task_type = $2 \
         ORDER BY standing DESC, id LIMIT $3"
    )
}

/// Builds the query for pending tasks assigned to `$1`, at most `$2` per type and required role.
pub(crate) fn assigned_tasks_sql() -> String {
    top_ranked_tasks_sql(
        "",
        "owner = $1 AND owner <> '' AND status = 'pending' AND open_blockers = 0",
        2,
    )
}

/// Builds the query for tasks whose lease expired by `$1` and that the agent with role `$2` and name `$3` may
/// claim, at most `$4` per type, required role and owner.
pub(crate) fn stale_tasks_sql() -> String {
    top_ranked_tasks_sql(
        STALE_TASKS_CTE,
        &format!("{STALE_CONDITION} AND required_role IN ('', $2, $3)"),
        4,
    )
}

fn top_ranked_tasks_sql(clause: &str, condition: &str, limit: usize) -> String {
    format!(
        "{clause} SELECT {TASK_COLUMNS} FROM (SELECT {TASK_COLUMNS}, row_number() OVER \
         (PARTITION BY task_type, required_role, owner ORDER BY standing DESC, id) AS place \
         FROM tasks WHERE {condition}) AS ranked WHERE place <= ${limit}"
    )
}

/// Selects the types of the newest `$2` tasks completed by `$1`.
pub(crate) const SELECT_COMPLETED_TYPES: &str = "SELECT task_type FROM tasks WHERE owner = $1 AND owner <> '' \
     AND status = 'completed' ORDER BY id DESC LIMIT $2";

/// Returns the groups of free tasks for an agent: those that require its role, its name or nothing, for every
/// type.
pub(crate) fn candidate_groups(query: &CandidateQuery) -> Vec<(&str, &'static str)> {
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
