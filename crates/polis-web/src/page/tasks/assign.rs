//! Form for assigning a task to an agent, on the task's page.

use maud::{Markup, html};
use polis_core::task::fits_role;
use polis_core::{Agent, AgentStatus, Task};
use polis_ops::op::{self, ListAgents};
use polis_view::labels;

use crate::error_page::{OrRefuse as _, Refused};
use crate::request_context::Visit;

/// Maximum number of agents offered per group.
const MAX_OFFERED: usize = 100;

/// Agents that a task can be assigned to.
#[derive(Debug)]
pub(super) struct Assignees {
    /// Whether the reader may hold the task.
    pub(super) includes_reader: bool,
    /// Agents with the role that the task requires.
    fitting: Vec<Agent>,
    /// All other agents: only the team lead and the person may assign across roles.
    others: Vec<Agent>,
}

impl Assignees {
    /// Loads the active agents and groups them by whether they have the required role.
    pub(super) async fn of(visit: &Visit, task: &Task) -> Result<Self, Refused> {
        let list = op::list_agents(&visit.polis, &ListAgents::default()).await;
        let agents = list.or_refuse(visit)?.agents;
        let required = task.required_role.as_deref();
        let reader = agents.iter().find(|agent| agent.id == visit.me);
        let includes_reader = fits_role(required, &visit.me, reader);
        let can_take =
            |agent: &Agent| agent.status == AgentStatus::Active && agent.id.as_str() != task.owner;
        let (mut fitting, mut others): (Vec<Agent>, Vec<Agent>) = agents
            .into_iter()
            .filter(can_take)
            .partition(|agent| fits_role(required, &agent.id, Some(agent)));
        fitting.truncate(MAX_OFFERED);
        others.truncate(MAX_OFFERED);
        Ok(Self {
            includes_reader,
            fitting,
            others,
        })
    }

    /// Renders the form, or a sentence if no agent can take the task. `is_main` highlights the form as the primary
    /// action, if the reader cannot claim the task.
    pub(super) fn form(&self, visit: &Visit, task: &Task, is_main: bool) -> Markup {
        let to = format!("/tasks/{}/act", task.id);
        let lang = visit.lang();
        if self.fitting.is_empty() && self.others.is_empty() {
            return html! { span.muted { (lang.say("No agent can take it yet.", "还没有智能体可以接手。")) } };
        }
        let option = |agent: &Agent| {
            html! { option value=(agent.id) { (agent.id) " · " (labels::role(&agent.role, lang)) } }
        };
        let label = lang.say("Assign to", "指派给");
        html! {
            form.row method="post" action=(to) hx-post=(to) hx-target="#task" hx-swap="morph:outerHTML" {
                input type="hidden" name="csrf" value=(visit.csrf);
                input type="hidden" name="version" value=(task.version);
                select name="owner" required aria-label=(label) {
                    option value="" { (label) "…" }
                    @for agent in &self.fitting { (option(agent)) }
                    @if !self.others.is_empty() {
                        optgroup label=(lang.say("Other roles", "其他角色")) {
                            @for agent in &self.others { (option(agent)) }
                        }
                    }
                }
                button.main[is_main] name="deed" value="assign" { (lang.say("Assign", "指派")) }
            }
        }
    }
}
