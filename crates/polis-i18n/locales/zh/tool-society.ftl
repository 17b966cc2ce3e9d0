### 面向模型的智能体社会工具结果。

## 角色和招募

tool-society-role-created = 角色 { $name } 的标识为 { $id }。
tool-society-role-existed = 角色 { $name } 的标识为 { $id }（已存在）。
tool-society-role-found = 角色 { $name } 的标识为 { $id }：{ $prompt }
tool-society-role-missing = 没有该名称的角色；请用 create_role 创建。
tool-society-role-line = { $id }：{ $name }
tool-society-no-roles = 没有角色。
tool-society-hired = 已招募 { $agent }，角色 { $role }。{ $next }
tool-society-first-message = { $agent } 在等待第一条消息；请用 send_message 发给它。
tool-society-none-dismissed = 没有成员被解聘。
tool-society-dismissed = 已解聘 { $agents }；丢弃 { $messages }，释放 { $tasks }。
tool-society-unread-messages = { $count } 条未读消息
tool-society-tasks = { $count } 个任务

## 成员

tool-society-no-run-members = 该运行没有成员。
tool-society-no-members = 没有成员。
tool-society-org =
    运行 { $run }，{ $status }：
    { $members }
tool-society-reason = （{ $reason }）
tool-society-spent = ，{ $amounts }

## 运行

tool-society-run-started = 已启动运行 { $run }。
tool-society-no-runs = 没有运行。
tool-society-run-line = { $run }：{ $status }，{ $agents }：{ $requirement }
tool-society-run-status = 运行 { $run } 的状态为 { $status }。
tool-society-run-status-changed = 运行 { $run } 的状态为 { $status }；已变更：{ $agents }。

## 预算

tool-society-budget = { $agent } 的预算：{ $limits }。
tool-society-unlimited = 不限
tool-society-milliseconds = { $count } 毫秒
tool-society-money = { $amount } 货币单位
tool-society-tokens = { $count } token
tool-society-turns = { $count } 回合
tool-society-commands = { $count } 条命令

## 对话

tool-society-empty-conversation = 对话为空。
tool-society-received = 收到：{ $text }
tool-society-answered = 回答 [{ $prompt }+{ $response } token，{ $duration } 毫秒]：{ $text }
tool-society-called = {"  "}调用 { $tool }({ $arguments })
tool-society-tool-result = 工具结果 [{ $duration } 毫秒]：{ $text }
tool-society-note = 提示：{ $text }
tool-society-summary = 摘要：{ $text }

## 审批

tool-society-no-approvals = 没有审批。
tool-society-approval-pending = { $id } 待审批：{ $agent } 请求 { $call }
tool-society-approval-allowed = { $id } 已批准：{ $agent } 请求 { $call }
tool-society-approval-denied = { $id } 已拒绝：{ $agent } 请求 { $call }

## 解聘原因

tool-society-run-was-stopped = 运行已停止
