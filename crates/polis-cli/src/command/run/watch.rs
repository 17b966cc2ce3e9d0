//! Watches a run: shows progress, messages to the person and pending approvals, passes typed lines on, and detects when
//! the run has ended or needs the person.
//!
//! Progress of this process arrives as events. The store is polled as well, because another worker may drive the run.

use std::collections::BTreeSet;
use std::time::Duration;

use polis_core::message::{Message, payload_text};
use polis_core::society::member::MemberStatus;
use polis_core::society::question::is_question;
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::turn::CallEnd;
use polis_core::{AgentId, MemberKey};
use polis_ops::OpError;
use polis_ops::op::{self, CheckMessages, DecideApproval, GetOrg, ListApprovals, Org};
use polis_society::Society;
use polis_society::progress::{Progress, Step};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use crate::command::serve::Signals;
use crate::command::society::{post, title, total};
use crate::context::Context;
use crate::error::Failure;
use crate::live::renderer::Face;
use crate::live::run_state::{News, Screen, Taken};
use crate::live::{count, status_block, terminal};
use crate::output::clean_lines;

/// Interval of redrawing the status block.
const FRAME: Duration = Duration::from_millis(120);
/// Interval of polling the store, regardless of progress events: another process may drive the run.
const LOOK: Duration = Duration::from_millis(700);
/// Number of messages read per query.
const PAGE: u32 = 100;

/// How watching a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All members are idle, and none waits for the person.
    Done,
    /// The run needs the person, and no input can be typed.
    Held,
    /// The run was stopped.
    Over,
    /// The person typed `/quit`.
    Quit,
    /// A signal arrived, or the society ended.
    Interrupted,
}

/// A run that is being watched.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    pub(super) context: &'a Context,
    pub(super) run: Run,
    pub(super) face: Face<'a>,
    screen: Screen,
    /// Id of the newest message to the person that was read.
    mail: u64,
    /// Questions to the person that have no answer yet, oldest first.
    pub(super) questions: Vec<Message>,
    /// The last message of this run to the person.
    pub(super) last: Option<Message>,
    /// Ids of the approvals that were shown to the person.
    shown: BTreeSet<String>,
    yes: bool,
    /// Whether input is read.
    listens: bool,
    /// Whether the summary contains the commands for the next steps.
    pub(super) hints: bool,
    /// Whether the person was already asked for what the run needs.
    pub(super) told: bool,
    pub(super) org: Option<Org>,
}

impl<'a> Watch<'a> {
    /// Watches a run. `since` is the newest message before the run started; without it, as for a resumed run, all
    /// messages of the run are shown.
    pub(crate) fn new(context: &'a Context, run: &Run, face: Face<'a>, since: Option<u64>) -> Self {
        let now = context.polis.clock.now_millis();
        Self {
            context,
            run: run.clone(),
            face,
            screen: Screen::new(title(&run.requirement), now),
            mail: since.unwrap_or(0),
            questions: Vec::new(),
            last: None,
            shown: BTreeSet::new(),
            yes: false,
            listens: true,
            hints: true,
            told: false,
            org: None,
        }
    }

    /// Sets whether all pending calls are approved automatically.
    pub(crate) fn yes(mut self, yes: bool) -> Self {
        self.yes = yes;
        self
    }

    /// Makes the watch non-interactive: input is not read, and the summary contains no next steps.
    pub(crate) fn alone(mut self) -> Self {
        self.listens = false;
        self.hints = false;
        self
    }

    /// Watches until the run ends, the person quits, a signal arrives, or the run needs input that cannot be given.
    pub(crate) async fn follow(
        &mut self,
        society: &Society,
        signals: &mut Signals,
    ) -> Result<Ended, Failure> {
        let mut progress = society.progress();
        let mut typed = self.listens.then(terminal::typed);
        let mut lines = LineBuffer::default();
        let mut frame = tokio::time::interval(FRAME);
        frame.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut settled = std::pin::pin!(society.settled());
        let mut armed = true;
        let mut looked = Instant::now();
        self.look().await?;
        loop {
            tokio::select! {
                heard = progress.recv() => match heard {
                    Ok(step) => self.hear(&step).await?,
                    Err(RecvError::Lagged(_)) => self.look().await?,
                    Err(RecvError::Closed) => return Ok(Ended::Interrupted),
                },
                bytes = next(&mut typed) => match bytes {
                    None => {
                        typed = None;
                        self.listens = false;
                    }
                    Some(bytes) => {
                        let typed = match self.face.typed(&bytes) {
                            Some(typed) => typed?,
                            None => lines.take(&bytes),
                        };
                        for line in typed {
                            if let Some(ended) = self.typed(&line).await? {
                                return Ok(ended);
                            }
                        }
                        // The input may have given a member new work, so a check that began before it is void.
                        settled.set(society.settled());
                        armed = true;
                    }
                },
                _ = frame.tick() => {
                    if looked.elapsed() >= LOOK {
                        self.look().await?;
                        if !armed {
                            settled.set(society.settled());
                            armed = true;
                        }
                        looked = Instant::now();
                    }
                    let now = self.now();
                    self.face.draw(&self.screen, now)?;
                },
                () = settled.as_mut(), if armed => {
                    armed = false;
                    self.look().await?;
                    if let Some(ended) = self.over(society).await? {
                        return Ok(ended);
                    }
                },
                () = signals.next() => return Ok(Ended::Interrupted),
            }
        }
    }

