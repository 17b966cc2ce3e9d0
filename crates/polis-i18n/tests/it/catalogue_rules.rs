//! Each mistake in a catalogue is refused by the build script, with the message and the reason.

use crate::catalogue::{Catalogue, CatalogueSource};
use crate::function_source::render_functions;

fn parse(en: &str, zh: &str) -> Result<Catalogue, Vec<String>> {
    let file =
        |language: &str, text: &str| (language.to_owned(), "task".to_owned(), text.to_owned());
    Catalogue::parse(&CatalogueSource {
        files: vec![file("en", en), file("zh", zh)],
    })
}

#[test]
fn mistake_in_catalogue_is_refused_with_reason() {
    for (en, zh, expected) in [
        (
            "task-a = A\n",
            "task-b = B\n",
            "`task-a` is missing in `zh`\n`task-b` is missing in `en`",
        ),
        (
            "task-a = A { $id }\n",
            "task-a = A\n",
            "`task-a` has different arguments in different languages",
        ),
        (
            "task-a = A { $id }\n",
            "task-a = A { $name }\n",
            "`task-a` has different arguments in different languages",
        ),
        (
            "task-a = { $from } to { $to }\n",
            "task-a = { $from } { $to }\n",
            "`task-a` needs a comment in `en` that lists each argument once: $from, $to",
        ),
        (
            "# $from\ntask-a = { $from } to { $to }\n",
            "task-a = { $from } { $to }\n",
            "`task-a` needs a comment in `en` that lists each argument once: $from, $to",
        ),
        (
            "task-a = A\ntask-a = B\n",
            "task-a = A\n",
            "en/task.ftl: `task-a` is defined twice",
        ),
        (
            "board-a = A\n",
            "",
            "en/task.ftl: `board-a` must begin with `task-`, the name of its file",
        ),
        (
            "task-aB = A\n",
            "",
            "en/task.ftl: `task-aB` must be in lower case, with `-` between words",
        ),
        (
            "task-a =\n    .title = A\n",
            "",
            "en/task.ftl: `task-a` must have a text and no attributes",
        ),
        (
            "task-a = { -brand }\n",
            "",
            "en/task.ftl: `task-a` uses an unsupported construct; see build/pattern.rs for those supported",
        ),
        (
            "task-a = { $type }\n",
            "",
            "en/task.ftl: `task-a` `$type` cannot be the name of a Rust argument",
        ),
        (
            "",
            "task-a = { $count ->\n    [one] A\n   *[other] B\n }\n",
            "zh/task.ftl: `task-a` `[one]` is no plural category of `zh`",
        ),
        (
            "task-a = { $count ->\n    [1] A\n    [one] B\n   *[other] C\n }\n",
            "",
            "en/task.ftl: `task-a` has two variants for the same number",
        ),
        (
            "task-a = A\n\ntask-b = {\n",
            "",
            "en/task.ftl:4: Expected an inline expression",
        ),
    ] {
        let problems = parse(en, zh).unwrap_err();
        assert_eq!(problems.join("\n"), expected, "{en}{zh}");
    }
}

#[test]
fn function_has_one_parameter_per_argument_in_order_of_comment() {
    let en = "# $to, $from: two statuses\ntask-moved = From { $from } to { $to }\n";
    let zh = "task-moved = 从 { $from } 到 { $to }\n";
    assert_eq!(
        render_functions(&parse(en, zh).unwrap()),
        "/// `task-moved`: `From {from} to {to}`\n\
         pub fn task_moved(lang: crate::UiLanguage, to: impl std::fmt::Display, from: impl std::fmt::Display) \
         -> String {\n    match lang {\n        \
         crate::UiLanguage::En => format!(\"From {from} to {to}\"),\n        \
         crate::UiLanguage::Zh => format!(\"从 {from} 到 {to}\"),\n    }\n}\n"
    );
}

#[test]
fn selection_becomes_match_around_whole_texts() {
    let en = "task-files = { $count ->\n    [one] 1 file\n   *[other] { $count } files\n } {\"{\"}here{\"}\"}\n";
    let zh = "task-files = { $count } 个文件\n";
    let source = render_functions(&parse(en, zh).unwrap());
    let expected = "match crate::PluralCount::number(&count) { \
                    1 => \"1 file {here}\".to_owned(), _ => format!(\"{count} files {{here}}\"), }";
    assert!(source.contains(expected), "{source}");
    assert!(
        source.contains("count: impl crate::PluralCount"),
        "{source}"
    );
    let description = "/// `task-files`: `{count} files {here}`\n";
    assert!(source.starts_with(description), "{source}");
}
