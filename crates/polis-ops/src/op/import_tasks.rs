//! Reading task files in: all of them in one commit, or none.
//!
//! Files are read twice. The first pass keeps only an outline of each, enough to number them and to
//! make their edges agree; the second streams the tasks into the commit. So a hundred thousand
//! files need little memory.

use std::collections::{HashMap, HashSet};

use polis_core::changeset::Write;
use polis_core::role::role_of_name;
use polis_core::task::transfer::{self, Outline, ReadTask, Repair, Skip};
use polis_core::task::{NewComment, Task, TaskRecord};
use polis_core::{
    AgentId, Caller, Changeset, Code, Expect, Fields, NewEvent, Permission, Refusal, Subject,
    TaskId, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{ChangesetSource, Outcome, PortError, TaskFile, TaskFiles};

/// Tasks in one changeset of the stream.
const CHUNK: usize = 256;

/// How to import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskImport {
    /// Change nothing if any file has a fault.
    pub strict: bool,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Imported {
    /// Tasks that are new.
    pub imported: u64,
    /// Tasks that were there already, just so.
    pub unchanged: u64,
    /// What was mended.
    pub repaired: Vec<Repair>,
    /// What was left out.
    pub skipped: Vec<Skip>,
}

/// Imports task files; `tell` hears of the progress as (done, of).
pub async fn import_tasks(
    polis: &Polis,
    caller: &AgentId,
    files: &dyn TaskFiles,
    params: TaskImport,
    tell: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Imported, OpError> {
    let caller = polis.caller(caller).await?;
    polis
        .settings
        .policy
        .check(&caller, Permission::ImportTasks)?;
    let mut survey = Survey::take(files, tell)?;
    transfer::reconcile(&mut survey.outlines, &mut survey.report.repaired);
    if params.strict {
        refuse_faults(&survey.report)?;
    }
    let roles: HashMap<AgentId, String> = polis
        .store
        .agents()
        .await?
        .into_iter()
        .map(|agent| (agent.id, agent.role))
        .collect();
    let attempts = polis.attempts();
    loop {
        let mut plan = Plan {
            report: survey.report.clone(),
            new: Vec::new(),
        };
        plan.sort_out(polis, files, &survey).await?;
        if params.strict {
            refuse_faults(&plan.report)?;
        }
        plan.report.imported = u64::try_from(plan.new.len()).unwrap_or(u64::MAX);
        let largest = plan
            .new
            .iter()
            .map(|(_, outline)| outline.id.number())
            .max();
        let mut stream = Stream {
            open: transfer::open_blockers(&survey.outlines),
            listed: &survey.listed,
            files,
            new: plan.new,
            at: 0,
            raise_to: largest.max(files.highest_number()),
            roles: &roles,
            caller: &caller,
            now: polis.now(),
            tell,
        };
        match polis.store.commit_stream(&mut stream).await? {
            Outcome::Committed(_) => return Ok(plan.report),
            Outcome::Conflict(_) => polis.may_go_on(attempts)?,
        }
    }
}

/// What the first pass over the files found.
struct Survey {
    listed: Vec<TaskFile>,
    outlines: Vec<Outline>,
    /// For each outline, its place in `listed`.
    sources: Vec<usize>,
    report: Imported,
}

impl Survey {
    fn take(
        files: &dyn TaskFiles,
        tell: &mut (dyn FnMut(usize, usize) + Send),
    ) -> Result<Self, OpError> {
        let mut survey = Self {
            listed: files.list()?,
            outlines: Vec::new(),
            sources: Vec::new(),
            report: Imported::default(),
        };
        for n in 0..survey.listed.len() {
            let file = &survey.listed[n];
            match read(files, file)? {
                Err(why) => survey.report.skipped.push(Skip {
                    file: file.name.clone(),
                    why,
                }),
                Ok(read) => {
                    let id = read.task.id;
                    let repairs = read.repairs.into_iter();
                    survey.report.repaired.extend(repairs.map(|what| Repair {
                        file: file.name.clone(),
                        id,
                        what,
                    }));
                    survey.sources.push(n);
                    survey.outlines.push(Outline {
                        file: file.name.clone(),
                        id,
                        settled: read.task.status.is_settled(),
                        blocks: read.task.blocks,
                        blocked_by: read.task.blocked_by,
                    });
                }
            }
            tell(n + 1, survey.listed.len() * 2);
        }
        Ok(survey)
    }
}

fn read(files: &dyn TaskFiles, file: &TaskFile) -> Result<Result<ReadTask, String>, PortError> {
    let text = match files.read(file)? {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    Ok(serde_json::from_str::<Fields>(&text)
        .map_err(|e| format!("not a JSON object: {e}"))
        .and_then(|fields| transfer::read_task(fields, file.number)))
}

/// Reads a file again, as the task it will be.
fn build(files: &dyn TaskFiles, file: &TaskFile, outline: &Outline) -> Result<ReadTask, PortError> {
    let mut read = read(files, file)?.map_err(|why| {
        PortError::new(
            Code::InvalidInput,
            format!(
                "{} changed while it was being imported: {why}. Nothing was imported.",
                file.name
            ),
            "import again when nobody writes to the directory",
        )
    })?;
    read.task.id = outline.id;
    read.task.blocks.clone_from(&outline.blocks);
    read.task.blocked_by.clone_from(&outline.blocked_by);
    Ok(read)
}

fn refuse_faults(report: &Imported) -> Result<(), Refusal> {
    let faults: Vec<String> = report
        .skipped
        .iter()
        .map(|skip| format!("{}: {}", skip.file, skip.why))
        .chain(
            report
                .repaired
                .iter()
                .map(|repair| format!("{}: {}", repair.file, repair.what)),
        )
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    const SHOWN: usize = 20;
    let mut list = faults
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n");
    if faults.len() > SHOWN {
        list.push_str("\n…");
    }
    Err(Refusal::new(
        Code::ImportFaults,
        format!(
            "{} fault(s) found; nothing was imported.\n{list}",
            faults.len()
        ),
        "mend the files, or import without --strict to have them repaired or left out",
    ))
}

/// What one attempt will do.
struct Plan {
    report: Imported,
    /// Place of the file and outline of each task that is not in the store yet.
    new: Vec<(usize, Outline)>,
}

impl Plan {
    /// Sorts the tasks into new ones, those that are there just so, and those that are there
    /// differently, which stay as they are.
    async fn sort_out(
        &mut self,
        polis: &Polis,
        files: &dyn TaskFiles,
        survey: &Survey,
    ) -> Result<(), OpError> {
        let mut differing = HashSet::new();
        let all: Vec<(usize, &Outline)> = survey
            .sources
            .iter()
            .copied()
            .zip(&survey.outlines)
            .collect();
        for chunk in all.chunks(CHUNK) {
            let ids: Vec<TaskId> = chunk.iter().map(|(_, outline)| outline.id).collect();
            let present: HashMap<TaskId, Task> = polis
                .store
                .tasks(&ids)
                .await?
                .into_iter()
                .map(|record| (record.task.id, record.task))
                .collect();
            for (source, outline) in chunk {
                match present.get(&outline.id) {
                    None => self.new.push((*source, (*outline).clone())),
                    Some(task) if build(files, &survey.listed[*source], outline)?.task == *task => {
                        self.report.unchanged += 1;
                    }
                    Some(_) => {
                        differing.insert(outline.id);
                        let why =
                            format!("task {} is there already with other content", outline.id);
                        self.report.skipped.push(Skip {
                            file: outline.file.clone(),
                            why,
                        });
                    }
                }
            }
        }
        for (_, outline) in &mut self.new {
            for (list, field) in [
                (&mut outline.blocks, "blocks"),
                (&mut outline.blocked_by, "blockedBy"),
            ] {
                for other in list.extract_if(.., |other| differing.contains(other)) {
                    let what = format!("{field} named {other}, which was left out; dropped");
                    self.report.repaired.push(Repair {
                        file: outline.file.clone(),
                        id: outline.id,
                        what,
                    });
                }
            }
        }
        Ok(())
    }
}

/// The second pass: the tasks, as changesets.
struct Stream<'a> {
    files: &'a dyn TaskFiles,
    listed: &'a [TaskFile],
    new: Vec<(usize, Outline)>,
    at: usize,
    raise_to: Option<u64>,
    open: HashMap<TaskId, u32>,
    roles: &'a HashMap<AgentId, String>,
    caller: &'a Caller,
    now: Timestamp,
    tell: &'a mut (dyn FnMut(usize, usize) + Send),
}

impl ChangesetSource for Stream<'_> {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        let mut changes = Changeset::by(self.caller, self.now.clone());
        if let Some(number) = self.raise_to.take() {
            changes.writes.push(Write::RaiseTaskNumber(number));
        }
        let end = (self.at + CHUNK).min(self.new.len());
        for (source, outline) in &self.new[self.at..end] {
            let read = build(self.files, &self.listed[*source], outline)?;
            let open = self.open.get(&outline.id).copied().unwrap_or(0);
            self.push(&mut changes, read, open);
        }
        self.at = end;
        (self.tell)(self.listed.len() + end, self.listed.len() * 2);
        Ok((!changes.is_empty()).then_some(changes))
    }
}

impl Stream<'_> {
    fn push(&self, changes: &mut Changeset, read: ReadTask, open_blockers: u32) {
        let task = read.task;
        let owner_role = (!task.owner.is_empty()).then(|| {
            let registered = task
                .owner
                .parse()
                .ok()
                .and_then(|id: AgentId| self.roles.get(&id).cloned());
            registered.unwrap_or_else(|| role_of_name(&task.owner).to_owned())
        });
        changes
            .events
            .push(NewEvent::of("task.imported", Subject::Task(task.id), &task));
        for comment in read.comments {
            let comment = NewComment {
                author: comment.author,
                at: comment.at,
                body: comment.body,
                reply_to: comment.reply_to,
                mentions: comment.mentions,
            };
            changes.writes.push(Write::AddComment {
                task: task.id,
                comment,
            });
        }
        let record = Box::new(TaskRecord {
            task,
            revision: 1,
            owner_role,
            open_blockers,
        });
        changes.writes.push(Write::PutTask {
            expect: Expect::Absent,
            record,
            blocker_change: i64::from(open_blockers),
        });
    }
}
