//! Tests of syntax highlighting: examples per kind of language, and properties that hold for any text.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::language_table::LANGUAGES;
use super::*;

fn render_spans(text: &str, name: &str) -> String {
    let language = find_language(name).expect("a language of that name");
    let mut out = String::new();
    for HighlightSpan { kind, text } in highlight(text, language) {
        if kind == HighlightKind::Plain {
            out.push_str(text);
        } else {
            write!(out, "{kind:?}<{text}>").expect("a text can be written");
        }
    }
    out
}

#[test]
fn keywords_strings_numbers_and_comments_are_distinguished() {
    assert_eq!(
        render_spans("fn main() { let s = \"a\\\"b\"; } // end", "rust"),
        "Keyword<fn> Call<main>() { Keyword<let> s = Text<\"a\\\"b\">; } Comment<// end>"
    );
    assert_eq!(
        render_spans(
            "def f(x):\n  '''doc\nmore'''\n  return 0x1F # why",
            "python"
        ),
        "Keyword<def> Call<f>(x):\n  Text<'''doc\nmore'''>\n  Keyword<return> Value<0x1F> Comment<# why>"
    );
    assert_eq!(
        render_spans("{\"键\": [true, -1.5]}", "json"),
        "{Key<\"键\">: [Value<true>, -Value<1.5>]}"
    );
    assert_eq!(
        render_spans("name: a # b\n", "yaml"),
        "Key<name>: a Comment<# b>\n"
    );
    assert_eq!(
        render_spans("SELECT 'it''s' FROM t", "sql"),
        "Keyword<SELECT> Text<'it'>Text<'s'> Keyword<FROM> t"
    );
}

#[test]
fn rust_lifetimes_and_raw_strings_are_recognised() {
    assert_eq!(
        render_spans("&'a str, 'x', '\\n', r#\"a\"b\"#;", "rs"),
        "&Meta<'a> Keyword<str>, Text<'x'>, Text<'\\n'>, Text<r#\"a\"b\"#>;"
    );
}

#[test]
fn markup_diffs_and_markdown_have_own_lexers() {
    assert_eq!(
        render_spans("<a href=\"x\">t &amp;</a><!-- c -->", "html"),
        "Keyword<<a> Key<href>=Text<\"x\">Keyword<>>t Value<&amp>;Keyword<</a>Keyword<>>Comment<<!-- c -->>"
    );
    assert_eq!(
        render_spans("@@ 1 @@\n+new\n-old\n same\n", "diff"),
        "Meta<@@ 1 @@\n>Added<+new\n>Removed<-old\n> same\n"
    );
    assert_eq!(
        render_spans("# T\na `b` c\n```\nx\n```\n", "md"),
        "Heading<# T\n>a Text<`b`> c\nText<```\n>Text<x\n>Text<```\n>"
    );
}

#[test]
fn language_is_found_by_name_and_by_path() {
    for (path, name) in [
        ("src/main.rs", "Rust"),
        ("a/b.TSX", "TypeScript"),
        ("Makefile", "Make"),
        ("Cargo.lock", "TOML"),
        ("说明.md", "Markdown"),
    ] {
        assert_eq!(language_for_path(path).map(|found| found.name), Some(name));
    }
    assert!(language_for_path("LICENSE").is_none());
    assert!(find_language("no such language").is_none());
}

#[test]
fn highlighting_hostile_texts_takes_linear_time() {
    let seeds = [
        "'",
        "\"\\",
        "`",
        "/*",
        "r#\"\"",
        "<a \"",
        "<!--",
        "a ",
        "#",
        "b :",
        "'''\"\"\"",
        "<<",
    ];
    for language in LANGUAGES {
        for seed in seeds {
            let text = seed.repeat((1 << 15) / seed.len());
            let started = Instant::now();
            let length: usize = highlight(&text, language).map(|span| span.text.len()).sum();
            assert_eq!(length, text.len());
            let elapsed = started.elapsed();
            // Quadratic time would be far longer.
            assert!(
                elapsed < Duration::from_secs(5),
                "{} {seed:?}: {elapsed:?}",
                language.name
            );
        }
    }
}

proptest! {
    #[test]
    fn joined_spans_equal_the_text(
        text in "([a-z_#@$ \\n\\\\'\"`*/<>!&;:=-]|[rb#\"]{2,5}|\\PC|//|/\\*|\\*/|<!--|```\\n|'''){0,60}",
        which in 0..LANGUAGES.len(),
    ) {
        let language = &LANGUAGES[which];
        let mut joined = String::new();
        for span in highlight(&text, language) {
            prop_assert!(!span.text.is_empty());
            joined.push_str(span.text);
        }
        prop_assert_eq!(joined, text);
    }
}
