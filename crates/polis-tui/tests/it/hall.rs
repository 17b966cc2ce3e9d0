//! Test harness: the application over an in-memory store with a manual clock; takes keys and returns frames.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::agent::AgentAdd;
use polis_core::board::BoardName;
use polis_core::message::{Recipients, SendMessage};
use polis_core::society::approval;
use polis_core::society::brief::TaskBrief;
use polis_core::society::hire::SpawnAgent;
use polis_core::society::start::StartRun;
use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::workspace::command::{Ending, RunCommand};
use polis_core::workspace::file::WriteFile;
use polis_core::{AgentId, Caller, Changeset, MemberKey, Raw, RunId, TaskId};
use polis_ops::op;
use polis_ops::{Polis, Settings};
use polis_testkit::{CountedChance, FixedClock, MemoryStore, MemoryWorkspaces};
use polis_tui::app::{App, Effect, Message, Tab, update};
use polis_tui::run::{Screen, act, figures, load};
use polis_view::Lang;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

/// The application and its environment.
pub(crate) struct Hall {
    pub(crate) app: App,
    pub(crate) screen: Screen,
    pub(crate) clock: Arc<FixedClock>,
    places: Arc<MemoryWorkspaces>,
    /// Effects outside of the store: starting an editor, quitting.
    pub(crate) outside: Vec<Effect>,
    runtime: tokio::runtime::Runtime,
}

impl Hall {
    /// Creates a team with a few tasks, a board and some history, on a screen of this size.
    pub(crate) fn open(lang: Lang, size: (u16, u16), tab: Tab) -> Self {
        let mut hall = Self::empty(lang, size, tab);
        hall.furnish();
        hall.begin();
        hall
    }

    /// Creates an empty store.
    pub(crate) fn empty(lang: Lang, size: (u16, u16), tab: Tab) -> Self {
        let clock = Arc::new(FixedClock::default());
        let polis = Polis::new(
            Arc::new(MemoryStore::default()),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountedChance::default()),
            Settings::default(),
        );
        let places = Arc::new(MemoryWorkspaces::default());
        let polis = polis.with_workspaces(
            Arc::<MemoryWorkspaces>::clone(&places),
            Arc::<MemoryWorkspaces>::clone(&places),
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        Self {
            app: App::new("user".to_owned(), lang, true, size, tab),
            screen: Screen {
                polis,
                agent: AgentId::user(),
                lang,
                colour: true,
                tab,
                editor: "false".to_owned(),
                keeper: Arc::default(),
            },
            clock,
            places,
            outside: Vec::new(),
            runtime,
        }
    }

    pub(crate) fn polis(&self) -> &Polis {
        &self.screen.polis
    }

    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    fn furnish(&self) {
        let user = AgentId::user();
        let agent = |name: &str, role: &str, above: Option<&str>| {
            let new = AgentAdd {
                id: name.parse().unwrap(),
                name: None,
                role: role.to_owned(),
                layer: None,
                supervisor: above.map(|above| above.parse().unwrap()),
                workspace_path: None,
            };
            self.wait(op::add_agent(self.polis(), &user, &new)).unwrap();
        };
        agent("lead", "team-lead", None);
        agent("backend", "backend-leader", Some("lead"));
        for (subject, role) in [
            (
                "实现后端服务的登录接口，包括令牌刷新与会话管理，并写清楚文档",
                Some("backend-leader"),
            ),
            ("Write the tests", None),
            ("Deploy to staging", None),
        ] {
            let new = TaskCreate {
                subject: subject.to_owned(),
                description: "Do it **well**.".to_owned(),
                required_role: role.map(str::to_owned),
                ..TaskCreate::default()
            };
            self.wait(op::create_task(self.polis(), &user, &new))
                .unwrap();
        }
        let claim = TaskClaim {
            task_id: Some(TaskId::new(1).unwrap()),
            ..TaskClaim::default()
        };
        let backend: AgentId = "backend".parse().unwrap();
        self.wait(op::claim_task(self.polis(), &backend, &claim))
            .unwrap();
        let board = op::BoardOverwrite {
            board: BoardName::Global,
            content: "# Plan\n\n- [x] design\n- [ ] build\n\n| 谁 | 什么 |\n|---|---|\n| backend | 登录 |\n".to_owned(),
            expected_version: None,
            merge: false,
            force: true,
        };
        self.wait(op::write_board(self.polis(), &user, &board))
            .unwrap();
        let lead: AgentId = "lead".parse().unwrap();
        let file = WriteFile {
            path: "main.rs".to_owned(),
            content: "// 主程序\nfn main() {\n\tprintln!(\"hello\");\n}\n".to_owned(),
            ..WriteFile::default()
        };
        let desk = op::Desk::own(&lead);
        self.wait(op::write_file(self.polis(), desk, &file))
            .unwrap();
        let question = SendMessage {
            to: Recipients::One("user".to_owned()),
            payload: Raw::of(&"Which database?").unwrap(),
            reply_to: None,
            delay_ms: None,
        };
        self.wait(op::send_message(self.polis(), &backend, &question))
            .unwrap();
        let propose = op::Decide {
            board: BoardName::Global,
            act: op::DecisionAct::Propose {
                content: "Use SQLite".to_owned(),
                milestone: None,
            },
        };
        self.wait(op::decide(self.polis(), &lead, &propose))
            .unwrap();
        self.clock.advance(5 * 60_000);
    }

