//! Test harness: `TestTui` runs the application over an in-memory store with a manual clock, takes keys,
//! executes their effects and returns the rendered frame.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::agent::AgentAddParams;
use polis_core::board::BoardName;
use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::society::brief::TaskBrief;
use polis_core::society::call_approval;
use polis_core::society::hire::SpawnAgentParams;
use polis_core::society::start_run::StartRunParams;
use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::workspace::command::RunCommandParams;
use polis_core::workspace::command_outcome::CommandEnding;
use polis_core::workspace::file_tools::WriteFileParams;
use polis_core::{AgentId, Caller, Changeset, MemberKey, RawJson, RunId, TaskId};
use polis_ops::op;
use polis_ops::{App, InstallationSettings};
use polis_testkit::{CountingRandomSource, FixedClock, MemoryStore, MemoryWorkspaces};
use polis_tui::app::{AppEffect, AppMessage, Tab, TuiApp, update_app};
use polis_tui::event_loop::{TuiConfig, compute_stats, execute_action, load_page};
use polis_view::UiLanguage;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

/// The application and its environment.
pub(crate) struct TestTui {
    pub(crate) app: TuiApp,
    pub(crate) screen: TuiConfig,
    pub(crate) clock: Arc<FixedClock>,
    workspaces: Arc<MemoryWorkspaces>,
    /// Effects that the harness does not execute: starting an editor, quitting, suspending.
    pub(crate) unhandled_effects: Vec<AppEffect>,
    runtime: tokio::runtime::Runtime,
}

impl TestTui {
    /// Creates a team with a few tasks, a board and some history, on a screen of this size.
    pub(crate) fn open_idle_team(lang: UiLanguage, size: (u16, u16), tab: Tab) -> Self {
        let mut tui = Self::with_empty_store(lang, size, tab);
        tui.create_idle_team();
        tui.load_first_page();
        tui
    }

    /// Creates the application over an empty store; nothing is loaded yet.
    pub(crate) fn with_empty_store(lang: UiLanguage, size: (u16, u16), tab: Tab) -> Self {
        let clock = Arc::new(FixedClock::default());
        let app = App::new(
            Arc::new(MemoryStore::default()),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountingRandomSource::default()),
            InstallationSettings::default(),
        );
        let workspaces = Arc::new(MemoryWorkspaces::default());
        let app = app.with_workspaces(
            Arc::<MemoryWorkspaces>::clone(&workspaces),
            Arc::<MemoryWorkspaces>::clone(&workspaces),
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        Self {
            app: TuiApp::new("user".to_owned(), lang, true, size, tab),
            screen: TuiConfig {
                app,
                agent: AgentId::user(),
                lang,
                colour: true,
                tab,
                editor: "false".to_owned(),
                stats_cache: Arc::default(),
            },
            clock,
            workspaces,
            unhandled_effects: Vec::new(),
            runtime,
        }
    }

    pub(crate) fn app(&self) -> &App {
        &self.screen.app
    }

