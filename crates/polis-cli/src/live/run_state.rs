//! State of the live view of a run: its members, the activity of each, and the resources used.
//!
//! It does no I/O. The caller reads the members from the store and passes them in. Progress events update the
//! activities and the usage, and return the news items to print.

use std::collections::BTreeMap;

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallOutcome;
use polis_society::progress_event::{ProgressEvent, ProgressStep};
use unicode_width::UnicodeWidthStr as _;

/// State of a run in the live view.
#[derive(Debug, Clone)]
pub(crate) struct LiveRun {
    /// Title of the run.
    pub(crate) title: String,
    /// When watching began (milliseconds).
    pub(crate) began_ms: i64,
    /// All members, in the order they were hired.
    pub(crate) members: Vec<LiveMember>,
    /// Resources used by the run.
    pub(crate) usage: RunUsage,
}

/// A member in the live view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveMember {
    pub(crate) agent: String,
    pub(crate) parent: Option<String>,
    pub(crate) role: String,
    pub(crate) activity: MemberActivity,
    /// Start of the current activity (milliseconds).
    pub(crate) since_ms: i64,
    /// Tokens used by the member.
    pub(crate) tokens: u64,
}

/// Activity of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemberActivity {
    /// Waits for a message.
    Idle,
    /// Has work and waits for its turn.
    Ready,
    /// Waits for the model's response.
    Thinking,
    /// Waits for the endpoint, with the reason.
    Waiting(String),
    /// Executes a call: the tool and its subject.
    Calling(String, String),
    /// Blocked until a person acts: the status and its reason.
    Blocked(MemberStatus, Option<String>),
}

/// Resources used by a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RunUsage {
    pub(crate) turns: u64,
    pub(crate) tokens: u64,
    pub(crate) micros: u64,
    pub(crate) commands: u64,
}

/// A member of a run as read from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberSnapshot {
    pub(crate) agent: String,
    pub(crate) parent: Option<String>,
    pub(crate) role: String,
    pub(crate) status: MemberStatus,
    pub(crate) reason: Option<String>,
    pub(crate) tokens: u64,
}

/// An event that is printed as a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NewsItem {
    /// A response of a member's model contains text besides its calls.
    Response { agent: String, text: String },
    /// A call has ended.
    ToolCall {
        agent: String,
        tool: String,
        about: String,
        end: CallOutcome,
        ms: u64,
    },
    /// A member was blocked or continues.
    StatusChange {
        agent: String,
        status: MemberStatus,
        reason: Option<String>,
    },
    /// A member waits for the endpoint.
    Waiting { agent: String, why: String },
    /// A warning about the configuration.
    Warning { agent: String, text: String },
    /// A member sent a message to the person.
    MessageToPerson {
        agent: String,
        id: u64,
        text: String,
    },
}

impl LiveRun {
    /// Creates the state of a run without members.
    pub(crate) fn new(title: impl Into<String>, began_ms: i64) -> Self {
        Self {
            title: title.into(),
            began_ms,
            members: Vec::new(),
            usage: RunUsage::default(),
        }
    }

    /// Replaces the members with those of the store. Members that remain keep their activity, except that the
    /// store decides which ones are blocked.
    pub(crate) fn set_members(&mut self, now: i64, snapshots: Vec<MemberSnapshot>) {
        let mut before: BTreeMap<String, LiveMember> = std::mem::take(&mut self.members)
            .into_iter()
            .map(|member| (member.agent.clone(), member))
            .collect();
        for snapshot in snapshots {
            if snapshot.status == MemberStatus::Dismissed {
                continue;
            }
            let activity = match snapshot.status {
                MemberStatus::Idle | MemberStatus::Dismissed => MemberActivity::Idle,
                MemberStatus::Working => MemberActivity::Ready,
                status @ (MemberStatus::AwaitingApproval
                | MemberStatus::Paused
                | MemberStatus::Parked) => MemberActivity::Blocked(status, snapshot.reason),
            };
            let existing = before.remove(&snapshot.agent);
            let (activity, since) = match existing {
                Some(member) if member.activity.is_busy() && !activity.is_blocked() => {
                    (member.activity, member.since_ms)
                }
                Some(member) if member.activity == activity => (activity, member.since_ms),
                _ => (activity, now),
            };
            self.members.push(LiveMember {
                agent: snapshot.agent,
                parent: snapshot.parent,
                role: snapshot.role,
                activity,
                since_ms: since,
                tokens: snapshot.tokens,
            });
        }
    }

