//! Tests of syntax highlighting: examples per kind of language, and properties that hold for any text.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::table::LANGUAGES;
use super::*;

fn marked(text: &str, name: &str) -> String {
    let language = language(name).expect("a language of that name");
    let mut out = String::new();
    for Span { kind, text } in highlight(text, language) {
        if kind == Kind::Plain {
            out.push_str(text);
        } else {
            write!(out, "{kind:?}<{text}>").expect("a text can be written");
        }
    }
    out
}

#[test]
fn words_texts_numbers_and_remarks_are_told_apart() {
    assert_eq!(
        marked("fn main() { let s = \"a\\\"b\"; } // end", "rust"),
        "Keyword<fn> Call<main>() { Keyword<let> s = Text<\"a\\\"b\">; } Comment<// end>"
    );
    assert_eq!(
        marked(
            "def f(x):\n  '''doc\nmore'''\n  return 0x1F # why",
            "python"
        ),
        "Keyword<def> Call<f>(x):\n  Text<'''doc\nmore'''>\n  Keyword<return> Value<0x1F> Comment<# why>"
    );
    assert_eq!(
        marked("{\"键\": [true, -1.5]}", "json"),
        "{Key<\"键\">: [Value<true>, -Value<1.5>]}"
    );
    assert_eq!(
        marked("name: a # b\n", "yaml"),
        "Key<name>: a Comment<# b>\n"
    );
    assert_eq!(
        marked("SELECT 'it''s' FROM t", "sql"),
        "Keyword<SELECT> Text<'it'>Text<'s'> Keyword<FROM> t"
    );
}

#[test]
fn rust_lifetimes_are_no_characters_and_raw_texts_end_at_their_hashes() {
    assert_eq!(
        marked("&'a str, 'x', '\\n', r#\"a\"b\"#;", "rs"),
        "&Meta<'a> Keyword<str>, Text<'x'>, Text<'\\n'>, Text<r#\"a\"b\"#>;"
    );
}

#[test]
fn tags_differences_and_markdown_have_their_own_shapes() {
    assert_eq!(
        marked("<a href=\"x\">t &amp;</a><!-- c -->", "html"),
        "Keyword<<a> Key<href>=Text<\"x\">Keyword<>>t Value<&amp>;Keyword<</a>Keyword<>>Comment<<!-- c -->>"
    );
    assert_eq!(
        marked("@@ 1 @@\n+new\n-old\n same\n", "diff"),
        "Meta<@@ 1 @@\n>Added<+new\n>Removed<-old\n> same\n"
    );
    assert_eq!(
        marked("# T\na `b` c\n```\nx\n```\n", "md"),
        "Heading<# T\n>a Text<`b`> c\nText<```\n>Text<x\n>Text<```\n>"
    );
}

#[test]
fn a_language_is_found_by_its_names_and_by_a_files() {
    for (path, name) in [
        ("src/main.rs", "Rust"),
        ("a/b.TSX", "TypeScript"),
        ("Makefile", "Make"),
        ("Cargo.lock", "TOML"),
        ("说明.md", "Markdown"),
    ] {
        assert_eq!(language_of_path(path).map(|found| found.name), Some(name));
    }
    assert!(language_of_path("LICENSE").is_none());
    assert!(language("no such language").is_none());
}

#[test]
fn hostile_texts_take_time_in_proportion() {
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
    for one in LANGUAGES {
        for seed in seeds {
            let text = seed.repeat((1 << 15) / seed.len());
            let begun = Instant::now();
            let length: usize = highlight(&text, one).map(|span| span.text.len()).sum();
            assert_eq!(length, text.len());
            let taken = begun.elapsed();
            // Quadratic time would be far longer.
            assert!(
                taken < Duration::from_secs(5),
                "{} {seed:?}: {taken:?}",
                one.name
            );
        }
    }
}

proptest! {
    #[test]
    fn the_pieces_together_are_the_text(
        text in "([a-z_#@$ \\n\\\\'\"`*/<>!&;:=-]|[rb#\"]{2,5}|\\PC|//|/\\*|\\*/|<!--|```\\n|'''){0,60}",
        which in 0..LANGUAGES.len(),
    ) {
        let language = &LANGUAGES[which];
        let mut together = String::new();
        for span in highlight(&text, language) {
            prop_assert!(!span.text.is_empty());
            together.push_str(span.text);
        }
        prop_assert_eq!(together, text);
    }
}
