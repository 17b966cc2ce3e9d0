token-expires-now = 令牌会立即到期。
    .cli = 请用 --expires 给出从现在起的时长，如 30d
    .tool = 请给出从现在起的时长，如 30d
    .screen = 请更正输入的内容

token-not-found = 没有令牌 { $id }。
    .cli = 用 `polis agent token list` 列出令牌
    .tool = 请让运行 polis 的人列出令牌
    .screen = 请刷新页面：它可能已不存在

token-required = 需要有效的令牌。
    .cli = 请发送 `Authorization: Bearer 令牌`；运行 polis 的人用 `polis agent token issue 智能体` 签发令牌
    .tool = 请发送 `Authorization: Bearer 令牌`；运行 polis 的人可以签发令牌
    .screen = 请输入有效的令牌，或用 `polis open` 获取新的登录链接

token-only-person-manages = 没有权限：只有用户可以签发、查看和吊销令牌。
    .hint = 请找运行此 polis 的人

token-sign-in-link-invalid = 登录链接无效：已使用过、已过期或不完整。
    .cli = 运行 `polis open` 获取新链接
    .tool = 请向运行 polis 的人索取新链接
    .screen = 请输入有效的令牌，或用 `polis open` 获取新的登录链接

token-scope-missing = 此令牌的权限范围不包括 { $required }。
    .cli = 请使用以 --scope { $required } 签发的令牌（`polis agent token issue`）
    .tool = 请向运行 polis 的人索取权限范围为 { $required } 的令牌
    .screen = 请使用具有此权限的令牌登录

token-invalid-scope = { $text } 不是有效的权限范围。
    .hint = 请使用 all、read、AREA 或 AREA:read，以逗号分隔；AREA 可取：{ $areas }
