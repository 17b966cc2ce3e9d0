//! Operation that imports task files: all of them in one commit, or none.
//!
//! The files are read twice. The first pass keeps only an outline of each file, enough to assign numbers and to make
//! the dependency edges consistent. The second pass streams the tasks into the commit. This way a hundred thousand
//! files need little memory.

use polis_core::event::kind;
use std::collections::{HashMap, HashSet};

use polis_core::changeset::Write;
use polis_core::role::role_of_name;
use polis_core::task::task_files::{self, Outline, ReadTask, Repair, Skip};
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

/// Number of tasks per changeset of the stream.
const CHUNK: usize = 256;

/// Import options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskImport {
    /// Fail without changing anything if any file has a fault.
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

/// Imports task files. `tell` is the progress callback, called with (done, total).
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
    survey.reconcile(files.highest_number().unwrap_or(0));
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
    let open = task_files::open_blockers(&survey.outlines);
    let until = polis.deadline();
    loop {
        let mut plan = Plan {
            report: survey.report.clone(),
            new: Vec::new(),
            differing: HashSet::new(),
        };
        plan.sort_out(polis, files, &survey).await?;
        if params.strict {
            refuse_faults(&plan.report)?;
        }
        plan.report.imported = u64::try_from(plan.new.len()).unwrap_or(u64::MAX);
        let largest = plan
            .new
            .iter()
            .map(|&n| survey.outlines[n].id.number())
            .max();
        let mut stream = Stream {
            files,
            survey: &survey,
            plan: &plan,
            at: 0,
            raise_to: largest.max(files.highest_number()),
            open: &open,
            roles: &roles,
            caller: &caller,
            now: polis.now(),
            tell,
        };
        match polis.store.commit_stream(&mut stream).await? {
            Outcome::Committed(_) => return Ok(plan.report),
            Outcome::Conflict(_) => polis.may_go_on(until)?,
        }
    }
}

/// Result of the first pass over the files.
struct Survey {
    listed: Vec<TaskFile>,
    outlines: Vec<Outline>,
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
            report: Imported::default(),
        };
        for n in 0..survey.listed.len() {
            let file = &survey.listed[n];
            match read(files, file)? {
                Err(why) => survey.report.skipped.push(Skip {
                    file: file.name.clone(),
                    why,
                }),
                Ok(mut read) => {
                    let id = read.task.id;
                    let repairs = read.repairs.into_iter();
                    survey.report.repaired.extend(repairs.map(|what| Repair {
                        file: file.name.clone(),
                        id,
                        what,
                    }));
                    read.task.blocks.shrink_to_fit();
                    read.task.blocked_by.shrink_to_fit();
                    survey.outlines.push(Outline {
                        file: u32::try_from(n).unwrap_or(u32::MAX),
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

    fn reconcile(&mut self, above: u64) {
        let name = |outline: &Outline| file_of(&self.listed, outline).name.clone();
        task_files::reconcile(&mut self.outlines, above, &name, &mut self.report.repaired);
    }

    fn file(&self, outline: &Outline) -> &TaskFile {
        file_of(&self.listed, outline)
    }
}

fn file_of<'a>(listed: &'a [TaskFile], outline: &Outline) -> &'a TaskFile {
    &listed[usize::try_from(outline.file).unwrap_or(usize::MAX)]
}

fn read(files: &dyn TaskFiles, file: &TaskFile) -> Result<Result<ReadTask, String>, PortError> {
    let text = match files.read(file)? {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    let (fields, repeats) = match Fields::parse_telling_repeats(&text) {
        Ok(read) => read,
        Err(error) => return Ok(Err(format!("not a JSON object: {error}"))),
    };
    Ok(task_files::read_task(fields, file.number).map(|mut read| {
        let told = repeats
            .iter()
            .map(|key| format!("{key:?} stands twice; the last counts"));
        read.repairs.extend(told);
        read
    }))
}

/// Reads a file again and returns the task in its final form.
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

/// Plan of one commit attempt.
struct Plan {
    report: Imported,
    /// Indexes of the outlines whose tasks are not in the store yet.
    new: Vec<usize>,
    /// Tasks that are in the store with different content; they are not changed.
    differing: HashSet<TaskId>,
}

impl Plan {
    /// Classifies the tasks into new ones, unchanged ones, and ones that are in the store with different content.
    async fn sort_out(
        &mut self,
        polis: &Polis,
        files: &dyn TaskFiles,
        survey: &Survey,
    ) -> Result<(), OpError> {
        for (chunk, outlines) in survey.outlines.chunks(CHUNK).enumerate() {
            let ids: Vec<TaskId> = outlines.iter().map(|outline| outline.id).collect();
            let present: HashMap<TaskId, Task> = polis
                .store
                .tasks(&ids)
                .await?
                .into_iter()
                .map(|record| (record.task.id, record.task))
                .collect();
            for (n, outline) in outlines.iter().enumerate() {
                match present.get(&outline.id) {
                    None => self.new.push(chunk * CHUNK + n),
                    Some(task) if build(files, survey.file(outline), outline)?.task == *task => {
                        self.report.unchanged += 1;
                    }
                    Some(_) => {
                        self.differing.insert(outline.id);
                        let why =
                            format!("task {} is there already with other content", outline.id);
                        self.report.skipped.push(Skip {
                            file: survey.file(outline).name.clone(),
                            why,
                        });
                    }
                }
            }
        }
        if self.differing.is_empty() {
            return Ok(());
        }
        for outline in self.new.iter().map(|&n| &survey.outlines[n]) {
            for (list, field) in [
                (&outline.blocks, "blocks"),
                (&outline.blocked_by, "blockedBy"),
            ] {
                for other in list.iter().filter(|other| self.differing.contains(other)) {
                    let what = format!("{field} named {other}, which was left out; dropped");
                    let file = survey.file(outline).name.clone();
                    self.report.repaired.push(Repair {
                        file,
                        id: outline.id,
                        what,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Second pass: streams the tasks as changesets.
struct Stream<'a> {
    files: &'a dyn TaskFiles,
    survey: &'a Survey,
    plan: &'a Plan,
    at: usize,
    raise_to: Option<u64>,
    open: &'a [u32],
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
        let end = (self.at + CHUNK).min(self.plan.new.len());
        for &n in &self.plan.new[self.at..end] {
            let outline = &self.survey.outlines[n];
            let mut read = build(self.files, self.survey.file(outline), outline)?;
            let differing = &self.plan.differing;
            read.task.blocks.retain(|other| !differing.contains(other));
            let before = read.task.blocked_by.len();
            read.task
                .blocked_by
                .retain(|other| !differing.contains(other));
            // A skipped blocker no longer counts as a blocker, whether it was open or not.
            let open = if read.task.blocked_by.len() == before {
                self.open[n]
            } else {
                self.count_open(&read.task)
            };
            self.push(&mut changes, read, open);
        }
        self.at = end;
        let files = self.survey.listed.len();
        (self.tell)(files + end, files * 2);
        Ok((!changes.is_empty()).then_some(changes))
    }
}

impl Stream<'_> {
    fn count_open(&self, task: &Task) -> u32 {
        let open = |id: &&TaskId| {
            self.survey
                .outlines
                .iter()
                .any(|o| o.id == **id && !o.settled)
        };
        u32::try_from(task.blocked_by.iter().filter(open).count()).unwrap_or(u32::MAX)
    }

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
        changes.events.push(NewEvent::of(
            kind::TASK_IMPORTED,
            Subject::Task(task.id),
            &task,
        ));
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
