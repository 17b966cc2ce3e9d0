//! Property tests of the blocklist: a dangerous command is refused in every position and with every quoting
//! (property 5 of requirement 001, see `docs/requirements.md`), its words as arguments are accepted, and no text
//! makes the parser panic.

use proptest::prelude::*;

use super::*;

/// Commands of the list, as words.
const DANGEROUS: &[(&[&str], &str)] = &[
    (&["sudo"], "sudo"),
    (&["sudo", "-u", "root", "id"], "sudo"),
    (&["/usr/bin/sudo", "ls"], "sudo"),
    (&["su"], "su"),
    (&["su", "-", "root"], "su"),
    (&["rm", "-rf", "/"], "rm -rf /"),
    (&["rm", "-f", "-R", "--", "/"], "rm -rf /"),
    (&["rm", "--recursive", "--force", "x", "//../."], "rm -rf /"),
    (&["chmod", "777", "/"], "chmod 777"),
    (&["chmod", "-R", "0777", "x"], "chmod 777"),
    (&["mkfs", "/dev/sda1"], "mkfs"),
    (&["mkfs.ext4", "/dev/sda1"], "mkfs"),
    (&["dd", "if=/dev/zero", "of=/dev/sda"], "dd if="),
    (&["dd", "of=/dev/sda"], "dd if="),
    (&["tee", "/dev/sda"], "> /dev/"),
    (&["shutdown", "-h", "now"], "shutdown"),
    (&["reboot"], "reboot"),
    (&["init", "0"], "init 0"),
    (&["init", "6"], "init 6"),
];

/// Positions where a command may occur; `@` is the command.
const COMMAND_POSITIONS: &[&str] = &[
    "@",
    "  @  ",
    "ls; @",
    "ls;@;ls",
    "ls && @ || ls",
    "ls | @ | ls",
    "ls & @ &",
    "ls\n@\nls",
    "(@)",
    "{ @; }",
    "! @",
    "if @; then ls; fi",
    "if ls; then @; else ls; fi",
    "while ls; do @; done",
    "for x in a b; do @; done",
    "case x in a) ls;; x) @;; esac",
    "f() { @; }",
    "A=1 B='2 3' @",
    "> x @",
    "@ > /dev/null 2>&1",
    "@ # comment",
    "echo $(@)",
    "echo \"a $(@) b\"",
    "cat <<E\ntext\nE\n@",
    "env A=1 @",
    "nohup nice -n 5 @",
    "timeout 5 @",
    "time @",
    "exec @",
    "ls | xargs -n 1 @",
    "find . -exec @ {} \\;",
    "echo 'a b' \"c d\" e\\ f; @",
    "eval \"$(@)\"",
];

/// A word in which each character is quoted in some way.
fn quoted_word(word: &str) -> BoxedStrategy<String> {
    let pieces: Vec<_> = word
        .chars()
        .map(|character| {
            prop_oneof![
                3 => Just(character.to_string()),
                1 => Just(format!("\\{character}")),
                1 => Just(format!("'{character}'")),
                1 => Just(format!("\"{character}\"")),
                1 => Just(format!("''{character}")),
                1 => Just(format!("{character}\"\"")),
                1 => Just(format!("\\\n{character}")),
            ]
        })
        .collect();
    pieces.prop_map(|pieces| pieces.concat()).boxed()
}

fn quoted_command(words: &[&str]) -> BoxedStrategy<String> {
    let words: Vec<_> = words.iter().map(|word| quoted_word(word)).collect();
    (
        words,
        prop_oneof![Just(" "), Just("  "), Just("\t"), Just(" \\\n")],
    )
        .prop_map(|(words, blank)| words.join(blank))
        .boxed()
}

fn dangerous_command() -> impl Strategy<Value = (String, &'static str)> {
    proptest::sample::select(DANGEROUS)
        .prop_flat_map(|(words, what)| (quoted_command(words), Just(what)))
}

