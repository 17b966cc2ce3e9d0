//! Handling of unknown arguments in a model's calls: they are ignored and named in the result, unless one is
//! a misspelt parameter.
//!
//! Some clients add arguments of their own to every call (Gemini CLI's `wait_for_previous`), so refusing them
//! would refuse every call. A misspelt parameter is still refused: `version` instead of `expectedVersion`, if
//! ignored, would overwrite what it was meant to protect. The HTTP API is used by programs and refuses both.

use polis_core::Refusal;
use polis_core::id::quote_untrusted;
use polis_i18n::{UiLanguage, msg};
use serde_json::{Map, Value};

use super::{Tool, ToolOutput};
use crate::refusal_tables::ToolRefusal;

/// Member of a result's document that lists the ignored arguments.
const IGNORED_MEMBER: &str = "ignored";
/// Maximum number of ignored arguments that are named.
const MAX_NAMED: usize = 20;
/// Maximum number of unknown arguments compared with the parameters, and characters compared of each: a call
/// may have millions of them.
const MAX_COMPARED: usize = 100;
const MAX_NAME_CHARS: usize = 64;

/// Arguments of a call that the tool does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredArguments(Vec<String>);

impl Tool {
    /// Removes the arguments that this tool does not have from a model's call.
    ///
    /// Fails with `invalid_input` if one of them is a misspelling of a parameter that is not given.
    pub fn remove_unknown_arguments(
        &self,
        arguments: &mut Map<String, Value>,
    ) -> Result<IgnoredArguments, Refusal> {
        let parameters = (self.parameter_names)();
        let unknown = |name: &&String| !parameters.contains(&name.as_str());
        let unknown: Vec<String> = arguments.keys().filter(unknown).cloned().collect();
        for name in unknown.iter().take(MAX_COMPARED) {
            let missing = parameters
                .iter()
                .filter(|parameter| !arguments.contains_key(**parameter));
            if let Some(parameter) = closest_parameter(name, missing.copied()) {
                return Err(Refusal::from(ToolRefusal::MisspeltParameter {
                    name: quote_untrusted(name),
                    parameter: quote_untrusted(parameter),
                    suggestion: parameter.to_owned(),
                }));
            }
        }
        for name in &unknown {
            arguments.remove(name);
        }
        Ok(IgnoredArguments(unknown))
    }
}

impl IgnoredArguments {
    /// Returns a sentence that names them, if there are any.
    pub fn ignored_note(&self, lang: UiLanguage) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let names = self.shown_names().join(msg::common_list_separator(lang));
        let names = match self.0.len().saturating_sub(MAX_NAMED) {
            0 => names,
            more => msg::tool_result_and_more(lang, names, more),
        };
        Some(msg::tool_result_ignored_arguments(lang, names))
    }

    /// Names them in a result: in the text and in the document, since some clients show only one of the two.
    pub fn add_note_to(&self, answer: &mut ToolOutput, lang: UiLanguage) {
        let Some(note) = self.ignored_note(lang) else {
            return;
        };
        answer.text.push_str(&format!("\n[{note}]"));
        if let Some(document) = answer.document.as_object_mut() {
            document.insert(IGNORED_MEMBER.to_owned(), self.shown_names().into());
        }
    }

    /// Returns the names to show, up to the maximum. A name that is not an identifier is quoted, since its
    /// content is untrusted.
    fn shown_names(&self) -> Vec<String> {
        let is_identifier = |name: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.len() <= MAX_NAME_CHARS && !name.is_empty() && name.chars().all(plain)
        };
        let display_name = |name: &String| {
            if is_identifier(name) {
                name.clone()
            } else {
                quote_untrusted(name)
            }
        };
        self.0.iter().take(MAX_NAMED).map(display_name).collect()
    }
}

/// Returns the parameter that an unknown argument is a misspelling of, if any.
fn closest_parameter<'a>(name: &str, parameters: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let argument_words = name_words(name);
    parameters
        .filter(|parameter| is_misspelling(&argument_words, &name_words(parameter)))
        .min_by_key(|parameter| {
            strsim::damerau_levenshtein(&argument_words.concat(), &name_words(parameter).concat())
        })
}

/// Returns whether one name is the other in a different style (`task_id`), with words missing or added
/// (`version` for `expectedVersion`), or with one or two typing errors.
fn is_misspelling(argument: &[String], parameter: &[String]) -> bool {
    let contains_all = |words: &[String], others: &[String]| {
        !words.is_empty() && words.iter().all(|word| others.contains(word))
    };
    if contains_all(argument, parameter) || contains_all(parameter, argument) {
        return true;
    }
    let (argument, parameter) = (argument.concat(), parameter.concat());
    // Names of three or four letters are similar by coincidence.
    let max_typos = match parameter.len() {
        0..5 => 0,
        5..8 => 1,
        _ => 2,
    };
    strsim::damerau_levenshtein(&argument, &parameter) <= max_typos
}

