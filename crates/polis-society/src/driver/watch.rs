//! Streams partial model responses, retries and warnings to the progress channel.

use polis_core::society::MemberKey;
use tokio::sync::broadcast;

use crate::model::Watch;
use crate::progress::{Progress, Step};

/// Publishes events of a model request as progress events.
#[derive(Debug)]
pub(super) struct Onlookers {
    pub(super) member: MemberKey,
    pub(super) progress: broadcast::Sender<Progress>,
}

impl Onlookers {
    fn tell(&self, step: Step) {
        let _ = self.progress.send(Progress {
            member: self.member.clone(),
            step,
        });
    }
}

impl Watch for Onlookers {
    fn words(&self, text: &str) {
        self.tell(Step::Words(text.to_owned()));
    }

    fn again(&self, why: &str) {
        self.tell(Step::Waiting(why.to_owned()));
    }

    fn warning(&self, text: &str) {
        self.tell(Step::Warning(text.to_owned()));
    }
}
