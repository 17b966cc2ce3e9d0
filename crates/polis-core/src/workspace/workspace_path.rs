//! Workspace paths: validates the relative paths of the file tools. Refuses path traversal and reserved names.
//!
//! Only the text is examined, to refuse early with a helpful message. When `polis-workspace` opens the path, it
//! checks that the file exists and that no symbolic link leads out.

use std::fmt;

use crate::refusal::{Refusal, WorkspaceRefusal};

/// Maximum length of a file name, in bytes, on every common file system.
const MAX_NAME_BYTES: usize = 255;

/// Maximum length of a path, in bytes, that the kernel accepts. No tool can address a file with a longer one.
pub const MAX_PATH_BYTES: usize = 4_095;

/// The data directory of a project. No tool creates, shows or changes anything of that name: a project inside
/// a workspace would be controlled by an agent, and a person who runs polis there would use its
/// configuration.
pub const PROJECT_DATA_DIR: &str = ".agent-workspace";

/// Prefix of the temporary file of an unfinished write. Such files are never shown, and never left after the
/// write.
pub const UNFINISHED_PREFIX: &str = ".polis-tmp-";

/// A path below a workspace: names joined by `/`, none of them `.` or `..`; or the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath {
    /// Empty for the workspace itself.
    text: String,
    is_directory_path: bool,
}

impl WorkspacePath {
    /// Returns the path of the workspace itself.
    pub const fn root() -> Self {
        Self {
            text: String::new(),
            is_directory_path: true,
        }
    }

    /// Parses a path; `.` is the workspace itself. Fails with `path_traversal_blocked` if it leaves the
    /// workspace or is not a relative path, and with `invalid_input` if a name is reserved or too long.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() {
            return Err(WorkspaceRefusal::PathIsEmpty.into());
        }
        if text.contains('\0') {
            return Err(WorkspaceRefusal::PathHasNul.into());
        }
        if text.starts_with('/') {
            return Err(WorkspaceRefusal::PathIsAbsolute.into());
        }
        if text.contains('\\') {
            return Err(WorkspaceRefusal::PathHasBackslash.into());
        }
        let mut path = String::with_capacity(text.len());
        for name in text.split('/') {
            match name {
                "" | "." => continue,
                ".." => return Err(WorkspaceRefusal::PathLeavesWorkspace.into()),
                _ if path.is_empty() && is_drive_letter(name) => {
                    return Err(WorkspaceRefusal::PathHasDriveLetter.into());
                }
                _ => {}
            }
            check_path_name(name)?;
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(Refusal::from(WorkspaceRefusal::PathTooLong {
                max_path_bytes: MAX_PATH_BYTES,
            }));
        }
        let names_directory = path.is_empty() || text.ends_with('/') || text.ends_with("/.");
        Ok(Self {
            text: path,
            is_directory_path: names_directory,
        })
    }

    /// Parses the path of a directory; none or an empty text is the workspace itself. Fails like
    /// [`Self::parse`].
    pub fn parse_directory(text: Option<&str>) -> Result<Self, Refusal> {
        match text {
            None | Some("") => Ok(Self::root()),
            Some(text) => Self::parse(text),
        }
    }

    /// Returns whether this is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether the text can only denote a directory, as `src/` does.
    pub fn is_directory_path(&self) -> bool {
        self.is_directory_path
    }

    /// Returns the names joined by `/`; empty for the workspace itself.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Iterates over the names, from the workspace down.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').filter(|name| !name.is_empty())
    }

    /// Returns the parent directory (empty for the workspace) and the name in it; `None` for the workspace
    /// itself.
    pub fn split_parent(&self) -> Option<(&str, &str)> {
        if self.is_root() {
            return None;
        }
        Some(self.text.rsplit_once('/').unwrap_or(("", &self.text)))
    }

    /// Returns whether this is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        other.is_root()
            || self
                .text
                .strip_prefix(&other.text)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.text })
    }
}

/// Returns whether a name is that of an unfinished write: the prefix and hexadecimal digits.
pub fn is_unfinished_write(name: &[u8]) -> bool {
    name.strip_prefix(UNFINISHED_PREFIX.as_bytes())
        .is_some_and(|rest| {
            rest.len() >= 16
                && rest
                    .iter()
                    .all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
        })
}

fn check_path_name(name: &str) -> Result<(), Refusal> {
    if name.len() > MAX_NAME_BYTES {
        return Err(Refusal::from(WorkspaceRefusal::NameTooLong {
            max_name_bytes: MAX_NAME_BYTES,
        }));
    }
    if name == PROJECT_DATA_DIR {
        return Err(Refusal::from(WorkspaceRefusal::ReservedName {
            project_data_dir: PROJECT_DATA_DIR.to_string(),
        }));
    }
    if is_unfinished_write(name.as_bytes()) {
        return Err(Refusal::from(WorkspaceRefusal::UnfinishedName {
            unfinished_prefix: UNFINISHED_PREFIX.to_string(),
        }));
    }
    Ok(())
}

