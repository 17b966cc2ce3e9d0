//! Looking on while a run works: progress, mail to the person, calls that wait, and when it is over.

use std::collections::BTreeSet;
use std::time::Duration;

use polis_core::society::member::MemberStatus;
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

use super::typed::asks;
use crate::command::message::words;
use crate::command::serve::Signals;
use crate::command::society::{post, title, total};
use crate::context::Context;
use crate::error::Failure;
use crate::live::face::Face;
use crate::live::screen::{News, Screen, Taken};
use crate::live::terminal;

/// How often the block is drawn.
const FRAME: Duration = Duration::from_millis(120);
/// How often the store is looked into, whatever this process hears: another one may drive the run.
const LOOK: Duration = Duration::from_millis(700);
/// How many messages are read at a time.
const PAGE: u32 = 100;

/// How looking on ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everybody is idle, and nobody waits for the person.
    Done,
    /// Somebody is held up, and nobody is there to say something.
    Held,
    /// The run was ended by somebody.
    Over,
    /// The person wants to stop here.
    Quit,
    /// A signal came.
    Interrupted,
}

/// Somebody who wrote to the person.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) from: AgentId,
    pub(crate) id: u64,
    pub(crate) text: String,
}

/// A run that is looked at.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    pub(super) context: &'a Context,
    pub(super) run: Run,
    pub(super) face: Face<'a>,
    screen: Screen,
    /// The last message to the person that was seen.
    mail: u64,
    /// The last message of this run to the person, until it is answered.
    pub(super) last: Option<Letter>,
    /// All that was said to the person.
    pub(super) letters: Vec<Letter>,
    /// Calls that were shown to the person.
    shown: BTreeSet<String>,
    yes: bool,
    /// Whether somebody may type.
    listens: bool,
    /// Whether it is said at the end how to go on.
    pub(super) hints: bool,
    /// Whether it was said already what is waited for.
    told: bool,
    pub(super) org: Option<Org>,
}

impl<'a> Watch<'a> {
    /// Looks at a run. `since` is the newest message before it began; a run that goes on is looked at from its beginning.
    pub(crate) fn new(context: &'a Context, run: &Run, face: Face<'a>, since: Option<u64>) -> Self {
        let now = context.polis.clock.now_millis();
        Self {
            context,
            run: run.clone(),
            face,
            screen: Screen::new(title(&run.requirement), now),
            mail: since.unwrap_or(0),
            last: None,
            letters: Vec::new(),
            shown: BTreeSet::new(),
            yes: false,
            listens: true,
            hints: true,
            told: false,
            org: None,
        }
    }

    /// Whether every call that waits is allowed.
    pub(crate) fn yes(mut self, yes: bool) -> Self {
        self.yes = yes;
        self
    }

    /// Nobody is asked for anything, and nothing that is typed is read.
    pub(crate) fn alone(mut self) -> Self {
        self.listens = false;
        self.hints = false;
        self
    }

    /// Looks on until the run ends, somebody wants to stop, or nothing is left to wait for.
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
                        // What was looked at before somebody was told something says nothing any more.
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
                    if let Some(ended) = self.over()? {
                        return Ok(ended);
                    }
                },
                () = signals.next() => return Ok(Ended::Interrupted),
            }
        }
    }

    /// Takes in what just happened.
    async fn hear(&mut self, progress: &Progress) -> Result<(), Failure> {
        if progress.member.run != self.run.id {
            return Ok(());
        }
        let now = self.now();
        if self.screen.is_new(progress.member.agent.as_str()) {
            self.look().await?;
        }
        // What is said to the person is read from its mailbox, whoever drives the run.
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

    /// Looks into the store: who is there, who wrote to the person, what waits to be allowed.
    async fn look(&mut self) -> Result<(), Failure> {
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
        if self.is_answered().await? {
            self.last = None;
        }
        if asking {
            self.show_approvals().await?;
        }
        Ok(())
    }

    /// Whether the person has written to who wrote last, here or from elsewhere.
    async fn is_answered(&self) -> Result<bool, Failure> {
        let Some(last) = &self.last else {
            return Ok(false);
        };
        let (polis, user) = (&self.context.polis, AgentId::user());
        Ok(op::has_written_since(polis, &user, &last.from, &self.run.id, last.id).await?)
    }

    /// Shows what was written to the person.
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
                let letter = Letter {
                    from: message.from.clone(),
                    id: message.id,
                    text: words(&message.payload),
                };
                self.show_letter(letter)?;
            }
            if !mail.more {
                return Ok(());
            }
        }
    }

    fn show_letter(&mut self, letter: Letter) -> Result<(), Failure> {
        let now = self.now();
        let key = MemberKey::new(self.run.id.clone(), letter.from.clone());
        let said = Progress {
            member: key,
            step: Step::ToUser(letter.id, letter.text.clone()),
        };
        self.face.progress(&said, now)?;
        let news = News::ToUser {
            agent: letter.from.to_string(),
            id: letter.id,
            text: letter.text.clone(),
        };
        self.face.news(&news, &self.screen, now)?;
        self.told = false;
        self.last = Some(letter.clone());
        self.letters.push(letter);
        Ok(())
    }

    /// Shows the calls that wait to be allowed, or allows them.
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
            self.face.say(&crate::output::clean_lines(&format!(
                "{} wants to call {} {}\n  {asked}  [{}]",
                one.agent,
                one.tool,
                one.arguments.text(),
                one.id
            )))?;
        }
        Ok(())
    }

    /// Whether nothing is left to look at, and how it ended.
    fn over(&mut self) -> Result<Option<Ended>, Failure> {
        let Some(org) = &self.org else {
            return Ok(None);
        };
        if org.status == RunStatus::Stopped {
            return Ok(Some(Ended::Over));
        }
        let is = |status| org.members.iter().any(|m| m.status == status);
        // Another worker drives it.
        if is(MemberStatus::Working) && org.status == RunStatus::Active {
            return Ok(None);
        }
        let held = org.status == RunStatus::Paused || self.screen.held().next().is_some();
        let question = self.last.as_ref().is_some_and(|last| asks(&last.text));
        if !held && !question {
            return Ok(Some(Ended::Done));
        }
        if !self.listens {
            return Ok(Some(Ended::Held));
        }
        if !self.told {
            self.told = true;
            let what = if held {
                "Somebody is held up. /resume, /approve or /deny lets it go on; /quit stops here."
            } else {
                "Everybody waits for your answer. Type it, or /quit to stop here."
            };
            self.face.say(what)?;
        }
        Ok(None)
    }

    /// Says that it stops.
    pub(crate) fn stopping(&mut self, ended: Option<Ended>) -> Result<(), Failure> {
        if matches!(ended, Some(Ended::Interrupted | Ended::Quit)) {
            self.face.say(
                "Stopping: what is being written is finished. Ctrl-C again ends it at once.",
            )?;
        }
        Ok(())
    }

    /// Gives the terminal back.
    pub(crate) fn close(&mut self) {
        self.face.close();
    }

    pub(super) fn now(&self) -> i64 {
        self.context.polis.clock.now_millis()
    }

    /// How long it has been looked at.
    pub(super) fn lasted(&self) -> i64 {
        self.now() - self.screen.began
    }
}

/// The newest message to the person, so that only later ones are shown.
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

/// Whether it is the call that wrote to the person, who reads the message itself.
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

/// What is typed next; never, if nobody types.
async fn next(typed: &mut Option<mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match typed {
        Some(typed) => typed.recv().await,
        None => std::future::pending().await,
    }
}

/// Lines out of what comes through a pipe.
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
