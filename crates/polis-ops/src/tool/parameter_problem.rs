//! Parser of the errors of serde and serde_json: turns their English sentences into `ParameterProblem`s and
//! `JsonProblem`s.
//!
//! The problems and the ids of their messages are in `refusal_tables`. An error in an unknown form keeps its
//! text.

use polis_core::refusal::Reason;

use crate::refusal_tables::{JsonProblem, ParameterProblem};

/// Errors of types that accept several forms (`expecting` of serde), and of times: the message of each.
const EXPECTED_FORMS: [(&str, ParameterProblem); 4] = [
    (
        "expected a brief: an object with objective, constraints, inputs, outputs, completionCriteria",
        ParameterProblem::BriefExpected,
    ),
    (
        "expected an agent's id, `user`, `role:ROLE`, or a list of these",
        ParameterProblem::RecipientExpected,
    ),
    (
        "expected a text or a list of texts",
        ParameterProblem::TextsExpected,
    ),
    ("not an ISO 8601 time", ParameterProblem::TimeExpected),
];

/// Errors of serde_json about syntax: the problem of each.
const SYNTAX_ERRORS: [(&str, JsonProblem); 21] = [
    ("EOF while parsing a list", JsonProblem::ListUnclosed),
    ("EOF while parsing an object", JsonProblem::ObjectUnclosed),
    ("EOF while parsing a string", JsonProblem::StringUnclosed),
    ("EOF while parsing a value", JsonProblem::ValueMissing),
    ("expected `:`", JsonProblem::ColonExpected),
    ("expected `,` or `]`", JsonProblem::ListEndExpected),
    ("expected `,` or `}`", JsonProblem::ObjectEndExpected),
    ("expected ident", JsonProblem::WordExpected),
    ("expected value", JsonProblem::ValueExpected),
    ("expected `\"`", JsonProblem::QuoteExpected),
    ("invalid escape", JsonProblem::InvalidEscape),
    ("invalid number", JsonProblem::InvalidNumber),
    ("number out of range", JsonProblem::NumberOutOfRange),
    ("invalid unicode code point", JsonProblem::InvalidCodePoint),
    (
        "control character (\\u0000-\\u001F) found while parsing a string",
        JsonProblem::ControlCharacter,
    ),
    ("key must be a string", JsonProblem::KeyNotAString),
    (
        "lone leading surrogate in hex escape",
        JsonProblem::LoneSurrogate,
    ),
    (
        "unexpected end of hex escape",
        JsonProblem::HexEscapeUnclosed,
    ),
    ("trailing comma", JsonProblem::TrailingComma),
    ("trailing characters", JsonProblem::TrailingCharacters),
    ("recursion limit exceeded", JsonProblem::TooDeep),
];

/// Returns the problem that an error of serde_json describes, with its position.
pub fn describe_json_error(error: &str) -> Reason {
    let Some((error, line, column)) = split_position(error) else {
        return parse_problem(error);
    };
    JsonProblem::At {
        problem: parse_problem(error),
        line: line.to_owned(),
        column: column.to_owned(),
    }
    .into()
}

/// Splits an error of serde_json into its text, line and column.
fn split_position(error: &str) -> Option<(&str, &str, &str)> {
    let (text, position) = error.rsplit_once(" at line ")?;
    let (line, column) = position.split_once(" column ")?;
    let is_number = |text: &str| text.parse::<usize>().is_ok();
    (is_number(line) && is_number(column)).then_some((text, line, column))
}

/// Returns the problem that an error of serde describes.
pub(super) fn parse_problem(error: &str) -> Reason {
    if let Some((_, problem)) = SYNTAX_ERRORS.iter().find(|(text, _)| *text == error) {
        return problem.clone().into();
    }
    let form = EXPECTED_FORMS.iter().find(|(text, _)| *text == error);
    let problem = form
        .map(|(_, problem)| problem.clone())
        .or_else(|| parse_known_form(error));
    problem.map_or_else(|| other_text(error), Reason::from)
}

fn other_text(text: &str) -> Reason {
    let text = text.to_owned();
    ParameterProblem::Other { text }.into()
}

