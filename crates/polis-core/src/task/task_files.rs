//! Import of task files: one `N.json` for each task, in the format of Claude Code and requirement 004.
//!
//! [`parse_task`] reads one file, [`reconcile_outlines`] makes the numbers and dependencies of all files
//! consistent. Both repair input that has one reasonable interpretation, and report every repair. Unknown
//! fields, and optional fields with unusable values, are preserved unchanged and written again on export.

use std::collections::{HashMap, HashSet};

use super::task_priority::PRIORITY_KEY;
use super::{Comment, Task, TaskApproval, TaskPriority, TaskStatus, TaskType, text_limits};
use crate::id::TaskId;
use crate::json::{MAX_JSON_DEPTH, RawJson, RawObject};
use crate::number::saturating_cast;
use crate::refusal::{TaskFileProblem, TextField};
use crate::timestamp::Timestamp;

/// Maximum task number and version in a task file: the largest integer that JavaScript represents exactly,
/// which leaves room in our columns for later numbers.
pub const MAX_TASK_NUMBER: u64 = (1 << 53) - 1;

/// A task read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedTask {
    /// The task, without its comments.
    pub task: Task,
    /// Comments contained in the file.
    pub comments: Vec<Comment>,
    /// Repairs that were necessary.
    pub repairs: Vec<TaskFileProblem>,
}

/// Parses a task from its fields. `number` is the one in its file name. Fails with the problem that cannot be
/// repaired.
pub fn parse_task(
    mut fields: RawObject,
    number: Option<TaskId>,
) -> Result<ParsedTask, TaskFileProblem> {
    let mut repairs = Vec::new();
    let depth = fields.depth() + 1;
    if depth > MAX_JSON_DEPTH {
        return Err(TaskFileProblem::NestedTooDeeply {
            depth,
            max_depth: MAX_JSON_DEPTH,
        });
    }
    if fields.has_unpaired_surrogate() {
        return Err(TaskFileProblem::UnpairedSurrogate);
    }
    // Fields that are computed when a task is shown are not part of it.
    for computed in ["stale", "unblocked"] {
        fields.remove(computed);
    }
    let id = take_task_id(&mut fields, number, &mut repairs)?;
    let subject = take_required_text(&mut fields, "subject")?;
    let description = match fields.remove("description") {
        None => String::new(),
        Some(raw) if raw.is_null() => String::new(),
        Some(raw) => raw
            .parse_as::<String>()
            .ok_or_else(|| not_a_text("description"))?,
    };
    let status = match fields.remove("status") {
        None => {
            repairs.push(TaskFileProblem::StatusAdded);
            TaskStatus::Pending
        }
        Some(raw) => {
            raw.parse_as::<TaskStatus>()
                .ok_or_else(|| TaskFileProblem::UnknownStatus {
                    value: shorten_json(&raw),
                })?
        }
    };
    let owner = take_required_field(&mut fields, "owner", &mut repairs).unwrap_or_default();
    let required_role = take_optional_field::<String>(&mut fields, "requiredRole", &mut repairs)
        .filter(|r| !r.is_empty());
    let texts = [&subject, &description, &owner];
    if texts
        .into_iter()
        .chain(&required_role)
        .any(|text| text.contains('\0'))
    {
        return Err(TaskFileProblem::ContainsNul);
    }
    if text_limits::check_line(TextField::Subject, &subject)
        .and_then(|()| text_limits::check_text(TextField::Description, &description))
        .is_err()
    {
        repairs.push(TaskFileProblem::TextsTooLong);
    }
    let blocks = take_task_ids(&mut fields, "blocks", &mut repairs);
    let blocked_by = take_task_ids(&mut fields, "blockedBy", &mut repairs);
    let version = take_required_field::<u64>(&mut fields, "version", &mut repairs).unwrap_or(1);
    if !(1..=MAX_TASK_NUMBER).contains(&version) {
        return Err(TaskFileProblem::VersionOutOfRange { version });
    }
    if id.number() > MAX_TASK_NUMBER {
        return Err(TaskFileProblem::IdOutOfRange { id });
    }
    let comments = take_optional_field::<Vec<Comment>>(&mut fields, "comments", &mut repairs)
        .unwrap_or_default();
    let mut metadata = take_optional_field(&mut fields, "metadata", &mut repairs);
    let priority = take_priority(&mut fields, &mut metadata, &mut repairs);
    let task = Task {
        id,
        subject,
        description,
        active_form: take_optional_field(&mut fields, "activeForm", &mut repairs),
        status,
        owner,
        metadata,
        blocks,
        blocked_by,
        created_at: take_timestamp(&mut fields, "createdAt", &mut repairs),
        updated_at: take_timestamp(&mut fields, "updatedAt", &mut repairs),
        required_role,
        version,
        task_type: take_optional_field::<TaskType>(&mut fields, "taskType", &mut repairs),
        priority,
        claimed_at: take_timestamp(&mut fields, "claimedAt", &mut repairs),
        started_at: take_timestamp(&mut fields, "startedAt", &mut repairs),
        completed_at: take_timestamp(&mut fields, "completedAt", &mut repairs),
        lease_ms: take_optional_field(&mut fields, "leaseMs", &mut repairs),
        lease_expires_at: take_timestamp(&mut fields, "leaseExpiresAt", &mut repairs),
        approval: take_optional_field::<TaskApproval>(&mut fields, "approval", &mut repairs),
        extra: fields,
    };
    Ok(ParsedTask {
        task,
        comments,
        repairs,
    })
}

