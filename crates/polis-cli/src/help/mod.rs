//! Help of the commands in Chinese: clap renders English only, so a parsed `--help` is rendered here from the same
//! command tree, with the texts of the catalogue ([`render_help`]).
//!
//! The English texts are the documentation comments of the arguments. The Chinese ones are in
//! `definitions/zh/help.ftl` of `polis-i18n` ([`help_text`]). Lines are wrapped by the rules of Chinese, which clap
//! does not know. Completions and man pages are generated from a translated tree ([`translate_tree`]).

mod help_request;
mod help_text;
mod translated_tree;

use clap::builder::{PossibleValue, Styles};
use clap::{Arg, Command};
use polis_i18n::{UiLanguage, msg};
use polis_view::line_wrap::{WrapWidth, wrap_lines};
use unicode_width::UnicodeWidthStr as _;

pub(crate) use help_request::HelpRequest;
use help_text::CommandTexts;
pub(crate) use help_text::translate_value_names;
pub(crate) use translated_tree::translate_tree;

/// Columns before the help of a command or argument, and between its name and its help.
const GAP: usize = 2;
/// Columns before a help text that begins on a line of its own.
const TEXT_INDENT: usize = 10;

/// How a help page is displayed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HelpLayout {
    pub(crate) lang: UiLanguage,
    /// Width of the page in columns.
    pub(crate) columns: usize,
    pub(crate) has_colour: bool,
}

/// Returns the help page of a command in a built command tree; `None` if there is no such command.
pub(crate) fn render_help(
    tree: &Command,
    request: &HelpRequest,
    layout: HelpLayout,
) -> Option<String> {
    let mut command = tree;
    for name in &request.path {
        command = command.find_subcommand(name)?;
    }
    let styles = if layout.has_colour {
        command.get_styles().clone()
    } else {
        Styles::plain()
    };
    let page = HelpPage {
        texts: CommandTexts::new(tree.get_name(), &request.path, layout.lang),
        is_long: request.is_long,
        command,
        layout,
        styles,
    };
    Some(page.render())
}

/// Returns whether `--help` shows more than `-h`, by the rule of clap.
fn has_long_help(command: &Command) -> bool {
    let has_long = |argument: &Arg| {
        let mut values = argument.get_possible_values().into_iter();
        !argument.is_hide_set()
            && (argument.get_long_help().is_some()
                || argument.is_hide_long_help_set()
                || argument.is_hide_short_help_set()
                || !argument.is_hide_possible_values_set() && values.any(|one| has_help(&one)))
    };
    command.get_long_about().is_some()
        || command.get_after_long_help().is_some()
        || command.get_arguments().any(has_long)
}

fn has_help(value: &PossibleValue) -> bool {
    !value.is_hide_set() && value.get_help().is_some()
}

/// A help page being rendered.
struct HelpPage<'a> {
    command: &'a Command,
    texts: CommandTexts,
    is_long: bool,
    layout: HelpLayout,
    styles: Styles,
}

/// A command or argument with its help.
struct HelpEntry {
    /// Its name, plain and styled.
    name: String,
    styled: String,
    /// Paragraphs of its help.
    paragraphs: Vec<String>,
}

