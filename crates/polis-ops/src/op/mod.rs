//! The operations, one file each, with their typed parameters and results. Surfaces derive their interfaces from these
//! types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod add_agent;
mod approve_task;
mod artifacts;
mod bind_workspace;
mod blackboard;
mod board_decisions;
mod board_history;
mod board_loading;
mod claim_task;
mod commands;
mod comment_task;
mod create_task;
mod dashboard;
mod edit_section;
mod export_tasks;
mod get_task;
mod graph_loading;
mod graph_tasks;
mod heartbeat_task;
mod import_tasks;
mod list_agents;
mod list_boards;
mod list_tasks;
mod list_workspaces;
mod lock_board;
mod messages;
mod open_decisions_cache;
mod overview;
mod pagination;
mod person_mail;
mod read_board;
mod read_log;
mod recommend_tasks;
mod release_task;
mod retire_agent;
mod run_command;
mod sessions;
mod sign_in;
mod society;
mod stats_cache;
mod task_decisions;
mod task_history;
mod task_stats;
mod task_time_cache;
mod text_range;
mod tokens;
mod update_task;
mod webhooks;
mod workspace_files;
mod workspace_resolution;
mod write_board;

/// The parameters of an operation that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

pub use add_agent::add_agent;
pub use approve_task::{TaskApprove, approve_task};
pub use artifacts::{ArtifactView, GetArtifact, KeptArtifact, get_artifact, put_artifact};
pub use bind_workspace::{WorkspaceBind, bind_workspace};
pub use blackboard::{
    BlackboardFile, BlackboardRead, BlackboardWrite, BlackboardWritten, WriteMode, read_blackboard,
    write_blackboard,
};
pub use board_decisions::{
    Decide, DecisionAct, DecisionRequest, DecisionVerb, DecisionView, Decisions, MilestoneChange,
    MilestoneView, Milestones, board_decisions, board_milestones, change_milestone, decide,
    may_sign,
};
pub use board_history::{
    BoardDiff, BoardHistory, BoardVersions, OfBoard, VersionDiff, VersionRestore, VersionShow,
    VersionText, board_history, diff_board, restore_board, show_version,
};
pub use claim_task::claim_task;
pub use commands::{
    CommandEntry, CommandList, CommandView, ListCommands, ShowCommand, list_commands, show_command,
};
pub use comment_task::{
    CommentView, Comments, TaskComment, TaskComments, comment_task, task_comment, task_comments,
};
pub use create_task::create_task;
pub use dashboard::{AgentNow, LookAround, Now, Waiting, look_around};
pub use edit_section::{SectionAct, SectionChange, edit_section};
pub use export_tasks::{Exported, export_tasks};
pub use get_task::{TaskGet, TaskView, get_task};
pub use graph_tasks::{Near, graph_near, graph_tasks};
pub use heartbeat_task::{TaskHeartbeat, heartbeat_task};
pub use import_tasks::{Imported, TaskImport, import_tasks};
pub use list_agents::{AgentList, ListAgents, list_agents, show_agent};
pub use list_boards::{BoardEntry, BoardList, BoardRights, ListBoards, board_rights, list_boards};
pub use list_tasks::{TaskList, TaskPage, count_tasks, list_tasks, task_loads};
pub use list_workspaces::{
    WorkspaceEntry, WorkspaceList, WorkspaceReport, get_workspace_info, list_workspaces,
};
pub use lock_board::{
    BoardLock, BoardLocked, BoardReleased, BoardUnlock, lock_board, unlock_board,
};
pub use messages::{CheckMessages, Mail, Sent, SentTo, check_messages, send_message};
pub use open_decisions_cache::OpenDecision;
pub(crate) use open_decisions_cache::OpenDecisions;
pub use overview::{Overview, overview};
pub use person_mail::{LaidAside, Letters, PersonMail, ReadMail, letter, person_mail, read_mail};
pub use read_board::{BoardRead, BoardView, Notice, read_board};
pub use read_log::{LogPage, LogRead, event_sight, read_log};
pub use recommend_tasks::{Recommendations, TaskRecommend, recommend_tasks};
pub use release_task::{TaskRelease, release_task};
pub use retire_agent::{OfAgent, may_manage_agents, retire_agent};
pub use run_command::{CommandResult, Follow, Stop, run_command, sandbox_report};
pub use sessions::{OpenSession, RENEW_SESSION_MS, SESSION_MS};
pub use sign_in::{OfferedSignIn, Shown, offer_sign_in, sign_in, sign_out};
pub use society::{
    ApprovalList, Conversation, DecideApproval, FindRole, FoundRole, GetOrg, Held, HoldSociety,
    ListApprovals, ListMembers, ListRoles, ListRuns, MemberBudget, MemberList, OfRun, Org,
    OrgMember, ReadConversation, RoleList, RunList, SetBudget, Spoken, TellRun, ToolCall, TurnView,
    create_role, decide_approval, draw_budget, find_role_by_name, finish_run, get_org,
    is_open_question, list_approvals, list_members, list_roles, list_runs, no_member,
    open_questions, pause_society, read_conversation, reopen_run, resume_society, set_budget,
    show_member, show_run, spawn_agent, start_run, stop_run, tell_run, terminate_agent,
};
pub use stats_cache::StatsKeeper;
pub use task_history::{History, NewestHistory, TaskHistory, newest_history, task_history};
pub use task_stats::{StatsBy, StatsQuery, TaskStats, task_stats};
pub(crate) use task_time_cache::TimeKeeper;
pub use task_time_cache::task_time;
pub(crate) use text_range::{cut as cut_text, from as text_from};
pub use tokens::{
    Admitted, IssuedToken, TokenList, admit, issue_token, list_tokens, revoke_token, token_counts,
    token_end,
};
pub use update_task::update_task;
pub use webhooks::{
    AddedWebhook, RemovedWebhook, WebhookList, WebhookRemove, add_webhook, list_webhooks,
    remove_webhook,
};
pub use workspace_files::{
    delete_file, edit_file, list_files, make_dir, move_file, read_file, search_files, write_file,
};
pub use workspace_resolution::{Desk, Noted};
pub use write_board::{BoardAppend, BoardChanged, BoardOverwrite, append_board, write_board};
