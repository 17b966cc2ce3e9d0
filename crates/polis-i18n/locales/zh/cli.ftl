### Words and sentences that several commands print.

cli-store-unreachable = 无法访问存储，仍在继续监视。

## Columns

cli-column-status = 状态
cli-column-role = 角色
cli-column-agent = 智能体
cli-column-owner = 负责人
cli-column-type = 类型
cli-column-id = 编号
