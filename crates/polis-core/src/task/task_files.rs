//! Import of task files: one `N.json` for each task, in the format of Claude Code and the source documents.
//!
//! Parsing repairs input that has one reasonable interpretation (§2.3) and reports every repair. Unknown
//! fields, and fields with unusable values, are preserved unchanged and written again on export.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Approval, Comment, Task, TaskStatus, TaskType, text};
use crate::id::TaskId;
use crate::json::{Fields, MAX_DEPTH, Raw};
use crate::time::Timestamp;

/// Maximum task number and version in a task file: the largest integer that JavaScript represents exactly,
/// which leaves room in our columns for later numbers.
pub const MAX_NUMBER: u64 = (1 << 53) - 1;

/// A task read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTask {
    /// The task.
    pub task: Task,
    /// Comments contained in the file.
    pub comments: Vec<Comment>,
    /// Repairs that were necessary.
    pub repairs: Vec<String>,
}

/// Parses a task from its fields. `number` is the one in its file name.
pub fn read_task(mut fields: Fields, number: Option<TaskId>) -> Result<ReadTask, String> {
    let mut repairs = Vec::new();
    let depth = fields.depth() + 1;
    if depth > MAX_DEPTH {
        return Err(format!(
            "nested {depth} deep; at most {MAX_DEPTH} is accepted"
        ));
    }
    if fields.has_half_character() {
        return Err("a text holds half a character (a lone surrogate)".to_owned());
    }
    // Fields that are computed when a task is shown are not part of it.
    for shown in ["stale", "unblocked"] {
        fields.take(shown);
    }
    let id = read_id(&mut fields, number, &mut repairs)?;
    let subject = required_text(&mut fields, "subject")?;
    let description = match fields.take("description") {
        None => String::new(),
        Some(raw) if raw.is_null() => String::new(),
        Some(raw) => raw.to::<String>().ok_or("description is not a text")?,
    };
    let status = match fields.take("status") {
        None => {
            repairs.push("no status: taken as pending".to_owned());
            TaskStatus::Pending
        }
        Some(raw) => raw
            .to::<TaskStatus>()
            .ok_or_else(|| format!("unknown status {}", shown(&raw)))?,
    };
    let owner = always(&mut fields, "owner", &mut repairs).unwrap_or_default();
    let required_role =
        optional::<String>(&mut fields, "requiredRole", &mut repairs).filter(|r| !r.is_empty());
    let texts = [&subject, &description, &owner];
    if texts
        .into_iter()
        .chain(&required_role)
        .any(|text| text.contains('\0'))
    {
        return Err("a text contains NUL".to_owned());
    }
    if let Err(refusal) = text::check_line("subject", &subject)
        .and_then(|()| text::check_text("description", &description))
    {
        repairs.push(format!("{} Kept all the same.", refusal.message));
    }
    let blocks = read_ids(&mut fields, "blocks", &mut repairs);
    let blocked_by = read_ids(&mut fields, "blockedBy", &mut repairs);
    let version = always::<u64>(&mut fields, "version", &mut repairs).unwrap_or(1);
    if !(1..=MAX_NUMBER).contains(&version) {
        return Err(format!("the version {version} is out of range"));
    }
    if id.number() > MAX_NUMBER {
        return Err(format!("the id {id} is out of range"));
    }
    let comments =
        optional::<Vec<Comment>>(&mut fields, "comments", &mut repairs).unwrap_or_default();
    let task = Task {
        id,
        subject,
        description,
        active_form: optional(&mut fields, "activeForm", &mut repairs),
        status,
        owner,
        metadata: optional(&mut fields, "metadata", &mut repairs),
        blocks,
        blocked_by,
        created_at: read_time(&mut fields, "createdAt", &mut repairs),
        updated_at: read_time(&mut fields, "updatedAt", &mut repairs),
        required_role,
        version,
        task_type: optional::<TaskType>(&mut fields, "taskType", &mut repairs),
        claimed_at: read_time(&mut fields, "claimedAt", &mut repairs),
        started_at: read_time(&mut fields, "startedAt", &mut repairs),
        completed_at: read_time(&mut fields, "completedAt", &mut repairs),
        lease_ms: optional(&mut fields, "leaseMs", &mut repairs),
        lease_expires_at: read_time(&mut fields, "leaseExpiresAt", &mut repairs),
        approval: optional::<Approval>(&mut fields, "approval", &mut repairs),
        extra: fields,
    };
    Ok(ReadTask {
        task,
        comments,
        repairs,
    })
}

