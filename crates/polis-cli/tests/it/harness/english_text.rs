//! Finds English sentences in output for a Chinese reader.

/// Words that only sentences have: with one of them, two words are English.
const SENTENCE_WORDS: [&str; 9] = [
    "a", "an", "the", "expected", "invalid", "missing", "omitted", "no", "renamed",
];

/// Finds English sentences in a text for a Chinese reader: runs of words of ASCII letters outside of backticks, of
/// four or more words, or with one of [`SENTENCE_WORDS`]. A word with another character (a path, an option, a
/// command with arguments) ends a run.
pub(crate) fn english_sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        for outside in line.split('`').step_by(2) {
            // A Chinese character ends a run, also without a space.
            let outside: String = outside
                .chars()
                .map(|c| {
                    if c.is_ascii() {
                        c.to_string()
                    } else {
                        " 。 ".to_owned()
                    }
                })
                .collect();
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
                let is_sentence = words.len() >= 4 || words.len() >= 2 && has_sentence_word(&words);
                if is_sentence && !is_list_of_names(&words) {
                    found.push(words.join(" "));
                }
                words.clear();
            }
        }
    }
    found
}

fn has_sentence_word(words: &[&str]) -> bool {
    words.iter().any(|word| SENTENCE_WORDS.contains(word))
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
    for (text, english) in [
        ("应为a JSON object", "a JSON object"),
        ("应为 JSON 字符串，而不是 a list。", "a list"),
        (
            "元数据无效：invalid type: sequence",
            "invalid type: sequence",
        ),
        ("… 12,345 bytes omitted …", "bytes omitted"),
    ] {
        assert_eq!(english_sentences(text), [english]);
    }
    let fine = "可选值：[claude, codex, gemini, cursor, vscode]\n用 `polis society send root TEXT` 写消息\n计算 2 * (3 + 4)，只用 POSIX sh。\nsh a.sh and b";
    assert_eq!(english_sentences(fine), Vec::<String>::new());
}