fn parse_known_form(error: &str) -> Option<ParameterProblem> {
    if let Some(name) = error.strip_prefix("missing field ") {
        let name = name.to_owned();
        return Some(ParameterProblem::MissingField { name });
    }
    let (problem, expected) = error.rsplit_once(", expected ")?;
    let (kind, found) = problem.split_once(": ").unwrap_or((problem, ""));
    if let Some(name) = problem.strip_prefix("unknown field ") {
        return Some(ParameterProblem::UnknownField {
            name: name.to_owned(),
            expected: parse_alternatives(expected),
        });
    }
    if let Some(name) = problem.strip_prefix("unknown variant ") {
        return Some(ParameterProblem::UnknownVariant {
            name: name.to_owned(),
            expected: parse_alternatives(expected),
        });
    }
    let (found, expected) = (parse_found(found), parse_expected(expected));
    match kind {
        "invalid type" => Some(ParameterProblem::InvalidType { found, expected }),
        "invalid value" => Some(ParameterProblem::InvalidValue { found, expected }),
        _ => None,
    }
}

/// Reads the names that are possible: `a`, `a` or `b`, one of `a`, `b`, `c`.
fn parse_alternatives(expected: &str) -> Reason {
    if let Some(names) = expected.strip_prefix("one of ") {
        let names = names.to_owned();
        return ParameterProblem::OneOf { names }.into();
    }
    match expected.split_once("` or `") {
        Some((first, second)) => ParameterProblem::Either {
            first: format!("{first}`"),
            second: format!("`{second}"),
        }
        .into(),
        None => other_text(expected),
    }
}

/// Reads the value that was found: integer `5`, string "x", map.
fn parse_found(found: &str) -> Reason {
    if ["null", "sequence", "map"].contains(&found) {
        let kind = found.to_owned();
        return ParameterProblem::FoundKind { kind }.into();
    }
    let kinds = [
        ("boolean ", "boolean"),
        ("integer ", "integer"),
        ("floating point ", "number"),
        ("string ", "string"),
    ];
    let known = kinds
        .iter()
        .find_map(|(prefix, kind)| Some((kind, found.strip_prefix(prefix)?)));
    known.map_or_else(
        || other_text(found),
        |(kind, value)| {
            let (kind, value) = ((*kind).to_owned(), value.to_owned());
            ParameterProblem::FoundValue { kind, value }.into()
        },
    )
}

