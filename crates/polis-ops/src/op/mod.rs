//! The operations, with their typed parameters and results: a folder for each area (the overview has two
//! files), with one file for each operation or group of related operations. Surfaces derive their interfaces from
//! these types.
//!
//! `crate::loading` has the helpers that operations share, `crate::cache` the caches of derived data and the
//! operations that consist of little else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) mod agent;
pub(crate) mod board;
pub(crate) mod event;
pub(crate) mod message;
pub(crate) mod overview;
pub(crate) mod overview_counts;
pub(crate) mod society;
pub(crate) mod task;
pub(crate) mod token;
pub(crate) mod workspace;

pub use agent::*;
pub use board::*;
pub use event::*;
pub use message::*;
pub use overview::{
    AgentActivity, AttentionItems, OverviewParams, OverviewSnapshot, load_overview,
};
pub use overview_counts::{OverviewCounts, count_overview};
pub use society::{
    ApprovalList, ConversationPage, DecideApprovalParams, FindRoleParams, FindRoleResult,
    GetOrgParams, ListApprovalsParams, ListMembersParams, ListRolesParams, ListRunsParams,
    MemberBudget, MemberList, OrgChart, OrgMember, PauseSocietyParams, PauseSocietyResult,
    ReadConversationParams, RoleList, RunIdParams, RunList, SetBudgetParams, TellRunParams,
    TurnEntry, TurnToolCall, TurnView, create_role, decide_approval, draw_budget,
    find_role_by_name, finish_run, get_org, is_open_question, list_approvals, list_members,
    list_roles, list_runs, member_not_found, open_questions, pause_society, read_conversation,
    reopen_run, resume_society, set_budget, show_member, show_run, spawn_agent, start_run,
    stop_run, tell_run, terminate_agent,
};
pub use task::*;
pub use token::*;
pub use workspace::*;

pub use crate::cache::open_decisions_cache::OpenDecision;
pub use crate::cache::stats_cache::TaskStatsCache;
pub use crate::cache::task_time_cache::task_time;
pub use crate::loading::workspace_resolution::LoggedResult;

/// Parameters of an operation that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}
