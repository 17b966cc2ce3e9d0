//! Templates: the initial text of a board, filled in from the registry.
//!
//! There is one template for the global board and one for the boards of a layer, in both languages of
//! [`template_text`](super::template_text).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::template_text::{Language, Word, heading, label, value};
use crate::agent::{Agent, Layer};
use crate::time::Timestamp;

/// Author in a new board's change log: the board was created automatically, not by an agent.
const CREATOR: &str = "polis";

/// Values that a template is filled in with.
#[derive(Debug, Clone, Copy)]
pub struct TemplateFacts<'a> {
    /// The language to write in.
    pub language: Language,
    /// The project's name.
    pub project: &'a str,
    /// When the workspace was created.
    pub created: &'a Timestamp,
    /// The active agents, in any order.
    pub agents: &'a [Agent],
}

/// The board that a template is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateOf<'a> {
    /// The global board.
    Global,
    /// The board of the top layer.
    Top,
    /// The board of one role of the middle layer.
    Mid {
        /// The role.
        role: &'a str,
    },
    /// The board of one agent of the bottom layer.
    Bottom {
        /// The agent's id.
        agent: &'a str,
    },
}

/// Returns the initial text of a board. It is deterministic: the same facts give the same text.
pub fn template(board: TemplateOf<'_>, facts: &TemplateFacts<'_>) -> String {
    let mut page = Page::new(facts.language);
    match board {
        TemplateOf::Global => global(&mut page, facts),
        TemplateOf::Top => {
            let shared = heading::SHARED_BOARD.text(facts.language);
            let owners = owners(facts, |agent| agent.layer == Layer::Top);
            layer(&mut page, heading::TOP_LAYER, shared, &owners, facts);
        }
        TemplateOf::Mid { role } => {
            let owners = owners(facts, |agent| {
                agent.layer == Layer::Mid && agent.role == role
            });
            layer(&mut page, heading::MID_LAYER, role, &owners, facts);
        }
        TemplateOf::Bottom { agent: id } => {
            let owners = owners(facts, |agent| agent.id.as_str() == id);
            layer(&mut page, heading::BOTTOM_LAYER, id, &owners, facts);
        }
    }
    page.text
}

fn global(page: &mut Page, facts: &TemplateFacts<'_>) {
    page.title(heading::GLOBAL_BOARD, facts.project);
    page.section(heading::OVERVIEW);
    page.field(label::TASK_ID, &plain(facts.project));
    page.field(label::CREATED, facts.created.as_str());
    page.field(label::MODE, value::AUTOMATIC.text(page.language));
    page.field(label::STATE, value::IN_PROGRESS.text(page.language));
    page.empty_section(heading::GOALS);
    page.empty_section(heading::KEY_DECISIONS);
    page.empty_section(heading::MILESTONES);
    page.section(heading::TEAM);
    for (level, (name, of)) in [
        (heading::TOP_LAYER, Layer::Top),
        (heading::MID_LAYER, Layer::Mid),
        (heading::BOTTOM_LAYER, Layer::Bottom),
    ]
    .into_iter()
    .enumerate()
    {
        if level > 0 {
            page.line("");
        }
        page.members(name, &owners(facts, |agent| agent.layer == of));
    }
    page.empty_section(heading::ISSUES);
    page.section(heading::CHANGE_LOG);
    let created = value::BOARD_CREATED.text(page.language);
    page.line(&format!("- [{}] {CREATOR}: {created}", facts.created));
}

fn layer(page: &mut Page, level: Word, of: &str, owners: &[&Agent], facts: &TemplateFacts<'_>) {
    let superiors = owners
        .iter()
        .filter_map(|agent| agent.supervisor.as_ref())
        .map(crate::AgentId::as_str);
    let below = facts.agents.iter().filter(|agent| {
        let reports_here = |owner: &&Agent| agent.supervisor.as_ref() == Some(&owner.id);
        owners.iter().any(reports_here) && !owners.iter().any(|owner| owner.id == agent.id)
    });
    page.title(level, of);
    page.section(heading::PROFILE);
    page.field(
        label::AGENT_ID,
        &listed(owners.iter().map(|a| a.id.as_str())),
    );
    page.field(label::ROLE, &listed(owners.iter().map(|a| a.role.as_str())));
    page.field(label::DUTIES, value::UNKNOWN.text(page.language));
    page.field(label::SUPERVISOR, &listed(superiors));
    page.field(label::SUBORDINATES, &listed(below.map(|a| a.id.as_str())));
    page.empty_section(heading::CURRENT_TASKS);
    page.empty_section(heading::NEGOTIATION);
    page.empty_section(heading::KNOWLEDGE);
    page.section(heading::EXECUTION_LOG);
    let created = value::BOARD_CREATED.text(page.language);
    page.line(&format!("- [{}] {created}", facts.created));
}

/// Returns the agents that own a board, sorted by name so that the order of the registry has no effect.
fn owners<'a>(facts: &TemplateFacts<'a>, is_one: impl Fn(&Agent) -> bool) -> Vec<&'a Agent> {
    let mut found: Vec<_> = facts.agents.iter().filter(|agent| is_one(agent)).collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<_> = names.collect();
    if names.is_empty() {
        return value::UNKNOWN.en.to_owned();
    }
    let names: Vec<_> = names.into_iter().map(plain).collect();
    names.join(", ")
}

struct Page {
    text: String,
    language: Language,
}

