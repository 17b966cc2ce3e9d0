### What the commands about whiteboards, their decisions and milestones, and the blackboard print.

cli-board-at-version = { $board } 现为版本 { $version }
cli-board-merged-at-version = { $board } 现为版本 { $version }，已合并
cli-board-version-heading = { $board }，版本 { $version }，{ $author } 修改于 { $time }
cli-board-template-heading = { $board }，版本 0：模板，尚无内容
cli-board-heading-with-lock = { $heading }；由 { $holder } 锁定至 { $until }
cli-board-unchanged = 未变化（版本 { $version }）
cli-board-external-edit = 注意：有其他程序修改了该白板的文件，该修改现已成为一个版本，作者为 `external`。
cli-board-file-restored = 注意：该白板的文件已丢失，现已从存储中恢复。

## Locks

cli-board-locked = { $board } 已由 { $holder } 锁定至 { $until }
cli-board-lock-token = 令牌：{ $token }
cli-board-unlocked = { $board } 已解锁

## List

cli-board-column-board = 白板
cli-board-column-version = 版本
cli-board-column-bytes = 字节数
cli-board-column-changed = 修改时间
cli-board-column-by = 修改者
cli-board-column-locked-by = 锁定者
cli-board-none-written = 白板都尚无内容。试试：polis board append global --content "..."

## Permissions

cli-board-rights-heading = { $agent }（{ $layer }，{ $role }）对 { $board } 的权限：
cli-board-no-layer = 无层级
cli-board-right-read = 读取
cli-board-right-write = 写入
cli-board-right-append = 追加
cli-board-right-yes = 允许
cli-board-right-no = 拒绝

## Versions

cli-board-no-versions = { $board } 还没有版本。
cli-board-column-at = 时间
cli-board-column-action = 操作
cli-board-action-written = 整体改写
cli-board-action-appended = 追加内容
cli-board-action-edited = 局部修改
cli-board-action-restored = 恢复旧版本
cli-board-action-external = 外部修改
cli-board-versions-equal = 两个版本相同。

## Decisions

cli-board-no-decisions = { $board } 上还没有决策。提出决策：polis decision propose --content "..."
cli-board-decision-column-proposer = 提议者
cli-board-decision-column-signers = 签署人
cli-board-decision-column-content = 内容
cli-board-decision-pending = 等待签署
cli-board-decision-approved = 已批准
cli-board-decision-rejected = 已否决
cli-board-decision-appealing = 申诉中
cli-board-decision-heading = { $board } 的决策 #{ $id }：{ $status }，{ $votes }
cli-board-decision-unsigned = 尚无签署
cli-board-decision-signed-by = 由 { $agents } 签署
cli-board-decision-vetoed-by = 由 { $agents } 否决

## Milestones

cli-board-no-milestones = { $board } 上还没有里程碑。新增里程碑：polis milestone add 标题 --description "..."
cli-board-milestone-with-description = { $title }：{ $description }
cli-board-milestone-changed = { $title }（{ $board }，版本 { $version }）
