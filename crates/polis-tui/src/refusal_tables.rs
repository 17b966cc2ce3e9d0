//! Refusals of the terminal UI.

polis_core::refusal_table! {
    /// Refusals of the terminal UI.
    pub enum TerminalRefusal {
        NotPlainText = "terminal-not-plain-text", INVALID_INPUT { error: String };
        NoTerminal = "terminal-no-terminal", INVALID_INPUT;
    }
}
