//! Watches a run: shows progress, messages to the person and pending approvals, passes typed lines on, and
//! detects when the run has ended or needs the person.
//!
//! Progress of this process arrives as events. The store is polled as well, because another worker may drive
//! the run.

use std::collections::BTreeSet;
use std::time::Duration;

use polis_core::message::{Message, payload_text};
use polis_core::society::member::MemberStatus;
use polis_core::society::question::is_question;
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::run_id_json::with_run_id;
use polis_core::society::turn::CallOutcome;
use polis_core::{AgentId, MemberKey};
use polis_i18n::{UiLanguage, msg};
use polis_ops::OpError;
use polis_ops::op::{
    self, CheckMessagesParams, DecideApprovalParams, GetOrgParams, ListApprovalsParams, OrgChart,
};
use polis_society::Society;
use polis_society::progress_event::{ProgressEvent, ProgressStep};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use crate::command::serve::ShutdownSignals;
use crate::command::society::{member_snapshot, requirement_title, total_spent};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::live::renderer::RunRenderer;
use crate::live::run_state::{LiveRun, NewsItem, RunUsage};
use crate::live::{live_terminal, status_block};
use crate::output::sanitize_lines;

/// Interval of redrawing the status block.
const REDRAW_INTERVAL: Duration = Duration::from_millis(120);
/// Interval of polling the store, regardless of progress events: another process may drive the run.
const POLL_INTERVAL: Duration = Duration::from_millis(700);
/// Number of messages read per query.
const MESSAGES_PER_PAGE: u32 = 100;

/// How watching a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchOutcome {
    /// All members are idle, and none waits for the person.
    Done,
    /// The run needs the person, and no input can be typed.
    NeedsPerson,
    /// The run was stopped.
    Stopped,
    /// The person typed `/quit`.
    Quit,
    /// A signal arrived, or the society ended.
    Interrupted,
}

/// A run that is being watched.
#[derive(Debug)]
pub(crate) struct RunWatcher<'a> {
    pub(super) context: &'a CommandContext,
    pub(super) run: Run,
    pub(super) renderer: RunRenderer<'a>,
    live_run: LiveRun,
    /// Id of the newest message to the person that was read.
    last_message_id: u64,
    /// Questions to the person that have no answer yet, oldest first.
    pub(super) questions: Vec<Message>,
    /// The last message of this run to the person.
    pub(super) last_message: Option<Message>,
    /// Ids of the approvals that were shown to the person.
    shown_approvals: BTreeSet<String>,
    auto_approve: bool,
    /// Whether input is read.
    reads_input: bool,
    /// Whether the summary contains the commands for the next steps.
    pub(super) shows_next_steps: bool,
    /// Whether the person was already asked for what the run needs.
    pub(super) was_prompted: bool,
    pub(super) org: Option<OrgChart>,
}

impl<'a> RunWatcher<'a> {
    /// Watches a run. `since` is the newest message before the run started; without it, as for a resumed run,
    /// all messages of the run are shown.
    pub(crate) fn new(
        context: &'a CommandContext,
        run: &Run,
        renderer: RunRenderer<'a>,
        since: Option<u64>,
    ) -> Self {
        let now = context.app.clock.now_millis();
        Self {
            context,
            run: run.clone(),
            renderer,
            live_run: LiveRun::new(requirement_title(&run.requirement), now),
            last_message_id: since.unwrap_or(0),
            questions: Vec::new(),
            last_message: None,
            shown_approvals: BTreeSet::new(),
            auto_approve: false,
            reads_input: true,
            shows_next_steps: true,
            was_prompted: false,
            org: None,
        }
    }

    /// Sets whether all pending calls are approved automatically.
    pub(crate) fn with_auto_approve(mut self, yes: bool) -> Self {
        self.auto_approve = yes;
        self
    }

    /// Makes the watch non-interactive: input is not read, and the summary contains no next steps.
    pub(crate) fn non_interactive(mut self) -> Self {
        self.reads_input = false;
        self.shows_next_steps = false;
        self
    }

