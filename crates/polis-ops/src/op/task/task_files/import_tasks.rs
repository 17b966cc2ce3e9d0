//! Operation that imports task files in one commit. Files that cannot be used are skipped and others are
//! repaired, with a report; in strict mode such a fault fails the import, and nothing is imported.
//!
//! The files are read twice. The first pass keeps only an outline of each file, enough to assign numbers and
//! to make the dependency edges consistent. The second pass streams the tasks into the commit. This way a
//! hundred thousand files need little memory.

use polis_core::event::TaskSnapshotEvent;
use polis_core::number::saturating_cast;
use std::collections::{HashMap, HashSet};

use polis_core::changeset::StoreWrite;
use polis_core::refusal::{ListArg, ListStyle, Reason, ReasonArg, TaskFileProblem};
use polis_core::role::role_from_name;
use polis_core::task::task_files::{self, ImportOutline, ParsedTask};
use polis_core::task::{NewComment, Task, TaskRecord};
use polis_core::{
    AgentId, Caller, Changeset, EventPayload, EventSubject, NewEvent, Permission, RawObject,
    Refusal, TaskId, Timestamp, WritePrecondition,
};
use polis_i18n::{Surface, UiLanguage, render_reason};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::app::App;
use crate::error::OpError;
use crate::port::{ChangesetSource, CommitOutcome, PortError, TaskFile, TaskFiles};
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;
use crate::tool::describe_json_error;

/// Number of tasks per changeset of the stream.
const TASKS_PER_CHANGESET: usize = 256;

/// Options of a task import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskImportParams {
    /// Fail without changing anything if any file has a fault.
    pub strict: bool,
}

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskImportResult {
    /// Number of new tasks.
    pub imported: u64,
    /// Number of tasks that already existed with the same content.
    pub unchanged: u64,
    /// Repairs made to files.
    pub repaired: Vec<ImportRepair>,
    /// Skipped files.
    pub skipped: Vec<SkippedFile>,
}

/// A repair made during an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportRepair {
    /// Name of the file.
    pub file: String,
    /// Number of the task.
    pub id: TaskId,
    /// Description of the repair.
    #[serde(rename = "what", serialize_with = "serialize_in_english")]
    #[schemars(with = "String")]
    pub problem: TaskFileProblem,
}

/// A file that an import skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedFile {
    /// Name of the file.
    pub file: String,
    /// Reason for skipping it.
    #[serde(rename = "why", serialize_with = "serialize_in_english")]
    #[schemars(with = "String")]
    pub problem: TaskFileProblem,
}

impl ImportRepair {
    /// Describes the repair.
    pub fn description(&self, lang: UiLanguage) -> String {
        render_problem(&self.problem, lang)
    }
}

impl SkippedFile {
    /// Describes the reason for skipping the file.
    pub fn reason(&self, lang: UiLanguage) -> String {
        render_problem(&self.problem, lang)
    }
}

fn render_problem(problem: &TaskFileProblem, lang: UiLanguage) -> String {
    // The texts are the same on every surface.
    render_reason(&Reason::from(problem.clone()), Surface::Cli, lang).message
}

/// Serializes a problem as an English text: programs read the same report in every language.
fn serialize_in_english<S: Serializer>(
    problem: &TaskFileProblem,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&render_problem(problem, UiLanguage::En))
}