fn take_task_id(
    fields: &mut RawObject,
    number: Option<TaskId>,
    repairs: &mut Vec<TaskFileProblem>,
) -> Result<TaskId, TaskFileProblem> {
    let Some(raw) = fields.remove("id") else {
        let id = number.ok_or_else(|| missing_field("id"))?;
        repairs.push(TaskFileProblem::IdFromFileName { id });
        return Ok(id);
    };
    if let Some(id) = raw.parse_as::<TaskId>() {
        if let Some(file_id) = number.filter(|file_id| *file_id != id) {
            repairs.push(TaskFileProblem::OtherIdInName { file_id, id });
        }
        return Ok(id);
    }
    let text = raw
        .parse_as::<String>()
        .unwrap_or_else(|| raw.as_str().to_owned());
    let digits = text.trim_start_matches('0');
    let value = shorten_json(&raw);
    let Ok(id) = digits.parse::<TaskId>() else {
        return Err(TaskFileProblem::IdNotANumber { value });
    };
    repairs.push(TaskFileProblem::IdNormalized { value, id });
    Ok(id)
}

fn take_required_text(fields: &mut RawObject, key: &str) -> Result<String, TaskFileProblem> {
    let raw = fields.remove(key).ok_or_else(|| missing_field(key))?;
    raw.parse_as::<String>().ok_or_else(|| not_a_text(key))
}

fn missing_field(key: &str) -> TaskFileProblem {
    TaskFileProblem::FieldMissing {
        key: key.to_owned(),
    }
}

fn not_a_text(key: &str) -> TaskFileProblem {
    TaskFileProblem::FieldNotAText {
        key: key.to_owned(),
    }
}

/// Reads a field that every task has. A value of the wrong type is dropped, because it cannot be kept in
/// addition to the field.
fn take_required_field<T: serde::de::DeserializeOwned>(
    fields: &mut RawObject,
    key: &str,
    repairs: &mut Vec<TaskFileProblem>,
) -> Option<T> {
    let raw = fields.remove(key).filter(|raw| !raw.is_null())?;
    let value = serde_json::from_str(raw.as_str()).ok();
    if value.is_none() {
        repairs.push(TaskFileProblem::ValueDropped {
            key: key.to_owned(),
            value: shorten_json(&raw),
        });
    }
    value
}

/// Reads an optional field. A value of the wrong type is kept as it is and reported.
fn take_optional_field<T: serde::de::DeserializeOwned>(
    fields: &mut RawObject,
    key: &str,
    repairs: &mut Vec<TaskFileProblem>,
) -> Option<T> {
    // A null means no value, and is exported again unchanged.
    let raw = fields.get(key).filter(|raw| !raw.is_null())?;
    if let Ok(value) = serde_json::from_str(raw.as_str()) {
        fields.remove(key);
        return Some(value);
    }
    repairs.push(TaskFileProblem::ValueKept {
        key: key.to_owned(),
        value: shorten_json(raw),
    });
    None
}

