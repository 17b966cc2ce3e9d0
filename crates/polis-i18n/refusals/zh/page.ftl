page-form-too-large = 表单超过 12 MiB，或没有完整接收。
    .hint = 请一次提交较少的文字

page-csrf-token-invalid = 请求不是来自此会话的页面：其 CSRF 令牌缺失或错误。
    .hint = 请重新加载页面后再试

page-excerpt-failed = 页面无法显示：{ $error }。
    .hint = 请重新加载页面

page-invalid-value = 网址或表单中有无效的值，例如应填数字的地方填了文字。
    .hint = 请返回并重新加载页面后再试

page-invalid-topics = 订阅名称的列表缺失或无效。
    .hint = 请给出最多 { $max_topics } 个区域或对象，如 about=task,board/global

page-sign-in-from-other-site = 登录请求来自另一个网站。
    .hint = 请直接打开登录链接

page-too-many-failed-sign-ins = 来自此地址的登录失败次数过多。
    .hint = 请等待 { $seconds } 秒

page-unknown-decision-action = 对决策的操作缺失或未知。
    .hint = 请使用 propose、sign、veto 或 appeal

page-decision-not-found = 该白板上没有这项决策。
    .hint = 请返回白板

page-too-long-to-edit = 文本太长，无法在浏览器中编辑。
    .hint = 请从目录中编辑某一章节，或在末尾追加

page-field-missing = 缺少 `{ $field }`。
    .hint = 请重新加载页面后再试

page-board-not-shown = 白板无法显示：{ $error }。
    .hint = 请重新加载页面

page-no-page = 该网址没有对应的页面。
    .hint = 请从上方的标签页中选择

page-approval-gone = 这次调用不再需要审批。
    .hint = 请返回概览

page-not-a-task-number = { $text } 不是任务编号。
    .hint = 请输入以逗号分隔的任务编号，如 3, 7

page-download-too-large = 文件大小为 { $size }，最多可下载 { $limit }。
    .hint = 请在工作空间目录中打开

page-file-cut-short = 文件没有读取完整。
    .hint = 请重试

page-no-own-workspace = { $agent } 没有自己的工作空间。
    .hint = 请从列表中选择
