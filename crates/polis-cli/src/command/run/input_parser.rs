//! Parser for the lines that a person types during `polis run`: answers, messages to an agent (`@AGENT`), and
//! slash commands.

/// A parsed input line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputLine {
    /// The line is empty or blank; nothing is done.
    Empty,
    /// Text for the member with the oldest open question.
    Answer(String),
    /// A message: the agent, and the text.
    Message(String, String),
    /// Allow a call: the approval's id, or the oldest pending one.
    Approve(Option<String>),
    /// Deny a call: the approval's id, or the oldest pending one, and the reason.
    Deny(Option<String>, Option<String>),
    /// Pause an agent, or the whole run.
    Pause(Option<String>),
    /// Resume an agent, or the whole run.
    Resume(Option<String>),
    /// Stop watching and driving the run.
    Quit,
    /// Show the help.
    Help,
    /// An unknown slash command, or an incomplete `@AGENT` message.
    Unknown(String),
}

/// Parses an input line; surrounding whitespace is ignored.
pub(crate) fn parse_input_line(line: &str) -> InputLine {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix('@') {
        let (agent, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let text = text.trim();
        return if agent.is_empty() || text.is_empty() {
            InputLine::Unknown(line.to_owned())
        } else {
            InputLine::Message(agent.to_owned(), text.to_owned())
        };
    }
    let Some(command) = line.strip_prefix('/') else {
        return match line {
            "" => InputLine::Empty,
            text => InputLine::Answer(text.to_owned()),
        };
    };
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    let argument = || Some(rest.to_owned()).filter(|text| !text.is_empty());
    match name {
        "approve" | "yes" | "y" => InputLine::Approve(argument()),
        "deny" | "no" | "n" => {
            let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            // An approval's id contains a slash; the first word of a reason rarely does.
            if first.contains('/') {
                let reason = Some(more.trim().to_owned()).filter(|reason| !reason.is_empty());
                InputLine::Deny(Some(first.to_owned()), reason)
            } else {
                InputLine::Deny(None, argument())
            }
        }
        "pause" => InputLine::Pause(argument()),
        "resume" => InputLine::Resume(argument()),
        "quit" | "exit" | "q" => InputLine::Quit,
        "help" | "h" | "?" => InputLine::Help,
        _ => InputLine::Unknown(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_lines_are_parsed() {
        let text = |text: &str| text.to_owned();
        for (line, expected) in [
            ("", InputLine::Empty),
            ("  ", InputLine::Empty),
            (" Use Rust. ", InputLine::Answer(text("Use Rust."))),
            (
                "@架构师-1 用 Rust 写",
                InputLine::Message(text("架构师-1"), text("用 Rust 写")),
            ),
            ("@nobody", InputLine::Unknown(text("@nobody"))),
            ("@ x", InputLine::Unknown(text("@ x"))),
            ("/approve", InputLine::Approve(None)),
            (
                "/approve r/a/3.0",
                InputLine::Approve(Some(text("r/a/3.0"))),
            ),
            ("/deny", InputLine::Deny(None, None)),
            (
                "/deny too risky",
                InputLine::Deny(None, Some(text("too risky"))),
            ),
            (
                "/deny r/a/3.0 no",
                InputLine::Deny(Some(text("r/a/3.0")), Some(text("no"))),
            ),
            ("/pause", InputLine::Pause(None)),
            (
                "/resume lexer-dev",
                InputLine::Resume(Some(text("lexer-dev"))),
            ),
            ("/quit", InputLine::Quit),
            ("/help", InputLine::Help),
            ("/halp", InputLine::Unknown(text("/halp"))),
        ] {
            assert_eq!(parse_input_line(line), expected, "{line}");
        }
    }
}
