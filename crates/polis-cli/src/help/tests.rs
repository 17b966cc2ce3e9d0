//! Tests of help pages in Chinese: every command and argument has a Chinese text, and no text is left over.

use std::collections::{BTreeMap, BTreeSet};

use clap::CommandFactory as _;
use polis_i18n::{DefinitionTable, definitions};

use super::*;
use crate::cli::{BlackboardCli, PolisCli};

/// Definitions that belong to no command.
const COMMON_DEFINITIONS: [&str; 3] = ["headings", "shared", "value-names"];
/// Shared texts of the options and commands that clap adds.
const ADDED_BY_CLAP: [&str; 5] = ["help", "help-command", "help-long", "help-short", "version"];

/// Help texts of one attribute of a definition in English.
type EnglishTexts = BTreeMap<(String, Option<String>), BTreeSet<String>>;

fn has_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

fn built_trees() -> [Command; 2] {
    [PolisCli::command(), BlackboardCli::command()].map(|mut tree| {
        tree.build();
        tree
    })
}

/// Collects the English texts of a command and its subcommands, by the id and the attribute of their Chinese text.
fn collect_texts(command: &Command, texts: &CommandTexts, found: &mut EnglishTexts) {
    let mut add = |id: &str, attribute: Option<String>, text: String| {
        let key = (id.to_owned(), attribute);
        found.entry(key).or_default().insert(text);
    };
    let id = texts.id();
    add(id, None, command.get_about().unwrap().to_string());
    if let Some(long) = command.get_long_about() {
        add(id, Some("long".to_owned()), long.to_string());
    }
    if let Some(after) = command.get_after_help() {
        add(id, Some("after".to_owned()), after.to_string());
    }
    for argument in command.get_arguments() {
        if argument.is_hide_set() || help_text::is_added_by_clap(argument) {
            continue;
        }
        let name = argument.get_id().as_str();
        let owner = if argument.is_global_set() {
            let is_own = name == "root";
            if is_own { "blackboard" } else { "polis" }
        } else {
            id
        };
        let help = argument
            .get_help()
            .unwrap_or_else(|| panic!("{id} {name} has no help"));
        add(owner, Some(name.to_owned()), help.to_string());
        if let Some(long) = argument.get_long_help() {
            add(owner, Some(format!("{name}-long")), long.to_string());
        }
        for value in argument.get_possible_values() {
            if let Some(help) = value.get_help() {
                let name = format!("{name}-{}", value.get_name());
                add(owner, Some(name), help.to_string());
            }
        }
    }
    for subcommand in command.get_subcommands() {
        if subcommand.get_name() != "help" && !subcommand.is_hide_set() {
            let name = subcommand.get_name();
            collect_texts(subcommand, &texts.of_subcommand(name), found);
        }
    }
}

fn english_texts() -> EnglishTexts {
    let mut found = EnglishTexts::new();
    for tree in built_trees() {
        let texts = CommandTexts::new(tree.get_name(), &[], UiLanguage::Zh);
        collect_texts(&tree, &texts, &mut found);
    }
    assert!(found.len() > 350, "{}", found.len());
    found
}

/// Returns the texts of the catalogue, by id and attribute.
fn chinese_texts() -> BTreeMap<(String, Option<String>), &'static str> {
    let mut found = BTreeMap::new();
    for definition in definitions(DefinitionTable::Help, UiLanguage::Zh) {
        let id = definition.id().to_owned();
        if let Some(text) = definition.text() {
            found.insert((id.clone(), None), text);
        }
        for (name, text) in definition.attributes() {
            found.insert((id.clone(), Some((*name).to_owned())), *text);
        }
    }
    found
}

#[test]
fn every_command_and_argument_has_chinese_help() {
    let chinese = chinese_texts();
    let mut shared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut missing = Vec::new();
    let mut unused: BTreeSet<_> = chinese.keys().cloned().collect();
    for ((id, attribute), english) in english_texts() {
        let key = (id.clone(), attribute.clone());
        let shared_key = ("shared".to_owned(), attribute.clone());
        if chinese.contains_key(&key) {
            unused.remove(&key);
        } else if attribute.is_some() && chinese.contains_key(&shared_key) {
            unused.remove(&shared_key);
            let texts = shared.entry(attribute.unwrap_or_default()).or_default();
            texts.extend(english);
        } else {
            missing.push((id, attribute, english));
        }
    }
    assert!(missing.is_empty(), "without Chinese help: {missing:#?}");
    unused.retain(|(id, attribute)| {
        if id == "shared" {
            let name = attribute.as_deref().unwrap_or_default();
            return !ADDED_BY_CLAP.contains(&name);
        }
        !COMMON_DEFINITIONS.contains(&id.as_str())
    });
    assert!(
        unused.is_empty(),
        "Chinese help without command: {unused:#?}"
    );
    for (name, english) in shared {
        assert_eq!(
            english.len(),
            1,
            "`shared.{name}` has several meanings: {english:#?}"
        );
    }
}

#[test]
fn chinese_help_is_chinese() {
    for ((id, attribute), text) in chinese_texts() {
        let is_name = id == "value-names";
        assert!(is_name || has_chinese(text), "{id} {attribute:?}: {text}");
    }
}