/// Returns the words of a name in lower case: `expectedVersion` and `expected_version` give the same words.
fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for character in name.chars().take(MAX_NAME_CHARS) {
        if !character.is_alphanumeric() {
            begins = true;
            continue;
        }
        begins |= character.is_uppercase();
        if begins {
            words.push(String::new());
            begins = false;
        }
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use polis_core::RefusalCode;

    fn remove_unknown(tool: &str, arguments: Value) -> Result<(Value, IgnoredArguments), Refusal> {
        let Value::Object(mut arguments) = arguments else {
            panic!("arguments are an object");
        };
        let ignored = Tool::find(tool)?.remove_unknown_arguments(&mut arguments)?;
        Ok((Value::Object(arguments), ignored))
    }

    #[test]
    fn arguments_that_clients_add_are_ignored_and_named() {
        // Gemini CLI, Cursor, Cline, Codex, Windsurf.
        for added in [
            "wait_for_previous",
            "random_string",
            "task_progress",
            "justification",
            "toolSummary",
            "explanation",
        ] {
            for tool in crate::tool::TOOLS {
                let (left, ignored) = remove_unknown(tool.name, json!({ added: true })).unwrap();
                assert_eq!(left, json!({}), "{}", tool.name);
                let note = ignored.ignored_note(UiLanguage::En).unwrap();
                assert_eq!(note, format!("ignored unknown arguments: {added}"));
            }
        }
    }

    #[test]
    fn misspelt_parameters_are_refused_with_the_right_name() {
        for (tool, given, parameter) in [
            ("TaskGet", "task_id", "taskId"),
            ("TaskGet", "taskid", "taskId"),
            ("TaskGet", "id", "taskId"),
            ("TaskUpdate", "expected_version", "expectedVersion"),
            ("TaskUpdate", "version", "expectedVersion"),
            ("TaskUpdate", "expectedVerison", "expectedVersion"),
            ("TaskUpdate", "add_blocked_by", "addBlockedBy"),
            ("whiteboard_write", "contents", "content"),
            ("run_command", "timeout", "timeoutMs"),
            ("run_command", "timeout_ms", "timeoutMs"),
            ("read_file", "start_line", "startLine"),
            ("edit_file", "old_text", "oldText"),
        ] {
            let refusal = remove_unknown(tool, json!({ given: 1 })).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::INVALID_INPUT);
            let suggestion = refusal.reason.arg("suggestion").unwrap().to_string();
            assert_eq!(suggestion, parameter, "{tool}: {given}");
        }
    }

    #[test]
    fn misspelling_of_a_given_parameter_is_ignored() {
        let (left, ignored) =
            remove_unknown("TaskGet", json!({ "taskId": "1", "task_id": "1" })).unwrap();
        assert_eq!(left, json!({ "taskId": "1" }));
        assert!(ignored.ignored_note(UiLanguage::En).is_some());
    }

    #[test]
    fn known_parameters_and_aliases_are_kept() {
        let arguments = json!({ "role": "x", "brief": "y" });
        let (left, ignored) = remove_unknown("spawn_agent", arguments.clone()).unwrap();
        assert_eq!(
            (left, ignored.ignored_note(UiLanguage::En)),
            (arguments, None)
        );
    }

    #[test]
    fn every_parameter_of_the_schema_is_known() {
        for tool in crate::tool::TOOLS {
            let schema = (tool.input_schema)();
            let properties = schema.get("properties").and_then(Value::as_object);
            for name in properties.into_iter().flatten().map(|(name, _)| name) {
                let parameters = (tool.parameter_names)();
                assert!(parameters.contains(&name.as_str()), "{} {name}", tool.name);
            }
        }
    }

    #[test]
    fn many_and_hostile_names_are_bounded() {
        let mut many = Map::new();
        for n in 0..10_000 {
            many.insert(format!("`{n}\n{}", "x".repeat(300)), Value::Null);
        }
        let (_, ignored) = remove_unknown("TaskList", Value::Object(many)).unwrap();
        let note = ignored.ignored_note(UiLanguage::En).unwrap();
        assert!(note.ends_with(" and 9980 more"), "{note}");
        assert!(note.len() < 8_000 && !note.contains('\n'), "{note}");
    }
}
