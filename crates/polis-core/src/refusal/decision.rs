//! Refusals about board decisions and milestones.

crate::refusal_table! {
    /// Refusals about board decisions and milestones.
    pub enum DecisionRefusal {
        NotFound = "decision-not-found", DecisionNotFound { id: String };
        Empty = "decision-empty", InvalidText;
        NotASigner = "decision-not-a-signer", NotASigner {
            agent: String, action: String, decision: String, signers: Vec<String>,
        };
        NoSigners = "decision-no-signers", NotASigner {
            agent: String, action: String, decision: String,
        };
        Approved = "decision-approved", DecisionClosed {
            decision: String, status: String, action: String,
        };
        Rejected = "decision-rejected", DecisionClosed {
            decision: String, status: String, action: String,
        };
        Open = "decision-open", DecisionClosed { decision: String, status: String, action: String };
        MilestoneExists = "decision-milestone-exists", MilestoneExists { title: String };
        MilestoneNotFound = "decision-milestone-not-found", MilestoneNotFound { title: String };
        MilestoneColon = "decision-milestone-colon", InvalidSubject;
    }
}
