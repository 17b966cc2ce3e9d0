//! Queries about a git repository, for the trust check of a project: a fingerprint of its index, whether git
//! is writing the index, and which files are tracked. Only the last one runs the `git` program.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns a fingerprint (inode, size and mtime) of the index of the repository around a directory. `None`
/// outside a repository and before its first `git add`.
pub(crate) fn index_fingerprint(directory: &Path) -> Option<String> {
    let dot_git = find_dot_git(directory)?;
    let index = fs::metadata(find_git_directory(&dot_git)?.join("index")).ok()?;
    let (seconds, nanos) = (index.mtime(), index.mtime_nsec());
    Some(format!(
        "{}:{}:{seconds}.{nanos}",
        index.ino(),
        index.size()
    ))
}

fn find_dot_git(directory: &Path) -> Option<PathBuf> {
    let mut candidates = directory.ancestors().map(|ancestor| ancestor.join(".git"));
    candidates.find(|dot_git| dot_git.exists())
}

/// Returns the directory that contains the index: `.git` itself, or the directory named in the `.git` file of
/// a worktree.
fn find_git_directory(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let text = fs::read_to_string(dot_git).ok()?;
    let named = PathBuf::from(text.trim().strip_prefix("gitdir:")?.trim());
    Some(dot_git.parent()?.join(named))
}

/// Returns whether git is writing the index of the repository around a directory (`index.lock` exists). git
/// replaces work-tree files before it replaces the index.
pub(crate) fn is_index_locked(directory: &Path) -> bool {
    let git = find_dot_git(directory).and_then(|dot_git| find_git_directory(&dot_git));
    git.is_some_and(|git| git.join("index.lock").exists())
}

/// git could not list the tracked files: the repository is damaged, or in a format that this git does not
/// support.
#[derive(Debug)]
pub(crate) struct GitListError;

/// Returns the tracked files below a path of a directory. Without a `git` program the list is empty, because
/// nothing can be pulled. Fails if git cannot read the repository.
pub(crate) fn list_tracked_files(
    directory: &Path,
    path: &str,
) -> Result<Vec<String>, GitListError> {
    let mut git = Command::new("git");
    // The repository's own configuration must not start a program (fsmonitor, hooks). The files may belong to
    // another user, as in a checkout that is mounted into a container: only names are read, so git need not
    // refuse them.
    git.args([
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "safe.directory=*",
    ]);
    git.arg("-C").arg(directory).args(["ls-files", "-z", "--"]);
    git.arg(path).stdin(Stdio::null()).stderr(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    let Ok(output) = git.env("GIT_OPTIONAL_LOCKS", "0").output() else {
        return Ok(Vec::new());
    };
    if !output.status.success() {
        return Err(GitListError);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let files = text.split('\0').filter(|name| !name.is_empty());
    Ok(files.map(str::to_owned).collect())
}
