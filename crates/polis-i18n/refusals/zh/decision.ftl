decision-not-found = 此白板上没有决策 { $id }。
    .cli = 用 `polis board decisions 白板` 列出决策
    .tool = 用 `whiteboard_decisions` 列出决策
    .http = 用 `GET /v1/boards/{"{"}board{"}"}/decisions` 列出决策
    .screen = 请刷新页面：它可能已不存在

decision-empty = 决策无效：内容为空。
    .hint = 请说明要决定什么

decision-not-a-signer = “{ $agent }”不能{ $action ->
        [sign] 签署
        [veto] 否决
       *[other] 申诉
    }决策 #{ $decision }。签署人：{ $signers }。
    .hint = 请找签署人之一

decision-no-signers = “{ $agent }”不能{ $action ->
        [sign] 签署
        [veto] 否决
       *[other] 申诉
    }决策 #{ $decision }。签署人：用户。
    .hint = 请找签署人之一

decision-approved = 决策 #{ $decision } 已{ $status ->
        [approved] 批准
        [rejected] 否决
        [appealing] 进入申诉
       *[other] 提出
    }，不能再{ $action ->
        [signed] 签署
        [vetoed] 否决
       *[other] 申诉
    }。
    .hint = 请提出新的决策；已批准的决策不再更改

decision-rejected = 决策 #{ $decision } 已{ $status ->
        [approved] 批准
        [rejected] 否决
        [appealing] 进入申诉
       *[other] 提出
    }，不能再{ $action ->
        [signed] 签署
        [vetoed] 否决
       *[other] 申诉
    }。
    .hint = 请先申诉，或提出新的决策

decision-open = 决策 #{ $decision } { $status ->
        [appealing] 正在申诉中
       *[other] 尚待表决
    }，不能{ $action ->
        [signed] 签署
        [vetoed] 否决
       *[other] 申诉
    }。
    .hint = 请签署或否决；只有被否决的决策可以申诉

decision-milestone-exists = 白板上已有里程碑 { $title }。
    .hint = 请选择其他标题

decision-milestone-not-found = 此白板上没有里程碑 { $title }。
    .cli = 用 `polis board milestones 白板` 列出里程碑
    .tool = 用 `whiteboard_milestones` 列出里程碑
    .http = 用 `GET /v1/boards/{"{"}board{"}"}/milestones` 列出里程碑
    .screen = 请刷新页面：它可能已不存在

decision-milestone-colon = 里程碑标题无效：含有冒号。
    .hint = 冒号用于分隔标题和说明；请把其余内容移到说明
