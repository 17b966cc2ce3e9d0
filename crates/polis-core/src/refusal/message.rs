//! Refusals about messages and mailboxes.

use crate::AgentId;

crate::refusal_table! {
    /// Refusals about messages and mailboxes.
    pub enum MessageRefusal {
        NotFound = "message-not-found", MessageNotFound { id: u64 };
        DelayTooLong = "message-delay-too-long", InvalidMessage;
        Empty = "message-empty", InvalidMessage;
        TooLong = "message-too-long", InvalidMessage;
        TooDeep = "message-too-deep", InvalidMessage;
        TooManyRecipients = "message-too-many-recipients", InvalidMessage;
        NoRecipient = "message-no-recipient", RecipientNotFound { in_run: bool };
        NoAgentWithRole = "message-no-agent-with-role", RecipientNotFound {
            role: String, in_run: bool,
        };
        RootWithoutRun = "message-root-without-run", RecipientNotFound { in_run: bool };
        RecipientRetired = "message-recipient-retired", RecipientNotFound {
            agent: AgentId, in_run: bool,
        };
        RecipientInOtherRun = "message-recipient-in-other-run", RecipientNotFound {
            agent: AgentId, in_run: bool,
        };
        RecipientUnknown = "message-recipient-unknown", RecipientNotFound {
            agent: AgentId, in_run: bool,
        };
    }
}
