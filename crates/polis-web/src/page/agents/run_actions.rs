//! Form actions on agents and runs: pause, resume, stop, terminate and retire. Irreversible actions have a confirmation
//! page.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::society::dismiss::TerminateAgent;
use polis_core::token::{Access, Area};
use polis_core::{AgentId, RunId};
use polis_ops::OpError;
use polis_ops::op::{self, HoldSociety, OfRun};
use serde::Deserialize;

use super::{member_at, run, show};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::{Form, Path};
use crate::layout::{Tab, page, part};
use crate::request_context::Visit;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Deed {
    Pause,
    Resume,
}

#[derive(Debug, Deserialize)]
pub(super) struct Hold {
    deed: Deed,
    /// Whether to include all members below; any non-empty text means yes.
    #[serde(default)]
    subtree: String,
}

/// Pauses or resumes a run.
pub(super) async fn hold_run(
    visit: Visit,
    Path(id): Path<RunId>,
    Form(asked): Form<Hold>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Write)?;
    let request = HoldSociety {
        task_id: Some(id.clone()),
        ..HoldSociety::default()
    };
    hold(&visit, asked.deed, &request).await.or_refuse(&visit)?;
    if !visit.part {
        return Ok(Redirect::to(&format!("/agents/runs/{id}")).into_response());
    }
    let run = run::named(&visit, &id).await?;
    Ok(part(run::members(&visit, &run).await?))
}

/// Pauses or resumes a member of a run.
pub(super) async fn hold_member(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
    Form(asked): Form<Hold>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Write)?;
    let at = member_at(&run, &id);
    let request = HoldSociety {
        task_id: Some(run),
        agent_id: Some(id),
        subtree: !asked.subtree.is_empty(),
        ..HoldSociety::default()
    };
    hold(&visit, asked.deed, &request).await.or_refuse(&visit)?;
    Ok(Redirect::to(&at).into_response())
}

async fn hold(visit: &Visit, deed: Deed, request: &HoldSociety) -> Result<(), OpError> {
    match deed {
        Deed::Pause => op::pause_society(&visit.polis, &visit.me, request).await?,
        Deed::Resume => op::resume_society(&visit.polis, &visit.me, request).await?,
    };
    Ok(())
}

/// Confirmation page for stopping a run.
pub(super) async fn ask_stop(visit: Visit, Path(id): Path<RunId>) -> Result<Response, Refused> {
    let run = run::named(&visit, &id).await?;
    let told = visit.say(
        format!(
            "All {} agents of the run are dismissed. Their tasks are free again; files stay.",
            run.agents
        ),
        format!(
            "运行中的全部 {} 个智能体将被解散，其任务重新可认领，文件保留。",
            run.agents
        ),
    );
    let at = format!("/agents/runs/{id}");
    let sure = Sure {
        title: visit.say(format!("End run {id}?"), format!("结束运行 {id}？")),
        told: html! { p { (told) } },
        does: visit.say("End it", "确认结束"),
        to: format!("{at}/stop"),
        back: at,
        reason: false,
    };
    Ok(sure.page(&visit))
}

/// Stops a run.
pub(super) async fn stop(visit: Visit, Path(id): Path<RunId>) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Write)?;
    let done = op::stop_run(
        &visit.polis,
        &visit.me,
        &OfRun {
            task_id: id.clone(),
        },
    )
    .await;
    done.or_refuse(&visit)?;
    Ok(Redirect::to(&format!("/agents/runs/{id}")).into_response())
}

/// Confirmation page for dismissing a member and all members below it.
pub(super) async fn ask_terminate(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Read)?;
    let one = show::find(&visit, &run, &id).await?;
    let at = member_at(&run, &id);
    let names: Vec<&str> = one.children.iter().map(AgentId::as_str).collect();
    let told = html! {
        p { (visit.say(
            "It is dismissed with everybody below it. Their tasks are free again, what they did not spend goes back, files stay.",
            "它及其全部下属将被解散，任务重新可认领，未用预算退回，文件保留。",
        )) }
        @if !names.is_empty() { p { (visit.say("It has hired: ", "它雇用了：")) (names.join(visit.say(", ", "、"))) } }
    };
    let sure = Sure {
        title: visit.say(format!("Terminate {id}?"), format!("终止 {id}？")),
        told,
        does: visit.say("Terminate", "确认终止"),
        to: format!("{at}/terminate"),
        back: at,
        reason: true,
    };
    Ok(sure.page(&visit))
}

#[derive(Debug, Deserialize)]
pub(super) struct Why {
    #[serde(default)]
    reason: String,
}

/// Dismisses a member and all members below it.
pub(super) async fn terminate(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
    Form(why): Form<Why>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Write)?;
    let reason = why.reason.trim();
    let request = TerminateAgent {
        agent_id: id,
        reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
    };
    let done = op::terminate_agent(&visit.polis, &visit.me, &request).await;
    done.or_refuse(&visit)?;
    Ok(Redirect::to(&format!("/agents/runs/{run}")).into_response())
}

/// Confirmation page for retiring an agent.
pub(super) async fn ask_retire(visit: Visit, Path(id): Path<AgentId>) -> Result<Response, Refused> {
    let agent = op::show_agent(&visit.polis, &id).await.or_refuse(&visit)?;
    let told = visit.say(
        "It may not act any more, and its name is not given out again. It must hold no unfinished task and supervise nobody.",
        "它将不能再行动，名称不再使用。它不得持有未完成的任务，也不得有下属。",
    );
    let sure = Sure {
        title: visit.say(
            format!("Retire {}?", agent.id),
            format!("让 {} 退休？", agent.id),
        ),
        told: html! { p { (told) } },
        does: visit.say("Retire", "确认退休"),
        to: format!("/agents/{id}/retire"),
        back: format!("/agents/{id}"),
        reason: false,
    };
    Ok(sure.page(&visit))
}

/// Retires an agent.
pub(super) async fn retire(visit: Visit, Path(id): Path<AgentId>) -> Result<Response, Refused> {
    let done = op::retire_agent(&visit.polis, &visit.me, &id).await;
    done.or_refuse(&visit)?;
    Ok(Redirect::to("/agents").into_response())
}

/// A confirmation page.
struct Sure {
    title: String,
    told: Markup,
    does: &'static str,
    to: String,
    back: String,
    reason: bool,
}

impl Sure {
    fn page(&self, visit: &Visit) -> Response {
        let body = html! {
            form.card.stack method="post" action=(self.to) {
                input type="hidden" name="csrf" value=(visit.csrf);
                (self.told)
                @if self.reason { div { label for="reason" { (visit.say("Reason", "原因")) } input #reason.wide name="reason" autocomplete="off"; } }
                div.actions {
                    button.danger { (self.does) }
                    a.button href=(self.back) { (visit.say("No, go back", "不，返回")) }
                }
            }
        };
        page(visit, Tab::Agents, &self.title, "", &body)
    }
}
