//! Searches the content of files line by line, with ripgrep's matcher and searcher. Binary files are always
//! skipped; hidden and ignored files (`.gitignore`, `.ignore`) are too, unless all files are requested or a glob
//! matches them. Globs also restrict the search to matching files.
//!
//! Links in the requested path are followed within the workspace, links found below it never; no pipe blocks.
//! `truncated` reports limits on matches and tree size, not an overlong line or ignore file.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch,
};
use ignore::Match;
use polis_core::number::saturating_cast;
use polis_core::workspace::file_tools::{FileSearchMatch, FileSearchResult, SearchFilesParams};
use polis_core::workspace::workspace_path::{MAX_PATH_BYTES, WorkspacePath};
use polis_ops::PortError;
use rustix::fs::{self, FileType, OFlags};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{PathResolver, file_type};
use super::entry_location::DIRECTORY_FLAGS;
use super::file_error::{self, FileAccess};
use super::file_lock::NONBLOCKING_FLAGS;
use super::gitignore::IgnoreRules;
use super::memory_budget::WalkMemory;
use super::tree_walk::{OpenDirectory, PendingEntry, SharedPath, for_each_visible_entry};
use crate::refusal_tables::FileRefusal;

/// Default maximum number of matches.
const DEFAULT_MATCH_LIMIT: u64 = 200;

/// Highest limit that a caller may request.
const MAX_MATCH_LIMIT: u64 = 10_000;

/// Maximum length of a returned line in characters.
const MAX_LINE_CHARS: usize = 500;

/// The search of a file stops at a line longer than this.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Maximum memory of a compiled pattern, and of its matching automaton (DFA).
const MAX_PATTERN_BYTES: usize = 2 * 1024 * 1024;

/// Maximum total length of the globs of a search: each character may compile to many states.
const MAX_GLOB_BYTES: usize = 4 * 1024;

/// Maximum total size of the paths and lines of the matches.
const MAX_MATCH_BYTES: usize = 4 * 1024 * 1024;

/// A larger `.gitignore` is not read. Compiled rules take some hundred times the memory of their text.
const MAX_IGNORE_BYTES: u64 = 64 * 1024;

/// Maximum total size of a `.gitignore` and those above it; further ones below are not read.
const MAX_IGNORE_CHAIN_BYTES: usize = 128 * 1024;

/// Files with ignore rules; later ones take precedence.
const IGNORE_FILES: [&[u8]; 2] = [b".gitignore", b".ignore"];

impl WorkspaceDir {
    /// Returns the matching lines, sorted by path and line. Fails with `invalid_pattern` if the pattern or a
    /// glob is invalid.
    pub fn search(&self, params: &SearchFilesParams) -> Result<FileSearchResult, PortError> {
        let path = WorkspacePath::parse_directory(params.path.as_deref())?;
        let limit = params.limit.unwrap_or(DEFAULT_MATCH_LIMIT);
        if limit == 0 || limit > MAX_MATCH_LIMIT {
            return Err(FileRefusal::InvalidMatchLimit {
                limit,
                maximum: MAX_MATCH_LIMIT,
            }
            .into());
        }
        if params.globs.iter().map(String::len).sum::<usize>() > MAX_GLOB_BYTES {
            return Err(FileRefusal::GlobsTooLong {
                limit: MAX_GLOB_BYTES,
            }
            .into());
        }
        let mut search = FileSearch {
            matcher: build_matcher(params)?,
            searcher: SearcherBuilder::new()
                .binary_detection(BinaryDetection::quit(0))
                // Another process could truncate a mapped file, which would kill this process with SIGBUS.
                .memory_map(MmapChoice::never())
                .heap_limit(Some(MAX_LINE_BYTES))
                .line_number(true)
                .build(),
            globs: IgnoreRules::from_globs(&params.globs)
                .map_err(|error| FileRefusal::InvalidGlob { error })?,
            all: params.all,
            limit: saturating_cast::<usize>(limit),
            resolver: self.resolver,
            result: FileSearchResult::default(),
            match_bytes: 0,
            is_complete: true,
        };
        let failed = FileAccess::Reading.errno_mapper(&path);
        let flags = OFlags::RDONLY | NONBLOCKING_FLAGS;
        let found = self
            .resolver
            .open(self.root.as_fd(), path.as_str().as_bytes(), flags)
            .map_err(&failed)?;
        match file_type(&fs::fstat(&found).map_err(&failed)?) {
            FileType::Directory => {
                let ignored = self
                    .ignore_rules_above(&path, params.all)
                    .map_err(&failed)?;
                search.search_tree(found, &path, ignored).map_err(failed)?;
            }
            FileType::RegularFile => search.search_file(&File::from(found), path.to_string()),
            _ => return Err(file_error::not_a_file(&path.to_string())),
        }
        search.result.truncated |= !search.is_complete;
        Ok(search.result)
    }