    /// Handles a progress event.
    async fn hear(&mut self, progress: &Progress) -> Result<(), Failure> {
        if progress.member.run != self.run.id {
            return Ok(());
        }
        let now = self.now();
        if self.screen.is_new(progress.member.agent.as_str()) {
            self.look().await?;
        }
        // Messages to the person are always read from the mailbox, because another worker may drive the run.
        if matches!(progress.step, Step::ToUser(..)) {
            return self.read_mail().await;
        }
        self.face.progress(progress, now)?;
        if let Some(news) = self.screen.feed(now, progress)
            && !is_letter(&news)
        {
            self.face.news(&news, &self.screen, now)?;
        }
        match &progress.step {
            Step::Stands(..) => self.look().await,
            Step::Called { tool, .. } if changes_the_org(tool) => self.look().await,
            _ => Ok(()),
        }
    }

    /// Polls the store for members, messages to the person, open questions and pending approvals.
    pub(super) async fn look(&mut self) -> Result<(), Failure> {
        let params = GetOrg {
            task_id: Some(self.run.id.clone()),
            all: false,
        };
        let org = op::get_org(&self.context.polis, &self.context.agent, &params).await?;
        let now = self.now();
        self.screen
            .seat(now, org.members.iter().map(post).collect());
        let spent = total(&org);
        self.screen.taken = Taken {
            turns: spent.turns,
            tokens: spent.tokens,
            micros: spent.micros,
            commands: spent.commands,
        };
        let asking = org.members.iter().any(|m| m.status == MemberStatus::Asking);
        self.org = Some(org);
        self.read_mail().await?;
        self.drop_closed_questions().await?;
        if asking {
            self.show_approvals().await?;
        }
        Ok(())
    }

    /// Drops the questions that the person has answered, here or elsewhere, and those of dismissed members.
    async fn drop_closed_questions(&mut self) -> Result<(), Failure> {
        let mut open = Vec::new();
        for question in std::mem::take(&mut self.questions) {
            if op::is_open_question(&self.context.polis, &question).await? {
                open.push(question);
            }
        }
        self.questions = open;
        Ok(())
    }

