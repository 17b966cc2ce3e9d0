//! A task in which every field has a recognizable value, for tests that a surface shows all of them.

use polis_core::task::TaskField;
use polis_core::{AgentId, TaskId};
use polis_ops::App;
use polis_ops::op::{self, TaskImportParams};

use crate::memory_task_files::MemoryTaskFiles;

/// Number of the task with every field.
pub const SAMPLE_TASK_NUMBER: u64 = 2;

/// Returns a field's value in the sample task as its JSON text and as a text that occurs in no other field.
/// A new field has to be added here, and then fails the tests of every surface that does not show it.
pub fn sample_field_value(field: TaskField) -> (&'static str, &'static str) {
    match field {
        TaskField::Id => (r#""2""#, "#2"),
        TaskField::Subject => (r#""Sort the parcels""#, "Sort the parcels"),
        TaskField::Status => (r#""in_progress""#, "in_progress"),
        TaskField::Owner => (r#""sorter-7""#, "sorter-7"),
        TaskField::RequiredRole => (r#""backend-leader""#, "backend-leader"),
        TaskField::TaskType => (r#""bug_fix""#, "bug_fix"),
        TaskField::Priority => (r#""critical""#, "critical"),
        TaskField::BlockedBy => (r#"["1"]"#, "#1"),
        TaskField::Blocks => (r#"["3"]"#, "#3"),
        TaskField::ActiveForm => (r#""Sorting right now""#, "Sorting right now"),
        TaskField::CreatedAt => (r#""2026-01-02T03:04:01.000Z""#, "2026-01-02T03:04:01.000Z"),
        TaskField::UpdatedAt => (r#""2026-01-02T03:04:02.000Z""#, "2026-01-02T03:04:02.000Z"),
        TaskField::ClaimedAt => (r#""2026-01-02T03:04:03.000Z""#, "2026-01-02T03:04:03.000Z"),
        TaskField::StartedAt => (r#""2026-01-02T03:04:04.000Z""#, "2026-01-02T03:04:04.000Z"),
        TaskField::CompletedAt => (r#""2026-01-02T03:04:05.000Z""#, "2026-01-02T03:04:05.000Z"),
        TaskField::LeaseMs => ("5400000", "1 h 30 min"),
        TaskField::LeaseExpiresAt => (r#""2126-01-02T03:04:06.000Z""#, "2126-01-02T03:04:06.000Z"),
        TaskField::Approval => (
            r#"{"by":"chief-3","at":"2026-01-02T03:04:07.000Z","note":"well sorted"}"#,
            "well sorted",
        ),
        TaskField::Version => ("8642", "8642"),
        TaskField::Metadata => (r#"{"depot":"north gate"}"#, "north gate"),
        TaskField::Description => (r#""By size, then by weight.""#, "By size, then by weight."),
    }
}

/// Returns the task as JSON.
pub fn sample_task_json() -> String {
    let fields = TaskField::ALL.iter();
    let fields = fields.map(|f| format!("\"{}\":{}", f.json_name(), sample_field_value(*f).0));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Imports the task, and the two tasks it depends on or blocks. Returns its number.
pub async fn import_sample_task(app: &App) -> TaskId {
    let mut files = MemoryTaskFiles::default();
    let neighbour = |id: u64, edge: &str| {
        format!(r#"{{"id":"{id}","subject":"neighbour","status":"pending",{edge}}}"#)
    };
    let texts = [
        neighbour(1, r#""blocks":["2"]"#),
        sample_task_json(),
        neighbour(3, r#""blockedBy":["2"]"#),
    ];
    for (number, text) in (1..).zip(texts) {
        files.files.insert(TaskId::new(number).unwrap(), text);
    }
    let params = TaskImportParams::default();
    let user = AgentId::user();
    let report = op::import_tasks(&app.request(&user), &files, params, &mut |_, _| {}).await;
    let report = report.unwrap();
    assert_eq!((report.imported, report.repaired.len()), (3, 0));
    TaskId::new(SAMPLE_TASK_NUMBER).unwrap()
}
