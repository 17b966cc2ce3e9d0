//! Definitions: texts that are found by the name of what they define, such as a command, a configuration key or a
//! tool, and by a part of it, such as an argument.
//!
//! They are static data, sorted by id, so a program that shows none pays nothing.

use crate::UiLanguage;

include!(concat!(env!("OUT_DIR"), "/definitions.rs"));

/// Texts of one name in one language.
#[derive(Debug)]
pub struct Definition {
    id: &'static str,
    text: Option<&'static str>,
    attributes: &'static [(&'static str, &'static str)],
}

impl Definition {
    /// Returns the name, in the spelling of the file.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Returns the text of the name itself; `None` if only its parts have texts.
    pub fn text(&self) -> Option<&'static str> {
        self.text
    }

    /// Returns the text of a part.
    pub fn attribute(&self, name: &str) -> Option<&'static str> {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(own_name, _)| *own_name == name)
            .map(|(_, text)| *text)
    }

    /// Returns the names and texts of all parts, sorted by name.
    pub fn attributes(&self) -> &'static [(&'static str, &'static str)] {
        self.attributes
    }
}

/// Returns all definitions of a table in a language, sorted by id. A table that is only in another language has
/// none.
pub fn definitions(table: DefinitionTable, lang: UiLanguage) -> &'static [Definition] {
    table.definitions(lang)
}

/// Returns the definition of a name, if the table has it in the language.
pub fn find_definition(
    table: DefinitionTable,
    lang: UiLanguage,
    id: &str,
) -> Option<&'static Definition> {
    let definitions = table.definitions(lang);
    let found = definitions.binary_search_by(|definition| definition.id.cmp(id));
    found.ok().and_then(|index| definitions.get(index))
}

/// Returns the text of a name, or that of a part of it.
pub fn definition_text(
    table: DefinitionTable,
    lang: UiLanguage,
    id: &str,
    attribute: Option<&str>,
) -> Option<&'static str> {
    let definition = find_definition(table, lang, id)?;
    match attribute {
        Some(name) => definition.attribute(name),
        None => definition.text(),
    }
}
