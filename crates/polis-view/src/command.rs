//! Describes how a command ended, and classifies the result for colouring.

use polis_ops::op::CommandEntry;

use crate::Lang;

/// Class of a command's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Still running.
    Running,
    /// Succeeded.
    Good,
    /// Interrupted or cancelled, or with unknown result.
    Open,
    /// Failed.
    Bad,
}

/// Returns class and description of a command's result, or that it is running.
pub fn ending(entry: &CommandEntry, lang: Lang) -> (Ending, String) {
    let (ending, words) = match (entry.exit_code, &entry.signal) {
        _ if entry.running => (Ending::Running, lang.say("runs", "运行中")),
        _ if entry.interrupted => (Ending::Open, lang.say("interrupted", "已中断")),
        _ if entry.timed_out => (Ending::Bad, lang.say("time was up", "超时")),
        _ if entry.cancelled => (Ending::Open, lang.say("cancelled", "已取消")),
        _ if entry.out_of_memory => (Ending::Bad, lang.say("out of memory", "内存不足")),
        (_, Some(signal)) => {
            let by = lang.say(format!("ended by {signal}"), format!("被 {signal} 终止"));
            return (Ending::Bad, by);
        }
        (Some(0), None) => (Ending::Good, lang.say("done", "完成")),
        (Some(code), None) => {
            let exit = lang.say(format!("exit code {code}"), format!("退出码 {code}"));
            return (Ending::Bad, exit);
        }
        (None, None) => (Ending::Open, lang.say("no exit code", "无退出码")),
    };
    (ending, words.to_owned())
}

#[cfg(test)]
mod tests {
    use polis_core::Timestamp;

    use super::*;

    fn entry() -> CommandEntry {
        CommandEntry {
            id: "lead/1".to_owned(),
            agent: "lead".parse().unwrap(),
            workspace: "lead".parse().unwrap(),
            command: "true".to_owned(),
            command_cut: false,
            started_at: Timestamp::from_millis(0),
            running: false,
            interrupted: false,
            duration_ms: None,
            exit_code: None,
            signal: None,
            timed_out: false,
            cancelled: false,
            out_of_memory: false,
            sandbox: None,
            output_bytes: 0,
        }
    }

    #[test]
    fn only_what_ended_with_zero_is_good() {
        let with = |change: fn(&mut CommandEntry)| {
            let mut entry = entry();
            change(&mut entry);
            ending(&entry, Lang::En)
        };
        for (change, expected, said) in [
            (
                (|_| ()) as fn(&mut CommandEntry),
                Ending::Open,
                "no exit code",
            ),
            (|one| one.exit_code = Some(0), Ending::Good, "done"),
            (|one| one.exit_code = Some(2), Ending::Bad, "exit code 2"),
            (|one| one.running = true, Ending::Running, "runs"),
            (|one| one.interrupted = true, Ending::Open, "interrupted"),
            (|one| one.cancelled = true, Ending::Open, "cancelled"),
            (|one| one.out_of_memory = true, Ending::Bad, "out of memory"),
            (|one| one.timed_out = true, Ending::Bad, "time was up"),
            (
                |one| {
                    one.exit_code = Some(137);
                    one.signal = Some("SIGKILL".to_owned());
                },
                Ending::Bad,
                "ended by SIGKILL",
            ),
        ] {
            assert_eq!(with(change), (expected, said.to_owned()));
        }
    }
}
