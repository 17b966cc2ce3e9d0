//! Refusals about messages and mailboxes.

use crate::AgentId;

crate::refusal_table! {
    /// Refusals about messages and mailboxes.
    pub enum MessageRefusal {
        NotFound = "message-not-found", MESSAGE_NOT_FOUND { id: u64 };
        DelayTooLong = "message-delay-too-long", INVALID_MESSAGE;
        Empty = "message-empty", INVALID_MESSAGE;
        TooLong = "message-too-long", INVALID_MESSAGE;
        TooDeep = "message-too-deep", INVALID_MESSAGE;
        TooManyRecipients = "message-too-many-recipients", INVALID_MESSAGE;
        NoRecipient = "message-no-recipient", RECIPIENT_NOT_FOUND { in_run: bool };
        NoAgentWithRole = "message-no-agent-with-role", RECIPIENT_NOT_FOUND {
            role: String, in_run: bool,
        };
        RootWithoutRun = "message-root-without-run", RECIPIENT_NOT_FOUND { in_run: bool };
        RecipientRetired = "message-recipient-retired", RECIPIENT_NOT_FOUND {
            agent: AgentId, in_run: bool,
        };
        RecipientInOtherRun = "message-recipient-in-other-run", RECIPIENT_NOT_FOUND {
            agent: AgentId, in_run: bool,
        };
        RecipientUnknown = "message-recipient-unknown", RECIPIENT_NOT_FOUND {
            agent: AgentId, in_run: bool,
        };
    }
}