impl Page {
    fn new(language: Language) -> Self {
        Self {
            text: String::new(),
            language,
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn title(&mut self, board: Word, of: &str) {
        self.line(&format!("# {} - {}", board.text(self.language), plain(of)));
    }

    fn section(&mut self, name: Word) {
        self.line("");
        self.line(&format!("## {}", name.text(self.language)));
    }

    fn empty_section(&mut self, name: Word) {
        self.section(name);
        self.line(value::NONE_YET.text(self.language));
    }

    fn field(&mut self, name: Word, value: &str) {
        self.line(&format!("- **{}**: {value}", name.text(self.language)));
    }

    fn members(&mut self, layer: Word, agents: &[&Agent]) {
        self.line(&format!(
            "### {} ({})",
            layer.text(self.language),
            agents.len()
        ));
        for agent in agents {
            self.line(&format!("- {}: {}", plain(&agent.name), plain(&agent.role)));
        }
        if agents.is_empty() {
            self.line(value::NONE_YET.text(self.language));
        }
    }
}

/// Escapes a name for Markdown, on one line.
fn plain(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let opens_block = at == 0 && matches!(c, '#' | '-' | '+' | '>' | '~' | '=' | '|');
        // A heading drops trailing number signs.
        let closes_heading = c == '#' && name[at..].trim_matches('#').trim().is_empty();
        let means_something = matches!(c, '\\' | '`' | '*' | '<' | '[' | ']' | '&');
        if c.is_control() {
            shown.push(' ');
            continue;
        }
        if opens_block || closes_heading || means_something {
            shown.push('\\');
        }
        shown.push(c);
    }
    numbered_apart(&shown)
}

/// `1. x` would be a list; `1\. x` is a name.
fn numbered_apart(name: &str) -> String {
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &name[..name.len() - rest.len()];
    if digits.is_empty() || !rest.starts_with(['.', ')']) {
        return name.to_owned();
    }
    let mut apart = String::with_capacity(name.len() + 1);
    let _infallible = write!(apart, "{digits}\\{rest}");
    apart
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentStatus;

    fn agent(id: &str, role: &str, layer: Layer, supervisor: Option<&str>) -> Agent {
        Agent {
            id: id.parse().unwrap(),
            name: format!("{id}!"),
            role: role.to_owned(),
            layer,
            supervisor: supervisor.map(|id| id.parse().unwrap()),
            status: AgentStatus::Active,
            run: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    fn team() -> Vec<Agent> {
        vec![
            agent("dev-2", "backend-leader", Layer::Bottom, Some("arch")),
            agent("dev-1", "backend-leader", Layer::Bottom, Some("arch")),
            agent("arch", "architect", Layer::Mid, Some("lead")),
            agent("lead", "team-lead", Layer::Top, None),
        ]
    }

    fn write(board: TemplateOf<'_>, language: Language, agents: &[Agent]) -> String {
        let created = Timestamp::from_millis(0);
        template(
            board,
            &TemplateFacts {
                language,
                project: "demo",
                created: &created,
                agents,
            },
        )
    }

    #[test]
    fn the_global_board_speaks_the_documents_words() {
        let text = write(TemplateOf::Global, Language::Zh, &team());
        assert_eq!(
            text,
            "# 全局白板 - demo\n\n## 任务概述\n- **任务ID**: demo\n\
             - **创建时间**: 1970-01-01T00:00:00.000Z\n- **执行模式**: 全自动\n\
             - **当前状态**: 进行中\n\n## 核心目标\n（暂无）\n\n## 关键决策记录\n（暂无）\n\n\
             ## 里程碑\n（暂无）\n\n## 团队结构\n### 顶层 (1)\n- lead!: team-lead\n\n\
             ### 中层 (1)\n- arch!: architect\n\n### 底层 (2)\n- dev-1!: backend-leader\n\
             - dev-2!: backend-leader\n\n## 问题与风险\n（暂无）\n\n## 更新日志\n\
             - [1970-01-01T00:00:00.000Z] polis: 创建白板\n"
        );
    }

    #[test]
    fn a_layer_board_names_its_owners_and_their_places() {
        let text = write(TemplateOf::Mid { role: "architect" }, Language::En, &team());
        assert_eq!(
            text,
            "# Mid layer - architect\n\n## Profile\n- **Agent ID**: arch\n- **Role**: architect\n\
             - **Responsibilities**: -\n- **Supervisor**: lead\n- **Subordinates**: dev-1, dev-2\n\n\
             ## Current tasks\n(none yet)\n\n## Decisions and negotiation\n(none yet)\n\n\
             ## Knowledge\n(none yet)\n\n## Execution log\n\
             - [1970-01-01T00:00:00.000Z] Board created\n"
        );
    }

    #[test]
    fn a_board_of_an_unknown_agent_says_so() {
        let text = write(TemplateOf::Bottom { agent: "ghost" }, Language::Zh, &[]);
        assert!(text.starts_with("# 底层 - ghost\n\n## 基本信息\n- **Agent ID**: -\n"));
        assert!(write(TemplateOf::Top, Language::Zh, &team()).contains("- **下级**: arch\n"));
    }

    #[test]
    fn the_order_of_the_registry_does_not_show() {
        let mut reversed = team();
        reversed.reverse();
        for board in [TemplateOf::Global, TemplateOf::Top] {
            assert_eq!(
                write(board, Language::En, &team()),
                write(board, Language::En, &reversed)
            );
        }
    }

    #[test]
    fn names_stay_names() {
        for (name, shown) in [
            ("# Boss", "\\# Boss"),
            ("C#", "C\\#"),
            ("a*b`c", "a\\*b\\`c"),
            ("1. first", "1\\. first"),
            ("<b>", "\\<b>"),
            ("two\nlines", "two lines"),
            ("程序员 7", "程序员 7"),
        ] {
            assert_eq!(plain(name), shown);
        }
    }
}
