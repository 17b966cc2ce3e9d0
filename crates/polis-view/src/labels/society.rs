//! Display names for agents, members of runs, and runs.

use polis_core::agent::{AgentStatus, Layer};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};

use crate::{Lang, time};

/// Returns the display name of a role. Built-in roles have a Chinese name; others keep the name the
/// installation gave them.
pub fn role(name: &str, lang: Lang) -> &str {
    match name {
        "team-lead" => lang.say(name, "团队负责人"),
        "product-manager" => lang.say(name, "产品经理"),
        "architect" => lang.say(name, "架构师"),
        "backend-leader" => lang.say(name, "后端负责人"),
        "frontend-leader" => lang.say(name, "前端负责人"),
        "client-leader" => lang.say(name, "客户端负责人"),
        "test-leader" => lang.say(name, "测试负责人"),
        "devops-leader" => lang.say(name, "运维负责人"),
        other => other,
    }
}

/// Returns the display name of a layer.
pub fn layer(layer: Layer, lang: Lang) -> &'static str {
    match layer {
        Layer::Top => lang.say("top layer", "顶层"),
        Layer::Mid => lang.say("mid layer", "中层"),
        Layer::Bottom => lang.say("bottom layer", "底层"),
    }
}

/// Returns the display name of a registered agent's status.
pub fn agent_status(status: AgentStatus, lang: Lang) -> &'static str {
    match status {
        AgentStatus::Active => lang.say("active", "在岗"),
        AgentStatus::Retired => lang.say("retired", "已退休"),
    }
}

/// Returns the display name of a member's status.
pub fn member(status: MemberStatus, lang: Lang) -> &'static str {
    match status {
        MemberStatus::Idle => lang.say("idle", "空闲"),
        MemberStatus::Working => lang.say("working", "工作中"),
        MemberStatus::Asking => lang.say("waits for approval", "等待批准"),
        MemberStatus::Paused => lang.say("paused", "已暂停"),
        MemberStatus::Parked => lang.say("held up", "受阻"),
        MemberStatus::Gone => lang.say("dismissed", "已解散"),
    }
}

/// Formats the duration of a run that has ended: "after 3 min". Returns `None` while it is open.
pub fn run_duration(run: &Run, lang: Lang) -> Option<String> {
    run.ended_at.as_ref()?;
    let millis = i64::try_from(run.duration_ms).unwrap_or(i64::MAX);
    let span = time::span(millis, lang);
    Some(lang.say(format!("after {span}"), format!("用时 {span}")))
}

/// Returns the display name of a run's status.
pub fn run(status: RunStatus, lang: Lang) -> &'static str {
    match status {
        RunStatus::Active => lang.say("running", "进行中"),
        RunStatus::Paused => lang.say("paused", "已暂停"),
        RunStatus::Done => lang.say("done", "已完成"),
        RunStatus::Stopped => lang.say("over", "已结束"),
    }
}