impl HelpPage<'_> {
    fn render(&self) -> String {
        let lang = self.layout.lang;
        let mut page = String::new();
        if let Some(about) = self.texts.about(self.command, self.is_long) {
            self.push_wrapped(&about, 0, &mut page);
            page.push_str("\n\n");
        }
        page.push_str(&render_usage(self.command, self.layout));
        let mut commands = self.command.get_subcommands().peekable();
        if commands.peek().is_some() {
            let entries = commands.filter(|one| !one.is_hide_set());
            let entries = entries.map(|one| self.command_entry(one)).collect();
            self.push_section(msg::help_commands(lang), entries, false, &mut page);
        }
        let arguments = self.command.get_arguments();
        let shown: Vec<&Arg> = arguments.filter(|one| self.is_shown(one)).collect();
        let of_heading = |heading: Option<&str>| -> Vec<&Arg> {
            let arguments = shown.iter().copied();
            arguments
                .filter(|one| one.get_help_heading() == heading)
                .collect()
        };
        let (positional, options): (Vec<&Arg>, Vec<&Arg>) = of_heading(None)
            .into_iter()
            .partition(|one| one.is_positional());
        self.push_arguments(msg::help_arguments(lang), &positional, &mut page);
        self.push_arguments(msg::help_options(lang), &options, &mut page);
        let mut headings: Vec<&str> = Vec::new();
        for heading in shown.iter().filter_map(|one| one.get_help_heading()) {
            if !headings.contains(&heading) {
                headings.push(heading);
            }
        }
        for heading in headings {
            let title = msg::help_group(lang, help_text::heading(heading, lang).unwrap_or(heading));
            self.push_arguments(&title, &of_heading(Some(heading)), &mut page);
        }
        if let Some(after) = self.texts.after_help(self.command) {
            page.push_str("\n\n");
            self.push_wrapped(&after, 0, &mut page);
        }
        page.push('\n');
        page
    }

    fn is_shown(&self, argument: &Arg) -> bool {
        let is_hidden = if self.is_long {
            argument.is_hide_long_help_set()
        } else {
            argument.is_hide_short_help_set()
        };
        !argument.is_hide_set() && !is_hidden
    }

    fn command_entry(&self, command: &Command) -> HelpEntry {
        let name = command.get_name().to_owned();
        let literal = self.styles.get_literal();
        let about = self.texts.of_subcommand(command.get_name());
        HelpEntry {
            styled: format!("{literal}{name}{literal:#}"),
            name,
            paragraphs: about.about(command, false).into_iter().collect(),
        }
    }

    fn argument_entry(&self, argument: &Arg) -> HelpEntry {
        let lang = self.layout.lang;
        let short = argument.get_short().map(|short| format!("-{short}"));
        // `--name <VALUE>`, or `<VALUE>` for a positional argument.
        let full = translate_value_names(&argument.to_string(), lang);
        let named = match (short, argument.get_long()) {
            (Some(short), Some(_)) => format!("{short}, {full}"),
            (None, Some(_)) => format!("    {full}"),
            _ => full,
        };
        let literal = self.styles.get_literal();
        let styled = match named.split_once(" <") {
            Some((flags, value)) if !argument.is_positional() => {
                format!("{literal}{flags}{literal:#} <{value}")
            }
            _ if argument.is_positional() => named.clone(),
            _ => format!("{literal}{named}{literal:#}"),
        };
        let mut paragraphs = Vec::new();
        paragraphs.extend(
            self.texts
                .argument_help(self.command, argument, self.is_long),
        );
        let has_value_list = self.is_long && argument.get_possible_values().iter().any(has_help);
        if has_value_list && !argument.is_hide_possible_values_set() {
            paragraphs.push(self.value_list(argument));
        }
        let remarks = value_remarks(argument, has_value_list, lang);
        if self.is_long {
            paragraphs.extend((!remarks.is_empty()).then(|| remarks.join("\n")));
        } else if let Some(help) = paragraphs.first_mut() {
            for remark in &remarks {
                help.push(' ');
                help.push_str(remark);
            }
        } else {
            paragraphs.extend((!remarks.is_empty()).then(|| remarks.join(" ")));
        }
        HelpEntry {
            name: named,
            styled,
            paragraphs,
        }
    }

    /// Returns the possible values of an argument with their help, one per line.
    fn value_list(&self, argument: &Arg) -> String {
        let mut list = msg::help_value_list(self.layout.lang).to_owned();
        for value in argument.get_possible_values() {
            if value.is_hide_set() {
                continue;
            }
            let (name, lang) = (value.get_name(), self.layout.lang);
            list.push('\n');
            list.push_str(&match self.texts.value_help(argument, &value) {
                Some(help) => msg::help_value(lang, name, help),
                None => format!("- {name}"),
            });
        }
        list
    }

    fn push_arguments(&self, title: &str, arguments: &[&Arg], page: &mut String) {
        if arguments.is_empty() {
            return;
        }
        let entries = arguments.iter().map(|one| self.argument_entry(one));
        self.push_section(title, entries.collect(), self.is_long, page);
    }

    fn push_section(
        &self,
        title: &str,
        entries: Vec<HelpEntry>,
        is_spaced: bool,
        page: &mut String,
    ) {
        if entries.is_empty() {
            return;
        }
        let header = self.styles.get_header();
        page.push_str(&format!("\n\n{header}{title}{header:#}\n"));
        let widest = entries.iter().map(|one| one.name.width()).max();
        let column = widest.unwrap_or(0) + 2 * GAP;
        let columns = self.layout.columns;
        let is_on_next_line = is_spaced
            || entries.iter().any(|one| {
                let help = one.paragraphs.first().map_or(0, |text| text.width());
                column * 5 > columns * 2 && help > columns.saturating_sub(column)
            });
        for (number, entry) in entries.iter().enumerate() {
            if number > 0 {
                page.push_str(if is_spaced { "\n\n" } else { "\n" });
            }
            page.push_str(&" ".repeat(GAP));
            page.push_str(&entry.styled);
            let indent = if is_on_next_line { TEXT_INDENT } else { column };
            for (number, paragraph) in entry.paragraphs.iter().enumerate() {
                if number > 0 {
                    page.push_str("\n\n");
                    page.push_str(&" ".repeat(indent));
                } else if is_on_next_line {
                    page.push('\n');
                    page.push_str(&" ".repeat(indent));
                } else {
                    let used = GAP + entry.name.width();
                    page.push_str(&" ".repeat(column.saturating_sub(used)));
                }
                self.push_wrapped(paragraph, indent, page);
            }
        }
    }

    /// Appends a text whose lines after the first one are indented.
    fn push_wrapped(&self, text: &str, indent: usize, page: &mut String) {
        let room = self.layout.columns.saturating_sub(indent).max(20);
        let width = WrapWidth {
            first_line: room,
            other_lines: room,
            split_words: false,
        };
        for (number, line) in wrap_lines(text, width).enumerate() {
            if number > 0 {
                page.push('\n');
                if !line.is_empty() {
                    page.push_str(&" ".repeat(indent));
                }
            }
            page.push_str(text.get(line).unwrap_or_default());
        }
    }
}