/// Reads the priority from the field and the metadata. If only one has it, the other gets the same word, so
/// that nothing is lost. If both have one and they disagree, the field counts. An unknown value of the field
/// is kept, unless the metadata has a known one.
fn take_priority(
    fields: &mut RawObject,
    metadata: &mut Option<RawObject>,
    repairs: &mut Vec<TaskFileProblem>,
) -> Option<TaskPriority> {
    let stated = TaskPriority::from_metadata(metadata.as_ref());
    let raw = fields.get(PRIORITY_KEY).cloned();
    let value = raw.as_ref().filter(|raw| !raw.is_null());
    let mut drop_value = |key: &str, value: &RawJson| {
        repairs.push(TaskFileProblem::ValueDropped {
            key: key.to_owned(),
            value: shorten_json(value),
        });
    };
    let Some(priority) = value.and_then(TaskPriority::from_json) else {
        match (value, stated) {
            (Some(value), Some(_)) => drop_value(PRIORITY_KEY, value),
            (Some(value), None) => repairs.push(TaskFileProblem::ValueKept {
                key: PRIORITY_KEY.to_owned(),
                value: shorten_json(value),
            }),
            (None, _) => {}
        }
        if stated.is_some() {
            fields.remove(PRIORITY_KEY);
        }
        return stated;
    };
    let word = fields.remove(PRIORITY_KEY)?;
    if stated == Some(priority) {
        return stated;
    }
    if metadata.is_none()
        && let Some(unusable) = fields.remove("metadata").filter(|raw| !raw.is_null())
    {
        drop_value("metadata", &unusable);
    }
    let metadata = metadata.get_or_insert_default();
    if let Some(other) = metadata.get(PRIORITY_KEY) {
        drop_value("metadata.priority", other);
    }
    metadata.set(PRIORITY_KEY, word);
    Some(priority)
}

fn take_timestamp(
    fields: &mut RawObject,
    key: &str,
    repairs: &mut Vec<TaskFileProblem>,
) -> Option<Timestamp> {
    let text: String = fields
        .get(key)
        .filter(|raw| !raw.is_null())?
        .parse_as()
        .unwrap_or_default();
    let time = Timestamp::parse(&text);
    if time.is_some() {
        fields.remove(key);
    } else {
        repairs.push(TaskFileProblem::TimeKept {
            key: key.to_owned(),
        });
    }
    time
}

fn take_task_ids(
    fields: &mut RawObject,
    key: &str,
    repairs: &mut Vec<TaskFileProblem>,
) -> Vec<TaskId> {
    let Some(raw) = fields.remove(key) else {
        return Vec::new();
    };
    let mut ids = Vec::new();
    let mut seen = HashSet::new();
    let entries = raw.parse_as::<Vec<RawJson>>().unwrap_or_else(|| {
        if !raw.is_null() {
            repairs.push(TaskFileProblem::ListDropped {
                key: key.to_owned(),
                value: shorten_json(&raw),
            });
        }
        Vec::new()
    });
    for entry in entries {
        let text = entry
            .parse_as::<String>()
            .unwrap_or_else(|| entry.as_str().to_owned());
        match text.parse::<TaskId>() {
            Ok(id) if !seen.insert(id) => repairs.push(TaskFileProblem::EntryTwice {
                key: key.to_owned(),
                id,
            }),
            Ok(id) => ids.push(id),
            Err(_) => repairs.push(TaskFileProblem::EntryNotAnId {
                key: key.to_owned(),
                value: shorten_json(&entry),
            }),
        }
    }
    ids
}

fn shorten_json(raw: &RawJson) -> String {
    let mut text: String = raw.as_str().chars().take(60).collect();
    if text.len() < raw.as_str().len() {
        text.push('…');
    }
    text
}

/// The data of a task that an import needs to reconcile all of them; small, so that a hundred thousand fit in
/// memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportOutline {
    /// Index of its file in the import's list of files.
    pub file: u32,
    /// Number that the task will get.
    pub id: TaskId,
    /// Whether it no longer blocks others.
    pub is_finished: bool,
    /// Tasks that wait for it.
    pub blocks: Vec<TaskId>,
    /// Tasks it waits for.
    pub blocked_by: Vec<TaskId>,
}