    /// Runs a future to its end.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Creates two agents, three tasks, a board with a decision, a file and a question to the person.
    fn create_idle_team(&self) {
        let user = AgentId::user();
        let agent = |name: &str, role: &str, above: Option<&str>| {
            let new = AgentAddParams {
                id: name.parse().unwrap(),
                name: None,
                role: role.to_owned(),
                layer: None,
                supervisor: above.map(|above| above.parse().unwrap()),
                workspace_path: None,
            };
            self.block_on(op::add_agent(&self.app().request(&user), &new))
                .unwrap();
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
            let new = TaskCreateParams {
                subject: subject.to_owned(),
                description: "Do it **well**.".to_owned(),
                required_role: role.map(str::to_owned),
                ..TaskCreateParams::default()
            };
            self.block_on(op::create_task(&self.app().request(&user), &new))
                .unwrap();
        }
        let claim = TaskClaimParams {
            task_id: Some(TaskId::new(1).unwrap()),
            ..TaskClaimParams::default()
        };
        let backend: AgentId = "backend".parse().unwrap();
        self.block_on(op::claim_task(&self.app().request(&backend), &claim))
            .unwrap();
        let board = op::BoardWriteParams {
            board: BoardName::Global,
            content: "# Plan\n\n- [x] design\n- [ ] build\n\n| 谁 | 什么 |\n|---|---|\n| backend | 登录 |\n".to_owned(),
            expected_version: None,
            merge: false,
            force: true,
        };
        self.block_on(op::write_board(&self.app().request(&user), &board))
            .unwrap();
        let lead: AgentId = "lead".parse().unwrap();
        let file = WriteFileParams {
            path: "main.rs".to_owned(),
            content: "// 主程序\nfn main() {\n\tprintln!(\"hello\");\n}\n".to_owned(),
            ..WriteFileParams::default()
        };
        self.block_on(op::write_file(&self.app().request(&lead), None, &file))
            .unwrap();
        let question = SendMessageParams {
            to: MessageRecipients::One("user".to_owned()),
            payload: RawJson::from_value(&"Which database?").unwrap(),
            reply_to: None,
            delay_ms: None,
        };
        self.block_on(op::send_message(&self.app().request(&backend), &question))
            .unwrap();
        let propose = op::DecisionChange {
            board: BoardName::Global,
            action: op::DecisionAction::Propose {
                content: "Use SQLite".to_owned(),
                milestone: None,
            },
        };
        self.block_on(op::change_decision(&self.app().request(&lead), &propose))
            .unwrap();
        self.clock.advance_millis(5 * 60_000);
    }

    /// Creates the same team with an active run: a member, a pending approval, commands.
    pub(crate) fn open_active_run(lang: UiLanguage, size: (u16, u16), tab: Tab) -> Self {
        let mut tui = Self::with_empty_store(lang, size, tab);
        tui.create_idle_team();
        tui.start_active_run();
        tui.load_first_page();
        tui
    }

    /// Starts the run `shop` with a member and a pending call approval, and runs commands with different
    /// outcomes.
    fn start_active_run(&self) {
        let user = AgentId::user();
        let run: RunId = "shop".parse().unwrap();
        let start = StartRunParams {
            requirement: "Build a shop".to_owned(),
            run_id: Some(run.clone()),
            ..StartRunParams::default()
        };
        self.block_on(op::start_run(&self.app().request(&user), &start))
            .unwrap();
        let key: MemberKey = "shop/root".parse().unwrap();
        let request = self.app().request(&key.agent).in_run(run);
        let role = polis_core::society::society_role::CreateRoleParams {
            name: "architect".to_owned(),
            role_prompt: "plan".to_owned(),
            tools: None,
            model: None,
            approve: None,
        };
        self.block_on(op::create_role(&request, &role)).unwrap();
        let hire = SpawnAgentParams {
            role: Some("architect".to_owned()),
            task_brief: TaskBrief::from_objective("Plan the shop"),
            ..SpawnAgentParams::default()
        };
        self.block_on(op::spawn_agent(&request, &hire)).unwrap();
        let name = call_approval::approval_record_name(&key, 0, 0);
        let call = call_approval::CallApproval {
            id: name.id.clone(),
            run: key.run,
            agent: key.agent,
            tool: "run_command".to_owned(),
            arguments: RawJson::parse(r#"{"command":"make"}"#).unwrap(),
            asked_at: self.app().now(),
            decision: None,
        };
        let caller = Caller::resolve(user, None).unwrap();
        let changes = Changeset::new(&caller, self.app().now()).with_write(
            polis_core::society::versioned::new_record_write(name, &call),
        );
        self.block_on(self.app().store.commit(changes)).unwrap();
        let lead: AgentId = "lead".parse().unwrap();
        for (command, ending) in [
            ("make", CommandEnding::Exited(0)),
            ("make test", CommandEnding::Exited(2)),
            ("sleep 600", CommandEnding::Cancelled),
            ("cat everything", CommandEnding::OutOfMemory),
        ] {
            self.workspaces.set_command_endings(vec![ending]);
            let order = RunCommandParams {
                command: command.to_owned(),
                timeout_ms: None,
            };
            let ran = self.block_on(op::run_command(
                &self.app().request(&lead),
                None,
                &order,
                op::CommandObservers::default(),
                UiLanguage::En,
            ));
            // A cancelled command returns no result, but is recorded.
            assert!(ran.is_ok() || command == "sleep 600", "{ran:?}");
            self.clock.advance_millis(1_000);
        }
        self.clock.advance_millis(60_000);
    }

    /// Loads the first page.
    pub(crate) fn load_first_page(&mut self) {
        self.app.now = self.app().clock.now_millis();
        let effects = self.app.initial_effects();
        self.execute_effects(effects);
    }

    /// Processes a message and everything that follows from it.
    pub(crate) fn send(&mut self, message: AppMessage) {
        let now = self.app().clock.now_millis();
        let effects = update_app(&mut self.app, now, message);
        self.execute_effects(effects);
        // The event loop draws after each message.
        if self.app.has_undrawn_overlay() {
            update_app(&mut self.app, now, AppMessage::OverlayDrawn);
        }
    }

    /// Types keys; `<enter>`, `<esc>`, `<tab>` and `<c-d>` are named keys.
    pub(crate) fn press_keys(&mut self, keys: &str) {
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
            self.send(AppMessage::Key(KeyEvent::new(code, modifiers)));
        }
    }