/// Reads what was expected: a type of JSON, or a number of Rust.
fn parse_expected(expected: &str) -> Reason {
    let kinds = [
        ("a string", "string"),
        ("a boolean", "boolean"),
        ("a sequence", "sequence"),
        ("a map", "map"),
        ("an object", "object"),
        ("string or map", "name"),
        ("map with a single key", "single-key-map"),
        ("a JSON object", "json-object"),
        ("a JSON string", "json-string"),
    ];
    if let Some((_, kind)) = kinds.iter().find(|(text, _)| *text == expected) {
        let kind = (*kind).to_owned();
        return ParameterProblem::ExpectedKind { kind }.into();
    }
    let integers = ["i32", "i64", "u8", "u16", "u32", "u64", "usize"];
    if integers.contains(&expected) {
        let name = expected.to_owned();
        return ParameterProblem::ExpectedInteger { name }.into();
    }
    other_text(expected)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use polis_i18n::{Surface, UiLanguage, render_reason};
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are used")]
    struct Params {
        count: u32,
        name: Option<String>,
        kind: Option<Kind>,
        list: Option<Vec<bool>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Short,
        Long,
    }

    fn error_text<T: DeserializeOwned>(value: Value) -> String {
        match serde_json::from_value::<T>(value) {
            Ok(_) => panic!("the value is accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn serde_error_is_the_same_in_english_and_translated_to_chinese() {
        for (value, chinese) in [
            (json!({}), "缺少字段 `count`"),
            (
                json!({ "count": "x" }),
                "类型无效：字符串 \"x\"，应为整数（u32）",
            ),
            (json!({ "count": -1 }), "值无效：整数 `-1`，应为整数（u32）"),
            (
                json!({ "count": 1.5 }),
                "类型无效：数字 `1.5`，应为整数（u32）",
            ),
            (json!({ "count": null }), "类型无效：null，应为整数（u32）"),
            (
                json!({ "count": 1, "name": true }),
                "类型无效：布尔值 `true`，应为字符串",
            ),
            (
                json!({ "count": 1, "list": {} }),
                "类型无效：对象，应为数组",
            ),
            (
                json!({ "count": 1, "list": [[]] }),
                "类型无效：数组，应为布尔值",
            ),
            (
                json!({ "count": 1, "kind": "x" }),
                "未知的值 `x`，应为 `short` 或 `long`",
            ),
            (
                json!({ "count": 1, "other": 1 }),
                "未知字段 `other`，应为以下之一：`count`, `name`, `kind`, `list`",
            ),
        ] {
            let error = error_text::<Params>(value);
            let problem = parse_problem(&error);
            let text = |lang| render_reason(&problem, Surface::Tool, lang).message;
            assert_eq!(text(UiLanguage::En), error);
            assert_eq!(text(UiLanguage::Zh), chinese);
        }
    }

    #[test]
    fn errors_of_types_with_several_forms_are_translated() {
        use polis_core::message::SendMessageParams;
        use polis_core::society::hire::SpawnAgentParams;
        let brief = error_text::<SpawnAgentParams>(json!({ "taskBrief": 5 }));
        let list = json!({ "objective": "x", "constraints": 5 });
        let texts = error_text::<polis_core::society::brief::TaskBrief>(list);
        let recipient = error_text::<SendMessageParams>(json!({ "to": 5, "payload": "x" }));
        for error in [brief, texts, recipient] {
            let problem = parse_problem(&error);
            let text = |lang| render_reason(&problem, Surface::Tool, lang).message;
            assert_eq!(text(UiLanguage::En), error);
            assert!(text(UiLanguage::Zh).starts_with("应为"), "{error}");
        }
    }

    #[test]
    fn json_error_is_the_same_in_english_and_translated_to_chinese() {
        use polis_core::RawObject;
        for (text, chinese) in [
            ("[1]", "类型无效：数组，应为 JSON 对象（第 1 行第 0 列）"),
            ("5", "类型无效：整数 `5`，应为 JSON 对象（第 1 行第 1 列）"),
            ("", "文本在值之前结束（第 1 行第 0 列）"),
            ("{", "对象没有结束（第 1 行第 1 列）"),
            ("{\"a\":[1", "数组没有结束（第 1 行第 7 列）"),
            ("{a}", "键应为字符串（第 1 行第 2 列）"),
            ("{\"a\" 1}", "应为 `:`（第 1 行第 6 列）"),
            ("{\"a\":1 2}", "应为 `,` 或 `}`（第 1 行第 8 列）"),
            (
                "{\"a\":tru}",
                "应为 `true`、`false` 或 `null`（第 1 行第 9 列）",
            ),
            ("{\"a\":x}", "应为一个值（第 1 行第 6 列）"),
            ("{\"a\":1,}", "末尾多出逗号（第 1 行第 8 列）"),
            ("{}\n1", "值之后还有其他字符（第 2 行第 1 列）"),
            (
                "{\"a\n\":1}",
                "字符串含有控制字符（\\u0000-\\u001F）（第 2 行第 0 列）",
            ),
        ] {
            let error = serde_json::from_str::<RawObject>(text)
                .unwrap_err()
                .to_string();
            let problem = describe_json_error(&error);
            let text = |lang| render_reason(&problem, Surface::Cli, lang).message;
            assert_eq!(text(UiLanguage::En), error);
            assert_eq!(text(UiLanguage::Zh), chinese, "{error}");
        }
    }

    /// Returns the texts of all `expecting` methods in a directory of source code.
    fn expecting_texts(directory: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                expecting_texts(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                for method in source.split("fn expecting(&self").skip(1) {
                    let text = method.split('"').nth(1).unwrap();
                    found.push(text.to_owned());
                }
            }
        }
    }

    #[test]
    fn expectation_of_every_visitor_of_the_workspace_is_known() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut found = Vec::new();
        for entry in std::fs::read_dir(crates).unwrap() {
            let sources = entry.unwrap().path().join("src");
            // The text above is not a method.
            if sources.is_dir() && !sources.starts_with(env!("CARGO_MANIFEST_DIR")) {
                expecting_texts(&sources, &mut found);
            }
        }
        assert!(found.len() >= 6, "{found:?}");
        for text in found {
            let problem = parse_expected(&text);
            assert_ne!(problem.id(), "tool-other-problem", "{text}");
            let render = |lang| render_reason(&problem, Surface::Tool, lang).message;
            assert_eq!(render(UiLanguage::En), text);
            assert_ne!(render(UiLanguage::Zh), text);
        }
    }

    #[test]
    fn unknown_error_keeps_its_text() {
        let problem = parse_problem("recursion limit exceeded, expected nothing");
        let text = render_reason(&problem, Surface::Tool, UiLanguage::Zh).message;
        assert_eq!(text, "recursion limit exceeded, expected nothing");
    }
}
