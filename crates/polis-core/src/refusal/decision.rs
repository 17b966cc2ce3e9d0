//! Refusals about board decisions and milestones.

crate::refusal_table! {
    /// Refusals about board decisions and milestones.
    pub enum DecisionRefusal {
        NotFound = "decision-not-found", DECISION_NOT_FOUND { id: String };
        Empty = "decision-empty", INVALID_TEXT;
        NotASigner = "decision-not-a-signer", NOT_A_SIGNER {
            agent: String, action: String, decision: String, signers: Vec<String>,
        };
        NoSigners = "decision-no-signers", NOT_A_SIGNER {
            agent: String, action: String, decision: String,
        };
        Approved = "decision-approved", DECISION_CLOSED {
            decision: String, status: String, action: String,
        };
        Rejected = "decision-rejected", DECISION_CLOSED {
            decision: String, status: String, action: String,
        };
        Open = "decision-open", DECISION_CLOSED { decision: String, status: String, action: String };
        MilestoneExists = "decision-milestone-exists", MILESTONE_EXISTS { title: String };
        MilestoneNotFound = "decision-milestone-not-found", MILESTONE_NOT_FOUND { title: String };
        MilestoneColon = "decision-milestone-colon", INVALID_SUBJECT;
    }
}
