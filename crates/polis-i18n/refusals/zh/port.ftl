port-internal-error = 内部操作失败（{ $activity }）。
    .cli = 请运行 `polis doctor`；加 --verbose 重试可查看原因
    .tool = 请重试；若再次失败，请告知运行 polis 的人，其日志中有原因
    .screen = 请重试；如仍失败，请查看服务器日志
