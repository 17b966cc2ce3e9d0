//! Searching the content of files, as ripgrep does it: by line, without binary files, without what
//! `.gitignore` and `.ignore` leave out, and without hidden files unless asked for.
//!
//! The files, and the `.gitignore`s on the way, are reached by open directories and single names and
//! opened as everything else here: no link is followed, no pipe is waited for. Only the matching is
//! ripgrep's.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch,
};
use polis_core::Code;
use polis_core::workspace::file::{SearchFiles, SearchMatch, SearchResult};
use polis_core::workspace::path::{MAX_PATH_BYTES, WorkspacePath};
use polis_ops::PortError;
use rustix::fs::{self, FileType, OFlags};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{Resolver, kind};
use super::entries::{Below, Inside, SharedPath, each_shown};
use super::fault::{self, Doing};
use super::gitignore::{Rules, Verdict};
use super::hold::AT_ONCE;
use super::memory::WalkMemory;
use super::place::DIRECTORY;

/// How many matches are answered unless the caller says.
const DEFAULT_LIMIT: u64 = 200;

/// The most a caller may ask for.
const MAX_LIMIT: u64 = 10_000;

/// How much of a line is answered, in characters.
const MAX_LINE_CHARS: usize = 500;

/// A line longer than this is not searched, nor the rest of its file.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// The most memory that a pattern may take, in bytes, and the most that matching it may.
const MAX_PATTERN_BYTES: usize = 2 * 1024 * 1024;

/// The longest globs of a search together: each character may stand for many states.
const MAX_GLOB_BYTES: usize = 4 * 1024;

/// The most bytes that paths and lines of the matches have together.
const MAX_MATCH_BYTES: usize = 4 * 1024 * 1024;

/// A longer `.gitignore` is not read. Rules take some hundred times the memory of their text.
const MAX_IGNORE_BYTES: u64 = 64 * 1024;

/// The most bytes that a `.gitignore` and those above it have together; the ones below that are not read.
const MAX_IGNORE_CHAIN_BYTES: usize = 128 * 1024;

/// The files whose rules are followed, the later before the earlier.
const IGNORE_FILES: [&[u8]; 2] = [b".gitignore", b".ignore"];

impl WorkspaceDir {
    /// The lines of files that match, by path and line.
    pub fn search(&self, ask: &SearchFiles) -> Result<SearchResult, PortError> {
        let path = WorkspacePath::parse_directory(ask.path.as_deref())?;
        let limit = ask.limit.unwrap_or(DEFAULT_LIMIT);
        if limit == 0 || limit > MAX_LIMIT {
            return Err(fault::invalid(
                format!(
                    "A limit of {limit} matches is not possible: it has to be from 1 to {MAX_LIMIT}."
                ),
                "give another limit, or leave it out",
            ));
        }
        if ask.globs.iter().map(String::len).sum::<usize>() > MAX_GLOB_BYTES {
            return Err(invalid_pattern(format!(
                "The globs are longer than {MAX_GLOB_BYTES} bytes together."
            )));
        }
        let mut search = Search {
            matcher: matcher(ask)?,
            searcher: SearcherBuilder::new()
                .binary_detection(BinaryDetection::quit(0))
                // Another process may cut a mapped file, and that would end us.
                .memory_map(MmapChoice::never())
                .heap_limit(Some(MAX_LINE_BYTES))
                .line_number(true)
                .build(),
            globs: Rules::of_globs(&ask.globs)
                .map_err(|error| invalid_pattern(format!("A glob cannot be read: {error}.")))?,
            all: ask.all,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            resolver: self.resolver,
            result: SearchResult::default(),
            match_bytes: 0,
            is_complete: true,
        };
        let failed = Doing::Reading.at(&path);
        let flags = OFlags::RDONLY | AT_ONCE;
        let found = self
            .resolver
            .open(self.root.as_fd(), path.as_str().as_bytes(), flags)
            .map_err(&failed)?;
        match kind(&fs::fstat(&found).map_err(&failed)?) {
            FileType::Directory => {
                let ignored = self.rules_above(&path, ask.all).map_err(&failed)?;
                search.tree(found, &path, ignored).map_err(failed)?;
            }
            FileType::RegularFile => search.file(&File::from(found), path.to_string()),
            _ => return Err(fault::not_a_file(&path.to_string())),
        }
        search.result.truncated |= !search.is_complete;
        Ok(search.result)
    }

