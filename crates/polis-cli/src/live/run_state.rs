//! State of the live view of a run: its members, the activity of each, and the resources used. Progress events update
//! it; it does no I/O.

use std::collections::BTreeMap;

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallEnd;
use polis_society::progress::{Progress, Step};
use unicode_width::UnicodeWidthStr as _;

/// State of a run in the live view.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    /// Title of the run.
    pub(crate) title: String,
    /// When watching began (milliseconds).
    pub(crate) began: i64,
    /// All members, in the order they were hired.
    pub(crate) seats: Vec<Seat>,
    /// Resources used by the run.
    pub(crate) taken: Taken,
}

/// A member in the live view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) agent: String,
    pub(crate) parent: Option<String>,
    pub(crate) role: String,
    pub(crate) doing: Doing,
    /// Start of the current activity (milliseconds).
    pub(crate) since: i64,
    /// Tokens used.
    pub(crate) tokens: u64,
}

/// Activity of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Waits for a message.
    Idle,
    /// Has work and waits for its turn.
    Ready,
    /// Waits for the model's answer.
    Thinking,
    /// Waits for the endpoint, with the reason.
    Waiting(String),
    /// Executes a call: the tool and its subject.
    Calling(String, String),
    /// Blocked until a person acts: the status and its reason.
    Held(MemberStatus, Option<String>),
}

/// Resources used by a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) turns: u64,
    pub(crate) tokens: u64,
    pub(crate) micros: u64,
    pub(crate) commands: u64,
}

/// A member of a run as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) agent: String,
    pub(crate) parent: Option<String>,
    pub(crate) role: String,
    pub(crate) status: MemberStatus,
    pub(crate) why: Option<String>,
    pub(crate) tokens: u64,
}

/// An event that is printed as a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// A member's answer contains text besides its calls.
    Said { agent: String, text: String },
    /// A call has ended.
    Called {
        agent: String,
        tool: String,
        about: String,
        end: CallEnd,
        ms: u64,
    },
    /// A member was blocked or continues.
    Stands {
        agent: String,
        status: MemberStatus,
        why: Option<String>,
    },
    /// A member waits for the endpoint.
    Waiting { agent: String, why: String },
    /// A warning about the configuration.
    Warning { agent: String, text: String },
    /// A member sent a message to the person.
    ToUser {
        agent: String,
        id: u64,
        text: String,
    },
}

impl Screen {
    /// Creates an empty state.
    pub(crate) fn new(title: impl Into<String>, began: i64) -> Self {
        Self {
            title: title.into(),
            began,
            seats: Vec::new(),
            taken: Taken::default(),
        }
    }

    /// Replaces the members with those of the store. Members that remain keep their activity, except that the store
    /// decides which ones are blocked.
    pub(crate) fn seat(&mut self, now: i64, posts: Vec<Post>) {
        let mut before: BTreeMap<String, Seat> = std::mem::take(&mut self.seats)
            .into_iter()
            .map(|seat| (seat.agent.clone(), seat))
            .collect();
        for post in posts {
            if post.status == MemberStatus::Gone {
                continue;
            }
            let doing = match post.status {
                MemberStatus::Idle | MemberStatus::Gone => Doing::Idle,
                MemberStatus::Working => Doing::Ready,
                held @ (MemberStatus::Asking | MemberStatus::Paused | MemberStatus::Parked) => {
                    Doing::Held(held, post.why)
                }
            };
            let known = before.remove(&post.agent);
            let (doing, since) = match known {
                Some(seat) if seat.doing.is_busy() && !doing.is_held() => (seat.doing, seat.since),
                Some(seat) if seat.doing == doing => (doing, seat.since),
                _ => (doing, now),
            };
            self.seats.push(Seat {
                agent: post.agent,
                parent: post.parent,
                role: post.role,
                doing,
                since,
                tokens: post.tokens,
            });
        }
    }

