//! Whiteboard templates: render the initial text of a whiteboard from the registry of agents.
//!
//! There is one template for the global board and one for the boards of a layer, in both languages of
//! [`template_text`](super::template_text).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::template_text::{ContentLanguage, TemplateTerm, heading, label, value};
use crate::agent::{Agent, AgentLayer};
use crate::timestamp::Timestamp;

/// Author in a new board's change log: the board was created automatically, not by an agent.
const BOARD_CREATOR: &str = "polis";

/// Values that a template is filled in with.
#[derive(Debug, Clone, Copy)]
pub struct TemplateValues<'a> {
    /// The language to write in.
    pub language: ContentLanguage,
    /// Name of the project, for the title of the global board.
    pub project: &'a str,
    /// When the workspace was created.
    pub created: &'a Timestamp,
    /// The active agents, in any order.
    pub agents: &'a [Agent],
}

/// The board that a template is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateBoard<'a> {
    /// The global board, which lists the agents of all layers.
    Global,
    /// The board of the top layer.
    Top,
    /// The board of one role of the middle layer.
    Mid {
        /// Role of the agents that own the board.
        role: &'a str,
    },
    /// The board of one agent of the bottom layer.
    Bottom {
        /// Id of the agent that owns the board.
        agent: &'a str,
    },
}

/// Returns the initial text of a board. It is deterministic: the same values give the same text.
pub fn render_template(board: TemplateBoard<'_>, facts: &TemplateValues<'_>) -> String {
    let mut page = TemplateWriter::new(facts.language);
    match board {
        TemplateBoard::Global => render_global(&mut page, facts),
        TemplateBoard::Top => {
            let shared = heading::SHARED_BOARD.in_language(facts.language);
            let owners = board_owners(facts, |agent| agent.layer == AgentLayer::Top);
            render_layer(&mut page, heading::TOP_LAYER, shared, &owners, facts);
        }
        TemplateBoard::Mid { role } => {
            let owners = board_owners(facts, |agent| {
                agent.layer == AgentLayer::Mid && agent.role == role
            });
            render_layer(&mut page, heading::MID_LAYER, role, &owners, facts);
        }
        TemplateBoard::Bottom { agent: id } => {
            let owners = board_owners(facts, |agent| agent.id.as_str() == id);
            render_layer(&mut page, heading::BOTTOM_LAYER, id, &owners, facts);
        }
    }
    page.text
}

fn render_global(page: &mut TemplateWriter, facts: &TemplateValues<'_>) {
    page.push_title(heading::GLOBAL_BOARD, facts.project);
    page.push_section(heading::OVERVIEW);
    page.push_field(label::TASK_ID, &escape_name(facts.project));
    page.push_field(label::CREATED, facts.created.as_str());
    page.push_field(label::MODE, value::AUTOMATIC.in_language(page.language));
    page.push_field(label::STATE, value::IN_PROGRESS.in_language(page.language));
    page.push_empty_section(heading::GOALS);
    page.push_empty_section(heading::KEY_DECISIONS);
    page.push_empty_section(heading::MILESTONES);
    page.push_section(heading::TEAM);
    for (level, (name, layer)) in [
        (heading::TOP_LAYER, AgentLayer::Top),
        (heading::MID_LAYER, AgentLayer::Mid),
        (heading::BOTTOM_LAYER, AgentLayer::Bottom),
    ]
    .into_iter()
    .enumerate()
    {
        if level > 0 {
            page.push_line("");
        }
        page.push_members(name, &board_owners(facts, |agent| agent.layer == layer));
    }
    page.push_empty_section(heading::ISSUES);
    page.push_section(heading::CHANGE_LOG);
    let created = value::BOARD_CREATED.in_language(page.language);
    page.push_line(&format!("- [{}] {BOARD_CREATOR}: {created}", facts.created));
}

fn render_layer(
    page: &mut TemplateWriter,
    level: TemplateTerm,
    owner_name: &str,
    owners: &[&Agent],
    facts: &TemplateValues<'_>,
) {
    let superiors = owners
        .iter()
        .filter_map(|agent| agent.supervisor.as_ref())
        .map(crate::AgentId::as_str);
    let subordinates = facts.agents.iter().filter(|agent| {
        let reports_here = |owner: &&Agent| agent.supervisor.as_ref() == Some(&owner.id);
        owners.iter().any(reports_here) && !owners.iter().any(|owner| owner.id == agent.id)
    });
    page.push_title(level, owner_name);
    page.push_section(heading::PROFILE);
    page.push_field(
        label::AGENT_ID,
        &join_names(owners.iter().map(|a| a.id.as_str())),
    );
    page.push_field(
        label::ROLE,
        &join_names(owners.iter().map(|a| a.role.as_str())),
    );
    page.push_field(label::DUTIES, value::UNKNOWN.in_language(page.language));
    page.push_field(label::SUPERVISOR, &join_names(superiors));
    page.push_field(
        label::SUBORDINATES,
        &join_names(subordinates.map(|a| a.id.as_str())),
    );
    page.push_empty_section(heading::CURRENT_TASKS);
    page.push_empty_section(heading::NEGOTIATION);
    page.push_empty_section(heading::KNOWLEDGE);
    page.push_section(heading::EXECUTION_LOG);
    let created = value::BOARD_CREATED.in_language(page.language);
    page.push_line(&format!("- [{}] {created}", facts.created));
}

