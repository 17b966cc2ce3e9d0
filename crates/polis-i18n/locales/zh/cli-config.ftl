### Comments of a new polis.toml.

cli-config-template-heading = polis 的配置：所有的键及其默认值。`polis config check` 检查此文件。
cli-config-key-comment = { $description }取值：{ $accepted }。
cli-config-endpoint-comment = 模型端点；可以有多个。