    /// Returns the ignore rules of the directories above the searched one.
    fn ignore_rules_above(
        &self,
        path: &WorkspacePath,
        all: bool,
    ) -> Result<Option<Rc<IgnoreChain>>, Errno> {
        let mut chain = None;
        if all {
            return Ok(chain);
        }
        let mut above = String::new();
        for name in path.names() {
            let dir = self.open_directory(above.as_bytes())?;
            chain = IgnoreChain::extend_with_directory(chain, dir.as_fd(), above.len());
            above.push_str(name);
            above.push('/');
        }
        Ok(chain)
    }
}

/// Ignore rules of a directory, linked to those of the directories above.
#[derive(Debug)]
struct IgnoreChain {
    rules: IgnoreRules,
    /// Length of the directory's path, with a trailing slash.
    base: usize,
    /// Total size of the rule files in this chain.
    bytes: usize,
    above: Option<Rc<Self>>,
}

impl IgnoreChain {
    /// Adds the rules of a directory; `base` is the length of its path with a trailing slash.
    fn extend_with_directory(
        mut chain: Option<Rc<Self>>,
        dir: BorrowedFd<'_>,
        base: usize,
    ) -> Option<Rc<Self>> {
        for name in IGNORE_FILES {
            let Some(content) = read_small_file(dir, name) else {
                continue;
            };
            let bytes = content.len() + chain.as_ref().map_or(0, |above| above.bytes);
            if bytes > MAX_IGNORE_CHAIN_BYTES {
                continue;
            }
            let rules = IgnoreRules::from_file(&content);
            if !rules.is_empty() {
                chain = Some(Rc::new(Self {
                    rules,
                    base,
                    bytes,
                    above: chain,
                }));
            }
        }
        chain
    }

    /// Returns whether a path is excluded; of the rules that match, the nearest one takes precedence.
    fn is_ignored(mut chain: Option<&Rc<Self>>, path: &[u8], is_directory: bool) -> bool {
        while let Some(rules) = chain {
            let below = path.get(rules.base..).unwrap_or_default();
            match rules.rules.match_path(below, is_directory) {
                Match::None => chain = rules.above.as_ref(),
                verdict => return verdict.is_ignore(),
            }
        }
        false
    }
}

/// Returns the content of a regular file of at most [`MAX_IGNORE_BYTES`] in a directory, or `None`.
fn read_small_file(dir: BorrowedFd<'_>, name: &[u8]) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | NONBLOCKING_FLAGS | OFlags::NOFOLLOW;
    let fd = fs::openat(dir, name, flags, fs::Mode::empty()).ok()?;
    let stat = fs::fstat(&fd).ok()?;
    let small = u64::try_from(stat.st_size).is_ok_and(|size| size <= MAX_IGNORE_BYTES);
    if file_type(&stat) != FileType::RegularFile || !small {
        return None;
    }
    let mut content = Vec::new();
    let mut file = File::from(fd).take(MAX_IGNORE_BYTES);
    file.read_to_end(&mut content).ok()?;
    Some(content)
}

/// A file or directory still to be searched.
#[derive(Debug)]
struct PendingSearch {
    below: PendingEntry,
    /// Path of its directory from the root of the workspace.
    directory: SharedPath,
    is_directory: bool,
    ignored: Option<Rc<IgnoreChain>>,
}

#[derive(Debug)]
struct FileSearch {
    matcher: RegexMatcher,
    searcher: Searcher,
    globs: IgnoreRules,
    all: bool,
    limit: usize,
    resolver: PathResolver,
    result: FileSearchResult,
    match_bytes: usize,
    /// Whether everything was searched: a tree may be deeper or wider than the memory budget allows.
    is_complete: bool,
}

