//! Task rows as one array parameter per column, for bulk inserts and updates with `unnest`.

use super::batch_plan::{BatchPlan, TaskChange};
use super::connection::PgParam;
use crate::task_row::TaskRow;

/// Task rows, as one array per column.
#[derive(Debug, Default)]
pub(super) struct TaskColumns<'a> {
    pub(super) id: Vec<i64>,
    revision: Vec<i64>,
    version: Vec<i64>,
    status: Vec<&'a str>,
    owner: Vec<&'a str>,
    owner_role: Vec<&'a str>,
    required_role: Vec<&'a str>,
    task_type: Vec<&'a str>,
    priority: Vec<i64>,
    standing: Vec<i64>,
    open_blockers: Vec<i64>,
    lease_until: Vec<Option<i64>>,
    blocked_by: Vec<&'a str>,
    blocks: Vec<&'a str>,
    created_at: Vec<Option<&'a str>>,
    updated_at: Vec<Option<&'a str>>,
    subject: Vec<&'a str>,
    rest: Vec<&'a str>,
    description: Vec<&'a str>,
}

impl<'a> TaskColumns<'a> {
    pub(super) fn from_plan(
        plan: &BatchPlan<'a>,
        is_selected: impl Fn(&TaskChange<'_>) -> bool,
    ) -> Self {
        let mut all = Self::default();
        for (id, change) in &plan.tasks {
            if let Some(row) = change.row
                && is_selected(change)
            {
                all.push_row(*id, change, row);
            }
        }
        all
    }

    fn push_row(&mut self, id: i64, change: &TaskChange<'a>, row: &'a TaskRow) {
        self.id.push(id);
        self.revision.push(row.revision);
        self.version.push(row.version);
        self.status.push(&row.status);
        self.owner.push(&row.owner);
        self.owner_role.push(&row.owner_role);
        self.required_role.push(&row.required_role);
        self.task_type.push(&row.task_type);
        self.priority.push(row.priority);
        self.standing.push(row.standing);
        self.open_blockers.push(change.blocker_change);
        self.lease_until.push(row.lease_until);
        self.blocked_by.push(&row.blocked_by);
        self.blocks.push(&row.blocks);
        self.created_at.push(change.created_at);
        self.updated_at.push(row.updated_at.as_deref());
        self.subject.push(&row.subject);
        self.rest.push(&row.rest);
        self.description.push(&row.description);
    }

    /// Returns all columns, in the order of [`crate::sql::TASK_COLUMNS`].
    pub(super) fn as_params(&self) -> Vec<PgParam<'_>> {
        vec![
            &self.id,
            &self.revision,
            &self.version,
            &self.status,
            &self.owner,
            &self.owner_role,
            &self.required_role,
            &self.task_type,
            &self.priority,
            &self.standing,
            &self.open_blockers,
            &self.lease_until,
            &self.blocked_by,
            &self.blocks,
            &self.created_at,
            &self.updated_at,
            &self.subject,
            &self.rest,
            &self.description,
        ]
    }

    /// Returns all columns except the creation time, which never changes.
    pub(super) fn update_params(&self) -> Vec<PgParam<'_>> {
        let mut all = self.as_params();
        all.remove(14);
        all
    }
}
