//! Operations on messages between agents, mail of the person, and artifacts.

pub(crate) mod artifacts;
pub(crate) mod messages;
pub(crate) mod person_mail;

pub use artifacts::{
    ArtifactView, GetArtifactParams, PutArtifactResult, get_artifact, put_artifact,
};
pub use messages::{
    CheckMessagesParams, MailboxPage, SendMessageResult, SentMessage, check_messages, send_message,
};
pub use person_mail::{
    MarkMailReadParams, MarkMailReadResult, PersonMailPage, PersonMailParams, get_person_message,
    list_person_mail, mark_mail_read,
};
