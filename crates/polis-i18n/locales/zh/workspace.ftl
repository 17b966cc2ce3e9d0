### Workspaces: files, directories, pages.

workspace-files-title = 文件
workspace-file-not-text = 这不是文本文件
workspace-file-not-text-explanation = 可以下载后用其他程序打开。
workspace-file-text = 文本
workspace-file-lines-unit = 行
workspace-file-view = 视图
workspace-file-rendered = 渲染
workspace-file-source = 源码
workspace-file-beginning-rendered = 文件较长，仅渲染开头部分。
workspace-file-view-parts = 分段显示源码
workspace-file-empty = 文件为空。
workspace-file-parts = 文件分段
workspace-file-previous-part = 前一段
workspace-file-lines-prefix = 行{" "}
workspace-file-next-part = 后一段
workspace-file-download = 下载
workspace-no-files = 还没有文件：智能体写入后会显示在这里。
workspace-more-files = 更多……
workspace-file-link = 链接
workspace-file-not-regular = 不是普通文件
workspace-search-placeholder = 名称或目录
workspace-no-matches = 没有匹配的工作空间。
workspace-agent-column = 所属智能体
workspace-directory-column = 目录
workspace-assigned-column = 分配时间
workspace-list-incomplete = 未显示全部，请搜索其他工作空间。
workspace-bound-mark = 绑定
workspace-not-created = 尚未创建
workspace-measuring = 正在统计……
workspace-file-count =
    { $count ->
       *[other] { $formatted } 个文件
    }
workspace-none-title = 还没有工作空间
workspace-none-explanation = 工作空间是一个目录，智能体的文件操作和命令都限制在其中。请为智能体分配一个：
