//! What polis asks git: whether its index has changed, and which files are tracked.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns what tells one state of the index of the repository around a directory from another; none outside of a
/// repository, and before its first `git add`.
pub(crate) fn index_state(directory: &Path) -> Option<String> {
    let dot_git = directory
        .ancestors()
        .map(|above| above.join(".git"))
        .find(|dot_git| dot_git.exists())?;
    let index = fs::metadata(git_directory(&dot_git)?.join("index")).ok()?;
    let (seconds, nanos) = (index.mtime(), index.mtime_nsec());
    Some(format!(
        "{}:{}:{seconds}.{nanos}",
        index.ino(),
        index.size()
    ))
}

/// The directory that has the index: `.git` itself, or what the file of a worktree names.
fn git_directory(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let text = fs::read_to_string(dot_git).ok()?;
    let named = PathBuf::from(text.trim().strip_prefix("gitdir:")?.trim());
    Some(dot_git.parent()?.join(named))
}

/// Returns which of these files below a directory are tracked. Where there is no git nothing is, as nothing can be pulled;
/// where git refuses to say, all of them are taken for tracked.
pub(crate) fn tracked_files(directory: &Path, names: &[String]) -> Vec<String> {
    let mut git = Command::new("git");
    // The repository's own configuration must not start a program.
    git.args([
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
    ]);
    git.arg("-C").arg(directory).args(["ls-files", "-z", "--"]);
    git.args(names).stdin(Stdio::null()).stderr(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    let Ok(output) = git.env("GIT_OPTIONAL_LOCKS", "0").output() else {
        return Vec::new();
    };
    if !output.status.success() {
        return names.to_vec();
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let files = text.split('\0').filter(|name| !name.is_empty());
    files.map(str::to_owned).collect()
}
