//! `polis ws info`, `ls`, `cat` and `search`: reads a workspace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use polis_core::Code;
use polis_core::workspace::file::{
    Encoding, EntryType, FileContent, FileList, ListFiles, ReadFile, SearchFiles, SearchResult,
};
use polis_ops::PortError;
use polis_ops::op::{self, WorkspaceReport};

use super::{Of, counted, desk, size};
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::{Output, Style, Table, clean};

/// Count what is in a workspace.
#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    of: Of,
}

impl Info {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let report = context.run(op::get_workspace_info(
            &context.polis,
            desk(context, of.as_ref()),
        ))?;
        out.answer(&report, info)
    }
}

fn info(report: &WorkspaceReport) -> String {
    let info = &report.info;
    let changed = info.last_modified.as_ref().map_or_else(
        || "nothing was written yet".to_owned(),
        |at| format!("last changed {at}"),
    );
    let mut text = format!(
        "Workspace of {}: {}, {}, {}; {changed}",
        report.workspace_id,
        counted(info.file_count, "file", "files"),
        counted(info.dir_count, "directory", "directories"),
        size(info.total_size),
    );
    if let Some(path) = &report.workspace_path {
        text.push_str(&format!("\nIt is in {}", clean(path)));
    }
    text
}

/// List a directory.
#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// The directory, relative to the workspace; default: the workspace itself
    path: Option<String>,
    /// Go into directories too
    #[arg(long)]
    recursive: bool,
    #[command(flatten)]
    of: Of,
}

impl Ls {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let params = ListFiles {
            path: self.path,
            recursive: self.recursive,
            ..ListFiles::default()
        };
        let desk = desk(context, of.as_ref());
        let list = context.run(op::list_files(&context.polis, desk, &params))?;
        out.answer(&list, |list| listing(list, params.path.is_none(), out))
    }
}

fn listing(list: &FileList, whole: bool, out: &Output) -> String {
    if list.files.is_empty() {
        return if whole {
            "Nothing here yet. Write a file: polis --as AGENT ws write notes.md --content \"...\""
                .to_owned()
        } else {
            "The directory is empty.".to_owned()
        };
    }
    let mut table = Table::new(&["TYPE", "SIZE", "NAME"]);
    for entry in &list.files {
        let (kind, shown, mark) = match entry.kind {
            EntryType::File => ("file", size(entry.size), ""),
            EntryType::Directory => ("directory", "-".to_owned(), "/"),
            EntryType::Symlink => ("symlink", "-".to_owned(), "@"),
            EntryType::Other => ("other", "-".to_owned(), ""),
        };
        table.row([kind.to_owned(), shown, format!("{}{mark}", entry.name)]);
    }
    let mut text = table.render(out);
    if list.truncated {
        text.push_str("There are more; list a directory below.\n");
    }
    text
}

/// Print a file, to the letter.
#[derive(Debug, Args)]
pub(crate) struct Cat {
    /// The file, relative to the workspace
    path: String,
    /// Only these lines: 10-20, 10-, -20 or 10
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    lines: Option<String>,
    /// Only so many bytes from the beginning
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
    /// Answer in base64, for files that are not text
    #[arg(long)]
    base64: bool,
    #[command(flatten)]
    of: Of,
}

impl Cat {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let (start_line, end_line) = match &self.lines {
            Some(text) => lines(text)?,
            None => (None, None),
        };
        let mut params = ReadFile {
            path: self.path,
            start_line,
            end_line,
            max_bytes: self.max_bytes,
            encoding: if self.base64 {
                Encoding::Base64
            } else {
                Encoding::Utf8
            },
        };
        let read = |params: &ReadFile| {
            let desk = desk(context, of.as_ref());
            context.run(op::read_file(&context.polis, desk, params))
        };
        let answer = read(&params);
        if out.is_json() {
            return out.document(&answer?);
        }
        let file = match answer {
            // A file that is not text is read again as bytes.
            Err(error) if error.code() == Code::NotText && self.lines.is_none() => {
                params.encoding = Encoding::Base64;
                let file = read(&params)?;
                let bytes = STANDARD
                    .decode(&file.content)
                    .map_err(|e| PortError::internal("Reading a file", e))?;
                out.exact_bytes(&bytes)?;
                file
            }
            answer => {
                let file = answer?;
                out.exact(&file.content)?;
                file
            }
        };
        if file.truncated {
            out.remark(&more(&file));
        }
        Ok(())
    }
}

fn more(file: &FileContent) -> String {
    format!("-- there is more: the file has {}", size(file.size))
}

/// Parses a line range such as `10-20`.
fn lines(text: &str) -> Result<(Option<u64>, Option<u64>), Failure> {
    let wrong = || {
        invalid(
            "The lines are not a range of numbers from 1.",
            "write --lines 10-20, --lines 10- or --lines 10",
        )
    };
    let number = |text: &str| match text {
        "" => Ok(None),
        digits => match digits.parse::<u64>() {
            Ok(n) if n > 0 => Ok(Some(n)),
            _ => Err(wrong()),
        },
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    let backwards = matches!((first, last), (Some(first), Some(last)) if first > last);
    if backwards || (first.is_none() && last.is_none()) {
        return Err(wrong());
    }
    Ok((first, last))
}

/// Search the files' content; what .gitignore leaves out is left out.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// A regular expression
    #[arg(allow_hyphen_values = true)]
    pattern: String,
    /// Where, relative to the workspace; default: everywhere
    path: Option<String>,
    /// Only files whose path matches, as in .gitignore; ! excludes; may be given again
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    glob: Vec<String>,
    /// The pattern is plain text
    #[arg(long)]
    fixed: bool,
    /// Upper and lower case are the same
    #[arg(long)]
    ignore_case: bool,
    /// Search what .gitignore leaves out, and hidden files, too
    #[arg(long)]
    all: bool,
    /// At most so many matches; default: 200
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    of: Of,
}

impl Search {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let of = self.of.agent()?;
        let params = SearchFiles {
            pattern: self.pattern,
            path: self.path,
            globs: self.glob,
            fixed: self.fixed,
            ignore_case: self.ignore_case,
            all: self.all,
            limit: self.limit,
        };
        let desk = desk(context, of.as_ref());
        let found = context.run(op::search_files(&context.polis, desk, &params))?;
        out.answer(&found, |found| matches(found, out))
    }
}

fn matches(found: &SearchResult, out: &Output) -> String {
    if found.matches.is_empty() {
        let searched = counted(found.files_searched, "file", "files");
        return format!("No match in {searched}.");
    }
    let mut text = String::new();
    for one in &found.matches {
        text.push_str(&format!(
            "{}:{}: {}\n",
            out.paint(Style::Cyan, &clean(&one.path)),
            one.line,
            clean(&one.text)
        ));
    }
    if found.truncated {
        text.push_str("There are more matches; ask for them with --limit.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_range() {
        assert_eq!(lines("10-20").unwrap(), (Some(10), Some(20)));
        assert_eq!(lines("10-").unwrap(), (Some(10), None));
        assert_eq!(lines("-20").unwrap(), (None, Some(20)));
        assert_eq!(lines("7").unwrap(), (Some(7), Some(7)));
        for bad in ["", "-", "0", "0-5", "5-4", "a-b", "1-2-3", "1.5", "--1"] {
            assert!(lines(bad).is_err(), "{bad}");
        }
    }
}
