### 面向模型的智能体注册表工具结果。

tool-agent-none = 没有智能体。
tool-agent-line = { $agent }：{ $role }，层级 { $layer }
tool-agent-under = ，上级 { $supervisor }
tool-agent-retired-mark = ，已停用
tool-agent-registered = 已注册 { $agent }
tool-agent-retired = { $agent } 已停用。
