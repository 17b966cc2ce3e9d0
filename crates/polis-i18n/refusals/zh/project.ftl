project-not-created-here = { $project } 中的 polis 项目不是由当前用户在这台机器上创建的，或已被移动。
    .hint = 请检查其 { $project_data_dir }/polis.toml；如果是你的项目，请运行 `polis trust { $project }`

project-in-other-project-data = { $project } 位于另一个 polis 项目的数据中，智能体的工作空间就在那里。
    .hint = 请使用其上层的项目，或别处的目录

project-in-agent-workspace = { $project } 位于 { $owner } 中项目的智能体工作空间内，可能由智能体创建。
    .hint = 请使用那个项目（--dir { $owner }）；如果现在没有智能体在那里工作，请运行 `polis trust --release { $workspace }`

project-git-unreadable = git 无法读取 { $project } 所在的仓库，拉取可能已替换项目的文件。
    .hint = 请修复它（`git status` 会显示问题），或检查 { $project_data_dir } 并运行 `polis trust { $project }`

project-changed-during-git = git 正在更新仓库时，{ $project } 中项目的配置发生了改变。
    .hint = 请在 git 完成后重试；如果它被中断，请删除其 index.lock

project-tracked-and-changed = { $project } 中项目的配置由 git 跟踪，自被信任以来已改变。
    .hint = 请检查 { $files }；如果符合你的意愿，请运行 `polis trust { $project }`

project-tracked-by-git = { $project } 中项目的 { $name } 由 git 跟踪，拉取可能会替换它。
    .hint = 请在那里运行 `git rm -r --cached { $project_data_dir }`；之后，如果数据是你的，请运行 `polis trust { $project }`，否则请删除 { $project_data_dir }

project-nothing-to-trust = 该目录中没有 polis 项目。
    .hint = 请指定包含 .agent-workspace 的项目目录

project-command-still-runs = 智能体的一条命令正在该工作空间中运行。
    .hint = 请等它结束，或停止它；`polis ws commands` 会显示它

project-not-a-workspace = 该目录不是智能体的工作空间，也不在其中。
    .hint = 请指定已绑定的目录

project-no-database = { $data_dir_name } 中没有数据库。
    .hint = 请在此处运行 `polis init`

project-invalid-store = 该存储既不是目录，也不是 postgres:// 网址。
    .hint = 请使用 --store DIR 或 --store postgres://user@host/database

project-config-line = { $config_file } 第 { $line } 行：{ $reason }。
    .hint = 请修正该行并运行 `polis config check`；`polis config show` 列出所有键

project-config-unreadable = { $config_file } 无法读取。
    .hint = 请确认它是 UTF-8 文本文件，且你有权读取

project-rbac-unreadable = { $rbac_file } 无法读取。
    .hint = 请确认它是 UTF-8 文本文件，且你有权读取

project-rbac-line = { $rbac_file } 第 { $line } 行：{ $reason }。
    .hint = 请修正该行；`polis config check` 会检查该文件

project-team-file = { $teams_dir }/{ $team }/{ $file }.md 有误：{ $reason ->
        [no-front-matter] 文件必须以两行 --- 之间的文件头开始，其中包含角色的名称
        [not-key-and-value] 文件头中的行 { $detail } 不是“键: 值”的形式
        [no-name] 文件头中没有 name
        [no-prompt] 文件头之后没有提示词
        [temperature] temperature 不是 0 到 2 之间的数
        [unknown-key] 文件头中有未知的键 { $detail }；可用的键有 name、tools、approve、model 和 temperature
        [too-large] 文件超过 256 KiB
        [not-utf8] 文件不是可读的 UTF-8 文本
        [unknown-placeholder] { $detail } 既不是需求，也不是角色文件
        [no-requirement] 缺少占位符 {"{{"}requirement{"}}"}
       *[other] { $reason }
    }。
    .hint = 请修正该文件；`polis society team show` 会显示启动运行时使用的角色

project-no-team = 没有团队模板 { $name }。
    .hint = 请使用以下团队模板：{ $names }，或把角色文件放入 .agent-workspace/{ $teams_dir }/名称/

project-no-blackboard = 该目录中没有黑板。
    .hint = 请检查 --root 和 CLAWOS_HOME；首次写入会创建黑板

project-task-dir-missing = 任务文件的目录不存在。
    .hint = 请指定包含 1.json、2.json…… 的目录，如 ~/.claude/tasks/LIST

project-trust-record-not-writable = 当前用户的受信任项目记录无法写入。
    .hint = 请让主目录可写，或把 { $state_dir_variable } 设为该用户的目录

project-team-files-without-project = 团队文件保存在项目目录中，而此存储在这台机器上没有项目目录。
    .hint = 请在项目的目录中运行 `polis init`

project-git-would-commit-data = git 会提交此项目的数据库、锁和私有工作空间。
    .hint = 请运行 `polis doctor --fix`，或自行把 `*` 加入 .agent-workspace/.gitignore

project-opened-on-second-attempt = 存储在第二次尝试时才打开。
    .hint = 请再次运行 `polis doctor`

project-mirror-differs = 白板 { $first } 的文件与存储不一致。
    .hint = 用 `touch` 更新该文件以将其文本导入为新版本，或删除它以恢复存储中的文本

project-database-damaged = 数据库已损坏：{ $first }。
    .hint = 请从备份恢复 .agent-workspace/polis.db

project-directory-not-writable = 该目录不可写。
    .hint = 请检查 .agent-workspace 的权限

project-sandbox-too-weak = 命令会被拒绝：本机的沙箱为 { $tier }，而 { $role_name } 要求 { $required }。
    .hint = 请启用下面所缺的部分，或在 polis.toml 中降低 `sandbox.weakest`

project-not-found-here = 此目录及其上级目录中没有 polis 项目。
    .hint = 请在你的项目中运行 `polis init`，或用 --dir 指定其目录

project-not-found-there = 该目录中没有 polis 项目。
    .hint = 请在你的项目中运行 `polis init`，或用 --dir 指定其目录

project-no-project-or-blackboard = { $problem }
    .hint = 请在你的项目中运行 `polis init`，用 --dir 指定其目录，或用 --root 或 CLAWOS_HOME 指定项目之外的黑板；如果 ~/clawos/blackboard 存在，则使用它

project-create-denied = 该目录不可写。
    .hint = 请用 --dir 指定你有权写入的目录

project-create-full = 磁盘已满。
    .hint = 请用 --dir 指定你有权写入的目录

project-create-failed = 该目录无法创建。
    .hint = 请用 --dir 指定你有权写入的目录

project-task-dir-full = 磁盘已满。
    .hint = 请指定你有权写入的目录

project-task-dir-denied = 该目录不可写。
    .hint = 请指定你有权写入的目录

project-task-dir-failed = 该目录无法创建或写入。
    .hint = 请指定你有权写入的目录
