//! Tests of the JSONC editor: exact texts before and after an edit.

use serde_json::json;

use super::*;
use crate::command::mcp::install::edit::Format;

const LENIENT: Dialect = Dialect {
    comments: true,
    trailing_commas: true,
    byte_order_mark: true,
};
const STRICT: Dialect = Dialect {
    comments: false,
    trailing_commas: false,
    byte_order_mark: false,
};

fn fields() -> Vec<Field> {
    vec![("command", json!("p")), ("args", json!(["mcp", "x"]))]
}

fn installed(text: &str) -> String {
    let done = Format::Json(LENIENT).put(text, &["servers", "polis"], &fields());
    let done = done.unwrap_or_else(|fault| panic!("{text:?}: {fault:?}"));
    let again = Format::Json(LENIENT).put(&done, &["servers", "polis"], &fields());
    assert_eq!(again.unwrap(), done, "a second time changes nothing");
    done
}

fn removed(text: &str) -> String {
    Format::Json(LENIENT)
        .remove(text, &["servers", "polis"])
        .unwrap()
}

#[test]
fn a_new_entry_stands_as_its_neighbours_do() {
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
        assert_eq!(installed(before), after, "{before:?}");
    }
}

#[test]
fn an_entry_keeps_what_is_not_ours() {
    let before = "{\n  \"servers\": {\n    \"polis\": {\n      // mine\n      \"env\": {\"A\": \"1\"},\n      \
                  \"args\": [\n        \"mcp\"\n      ], // old\n      \"command\": \"q\"\n    }\n  }\n}";
    let after = "{\n  \"servers\": {\n    \"polis\": {\n      // mine\n      \"env\": {\"A\": \"1\"},\n      \
                 \"args\": [\"mcp\", \"x\"], // old\n      \"command\": \"p\"\n    }\n  }\n}";
    assert_eq!(installed(before), after);
    assert_eq!(
        installed("{\"servers\": {\"polis\": {\"args\": [], \"args\": [2]}}}"),
        "{\"servers\": {\"polis\": {\"args\": [], \"args\": [\"mcp\", \"x\"], \"command\": \"p\"}}}"
    );
}

#[test]
fn taking_out_leaves_the_rest() {
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
        assert_eq!(removed(before), after, "{before:?}");
    }
    for before in [
        "{\n    \"servers\": {\n        \"a\": {} // why\n    }\n}\n",
        "{\n\t\"servers\": {\n\t\t\"a\": [1,],\n\t},\n}\n",
        "{\"servers\":{\"a\":1}}",
        "{\"servers\":{}}",
    ] {
        assert_eq!(removed(&installed(before)), before);
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    let fault = |text: &str| tree(text, LENIENT).unwrap_err();
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
    ] {
        assert_eq!(fault(text).line, line, "{text:?}");
    }
    assert!(tree(&"[".repeat(1_000_000), LENIENT).is_err());
    assert!(tree(&"{\"a\":".repeat(1_000_000), LENIENT).is_err());
    for text in ["{\n// c\n}", "{\n\"a\": 1,}", "\n\u{feff}{}"] {
        assert!(tree(text, STRICT).is_err(), "{text:?}");
    }
    assert!(tree("\u{feff}{}", STRICT).is_err());
    assert_eq!(tree("{\n// c\n}", STRICT).unwrap_err().line, Some(2));
    let wrong =
        Format::Json(LENIENT).put("{\n\n\"servers\": []}", &["servers", "polis"], &fields());
    let wrong = wrong.unwrap_err();
    assert_eq!(
        (wrong.line, wrong.why.as_str()),
        (Some(3), "\"servers\" is not an object")
    );
}
