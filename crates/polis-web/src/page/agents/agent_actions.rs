//! Form actions on agents and runs: pause or resume a run or member, stop a run, dismiss a member, retire a
//! registered agent. The last three cannot be undone and have a confirmation page.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::society::dismiss::TerminateAgentParams;
use polis_core::{AgentId, RunId};
use polis_i18n::msg;
use polis_ops::OpError;
use polis_ops::op::{self, PauseSocietyParams, RunIdParams};
use serde::Deserialize;

use super::{agent_page, member_url, run_page};
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::request::extract::{FormFields, PathParams};
use crate::request::request_context::RequestContext;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PauseAction {
    Pause,
    Resume,
}

#[derive(Debug, Deserialize)]
pub(super) struct PauseForm {
    action: PauseAction,
    /// Whether to include all members below; any non-empty text means yes.
    #[serde(default)]
    subtree: String,
}

/// Pauses or resumes a run.
pub(super) async fn pause_or_resume_run(
    context: RequestContext,
    PathParams(id): PathParams<RunId>,
    FormFields(form): FormFields<PauseForm>,
) -> Result<Response, PageError> {
    let request = PauseSocietyParams {
        run_id: Some(id.clone()),
        ..PauseSocietyParams::default()
    };
    pause_or_resume(&context, form.action, &request)
        .await
        .or_page_error(&context)?;
    if !context.is_fragment {
        return Ok(Redirect::to(&format!("/agents/runs/{id}")).into_response());
    }
    let run = run_page::load_run(&context, &id).await?;
    Ok(html_fragment(
        run_page::render_members_section(&context, &run).await?,
    ))
}

/// Pauses or resumes a member of a run.
pub(super) async fn pause_or_resume_member(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
    FormFields(form): FormFields<PauseForm>,
) -> Result<Response, PageError> {
    let at = member_url(&run, &id);
    let request = PauseSocietyParams {
        run_id: Some(run),
        agent_id: Some(id),
        subtree: !form.subtree.is_empty(),
        ..PauseSocietyParams::default()
    };
    pause_or_resume(&context, form.action, &request)
        .await
        .or_page_error(&context)?;
    Ok(Redirect::to(&at).into_response())
}

async fn pause_or_resume(
    context: &RequestContext,
    action: PauseAction,
    request: &PauseSocietyParams,
) -> Result<(), OpError> {
    match action {
        PauseAction::Pause => op::pause_society(&context.request, request).await?,
        PauseAction::Resume => op::resume_society(&context.request, request).await?,
    };
    Ok(())
}

/// Confirmation page for stopping a run.
pub(super) async fn confirm_stop_run(
    context: RequestContext,
    PathParams(id): PathParams<RunId>,
) -> Result<Response, PageError> {
    let run = run_page::load_run(&context, &id).await?;
    let message = msg::run_stop_explanation(context.lang(), run.agents);
    let at = format!("/agents/runs/{id}");
    let confirmation = ConfirmationPage {
        title: msg::run_stop_question(context.lang(), id),
        message: html! { p { (message) } },
        button_label: msg::run_stop_confirm(context.lang()),
        action_url: format!("{at}/stop"),
        cancel_url: at,
        asks_reason: false,
    };
    Ok(confirmation.render_page(&context))
}

/// Stops a run and redirects to its page.
pub(super) async fn stop_run(
    context: RequestContext,
    PathParams(id): PathParams<RunId>,
) -> Result<Response, PageError> {
    let done = op::stop_run(&context.request, &RunIdParams { run_id: id.clone() }).await;
    done.or_page_error(&context)?;
    Ok(Redirect::to(&format!("/agents/runs/{id}")).into_response())
}

/// Confirmation page for dismissing a member and all members below it.
pub(super) async fn confirm_dismiss_member(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
) -> Result<Response, PageError> {
    let one = agent_page::find_member(&context, &run, &id).await?;
    let at = member_url(&run, &id);
    let names: Vec<&str> = one.children.iter().map(AgentId::as_str).collect();
    let message = html! {
        p { (msg::agent_dismiss_explanation(context.lang())) }
        @if !names.is_empty() { p { (msg::agent_dismiss_hired_by_it(context.lang())) (names.join(msg::common_list_separator(context.lang()))) } }
    };
    let confirmation = ConfirmationPage {
        title: msg::agent_dismiss_question(context.lang(), id),
        message,
        button_label: msg::agent_dismiss_confirm(context.lang()),
        action_url: format!("{at}/dismiss"),
        cancel_url: at,
        asks_reason: true,
    };
    Ok(confirmation.render_page(&context))
}

#[derive(Debug, Deserialize)]
pub(super) struct DismissForm {
    #[serde(default)]
    reason: String,
}

/// Dismisses a member and all members below it.
pub(super) async fn dismiss_member(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
    FormFields(form): FormFields<DismissForm>,
) -> Result<Response, PageError> {
    let reason = form.reason.trim();
    let request = TerminateAgentParams {
        agent_id: id,
        reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
    };
    let done = op::terminate_agent(&context.request, &request).await;
    done.or_page_error(&context)?;
    Ok(Redirect::to(&format!("/agents/runs/{run}")).into_response())
}

/// Confirmation page for retiring an agent.
pub(super) async fn confirm_retire_agent(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
) -> Result<Response, PageError> {
    let agent = op::show_agent(&context.request, &id)
        .await
        .or_page_error(&context)?;
    let message = msg::agent_retire_explanation(context.lang());
    let confirmation = ConfirmationPage {
        title: msg::agent_retire_question(context.lang(), &agent.id),
        message: html! { p { (message) } },
        button_label: msg::agent_retire_confirm(context.lang()),
        action_url: format!("/agents/{id}/retire"),
        cancel_url: format!("/agents/{id}"),
        asks_reason: false,
    };
    Ok(confirmation.render_page(&context))
}

/// Retires an agent and redirects to the list of agents.
pub(super) async fn retire_agent(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
) -> Result<Response, PageError> {
    let done = op::retire_agent(&context.request, &id).await;
    done.or_page_error(&context)?;
    Ok(Redirect::to("/agents").into_response())
}

/// Confirmation page of an irreversible action.
struct ConfirmationPage {
    title: String,
    message: Markup,
    button_label: &'static str,
    action_url: String,
    cancel_url: String,
    asks_reason: bool,
}

impl ConfirmationPage {
    fn render_page(&self, context: &RequestContext) -> Response {
        let body = html! {
            form.card.stack method="post" action=(self.action_url) {
                input type="hidden" name="csrf" value=(context.csrf);
                (self.message)
                @if self.asks_reason { div { label for="reason" { (msg::run_reason_field(context.lang())) } input #reason.wide name="reason" autocomplete="off"; } }
                div.actions {
                    button.danger { (self.button_label) }
                    a.button href=(self.cancel_url) { (msg::common_cancel(context.lang())) }
                }
            }
        };
        tab_page(context, Tab::Agents, &self.title, "", &body)
    }
}
