//! What is known about a run that is looked at: who is there, what each of them does, and what it has taken.

use std::collections::BTreeMap;

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallEnd;
use polis_society::progress::{Progress, Step};
use unicode_width::UnicodeWidthStr as _;

/// A run on the screen.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    /// What it is called.
    pub(crate) title: String,
    /// When looking began (milliseconds).
    pub(crate) began: i64,
    /// Everybody, in the order they were hired.
    pub(crate) seats: Vec<Seat>,
    /// What it has taken.
    pub(crate) taken: Taken,
}

/// Somebody on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) agent: String,
    pub(crate) parent: Option<String>,
    pub(crate) role: String,
    pub(crate) doing: Doing,
    /// Since when (milliseconds).
    pub(crate) since: i64,
    /// The tokens it has used.
    pub(crate) tokens: u64,
}

/// What somebody does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Waits for a message.
    Idle,
    /// Has something to do and waits its turn.
    Ready,
    /// Its model was asked.
    Thinking,
    /// The endpoint has to be waited for, and why.
    Waiting(String),
    /// A call is carried out: the tool, and what it is about.
    Calling(String, String),
    /// A person has to say something: how it stands, and why.
    Held(MemberStatus, Option<String>),
}

/// What a run has taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) turns: u64,
    pub(crate) tokens: u64,
    pub(crate) micros: u64,
    pub(crate) commands: u64,
}

/// Who is in a run, as the store says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) agent: String,
    pub(crate) parent: Option<String>,
    pub(crate) role: String,
    pub(crate) status: MemberStatus,
    pub(crate) why: Option<String>,
    pub(crate) tokens: u64,
}

/// What is worth a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// Somebody said something beside its calls.
    Said { agent: String, text: String },
    /// A call is over.
    Called {
        agent: String,
        tool: String,
        about: String,
        end: CallEnd,
        ms: u64,
    },
    /// Somebody is held up, or goes on.
    Stands {
        agent: String,
        status: MemberStatus,
        why: Option<String>,
    },
    /// The endpoint has to be waited for.
    Waiting { agent: String, why: String },
    /// A warning about the configuration.
    Warning { agent: String, text: String },
    /// Somebody wrote to the person.
    ToUser {
        agent: String,
        id: u64,
        text: String,
    },
}

impl Screen {
    /// An empty one.
    pub(crate) fn new(title: impl Into<String>, began: i64) -> Self {
        Self {
            title: title.into(),
            began,
            seats: Vec::new(),
            taken: Taken::default(),
        }
    }

    /// Takes over who is there. Those who are still there keep what they do; the store decides who is held up.
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

    /// Takes in what just happened, and answers what of it is worth a line.
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
                // It is tried again and again; to say so once is enough.
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
        // One that is idle for a reason has ended its turn without an answer.
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

    /// Whether somebody is not known yet who just did something.
    pub(crate) fn is_new(&self, agent: &str) -> bool {
        !self.seats.iter().any(|seat| seat.agent == agent)
    }

    /// The columns of the longest name.
    pub(crate) fn widest(&self) -> usize {
        let names = self.seats.iter().map(|seat| seat.agent.width());
        names.max().unwrap_or(0)
    }

    /// The seats as a tree, the top first: how each is drawn before its name, and who it is.
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
        // Names are unique and a child is hired by one who was there before, so there is no circle; the depth is
        // checked all the same.
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