    /// Shows new messages to the person.
    async fn read_mail(&mut self) -> Result<(), Failure> {
        loop {
            let params = CheckMessages {
                limit: Some(PAGE),
                since: Some(self.mail),
                ..CheckMessages::default()
            };
            let user = AgentId::user();
            let mail = op::check_messages(&self.context.polis, &user, &params).await?;
            for message in mail.messages {
                self.mail = self.mail.max(message.id);
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

    fn show_message(&mut self, message: Message) -> Result<(), Failure> {
        let now = self.now();
        let text = payload_text(&message.payload);
        let key = MemberKey::new(self.run.id.clone(), message.from.clone());
        let said = Progress {
            member: key,
            step: Step::ToUser(message.id, text.clone()),
        };
        self.face.progress(&said, now)?;
        if is_question(&text) {
            self.questions.push(message.clone());
        }
        let news = News::ToUser {
            agent: message.from.to_string(),
            id: message.id,
            text,
        };
        self.face.news(&news, &self.screen, now)?;
        self.told = false;
        self.last = Some(message);
        Ok(())
    }

    /// Shows the pending approvals; with `--yes` approves them.
    async fn show_approvals(&mut self) -> Result<(), Failure> {
        let (polis, caller) = (&self.context.polis, &self.context.agent);
        let params = ListApprovals {
            task_id: Some(self.run.id.clone()),
            ..ListApprovals::default()
        };
        let list = op::list_approvals(polis, caller, &params).await?;
        for one in list.approvals {
            if self.yes {
                let decide = DecideApproval {
                    id: one.id.clone(),
                    allowed: true,
                    note: None,
                };
                match op::decide_approval(polis, caller, &decide).await {
                    Ok(_) | Err(OpError::Refused(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if !self.shown.insert(one.id.clone()) {
                continue;
            }
            let call = json!({"kind": "approval", "taskId": one.run, "agent": one.agent, "id": one.id,
                              "tool": one.tool, "arguments": one.arguments});
            self.face.document(&call)?;
            let asked = if self.yes {
                "is allowed (--yes)"
            } else {
                "asks: /approve, or /deny WHY"
            };
            self.face.say(&clean_lines(&format!(
                "{} wants to call {} {}\n  {asked}  [{}]",
                one.agent,
                one.tool,
                one.arguments.text(),
                one.id
            )))?;
        }
        Ok(())
    }

    /// Returns how the run ended, if nothing is left to watch.
    async fn over(&mut self, society: &Society) -> Result<Option<Ended>, Failure> {
        let Some(org) = &self.org else {
            return Ok(None);
        };
        if org.status == RunStatus::Stopped {
            return Ok(Some(Ended::Over));
        }
        let is = |status| org.members.iter().any(|m| m.status == status);
        // Another worker drives the run.
        if is(MemberStatus::Working) && org.status == RunStatus::Active {
            return Ok(None);
        }
        let needs = needs_of_person(org, &self.questions);
        if needs.is_empty() {
            // Check again in the store: something may have happened since it was read.
            let done = society.finish_if_done(&self.run.id).await?;
            return Ok(done.then_some(Ended::Done));
        }
        if !self.listens {
            return Ok(Some(Ended::Held));
        }
        if !self.told {
            self.told = true;
            let text = format!("{}\n/quit stops here.", needs.join("\n"));
            self.face.say(&clean_lines(&text))?;
        }
        Ok(None)
    }

    /// Prints that the run is stopping, if the person or a signal ended it.
    pub(crate) fn stopping(&mut self, ended: Option<Ended>) -> Result<(), Failure> {
        if matches!(ended, Some(Ended::Interrupted | Ended::Quit)) {
            self.face.say(
                "Stopping: what is being written is finished. Ctrl-C again ends it at once.",
            )?;
        }
        Ok(())
    }

    /// Restores the terminal.
    pub(crate) fn close(&mut self) {
        self.face.close();
    }

    pub(super) fn now(&self) -> i64 {
        self.context.polis.clock.now_millis()
    }

    /// Returns how long the run has been watched (milliseconds).
    pub(super) fn lasted(&self) -> i64 {
        self.now() - self.screen.began
    }
}

/// Returns what the run needs from the person before it can continue, one line each.
pub(super) fn needs_of_person(org: &Org, questions: &[Message]) -> Vec<String> {
    let names = |status| -> Vec<&str> {
        let members = org.members.iter().filter(|member| member.status == status);
        members.map(|member| member.agent_id.as_str()).collect()
    };
    let mut needs = Vec::new();
    if org.status == RunStatus::Paused {
        needs.push("The run is paused: /resume".to_owned());
    }
    let asking = names(MemberStatus::Asking);
    if !asking.is_empty() {
        needs.push(format!(
            "{} pending ({}): /approve or /deny",
            count(asking.len(), "approval"),
            asking.join(", ")
        ));
    }
    let is_held = |status| matches!(status, MemberStatus::Paused | MemberStatus::Parked);
    for member in org.members.iter().filter(|m| is_held(m.status)) {
        let why = member.why.as_deref();
        let why = why.map_or_else(String::new, |why| format!(" ({why})"));
        needs.push(format!(
            "{id} {}{why}: /resume {id}",
            status_block::held(member.status),
            id = member.agent_id
        ));
    }
    for question in questions {
        let text = payload_text(&question.payload);
        needs.push(format!("{} asks: {text}", question.from));
    }
    if let Some(first) = questions.first() {
        needs.push(format!("Type your answer to {}.", first.from));
    }
    needs
}

/// Returns the id of the newest message to the person, so that only later ones are shown.
pub(crate) async fn newest_mail(context: &Context) -> Result<Option<u64>, OpError> {
    let mut newest = 0;
    loop {
        let params = CheckMessages {
            limit: Some(PAGE),
            since: Some(newest),
            ..CheckMessages::default()
        };
        let mail = op::check_messages(&context.polis, &AgentId::user(), &params).await?;
        newest = mail.messages.iter().map(|m| m.id).fold(newest, u64::max);
        if !mail.more {
            return Ok(Some(newest));
        }
    }
}

/// Returns whether this is a successful call that sent a message to the person. It is not shown, because the message
/// itself is.
fn is_letter(news: &News) -> bool {
    matches!(
        news,
        News::Called { tool, about, end: CallEnd::Ok, .. }
            if tool == "send_message" && about.starts_with(&format!("{}:", AgentId::USER))
    )
}

fn changes_the_org(tool: &str) -> bool {
    matches!(tool, "spawn_agent" | "terminate_agent")
}

/// Returns the next input. Never resolves if input is not read.
async fn next(typed: &mut Option<mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match typed {
        Some(typed) => typed.recv().await,
        None => std::future::pending().await,
    }
}

/// Splits piped input into lines.
#[derive(Debug, Default)]
struct LineBuffer(Vec<u8>);

impl LineBuffer {
    fn take(&mut self, bytes: &[u8]) -> Vec<String> {
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