    /// Applies a progress event, and returns the news item to print, if any.
    pub(crate) fn apply_progress(
        &mut self,
        now: i64,
        progress: &ProgressEvent,
    ) -> Option<NewsItem> {
        let agent = progress.member.agent.as_str().to_owned();
        match &progress.step {
            ProgressStep::RequestStarted => {
                self.set_activity(now, &agent, MemberActivity::Thinking);
                None
            }
            ProgressStep::TextStreamed(_) => None,
            ProgressStep::ResponseReceived { text, used, calls } => {
                let all = used.prompt + used.response;
                self.usage.turns += 1;
                self.usage.tokens += all;
                self.usage.micros += used.micros;
                if let Some(member) = self.member_mut(&agent) {
                    member.tokens += all;
                }
                let next = if *calls > 0 {
                    MemberActivity::Ready
                } else {
                    MemberActivity::Idle
                };
                self.set_activity(now, &agent, next);
                let text = text.trim().to_owned();
                (!text.is_empty()).then_some(NewsItem::Response { agent, text })
            }
            ProgressStep::ToolCallStarted { tool, about } => {
                self.usage.commands += u64::from(tool == "run_command");
                self.set_activity(
                    now,
                    &agent,
                    MemberActivity::Calling(tool.clone(), about.clone()),
                );
                None
            }
            ProgressStep::ToolCallEnded { tool, end, ms } => {
                let about = match self.member_mut(&agent).map(|member| &member.activity) {
                    Some(MemberActivity::Calling(_, about)) => about.clone(),
                    _ => String::new(),
                };
                self.set_activity(now, &agent, MemberActivity::Ready);
                Some(NewsItem::ToolCall {
                    agent,
                    tool: tool.clone(),
                    about,
                    end: *end,
                    ms: *ms,
                })
            }
            ProgressStep::RequestRetried(reason) => {
                let waits = MemberActivity::Waiting(reason.clone());
                // The request is retried many times; one line is enough.
                let repeated = self
                    .member_mut(&agent)
                    .is_some_and(|member| member.activity == waits);
                self.set_activity(now, &agent, waits);
                (!repeated).then(|| NewsItem::Waiting {
                    agent,
                    why: reason.clone(),
                })
            }
            ProgressStep::Warning(text) => Some(NewsItem::Warning {
                agent,
                text: text.clone(),
            }),
            ProgressStep::StatusChanged(status, reason) => {
                self.apply_status(now, agent, *status, reason.clone())
            }
            ProgressStep::MessageToUser(id, text) => Some(NewsItem::MessageToPerson {
                agent,
                id: *id,
                text: text.clone(),
            }),
        }
    }

    fn apply_status(
        &mut self,
        now: i64,
        agent: String,
        status: MemberStatus,
        reason: Option<String>,
    ) -> Option<NewsItem> {
        let was_blocked = self
            .member_mut(&agent)
            .is_some_and(|member| member.activity.is_blocked());
        let activity = match status {
            MemberStatus::Dismissed => {
                self.members.retain(|member| member.agent != agent);
                return None;
            }
            MemberStatus::Idle => MemberActivity::Idle,
            MemberStatus::Working => MemberActivity::Ready,
            blocked => MemberActivity::Blocked(blocked, reason.clone()),
        };
        // A member that is idle with a reason has ended its turn without an answer.
        let is_blocked =
            activity.is_blocked() || (status == MemberStatus::Idle && reason.is_some());
        self.set_activity(now, &agent, activity);
        (is_blocked || was_blocked).then_some(NewsItem::StatusChange {
            agent,
            status,
            reason,
        })
    }

    fn set_activity(&mut self, now: i64, agent: &str, activity: MemberActivity) {
        if let Some(member) = self.member_mut(agent)
            && member.activity != activity
        {
            member.activity = activity;
            member.since_ms = now;
        }
    }

    fn member_mut(&mut self, agent: &str) -> Option<&mut LiveMember> {
        self.members.iter_mut().find(|member| member.agent == agent)
    }

    /// Returns whether a member that reported progress is not in the list yet.
    pub(crate) fn is_unknown_member(&self, agent: &str) -> bool {
        !self.members.iter().any(|member| member.agent == agent)
    }

    /// Returns the width of the longest name, in columns.
    pub(crate) fn longest_name_width(&self) -> usize {
        let names = self.members.iter().map(|member| member.agent.width());
        names.max().unwrap_or(0)
    }

    /// Returns the members as a tree, root first, each with the tree branches to draw before its name.
    pub(crate) fn member_tree(&self) -> Vec<(String, &LiveMember)> {
        let mut rows = Vec::new();
        let is_member = |name: &str| self.members.iter().any(|member| member.agent == name);
        let tops = self.members.iter().filter(|member| {
            let parent = member.parent.as_deref();
            parent.is_none_or(|parent| !is_member(parent))
        });
        for top in tops {
            rows.push((String::new(), top));
            self.push_subtree(&top.agent, "", &mut rows);
        }
        rows
    }

    fn push_subtree<'a>(
        &'a self,
        parent: &str,
        before: &str,
        rows: &mut Vec<(String, &'a LiveMember)>,
    ) {
        // Names are unique and a member is hired by an earlier one, so there is no cycle; the depth is
        // limited anyway.
        if before.chars().count() > 3 * 100 {
            return;
        }
        let children: Vec<&LiveMember> = self
            .members
            .iter()
            .filter(|member| member.parent.as_deref() == Some(parent))
            .collect();
        let last = children.len().saturating_sub(1);
        for (n, child) in children.into_iter().enumerate() {
            let (branch, trunk) = if n == last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            rows.push((format!("{before}{branch}"), child));
            self.push_subtree(&child.agent, &format!("{before}{trunk}"), rows);
        }
    }
}

impl MemberActivity {
    fn is_blocked(&self) -> bool {
        matches!(self, Self::Blocked(..))
    }

    fn is_busy(&self) -> bool {
        matches!(
            self,
            Self::Thinking | Self::Waiting(_) | Self::Calling(..) | Self::Ready
        )
    }
}