    /// Watches until the run ends, the person quits, a signal arrives, or the run needs input that cannot be
    /// given.
    pub(crate) async fn watch_until_end(
        &mut self,
        society: &Society,
        signals: &mut ShutdownSignals,
    ) -> Result<WatchOutcome, CliError> {
        let mut progress = society.subscribe_progress();
        let mut input = self.reads_input.then(live_terminal::spawn_stdin_reader);
        let mut lines = LineBuffer::default();
        let mut frame = tokio::time::interval(REDRAW_INTERVAL);
        frame.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut settled = std::pin::pin!(society.wait_until_settled());
        let mut armed = true;
        let mut last_poll = Instant::now();
        self.refresh_from_store().await?;
        loop {
            tokio::select! {
                received = progress.recv() => match received {
                    Ok(step) => self.handle_progress(&step).await?,
                    Err(RecvError::Lagged(_)) => self.refresh_from_store().await?,
                    Err(RecvError::Closed) => return Ok(WatchOutcome::Interrupted),
                },
                bytes = next_input(&mut input) => match bytes {
                    None => {
                        input = None;
                        self.reads_input = false;
                    }
                    Some(bytes) => {
                        let typed = match self.renderer.handle_keys(&bytes) {
                            Some(typed) => typed?,
                            None => lines.split_lines(&bytes),
                        };
                        for line in typed {
                            if let Some(ended) = self.execute_input(&line).await? {
                                return Ok(ended);
                            }
                        }
                        // The input may have given a member new work, so a check that began before it is
                        // void.
                        settled.set(society.wait_until_settled());
                        armed = true;
                    }
                },
                _ = frame.tick() => {
                    if last_poll.elapsed() >= POLL_INTERVAL {
                        self.refresh_from_store().await?;
                        if !armed {
                            settled.set(society.wait_until_settled());
                            armed = true;
                        }
                        last_poll = Instant::now();
                    }
                    let now = self.now_millis();
                    self.renderer.draw_status(&self.live_run, now)?;
                },
                () = settled.as_mut(), if armed => {
                    armed = false;
                    self.refresh_from_store().await?;
                    if let Some(ended) = self.check_ended(society).await? {
                        return Ok(ended);
                    }
                },
                () = signals.wait() => return Ok(WatchOutcome::Interrupted),
            }
        }
    }

    /// Handles a progress event.
    async fn handle_progress(&mut self, progress: &ProgressEvent) -> Result<(), CliError> {
        if progress.member.run != self.run.id {
            return Ok(());
        }
        let now = self.now_millis();
        if self
            .live_run
            .is_unknown_member(progress.member.agent.as_str())
        {
            self.refresh_from_store().await?;
        }
        // Messages to the person are always read from the mailbox, because another worker may drive the run.
        if matches!(progress.step, ProgressStep::MessageToUser(..)) {
            return self.read_messages().await;
        }
        self.renderer.print_progress(progress, now)?;
        if let Some(news) = self.live_run.apply_progress(now, progress)
            && !is_message_call(&news)
        {
            self.renderer.print_news(&news, &self.live_run, now)?;
        }
        match &progress.step {
            ProgressStep::StatusChanged(..) => self.refresh_from_store().await,
            ProgressStep::ToolCallEnded { tool, .. } if changes_members(tool) => {
                self.refresh_from_store().await
            }
            _ => Ok(()),
        }
    }

    /// Polls the store for members, messages to the person, open questions and pending approvals.
    pub(super) async fn refresh_from_store(&mut self) -> Result<(), CliError> {
        let params = GetOrgParams {
            run_id: Some(self.run.id.clone()),
            all: false,
        };
        let org = op::get_org(&self.context.app.request(&self.context.agent), &params).await?;
        let now = self.now_millis();
        let lang = self.renderer.lang();
        let members = org.members.iter();
        let members = members.map(|member| member_snapshot(member, lang));
        self.live_run.set_members(now, members.collect());
        let spent = total_spent(&org);
        self.live_run.usage = RunUsage {
            turns: spent.turns,
            tokens: spent.tokens,
            micros: spent.micros,
            commands: spent.commands,
        };
        let asking = org
            .members
            .iter()
            .any(|m| m.status == MemberStatus::AwaitingApproval);
        self.org = Some(org);
        self.read_messages().await?;
        self.drop_closed_questions().await?;
        if asking {
            self.show_approvals().await?;
        }
        Ok(())
    }

    /// Drops the questions that the person has answered, here or elsewhere, and those of dismissed members.
    async fn drop_closed_questions(&mut self) -> Result<(), CliError> {
        let mut open = Vec::new();
        for question in std::mem::take(&mut self.questions) {
            if op::is_open_question(&self.context.app.person_request(), &question).await? {
                open.push(question);
            }
        }
        self.questions = open;
        Ok(())
    }