/// Imports task files. `report_progress` is called with (done, total). Tasks that exist already are not
/// changed. Fails with `PermissionDenied`, or in strict mode with `ImportFaults`.
pub async fn import_tasks(
    request: &Request,
    files: &dyn TaskFiles,
    params: TaskImportParams,
    report_progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<TaskImportResult, OpError> {
    let caller = request.resolve_caller().await?;
    request
        .app
        .settings
        .policy
        .check(&caller, Permission::ImportTasks)?;
    let mut survey = TaskFileSurvey::read_files(files, report_progress)?;
    survey.reconcile_edges(files.highest_number().unwrap_or(0));
    if params.strict {
        check_no_faults(&survey.report)?;
    }
    let roles: HashMap<AgentId, String> = request
        .app
        .store
        .agents()
        .await?
        .into_iter()
        .map(|agent| (agent.id, agent.role))
        .collect();
    let open = task_files::count_open_blockers(&survey.outlines);
    let until = request.app.retry_deadline();
    loop {
        let mut plan = ImportPlan {
            report: survey.report.clone(),
            new: Vec::new(),
            differing: HashSet::new(),
        };
        plan.classify_tasks(&request.app, files, &survey).await?;
        if params.strict {
            check_no_faults(&plan.report)?;
        }
        plan.report.imported = saturating_cast::<u64>(plan.new.len());
        let largest = plan
            .new
            .iter()
            .map(|&n| survey.outlines[n].id.number())
            .max();
        let mut stream = ImportStream {
            files,
            survey: &survey,
            plan: &plan,
            next_index: 0,
            raise_number_to: largest.max(files.highest_number()),
            open_blockers: &open,
            roles: &roles,
            caller: &caller,
            now: request.app.now(),
            report_progress,
        };
        match request.app.store.commit_stream(&mut stream).await? {
            CommitOutcome::Committed(_) => return Ok(plan.report),
            CommitOutcome::Conflict(_) => request.app.check_deadline(until)?,
        }
    }
}

/// Result of the first pass over the files.
struct TaskFileSurvey {
    files: Vec<TaskFile>,
    outlines: Vec<ImportOutline>,
    report: TaskImportResult,
}

impl TaskFileSurvey {
    fn read_files(
        files: &dyn TaskFiles,
        report_progress: &mut (dyn FnMut(usize, usize) + Send),
    ) -> Result<Self, OpError> {
        let mut survey = Self {
            files: files.list()?,
            outlines: Vec::new(),
            report: TaskImportResult::default(),
        };
        for n in 0..survey.files.len() {
            let file = &survey.files[n];
            match read_task_file(files, file)? {
                Err(problem) => survey.report.skipped.push(SkippedFile {
                    file: file.name.clone(),
                    problem,
                }),
                Ok(mut parsed) => {
                    let id = parsed.task.id;
                    let repairs = parsed.repairs.into_iter();
                    survey
                        .report
                        .repaired
                        .extend(repairs.map(|problem| ImportRepair {
                            file: file.name.clone(),
                            id,
                            problem,
                        }));
                    parsed.task.blocks.shrink_to_fit();
                    parsed.task.blocked_by.shrink_to_fit();
                    survey.outlines.push(ImportOutline {
                        file: saturating_cast::<u32>(n),
                        id,
                        is_finished: parsed.task.status.is_finished(),
                        blocks: parsed.task.blocks,
                        blocked_by: parsed.task.blocked_by,
                    });
                }
            }
            report_progress(n + 1, survey.files.len() * 2);
        }
        Ok(survey)
    }

    fn reconcile_edges(&mut self, above: u64) {
        let name = |outline: &ImportOutline| source_file(&self.files, outline).name.clone();
        let mut report = |outline: &ImportOutline, problem| {
            self.report.repaired.push(ImportRepair {
                file: name(outline),
                id: outline.id,
                problem,
            });
        };
        task_files::reconcile_outlines(&mut self.outlines, above, &name, &mut report);
    }

    fn source_file(&self, outline: &ImportOutline) -> &TaskFile {
        source_file(&self.files, outline)
    }
}

fn source_file<'a>(listed: &'a [TaskFile], outline: &ImportOutline) -> &'a TaskFile {
    &listed[saturating_cast::<usize>(outline.file)]
}

fn read_task_file(
    files: &dyn TaskFiles,
    file: &TaskFile,
) -> Result<Result<ParsedTask, TaskFileProblem>, PortError> {
    let text = match files.read(file)? {
        Ok(text) => text,
        Err(problem) => return Ok(Err(problem)),
    };
    let (fields, repeats) = match RawObject::parse_with_duplicates(&text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = describe_json_error(&error.to_string());
            return Ok(Err(TaskFileProblem::NotAnObject { error }));
        }
    };
    Ok(
        task_files::parse_task(fields, file.number).map(|mut parsed| {
            let repairs = repeats.iter().map(|key| TaskFileProblem::KeyTwice {
                key: format!("{key:?}"),
            });
            parsed.repairs.extend(repairs);
            parsed
        }),
    )
}

/// Reads a file again and returns the task in its final form.
fn rebuild_task(
    files: &dyn TaskFiles,
    file: &TaskFile,
    outline: &ImportOutline,
) -> Result<ParsedTask, PortError> {
    let mut parsed = read_task_file(files, file)?.map_err(|problem| {
        PortError::from(OperationRefusal::FileChangedDuringImport {
            file: file.name.to_string(),
            reason: problem.into(),
        })
    })?;
    parsed.task.id = outline.id;
    parsed.task.blocks.clone_from(&outline.blocks);
    parsed.task.blocked_by.clone_from(&outline.blocked_by);
    Ok(parsed)
}

fn check_no_faults(report: &TaskImportResult) -> Result<(), Refusal> {
    const MAX_SHOWN: usize = 20;
    let count = report.skipped.len() + report.repaired.len();
    if count == 0 {
        return Ok(());
    }
    let skipped = report
        .skipped
        .iter()
        .map(|skip| (&skip.file, &skip.problem));
    let repaired = report
        .repaired
        .iter()
        .map(|repair| (&repair.file, &repair.problem));
    let mut lines: Vec<ReasonArg> = skipped
        .chain(repaired)
        .take(MAX_SHOWN)
        .map(|(file, problem)| {
            let fault = TaskFileProblem::Fault {
                file: file.clone(),
                problem: problem.clone().into(),
            };
            Reason::from(fault).into()
        })
        .collect();
    if count > MAX_SHOWN {
        lines.push("…".into());
    }
    Err(Refusal::from(OperationRefusal::ImportFaults {
        count,
        list: ListArg::new(ListStyle::Lines, lines),
    }))
}

