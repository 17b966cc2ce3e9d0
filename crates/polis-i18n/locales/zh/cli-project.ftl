### Output of the commands about a project: init, trust, doctor, config, open, serve, man.

## polis init

cli-project-created = 已创建 { $directory }（{ $language }）。
cli-project-found = 已有 { $directory }（{ $language }）。
cli-project-next = 下一步：
cli-project-watch-hint = （在浏览器中观察；polis tui：在本终端中）

## polis trust

cli-project-trusted = 已信任：{ $directory }
cli-project-no-longer-trusted = 不再信任：{ $directory }
cli-project-workspace-released = { $directory } 已不再登记为工作空间。如果 { $project } 中项目的智能体仍在其中工作，该项目会重新登记它。
cli-project-trusted-endpoint = 端点 { $name }：{ $url }
cli-project-trusted-endpoint-with-key = 端点 { $name }：{ $url }，密钥位于 { $key }
cli-project-granted-path = 命令可以使用 { $path }

## Checks of polis doctor

cli-project-check-directory = 目录
cli-project-check-gitignore = gitignore
cli-project-check-configuration = 配置
cli-project-check-permissions = 权限
cli-project-check-store = 存储
cli-project-check-integrity = 完整性
cli-project-check-content = 内容
cli-project-check-boards = 白板
cli-project-check-writable = 可写
cli-project-check-sandbox = 沙箱

## Results of the checks

cli-project-valid = 有效
cli-project-check-failed = 失败
cli-project-check-problem = { $problem }下一步：{ $hint }
cli-project-only-on-server = 仅在服务器上
cli-project-git-ignores-data = git 会忽略本项目的数据
cli-project-gitignore-repaired = 已修复：git 现在会忽略本项目的数据
cli-project-store-embedded = 内嵌存储
cli-project-not-checked-on-postgres = 使用 PostgreSQL 时不检查
cli-project-no-damage = 未发现损坏
cli-project-store-content = { $tasks } 个任务，{ $agents } 个智能体，{ $events } 个事件
cli-project-boards-written = 已写入 { $count } 个
cli-project-boards-match = 已写入 { $count } 个，文件与存储一致
cli-project-is-writable = 是
cli-project-confined = 命令在 { $tier } 级别的沙箱中运行
cli-project-all-roles = 所有角色

## polis config

cli-project-config-key = { $description }取值：{ $accepted }；默认值：{ $default }。
cli-project-config-not-set = 未设置
cli-project-config-valid = polis.toml 有效。没有 rbac.yaml。
cli-project-config-and-rbac-valid = polis.toml 有效。rbac.yaml 有效。

## polis open and polis serve

cli-project-opened-in-browser = 已在浏览器中打开。如果没有显示，请打开以下链接（十分钟内有效，仅限一次）：
cli-project-open-link = 请打开以下链接，十分钟内有效，仅限一次：
cli-project-listening = 正在监听 { $url }
cli-project-sign-in-link = 登录（链接十分钟内有效，仅限一次；`polis open` 会生成新的链接）：
cli-project-token-needed = 程序需要令牌：polis agent token issue 智能体（为您自己签发时用 `user`）
cli-project-api-description = API 描述：{ $url }
cli-project-port-in-use-by = { $address } 已被 { $program }（进程 { $pid }）占用，改用端口 { $port }。
cli-project-port-in-use = { $address } 已被其他程序占用，改用端口 { $port }。

## polis man

cli-project-man-pages-written = 手册页已写入 { $directory }。