fn read_id(
    fields: &mut Fields,
    number: Option<TaskId>,
    repairs: &mut Vec<String>,
) -> Result<TaskId, String> {
    let Some(raw) = fields.take("id") else {
        let id = number.ok_or("no id")?;
        repairs.push(format!("no id: taken from the file name, {id}"));
        return Ok(id);
    };
    if let Some(id) = raw.to::<TaskId>() {
        if let Some(named) = number.filter(|named| *named != id) {
            repairs.push(format!(
                "the file is named {named} but holds the id {id}, which counts"
            ));
        }
        return Ok(id);
    }
    let text = raw.to::<String>().unwrap_or_else(|| raw.text().to_owned());
    let digits = text.trim_start_matches('0');
    let id: TaskId = digits
        .parse()
        .map_err(|_| format!("the id {} is not a decimal number", shown(&raw)))?;
    repairs.push(format!("the id {} is written as \"{id}\"", shown(&raw)));
    Ok(id)
}

fn required_text(fields: &mut Fields, key: &str) -> Result<String, String> {
    let raw = fields.take(key).ok_or_else(|| format!("no {key}"))?;
    raw.to::<String>()
        .ok_or_else(|| format!("{key} is not a text"))
}

/// Reads a field that every task has. A value of the wrong type is dropped, because it cannot be kept in
/// addition to the field.
fn always<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    key: &str,
    repairs: &mut Vec<String>,
) -> Option<T> {
    let raw = fields.take(key).filter(|raw| !raw.is_null())?;
    let value = serde_json::from_str(raw.text()).ok();
    if value.is_none() {
        repairs.push(format!("{key} {} cannot be used; dropped", shown(&raw)));
    }
    value
}

/// Reads an optional field. A value of the wrong type is kept as it is and reported.
fn optional<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    key: &str,
    repairs: &mut Vec<String>,
) -> Option<T> {
    // A null means no value, and is exported again unchanged.
    let raw = fields.get(key).filter(|raw| !raw.is_null())?;
    if let Ok(value) = serde_json::from_str(raw.text()) {
        fields.take(key);
        return Some(value);
    }
    repairs.push(format!("{key} {} is kept but cannot be used", shown(raw)));
    None
}

fn read_time(fields: &mut Fields, key: &str, repairs: &mut Vec<String>) -> Option<Timestamp> {
    let text: String = fields
        .get(key)
        .filter(|raw| !raw.is_null())?
        .to()
        .unwrap_or_default();
    let time = Timestamp::parse(&text);
    if time.is_some() {
        fields.take(key);
    } else {
        repairs.push(format!("{key} is kept but is no ISO 8601 time"));
    }
    time
}

fn read_ids(fields: &mut Fields, key: &str, repairs: &mut Vec<String>) -> Vec<TaskId> {
    let Some(raw) = fields.take(key) else {
        return Vec::new();
    };
    let mut ids = Vec::new();
    let mut seen = HashSet::new();
    let entries = raw.to::<Vec<Raw>>().unwrap_or_else(|| {
        if !raw.is_null() {
            repairs.push(format!("{key} {} is not a list; dropped", shown(&raw)));
        }
        Vec::new()
    });
    for entry in entries {
        let text = entry
            .to::<String>()
            .unwrap_or_else(|| entry.text().to_owned());
        match text.parse::<TaskId>() {
            Ok(id) if !seen.insert(id) => repairs.push(format!("{key} named {id} twice")),
            Ok(id) => ids.push(id),
            Err(_) => repairs.push(format!(
                "{key} named {}, which is no task id; dropped",
                shown(&entry)
            )),
        }
    }
    ids
}

fn shown(raw: &Raw) -> String {
    let mut text: String = raw.text().chars().take(60).collect();
    if text.len() < raw.text().len() {
        text.push('…');
    }
    text
}

/// What was mended in an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Repair {
    /// The file.
    pub file: String,
    /// The task.
    pub id: TaskId,
    /// What was mended.
    pub what: String,
}

/// What was left out of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Skip {
    /// The file.
    pub file: String,
    /// Why.
    pub why: String,
}

/// The data of each task that an import needs to reconcile all of them; small, so that a hundred thousand fit
/// in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Index of its file in the list.
    pub file: u32,
    /// The number it will get.
    pub id: TaskId,
    /// Whether it no longer blocks others.
    pub settled: bool,
    /// Tasks that wait for it.
    pub blocks: Vec<TaskId>,
    /// Tasks it waits for.
    pub blocked_by: Vec<TaskId>,
}

