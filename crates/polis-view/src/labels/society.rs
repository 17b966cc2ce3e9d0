//! Labels for agents, members of runs, and runs, in English and Chinese.

use polis_core::agent::{AgentLayer, AgentStatus};
use polis_core::number::saturating_cast;
use polis_core::role::DEFAULT_ROLES;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_i18n::msg;

use crate::{UiLanguage, relative_time};

/// Returns the display name of a role. Built-in roles have a Chinese name; others keep the name the
/// installation gave them.
pub fn role_label(name: &str, lang: UiLanguage) -> &str {
    match name {
        "team-lead" => msg::agent_role_team_lead(lang),
        "product-manager" => msg::agent_role_product_manager(lang),
        "architect" => msg::agent_role_architect(lang),
        "backend-leader" => msg::agent_role_backend_leader(lang),
        "frontend-leader" => msg::agent_role_frontend_leader(lang),
        "client-leader" => msg::agent_role_client_leader(lang),
        "test-leader" => msg::agent_role_test_leader(lang),
        "devops-leader" => msg::agent_role_devops_leader(lang),
        other => other,
    }
}

/// Returns the name of the role that a text names: a role's name, or its display name in any language.
pub fn role_from_label(text: &str) -> &str {
    let has_label = |role: &str| {
        [UiLanguage::En, UiLanguage::Zh]
            .into_iter()
            .any(|lang| role_label(role, lang).to_lowercase() == text.to_lowercase())
    };
    let role = DEFAULT_ROLES.iter().copied().find(|role| has_label(role));
    role.unwrap_or(text)
}

/// Returns the display name of a layer.
pub fn layer_label(layer: AgentLayer, lang: UiLanguage) -> &'static str {
    match layer {
        AgentLayer::Top => msg::agent_layer_top(lang),
        AgentLayer::Mid => msg::agent_layer_mid(lang),
        AgentLayer::Bottom => msg::agent_layer_bottom(lang),
    }
}

/// Returns the display name of a registered agent's status.
pub fn agent_status_label(status: AgentStatus, lang: UiLanguage) -> &'static str {
    match status {
        AgentStatus::Active => msg::agent_status_active(lang),
        AgentStatus::Retired => msg::agent_status_retired(lang),
    }
}

/// Returns the display name of a member's status.
pub fn member_status_label(status: MemberStatus, lang: UiLanguage) -> &'static str {
    match status {
        MemberStatus::Idle => msg::agent_status_idle(lang),
        MemberStatus::Working => msg::agent_status_working(lang),
        MemberStatus::AwaitingApproval => msg::agent_status_awaiting_approval(lang),
        MemberStatus::Paused => msg::common_paused(lang),
        MemberStatus::Parked => msg::agent_status_parked(lang),
        MemberStatus::Dismissed => msg::agent_status_dismissed(lang),
    }
}

/// Formats the duration of a run that has ended: "after 3 min". Returns `None` while it is open.
pub fn run_duration_label(run: &Run, lang: UiLanguage) -> Option<String> {
    run.ended_at.as_ref()?;
    let millis = saturating_cast::<i64>(run.duration_ms);
    let span = relative_time::format_duration(millis, lang);
    Some(msg::run_duration(lang, span))
}

/// Returns the display name of a run's status.
pub fn run_status_label(status: RunStatus, lang: UiLanguage) -> &'static str {
    match status {
        RunStatus::Active => msg::common_running(lang),
        RunStatus::Paused => msg::common_paused(lang),
        RunStatus::Done => msg::run_status_done(lang),
        RunStatus::Stopped => msg::run_status_stopped(lang),
    }
}
