//! Tests of usage errors in Chinese: each kind of error that the commands can cause.

use clap::CommandFactory as _;

use super::*;
use crate::cli::PolisCli;

fn message(arguments: &[&str]) -> String {
    let error = PolisCli::command()
        .try_get_matches_from(arguments)
        .unwrap_err();
    let text = UsageErrorRenderer::new(&error, Styles::plain(), UiLanguage::Zh).render();
    assert!(text.ends_with("\n\n运行 --help 查看更多信息。\n"), "{text}");
    text
}

#[test]
fn usage_errors_are_chinese() {
    for (arguments, expected) in [
        (
            &["polis", "task", "lst"] as &[_],
            "错误：未知的子命令 'lst'\n\n  提示：相近的子命令：'",
        ),
        (
            &["polis", "task", "get", "1", "--jsno"],
            "错误：未知的参数 '--jsno'\n\n  提示：相近的参数：--json\n\n用法：polis task get",
        ),
        (
            &["polis", "task", "create"],
            "错误：缺少以下必需的参数：\n  --subject <标题>\n\n用法：polis task create",
        ),
        (
            &["polis", "--lang", "fr", "stats"],
            "错误：'--lang <语言>' 的值 'fr' 无效\n  [可选值：en, zh]",
        ),
        (
            &["polis", "task", "list", "--limit", "x"],
            "错误：'--limit <N>' 的值 'x' 无效：不是整数\n",
        ),
        (
            &["polis", "task", "list", "--limit", "0"],
            "错误：'--limit <N>' 的值 '0' 无效：0 不在范围 ",
        ),
        (
            &["polis", "task", "list", "--limit"],
            "错误：'--limit <N>' 需要一个值，但没有给出\n",
        ),
        (
            &["polis", "trust", "--remove", "--release"],
            "错误：参数 '--remove' 不能与 '--release' 同时使用\n",
        ),
        (
            &["polis", "stats", "--lang", "zh", "--lang", "en"],
            "错误：参数 '--lang <语言>' 不能重复使用\n",
        ),
        (
            &["polis", "task", "get", "--", "1", "--x"],
            "错误：未知的参数 '--x'",
        ),
        (
            &["polis", "stats", "--verbose=1"],
            "错误：'--verbose' 多出一个值 '1'，不再接受更多的值\n",
        ),
    ] {
        let text = message(arguments);
        let expected = expected.trim_end_matches('\'');
        assert!(text.starts_with(expected), "{arguments:?}: {text}");
    }
}

/// Text of each kind of suggestion that clap renders in English.
#[test]
fn suggestions_of_clap_are_translated() {
    let text = message(&["polis", "task", "get", "--subject"]);
    assert!(
        text.contains("提示：要把 '--subject' 作为值传入，请使用 '-- --subject'"),
        "{text}"
    );
}
