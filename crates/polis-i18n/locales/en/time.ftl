### Relative times and durations.

time-just-now = just now
time-minutes-ago = { $minutes } min ago
time-hours-ago = { $hours } h ago
time-days-ago = { $days } d ago
time-in-less-than-a-minute = in less than a minute
time-in-minutes = in { $minutes } min
time-in-hours = in { $hours } h
time-in-days = in { $days } d
time-milliseconds = { $milliseconds } ms
time-seconds = { $seconds } s

# $minutes, $seconds
time-minutes-and-seconds =
    { $seconds ->
        [0] { $minutes } min
       *[other] { $minutes } min { $seconds } s
    }

# $hours, $minutes
time-hours-and-minutes =
    { $minutes ->
        [0] { $hours } h
       *[other] { $hours } h { $minutes } min
    }

# $days, $hours
time-days-and-hours =
    { $hours ->
        [0] { $days } d
       *[other] { $days } d { $hours } h
    }
