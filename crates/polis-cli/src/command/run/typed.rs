//! Parser for the lines that a person types during `polis run`: answers, messages to an agent (`@AGENT`), and slash
//! commands.

/// A parsed input line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// An empty line.
    Nothing,
    /// Text for the member with the oldest open question.
    Answer(String),
    /// A message: the agent, and the text.
    To(String, String),
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
    /// An unknown command.
    Unknown(String),
}

/// Help on the input lines.
pub(crate) const HELP: &str = "\
TEXT              answers the oldest open question, or the agent that wrote last
@AGENT TEXT       writes to an agent
/approve [ID]     allows the call that waits longest, or the one named
/deny [ID] [WHY]  does not allow it
/pause [AGENT]    lets an agent, or everybody, wait
/resume [AGENT]   lets them go on
/quit             stops here; `polis run --resume` goes on";

/// Parses a line.
pub(crate) fn read(line: &str) -> Typed {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix('@') {
        let (agent, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let text = text.trim();
        return if agent.is_empty() || text.is_empty() {
            Typed::Unknown(line.to_owned())
        } else {
            Typed::To(agent.to_owned(), text.to_owned())
        };
    }
    let Some(command) = line.strip_prefix('/') else {
        return match line {
            "" => Typed::Nothing,
            text => Typed::Answer(text.to_owned()),
        };
    };
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    let one = || Some(rest.to_owned()).filter(|text| !text.is_empty());
    match name {
        "approve" | "yes" | "y" => Typed::Approve(one()),
        "deny" | "no" | "n" => {
            let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            // An approval's id contains a slash; the first word of a reason rarely does.
            if first.contains('/') {
                let why = Some(more.trim().to_owned()).filter(|why| !why.is_empty());
                Typed::Deny(Some(first.to_owned()), why)
            } else {
                Typed::Deny(None, one())
            }
        }
        "pause" => Typed::Pause(one()),
        "resume" => Typed::Resume(one()),
        "quit" | "exit" | "q" => Typed::Quit,
        "help" | "h" | "?" => Typed::Help,
        _ => Typed::Unknown(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_meant() {
        let text = |text: &str| text.to_owned();
        for (line, typed) in [
            ("", Typed::Nothing),
            ("  ", Typed::Nothing),
            (" Use Rust. ", Typed::Answer(text("Use Rust."))),
            (
                "@架构师-1 用 Rust 写",
                Typed::To(text("架构师-1"), text("用 Rust 写")),
            ),
            ("@nobody", Typed::Unknown(text("@nobody"))),
            ("@ x", Typed::Unknown(text("@ x"))),
            ("/approve", Typed::Approve(None)),
            ("/approve r/a/3.0", Typed::Approve(Some(text("r/a/3.0")))),
            ("/deny", Typed::Deny(None, None)),
            (
                "/deny too risky",
                Typed::Deny(None, Some(text("too risky"))),
            ),
            (
                "/deny r/a/3.0 no",
                Typed::Deny(Some(text("r/a/3.0")), Some(text("no"))),
            ),
            ("/pause", Typed::Pause(None)),
            ("/resume lexer-dev", Typed::Resume(Some(text("lexer-dev")))),
            ("/quit", Typed::Quit),
            ("/help", Typed::Help),
            ("/halp", Typed::Unknown(text("/halp"))),
        ] {
            assert_eq!(read(line), typed, "{line}");
        }
    }
}
