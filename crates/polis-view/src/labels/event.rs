//! Display names for events: a verb for each kind, and the areas by which events are grouped.

use polis_core::event::kind;

use crate::Lang;

/// Kind, English and Chinese verb of every event; the verb is placed between actor and object.
pub(crate) const DEEDS: &[(&str, &str, &str)] = &[
    (kind::TASK_CREATED, "created", "创建了"),
    (kind::TASK_IMPORTED, "imported", "导入了"),
    (kind::TASK_UPDATED, "changed", "修改了"),
    (
        kind::TASK_LINKED,
        "changed the dependencies of",
        "调整了依赖：",
    ),
    (kind::TASK_CLAIMED, "claimed", "认领了"),
    (kind::TASK_STARTED, "began work on", "开始了"),
    (kind::TASK_RELEASED, "let go of", "释放了"),
    (kind::TASK_COMPLETED, "completed", "完成了"),
    (kind::TASK_DELETED, "deleted", "删除了"),
    (kind::TASK_APPROVED, "approved", "批准了"),
    (kind::TASK_COMMENTED, "commented on", "评论了"),
    (kind::TASK_HEARTBEAT, "still works on", "仍在处理"),
    (kind::TASK_REFUSED, "was refused on", "被拒绝操作"),
    (kind::BOARD_WRITTEN, "wrote", "写入了"),
    (kind::BOARD_APPENDED, "added to", "追加了"),
    (kind::BOARD_EDITED, "edited", "编辑了"),
    (
        kind::BOARD_RESTORED,
        "brought back an older version of",
        "恢复了旧版本：",
    ),
    (
        kind::BOARD_EXTERNAL,
        "took over a change made outside of polis to",
        "采纳了外部修改：",
    ),
    (
        kind::BOARD_FILE_RESTORED,
        "wrote the lost file again of",
        "重新写出了丢失的文件：",
    ),
    (kind::BOARD_LOCKED, "locked", "锁定了"),
    (kind::BOARD_RENEWED, "prolonged the lock of", "续期了锁："),
    (kind::BOARD_UNLOCKED, "unlocked", "解锁了"),
    (
        kind::DECISION_PROPOSED,
        "proposed a decision on",
        "提出了决策，在",
    ),
    (
        kind::DECISION_SIGNED,
        "signed a decision on",
        "签署了决策，在",
    ),
    (
        kind::DECISION_VETOED,
        "vetoed a decision on",
        "否决了决策，在",
    ),
    (
        kind::DECISION_APPEALED,
        "appealed against a decision on",
        "申诉了决策，在",
    ),
    (
        kind::MILESTONE_ADDED,
        "added a milestone to",
        "添加了里程碑，在",
    ),
    (
        kind::MILESTONE_DONE,
        "reached a milestone of",
        "达成了里程碑，在",
    ),
    (kind::AGENT_ADDED, "registered", "注册了"),
    (kind::AGENT_RETIRED, "retired", "让其退休："),
    (kind::TOKEN_ISSUED, "issued a token for", "签发了令牌给"),
    (
        kind::TOKEN_REVOKED,
        "revoked a token of",
        "吊销了令牌，属于",
    ),
    (kind::MESSAGE_SENT, "sent a message to", "发消息给"),
    (kind::MESSAGE_READ, "read messages", "阅读了消息"),
    (kind::ARTIFACT_PUT, "handed over", "提交了"),
    (kind::WEBHOOK_ADDED, "added", "添加了"),
    (kind::WEBHOOK_CHANGED, "changed", "修改了"),
    (kind::WEBHOOK_REMOVED, "removed", "移除了"),
    (kind::WORKSPACE_ASSIGNED, "set up the", "设立了"),
    (
        kind::WORKSPACE_BOUND,
        "moved to a directory the",
        "绑定了目录：",
    ),
    (kind::FILE_WRITTEN, "wrote a file in", "写入了文件，在"),
    (kind::FILE_EDITED, "edited a file in", "编辑了文件，在"),
    (kind::FILE_DELETED, "deleted a file in", "删除了文件，在"),
    (kind::FILE_MOVED, "moved a file in", "移动了文件，在"),
    (
        kind::FILE_DIRECTORY_MADE,
        "made a directory in",
        "创建了目录，在",
    ),
    (
        kind::FILE_REFUSED,
        "was refused a file in",
        "被拒绝访问文件，在",
    ),
    (kind::SOCIETY_STARTED, "started", "启动了"),
    (kind::SOCIETY_PAUSED, "paused", "暂停了"),
    (kind::SOCIETY_RESUMED, "resumed", "恢复了"),
    (kind::SOCIETY_FINISHED, "finished", "完成了"),
    (kind::SOCIETY_STOPPED, "ended", "结束了"),
    (kind::SOCIETY_HIRED, "hired", "雇用了"),
    (kind::SOCIETY_DISMISSED, "dismissed", "解散了"),
    (kind::SOCIETY_STANDS, "changed its state:", "状态变为"),
    (kind::SOCIETY_ASKED, "asks to be allowed", "请求批准"),
    (
        kind::SOCIETY_DECIDED,
        "decided on a call of",
        "裁定了调用，来自",
    ),
    (
        kind::SOCIETY_BUDGET,
        "changed the budget of",
        "调整了预算：",
    ),
    (
        kind::COMMAND_STARTED,
        "runs a command in",
        "正在运行命令，在",
    ),
    (kind::COMMAND_RUN, "ran a command in", "运行了命令，在"),
    (
        kind::COMMAND_REFUSED,
        "was refused a command in",
        "被拒绝运行命令，在",
    ),
];

/// The areas of the log, by the first word of an event kind.
pub const AREAS: &[(&str, &str, &str)] = &[
    ("task", "tasks", "任务"),
    ("board", "boards", "白板"),
    ("decision", "decisions", "决策"),
    ("milestone", "milestones", "里程碑"),
    ("agent", "agents", "智能体"),
    ("society", "societies", "社会"),
    ("message", "messages", "消息"),
    ("command", "commands", "命令"),
    ("file", "files", "文件"),
    ("workspace", "workspaces", "工作区"),
    ("artifact", "artifacts", "产物"),
    ("token", "tokens", "令牌"),
    ("webhook", "webhooks", "网络钩子"),
];

/// Returns the verb of an event kind.
pub fn deed(kind: &str, lang: Lang) -> &'static str {
    let found = DEEDS.iter().find(|(name, ..)| *name == kind);
    found.map_or_else(
        || lang.say("did something to", "操作了"),
        |(_, en, zh)| lang.say(*en, *zh),
    )
}

/// Returns the display name of an area of the log; an unknown name is returned unchanged.
pub fn area(name: &str, lang: Lang) -> &str {
    let found = AREAS.iter().find(|(area, ..)| *area == name);
    found.map_or(name, |(_, en, zh)| lang.say(*en, *zh))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_belongs_to_an_area() {
        for (kind, ..) in DEEDS {
            let first = kind.split('.').next().unwrap();
            assert!(AREAS.iter().any(|(area, ..)| *area == first), "{kind}");
        }
    }
}
