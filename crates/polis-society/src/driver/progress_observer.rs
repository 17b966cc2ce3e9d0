//! Observer of model requests: publishes streamed text, retries and warnings on the progress channel.

use polis_core::society::MemberKey;
use tokio::sync::broadcast;

use crate::model::ResponseObserver;
use crate::progress_event::{ProgressEvent, ProgressStep};

/// Publishes events of a model request as progress events.
#[derive(Debug)]
pub(super) struct ProgressObserver {
    pub(super) member: MemberKey,
    pub(super) progress: broadcast::Sender<ProgressEvent>,
}

impl ProgressObserver {
    /// Publishes a progress event of the member.
    fn publish_step(&self, step: ProgressStep) {
        let _ = self.progress.send(ProgressEvent {
            member: self.member.clone(),
            step,
        });
    }
}

impl ResponseObserver for ProgressObserver {
    fn on_text(&self, text: &str) {
        self.publish_step(ProgressStep::TextStreamed(text.to_owned()));
    }

    fn on_retry(&self, reason: &str) {
        self.publish_step(ProgressStep::RequestRetried(reason.to_owned()));
    }

    fn on_warning(&self, text: &str) {
        self.publish_step(ProgressStep::Warning(text.to_owned()));
    }
}
