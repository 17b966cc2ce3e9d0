//! Handling of unknown arguments in a model's calls: they are ignored and named in the result, unless one is a misspelt
//! parameter.
//!
//! Some clients add arguments of their own to every call (Gemini CLI's `wait_for_previous`), so refusing them would
//! refuse every call. A misspelt parameter is still refused: `version` instead of `expectedVersion`, if ignored, would
//! overwrite what it was meant to protect. The HTTP API is used by programs and refuses both.

use polis_core::id::quoted;
use polis_core::{Code, Refusal};
use serde_json::{Map, Value};

use super::{Answer, Tool};

/// Member of a result's document that lists the ignored arguments.
const IGNORED: &str = "ignored";
/// Maximum number of ignored arguments that are named.
const MAX_NAMED: usize = 20;
/// Maximum number of unknown arguments compared with the parameters, and characters compared of each: a call may have
/// millions of them.
const MAX_COMPARED: usize = 100;
const MAX_NAME_CHARS: usize = 64;

/// Arguments of a call that the tool does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredArguments(Vec<String>);

impl Tool {
    /// Removes the arguments that this tool does not have from a model's call.
    ///
    /// Fails with `invalid_input` if one of them is a misspelling of a parameter that is not given.
    pub fn take_unknown(
        &self,
        arguments: &mut Map<String, Value>,
    ) -> Result<IgnoredArguments, Refusal> {
        let known = (self.parameters)();
        let unknown = |name: &&String| !known.contains(&name.as_str());
        let unknown: Vec<String> = arguments.keys().filter(unknown).cloned().collect();
        for name in unknown.iter().take(MAX_COMPARED) {
            let missing = known
                .iter()
                .filter(|known| !arguments.contains_key(**known));
            if let Some(meant) = meant_parameter(name, missing.copied()) {
                return Err(Refusal::new(
                    Code::InvalidInput,
                    format!(
                        "There is no parameter {}; did you mean {}?",
                        quoted(name),
                        quoted(meant)
                    ),
                    format!("call it again with {meant}, or leave the argument out"),
                ));
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
    pub fn note(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let named = self.named();
        let more = match self.0.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "ignored unknown arguments: {}{more}",
            named.join(", ")
        ))
    }

    /// Names them in a result: in the text and in the document, since some clients show only one of the two.
    pub fn add_to(&self, answer: &mut Answer) {
        let Some(note) = self.note() else {
            return;
        };
        answer.text.push_str(&format!("\n[{note}]"));
        if let Some(document) = answer.document.as_object_mut() {
            document.insert(IGNORED.to_owned(), self.named().into());
        }
    }

    /// Returns the names to show, up to the maximum. A name that is not an identifier is quoted, since its content is
    /// untrusted.
    fn named(&self) -> Vec<String> {
        let is_identifier = |name: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.len() <= MAX_NAME_CHARS && !name.is_empty() && name.chars().all(plain)
        };
        let shown = |name: &String| match is_identifier(name) {
            true => name.clone(),
            false => quoted(name),
        };
        self.0.iter().take(MAX_NAMED).map(shown).collect()
    }
}

/// Returns the parameter that an unknown argument is a misspelling of, if any.
fn meant_parameter<'a>(name: &str, parameters: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given = words(name);
    parameters
        .filter(|parameter| is_misspelling(&given, &words(parameter)))
        .min_by_key(|parameter| {
            strsim::damerau_levenshtein(&given.concat(), &words(parameter).concat())
        })
}

/// Returns whether one name is the other in a different style (`task_id`), with words missing or added (`version` for
/// `expectedVersion`), or with one or two typing errors.
fn is_misspelling(given: &[String], parameter: &[String]) -> bool {
    let all_in = |some: &[String], others: &[String]| {
        !some.is_empty() && some.iter().all(|word| others.contains(word))
    };
    if all_in(given, parameter) || all_in(parameter, given) {
        return true;
    }
    let (given, parameter) = (given.concat(), parameter.concat());
    // Names of three or four letters are similar by coincidence.
    let slips = match parameter.len() {
        0..5 => 0,
        5..8 => 1,
        _ => 2,
    };
    strsim::damerau_levenshtein(&given, &parameter) <= slips
}

/// Returns the words of a name in lower case: `expectedVersion` and `expected_version` give the same words.
fn words(name: &str) -> Vec<String> {
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

    fn taken(tool: &str, arguments: Value) -> Result<(Value, IgnoredArguments), Refusal> {
        let Value::Object(mut arguments) = arguments else {
            panic!("arguments are an object");
        };
        let ignored = Tool::find(tool)?.take_unknown(&mut arguments)?;
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
                let (left, ignored) = taken(tool.name, json!({ added: true })).unwrap();
                assert_eq!(left, json!({}), "{}", tool.name);
                let note = ignored.note().unwrap();
                assert_eq!(note, format!("ignored unknown arguments: {added}"));
            }
        }
    }

    #[test]
    fn misspelt_parameters_are_refused_with_the_right_name() {
        for (tool, given, meant) in [
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
            let refusal = taken(tool, json!({ given: 1 })).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput);
            let wanted = format!("There is no parameter \"{given}\"; did you mean \"{meant}\"?");
            assert_eq!(refusal.message, wanted, "{tool}");
        }
    }

    #[test]
    fn misspelling_of_a_given_parameter_is_ignored() {
        let (left, ignored) = taken("TaskGet", json!({ "taskId": "1", "task_id": "1" })).unwrap();
        assert_eq!(left, json!({ "taskId": "1" }));
        assert!(ignored.note().is_some());
    }

    #[test]
    fn known_parameters_and_their_other_names_stay() {
        let given = json!({ "role": "x", "brief": "y" });
        let (left, ignored) = taken("spawn_agent", given.clone()).unwrap();
        assert_eq!((left, ignored.note()), (given, None));
    }

    #[test]
    fn every_parameter_of_the_schema_is_known() {
        for tool in crate::tool::TOOLS {
            let schema = (tool.input)();
            let properties = schema.get("properties").and_then(Value::as_object);
            for name in properties.into_iter().flatten().map(|(name, _)| name) {
                let known = (tool.parameters)();
                assert!(known.contains(&name.as_str()), "{} {name}", tool.name);
            }
        }
    }

    #[test]
    fn many_and_hostile_names_are_bounded() {
        let mut many = Map::new();
        for n in 0..10_000 {
            many.insert(format!("`{n}\n{}", "x".repeat(300)), Value::Null);
        }
        let (_, ignored) = taken("TaskList", Value::Object(many)).unwrap();
        let note = ignored.note().unwrap();
        assert!(note.ends_with(" and 9980 more"), "{note}");
        assert!(note.len() < 8_000 && !note.contains('\n'), "{note}");
    }
}
