//! A command tree whose help texts are those of the catalogue, for programs that read the tree itself: the generators
//! of shell completions and man pages.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command};
use polis_i18n::UiLanguage;

use super::help_text::{self, CommandTexts, translate_value_names};

/// Name of the subcommand that clap adds to commands with subcommands.
const HELP_COMMAND: &str = "help";

/// Replaces the descriptions of the commands and arguments of a tree by those of this language. Builds the tree, so
/// that what clap adds (`--help`, `help`) is translated as well. The tree cannot parse a command line any more: the
/// values of its arguments are texts.
pub(crate) fn translate_tree(mut tree: Command, lang: UiLanguage) -> Command {
    tree.build();
    let texts = CommandTexts::new(tree.get_name(), &[], lang);
    translate_command(tree, &texts, lang)
}

fn translate_command(command: Command, texts: &CommandTexts, lang: UiLanguage) -> Command {
    let original = command.clone();
    let mut command = translate_about(command, texts)
        .mut_args(|argument| translate_argument(argument, &original, texts, lang));
    if let Some(after) = texts.after_help(&original) {
        command = command.after_help(after);
    }
    command.mut_subcommands(|subcommand| {
        if subcommand.get_name() == HELP_COMMAND {
            translate_help_command(subcommand, texts)
        } else {
            let texts = texts.of_subcommand(subcommand.get_name());
            translate_command(subcommand, &texts, lang)
        }
    })
}

/// Translates `help`, whose subcommands repeat the names and descriptions of those beside it. `texts` are those of the
/// command that `help` belongs to.
fn translate_help_command(command: Command, texts: &CommandTexts) -> Command {
    translate_about(command, texts).mut_subcommands(|subcommand| {
        let is_help = subcommand.get_name() == HELP_COMMAND;
        let own = (!is_help).then(|| texts.of_subcommand(subcommand.get_name()));
        translate_help_command(subcommand, own.as_ref().unwrap_or(texts))
    })
}

fn translate_about(mut command: Command, texts: &CommandTexts) -> Command {
    if let Some(about) = texts.about(&command, false) {
        let long = command.get_long_about().is_some();
        let long = long.then(|| texts.about(&command, true)).flatten();
        command = command.about(about);
        if let Some(long) = long {
            command = command.long_about(long);
        }
    }
    command
}

fn translate_argument(
    mut argument: Arg,
    command: &Command,
    texts: &CommandTexts,
    lang: UiLanguage,
) -> Arg {
    let help = texts.argument_help(command, &argument, false);
    let long = argument.get_long_help().is_some();
    let long = long.then(|| texts.argument_help(command, &argument, true));
    let heading = argument.get_help_heading();
    let heading = heading.and_then(|english| help_text::heading(english, lang));
    let values = argument.get_possible_values();
    if values.iter().any(|value| value.get_help().is_some()) {
        let translated = values.into_iter().map(|value| {
            let help = texts.value_help(&argument, &value);
            help.into_iter().fold(value, PossibleValue::help)
        });
        let parser = PossibleValuesParser::new(translated.collect::<Vec<_>>());
        argument = argument.value_parser(parser);
    }
    if argument.get_action().takes_values() {
        let names = argument.get_value_names().unwrap_or_default().iter();
        let names: Vec<_> = names.map(|name| value_name(name, lang)).collect();
        if !names.is_empty() {
            argument = argument.value_names(names);
        }
    }
    if let Some(help) = help {
        argument = argument.help(help);
    }
    if let Some(long) = long.flatten() {
        argument = argument.long_help(long);
    }
    match heading {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    }
}

/// Translates the name of a value: `TASK`, `GROUP,...`. clap stores only static names; a program makes one tree at
/// most, so its names are never freed.
fn value_name(name: &str, lang: UiLanguage) -> &'static str {
    let translated = translate_value_names(&format!("<{name}>"), lang);
    translated.trim_matches(['<', '>']).to_owned().leak()
}