    /// Creates the same team with an active run: a member, a pending approval, commands.
    pub(crate) fn busy(lang: Lang, size: (u16, u16), tab: Tab) -> Self {
        let mut hall = Self::empty(lang, size, tab);
        hall.furnish();
        hall.employ();
        hall.begin();
        hall
    }

    fn employ(&self) {
        let user = AgentId::user();
        let run: RunId = "shop".parse().unwrap();
        let start = StartRun {
            requirement: "Build a shop".to_owned(),
            task_id: Some(run.clone()),
            ..StartRun::default()
        };
        self.wait(op::start_run(self.polis(), &user, &start))
            .unwrap();
        let key: MemberKey = "shop/root".parse().unwrap();
        let within = self.polis().within(run);
        let role = polis_core::society::role::CreateRole {
            name: "architect".to_owned(),
            role_prompt: "plan".to_owned(),
            tools: None,
            model: None,
            approve: None,
        };
        self.wait(op::create_role(&within, &key.agent, &role))
            .unwrap();
        let hire = SpawnAgent {
            role: Some("architect".to_owned()),
            task_brief: TaskBrief::of("Plan the shop"),
            ..SpawnAgent::default()
        };
        self.wait(op::spawn_agent(&within, &key.agent, &hire))
            .unwrap();
        let name = approval::record_name(&key, 0, 0);
        let call = approval::Approval {
            id: name.id.clone(),
            run: key.run,
            agent: key.agent,
            tool: "run_command".to_owned(),
            arguments: Raw::parse(r#"{"command":"make"}"#).unwrap(),
            asked_at: self.polis().now(),
            decision: None,
        };
        let caller = Caller::resolve(user, None).unwrap();
        let changes = Changeset::by(&caller, self.polis().now())
            .write(polis_core::society::versioned::add(name, &call));
        self.wait(self.polis().store.commit(changes)).unwrap();
        let lead: AgentId = "lead".parse().unwrap();
        for (command, ending) in [
            ("make", Ending::Exited(0)),
            ("make test", Ending::Exited(2)),
            ("sleep 600", Ending::Cancelled),
            ("cat everything", Ending::OutOfMemory),
        ] {
            self.places.end_with(vec![ending]);
            let order = RunCommand {
                command: command.to_owned(),
                timeout_ms: None,
            };
            let desk = op::Desk::own(&lead);
            let ran = self.wait(op::run_command(
                self.polis(),
                desk,
                &order,
                op::Follow::default(),
            ));
            // A cancelled command returns no result, but is recorded.
            assert!(ran.is_ok() || command == "sleep 600", "{ran:?}");
            self.clock.advance(1_000);
        }
        self.clock.advance(60_000);
    }

    /// Loads the first page.
    pub(crate) fn begin(&mut self) {
        self.app.now = self.polis().clock.now_millis();
        let effects = self.app.begin();
        self.carry_out(effects);
    }

    /// Processes a message and everything that follows from it.
    pub(crate) fn tell(&mut self, message: Message) {
        let now = self.polis().clock.now_millis();
        let effects = update(&mut self.app, now, message);
        self.carry_out(effects);
        // The event loop draws after each message.
        if self.app.is_unseen() {
            update(&mut self.app, now, Message::Seen);
        }
    }

    /// Types keys; `<enter>`, `<esc>`, `<tab>` and `<c-d>` are named keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let (code, modifiers) = match named {
                Some((name, after)) => {
                    rest = after;
                    match name {
                        "enter" => (KeyCode::Enter, KeyModifiers::NONE),
                        "esc" => (KeyCode::Esc, KeyModifiers::NONE),
                        "tab" => (KeyCode::Tab, KeyModifiers::NONE),
                        "down" => (KeyCode::Down, KeyModifiers::NONE),
                        other => {
                            let c = other.strip_prefix("c-").unwrap().chars().next().unwrap();
                            (KeyCode::Char(c), KeyModifiers::CONTROL)
                        }
                    }
                }
                None => {
                    rest = &rest[first.len_utf8()..];
                    (KeyCode::Char(first), KeyModifiers::NONE)
                }
            };
            self.tell(Message::Key(KeyEvent::new(code, modifiers)));
        }
    }

    /// Delivers the events since a sequence number, as the follower does.
    pub(crate) fn news(&mut self, since: u64) {
        let read = op::LogRead {
            since,
            ..op::LogRead::default()
        };
        let page = self.wait(op::read_log(self.polis(), &self.screen.agent, &read));
        self.tell(Message::News(page.unwrap().events));
    }

    /// Executes effects, as the event loop does.
    pub(crate) fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let message = match effect {
                Effect::Load(wish) => {
                    let answer = self.wait(load(&self.screen, &wish));
                    Message::Loaded(wish, answer)
                }
                Effect::Figures => Message::Figures(self.wait(figures(&self.screen))),
                Effect::Act(deed) => self.wait(act(&self.screen, deed)),
                other => {
                    self.outside.push(other);
                    continue;
                }
            };
            self.tell(message);
        }
    }

    /// Returns the frame line by line, without trailing blanks.
    pub(crate) fn frame(&self) -> Vec<String> {
        let (width, height) = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal
            .draw(|frame| polis_tui::draw::draw(&self.app, frame))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let mut lines = Vec::new();
        for y in 0..height {
            let mut line = String::new();
            let mut x = 0;
            while x < width {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                // The second half of a wide character is a separate cell.
                x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).unwrap();
            }
            lines.push(line.trim_end().to_owned());
        }
        lines
    }

    /// Compares the frame with the expected one; trailing empty lines are ignored.
    #[track_caller]
    pub(crate) fn shows(&self, name: &str, expected: &str) {
        let drawn = self.frame().join("\n");
        let (drawn, expected) = (drawn.trim_end(), expected.trim_end());
        assert!(
            drawn == expected,
            "{name}\ndrawn:\n{drawn}\n\nexpected:\n{expected}"
        );
    }

    /// Whether a text is on the screen.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.frame().iter().any(|line| line.contains(text))
    }
}

