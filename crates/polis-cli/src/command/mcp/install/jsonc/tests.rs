//! Tests of the JSONC editor: exact texts before and after an edit.

use polis_core::refusal::Reason;
use serde_json::json;

use super::*;
use crate::command::mcp::install::entry_edit::ConfigFormat;

const LENIENT_DIALECT: JsonDialect = JsonDialect {
    comments: true,
    trailing_commas: true,
    byte_order_mark: true,
};
const STRICT_DIALECT: JsonDialect = JsonDialect {
    comments: false,
    trailing_commas: false,
    byte_order_mark: false,
};

fn sample_fields() -> Vec<EntryField> {
    vec![("command", json!("p")), ("args", json!(["mcp", "x"]))]
}

fn set_sample_entry(text: &str) -> String {
    let done = ConfigFormat::Json(LENIENT_DIALECT).set_fields(
        text,
        &["servers", "polis"],
        &sample_fields(),
    );
    let done = done.unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
    let again = ConfigFormat::Json(LENIENT_DIALECT).set_fields(
        &done,
        &["servers", "polis"],
        &sample_fields(),
    );
    assert_eq!(again.unwrap(), done, "a second time changes nothing");
    done
}

fn remove_sample_entry(text: &str) -> String {
    ConfigFormat::Json(LENIENT_DIALECT)
        .remove_entry(text, &["servers", "polis"])
        .unwrap()
}

#[test]
fn new_entry_is_formatted_like_neighbours() {
    for (before, after) in [
        (
            "",
            "{\n  \"servers\": {\n    \"polis\": {\n      \"command\": \"p\",\n      \"args\": [\"mcp\", \"x\"]\n    }\n  }\n}\n",
        ),
        (
            "// nothing yet",
            "// nothing yet\n{\n  \"servers\": {\n    \"polis\": {\n      \"command\": \"p\",\n      \"args\": [\"mcp\", \"x\"]\n    }\n  }\n}\n",
        ),
        (
            "{}",
            "{\n  \"servers\": {\n    \"polis\": {\n      \"command\": \"p\",\n      \"args\": [\"mcp\", \"x\"]\n    }\n  }\n}",
        ),
        // Indentation of four spaces, another server, a comment after it.
        (
            "{\n    \"servers\": {\n        \"a\": {} // why\n        // and how\n    },\n    \"z\": 1\n}\n",
            "{\n    \"servers\": {\n        \"a\": {}, // why\n        // and how\n        \"polis\": {\n            \"command\": \"p\",\n            \"args\": [\"mcp\", \"x\"]\n        }\n    },\n    \"z\": 1\n}\n",
        ),
        // Tabs and a trailing comma.
        (
            "{\n\t\"servers\": {\n\t\t\"a\": [1,],\n\t},\n}\n",
            "{\n\t\"servers\": {\n\t\t\"a\": [1,],\n\t\t\"polis\": {\n\t\t\t\"command\": \"p\",\n\t\t\t\"args\": [\"mcp\", \"x\"]\n\t\t},\n\t},\n}\n",
        ),
        // A text on one line stays on one line.
        (
            "{\"servers\":{\"a\":1}}",
            "{\"servers\":{\"a\":1, \"polis\": {\"command\": \"p\", \"args\": [\"mcp\", \"x\"]}}}",
        ),
        (
            "{\"z\":1,\"servers\":{}}",
            "{\"z\":1,\"servers\":{\"polis\": {\"command\": \"p\", \"args\": [\"mcp\", \"x\"]}}}",
        ),
        (
            "{ \"servers\": { \"a\": 1, /* last */ } }",
            "{ \"servers\": { \"a\": 1, /* last */ \"polis\": {\"command\": \"p\", \"args\": [\"mcp\", \"x\"]}, } }",
        ),
        // An empty table with a comment in it, and an unusual position of the closing bracket.
        (
            "{\r\n  \"servers\": { // none\r\n  }, \"b\": \"}\\\"//\" }",
            "{\r\n  \"servers\": { // none\r\n    \"polis\": {\r\n      \"command\": \"p\",\r\n      \"args\": [\"mcp\", \"x\"]\r\n    }\r\n  }, \"b\": \"}\\\"//\" }",
        ),
        (
            "{\n  \"b\": 2 }",
            "{\n  \"b\": 2,\n  \"servers\": {\n    \"polis\": {\n      \"command\": \"p\",\n      \"args\": [\"mcp\", \"x\"]\n    }\n  }\n}",
        ),
        // A byte order mark, non-ASCII text, an escaped key.
        (
            "\u{feff}{\n  \"s\\u0065rvers\": {\n    \"服务器 😀\": null\n  }\n}",
            "\u{feff}{\n  \"s\\u0065rvers\": {\n    \"服务器 😀\": null,\n    \"polis\": {\n      \"command\": \"p\",\n      \"args\": [\"mcp\", \"x\"]\n    }\n  }\n}",
        ),
        // Of two tables with the same name the last counts.
        (
            "{\n  \"servers\": {\"a\": 1},\n  \"servers\": {\"b\": 2}\n}",
            "{\n  \"servers\": {\"a\": 1},\n  \"servers\": {\"b\": 2, \"polis\": {\"command\": \"p\", \"args\": [\"mcp\", \"x\"]}}\n}",
        ),
    ] {
        assert_eq!(set_sample_entry(before), after, "{before:?}");
    }
}