    /// The rules of the directories above the one searched.
    fn rules_above(&self, path: &WorkspacePath, all: bool) -> Result<Option<Rc<Chain>>, Errno> {
        let mut chain = None;
        if all {
            return Ok(chain);
        }
        let mut above = String::new();
        for name in path.names() {
            let dir = self.directory(above.as_bytes())?;
            chain = Chain::extend(chain, dir.as_fd(), above.len());
            above.push_str(name);
            above.push('/');
        }
        Ok(chain)
    }
}

/// Rules of a directory and of those above it.
#[derive(Debug)]
struct Chain {
    rules: Rules,
    /// How long the directory's path is, with the slash after it.
    base: usize,
    /// How long the files of all these rules are.
    bytes: usize,
    above: Option<Rc<Self>>,
}

impl Chain {
    /// The chain with what a directory adds, whose path with the slash after it is `base` long.
    fn extend(mut chain: Option<Rc<Self>>, dir: BorrowedFd<'_>, base: usize) -> Option<Rc<Self>> {
        for name in IGNORE_FILES {
            let Some(content) = small_file(dir, name) else {
                continue;
            };
            let bytes = content.len() + chain.as_ref().map_or(0, |above| above.bytes);
            if bytes > MAX_IGNORE_CHAIN_BYTES {
                continue;
            }
            let rules = Rules::of_file(&content);
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

    /// Whether a path is left out: the nearest rule that matches decides.
    fn ignores(mut chain: Option<&Rc<Self>>, path: &[u8], is_directory: bool) -> bool {
        while let Some(rules) = chain {
            let below = path.get(rules.base..).unwrap_or_default();
            if let Some(verdict) = rules.rules.verdict(below, is_directory) {
                return verdict == Verdict::Matched;
            }
            chain = rules.above.as_ref();
        }
        false
    }
}

/// The content of a regular file of reasonable size in a directory; none for anything else.
fn small_file(dir: BorrowedFd<'_>, name: &[u8]) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | AT_ONCE | OFlags::NOFOLLOW;
    let fd = fs::openat(dir, name, flags, fs::Mode::empty()).ok()?;
    let stat = fs::fstat(&fd).ok()?;
    let small = u64::try_from(stat.st_size).is_ok_and(|size| size <= MAX_IGNORE_BYTES);
    if kind(&stat) != FileType::RegularFile || !small {
        return None;
    }
    let mut content = Vec::new();
    let mut file = File::from(fd).take(MAX_IGNORE_BYTES);
    file.read_to_end(&mut content).ok()?;
    Some(content)
}

/// Something still to be searched.
#[derive(Debug)]
struct Ahead {
    below: Below,
    /// The directory it is in, from the workspace down.
    directory: SharedPath,
    is_directory: bool,
    ignored: Option<Rc<Chain>>,
}

#[derive(Debug)]
struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    globs: Rules,
    all: bool,
    limit: usize,
    resolver: Resolver,
    result: SearchResult,
    match_bytes: usize,
    /// Whether everything was searched that was to be: a tree may be deeper or wider than is kept in memory.
    is_complete: bool,
}

impl Search {
    /// Searches everything below a directory, in the order of the paths.
    fn tree(
        &mut self,
        top: OwnedFd,
        path: &WorkspacePath,
        ignored: Option<Rc<Chain>>,
    ) -> Result<(), Errno> {
        let memory = WalkMemory::of_request();
        let directory = SharedPath::of(&memory, b"", path.as_str().as_bytes());
        let top = Below::top(top, &memory).zip(directory);
        let top = top.map(|(below, directory)| Ahead {
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
                DIRECTORY
            } else {
                AT_ONCE
            };
            let fd = match next.below.open(self.resolver, flags) {
                Ok(fd) => fd,
                // Too many open files, or a broken disk, must not look like no match.
                Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::IO)) => return Err(errno),
                Err(_) => continue,
            };
            if next.is_directory {
                let here = SharedPath::of(&memory, &next.directory, next.below.name());
                match next.below.opened(fd).zip(here) {
                    Some((inside, here)) => {
                        self.enter(&inside, &here, next.ignored, &mut ahead)?;
                    }
                    None => self.is_complete = false,
                }
            } else if kind(&fs::fstat(&fd)?) == FileType::RegularFile {
                let path = [&next.directory, next.below.name()].concat();
                let shown = String::from_utf8_lossy(&path).into_owned();
                self.file(&File::from(fd), shown);
            }
        }
        Ok(())
    }

    /// Puts what is in a directory and to be searched on the list, the first by path at its end.
    fn enter(
        &mut self,
        inside: &Inside,
        here: &SharedPath,
        mut ignored: Option<Rc<Chain>>,
        ahead: &mut Vec<Ahead>,
    ) -> Result<(), Errno> {
        if !self.all {
            ignored = Chain::extend(ignored, inside.as_fd(), here.len());
        }
        let from = ahead.len();
        let mut path = here.to_vec();
        each_shown(inside.as_fd(), |name, kind| {
            let is_directory = match kind {
                FileType::Directory => true,
                FileType::RegularFile => false,
                _ => return Ok(()),
            };
            let name = name.to_bytes();
            path.truncate(here.len());
            path.extend_from_slice(name);
            if !self.takes(&path, name, is_directory, ignored.as_ref()) {
                return Ok(());
            }
            let entry = inside.entry(name);
            let Some(below) = entry.filter(|_| path.len() <= MAX_PATH_BYTES) else {
                self.is_complete = false;
                return Ok(());
            };
            ahead.push(Ahead {
                below,
                directory: here.clone(),
                is_directory,
                ignored: ignored.clone(),
            });
            Ok(())
        })?;
        // As whole paths sort: what is in `a/` comes after `a.txt`.
        let order = |item: &Ahead| {
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

    /// Whether something is searched, or gone into.
    fn takes(
        &self,
        path: &[u8],
        name: &[u8],
        is_directory: bool,
        ignored: Option<&Rc<Chain>>,
    ) -> bool {
        match self.globs.verdict(path, is_directory) {
            Some(Verdict::Negated) => return false,
            // What is asked for by name is searched even if it is hidden.
            Some(Verdict::Matched) => return true,
            None if !is_directory && self.globs.any_plain() => return false,
            None => {}
        }
        self.all || !(name.starts_with(b".") || Chain::ignores(ignored, path, is_directory))
    }

    fn file(&mut self, file: &File, path: String) {
        self.result.files_searched += 1;
        let before = self.result.matches.len();
        let mut found = Found {
            path: &path,
            limit: self.limit,
            result: &mut self.result,
            bytes: self.match_bytes,
            binary: false,
        };
        let answer = self.searcher.search_file(&self.matcher, file, &mut found);
        // A binary file may begin like text. A line too long ends its file only.
        if found.binary || answer.is_err_and(|error| error.raw_os_error().is_some()) {
            self.result.matches.truncate(before);
            self.result.truncated = false;
        } else {
            self.match_bytes = found.bytes;
        }
    }
}

/// Collects the matches of a file.
#[derive(Debug)]
struct Found<'a> {
    path: &'a str,
    limit: usize,
    result: &'a mut SearchResult,
    /// What all matches have so far.
    bytes: usize,
    binary: bool,
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let text = shown(found.bytes());
        let bytes = self.bytes + self.path.len() + text.len();
        if self.result.matches.len() >= self.limit || bytes > MAX_MATCH_BYTES {
            self.result.truncated = true;
            return Ok(false);
        }
        self.bytes = bytes;
        self.result.matches.push(SearchMatch {
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

/// A line without its end, cut when long.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Four bytes at most make a character.
    let beginning = line.get(..4 * (MAX_LINE_CHARS + 1)).unwrap_or(line);
    let text = String::from_utf8_lossy(beginning);
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    }
}

fn matcher(ask: &SearchFiles) -> Result<RegexMatcher, PortError> {
    if ask.pattern.is_empty() {
        return Err(invalid_pattern("The pattern is empty.".to_owned()));
    }
    RegexMatcherBuilder::new()
        .fixed_strings(ask.fixed)
        .case_insensitive(ask.ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build(&ask.pattern)
        .map_err(|error| invalid_pattern(format!("The pattern cannot be read: {error}.")))
}

fn invalid_pattern(message: String) -> PortError {
    PortError::new(
        Code::InvalidPattern,
        message,
        "give a regular expression for a single line, or plain text with fixed (`--fixed`)",
    )
}