/// Returns the agents that own a board, sorted by name so that the order of the registry has no effect.
fn board_owners<'a>(facts: &TemplateValues<'a>, is_one: impl Fn(&Agent) -> bool) -> Vec<&'a Agent> {
    let mut found: Vec<_> = facts.agents.iter().filter(|agent| is_one(agent)).collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<_> = names.collect();
    if names.is_empty() {
        return value::UNKNOWN.en.to_owned();
    }
    let names: Vec<_> = names.into_iter().map(escape_name).collect();
    names.join(", ")
}

struct TemplateWriter {
    text: String,
    language: ContentLanguage,
}

impl TemplateWriter {
    fn new(language: ContentLanguage) -> Self {
        Self {
            text: String::new(),
            language,
        }
    }

    fn push_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn push_title(&mut self, board: TemplateTerm, name: &str) {
        self.push_line(&format!(
            "# {} - {}",
            board.in_language(self.language),
            escape_name(name)
        ));
    }

    fn push_section(&mut self, name: TemplateTerm) {
        self.push_line("");
        self.push_line(&format!("## {}", name.in_language(self.language)));
    }

    fn push_empty_section(&mut self, name: TemplateTerm) {
        self.push_section(name);
        self.push_line(value::NONE_YET.in_language(self.language));
    }

    fn push_field(&mut self, name: TemplateTerm, value: &str) {
        self.push_line(&format!(
            "- **{}**: {value}",
            name.in_language(self.language)
        ));
    }

    fn push_members(&mut self, layer: TemplateTerm, agents: &[&Agent]) {
        self.push_line(&format!(
            "### {} ({})",
            layer.in_language(self.language),
            agents.len()
        ));
        for agent in agents {
            self.push_line(&format!(
                "- {}: {}",
                escape_name(&agent.name),
                escape_name(&agent.role)
            ));
        }
        if agents.is_empty() {
            self.push_line(value::NONE_YET.in_language(self.language));
        }
    }
}

/// Escapes a name for Markdown, on one line.
fn escape_name(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let opens_block = at == 0 && matches!(c, '#' | '-' | '+' | '>' | '~' | '=' | '|');
        // A heading drops trailing number signs.
        let closes_heading = c == '#' && name[at..].trim_matches('#').trim().is_empty();
        let means_something = matches!(c, '\\' | '`' | '*' | '<' | '[' | ']' | '&');
        if c.is_control() {
            escaped.push(' ');
            continue;
        }
        if opens_block || closes_heading || means_something {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escape_list_number(&escaped)
}

/// `1. x` would be a list; `1\. x` is a name.
fn escape_list_number(name: &str) -> String {
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &name[..name.len() - rest.len()];
    if digits.is_empty() || !rest.starts_with(['.', ')']) {
        return name.to_owned();
    }
    let mut escaped = String::with_capacity(name.len() + 1);
    let _infallible = write!(escaped, "{digits}\\{rest}");
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentStatus;

    fn agent(id: &str, role: &str, layer: AgentLayer, supervisor: Option<&str>) -> Agent {
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

    fn sample_team() -> Vec<Agent> {
        vec![
            agent("dev-2", "backend-leader", AgentLayer::Bottom, Some("arch")),
            agent("dev-1", "backend-leader", AgentLayer::Bottom, Some("arch")),
            agent("arch", "architect", AgentLayer::Mid, Some("lead")),
            agent("lead", "team-lead", AgentLayer::Top, None),
        ]
    }

    fn render_board(
        board: TemplateBoard<'_>,
        language: ContentLanguage,
        agents: &[Agent],
    ) -> String {
        let created = Timestamp::from_millis(0);
        render_template(
            board,
            &TemplateValues {
                language,
                project: "demo",
                created: &created,
                agents,
            },
        )
    }

    #[test]
    fn global_board_uses_the_documented_terms() {
        let text = render_board(TemplateBoard::Global, ContentLanguage::Zh, &sample_team());
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
    fn layer_board_names_owners_supervisors_and_subordinates() {
        let text = render_board(
            TemplateBoard::Mid { role: "architect" },
            ContentLanguage::En,
            &sample_team(),
        );
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
    fn board_of_unknown_agent_has_placeholder_values() {
        let text = render_board(
            TemplateBoard::Bottom { agent: "ghost" },
            ContentLanguage::Zh,
            &[],
        );
        assert!(text.starts_with("# 底层 - ghost\n\n## 基本信息\n- **Agent ID**: -\n"));
        assert!(
            render_board(TemplateBoard::Top, ContentLanguage::Zh, &sample_team())
                .contains("- **下级**: arch\n")
        );
    }

    #[test]
    fn registry_order_does_not_affect_the_template() {
        let mut reversed = sample_team();
        reversed.reverse();
        for board in [TemplateBoard::Global, TemplateBoard::Top] {
            assert_eq!(
                render_board(board, ContentLanguage::En, &sample_team()),
                render_board(board, ContentLanguage::En, &reversed)
            );
        }
    }

    #[test]
    fn names_are_escaped_for_markdown() {
        for (name, escaped) in [
            ("# Boss", "\\# Boss"),
            ("C#", "C\\#"),
            ("a*b`c", "a\\*b\\`c"),
            ("1. first", "1\\. first"),
            ("<b>", "\\<b>"),
            ("two\nlines", "two lines"),
            ("程序员 7", "程序员 7"),
        ] {
            assert_eq!(escape_name(name), escaped);
        }
    }
}
