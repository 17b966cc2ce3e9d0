//! Refusals of the terminal UI.

polis_core::refusal_table! {
    /// Refusals of the terminal UI.
    pub enum TerminalRefusal {
        NotPlainText = "terminal-not-plain-text", InvalidInput { error: String };
        NoTerminal = "terminal-no-terminal", InvalidInput;
    }
}