impl FileSearch {
    /// Searches everything below a directory, in the order of paths.
    fn search_tree(
        &mut self,
        top: OwnedFd,
        path: &WorkspacePath,
        ignored: Option<Rc<IgnoreChain>>,
    ) -> Result<(), Errno> {
        let memory = WalkMemory::for_request();
        let directory = SharedPath::join(&memory, b"", path.as_str().as_bytes());
        let top = PendingEntry::from_root(top, &memory).zip(directory);
        let top = top.map(|(below, directory)| PendingSearch {
            below,
            directory,
            is_directory: true,
            ignored,
        });
        let mut ahead = Vec::from_iter(top);
        while let Some(next) = ahead.pop() {
            if self.result.truncated {
                break;
            }
            let flags = if next.is_directory {
                DIRECTORY_FLAGS
            } else {
                NONBLOCKING_FLAGS
            };
            let fd = match next.below.open(self.resolver, flags) {
                Ok(fd) => fd,
                // Too many open files or an I/O error must not look like "no match".
                Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::IO)) => return Err(errno),
                Err(_) => continue,
            };
            if next.is_directory {
                let directory_path = SharedPath::join(&memory, &next.directory, next.below.name());
                match next.below.to_open_dir(fd).zip(directory_path) {
                    Some((inside, directory_path)) => {
                        self.queue_directory(&inside, &directory_path, next.ignored, &mut ahead)?;
                    }
                    None => self.is_complete = false,
                }
            } else if file_type(&fs::fstat(&fd)?) == FileType::RegularFile {
                let path = [&next.directory, next.below.name()].concat();
                let display_path = String::from_utf8_lossy(&path).into_owned();
                self.search_file(&File::from(fd), display_path);
            }
        }
        Ok(())
    }

    /// Pushes the entries of a directory to be searched onto the stack, the first by path on top.
    fn queue_directory(
        &mut self,
        inside: &OpenDirectory,
        directory_path: &SharedPath,
        mut ignored: Option<Rc<IgnoreChain>>,
        ahead: &mut Vec<PendingSearch>,
    ) -> Result<(), Errno> {
        if !self.all {
            ignored =
                IgnoreChain::extend_with_directory(ignored, inside.as_fd(), directory_path.len());
        }
        let from = ahead.len();
        let mut path = directory_path.to_vec();
        for_each_visible_entry(inside.as_fd(), |name, kind| {
            let is_directory = match kind {
                FileType::Directory => true,
                FileType::RegularFile => false,
                _ => return Ok(()),
            };
            let name = name.to_bytes();
            path.truncate(directory_path.len());
            path.extend_from_slice(name);
            if !self.is_included(&path, name, is_directory, ignored.as_ref()) {
                return Ok(());
            }
            let entry = inside.pending_entry(name);
            let Some(below) = entry.filter(|_| path.len() <= MAX_PATH_BYTES) else {
                self.is_complete = false;
                return Ok(());
            };
            ahead.push(PendingSearch {
                below,
                directory: directory_path.clone(),
                is_directory,
                ignored: ignored.clone(),
            });
            Ok(())
        })?;
        // Sorts like whole paths: the contents of `a/` come after `a.txt`.
        let order = |item: &PendingSearch| {
            let slash: &[u8] = if item.is_directory { b"/" } else { b"" };
            item.below
                .name()
                .iter()
                .chain(slash)
                .copied()
                .collect::<Vec<u8>>()
        };
        if let Some(new) = ahead.get_mut(from..) {
            new.sort_by_cached_key(|item| std::cmp::Reverse(order(item)));
        }
        Ok(())
    }

    /// Returns whether a file is searched, or a directory entered.
    fn is_included(
        &self,
        path: &[u8],
        name: &[u8],
        is_directory: bool,
        ignored: Option<&Rc<IgnoreChain>>,
    ) -> bool {
        match self.globs.match_path(path, is_directory) {
            Match::Whitelist(()) => return false,
            // An entry that matches a glob is searched even if it is hidden.
            Match::Ignore(()) => return true,
            Match::None if !is_directory && self.globs.has_positive_rule() => return false,
            Match::None => {}
        }
        self.all
            || !(name.starts_with(b".") || IgnoreChain::is_ignored(ignored, path, is_directory))
    }

    fn search_file(&mut self, file: &File, path: String) {
        self.result.files_searched += 1;
        let before = self.result.matches.len();
        let mut found = MatchCollector {
            path: &path,
            limit: self.limit,
            result: &mut self.result,
            bytes: self.match_bytes,
            binary: false,
        };
        let answer = self.searcher.search_file(&self.matcher, file, &mut found);
        // A binary file may begin like text. A line that is too long ends the search of its file only.
        if found.binary || answer.is_err_and(|error| error.raw_os_error().is_some()) {
            self.result.matches.truncate(before);
            self.result.truncated = false;
        } else {
            self.match_bytes = found.bytes;
        }
    }
}

/// Collects the matches in a file.
#[derive(Debug)]
struct MatchCollector<'a> {
    path: &'a str,
    limit: usize,
    result: &'a mut FileSearchResult,
    /// Total size of all matches so far.
    bytes: usize,
    binary: bool,
}

impl Sink for MatchCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let text = truncate_line(found.bytes());
        let bytes = self.bytes + self.path.len() + text.len();
        if self.result.matches.len() >= self.limit || bytes > MAX_MATCH_BYTES {
            self.result.truncated = true;
            return Ok(false);
        }
        self.bytes = bytes;
        self.result.matches.push(FileSearchMatch {
            path: self.path.to_owned(),
            line: found.line_number().unwrap_or(0),
            text,
        });
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Removes the line end, and truncates a long line.
fn truncate_line(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A character has at most four bytes.
    let beginning = line.get(..4 * (MAX_LINE_CHARS + 1)).unwrap_or(line);
    let text = String::from_utf8_lossy(beginning);
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    }
}

fn build_matcher(params: &SearchFilesParams) -> Result<RegexMatcher, PortError> {
    if params.pattern.is_empty() {
        return Err(FileRefusal::EmptyPattern.into());
    }
    RegexMatcherBuilder::new()
        .fixed_strings(params.fixed)
        .case_insensitive(params.ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build(&params.pattern)
        .map_err(|error| {
            FileRefusal::InvalidPattern {
                error: error.to_string(),
            }
            .into()
        })
}