/// Makes numbers unique, makes edges two-sided, removes edges to unknown tasks and breaks cycles, and reports
/// the changes.
///
/// `minimum` is the highest number assigned before; `name` returns the file name of an outline; `report`
/// receives the changes.
/// Deterministic: the same files give the same result, so that an import can be repeated.
pub fn reconcile_outlines(
    outlines: &mut [ImportOutline],
    minimum: u64,
    name: &dyn Fn(&ImportOutline) -> String,
    report: &mut dyn FnMut(&ImportOutline, TaskFileProblem),
) {
    deduplicate_numbers(outlines, minimum, name, report);
    let at: HashMap<TaskId, usize> = outlines
        .iter()
        .enumerate()
        .map(|(n, o)| (o.id, n))
        .collect();
    for outline in outlines.iter_mut() {
        let id = outline.id;
        for field in ["blocks", "blockedBy"] {
            let list = if field == "blocks" {
                &mut outline.blocks
            } else {
                &mut outline.blocked_by
            };
            let (existing, dropped): (Vec<_>, Vec<_>) = list
                .iter()
                .partition(|other| **other != id && at.contains_key(other));
            *list = existing;
            for other in dropped {
                let key = field.to_owned();
                let problem = if other == id {
                    TaskFileProblem::EntryIsItself { key, id: other }
                } else {
                    TaskFileProblem::EntryUnknown { key, id: other }
                };
                report(outline, problem);
            }
        }
    }
    // One-sided edges: the missing side is added.
    let mut missing: Vec<(usize, bool, TaskId)> = Vec::new();
    for outline in outlines.iter() {
        for other in &outline.blocks {
            if !outlines[at[other]].blocked_by.contains(&outline.id) {
                missing.push((at[other], true, outline.id));
            }
        }
        for other in &outline.blocked_by {
            if !outlines[at[other]].blocks.contains(&outline.id) {
                missing.push((at[other], false, outline.id));
            }
        }
    }
    for (n, is_blocked, other) in missing {
        let outline = &mut outlines[n];
        let (list, field) = if is_blocked {
            (&mut outline.blocked_by, "blockedBy")
        } else {
            (&mut outline.blocks, "blocks")
        };
        if !list.contains(&other) {
            list.push(other);
            let problem = TaskFileProblem::EntryAdded {
                key: field.to_owned(),
                id: other,
            };
            report(outline, problem);
        }
    }
    for (from, to) in cycle_closing_edges(outlines, &at) {
        let (a, b) = (at[&from], at[&to]);
        outlines[a].blocks.retain(|id| *id != to);
        outlines[b].blocked_by.retain(|id| *id != from);
        report(&outlines[b], TaskFileProblem::EntryClosesCycle { id: from });
    }
}

/// Assigns new numbers, above all others, to the second and later tasks with the same number.
fn deduplicate_numbers(
    outlines: &mut [ImportOutline],
    minimum: u64,
    name: &dyn Fn(&ImportOutline) -> String,
    report: &mut dyn FnMut(&ImportOutline, TaskFileProblem),
) {
    let largest = outlines.iter().map(|o| o.id.number()).max().unwrap_or(0);
    let mut next = largest.max(minimum);
    // The file named after the number keeps it.
    let has_own_name = |o: &ImportOutline| name(o) == format!("{}.json", o.id);
    let mut owners: HashMap<TaskId, usize> = HashMap::with_capacity(outlines.len());
    for n in 0..outlines.len() {
        let first = *owners.entry(outlines[n].id).or_insert(n);
        if first != n && !has_own_name(&outlines[first]) && has_own_name(&outlines[n]) {
            owners.insert(outlines[n].id, n);
        }
    }
    for (n, outline) in outlines.iter_mut().enumerate() {
        let old = outline.id;
        if owners.get(&old) == Some(&n) {
            continue;
        }
        next += 1;
        let Some(id) = TaskId::new(next) else {
            continue;
        };
        outline.id = id;
        report(outline, TaskFileProblem::NumberUsedTwice { old, id });
    }
}

/// Returns edges whose removal breaks all cycles; a depth-first search without recursion.
fn cycle_closing_edges(
    outlines: &[ImportOutline],
    at: &HashMap<TaskId, usize>,
) -> Vec<(TaskId, TaskId)> {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        Unvisited,
        Open,
        Done,
    }
    let mut marks = vec![VisitState::Unvisited; outlines.len()];
    let mut closing = Vec::new();
    for root in 0..outlines.len() {
        if marks[root] != VisitState::Unvisited {
            continue;
        }
        marks[root] = VisitState::Open;
        let mut stack = vec![(root, 0_usize)];
        while let Some((node, edge)) = stack.last_mut() {
            let from = &outlines[*node];
            let Some(to) = from.blocks.get(*edge) else {
                marks[*node] = VisitState::Done;
                stack.pop();
                continue;
            };
            *edge += 1;
            let next = at[to];
            match marks[next] {
                VisitState::Unvisited => {
                    marks[next] = VisitState::Open;
                    stack.push((next, 0));
                }
                VisitState::Open => closing.push((from.id, *to)),
                VisitState::Done => {}
            }
        }
    }
    closing
}

/// Returns the number of open blockers of each task, in order. All tasks must be known.
pub fn count_open_blockers(outlines: &[ImportOutline]) -> Vec<u32> {
    let settled: HashMap<TaskId, bool> = outlines.iter().map(|o| (o.id, o.is_finished)).collect();
    let open = |id: &&TaskId| settled.get(id) == Some(&false);
    outlines
        .iter()
        .map(|o| saturating_cast::<u32>(o.blocked_by.iter().filter(open).count()))
        .collect()
}