/// Returns the usage lines of a command, with their heading.
fn render_usage(command: &Command, layout: HelpLayout) -> String {
    let styled = command.clone().render_usage();
    let text = if layout.has_colour {
        styled.ansi().to_string()
    } else {
        styled.to_string()
    };
    let styles = if layout.has_colour {
        command.get_styles().clone()
    } else {
        Styles::plain()
    };
    translate_usage(&text, &styles, layout.lang)
}

/// Translates the heading and the names of values in usage lines of clap.
pub(crate) fn translate_usage(text: &str, styles: &Styles, lang: UiLanguage) -> String {
    let heading = msg::help_usage(lang);
    let style = styles.get_usage();
    let mut usage = format!("{style}{heading}{style:#}");
    // Up to the first space is the English heading.
    let lines = text
        .trim_end()
        .split_once(' ')
        .map_or("", |(_, lines)| lines);
    for (number, line) in lines.lines().enumerate() {
        if number > 0 {
            usage.push('\n');
            usage.push_str(&" ".repeat(heading.width()));
        }
        usage.push_str(&translate_value_names(line.trim_start(), lang));
    }
    usage
}

/// Returns the remarks that clap puts in brackets after the help of an argument.
fn value_remarks(argument: &Arg, has_value_list: bool, lang: UiLanguage) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(name) = argument.get_env().filter(|_| !argument.is_hide_env_set()) {
        remarks.push(msg::help_environment(lang, name.to_string_lossy()));
    }
    let takes_value = argument.get_action().takes_values();
    let defaults = argument.get_default_values();
    if takes_value && !argument.is_hide_default_value_set() && !defaults.is_empty() {
        let values: Vec<_> = defaults.iter().map(|one| one.to_string_lossy()).collect();
        remarks.push(msg::help_default(lang, values.join(" ")));
    }
    if takes_value && !has_value_list && !argument.is_hide_possible_values_set() {
        let values = argument.get_possible_values();
        let names = values.iter().filter(|one| !one.is_hide_set());
        let names: Vec<&str> = names.map(PossibleValue::get_name).collect();
        if !names.is_empty() {
            remarks.push(msg::help_values(lang, names.join(", ")));
        }
    }
    remarks
}

#[cfg(test)]
mod tests;
