### 面向模型的白板和黑板工具结果。

tool-board-none = 没有白板。
tool-board-entry = { $board } 版本 { $version }，{ $size } 字节
tool-board-locked-by = ，由 { $holder } 锁定
tool-board-unchanged = { $board } 仍是版本 { $version }。
tool-board-head = { $board } 版本 { $version }
tool-board-section-version = ，章节版本 { $version }
tool-board-changed = { $board } 现为版本 { $version }。
tool-board-merged = { $board } 现为版本 { $version }，已与他人的修改合并。
tool-board-locked = { $board } 由 { $holder } 锁定，至 { $time }；令牌 { $token }
tool-board-unlocked = { $board } 的锁定已解除。

## 版本

tool-board-version-line = { $version } { $time } { $author } { $action }（{ $size } 字节）
tool-board-version-written = 整体改写
tool-board-version-appended = 追加
tool-board-version-edited = 局部修改
tool-board-version-restored = 恢复旧版本
tool-board-version-external = 外部修改
tool-board-never-written = 该白板尚无内容。
tool-board-more-versions = 已显示 { $count } 项；查看更多请传 limit
tool-board-no-text-in-range = 版本 { $version } 在此范围内没有文本。
tool-board-same-versions = 两个版本相同。
tool-board-diff-truncated = 已截断：显示 { $shown } 字节，共 { $size } 字节；请比较更接近的版本，或用 whiteboard_show 阅读

## 决策和里程碑

tool-board-omitted-entries = 已显示 { $count } 项；其余请用 whiteboard_read 阅读白板
tool-board-no-decisions = 没有决策。
tool-board-decision-pending = 等待签署
tool-board-decision-approved = 已批准
tool-board-decision-rejected = 已否决
tool-board-decision-appealing = 申诉中
tool-board-decision = { $head }：{ $content }
tool-board-signed-by = ，签署人：{ $signers }
tool-board-no-milestones = 没有里程碑。
tool-board-milestone = { $title }：{ $description }
tool-board-milestone-added = 已添加里程碑：{ $title }
tool-board-milestone-reached = 里程碑已达成：{ $title }