/// Plan of one commit attempt.
struct ImportPlan {
    report: TaskImportResult,
    /// Indexes of the outlines whose tasks are not in the store yet.
    new: Vec<usize>,
    /// Tasks that are in the store with different content; they are not changed.
    differing: HashSet<TaskId>,
}

impl ImportPlan {
    /// Classifies the tasks into new ones, unchanged ones, and ones that are in the store with different
    /// content.
    async fn classify_tasks(
        &mut self,
        app: &App,
        files: &dyn TaskFiles,
        survey: &TaskFileSurvey,
    ) -> Result<(), OpError> {
        for (chunk, outlines) in survey.outlines.chunks(TASKS_PER_CHANGESET).enumerate() {
            let ids: Vec<TaskId> = outlines.iter().map(|outline| outline.id).collect();
            let existing: HashMap<TaskId, Task> = app
                .store
                .tasks(&ids)
                .await?
                .into_iter()
                .map(|record| (record.task.id, record.task))
                .collect();
            for (n, outline) in outlines.iter().enumerate() {
                match existing.get(&outline.id) {
                    None => self.new.push(chunk * TASKS_PER_CHANGESET + n),
                    Some(task)
                        if rebuild_task(files, survey.source_file(outline), outline)?.task
                            == *task =>
                    {
                        self.report.unchanged += 1;
                    }
                    Some(_) => {
                        self.differing.insert(outline.id);
                        self.report.skipped.push(SkippedFile {
                            file: survey.source_file(outline).name.clone(),
                            problem: TaskFileProblem::AlreadyExists { id: outline.id },
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
                    self.report.repaired.push(ImportRepair {
                        file: survey.source_file(outline).name.clone(),
                        id: outline.id,
                        problem: TaskFileProblem::EntrySkipped {
                            key: field.to_owned(),
                            id: *other,
                        },
                    });
                }
            }
        }
        Ok(())
    }
}

/// Second pass: streams the tasks as changesets.
struct ImportStream<'a> {
    files: &'a dyn TaskFiles,
    survey: &'a TaskFileSurvey,
    plan: &'a ImportPlan,
    next_index: usize,
    raise_number_to: Option<u64>,
    open_blockers: &'a [u32],
    roles: &'a HashMap<AgentId, String>,
    caller: &'a Caller,
    now: Timestamp,
    report_progress: &'a mut (dyn FnMut(usize, usize) + Send),
}

impl ChangesetSource for ImportStream<'_> {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        let mut changes = Changeset::new(self.caller, self.now.clone());
        if let Some(number) = self.raise_number_to.take() {
            changes.writes.push(StoreWrite::RaiseTaskNumber(number));
        }
        let end = (self.next_index + TASKS_PER_CHANGESET).min(self.plan.new.len());
        for &n in &self.plan.new[self.next_index..end] {
            let outline = &self.survey.outlines[n];
            let mut parsed = rebuild_task(self.files, self.survey.source_file(outline), outline)?;
            let differing = &self.plan.differing;
            parsed
                .task
                .blocks
                .retain(|other| !differing.contains(other));
            let before = parsed.task.blocked_by.len();
            parsed
                .task
                .blocked_by
                .retain(|other| !differing.contains(other));
            // A skipped blocker no longer counts as a blocker, whether it was open or not.
            let open = if parsed.task.blocked_by.len() == before {
                self.open_blockers[n]
            } else {
                self.count_open_blockers(&parsed.task)
            };
            self.push_task(&mut changes, parsed, open);
        }
        self.next_index = end;
        let files = self.survey.files.len();
        (self.report_progress)(files + end, files * 2);
        Ok((!changes.is_empty()).then_some(changes))
    }
}

impl ImportStream<'_> {
    fn count_open_blockers(&self, task: &Task) -> u32 {
        let open = |id: &&TaskId| {
            self.survey
                .outlines
                .iter()
                .any(|o| o.id == **id && !o.is_finished)
        };
        saturating_cast::<u32>(task.blocked_by.iter().filter(open).count())
    }

    fn push_task(&self, changes: &mut Changeset, parsed: ParsedTask, open_blockers: u32) {
        let task = parsed.task;
        let owner_role = (!task.owner.is_empty()).then(|| {
            let registered = task
                .owner
                .parse()
                .ok()
                .and_then(|id: AgentId| self.roles.get(&id).cloned());
            registered.unwrap_or_else(|| role_from_name(&task.owner).to_owned())
        });
        let snapshot = Box::new(TaskSnapshotEvent::from_imported_task(&task));
        changes.events.push(NewEvent::new(
            EventSubject::Task(task.id),
            EventPayload::TaskImported(snapshot),
        ));
        for comment in parsed.comments {
            let comment = NewComment {
                author: comment.author,
                at: comment.at,
                body: comment.body,
                reply_to: comment.reply_to,
                mentions: comment.mentions,
            };
            changes.writes.push(StoreWrite::AddComment {
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
        changes.writes.push(StoreWrite::PutTask {
            expect: WritePrecondition::Absent,
            record,
            blocker_change: i64::from(open_blockers),
        });
    }
}
