//! Form for assigning a task to an agent, on the task's page.

use maud::{Markup, html};
use polis_core::task::has_required_role;
use polis_core::{Agent, AgentStatus, Task};
use polis_i18n::msg;
use polis_ops::op::{self, ListAgentsParams};
use polis_view::labels;

use crate::error_page::{OrPageError as _, PageError};
use crate::request::request_context::RequestContext;

/// Maximum number of agents offered per group.
const MAX_OFFERED_AGENTS: usize = 100;

/// Active agents that a task can be assigned to, without its owner.
#[derive(Debug)]
pub(super) struct AssigneeOptions {
    /// Whether the reader may hold the task.
    pub(super) includes_reader: bool,
    /// Agents with the role that the task requires.
    fitting: Vec<Agent>,
    /// All other agents: only the team lead and the person may assign across roles.
    others: Vec<Agent>,
}

impl AssigneeOptions {
    /// Loads the active agents and groups them by whether they have the required role.
    pub(super) async fn load(context: &RequestContext, task: &Task) -> Result<Self, PageError> {
        let list = op::list_agents(&context.request, &ListAgentsParams::default()).await;
        let agents = list.or_page_error(context)?.agents;
        let required = task.required_role.as_deref();
        let reader = agents.iter().find(|agent| agent.id == context.me);
        let includes_reader = has_required_role(required, &context.me, reader);
        let can_take =
            |agent: &Agent| agent.status == AgentStatus::Active && agent.id.as_str() != task.owner;
        let (mut fitting, mut others): (Vec<Agent>, Vec<Agent>) = agents
            .into_iter()
            .filter(can_take)
            .partition(|agent| has_required_role(required, &agent.id, Some(agent)));
        fitting.truncate(MAX_OFFERED_AGENTS);
        others.truncate(MAX_OFFERED_AGENTS);
        Ok(Self {
            includes_reader,
            fitting,
            others,
        })
    }

    /// Renders the form, or a sentence if no agent can take the task. `is_main` highlights the form as the
    /// primary action, if the reader cannot claim the task.
    pub(super) fn render_form(
        &self,
        context: &RequestContext,
        task: &Task,
        is_main: bool,
    ) -> Markup {
        let to = format!("/tasks/{}/act", task.id);
        let lang = context.lang();
        if self.fitting.is_empty() && self.others.is_empty() {
            return html! { span.muted { (msg::task_no_assignee(lang)) } };
        }
        let option = |agent: &Agent| {
            html! { option value=(agent.id) { (agent.id) " · " (labels::role_label(&agent.role, lang)) } }
        };
        let label = msg::task_assign_to(lang);
        html! {
            form.row method="post" action=(to) hx-post=(to) hx-target="#task" hx-swap="morph:outerHTML" {
                input type="hidden" name="csrf" value=(context.csrf);
                input type="hidden" name="version" value=(task.version);
                select name="owner" required aria-label=(label) {
                    option value="" { (label) "…" }
                    @for agent in &self.fitting { (option(agent)) }
                    @if !self.others.is_empty() {
                        optgroup label=(msg::task_assign_other_roles(lang)) {
                            @for agent in &self.others { (option(agent)) }
                        }
                    }
                }
                button.main[is_main] name="action" value="assign" { (msg::task_assign(lang)) }
            }
        }
    }
}
