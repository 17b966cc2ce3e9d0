//! Notices of polis in the output of a command, in the caller's language: a line in place of omitted output, and
//! one about an entry with the reserved name that was renamed.
//!
//! The terminal reports both as data, because it does not know who reads the output.

use polis_core::workspace::command_outcome::{CommandOutcome, StreamOutput};
use polis_core::workspace::workspace_path::PROJECT_DATA_DIR;
use polis_i18n::{UiLanguage, msg};

/// Inserts the notices into the output.
pub(super) fn insert_notices(outcome: &mut CommandOutcome, lang: UiLanguage) {
    let spool = outcome
        .spool
        .as_deref()
        .map(|name| (name, outcome.spool_limit));
    for stream in [&mut outcome.stdout, &mut outcome.stderr] {
        insert_omission_line(stream, spool, lang);
    }
    for renamed in &outcome.renamed_entries {
        let notice = msg::command_reserved_name_renamed(lang, PROJECT_DATA_DIR, renamed);
        let text = &mut outcome.stderr.text;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&notice);
        text.push('\n');
    }
}

/// Inserts a line in place of the omitted bytes. It names the file with the output, whose size is given if the
/// file has only the beginning.
fn insert_omission_line(
    stream: &mut StreamOutput,
    spool: Option<(&str, Option<u64>)>,
    lang: UiLanguage,
) {
    let count = stream.omitted;
    if count == 0 {
        return;
    }
    let bytes = group_thousands(count);
    let notice = match spool {
        None => msg::command_bytes_omitted(lang, count, bytes),
        Some((file, None)) => msg::command_bytes_omitted_spooled(lang, count, bytes, file),
        Some((file, Some(limit))) => {
            let limit = group_thousands(limit);
            msg::command_bytes_omitted_spool_limited(lang, count, bytes, limit, file)
        }
    };
    let (head, tail) = stream
        .text
        .split_at_checked(stream.omitted_at)
        .unwrap_or((&stream.text, ""));
    let line_end = if head.is_empty() || head.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    stream.text = format!("{head}{line_end}{notice}\n{tail}");
}

/// Formats a number with commas between thousands.
fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use polis_core::workspace::command_outcome::CommandEnding;

    use super::*;

    /// Returns stdout of an outcome with these parts, with the notices.
    fn stdout_with_notices(
        parts: (&str, &str, u64),
        spool: Option<(&str, Option<u64>)>,
        lang: UiLanguage,
    ) -> String {
        let (head, tail, omitted) = parts;
        let mut outcome = CommandOutcome::without_output(CommandEnding::Exited(0), 1, None);
        outcome.stdout = StreamOutput {
            text: format!("{head}{tail}"),
            bytes: (head.len() + tail.len()) as u64 + omitted,
            omitted,
            omitted_at: head.len(),
        };
        outcome.spool = spool.map(|(name, _)| name.to_owned());
        outcome.spool_limit = spool.and_then(|(_, limit)| limit);
        insert_notices(&mut outcome, lang);
        assert_eq!(outcome.stderr.text, "");
        outcome.stdout.text
    }

    #[test]
    fn omission_line_is_on_a_line_of_its_own() {
        for (parts, text) in [
            (("", "12345678", 0), "12345678"),
            (("1234", "6789", 1), "1234\n… 1 byte omitted …\n6789"),
            (("123\n", "6789", 1), "123\n… 1 byte omitted …\n6789"),
            (("1", "", 1), "1\n… 1 byte omitted …\n"),
            (("", "", 2), "… 2 bytes omitted …\n"),
        ] {
            assert_eq!(stdout_with_notices(parts, None, UiLanguage::En), text);
        }
    }

    #[test]
    fn omission_line_names_the_spool_file_in_the_language() {
        let parts = ("xx", "xx", 12_345);
        let file = "output-1-2.txt";
        for (spool, english, chinese) in [
            (
                None,
                "xx\n… 12,345 bytes omitted …\nxx",
                "xx\n… 省略 12,345 字节 …\nxx",
            ),
            (
                Some((file, None)),
                "xx\n… 12,345 bytes omitted; the whole output is in $POLIS_OUTPUT/output-1-2.txt, for the next command …\nxx",
                "xx\n… 省略 12,345 字节；完整输出在 $POLIS_OUTPUT/output-1-2.txt，供后续命令读取 …\nxx",
            ),
            (
                Some((file, Some(67_108_864))),
                "xx\n… 12,345 bytes omitted; the first 67,108,864 bytes of the output are in \
                 $POLIS_OUTPUT/output-1-2.txt, for the next command …\nxx",
                "xx\n… 省略 12,345 字节；输出的前 67,108,864 字节在 $POLIS_OUTPUT/output-1-2.txt，供后续命令读取 …\nxx",
            ),
        ] {
            assert_eq!(stdout_with_notices(parts, spool, UiLanguage::En), english);
            assert_eq!(stdout_with_notices(parts, spool, UiLanguage::Zh), chinese);
        }
    }

    #[test]
    fn renamed_entry_is_reported_at_the_end_of_stderr() {
        for (lang, expected) in [
            (
                UiLanguage::En,
                "failed\npolis: the name .agent-workspace is reserved; it was renamed to agent-workspace.renamed-1\n",
            ),
            (
                UiLanguage::Zh,
                "failed\npolis：名称 .agent-workspace 是保留名，已改名为 agent-workspace.renamed-1\n",
            ),
        ] {
            let mut outcome = CommandOutcome::without_output(CommandEnding::Exited(1), 1, None);
            outcome.stderr.text = "failed".to_owned();
            outcome.renamed_entries = vec!["agent-workspace.renamed-1".to_owned()];
            insert_notices(&mut outcome, lang);
            assert_eq!(outcome.stderr.text, expected);
        }
    }

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(group_thousands(number), text);
        }
    }
}