/// Makes numbers unique, makes edges two-sided, removes edges to unknown tasks and breaks cycles, and reports
/// the changes.
///
/// `above` is the highest number assigned before; `name` returns the file name of an outline. Deterministic:
/// the same files give the same result, so that an import can be repeated.
pub fn reconcile(
    outlines: &mut [Outline],
    above: u64,
    name: &dyn Fn(&Outline) -> String,
    repairs: &mut Vec<Repair>,
) {
    number_once(outlines, above, name, repairs);
    let at: HashMap<TaskId, usize> = outlines
        .iter()
        .enumerate()
        .map(|(n, o)| (o.id, n))
        .collect();
    let mut tell = |o: &Outline, what: String| {
        repairs.push(Repair {
            file: name(o),
            id: o.id,
            what,
        });
    };
    for outline in outlines.iter_mut() {
        let id = outline.id;
        for field in ["blocks", "blockedBy"] {
            let list = if field == "blocks" {
                &mut outline.blocks
            } else {
                &mut outline.blocked_by
            };
            let (known, dropped): (Vec<_>, Vec<_>) = list
                .iter()
                .partition(|other| **other != id && at.contains_key(other));
            *list = known;
            for other in dropped {
                let why = if other == id {
                    "itself"
                } else {
                    "a task that is not there"
                };
                tell(outline, format!("{field} named {other}, {why}; dropped"));
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
    for (n, waits, other) in missing {
        let outline = &mut outlines[n];
        let (list, field) = if waits {
            (&mut outline.blocked_by, "blockedBy")
        } else {
            (&mut outline.blocks, "blocks")
        };
        if !list.contains(&other) {
            list.push(other);
            tell(
                outline,
                format!("{field} lacked {other}, which named this task; added"),
            );
        }
    }
    for (from, to) in closing_edges(outlines, &at) {
        let (a, b) = (at[&from], at[&to]);
        outlines[a].blocks.retain(|id| *id != to);
        outlines[b].blocked_by.retain(|id| *id != from);
        tell(
            &outlines[b],
            format!("blockedBy named {from}, which closes a circle; dropped on both sides"),
        );
    }
}

/// Assigns new numbers, above all others, to the second and later tasks with the same number.
fn number_once(
    outlines: &mut [Outline],
    above: u64,
    name: &dyn Fn(&Outline) -> String,
    repairs: &mut Vec<Repair>,
) {
    let largest = outlines.iter().map(|o| o.id.number()).max().unwrap_or(0);
    let mut next = largest.max(above);
    // The file named after the number keeps it.
    let keeper = |o: &Outline| name(o) == format!("{}.json", o.id);
    let mut taken: HashMap<TaskId, usize> = HashMap::with_capacity(outlines.len());
    for n in 0..outlines.len() {
        let held = *taken.entry(outlines[n].id).or_insert(n);
        if held != n && !keeper(&outlines[held]) && keeper(&outlines[n]) {
            taken.insert(outlines[n].id, n);
        }
    }
    for (n, outline) in outlines.iter_mut().enumerate() {
        let old = outline.id;
        if taken.get(&old) == Some(&n) {
            continue;
        }
        next += 1;
        let Some(id) = TaskId::new(next) else {
            continue;
        };
        outline.id = id;
        repairs.push(Repair {
            file: name(outline),
            id,
            what: format!("the number {old} was given twice; this task is now {id}"),
        });
    }
}

/// Returns edges whose removal breaks all cycles; a depth-first search without recursion.
fn closing_edges(outlines: &[Outline], at: &HashMap<TaskId, usize>) -> Vec<(TaskId, TaskId)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; outlines.len()];
    let mut closing = Vec::new();
    for root in 0..outlines.len() {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        let mut stack = vec![(root, 0_usize)];
        while let Some((node, edge)) = stack.last_mut() {
            let from = &outlines[*node];
            let Some(to) = from.blocks.get(*edge) else {
                marks[*node] = Mark::Done;
                stack.pop();
                continue;
            };
            *edge += 1;
            let next = at[to];
            match marks[next] {
                Mark::New => {
                    marks[next] = Mark::Open;
                    stack.push((next, 0));
                }
                Mark::Open => closing.push((from.id, *to)),
                Mark::Done => {}
            }
        }
    }
    closing
}

/// Returns the number of open blockers of each task, in order. All tasks must be known.
pub fn open_blockers(outlines: &[Outline]) -> Vec<u32> {
    let settled: HashMap<TaskId, bool> = outlines.iter().map(|o| (o.id, o.settled)).collect();
    let open = |id: &&TaskId| settled.get(id) == Some(&false);
    outlines
        .iter()
        .map(|o| u32::try_from(o.blocked_by.iter().filter(open).count()).unwrap_or(u32::MAX))
        .collect()
}