#[test]
fn existing_entry_keeps_foreign_fields() {
    let before = "{\n  \"servers\": {\n    \"polis\": {\n      // mine\n      \"env\": {\"A\": \"1\"},\n      \
                  \"args\": [\n        \"mcp\"\n      ], // old\n      \"command\": \"q\"\n    }\n  }\n}";
    let after = "{\n  \"servers\": {\n    \"polis\": {\n      // mine\n      \"env\": {\"A\": \"1\"},\n      \
                 \"args\": [\"mcp\", \"x\"], // old\n      \"command\": \"p\"\n    }\n  }\n}";
    assert_eq!(set_sample_entry(before), after);
    assert_eq!(
        set_sample_entry("{\"servers\": {\"polis\": {\"args\": [], \"args\": [2]}}}"),
        "{\"servers\": {\"polis\": {\"args\": [], \"args\": [\"mcp\", \"x\"], \"command\": \"p\"}}}"
    );
}

#[test]
fn removal_keeps_other_content() {
    for (before, after) in [
        ("{}", "{}"),
        ("", ""),
        ("{\"servers\": 3}", "{\"servers\": 3}"),
        ("{\"servers\": {\"polis\": {}}}", "{\"servers\": {}}"),
        (
            "{\"servers\": {\"polis\": {}, \"a\": 1}}",
            "{\"servers\": {\"a\": 1}}",
        ),
        (
            "{\"servers\": {\"a\": 1, \"polis\": {}}}",
            "{\"servers\": {\"a\": 1}}",
        ),
        (
            "{\"servers\": {\"a\": 1, \"polis\": {}, \"polis\": 2, \"b\": 3}}",
            "{\"servers\": {\"a\": 1, \"b\": 3}}",
        ),
        (
            "{\n  \"servers\": {\n    \"a\": 1, // one\n    \"polis\": {\n      \"x\": [\"}\"]\n    }\n  }\n}\n",
            "{\n  \"servers\": {\n    \"a\": 1 // one\n  }\n}\n",
        ),
        (
            "{\r\n\t\"servers\": {\r\n\t\t\"polis\": {},\r\n\t\t\"b\": 1,\r\n\t},\r\n}\r\n",
            "{\r\n\t\"servers\": {\r\n\t\t\"b\": 1,\r\n\t},\r\n}\r\n",
        ),
        (
            "{\n  \"servers\": {\n    \"polis\": {}, // ours\n    \"b\": 1\n  }\n}",
            "{\n  \"servers\": {\n    // ours\n    \"b\": 1\n  }\n}",
        ),
    ] {
        assert_eq!(remove_sample_entry(before), after, "{before:?}");
    }
    for before in [
        "{\n    \"servers\": {\n        \"a\": {} // why\n    }\n}\n",
        "{\n\t\"servers\": {\n\t\t\"a\": [1,],\n\t},\n}\n",
        "{\"servers\":{\"a\":1}}",
        "{\"servers\":{}}",
    ] {
        assert_eq!(remove_sample_entry(&set_sample_entry(before)), before);
    }
}

#[test]
fn invalid_text_is_refused_with_line() {
    let parse_error = |text: &str| parse_tree(text, LENIENT_DIALECT).unwrap_err();
    for (text, line) in [
        ("{\n\"a\": }", Some(2)),
        ("{\n'a': 1}", Some(2)),
        ("{\"a\": 1", Some(1)),
        ("{\"a\": \"1}\n", Some(1)),
        ("{\n\n/* a", Some(3)),
        ("{\"a\": [,]}", Some(1)),
        ("{,}", Some(1)),
        ("{\"a\": 1,,}", Some(1)),
        ("{} {}", Some(1)),
        ("[]", None),
        ("null", None),
        ("\"{\"", None),
        ("{\"a\": \u{1}}", Some(1)),
        ("{\"a\": \"\u{1}\"}", Some(1)),
        ("{\n\"a\": \"\n\"}", Some(3)),
        ("{\n\"a\": +1}", Some(2)),
        ("{\n\"a\": .5}", Some(2)),
        ("{\n\"a\": 0x1}", Some(2)),
        ("{\n\"a\": NaN}", Some(2)),
        ("{\n\"a\": 1 \"b\": 2}", Some(2)),
        ("{\na: 1}", Some(2)),
        ("{\n\"a\": \"\\x41\"}", Some(2)),
        ("{\n\"a\": \"\\ud800\"}", Some(2)),
    ] {
        assert_eq!(parse_error(text).line, line, "{text:?}");
    }
    assert!(parse_tree(&"[".repeat(1_000_000), LENIENT_DIALECT).is_err());
    assert!(parse_tree(&"{\"a\":".repeat(1_000_000), LENIENT_DIALECT).is_err());
    for text in ["{\n// c\n}", "{\n\"a\": 1,}", "\n\u{feff}{}"] {
        assert!(parse_tree(text, STRICT_DIALECT).is_err(), "{text:?}");
    }
    assert!(parse_tree("\u{feff}{}", STRICT_DIALECT).is_err());
    assert_eq!(
        parse_tree("{\n// c\n}", STRICT_DIALECT).unwrap_err().line,
        Some(2)
    );
    let wrong = ConfigFormat::Json(LENIENT_DIALECT).set_fields(
        "{\n\n\"servers\": []}",
        &["servers", "polis"],
        &sample_fields(),
    );
    let wrong = wrong.unwrap_err();
    let key = "servers".to_owned();
    assert_eq!(
        (wrong.line, wrong.reason),
        (
            Some(3),
            Reason::from(ClientFileProblem::KeyNotAnObject { key })
        )
    );
}
