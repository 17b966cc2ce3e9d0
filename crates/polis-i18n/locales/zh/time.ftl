### Relative times and durations.

time-just-now = 刚刚
time-minutes-ago = { $minutes } 分钟前
time-hours-ago = { $hours } 小时前
time-days-ago = { $days } 天前
time-in-less-than-a-minute = 不到 1 分钟后
time-in-minutes = { $minutes } 分钟后
time-in-hours = { $hours } 小时后
time-in-days = { $days } 天后
time-milliseconds = { $milliseconds } 毫秒
time-seconds = { $seconds } 秒

time-minutes-and-seconds =
    { $seconds ->
        [0] { $minutes } 分
       *[other] { $minutes } 分 { $seconds } 秒
    }

time-hours-and-minutes =
    { $minutes ->
        [0] { $hours } 小时
       *[other] { $hours } 小时 { $minutes } 分
    }

time-days-and-hours =
    { $hours ->
        [0] { $days } 天
       *[other] { $days } 天 { $hours } 小时
    }