    /// Shows new messages to the person.
    async fn read_messages(&mut self) -> Result<(), CliError> {
        loop {
            let params = CheckMessagesParams {
                limit: Some(MESSAGES_PER_PAGE),
                since: Some(self.last_message_id),
                ..CheckMessagesParams::default()
            };
            let user = AgentId::user();
            let mail = op::check_messages(&self.context.app.request(&user), &params).await?;
            for message in mail.messages {
                self.last_message_id = self.last_message_id.max(message.id);
                if message.run.as_ref() != Some(&self.run.id) {
                    continue;
                }
                self.show_message(message)?;
            }
            if !mail.more {
                return Ok(());
            }
        }
    }

    fn show_message(&mut self, message: Message) -> Result<(), CliError> {
        let now = self.now_millis();
        let text = payload_text(&message.payload);
        let key = MemberKey::new(self.run.id.clone(), message.from.clone());
        let event = ProgressEvent {
            member: key,
            step: ProgressStep::MessageToUser(message.id, text.clone()),
        };
        self.renderer.print_progress(&event, now)?;
        if is_question(&text) {
            self.questions.push(message.clone());
        }
        let news = NewsItem::MessageToPerson {
            agent: message.from.to_string(),
            id: message.id,
            text,
        };
        self.renderer.print_news(&news, &self.live_run, now)?;
        self.was_prompted = false;
        self.last_message = Some(message);
        Ok(())
    }