/// Returns whether the name is a drive letter on other systems.
fn is_drive_letter(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RefusalCode;

    fn refusal_code(text: &str) -> Option<RefusalCode> {
        WorkspacePath::parse(text).err().map(|refusal| refusal.code)
    }

    #[test]
    fn path_that_leaves_the_workspace_is_refused() {
        for text in [
            "",
            "..",
            "../x",
            "a/..",
            "a/../b",
            "a/../../b",
            "./..",
            "a//..//b",
            "/",
            "//",
            "/etc/passwd",
            "//server/share",
            "a\0b",
            "\0",
            "..\\x",
            "a\\..\\b",
            "C:\\x",
            "c:/x",
            "C:",
            "\\\\server\\share",
            "\\x",
            "src\\main.rs",
        ] {
            assert_eq!(
                refusal_code(text),
                Some(RefusalCode::PATH_TRAVERSAL_BLOCKED),
                "{text:?}"
            );
        }
    }

    #[test]
    fn harmless_names_with_dots_are_accepted() {
        for (text, same) in [
            ("a..b.txt", "a..b.txt"),
            ("[...slug].tsx", "[...slug].tsx"),
            ("...", "..."),
            ("..a", "..a"),
            ("a..", "a.."),
            ("./a", "a"),
            ("a//b/./c", "a/b/c"),
            ("a/b/", "a/b"),
            ("~/x", "~/x"),
            ("%2e%2e/x", "%2e%2e/x"),
            (" ", " "),
            ("长/文件.md", "长/文件.md"),
            ("a:b", "a:b"),
            ("x/c:/y", "x/c:/y"),
            (".polis-tmp-notes.md", ".polis-tmp-notes.md"),
        ] {
            let path = WorkspacePath::parse(text).unwrap();
            assert_eq!(path.as_str(), same, "{text:?}");
        }
    }

    #[test]
    fn the_workspace_itself_has_several_spellings() {
        for text in [None, Some(""), Some("."), Some("./"), Some(".//.")] {
            assert!(
                WorkspacePath::parse_directory(text).unwrap().is_root(),
                "{text:?}"
            );
        }
        assert_eq!(WorkspacePath::root().to_string(), ".");
        assert_eq!(WorkspacePath::root().split_parent(), None);
        assert_eq!(WorkspacePath::root().names().count(), 0);
    }

    #[test]
    fn path_that_is_too_long_or_reserved_is_invalid_input() {
        assert_eq!(refusal_code(&"x".repeat(255)), None);
        assert_eq!(
            refusal_code(&"x".repeat(256)),
            Some(RefusalCode::INVALID_INPUT)
        );
        assert_eq!(
            refusal_code(&"x/".repeat(3_000)),
            Some(RefusalCode::INVALID_INPUT)
        );
        assert_eq!(
            refusal_code("a/.polis-tmp-0123456789abcdef"),
            Some(RefusalCode::INVALID_INPUT)
        );
    }

    #[test]
    fn path_components_are_returned() {
        let path = WorkspacePath::parse("a/b/c.txt").unwrap();
        assert_eq!(path.split_parent(), Some(("a/b", "c.txt")));
        assert_eq!(path.names().collect::<Vec<_>>(), ["a", "b", "c.txt"]);
        assert!(!path.is_directory_path());
        let directory = WorkspacePath::parse("a/b/").unwrap();
        assert!(directory.is_directory_path());
        assert!(path.is_within(&directory));
        assert!(path.is_within(&path));
        assert!(path.is_within(&WorkspacePath::root()));
        assert!(!WorkspacePath::parse("a/bc").unwrap().is_within(&directory));
        assert_eq!(
            WorkspacePath::parse("x").unwrap().split_parent(),
            Some(("", "x"))
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn accepted_path_stays_in_the_workspace(text in "(\\.{1,3}|/|[a-c:\\\\]|\\PC){0,12}") {
            if let Ok(path) = WorkspacePath::parse(&text) {
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert!(path.as_str().split('/').all(|name| name != ".." && name != "."));
                prop_assert!(!path.as_str().contains(['\0', '\\']));
                let reparsed = WorkspacePath::parse_directory(Some(path.as_str())).unwrap();
                prop_assert_eq!(reparsed.as_str(), path.as_str());
            }
        }

        #[test]
        fn refusal_never_repeats_the_path(name in "[a-z]{8,20}") {
            for text in [format!("/{name}"), format!("../{name}"), format!("{name}\\x")] {
                let refusal = WorkspacePath::parse(&text).unwrap_err();
                let output = refusal.reason.to_string();
                prop_assert!(!output.contains(&name));
            }
        }
    }
}
