//! Texts of help pages: the definitions of a command and its arguments in the catalogue, by the path of the
//! command. A text that the catalogue lacks is the English one.

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command};
use polis_i18n::{DefinitionTable, UiLanguage, definition_text, find_definition};

/// Definition with the arguments that several commands share, under the same name and with the same meaning.
const SHARED: &str = "shared";
/// Definition with the names of values: `<TASK>`.
const VALUE_NAMES: &str = "value-names";
/// Definition with the headings of groups of options.
const HEADINGS: &str = "headings";

/// Program whose commands have no prefix.
const MAIN_PROGRAM: &str = "polis";

/// Texts of a command.
#[derive(Debug)]
pub(super) struct CommandTexts {
    /// Id of its definition: the path of the command, joined by `-`.
    id: String,
    lang: UiLanguage,
}

impl CommandTexts {
    /// Creates the texts of the command with this path in a program.
    pub(super) fn new(program: &str, path: &[String], lang: UiLanguage) -> Self {
        let program = Self {
            id: program.to_owned(),
            lang,
        };
        path.iter()
            .fold(program, |texts, name| texts.of_subcommand(name))
    }

    /// Returns the texts of a subcommand.
    pub(super) fn of_subcommand(&self, name: &str) -> Self {
        let id = match (self.id.as_str(), name) {
            // The program `blackboard` is the command `polis blackboard`, and `polis board decision` is
            // `polis decision`.
            (MAIN_PROGRAM, name) | ("board", name @ ("decision" | "milestone")) => name.to_owned(),
            (id, name) => format!("{id}-{name}"),
        };
        Self {
            id,
            lang: self.lang,
        }
    }

    /// Returns the id of the definition.
    #[cfg(test)]
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the description of the command.
    pub(super) fn about(&self, command: &Command, is_long: bool) -> Option<String> {
        if command.get_name() == "help" {
            return self.find(SHARED, "help-command").map(str::to_owned);
        }
        let long = is_long.then(|| self.find(&self.id, "long")).flatten();
        let text =
            long.or_else(|| definition_text(DefinitionTable::Help, self.lang, &self.id, None));
        let english = || {
            let long = command.get_long_about().filter(|_| is_long);
            long.or_else(|| command.get_about())
                .map(ToString::to_string)
        };
        text.map(str::to_owned).or_else(english)
    }

    /// Returns the text after the arguments.
    pub(super) fn after_help(&self, command: &Command) -> Option<String> {
        let english = command.get_after_help()?;
        let text = self.find(&self.id, "after");
        Some(text.map_or_else(|| english.to_string(), str::to_owned))
    }

    /// Returns the help of an argument.
    pub(super) fn argument_help(
        &self,
        command: &Command,
        argument: &Arg,
        is_long: bool,
    ) -> Option<String> {
        let name = argument.get_id().as_str();
        if is_added_by_clap(argument) {
            let has_more = name == "help" && super::has_long_help(command);
            let name = match (has_more, is_long) {
                (false, _) => name,
                (true, false) => "help-short",
                (true, true) => "help-long",
            };
            return self.find(SHARED, name).map(str::to_owned);
        }
        let long = (is_long && argument.get_long_help().is_some())
            .then(|| self.find_argument(argument, &format!("{name}-long")))
            .flatten();
        let text = long.or_else(|| self.find_argument(argument, name));
        let english = || {
            let long = argument.get_long_help().filter(|_| is_long);
            long.or_else(|| argument.get_help())
                .map(ToString::to_string)
        };
        text.map(str::to_owned).or_else(english)
    }

    /// Returns the help of a possible value of an argument.
    pub(super) fn value_help(&self, argument: &Arg, value: &PossibleValue) -> Option<String> {
        let name = format!("{}-{}", argument.get_id(), value.get_name());
        let text = self.find_argument(argument, &name);
        text.map(str::to_owned)
            .or_else(|| value.get_help().map(ToString::to_string))
    }

    /// Returns a text of an argument: that of its command, else the shared one. A global option belongs to the command
    /// that begins the path, or to `polis`.
    fn find_argument(&self, argument: &Arg, attribute: &str) -> Option<&'static str> {
        if argument.is_global_set() {
            let first = self.id.split('-').next().unwrap_or_default();
            return self
                .find(first, attribute)
                .or_else(|| self.find(MAIN_PROGRAM, attribute));
        }
        self.find(&self.id, attribute)
            .or_else(|| self.find(SHARED, attribute))
    }

    fn find(&self, id: &str, attribute: &str) -> Option<&'static str> {
        definition_text(DefinitionTable::Help, self.lang, id, Some(attribute))
    }
}

/// Returns whether an argument is `--help` or `--version`.
pub(super) fn is_added_by_clap(argument: &Arg) -> bool {
    matches!(
        argument.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

/// Returns the heading of a group of options; `None` if the catalogue lacks it.
pub(super) fn heading(english: &str, lang: UiLanguage) -> Option<&'static str> {
    let name = english.to_lowercase().replace(' ', "-");
    definition_text(DefinitionTable::Help, lang, HEADINGS, Some(&name))
}

/// Translates the names of values in usage lines: `<TASK>`, `[OPTIONS]`, `[TASK]...`.
pub(crate) fn translate_value_names(text: &str, lang: UiLanguage) -> String {
    let Some(names) = find_definition(DefinitionTable::Help, lang, VALUE_NAMES) else {
        return text.to_owned();
    };
    let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
    let mut translated = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['<', '[']) {
        let (before, opened) = rest.split_at(start + 1);
        translated.push_str(before);
        let end = opened.find(|c| !is_name(c)).unwrap_or(opened.len());
        let (name, after) = opened.split_at(end);
        let text = names
            .attribute(name)
            .filter(|_| after.starts_with(['>', ']', ',']));
        translated.push_str(text.unwrap_or(name));
        rest = after;
    }
    translated.push_str(rest);
    translated
}
