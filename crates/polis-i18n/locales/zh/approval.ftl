### Approval of tool calls.

approval-note-field = 给智能体的备注（可选）
approval-card-title = 调用审批
approval-requested-for = 请求审批
approval-allow = 批准
approval-deny = 拒绝
