//! Token estimation: approximates the number of tokens of a text, to compute the cost of a response whose
//! endpoint reports no usage. The context window uses the coarser `tokens_for_bytes` instead. Pure.

/// Estimates the tokens of a text: about four Latin letters per token, or one Chinese, Japanese or Korean
/// character.
///
/// Tokenizers disagree about the number by more than the error of this estimate, so a vocabulary is not worth
/// its cost.
pub fn estimate_tokens(text: &str) -> u64 {
    // In sixteenths of a token.
    let mut sum: u64 = 0;
    for c in text.chars() {
        sum += match c {
            'a'..='z' => 4,
            ' ' => 1,
            'A'..='Z' => 6,
            '0'..='9' => 7,
            '\n' | '\t' | '\r' => 4,
            c if c.is_ascii() => 8,
            // Accents, Greek, Cyrillic, Hebrew, Arabic.
            '\u{80}'..='\u{7ff}' => 7,
            // Most other alphabets are rarer in training data.
            '\u{800}'..='\u{1fff}' => 12,
            '\u{3040}'..='\u{30ff}' => 12,
            '\u{3000}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{ffef}' => 14,
            // Emoji and rarer characters.
            _ => 32,
        };
    }
    sum.div_ceil(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a real tokenizer: within a factor of 2 for texts that members read and write.
    #[test]
    fn estimate_is_within_factor_two_of_a_real_tokenizer() {
        let tokenizer = tiktoken_rs::o200k_base().unwrap();
        let rust = include_str!("sse.rs");
        let json = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_9aX","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"src/main.rs\",\"content\":\"fn main() {}\\n\"}"}}]}"#;
        let chinese = "你是一名架构师。请先阅读需求，把系统拆成不超过五百行的模块，并为每个模块写清楚名称、职责、接口、输入输出与依赖关系；不清楚的地方要先问用户，然后停止调用工具，等待下一步指示。";
        let table = [
            ("English", "The architect asks when something is unclear, waits for the answer, and hires one programmer for each module; programmers test what they write and report when they are done.".to_owned()),
            ("German", "Die Architektin fragt nach, wenn etwas unklar ist, wartet auf die Antwort und stellt für jedes Modul eine Programmiererin ein.".to_owned()),
            ("Russian", "Архитектор задаёт вопросы, если что-то непонятно, ждёт ответа и нанимает программиста для каждого модуля.".to_owned()),
            ("Chinese", chinese.to_owned()),
            ("Japanese", "設計者は不明な点があれば質問し、回答を待ち、モジュールごとにプログラマーを一人雇います。".to_owned()),
            ("Korean", "설계자는 불분명한 점이 있으면 질문하고 답변을 기다린 뒤 모듈마다 프로그래머를 한 명씩 고용합니다.".to_owned()),
            ("Rust", rust.to_owned()),
            ("JSON", json.to_owned()),
            ("numbers", (0..200).map(|n| format!("{} ", n * 7919)).collect()),
            ("a digest", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned()),
            ("emoji", "🚀🎉👍🏽 done ✅".to_owned()),
        ];
        for (what, text) in table {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let (guess, truth) = (
                estimate_tokens(&text) as f64,
                tokenizer.encode_ordinary(&text).len() as f64,
            );
            let factor = guess / truth;
            assert!((0.5..2.0).contains(&factor), "{what}: {guess} for {truth}");
        }
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("a"), 1);
    }
}