    /// Delivers the events since a sequence number, as the follower does.
    pub(crate) fn deliver_events_since(&mut self, since: u64) {
        let read = op::LogReadParams {
            since,
            ..op::LogReadParams::default()
        };
        let page = self.block_on(op::read_log(&self.app().request(&self.screen.agent), &read));
        self.send(AppMessage::EventsArrived(page.unwrap().events));
    }

    /// Executes effects, as the event loop does.
    pub(crate) fn execute_effects(&mut self, effects: Vec<AppEffect>) {
        for effect in effects {
            let message = match effect {
                AppEffect::Load(wish) => {
                    let answer = self.block_on(load_page(&self.screen, &wish));
                    AppMessage::Loaded(wish, answer)
                }
                AppEffect::ComputeStats => {
                    AppMessage::StatsComputed(self.block_on(compute_stats(&self.screen)))
                }
                AppEffect::RunAction(action) => self.block_on(execute_action(&self.screen, action)),
                other => {
                    self.unhandled_effects.push(other);
                    continue;
                }
            };
            self.send(message);
        }
    }

    /// Returns the frame line by line, without trailing blanks.
    pub(crate) fn frame(&self) -> Vec<String> {
        let (width, height) = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal
            .draw(|frame| polis_tui::draw::draw_app(&self.app, frame))
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
    pub(crate) fn assert_frame(&self, name: &str, expected: &str) {
        let drawn = self.frame().join("\n");
        let (drawn, expected) = (drawn.trim_end(), expected.trim_end());
        assert!(
            drawn == expected,
            "{name}\ndrawn:\n{drawn}\n\nexpected:\n{expected}"
        );
    }

    /// Whether a text is on the screen.
    pub(crate) fn shows_text(&self, text: &str) -> bool {
        self.frame().iter().any(|line| line.contains(text))
    }
}

/// Opens a screen of the default size at a tab.
pub(crate) fn open_default_tui(tab: Tab) -> TestTui {
    TestTui::open_idle_team(UiLanguage::En, (80, 24), tab)
}

/// Returns a task id.
pub(crate) fn task_id(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

/// Changes a task as another agent.
pub(crate) fn update_task_as_lead(tui: &TestTui, change: &TaskUpdateParams) {
    let lead: AgentId = "lead".parse().unwrap();
    tui.block_on(op::update_task(&tui.app().request(&lead), change))
        .unwrap();
}

/// Creates this many tasks.
pub(crate) fn create_tasks(tui: &TestTui, count: usize) {
    for n in 0..count {
        let new = TaskCreateParams {
            subject: format!("task {n} of many"),
            ..TaskCreateParams::default()
        };
        tui.block_on(op::create_task(&tui.app().request(&AgentId::user()), &new))
            .unwrap();
    }
}

/// Opens a narrow screen at the boards, the first of which has this text.
pub(crate) fn open_narrow_with_board(text: String) -> TestTui {
    let mut tui = TestTui::with_empty_store(UiLanguage::En, (60, 12), Tab::Boards);
    let board = op::BoardWriteParams {
        board: BoardName::Global,
        content: text,
        expected_version: None,
        merge: false,
        force: true,
    };
    tui.block_on(op::write_board(
        &tui.app().request(&AgentId::user()),
        &board,
    ))
    .unwrap();
    tui.load_first_page();
    tui
}
