### Sandbox of this machine: layers, what they do, why they are missing.

## Layers

sandbox-layer-user = 用户
sandbox-layer-namespaces = 命名空间
sandbox-layer-landlock = Landlock
sandbox-layer-seccomp = seccomp
sandbox-layer-control-group = 控制组
sandbox-layer-without-namespaces = 无命名空间

## Details

sandbox-command-user = root 的命令以用户 { $uid } 的身份运行
sandbox-current-user = 命令以运行 polis 的用户的身份运行
sandbox-namespaces = 用户、挂载、进程、IPC、UTS、网络
sandbox-landlock-scoped = 接口版本 { $version }：文件、网络、信号、抽象套接字
sandbox-landlock-unscoped = 接口版本 { $version }：文件；信号和抽象套接字需要版本 { $required } 或更高
sandbox-landlock-missing = 内核没有 Landlock，或已将其关闭
sandbox-filter-accepted = 过滤器可用
sandbox-memory-group = 内存（接口版本 1）；进程数由资源限制控制
sandbox-memory-and-process-group = 内存和进程数（接口版本 2）
sandbox-namespaces-dispensable = 仅靠 Landlock 和 seccomp 即可隔离
sandbox-file-modes-unprotected = ；该用户的所有文件的权限和时间可能被更改
sandbox-processes-unprotected = ；命令所属用户的进程可能收到信号
sandbox-failed-before = 已停用：此前失败过