/// Values of arguments that are no words: addresses, ranges, formats.
const UNTRANSLATED_NAMES: [&str; 12] = [
    "CA", "G", "I", "ID", "JSON", "N", "S", "SHELL", "T", "URL", "V", "A-B",
];

#[test]
fn value_names_are_translated_and_used() {
    let mut names = BTreeSet::from(["OPTIONS".to_owned(), "COMMAND".to_owned()]);
    fn collect(command: &Command, names: &mut BTreeSet<String>) {
        for argument in command.get_arguments() {
            let of_argument = argument.get_value_names().unwrap_or_default();
            let of_argument = of_argument
                .iter()
                .filter(|_| argument.get_action().takes_values());
            names.extend(of_argument.map(|name| name.trim_end_matches(",...").to_owned()));
        }
        for subcommand in command.get_subcommands() {
            collect(subcommand, names);
        }
    }
    for tree in built_trees() {
        collect(&tree, &mut names);
    }
    names.retain(|name| !UNTRANSLATED_NAMES.contains(&name.as_str()));
    let table = definitions(DefinitionTable::Help, UiLanguage::Zh);
    let defined = table.iter().find(|one| one.id() == "value-names").unwrap();
    let defined: BTreeSet<_> = defined
        .attributes()
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(defined, names);
}

fn render(arguments: &[&str], columns: usize) -> String {
    let [tree, _] = built_trees();
    let request = HelpRequest::parse(&tree, arguments.iter().map(Into::into)).unwrap();
    let layout = HelpLayout {
        lang: UiLanguage::Zh,
        columns,
        has_colour: false,
    };
    render_help(&tree, &request, layout).unwrap()
}

#[test]
fn page_is_laid_out_by_width_of_chinese_characters() {
    let page = render(&["polis", "task", "claim", "-h"], 60);
    let expected = "\
认领任务：指定的任务，或最适合您角色的就绪任务

用法：polis task claim [选项] [ID]

参数：
  [ID]  任务编号；默认：最适合您角色的就绪任务
";
    assert!(page.starts_with(expected), "{page}");
    let column = |name: &str| {
        let line = page.lines().find(|line| line.contains(name)).unwrap();
        let rest = line.split_once(name).unwrap().1.trim_start();
        line.width() - rest.width()
    };
    assert_eq!(column("--dir <目录>"), column("--json"), "{page}");
    assert!(page.contains("\n全局选项：\n"), "{page}");
}

#[test]
fn long_page_lists_possible_values_with_their_help() {
    let page = render(&["polis", "serve", "--help"], 100);
    let expected = "      --log-format <格式>
          标准错误上日志的格式

          可选值：
          - text：供人阅读的文本
          - json：每行一个 JSON 文档

          [默认值：text]
";
    assert!(page.contains(expected), "{page}");
}

#[test]
fn request_is_found_for_each_way_to_ask() {
    let [tree, _] = built_trees();
    let parse = |arguments: &[&str]| HelpRequest::parse(&tree, arguments.iter().map(Into::into));
    let request = |path: &[&str], is_long| {
        let path = path.iter().map(|&name| name.to_owned()).collect();
        Some(HelpRequest { path, is_long })
    };
    assert_eq!(
        parse(&["polis", "serve", "--help"]),
        request(&["serve"], true)
    );
    assert_eq!(parse(&["polis", "serve", "-h"]), request(&["serve"], false));
    assert_eq!(parse(&["polis", "--help"]), request(&[], false));
    assert_eq!(parse(&["polis"]), request(&[], false));
    assert_eq!(parse(&["polis", "task"]), request(&["task"], false));
    let asked = [
        "polis", "--dir", "task", "agent", "token", "issue", "--help",
    ];
    assert_eq!(parse(&asked), request(&["agent", "token", "issue"], false));
    let asked = ["polis", "help", "board", "section", "set"];
    assert_eq!(parse(&asked), request(&["board", "section", "set"], false));
    assert_eq!(parse(&["polis", "stats"]), None);
}

#[test]
fn no_help_page_has_an_english_sentence() {
    fn visit(tree: &Command, command: &Command, path: &mut Vec<String>) {
        for is_long in [false, true] {
            let request = HelpRequest {
                path: path.clone(),
                is_long,
            };
            let layout = HelpLayout {
                lang: UiLanguage::Zh,
                columns: 100,
                has_colour: false,
            };
            let page = render_help(tree, &request, layout).unwrap();
            // Names, code and codes are in ASCII; four words in a row are a sentence.
            for line in page.lines() {
                let mut words = 0;
                for word in line.split(' ').filter(|word| !word.is_empty()) {
                    let is_word = word.chars().all(|c| c.is_ascii_lowercase());
                    words = if is_word { words + 1 } else { 0 };
                    assert!(words < 4, "{path:?}: {line}");
                }
                assert!(line.width() <= 100, "{path:?}: {line}");
            }
        }
        for subcommand in command.get_subcommands() {
            if subcommand.get_name() != "help" {
                path.push(subcommand.get_name().to_owned());
                visit(tree, subcommand, path);
                path.pop();
            }
        }
    }
    for tree in built_trees() {
        visit(&tree, &tree, &mut Vec::new());
    }
}
