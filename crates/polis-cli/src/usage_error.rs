//! Output of clap for a command line that runs no command: help, the version, or a usage error. English is
//! printed as clap renders it, Chinese is rendered here ([`report_usage_error`]).

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::Command;
use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use polis_core::Refusal;
use polis_i18n::{UiLanguage, msg};

use crate::cli::{GlobalArgs, is_flag_typed, typed_value};
use crate::command::init::LanguageArg;
use crate::error::report_error;
use crate::help::{HelpLayout, HelpRequest, render_help, translate_usage, translate_value_names};
use crate::output::CliOutput;
use crate::person_language::PersonLanguage;
use crate::refusal_tables::CommandRefusal;

/// Widest help page, as in the command tree.
const MAX_COLUMNS: usize = 100;

/// Prints help, the version or a usage error of a program, and returns the exit code.
pub(crate) fn report_usage_error(error: &clap::Error, tree: &Command) -> ExitCode {
    let without_lang = help_without_lang(error, tree, std::env::args_os());
    let error = without_lang.as_ref().unwrap_or(error);
    let globals = typed_globals();
    let requested = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let lang = globals.language.get();
    if !requested && globals.json {
        return report_json(error, globals, lang);
    }
    match lang {
        UiLanguage::En => drop(error.print()),
        UiLanguage::Zh => print_translated(error, tree, lang),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Returns clap's help for a command line that would display help without `--lang`: clap does not accept options
/// after `help`, and displays no help for a missing subcommand if there is an option.
fn help_without_lang(
    error: &clap::Error,
    tree: &Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Option<clap::Error> {
    if !matches!(
        error.kind(),
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand | ErrorKind::UnknownArgument
    ) {
        return None;
    }
    let retried = tree.clone().try_get_matches_from(strip_lang(arguments));
    retried.err().filter(|error| {
        matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        )
    })
}

/// Removes `--lang` and its value from a command line.
fn strip_lang(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            kept.push(argument);
            kept.extend(arguments);
            break;
        }
        let has_value = argument
            .to_str()
            .is_some_and(|text| text.starts_with("--lang="));
        if argument == "--lang" {
            arguments.next();
        } else if !has_value {
            kept.push(argument);
        }
    }
    kept
}

/// Returns the global flags of a command line that clap did not accept.
fn typed_globals() -> GlobalArgs {
    let lang = typed_value("--lang").and_then(|value| LanguageArg::from_code(value.to_str()?));
    let dir = typed_value("--dir").or_else(|| std::env::var_os("POLIS_DIR"));
    let store = typed_value("--store").or_else(|| std::env::var_os("POLIS_STORE"));
    let globals = GlobalArgs {
        dir: dir.map(Into::into),
        store: store.and_then(|store| store.into_string().ok()),
        agent: None,
        json: is_flag_typed("--json"),
        verbose: false,
        lang,
        language: PersonLanguage::default(),
    };
    globals.complete()
}

fn report_json(error: &clap::Error, globals: GlobalArgs, lang: UiLanguage) -> ExitCode {
    let message = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        msg::usage_command_missing(lang).to_owned()
    } else {
        // The first paragraph is the error, the rest is usage.
        let text = match lang {
            UiLanguage::En => error.render().to_string(),
            UiLanguage::Zh => UsageErrorRenderer::new(error, Styles::plain(), lang).render(),
        };
        let lines = text.lines().take_while(|line| !line.is_empty());
        let summary = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        let heading = msg::usage_error_heading(lang);
        summary.trim_start_matches(heading).to_owned()
    };
    let refusal = Refusal::from(CommandRefusal::Usage { message });
    report_error(&refusal.into(), &CliOutput::for_flags(&globals))
}

fn print_translated(error: &clap::Error, tree: &Command, lang: UiLanguage) {
    let uses_stderr = error.use_stderr();
    let is_terminal = if uses_stderr {
        io::stderr().is_terminal()
    } else {
        io::stdout().is_terminal()
    };
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let has_colour = is_terminal && !is_plain;
    let styles = if has_colour {
        tree.get_styles().clone()
    } else {
        Styles::plain()
    };
    let text = match error.kind() {
        ErrorKind::DisplayVersion => None,
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let layout = HelpLayout {
                lang,
                columns: terminal_columns(),
                has_colour,
            };
            requested_help(tree, std::env::args_os(), layout)
                .or_else(|| requested_help(tree, strip_lang(std::env::args_os()), layout))
        }
        _ => Some(UsageErrorRenderer::new(error, styles, lang).render()),
    };
    let _ = match text {
        None => error.print(),
        Some(text) if uses_stderr => io::stderr().lock().write_all(text.as_bytes()),
        Some(text) => io::stdout().lock().write_all(text.as_bytes()),
    };
}

/// Returns the help page that a command line requests.
fn requested_help(
    tree: &Command,
    arguments: impl IntoIterator<Item = OsString>,
    layout: HelpLayout,
) -> Option<String> {
    let mut built = tree.clone();
    built.build();
    let request = HelpRequest::parse(&built, arguments)?;
    render_help(&built, &request, layout)
}

