//! Finds English sentences in output for a Chinese reader.

/// Finds English sentences in a text for a Chinese reader: runs of four or more words of ASCII letters outside
/// of backticks. A word with another character (a path, an option, a command with arguments) ends a run.
pub(crate) fn english_sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        for outside in line.split('`').step_by(2) {
            let mut words: Vec<&str> = Vec::new();
            // The empty word at the end ends the last run.
            for word in outside.split_whitespace().chain([""]) {
                let letters = word.trim_end_matches([',', ';', ':', '.']);
                let is_word = letters
                    .chars()
                    .all(|c| c.is_ascii_alphabetic() || c == '\'');
                if is_word && !letters.is_empty() {
                    words.push(word);
                    continue;
                }
                if words.len() >= 4 && !is_list_of_names(&words) {
                    found.push(words.join(" "));
                }
                words.clear();
            }
        }
    }
    found
}

/// Returns whether words are a list such as "claude, codex, gemini", and not a sentence.
fn is_list_of_names(words: &[&str]) -> bool {
    let mut but_last = words.iter().rev().skip(1);
    but_last.all(|word| word.ends_with(','))
}

#[test]
fn english_sentences_are_found_outside_of_commands() {
    assert_eq!(
        english_sentences("运行 root said: all of it is done.\n→ run_command sh tests/run.sh"),
        ["root said: all of it is done."]
    );
    let fine = "可选值：[claude, codex, gemini, cursor, vscode]\n用 `polis society send root TEXT` 写消息\n计算 2 * (3 + 4)，只用 POSIX sh。\nsh a.sh and b";
    assert_eq!(english_sentences(fine), Vec::<String>::new());
}
