//! Number formatting for people: counts (12.3k), sizes in bytes (1.5 KiB) and amounts of money ($0.0421).

/// Formats a count with at most four characters and a unit: 950, 12.3k, 4.5M.
pub fn format_count(number: u64) -> String {
    format_scaled(number, 1_000, &["", "k", "M", "G", "T", "P", "E"], "")
}

/// Formats a size in bytes: 950 B, 12.3 KiB.
pub fn format_bytes(size: u64) -> String {
    format_scaled(
        size,
        1_024,
        &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"],
        " ",
    )
}

/// Formats an amount of money, given in millionths of a dollar: $0.0421, $12.30.
pub fn format_money(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    match whole {
        0 => format!("${whole}.{:04}", part / 100),
        _ => format!("${whole}.{:02}", part / 10_000),
    }
}

fn format_scaled(number: u64, step: u64, units: &[&str], gap: &str) -> String {
    let (mut unit, mut worth) = (0, 1);
    while number / worth >= step && unit + 1 < units.len() {
        worth *= step;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or("");
    let whole = number / worth;
    // The first decimal, truncated instead of rounded: the displayed value never exceeds the real one.
    let tenth = u128::from(number % worth) * 10 / u128::from(worth);
    match (unit, tenth) {
        (0, _) | (_, 0) => format!("{whole}{gap}{name}"),
        _ if whole >= 100 => format!("{whole}{gap}{name}"),
        _ => format!("{whole}.{tenth}{gap}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        let formatted: Vec<String> = [0, 999, 1_000, 12_345, 999_999, 4_500_000, u64::MAX]
            .map(format_count)
            .into();
        assert_eq!(
            formatted,
            ["0", "999", "1k", "12.3k", "999k", "4.5M", "18.4E"]
        );
    }

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(format_bytes(0), "0 B");
        assert_eq!(format_bytes(1_536), "1.5 KiB");
        assert_eq!(format_bytes(u64::MAX), "15.9 EiB");
    }

    #[test]
    fn small_amounts_have_four_decimals() {
        assert_eq!(format_money(42_100), "$0.0421");
        assert_eq!(format_money(12_300_000), "$12.30");
    }
}
