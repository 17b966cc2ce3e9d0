### Problems of a text that should be a duration.

duration-invalid = { $text } 不是 30m、90s、2h 或 7d 这样的时长
duration-out-of-range = { $text } 超出范围：必须在 1 毫秒到 366 天之间