/// A text as one word in single quotes.
fn single_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Well-formed scripts made of the given commands.
fn any_script(leaves: &'static [&'static str]) -> BoxedStrategy<String> {
    // `@` is a script, `^` a script without here-documents, `%` a script as one word.
    const TEMPLATES: &[&str] = &[
        "@; @",
        "@\n@",
        "@ && @",
        "@ || @",
        "@ | @",
        "(@)",
        "( @ ; @ )",
        "{ @; }",
        "! { @; }",
        "if @; then @; else @; fi",
        "if (@) then @\nfi",
        "for sudo in sudo x; do @; done",
        "for x in a\ndo\n@\ndone",
        "case x in x) @;; esac",
        "case x in sudo) @;; (x|su) @ ;; *) @; esac",
        "case sudo in\nsudo)\n@\n;;\nesac",
        ": $(@)",
        ": \"a ' $(@) b\"",
        ": ${y:-x} # sudo\n: x",
        "y=$(@)",
        ": $((1 + 2)) $(( (3) )); @",
        "# it's sudo\n@",
        ": \\# '#' a#b; @",
        ": <<E\nsudo\n$(^)\nE\n@",
        ": <<'E'; :\nit's $(sudo\nE\n@",
        ": $(: <<E\n) sudo\nE\n@\n)",
        ">x 2>&1 <x; @",
        ": 'a; sudo' \"; sudo\" \\; sudo; @",
        "[ sudo = sudo ] && { @; }",
        "eval %",
        "sh -c %",
        "env A=1 sh -ec %",
        ": \"`eval %`\"",
    ];
    let leaf = proptest::sample::select(leaves).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        let inner = proptest::collection::vec(inner, 4);
        (proptest::sample::select(TEMPLATES), inner).prop_map(|(template, parts)| {
            let mut parts = parts.into_iter();
            let mut script = String::new();
            for character in template.chars() {
                let part = matches!(character, '@' | '%' | '^')
                    .then(|| parts.next())
                    .flatten();
                // Two parentheses in a row begin arithmetic.
                if script.ends_with('(') && part.as_ref().is_some_and(|part| part.starts_with('('))
                {
                    script.push(' ');
                }
                match (character, part) {
                    ('%', Some(part)) if !part.contains(['`', '"', '$', '\\']) => {
                        script.push_str(&single_quote(&part));
                    }
                    ('^', Some(part)) if !part.contains("<<") => script.push_str(&part),
                    ('%' | '^', _) => script.push_str("true"),
                    (_, Some(part)) => script.push_str(&part),
                    (other, None) => script.push(other),
                }
            }
            script
        })
    })
    .boxed()
}

fn any_tokens() -> impl Strategy<Value = String> {
    let token = proptest::sample::select(
        &[
            "sudo", "rm", "-rf", "/", "ls", "x", "A=1", " ", " ", " ", "\n", ";", ";;", ";&", "&",
            "&&", "|", "||", "(", ")", "((", "))", "{", "}", "[[", "]]", "!", "$", "$(", "$((",
            "${", "`", "'", "\"", "\\", "#", "<", ">", "<<", "<<E", "<<-", "<<<", "<(", ">(", "E",
            "&>", ">|", ">&", "if", "then", "else", "elif", "fi", "while", "until", "for", "in",
            "do", "done", "case", "esac", "function", "time", "eval", "sh", "-c", "env", "find",
            "-exec", "xargs", "$'", "$IFS", "${IFS}", "*", "?", "[", "]", "~", "=", "+=", "é",
            "\u{FFFF}", "/dev/", "chmod", "777", "dd", "if=",
        ][..],
    );
    proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn dangerous_command_is_refused_in_every_position_and_quoting(
        (command, what) in dangerous_command(),
        place in proptest::sample::select(COMMAND_POSITIONS),
    ) {
        let line = place.replace('@', &command);
        prop_assert_eq!(blocked_reason(&line), Some(what.to_owned()), "{}", line);
        for line in [
            format!("sh -c {}", single_quote(&line)),
            format!("eval {}", single_quote(&line)),
            format!("bash -euo pipefail -c {}", single_quote(&format!("eval {}", single_quote(&line)))),
        ] {
            prop_assert_eq!(blocked_reason(&line), Some(what.to_owned()), "{}", line);
        }
    }

    #[test]
    fn dangerous_words_as_arguments_are_accepted(
        (command, _) in dangerous_command(),
        before in proptest::sample::select(
            &["echo ", "grep -r ", "git commit -m ", "A=1 printf %s ", "ls; echo ", "cat <<< x "][..],
        ),
    ) {
        prop_assert_eq!(check_blocklist(&format!("{before}{command}")), Ok(()));
        prop_assert_eq!(check_blocklist(&format!("{before}{}", single_quote(&command))), Ok(()));
        prop_assert_eq!(check_blocklist(&format!("cat <<'E'\n{command}\nE")), Ok(()));
        prop_assert_eq!(check_blocklist(&single_quote(&format!("{command} x"))), Ok(()));
    }

    #[test]
    fn scripts_with_dangerous_arguments_are_accepted(
        script in any_script(&["echo sudo", "grep su x", "A=sudo ls", "true", "ls 'rm -rf /'", "x 2>/dev/null"]),
    ) {
        prop_assert_eq!(check_blocklist(&script), Ok(()), "{}", script);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = check_blocklist(&text);
    }

    #[test]
    fn arbitrary_tokens_never_panic(text in any_tokens()) {
        let _ = check_blocklist(&text);
        let _ = check_blocklist(&format!("{text}\n{text}"));
        let _ = check_blocklist(&format!("eval {text}"));
    }
}
