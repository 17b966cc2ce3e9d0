//! `polis ws info`, `ls`, `cat` and `search`: counts, lists, prints and searches the files of a workspace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{
    FileContent, FileEncoding, FileEntryType, FileList, FileSearchResult, ListFilesParams,
    ReadFileParams, SearchFilesParams,
};
use polis_i18n::{UiLanguage, msg};
use polis_ops::PortError;
use polis_ops::op::{self, WorkspaceReport};

use super::{WorkspaceArg, format_bytes};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, TextTable, sanitize_line};
use crate::refusal_tables::CommandRefusal;

/// Count the files of a workspace.
#[derive(Debug, Args)]
pub(crate) struct WsInfoArgs {
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsInfoArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let report =
            context.block_on(op::get_workspace_info(&context.request(), owner.as_ref()))?;
        out.print_result(&report, |report| render_workspace_info(report, out.lang()))
    }
}

fn render_workspace_info(report: &WorkspaceReport, lang: UiLanguage) -> String {
    let info = &report.info;
    let change = info.last_modified.as_ref().map_or_else(
        || msg::cli_workspace_not_written(lang).to_owned(),
        |at| msg::cli_workspace_last_changed(lang, at),
    );
    let mut text = msg::cli_workspace_summary(
        lang,
        &report.workspace_id,
        format_file_count(info.file_count, lang),
        msg::cli_workspace_directory_count(lang, info.dir_count),
        format_bytes(info.total_size),
        change,
    );
    if let Some(path) = &report.workspace_path {
        text.push('\n');
        text.push_str(&msg::cli_workspace_directory(lang, sanitize_line(path)));
    }
    text
}

fn format_file_count(count: u64, lang: UiLanguage) -> String {
    msg::workspace_file_count(lang, count, count)
}

/// List a directory.
#[derive(Debug, Args)]
pub(crate) struct WsLsArgs {
    /// Directory, relative to the workspace; default: the workspace itself
    path: Option<String>,
    /// Include subdirectories
    #[arg(long)]
    recursive: bool,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsLsArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let params = ListFilesParams {
            path: self.path,
            recursive: self.recursive,
            ..ListFilesParams::default()
        };
        let owner = owner.as_ref();
        let list = context.block_on(op::list_files(&context.request(), owner, &params))?;
        out.print_result(&list, |list| {
            render_file_list(list, params.path.is_none(), out)
        })
    }
}

fn render_file_list(list: &FileList, is_root: bool, out: &CliOutput) -> String {
    let lang = out.lang();
    if list.files.is_empty() {
        let text = if is_root {
            msg::cli_workspace_empty(lang)
        } else {
            msg::cli_workspace_directory_empty(lang)
        };
        return text.to_owned();
    }
    let mut table = TextTable::new(&[
        msg::cli_column_type(lang),
        msg::cli_workspace_size_column(lang),
        msg::cli_workspace_name_column(lang),
    ]);
    for entry in &list.files {
        let no_size = || "-".to_owned();
        let (kind, size, mark) = match entry.kind {
            FileEntryType::File => {
                let size = format_bytes(entry.size);
                (msg::cli_workspace_type_file(lang), size, "")
            }
            FileEntryType::Directory => (msg::cli_workspace_type_directory(lang), no_size(), "/"),
            FileEntryType::Symlink => (msg::cli_workspace_type_symlink(lang), no_size(), "@"),
            FileEntryType::Other => (msg::cli_workspace_type_other(lang), no_size(), ""),
        };
        table.push_row([kind.to_owned(), size, format!("{}{mark}", entry.name)]);
    }
    let mut text = table.render(out);
    if list.truncated {
        text.push_str(msg::cli_workspace_more_entries(lang));
        text.push('\n');
    }
    text
}

