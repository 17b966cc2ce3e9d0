//! Parser of serde's errors about parameters: turns their English sentences into `ParameterProblem`s.
//!
//! The problems and the ids of their messages are in `refusal_tables`. An error in an unknown form keeps its
//! text.

use polis_core::refusal::Reason;

use crate::refusal_tables::ParameterProblem;

/// Errors of types that accept several forms (`expecting` of serde): the message of each.
const EXPECTED_FORMS: [(&str, ParameterProblem); 3] = [
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
];

/// Returns the problem that an error of serde describes.
pub(super) fn parse_problem(error: &str) -> Reason {
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
    fn unknown_error_keeps_its_text() {
        let problem = parse_problem("recursion limit exceeded, expected nothing");
        let text = render_reason(&problem, Surface::Tool, UiLanguage::Zh).message;
        assert_eq!(text, "recursion limit exceeded, expected nothing");
    }
}