/// Opens a screen of the default size at a tab.
pub(crate) fn open(tab: Tab) -> Hall {
    Hall::open(Lang::En, (80, 24), tab)
}

/// Returns a task id.
pub(crate) fn task(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

/// Changes a task as another agent.
pub(crate) fn change(hall: &Hall, change: &TaskUpdate) {
    let lead: AgentId = "lead".parse().unwrap();
    hall.wait(op::update_task(hall.polis(), &lead, change))
        .unwrap();
}

/// Creates this many tasks.
pub(crate) fn create(hall: &Hall, count: usize) {
    for n in 0..count {
        let new = TaskCreate {
            subject: format!("task {n} of many"),
            ..TaskCreate::default()
        };
        hall.wait(op::create_task(hall.polis(), &AgentId::user(), &new))
            .unwrap();
    }
}

/// Opens a narrow screen at the boards, the first of which has this text.
pub(crate) fn narrow_with_global(text: String) -> Hall {
    let mut hall = Hall::empty(Lang::En, (60, 12), Tab::Boards);
    let board = op::BoardOverwrite {
        board: BoardName::Global,
        content: text,
        expected_version: None,
        merge: false,
        force: true,
    };
    hall.wait(op::write_board(hall.polis(), &AgentId::user(), &board))
        .unwrap();
    hall.begin();
    hall
}