/// Returns the width of help pages: that of the terminal, or `COLUMNS`, but at most that of the command tree.
fn terminal_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let width = size
        .map(|size| usize::from(size.ws_col))
        .filter(|width| *width > 0);
    let variable = || std::env::var_os("COLUMNS")?.to_str()?.parse::<usize>().ok();
    width
        .or_else(variable)
        .unwrap_or(MAX_COLUMNS)
        .clamp(20, MAX_COLUMNS)
}

/// Describes similar names as a suggestion.
type DescribeNames = fn(UiLanguage, String) -> String;

/// Renders a usage error from its kind and its context, in the order in which clap renders it.
struct UsageErrorRenderer<'a> {
    error: &'a clap::Error,
    styles: Styles,
    lang: UiLanguage,
}

impl<'a> UsageErrorRenderer<'a> {
    fn new(error: &'a clap::Error, styles: Styles, lang: UiLanguage) -> Self {
        Self {
            error,
            styles,
            lang,
        }
    }

    fn render(&self) -> String {
        let lang = self.lang;
        let problem = (self.describe_problem()).unwrap_or_else(|| self.describe_kind().to_owned());
        let style = self.styles.get_error();
        let heading = msg::usage_error_heading(lang);
        let mut text = format!("{style}{heading}{style:#}{problem}");
        let tips = self.tips();
        if !tips.is_empty() {
            text.push('\n');
        }
        let style = self.styles.get_valid();
        for tip in tips {
            let heading = msg::usage_tip_heading(lang);
            text.push_str(&format!("\n  {style}{heading}{style:#}{tip}"));
        }
        if let Some(ContextValue::StyledStr(usage)) = self.error.get(ContextKind::Usage) {
            text.push_str("\n\n");
            text.push_str(&translate_usage(&usage.to_string(), &self.styles, lang));
        }
        text.push_str("\n\n");
        text.push_str(&msg::usage_more(lang, "--help"));
        text.push('\n');
        text
    }

    /// Returns the text of a context, if it is one text.
    fn text(&self, kind: ContextKind) -> Option<String> {
        match self.error.get(kind)? {
            ContextValue::String(text) => Some(self.styled_invalid(text)),
            _ => None,
        }
    }

    /// Returns the texts of a context, if it has several.
    fn texts(&self, kind: ContextKind) -> Option<&Vec<String>> {
        match self.error.get(kind)? {
            ContextValue::Strings(texts) => Some(texts),
            _ => None,
        }
    }