    /// Applies a progress event, and returns the news item to print, if any.
    pub(crate) fn feed(&mut self, now: i64, progress: &Progress) -> Option<News> {
        let agent = progress.member.agent.as_str().to_owned();
        match &progress.step {
            Step::Thinking => {
                self.does(now, &agent, Doing::Thinking);
                None
            }
            Step::Words(_) => None,
            Step::Answered { text, used, calls } => {
                let all = used.prompt + used.answer;
                self.taken.turns += 1;
                self.taken.tokens += all;
                self.taken.micros += used.micros;
                if let Some(seat) = self.seat_of(&agent) {
                    seat.tokens += all;
                }
                let next = if *calls > 0 {
                    Doing::Ready
                } else {
                    Doing::Idle
                };
                self.does(now, &agent, next);
                let text = text.trim().to_owned();
                (!text.is_empty()).then_some(News::Said { agent, text })
            }
            Step::Calling { tool, about } => {
                self.taken.commands += u64::from(tool == "run_command");
                self.does(now, &agent, Doing::Calling(tool.clone(), about.clone()));
                None
            }
            Step::Called { tool, end, ms } => {
                let about = match self.seat_of(&agent).map(|seat| &seat.doing) {
                    Some(Doing::Calling(_, about)) => about.clone(),
                    _ => String::new(),
                };
                self.does(now, &agent, Doing::Ready);
                Some(News::Called {
                    agent,
                    tool: tool.clone(),
                    about,
                    end: *end,
                    ms: *ms,
                })
            }
            Step::Waiting(why) => {
                let waits = Doing::Waiting(why.clone());
                // The request is retried many times; one line is enough.
                let known = self.seat_of(&agent).is_some_and(|seat| seat.doing == waits);
                self.does(now, &agent, waits);
                (!known).then(|| News::Waiting {
                    agent,
                    why: why.clone(),
                })
            }
            Step::Warning(text) => Some(News::Warning {
                agent,
                text: text.clone(),
            }),
            Step::Stands(status, why) => self.stands(now, agent, *status, why.clone()),
            Step::ToUser(id, text) => Some(News::ToUser {
                agent,
                id: *id,
                text: text.clone(),
            }),
        }
    }

    fn stands(
        &mut self,
        now: i64,
        agent: String,
        status: MemberStatus,
        why: Option<String>,
    ) -> Option<News> {
        let was_held = self
            .seat_of(&agent)
            .is_some_and(|seat| seat.doing.is_held());
        let doing = match status {
            MemberStatus::Gone => {
                self.seats.retain(|seat| seat.agent != agent);
                return None;
            }
            MemberStatus::Idle => Doing::Idle,
            MemberStatus::Working => Doing::Ready,
            held => Doing::Held(held, why.clone()),
        };
        // A member that is idle with a reason has ended its turn without an answer.
        let held = doing.is_held() || (status == MemberStatus::Idle && why.is_some());
        self.does(now, &agent, doing);
        (held || was_held).then_some(News::Stands { agent, status, why })
    }

    fn does(&mut self, now: i64, agent: &str, doing: Doing) {
        if let Some(seat) = self.seat_of(agent)
            && seat.doing != doing
        {
            seat.doing = doing;
            seat.since = now;
        }
    }

    fn seat_of(&mut self, agent: &str) -> Option<&mut Seat> {
        self.seats.iter_mut().find(|seat| seat.agent == agent)
    }

    /// Returns whether a member that reported progress is not in the list yet.
    pub(crate) fn is_new(&self, agent: &str) -> bool {
        !self.seats.iter().any(|seat| seat.agent == agent)
    }

    /// Returns the width of the longest name, in columns.
    pub(crate) fn widest(&self) -> usize {
        let names = self.seats.iter().map(|seat| seat.agent.width());
        names.max().unwrap_or(0)
    }

    /// Returns the members as a tree, root first, each with the tree branches to draw before its name.
    pub(crate) fn tree(&self) -> Vec<(String, &Seat)> {
        let mut rows = Vec::new();
        let known = |name: &str| self.seats.iter().any(|seat| seat.agent == name);
        let tops = self.seats.iter().filter(|seat| {
            let parent = seat.parent.as_deref();
            parent.is_none_or(|parent| !known(parent))
        });
        for top in tops {
            rows.push((String::new(), top));
            self.below(&top.agent, "", &mut rows);
        }
        rows
    }

    fn below<'a>(&'a self, parent: &str, before: &str, rows: &mut Vec<(String, &'a Seat)>) {
        // Names are unique and a member is hired by an earlier one, so there is no cycle; the depth is limited anyway.
        if before.chars().count() > 3 * 100 {
            return;
        }
        let children: Vec<&Seat> = self
            .seats
            .iter()
            .filter(|seat| seat.parent.as_deref() == Some(parent))
            .collect();
        let last = children.len().saturating_sub(1);
        for (n, child) in children.into_iter().enumerate() {
            let (branch, trunk) = if n == last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            rows.push((format!("{before}{branch}"), child));
            self.below(&child.agent, &format!("{before}{trunk}"), rows);
        }
    }
}

impl Doing {
    fn is_held(&self) -> bool {
        matches!(self, Self::Held(..))
    }

    fn is_busy(&self) -> bool {
        matches!(
            self,
            Self::Thinking | Self::Waiting(_) | Self::Calling(..) | Self::Ready
        )
    }
}
