//! Source code of the tables of definitions: texts that are found by the name of what they define (a command, a
//! configuration key, a tool), as static data.
//!
//! `definitions/LANGUAGE/TABLE.ftl` becomes a table of that language and a variant of `DefinitionTable`. The id of a
//! message is the name, an attribute is a part of it: `task-create = …` with `.subject = …`. Definitions have no
//! arguments. A table may be in one language only, if the texts of the other one are in the source code; if it is in
//! several languages, they must have the same ids and attributes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use fluent_syntax::{ast, parser};

use crate::catalogue::{CatalogueSource, LANGUAGES};
use crate::pattern::{TextPiece, convert_pattern};

/// Variants of `UiLanguage`, in the order of [`LANGUAGES`].
const LANGUAGE_VARIANTS: [&str; 2] = ["En", "Zh"];

/// A definition in one language.
#[derive(Debug, Default)]
struct DefinitionSource {
    /// Its text; `None` if only its parts have texts.
    text: Option<String>,
    attributes: BTreeMap<String, String>,
}

/// The definitions of a table in one language, by id.
type DefinitionSources = BTreeMap<String, DefinitionSource>;

/// Returns the source code of the tables. Fails with all problems of the files.
pub(crate) fn render_definitions(source: &CatalogueSource) -> Result<String, Vec<String>> {
    let mut problems = Vec::new();
    let mut tables: BTreeMap<&str, BTreeMap<&str, DefinitionSources>> = BTreeMap::new();
    for (language, table, text) in &source.files {
        let definitions = parse_file(&format!("{language}/{table}.ftl"), language, text);
        let definitions = definitions.unwrap_or_else(|found| {
            problems.extend(found);
            DefinitionSources::new()
        });
        let languages = tables.entry(table).or_default();
        languages.insert(language, definitions);
    }
    // A file with a mistake lacks definitions only because of it.
    if problems.is_empty() {
        for (table, languages) in &tables {
            compare_languages(table, languages, &mut problems);
        }
    }
    if problems.is_empty() {
        Ok(render_tables(&tables))
    } else {
        Err(problems)
    }
}

fn parse_file(name: &str, language: &str, text: &str) -> Result<DefinitionSources, Vec<String>> {
    let resource = parser::parse(text).map_err(|(_, errors)| {
        let describe = |error: &parser::ParserError| {
            let before = &text[..error.pos.start.min(text.len())];
            format!("{name}:{}: {error}", before.matches('\n').count() + 1)
        };
        errors.iter().map(describe).collect::<Vec<_>>()
    })?;
    let mut definitions = DefinitionSources::new();
    let mut problems = Vec::new();
    for entry in &resource.body {
        let ast::Entry::Message(message) = entry else {
            continue;
        };
        let id = message.id.name;
        match convert_message(message, language) {
            Err(problem) => problems.push(format!("{name}: `{id}` {problem}")),
            Ok(definition) => {
                if definitions.insert(id.to_owned(), definition).is_some() {
                    problems.push(format!("{name}: `{id}` is defined twice"));
                }
            }
        }
    }
    if problems.is_empty() {
        Ok(definitions)
    } else {
        Err(problems)
    }
}

fn convert_message(
    message: &ast::Message<&str>,
    language: &str,
) -> Result<DefinitionSource, String> {
    let mut definition = DefinitionSource {
        text: match &message.value {
            Some(pattern) => Some(convert_text(pattern, language)?),
            None => None,
        },
        attributes: BTreeMap::new(),
    };
    for attribute in &message.attributes {
        let name = attribute.id.name;
        let text = convert_text(&attribute.value, language)?;
        if (definition.attributes.insert(name.to_owned(), text)).is_some() {
            return Err(format!("has the attribute `{name}` twice"));
        }
    }
    Ok(definition)
}

/// Returns a text without arguments.
fn convert_text(pattern: &ast::Pattern<&str>, language: &str) -> Result<String, String> {
    match convert_pattern(pattern, language)?.as_slice() {
        [TextPiece::Literal(text)] => Ok(text.clone()),
        _ => Err("has an argument; definitions have none".to_owned()),
    }
}

/// Adds a problem for each id and attribute that a language of a table lacks.
fn compare_languages(
    table: &str,
    languages: &BTreeMap<&str, DefinitionSources>,
    problems: &mut Vec<String>,
) {
    let names = |definitions: &DefinitionSources| {
        let mut names = BTreeSet::new();
        for (id, definition) in definitions {
            if definition.text.is_some() {
                names.insert(id.clone());
            }
            names.extend(
                definition
                    .attributes
                    .keys()
                    .map(|one| format!("{id}.{one}")),
            );
        }
        names
    };
    let all: BTreeSet<String> = languages.values().flat_map(names).collect();
    for (language, definitions) in languages {
        for missing in all.difference(&names(definitions)) {
            problems.push(format!("{language}/{table}.ftl: `{missing}` is missing"));
        }
    }
}

fn render_tables(tables: &BTreeMap<&str, BTreeMap<&str, DefinitionSources>>) -> String {
    let (mut variants, mut arms, mut all, mut statics) =
        (String::new(), String::new(), String::new(), String::new());
    for (table, languages) in tables {
        let variant = variant_name(table);
        let _ = writeln!(
            variants,
            "    /// `definitions/LANGUAGE/{table}.ftl`.\n    {variant},"
        );
        let _ = write!(all, "Self::{variant}, ");
        for (language, language_variant) in LANGUAGES.iter().zip(LANGUAGE_VARIANTS) {
            let name = match languages.get(language) {
                Some(definitions) => {
                    let name = format!("{}_{language}", table.replace('-', "_")).to_uppercase();
                    render_table(&name, definitions, &mut statics);
                    name
                }
                None => "&[]".to_owned(),
            };
            let _ = writeln!(
                arms,
                "            (Self::{variant}, UiLanguage::{language_variant}) => {name},"
            );
        }
    }
    let count = tables.len();
    format!(
        "/// Table of definitions.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq)]\n\
         pub enum DefinitionTable {{\n{variants}}}\n\n\
         impl DefinitionTable {{\n    \
         /// All tables.\n    \
         pub const ALL: [Self; {count}] = [{all}];\n\n    \
         fn definitions(self, lang: UiLanguage) -> &'static [Definition] {{\n        \
         match (self, lang) {{\n{arms}        }}\n    }}\n}}\n\n{statics}"
    )
}

fn render_table(name: &str, definitions: &DefinitionSources, statics: &mut String) {
    let _ = writeln!(statics, "static {name}: &[Definition] = &[");
    for (id, DefinitionSource { text, attributes }) in definitions {
        let attributes: Vec<_> = attributes.iter().collect();
        let _ = writeln!(
            statics,
            "    Definition {{ id: {id:?}, text: {text:?}, attributes: &{attributes:?} }},"
        );
    }
    statics.push_str("];\n");
}

/// Returns the name of a table as a Rust variant: `tool-groups` becomes `ToolGroups`.
fn variant_name(table: &str) -> String {
    let mut name = String::new();
    for word in table.split('-') {
        let mut characters = word.chars();
        name.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(characters.as_str());
    }
    name
}
