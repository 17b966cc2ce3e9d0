//! Splits a shell line into its simple commands, as lists of words with quotes removed.
//!
//! It knows the grammar that everyday lines use: quotes, separators, command substitutions, comments, redirections,
//! and which words are data (`case` patterns, arrays, arithmetic, `[[ … ]]`, here-documents). It expands nothing:
//! `$x` stays as written, and a substitution leaves a `$`. It reads each character once and does not recurse.

/// Words that may precede a command.
const RESERVED_WORDS: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "}",
];

/// Returns the simple commands of a line, in the order in which they end. A redirection of output is a command
/// with the words `>` and the file.
pub(super) fn split_commands(line: &str) -> Vec<Vec<String>> {
    let mut splitter = CommandSplitter {
        rest: line,
        ..CommandSplitter::default()
    };
    while let Some(next) = splitter.take_char() {
        splitter.accept_char(next);
    }
    // An incomplete line is left to the shell.
    if splitter.outer.is_empty() {
        splitter.end_command();
    }
    splitter.commands
}

/// Returns whether a word has the form `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let mut letters = name.chars().peekable();
    letters.peek().is_some() && letters.all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// What a part of the line contains; an array or arithmetic is data.
#[derive(Default, PartialEq, Eq)]
enum ContextKind {
    #[default]
    Commands,
    Backquotes,
    Data,
    DoubleQuotes,
}

/// The word after a redirection operator.
enum RedirectionWord {
    WrittenFile,
    ReadFile,
    HereDocumentEnd,
}

/// A part of the line that is being parsed.
#[derive(Default)]
struct ParseContext {
    kind: ContextKind,
    words: Vec<String>,
    word: Option<String>,
    redirection: Option<RedirectionWord>,
    /// Whether the words up to `)` are a pattern of `case`.
    in_pattern: bool,
}

impl ParseContext {
    fn first_word(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }
}

#[derive(Default)]
struct CommandSplitter<'a> {
    rest: &'a str,
    current: ParseContext,
    /// The contexts around the current one, innermost last.
    outer: Vec<ParseContext>,
    /// Delimiters of the here-documents that begin after this line.
    here_documents: Vec<String>,
    commands: Vec<Vec<String>>,
}

impl<'a> CommandSplitter<'a> {
    fn take_char(&mut self) -> Option<&'a str> {
        let length = self.rest.chars().next()?.len_utf8();
        let (next, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(next)
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let after = self.rest.strip_prefix(prefix);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Returns the text up to `end` and skips both.
    fn take_until(&mut self, end: char) -> &'a str {
        let (text, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }

    fn open(&mut self, kind: ContextKind) {
        self.outer.push(std::mem::take(&mut self.current));
        self.current.kind = kind;
    }

    /// Begins `( … )`, or `(( … ))`, which is arithmetic.
    fn open_group(&mut self) {
        let is_arithmetic = self.rest.starts_with('(');
        self.open(ContextKind::Commands);
        if is_arithmetic {
            self.current.kind = ContextKind::Data;
        }
    }

    /// Returns to the context around the current one, and returns the unfinished word of the current one.
    fn close(&mut self) -> Option<String> {
        let around = self.outer.pop()?;
        std::mem::replace(&mut self.current, around).word
    }

    fn accept_char(&mut self, next: &str) {
        let is_text = self.current.kind == ContextKind::DoubleQuotes;
        match next {
            "\\" => match self.take_char() {
                None | Some("\n") => {}
                Some(escaped) => self.current.push(escaped),
            },
            "$" => {
                self.current.push(next);
                if self.skip("(") {
                    self.open_group();
                } else if self.skip("{") {
                    self.take_until('}');
                }
            }
            "`" if self.current.kind == ContextKind::Backquotes => {
                self.end_command();
                self.close();
            }
            "`" => {
                self.current.push("$");
                self.open(ContextKind::Backquotes);
            }
            "\"" if is_text => {
                let text = self.close().unwrap_or_default();
                self.current.push(&text);
            }
            "\"" => self.open(ContextKind::DoubleQuotes),
            _ if is_text => self.current.push(next),
            "'" => {
                let text = self.take_until('\'');
                self.current.push(text);
            }
            _ => self.accept_unquoted(next),
        }
    }

    fn accept_unquoted(&mut self, next: &str) {
        match next {
            " " | "\t" => self.end_word(),
            "\n" => {
                self.end_command();
                for end in std::mem::take(&mut self.here_documents) {
                    while !self.rest.is_empty() && self.take_until('\n').trim_start() != end {}
                }
            }
            "#" if self.current.word.is_none() => {
                self.rest = self.rest.trim_start_matches(|next| next != '\n');
            }
            _ if self.current.first_word() == "[[" => self.current.push(next),
            "(" => self.open_parenthesis(),
            ")" => self.close_parenthesis(),
            "&" if self.skip(">") => self.begin_redirection(">"),
            "<" | ">" => self.begin_redirection(next),
            ";" | "&" | "|" => {
                self.end_command();
                if next == ";" && (self.skip(";") || self.skip("&")) {
                    self.current.in_pattern = true;
                }
            }
            _ => self.current.push(next),
        }
    }

    fn begin_redirection(&mut self, operator: &str) {
        // A number directly before the operator is a file descriptor.
        let word = &mut self.current.word;
        word.take_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        self.end_word();
        self.current.redirection = Some(if operator == ">" || self.skip(">") {
            let _ = self.skip(">") || self.skip("|") || self.skip("&");
            RedirectionWord::WrittenFile
        } else if self.skip("<<") || !self.skip("<") {
            RedirectionWord::ReadFile
        } else {
            self.skip("-");
            RedirectionWord::HereDocumentEnd
        });
    }

    fn open_parenthesis(&mut self) {
        let before = self.current.word.as_deref().unwrap_or_default();
        let is_data = before.ends_with(['=', '?', '*', '+', '@', '!']);
        if is_data || self.current.kind == ContextKind::Data {
            return self.open(ContextKind::Data);
        }
        if self.skip(")") {
            // The name of a function.
            self.current.word = None;
            return self.current.words.clear();
        }
        self.end_command();
        if !self.current.in_pattern {
            self.open_group();
        }
    }

    fn close_parenthesis(&mut self) {
        self.end_word();
        let context = &mut self.current;
        let first = context.first_word();
        if first == "case" || context.in_pattern && first != "esac" {
            context.in_pattern = false;
            context.words.clear();
        } else {
            self.end_command();
            self.close();
        }
    }

    fn end_word(&mut self) {
        let context = &mut self.current;
        let Some(word) = context.word.take() else {
            return;
        };
        let is_prefix = || RESERVED_WORDS.contains(&word.as_str()) || is_assignment(&word);
        match context.redirection.take() {
            _ if context.kind == ContextKind::Data => {}
            Some(RedirectionWord::WrittenFile) => self.commands.push(vec![">".to_owned(), word]),
            Some(RedirectionWord::ReadFile) => {}
            Some(RedirectionWord::HereDocumentEnd) => self.here_documents.push(word),
            None if context.words.is_empty() && is_prefix() => {}
            // The end of `[[ … ]]`.
            None if word == "]]" => context.words = vec![word],
            None => context.words.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let context = &mut self.current;
        context.redirection = None;
        let words = std::mem::take(&mut context.words);
        let first = words.first().map_or("", String::as_str);
        let was_pattern = context.in_pattern;
        context.in_pattern = first == "case" || was_pattern && first != "esac";
        if !words.is_empty() && !was_pattern {
            self.commands.push(words);
        }
    }
}