/// Print a file unchanged.
#[derive(Debug, Args)]
pub(crate) struct WsCatArgs {
    /// File, relative to the workspace
    path: String,
    /// Only these lines: 10-20, 10-, -20 or 10
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    lines: Option<String>,
    /// Only the first N bytes
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
    /// Print base64, for files that are not text
    #[arg(long)]
    base64: bool,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsCatArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let (start_line, end_line) = match &self.lines {
            Some(text) => parse_line_range(text)?,
            None => (None, None),
        };
        let mut params = ReadFileParams {
            path: self.path,
            start_line,
            end_line,
            max_bytes: self.max_bytes,
            encoding: if self.base64 {
                FileEncoding::Base64
            } else {
                FileEncoding::Utf8
            },
        };
        let read = |params: &ReadFileParams| {
            let owner = owner.as_ref();
            context.block_on(op::read_file(&context.request(), owner, params))
        };
        let answer = read(&params);
        if out.is_json() {
            return out.print_json(&answer?);
        }
        let file = match answer {
            // A file that is not text is read again as bytes.
            Err(error) if error.code() == RefusalCode::NOT_TEXT && self.lines.is_none() => {
                params.encoding = FileEncoding::Base64;
                let file = read(&params)?;
                let bytes = STANDARD
                    .decode(&file.content)
                    .map_err(|e| PortError::internal("Reading a file", e))?;
                out.print_bytes(&bytes)?;
                file
            }
            answer => {
                let file = answer?;
                out.print_unchanged(&file.content)?;
                file
            }
        };
        if file.truncated {
            out.print_remark(&truncation_remark(&file, out.lang()));
        }
        Ok(())
    }
}

fn truncation_remark(file: &FileContent, lang: UiLanguage) -> String {
    msg::cli_workspace_file_truncated(lang, format_bytes(file.size))
}

/// Parses a line range such as `10-20`.
fn parse_line_range(text: &str) -> Result<(Option<u64>, Option<u64>), CliError> {
    let wrong = || CliError::from(CommandRefusal::InvalidLineRange);
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

/// Search file contents; files that .gitignore excludes are skipped.
#[derive(Debug, Args)]
pub(crate) struct WsSearchArgs {
    /// Regular expression
    #[arg(allow_hyphen_values = true)]
    pattern: String,
    /// File or directory to search, relative to the workspace; default: the whole workspace
    path: Option<String>,
    /// Only files whose path matches this glob, as in .gitignore; ! excludes; may be repeated
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    glob: Vec<String>,
    /// Treat the pattern as plain text
    #[arg(long)]
    fixed: bool,
    /// Ignore case
    #[arg(long)]
    ignore_case: bool,
    /// Include files that .gitignore excludes, and hidden files
    #[arg(long)]
    all: bool,
    /// Maximum number of matches; default: 200
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsSearchArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let owner = self.of.agent_id()?;
        let params = SearchFilesParams {
            pattern: self.pattern,
            path: self.path,
            globs: self.glob,
            fixed: self.fixed,
            ignore_case: self.ignore_case,
            all: self.all,
            limit: self.limit,
        };
        let owner = owner.as_ref();
        let found = context.block_on(op::search_files(&context.request(), owner, &params))?;
        out.print_result(&found, |found| render_matches(found, out))
    }
}

fn render_matches(found: &FileSearchResult, out: &CliOutput) -> String {
    let lang = out.lang();
    if found.matches.is_empty() {
        let searched = format_file_count(found.files_searched, lang);
        return msg::cli_workspace_no_match(lang, searched);
    }
    let mut text = String::new();
    for one in &found.matches {
        text.push_str(&format!(
            "{}:{}: {}\n",
            out.paint(TextStyle::Cyan, &sanitize_line(&one.path)),
            one.line,
            sanitize_line(&one.text)
        ));
    }
    if found.truncated {
        text.push_str(msg::cli_workspace_more_matches(lang));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_range_is_parsed_or_refused() {
        assert_eq!(parse_line_range("10-20").unwrap(), (Some(10), Some(20)));
        assert_eq!(parse_line_range("10-").unwrap(), (Some(10), None));
        assert_eq!(parse_line_range("-20").unwrap(), (None, Some(20)));
        assert_eq!(parse_line_range("7").unwrap(), (Some(7), Some(7)));
        for bad in ["", "-", "0", "0-5", "5-4", "a-b", "1-2-3", "1.5", "--1"] {
            assert!(parse_line_range(bad).is_err(), "{bad}");
        }
    }
}
