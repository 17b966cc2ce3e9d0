//! Table of refusals: every message with its attributes, in every language, as one text with an index.
//!
//! Refusals are found by the id in their reason, so they are data and not functions. The table is a text and
//! not a tree of static slices: each pointer in static data is relocated whenever a program starts, and 15,000
//! of them made a short command a tenth slower. The format is in `src/refusal_encoding.rs`. The build fails if a message has a syntax error, lacks a
//! language, or has other arguments or attributes in another language.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::refusal_encoding as encoding;

use fluent_syntax::ast::{
    Entry, Expression, InlineExpression, Pattern, PatternElement, VariantKey,
};
use fluent_syntax::parser;

/// Languages, in the order of the texts in the table.
const LANGUAGES: [&str; 2] = ["en", "zh"];
/// Attributes that a message may have: texts and hints of surfaces.
const ATTRIBUTES: [&str; 7] = [
    "hint",
    "cli",
    "tool",
    "http",
    "screen",
    "text-cli",
    "text-screen",
];

/// The encoded table, and the Rust source of its index.
pub(crate) struct RefusalTable {
    pub(crate) text: String,
    pub(crate) index: String,
}

/// A message in one language: its encoded patterns.
#[derive(Default)]
struct MessageSource {
    text: String,
    attributes: BTreeMap<String, String>,
    arguments: BTreeSet<String>,
}

/// Returns the table. Fails with all problems of the files.
pub(crate) fn render_refusals(directory: &Path) -> Result<RefusalTable, Vec<String>> {
    let mut problems = Vec::new();
    let mut languages = Vec::new();
    for language in LANGUAGES {
        languages.push(read_language(&directory.join(language), &mut problems));
    }
    let ids: BTreeSet<&String> = languages.iter().flat_map(BTreeMap::keys).collect();
    let (mut text, mut offsets) = (String::new(), String::new());
    for id in ids {
        let found: Vec<_> = languages.iter().filter_map(|one| one.get(id)).collect();
        if found.len() < LANGUAGES.len() {
            problems.push(format!("`{id}` is missing in a language"));
            continue;
        }
        if found.windows(2).any(|pair| differ(pair[0], pair[1])) {
            problems.push(format!(
                "`{id}` has other arguments or attributes in another language"
            ));
        }
        let _ = write!(offsets, "{}, ", text.len());
        text.push_str(id);
        text.push(encoding::ID_END);
        for (n, message) in found.into_iter().enumerate() {
            if n > 0 {
                text.push(encoding::LANGUAGE_END);
            }
            text.push_str(&message.text);
            for (name, pattern) in &message.attributes {
                text.push(encoding::ATTRIBUTE);
                text.push_str(name);
                text.push(encoding::NAME_END);
                text.push_str(pattern);
            }
        }
    }
    let index = format!("static OFFSETS: &[u32] = &[{offsets}{}];\n", text.len());
    if problems.is_empty() {
        Ok(RefusalTable { text, index })
    } else {
        Err(problems)
    }
}

/// A translation may select by an argument that the other language inserts, so only the names are compared.
fn differ(one: &MessageSource, other: &MessageSource) -> bool {
    one.arguments != other.arguments || !one.attributes.keys().eq(other.attributes.keys())
}

fn read_language(directory: &Path, problems: &mut Vec<String>) -> BTreeMap<String, MessageSource> {
    let mut messages = BTreeMap::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(format!("{}: {error}", directory.display()));
            return messages;
        }
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        let name = file.display();
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                problems.push(format!("{name}: {error}"));
                continue;
            }
        };
        let resource = match parser::parse(text.as_str()) {
            Ok(resource) => resource,
            Err((_, errors)) => {
                problems.extend(errors.iter().map(|error| format!("{name}: {error}")));
                continue;
            }
        };
        for entry in &resource.body {
            let Entry::Message(message) = entry else {
                continue;
            };
            let id = message.id.name;
            let mut source = MessageSource::default();
            let converted = convert_message(message, &mut source);
            if let Err(problem) = converted {
                problems.push(format!("{name}: `{id}` {problem}"));
            } else if messages.insert(id.to_owned(), source).is_some() {
                problems.push(format!("{name}: `{id}` is defined twice"));
            }
        }
    }
    messages
}

fn convert_message(
    message: &fluent_syntax::ast::Message<&str>,
    source: &mut MessageSource,
) -> Result<(), String> {
    let text = message.value.as_ref().ok_or("has no text")?;
    source.text = convert_pattern(text, &mut source.arguments)?;
    for attribute in &message.attributes {
        let name = attribute.id.name;
        if !ATTRIBUTES.contains(&name) {
            return Err(format!("has an unknown attribute `{name}`"));
        }
        let pattern = convert_pattern(&attribute.value, &mut source.arguments)?;
        source.attributes.insert(name.to_owned(), pattern);
    }
    Ok(())
}

fn convert_pattern(
    pattern: &Pattern<&str>,
    arguments: &mut BTreeSet<String>,
) -> Result<String, String> {
    let mut encoded = String::new();
    for element in &pattern.elements {
        match element {
            PatternElement::TextElement { value } => push_text(&mut encoded, value)?,
            PatternElement::Placeable { expression } => {
                encoded.push_str(&convert_expression(expression, arguments)?);
            }
        }
    }
    Ok(encoded)
}

/// Adds literal text. Fails if it has a control character, which could be a mark of the encoding.
fn push_text(encoded: &mut String, text: &str) -> Result<(), String> {
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err("has a control character".to_owned());
    }
    encoded.push_str(text);
    Ok(())
}

fn convert_expression(
    expression: &Expression<&str>,
    arguments: &mut BTreeSet<String>,
) -> Result<String, String> {
    match expression {
        Expression::Inline(InlineExpression::StringLiteral { value }) => {
            let mut encoded = String::new();
            push_text(&mut encoded, value)?;
            Ok(encoded)
        }
        Expression::Inline(InlineExpression::VariableReference { id }) => {
            arguments.insert(id.name.to_owned());
            Ok(format!(
                "{}{}{}",
                encoding::ARGUMENT,
                id.name,
                encoding::NAME_END
            ))
        }
        Expression::Select {
            selector: InlineExpression::VariableReference { id },
            variants,
        } => {
            arguments.insert(id.name.to_owned());
            let (mut cases, mut other) = (String::new(), String::new());
            for variant in variants {
                let pattern = convert_pattern(&variant.value, arguments)?;
                let key = match &variant.key {
                    VariantKey::Identifier { name } => *name,
                    VariantKey::NumberLiteral { value } => *value,
                };
                if variant.default {
                    other = pattern;
                } else {
                    let _ = write!(
                        cases,
                        "{key}{}{pattern}{}",
                        encoding::NAME_END,
                        encoding::CASE_END
                    );
                }
            }
            Ok(format!(
                "{}{}{}{cases}{other}{}",
                encoding::SELECTION,
                id.name,
                encoding::NAME_END,
                encoding::SELECTION_END
            ))
        }
        _ => Err("uses a construct of Fluent that refusals do not need".to_owned()),
    }
}