    fn number(&self, kind: ContextKind) -> Option<i64> {
        match self.error.get(kind)? {
            ContextValue::Number(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    fn styled_invalid(&self, text: &str) -> String {
        let (style, text) = (self.styles.get_invalid(), self.translated(text));
        format!("{style}{text}{style:#}")
    }

    fn styled_valid(&self, text: &str) -> String {
        let (style, text) = (self.styles.get_valid(), self.translated(text));
        format!("{style}{text}{style:#}")
    }

    /// Translates the names of values in an argument: `--task <ID>`. A value that the person typed is kept.
    fn translated(&self, text: &str) -> String {
        translate_value_names(text, self.lang)
    }

    fn describe_problem(&self) -> Option<String> {
        let lang = self.lang;
        let argument = self.text(ContextKind::InvalidArg);
        let value = || self.text(ContextKind::InvalidValue);
        Some(match self.error.kind() {
            ErrorKind::ArgumentConflict => self.describe_conflict(argument)?,
            ErrorKind::NoEquals => msg::usage_no_equals(lang, argument?),
            ErrorKind::InvalidValue => {
                let is_missing = matches!(
                    self.error.get(ContextKind::InvalidValue)?,
                    ContextValue::String(value) if value.is_empty()
                );
                let mut text = if is_missing {
                    msg::usage_value_missing(lang, argument?)
                } else {
                    msg::usage_value_invalid(lang, value()?, argument?)
                };
                if let Some(values) = self
                    .texts(ContextKind::ValidValue)
                    .filter(|v| !v.is_empty())
                {
                    let values = self.joined(values);
                    text.push_str("\n  ");
                    text.push_str(&msg::help_values(lang, values));
                }
                text
            }
            ErrorKind::ValueValidation => {
                let reason = self.describe_source();
                msg::usage_value_invalid_because(lang, value()?, argument?, reason)
            }
            ErrorKind::UnknownArgument => msg::usage_argument_unexpected(lang, argument?),
            ErrorKind::InvalidSubcommand => {
                msg::usage_command_unknown(lang, self.text(ContextKind::InvalidSubcommand)?)
            }
            ErrorKind::MissingRequiredArgument => {
                let missing = self.texts(ContextKind::InvalidArg)?;
                let mut text = msg::usage_arguments_missing(lang).to_owned();
                for argument in missing {
                    text.push_str(&format!("\n  {}", self.styled_valid(argument)));
                }
                text
            }
            ErrorKind::MissingSubcommand => {
                let command = self.text(ContextKind::InvalidSubcommand)?;
                let mut text = msg::usage_subcommand_missing(lang, command);
                if let Some(names) = self.texts(ContextKind::ValidSubcommand) {
                    let names = self.joined(names);
                    text.push_str("\n  ");
                    text.push_str(&msg::usage_subcommands(lang, names));
                }
                text
            }
            ErrorKind::TooManyValues => msg::usage_value_unexpected(lang, value()?, argument?),
            ErrorKind::TooFewValues => {
                let (actual, least) = (
                    self.number(ContextKind::ActualNumValues)?,
                    self.number(ContextKind::MinValues)?,
                );
                msg::usage_values_too_few(lang, argument?, least, actual)
            }
            ErrorKind::WrongNumberOfValues => {
                let (actual, expected) = (
                    self.number(ContextKind::ActualNumValues)?,
                    self.number(ContextKind::ExpectedNumValues)?,
                );
                msg::usage_values_wrong_number(lang, argument?, expected, actual)
            }
            _ => return None,
        })
    }

    fn describe_conflict(&self, argument: Option<String>) -> Option<String> {
        let lang = self.lang;
        let argument = argument.or_else(|| self.text(ContextKind::InvalidSubcommand))?;
        Some(match self.error.get(ContextKind::PriorArg) {
            Some(ContextValue::String(prior)) => {
                let prior = self.styled_invalid(prior);
                if prior == argument {
                    msg::usage_repeated(lang, argument)
                } else {
                    msg::usage_conflict(lang, argument, prior)
                }
            }
            Some(ContextValue::Strings(priors)) => {
                let mut text = msg::usage_conflict_with_several(lang, argument);
                for prior in priors {
                    text.push_str(&format!("\n  {}", self.styled_invalid(prior)));
                }
                text
            }
            _ => msg::usage_conflict_with_others(lang, argument),
        })
    }

    /// Describes an error without context.
    fn describe_kind(&self) -> &'static str {
        match self.error.kind() {
            ErrorKind::InvalidUtf8 => msg::usage_not_utf8(self.lang),
            _ => msg::usage_unusable(self.lang),
        }
    }

    /// Returns the reason why a value was refused. The texts are those of the parsers of numbers and booleans, which
    /// are the only ones that the command line uses.
    fn describe_source(&self) -> String {
        let lang = self.lang;
        let Some(source) = std::error::Error::source(self.error) else {
            return msg::usage_unusable(lang).to_owned();
        };
        if let Some((value, range)) = source.to_string().split_once(" is not in ") {
            return msg::usage_not_in_range(lang, value, range);
        }
        match source.downcast_ref::<std::num::ParseIntError>() {
            Some(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
                msg::usage_number_too_large(lang).to_owned()
            }
            Some(_) => msg::usage_not_a_number(lang).to_owned(),
            None => source.to_string(),
        }
    }

    fn joined(&self, names: &[String]) -> String {
        let names: Vec<_> = names.iter().map(|name| self.styled_valid(name)).collect();
        names.join(", ")
    }

    /// Returns the suggestions. One that is not known here is left out, because clap has only its English text.
    fn tips(&self) -> Vec<String> {
        let lang = self.lang;
        let mut tips = Vec::new();
        let kinds: [(ContextKind, DescribeNames); 3] = [
            (ContextKind::SuggestedSubcommand, |lang, names| {
                msg::usage_similar_command(lang, names)
            }),
            (ContextKind::SuggestedArg, |lang, names| {
                msg::usage_similar_argument(lang, names)
            }),
            (ContextKind::SuggestedValue, |lang, names| {
                msg::usage_similar_value(lang, names)
            }),
        ];
        for (kind, describe) in kinds {
            match self.error.get(kind) {
                Some(ContextValue::String(name)) => {
                    tips.push(describe(lang, self.styled_valid(name)));
                }
                Some(ContextValue::Strings(names)) => {
                    tips.push(describe(lang, self.joined(names)));
                }
                _ => {}
            }
        }
        if let Some(ContextValue::StyledStrs(suggested)) = self.error.get(ContextKind::Suggested) {
            let texts = suggested.iter().map(ToString::to_string);
            tips.extend(texts.filter_map(|text| self.translate_tip(&text)));
        }
        tips
    }

    /// Translates a suggestion of clap by the names that it quotes.
    fn translate_tip(&self, text: &str) -> Option<String> {
        let quoted: Vec<&str> = text.split('\'').skip(1).step_by(2).collect();
        let valid = |name: &str| self.styled_valid(name);
        let lang = self.lang;
        match *quoted.as_slice() {
            [value, usage] if text.starts_with("to pass ") => {
                Some(msg::usage_pass_as_value(lang, valid(value), valid(usage)))
            }
            [name, flag] if text.starts_with("subcommand ") => {
                Some(msg::usage_command_without(lang, valid(name), valid(flag)))
            }
            [usage] if text.ends_with(" exists") => Some(msg::usage_exists(lang, valid(usage))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
