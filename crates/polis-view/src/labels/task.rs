//! Display names for tasks: statuses, types and fields.

use polis_core::{TaskStatus, TaskType};

use crate::Lang;

/// Returns the display name of a task's status.
pub fn status(status: TaskStatus, lang: Lang) -> &'static str {
    match status {
        TaskStatus::Pending => lang.say("pending", "待处理"),
        TaskStatus::InProgress => lang.say("in progress", "进行中"),
        TaskStatus::Completed => lang.say("completed", "已完成"),
        TaskStatus::Deleted => lang.say("deleted", "已删除"),
    }
}

/// Returns the display name of a task's type.
pub fn task_type(kind: TaskType, lang: Lang) -> &'static str {
    match kind {
        TaskType::RequirementAnalysis => lang.say("requirements", "需求分析"),
        TaskType::TechResearch => lang.say("research", "技术调研"),
        TaskType::ArchitectureDesign => lang.say("architecture", "架构设计"),
        TaskType::ApiDesign => lang.say("API design", "API 设计"),
        TaskType::UiDesign => lang.say("UI design", "UI/UX 设计"),
        TaskType::BackendImplementation => lang.say("backend", "后端实现"),
        TaskType::FrontendImplementation => lang.say("frontend", "前端实现"),
        TaskType::ClientImplementation => lang.say("client", "客户端实现"),
        TaskType::Testing => lang.say("testing", "测试"),
        TaskType::Deployment => lang.say("deployment", "部署"),
        TaskType::Documentation => lang.say("documentation", "文档编写"),
        TaskType::CodeReview => lang.say("code review", "代码审查"),
        TaskType::BugFix => lang.say("bug fix", "缺陷修复"),
        TaskType::Optimization => lang.say("optimization", "性能优化"),
        TaskType::Other => lang.say("other", "其他"),
    }
}

/// Returns the display name of a task field, given its JSON name; an unknown name is returned unchanged.
pub fn field(name: &str, lang: Lang) -> &str {
    match name {
        "subject" => lang.say("subject", "标题"),
        "description" => lang.say("description", "描述"),
        "activeForm" => lang.say("wording while in progress", "进行时表述"),
        "status" => lang.say("status", "状态"),
        "owner" => lang.say("owner", "负责人"),
        "metadata" => lang.say("metadata", "元数据"),
        "blocks" => lang.say("tasks that wait for it", "后续任务"),
        "blockedBy" => lang.say("tasks it waits for", "前置任务"),
        "requiredRole" => lang.say("required role", "所需角色"),
        "taskType" => lang.say("type", "类型"),
        "claimedAt" => lang.say("claimed at", "认领时间"),
        "startedAt" => lang.say("started at", "开始时间"),
        "completedAt" => lang.say("completed at", "完成时间"),
        "leaseMs" => lang.say("length of the lease", "租约时长"),
        "leaseExpiresAt" => lang.say("end of the lease", "租约到期"),
        "approval" => lang.say("approval", "批准"),
        other => other,
    }
}
