//! Tools for the blackboard's files: definitions and text rendering.

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{at_most, rest};
use crate::op::{self, BlackboardFile, BlackboardRead, BlackboardWrite, BlackboardWritten};

/// The blackboard tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("blackboard_read", Blackboard, Look, BlackboardRead => BlackboardFile, read, { usual, listed },
        "Read a shared file, such as tasks/5/status.md."),
    tool!("blackboard_write", Blackboard, Add, BlackboardWrite => BlackboardWritten, write, { usual, listed },
        "Write a shared file."),
];

async fn read(call: Call<'_>, mut given: BlackboardRead) -> Told<BlackboardFile> {
    if call.brief {
        given.max_bytes = at_most(given.max_bytes);
    }
    let file = op::read_blackboard(call.polis, call.by, &given).await?;
    let text = file.content.as_ref().clone();
    let cut = rest(file.next_offset, file.size);
    Ok(Reply::new(file, text).cut(cut))
}

async fn write(call: Call<'_>, given: BlackboardWrite) -> Told<BlackboardWritten> {
    let written = op::write_blackboard(call.polis, call.by, &given).await?;
    let text = format!("{} is at version {}.", written.path, written.version);
    Ok(Reply::new(written, text))
}
