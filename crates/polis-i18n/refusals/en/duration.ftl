### Problems of a text that should be a duration.

duration-invalid = { $text } is not a duration such as 30m, 90s, 2h or 7d
duration-out-of-range = { $text } is out of range: it must be between 1 ms and 366 d