    /// Shows the pending approvals; with `--yes` approves them.
    async fn show_approvals(&mut self) -> Result<(), CliError> {
        let (app, caller) = (&self.context.app, &self.context.agent);
        let params = ListApprovalsParams {
            run_id: Some(self.run.id.clone()),
            ..ListApprovalsParams::default()
        };
        let list = op::list_approvals(&app.request(caller), &params).await?;
        for approval in list.approvals {
            if self.auto_approve {
                let decide = DecideApprovalParams {
                    id: approval.id.clone(),
                    allowed: true,
                    note: None,
                };
                match op::decide_approval(&app.request(caller), &decide).await {
                    Ok(_) | Err(OpError::Refused(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if !self.shown_approvals.insert(approval.id.clone()) {
                continue;
            }
            let call = json!({"kind": "approval", "agent": approval.agent, "id": approval.id,
                              "tool": approval.tool, "arguments": approval.arguments});
            self.renderer
                .print_document(&with_run_id(call, &approval.run))?;
            let lang = self.renderer.lang();
            let notice = if self.auto_approve {
                msg::cli_run_call_approved_by_flag(lang)
            } else {
                msg::cli_run_call_needs_approval(lang)
            };
            let (agent, tool) = (&approval.agent, &approval.tool);
            let call = msg::cli_run_call_wanted(lang, agent, tool, approval.arguments.as_str());
            self.renderer.print_text(&sanitize_lines(&format!(
                "{call}\n  {notice}  [{}]",
                approval.id
            )))?;
        }
        Ok(())
    }

    /// Returns how the run ended, if nothing is left to watch.
    async fn check_ended(&mut self, society: &Society) -> Result<Option<WatchOutcome>, CliError> {
        let Some(org) = &self.org else {
            return Ok(None);
        };
        if org.status == RunStatus::Stopped {
            return Ok(Some(WatchOutcome::Stopped));
        }
        let is = |status| org.members.iter().any(|m| m.status == status);
        // Another worker drives the run.
        if is(MemberStatus::Working) && org.status == RunStatus::Active {
            return Ok(None);
        }
        let lang = self.renderer.lang();
        let needs = needs_from_person(org, &self.questions, lang);
        if needs.is_empty() {
            // Check again in the store: something may have happened since it was read.
            let done = society.finish_if_done(&self.run.id).await?;
            return Ok(done.then_some(WatchOutcome::Done));
        }
        if !self.reads_input {
            return Ok(Some(WatchOutcome::NeedsPerson));
        }
        if !self.was_prompted {
            self.was_prompted = true;
            let text = format!("{}\n{}", needs.join("\n"), msg::cli_run_leave_hint(lang));
            self.renderer.print_text(&sanitize_lines(&text))?;
        }
        Ok(None)
    }

    /// Prints that the run is stopping, if the person or a signal ended it.
    pub(crate) fn print_stopping(&mut self, ended: Option<WatchOutcome>) -> Result<(), CliError> {
        if matches!(ended, Some(WatchOutcome::Interrupted | WatchOutcome::Quit)) {
            let lang = self.renderer.lang();
            self.renderer.print_text(msg::cli_run_exiting(lang))?;
        }
        Ok(())
    }

    /// Erases the status block and restores the terminal modes.
    pub(crate) fn close_terminal(&mut self) {
        self.renderer.close_terminal();
    }

    pub(super) fn now_millis(&self) -> i64 {
        self.context.app.clock.now_millis()
    }

    /// Returns how long the run has been watched (milliseconds).
    pub(super) fn elapsed_ms(&self) -> i64 {
        self.now_millis() - self.live_run.began_ms
    }
}

/// Returns what the run needs from the person before it can continue, one line each.
pub(super) fn needs_from_person(
    org: &OrgChart,
    questions: &[Message],
    lang: UiLanguage,
) -> Vec<String> {
    let names = |status| -> Vec<&str> {
        let members = org.members.iter().filter(|member| member.status == status);
        members.map(|member| member.agent_id.as_str()).collect()
    };
    let mut needs = Vec::new();
    if org.status == RunStatus::Paused {
        needs.push(msg::cli_run_needs_resume(lang).to_owned());
    }
    let asking = names(MemberStatus::AwaitingApproval);
    if !asking.is_empty() {
        let agents = asking.join(msg::common_list_separator(lang));
        needs.push(msg::cli_run_needs_approvals(lang, asking.len(), agents));
    }
    let is_blocked = |status| matches!(status, MemberStatus::Paused | MemberStatus::Parked);
    for member in org.members.iter().filter(|m| is_blocked(m.status)) {
        let (agent, status) = (
            &member.agent_id,
            status_block::describe_status(member.status, lang),
        );
        needs.push(match member.reason_text(lang) {
            Some(reason) => {
                msg::cli_run_needs_agent_resumed_with_reason(lang, agent, status, reason)
            }
            None => msg::cli_run_needs_agent_resumed(lang, agent, status),
        });
    }
    for question in questions {
        let text = payload_text(&question.payload);
        needs.push(msg::cli_run_needs_answer(lang, &question.from, text));
    }
    if let Some(first) = questions.first() {
        needs.push(msg::cli_run_answer_prompt(lang, &first.from));
    }
    needs
}

/// Returns the id of the newest message to the person, so that only later ones are shown.
pub(crate) async fn newest_message_id(context: &CommandContext) -> Result<Option<u64>, OpError> {
    let mut newest = 0;
    loop {
        let params = CheckMessagesParams {
            limit: Some(MESSAGES_PER_PAGE),
            since: Some(newest),
            ..CheckMessagesParams::default()
        };
        let mail = op::check_messages(&context.app.request(&AgentId::user()), &params).await?;
        newest = mail.messages.iter().map(|m| m.id).fold(newest, u64::max);
        if !mail.more {
            return Ok(Some(newest));
        }
    }
}

/// Returns whether this is a successful call that sent a message to the person. It is not shown, because the
/// message itself is.
fn is_message_call(news: &NewsItem) -> bool {
    matches!(
        news,
        NewsItem::ToolCall { tool, about, end: CallOutcome::Ok, .. }
            if tool == "send_message" && about.starts_with(&format!("{}:", AgentId::USER))
    )
}

fn changes_members(tool: &str) -> bool {
    matches!(tool, "spawn_agent" | "terminate_agent")
}

/// Returns the next input. Never resolves if input is not read.
async fn next_input(input: &mut Option<mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match input {
        Some(input) => input.recv().await,
        None => std::future::pending().await,
    }
}

/// Splits piped input into lines.
#[derive(Debug, Default)]
struct LineBuffer(Vec<u8>);

impl LineBuffer {
    fn split_lines(&mut self, bytes: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(bytes);
        let mut lines = Vec::new();
        while let Some(at) = self.0.iter().position(|b| *b == b'\n') {
            let rest = self.0.split_off(at + 1);
            let line = std::mem::replace(&mut self.0, rest);
            lines.push(String::from_utf8_lossy(&line).into_owned());
        }
        lines
    }
}
