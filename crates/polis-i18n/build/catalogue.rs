//! Message catalogue: reads the Fluent files of all languages and checks that they agree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fluent_syntax::{ast, parser};

use crate::pattern::{TextPiece, collect_arguments, collect_counts, convert_pattern};

/// Languages, the first one being the reference for identifiers and signatures.
pub(crate) const LANGUAGES: [&str; 2] = ["en", "zh"];

/// The texts of the Fluent files: language, area (name of the file without `.ftl`), text.
#[derive(Debug, Default)]
pub(crate) struct CatalogueSource {
    pub(crate) files: Vec<(String, String, String)>,
}

/// All messages, by identifier.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(crate) messages: BTreeMap<String, CatalogueMessage>,
}

/// A message in all languages.
#[derive(Debug)]
pub(crate) struct CatalogueMessage {
    /// Names of its arguments, in the order of the function's parameters.
    pub(crate) arguments: Vec<String>,
    /// The arguments by whose number a text selects.
    pub(crate) counts: BTreeSet<String>,
    /// Its text in each of [`LANGUAGES`].
    pub(crate) texts: Vec<Vec<TextPiece>>,
}

/// A message in one language, as parsed from a file.
struct ParsedMessage {
    pieces: Vec<TextPiece>,
    arguments: BTreeSet<String>,
    /// Arguments in the order in which the comment above the message lists them.
    listed_arguments: Vec<String>,
}

impl CatalogueSource {
    /// Reads `DIRECTORY/LANGUAGE/AREA.ftl`. A language without a directory has no files. Fails with a sentence if a
    /// file cannot be read.
    pub(crate) fn read(directory: &Path) -> Result<Self, String> {
        let mut source = Self::default();
        for language in LANGUAGES {
            let folder = directory.join(language);
            if !folder.exists() {
                continue;
            }
            let failed = |error| format!("{}: {error}", folder.display());
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let area = (name.strip_suffix(".ftl"))
                    .ok_or_else(|| format!("{}: not a Fluent file", path.display()))?;
                let text = fs::read_to_string(&path)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                (source.files).push((language.to_owned(), area.to_owned(), text));
            }
        }
        source.files.sort();
        Ok(source)
    }
}

impl Catalogue {
    /// Parses all files. Fails with all problems found: syntax errors, and differences between the languages.
    pub(crate) fn parse(source: &CatalogueSource) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut parsed: BTreeMap<String, BTreeMap<&str, ParsedMessage>> = BTreeMap::new();
        for (language, area, text) in &source.files {
            for (id, message) in parse_file(language, area, text, &mut problems) {
                let texts = parsed.entry(id.clone()).or_default();
                if texts.insert(language, message).is_some() {
                    problems.push(format!("{language}/{area}.ftl: `{id}` is defined twice"));
                }
            }
        }
        let mut messages = BTreeMap::new();
        for (id, texts) in parsed {
            match combine_languages(texts) {
                Ok(message) => drop(messages.insert(id, message)),
                Err(problem) => problems.push(format!("`{id}` {problem}")),
            }
        }
        if problems.is_empty() {
            Ok(Self { messages })
        } else {
            Err(problems)
        }
    }
}

fn parse_file(
    language: &str,
    area: &str,
    text: &str,
    problems: &mut Vec<String>,
) -> Vec<(String, ParsedMessage)> {
    let resource = match parser::parse(text) {
        Ok(resource) => resource,
        Err((_, errors)) => {
            for error in errors {
                let line = text[..error.pos.start.min(text.len())]
                    .matches('\n')
                    .count()
                    + 1;
                problems.push(format!("{language}/{area}.ftl:{line}: {error}"));
            }
            return Vec::new();
        }
    };
    let mut messages = Vec::new();
    for entry in &resource.body {
        let ast::Entry::Message(message) = entry else {
            continue;
        };
        let id = message.id.name;
        match parse_message(message, language, area) {
            Ok(parsed) => messages.push((id.to_owned(), parsed)),
            Err(problem) => problems.push(format!("{language}/{area}.ftl: `{id}` {problem}")),
        }
    }
    messages
}

fn parse_message(
    message: &ast::Message<&str>,
    language: &str,
    area: &str,
) -> Result<ParsedMessage, String> {
    let id = message.id.name;
    if !(id.strip_prefix(area)).is_some_and(|rest| rest.starts_with('-')) {
        return Err(format!("must begin with `{area}-`, the name of its file"));
    }
    if id.contains('_') || id != id.to_ascii_lowercase() {
        return Err("must be in lower case, with `-` between words".into());
    }
    let (Some(pattern), []) = (&message.value, message.attributes.as_slice()) else {
        return Err("must have a text and no attributes".into());
    };
    let pieces = convert_pattern(pattern, language)?;
    let mut arguments = BTreeSet::new();
    collect_arguments(&pieces, &mut arguments);
    let comment = message.comment.iter().flat_map(|comment| &comment.content);
    Ok(ParsedMessage {
        pieces,
        arguments,
        listed_arguments: comment.flat_map(|line| listed_arguments(line)).collect(),
    })
}

/// Returns the arguments that a comment mentions: `$from, $to: the statuses` lists `from` and `to`.
fn listed_arguments(comment: &str) -> impl Iterator<Item = String> {
    comment.split('$').skip(1).map(|rest| {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
        rest.split(is_end).next().unwrap_or("").replace('-', "_")
    })
}

/// Combines the texts of a message in all languages. Fails with the end of a sentence if they do not agree.
fn combine_languages(mut texts: BTreeMap<&str, ParsedMessage>) -> Result<CatalogueMessage, String> {
    let mut in_order = Vec::new();
    for language in LANGUAGES {
        let text = texts.remove(language);
        in_order.push(text.ok_or_else(|| format!("is missing in `{language}`"))?);
    }
    let [reference, others @ ..] = in_order.as_slice() else {
        return Err("has no language".into());
    };
    if others
        .iter()
        .any(|other| other.arguments != reference.arguments)
    {
        return Err("has different arguments in different languages".into());
    }
    let mut counts = BTreeSet::new();
    for text in &in_order {
        collect_counts(&text.pieces, &mut counts);
    }
    Ok(CatalogueMessage {
        arguments: order_arguments(reference)?,
        counts,
        texts: in_order.into_iter().map(|text| text.pieces).collect(),
    })
}

/// Returns the arguments in the order of the comment. A message with several arguments needs one: the order of
/// the function's parameters must not change when a text is reworded.
fn order_arguments(reference: &ParsedMessage) -> Result<Vec<String>, String> {
    let sorted: Vec<String> = reference.arguments.iter().cloned().collect();
    let listed = &reference.listed_arguments;
    if listed.is_empty() && sorted.len() <= 1 {
        return Ok(sorted);
    }
    let is_complete = listed.len() == sorted.len()
        && listed
            .iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .eq(&sorted);
    if is_complete {
        Ok(listed.clone())
    } else {
        let names = sorted.join(", $");
        Err(format!(
            "needs a comment in `{}` that lists each argument once: ${names}",
            LANGUAGES[0]
        ))
    }
}
