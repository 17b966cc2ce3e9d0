//! Discovers boards by their files, including files that other programs created.

use std::path::Path;

use polis_core::board::{BlackboardPath, BoardName};

use super::{BLACKBOARD_DIR, Mirror, WHITEBOARD_DIR};

impl Mirror {
    /// Returns the boards that have a file, and always the global whiteboard. Files and directories that
    /// cannot be read are left out.
    pub(crate) fn discover_boards(&self) -> Vec<BoardName> {
        let mut found = vec![BoardName::Global];
        let entries = std::fs::read_dir(self.workspace.join(WHITEBOARD_DIR));
        let names = entries.into_iter().flatten().flatten();
        found.extend(
            names.filter_map(|entry| whiteboard_from_file_name(entry.file_name().to_str()?)),
        );
        match &self.blackboard {
            Some(root) => found.extend(discover_blackboard_files(root)),
            None => {
                let root = self.workspace.join(BLACKBOARD_DIR);
                // Symlinks are not followed.
                if std::fs::symlink_metadata(&root).is_ok_and(|found| found.is_dir()) {
                    found.extend(discover_blackboard_files(&root));
                }
            }
        }
        found
    }
}

fn whiteboard_from_file_name(file: &str) -> Option<BoardName> {
    let stem = file.strip_suffix(".md")?;
    if stem == "top-layer" {
        return Some(BoardName::Top);
    }
    let role = stem.strip_prefix("mid-layer-");
    let agent = stem.strip_prefix("bottom-layer-");
    role.and_then(|r| r.parse().ok().map(BoardName::Mid))
        .or_else(|| agent.and_then(|a| a.parse().ok().map(BoardName::Bottom)))
}

/// Returns the files whose paths are valid blackboard paths; symlinks are ignored.
fn discover_blackboard_files(root: &Path) -> Vec<BoardName> {
    let mut found = Vec::new();
    let mut left = vec![String::new()];
    while let Some(directory) = left.pop() {
        let entries = std::fs::read_dir(root.join(&directory));
        for entry in entries.into_iter().flatten().flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            let path = format!("{directory}{name}");
            if kind.is_dir() && may_contain_blackboards(&path) {
                left.push(format!("{path}/"));
            } else if kind.is_file() {
                found.extend(path.parse().ok().map(BoardName::Blackboard));
            }
        }
    }
    found
}

/// Whether a directory may contain blackboard files; the depth of blackboard paths is bounded.
fn may_contain_blackboards(directory: &str) -> bool {
    ["x.md", "1/x.md"].into_iter().any(|below| {
        format!("{directory}/{below}")
            .parse::<BlackboardPath>()
            .is_ok()
    })
}
