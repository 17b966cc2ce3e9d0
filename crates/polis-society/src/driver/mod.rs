//! Driver of a member: performs the effects of its state machine (reads the store, calls the model, executes
//! tools, commits), and retries with backoff when the store fails.
//!
//! [`drive_member`] is the task of one member, from the moment it has work until it sleeps; a member has one
//! task at a time. A store failure ends its run loop. After the backoff the next one starts from the
//! stored state, and the interrupted step is decided again. When a member has work is decided by the
//! [scheduler](crate::scheduler).

mod budget;
mod member_loading;
mod member_run_loop;
mod progress_observer;
mod turn_commit;
mod turn_commit_hook;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::society::MemberKey;
use polis_core::{Refusal, RefusalCode};
use polis_ops::tool::ToolSchemaSettings;
use polis_ops::{App, OpError};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::model::LanguageModel;
use crate::progress_event::{ProgressEvent, ProgressStep};
use crate::refusal_tables::MemberRefusal;
use crate::runtime_messages::RuntimeMessages;
use crate::toolbox::Toolbox;
use member_run_loop::MemberRunLoop;

/// Backoff after a store failure: initial and maximum.
const STORE_RETRY_BACKOFF: (Duration, Duration) =
    (Duration::from_millis(20), Duration::from_secs(1));

/// How many run loops without a commit may follow each other before the backoff applies.
const MAX_SESSIONS_WITHOUT_COMMIT: u32 = 3;

/// State shared by all members of this process.
#[derive(Debug)]
pub(crate) struct SocietyState {
    pub(crate) app: App,
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) worker_name: String,
    pub(crate) runtime_messages: RuntimeMessages,
    pub(crate) progress: broadcast::Sender<ProgressEvent>,
    toolbox_cache: Mutex<HashMap<ToolboxKey, Arc<Toolbox>>>,
}

/// Cache key of a toolbox.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ToolboxKey {
    /// The selected tools.
    tools: Option<Vec<String>>,
    /// The tools that need approval.
    approve: Vec<String>,
    has_workspace: bool,
    /// The role, if it has a command policy of its own.
    policy_role: Option<String>,
}

impl SocietyState {
    pub(crate) fn new(
        app: App,
        model: Arc<dyn LanguageModel>,
        worker_name: String,
        progress: broadcast::Sender<ProgressEvent>,
    ) -> Self {
        Self {
            runtime_messages: RuntimeMessages(app.settings.boards.language.into()),
            app,
            model,
            worker_name,
            progress,
            toolbox_cache: Mutex::default(),
        }
    }

    /// Returns the toolbox of a selection for members with a role from the cache, building it on first use.
    fn cached_toolbox(
        &self,
        role: &str,
        tools: Option<&[String]>,
        approve: Vec<String>,
        has_workspace: bool,
    ) -> Arc<Toolbox> {
        let settings = &self.app.settings;
        let has_policy = settings.command_policies.roles.contains_key(role);
        let key = ToolboxKey {
            tools: tools.map(<[String]>::to_vec),
            approve,
            has_workspace,
            policy_role: has_policy.then(|| role.to_owned()),
        };
        let mut cache = self.toolbox_cache.lock();
        if let Some(found) = cache.get(&key) {
            return Arc::clone(found);
        }
        let toolbox = Arc::new(Toolbox::from_selection(
            tools,
            &key.approve,
            has_workspace,
            ToolSchemaSettings::for_role(settings, role),
            self.runtime_messages.0,
        ));
        cache.insert(key, Arc::clone(&toolbox));
        toolbox
    }

    /// Publishes a progress event, if there are subscribers; only then is the event created.
    fn publish_progress(&self, member: &MemberKey, step: impl FnOnce() -> ProgressStep) {
        if self.progress.receiver_count() > 0 {
            let _ = self.progress.send(ProgressEvent {
                member: member.clone(),
                step: step(),
            });
        }
    }
}

/// A member that is driven, shared by its driver and the scheduler.
#[derive(Debug)]
pub(crate) struct ActiveMember {
    pub(crate) key: MemberKey,
    /// Cancels all its work at once; no result is reported.
    pub(crate) stop: CancellationToken,
    /// Makes no further model requests; the calls of the current response are still executed.
    pub(crate) pause: CancellationToken,
    /// Its position in the team or its budget may have changed.
    pub(crate) has_changed: AtomicBool,
}

impl ActiveMember {
    pub(crate) fn new(key: MemberKey, stop: CancellationToken) -> Self {
        Self {
            key,
            pause: stop.child_token(),
            stop,
            has_changed: AtomicBool::new(false),
        }
    }

    /// Returns whether team or budget changed since the last call, and resets the flag.
    fn take_changed(&self) -> bool {
        self.has_changed.swap(false, Ordering::Relaxed)
    }
}

/// Why a run loop ended.
#[derive(Debug)]
enum SessionEnd {
    /// Nothing to do until the next event.
    Idle,
    /// The state in memory is out of date; reload it.
    Reload,
    /// The run loop was cancelled.
    Stopped,
}

/// Drives a member until it sleeps, is paused or is stopped. Store failures are logged and retried.
pub(crate) async fn drive_member(shared: Arc<SocietyState>, active: Arc<ActiveMember>) {
    let mut backoff = STORE_RETRY_BACKOFF.0;
    let mut failures = 0_u32;
    while !active.pause.is_cancelled() {
        match MemberRunLoop::load_run_loop(&shared, &active).await {
            Ok(Some(mut life)) => match life.run_until_idle().await {
                Ok(SessionEnd::Idle | SessionEnd::Stopped) => return,
                Ok(SessionEnd::Reload) => {
                    failures = if life.has_committed() {
                        0
                    } else {
                        failures + 1
                    };
                    if failures <= MAX_SESSIONS_WITHOUT_COMMIT {
                        backoff = STORE_RETRY_BACKOFF.0;
                        tokio::task::yield_now().await;
                        continue;
                    }
                }
                Err(error) => log_store_failure(&active.key, &error),
            },
            Ok(None) => return,
            Err(error) => log_store_failure(&active.key, &error),
        }
        tokio::select! {
            () = active.pause.cancelled() => return,
            () = tokio::time::sleep(backoff) => {}
        }
        backoff = (backoff * 2).min(STORE_RETRY_BACKOFF.1);
    }
}

/// Logs a store failure; the member is loaded again after the backoff.
fn log_store_failure(member: &MemberKey, error: &OpError) {
    tracing::warn!(%member, code = %error.code(), "{error}; the member continues when the store is available again");
}

/// Returns whether the store itself failed, rather than refused the operation.
pub(crate) fn is_store_failure(error: &OpError) -> bool {
    matches!(error, OpError::Failed(_))
        && matches!(
            error.code(),
            RefusalCode::STORE_UNAVAILABLE
                | RefusalCode::STORE_BUSY
                | RefusalCode::COMMIT_UNKNOWN
                | RefusalCode::STORE_READ_ONLY
                | RefusalCode::STORE_FULL
                | RefusalCode::STORE_CORRUPT
                | RefusalCode::STORE_TOO_NEW
        )
}

/// Returns the error for a record that cannot be parsed.
fn damaged_record_error(record: &str) -> OpError {
    Refusal::from(MemberRefusal::RecordDamaged {
        record: record.to_string(),
    })
    .into()
}
