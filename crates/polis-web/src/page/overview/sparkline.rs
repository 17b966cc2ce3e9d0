//! Sparklines: small line and bar charts of a metric over the last periods, as inline SVG.
//!
//! The shapes are in attributes and the style is in the style sheet, because the Content Security Policy
//! forbids inline styles.

use std::fmt::Write as _;

use maud::{Markup, html};
use polis_core::number::saturating_cast;

/// Width and height of a chart, in its own units.
const CHART_SIZE: (f64, f64) = (120.0, 32.0);

/// Renders a line over the periods, with gaps where there is no value. `top` is the maximum possible value.
pub(super) fn render_line_chart(label: &str, values: &[Option<f64>], top: f64) -> Markup {
    let mut path = String::new();
    let mut area = String::new();
    let mut dots = String::new();
    let mut pen_down: Option<f64> = None;
    let mut last = 0.0;
    let there = |at: Option<usize>| {
        at.and_then(|at| values.get(at))
            .is_some_and(Option::is_some)
    };
    for (at, value) in values.iter().enumerate() {
        let x = x_position(at, values.len());
        let Some(value) = value else {
            close_area(&mut area, pen_down.take(), last);
            continue;
        };
        let y = y_position(*value, top);
        let command = if pen_down.is_some() { 'L' } else { 'M' };
        let point = format!("{} {}", format_coordinate(x), format_coordinate(y));
        path.push(command);
        path.push_str(&point);
        if pen_down.is_none() {
            let _ = write!(
                area,
                "M{} {}",
                format_coordinate(x),
                format_coordinate(CHART_SIZE.1)
            );
        }
        // A point without neighbours has no visible line, so it is drawn as a dot.
        if !there(at.checked_sub(1)) && !there(at.checked_add(1)) {
            let _ = write!(dots, "M{point}h0");
        }
        let _ = write!(area, "L{point}");
        pen_down.get_or_insert(x);
        last = x;
    }
    close_area(&mut area, pen_down, last);
    html! {
        svg.spark viewBox={ "0 -2 " (CHART_SIZE.0) " " (CHART_SIZE.1 + 4.0) } preserveAspectRatio="none" role="img" aria-label=(label) {
            @if !path.is_empty() { path.area d=(area) {} path.line d=(path) {} }
            @if !dots.is_empty() { path.points d=(dots) {} }
        }
    }
}

/// Renders bars over the periods.
pub(super) fn render_bar_chart(label: &str, values: &[u64]) -> Markup {
    let top = values.iter().copied().max().unwrap_or(0).max(1);
    let step = CHART_SIZE.0 / usize_to_f64(values.len().max(1));
    let width = format_coordinate(step * 0.8);
    let mut path = String::new();
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let high = format_coordinate(CHART_SIZE.1 * u64_to_f64(*value) / u64_to_f64(top));
        let (x, foot) = (
            format_coordinate(step * usize_to_f64(at)),
            format_coordinate(CHART_SIZE.1),
        );
        let _ = write!(path, "M{x} {foot}v-{high}h{width}v{high}z");
    }
    html! {
        svg.spark viewBox={ "0 0 " (CHART_SIZE.0) " " (CHART_SIZE.1) } preserveAspectRatio="none" role="img" aria-label=(label) {
            @if !path.is_empty() { path.bar-of d=(path) {} }
        }
    }
}

fn close_area(area: &mut String, from: Option<f64>, to: f64) {
    if from.is_some() {
        let _ = write!(
            area,
            "L{} {}Z",
            format_coordinate(to),
            format_coordinate(CHART_SIZE.1)
        );
    }
}

/// Formats a coordinate with as few characters as the drawing needs.
fn format_coordinate(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn x_position(at: usize, count: usize) -> f64 {
    match count {
        ..=1 => CHART_SIZE.0 / 2.0,
        count => CHART_SIZE.0 * usize_to_f64(at) / usize_to_f64(count - 1),
    }
}

fn y_position(value: f64, top: f64) -> f64 {
    CHART_SIZE.1 * (1.0 - (value / top).clamp(0.0, 1.0))
}

/// Converts a count for drawing; beyond 4 billion the difference would not be visible.
fn usize_to_f64(count: usize) -> f64 {
    f64::from(saturating_cast::<u32>(count))
}

fn u64_to_f64(count: u64) -> f64 {
    f64::from(saturating_cast::<u32>(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_chart_with_missing_value_has_gap() {
        let chart = render_line_chart("x", &[Some(0.0), Some(100.0), None, Some(50.0)], 100.0);
        let text = chart.into_string();
        assert!(text.contains("M0 32L40 0M120 16\""), "{text}");
        assert!(text.contains("M120 16h0"), "one alone is a dot: {text}");
        assert_eq!(text.matches('Z').count(), 2, "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn bars_start_at_the_baseline() {
        let text = render_bar_chart("x", &[4, 0, 1]).into_string();
        assert!(
            text.contains("d=\"M0 32v-32h32v32zM80 32v-8h32v8z\""),
            "{text}"
        );
    }

    #[test]
    fn single_period_is_a_centered_dot() {
        let text = render_line_chart("x", &[Some(100.0)], 100.0).into_string();
        assert!(text.contains("class=\"points\" d=\"M60 0h0\""), "{text}");
    }

    #[test]
    fn empty_chart_has_no_path() {
        for text in [
            render_line_chart("x", &[], 1.0),
            render_bar_chart("x", &[]),
            render_bar_chart("x", &[0, 0]),
        ] {
            let text = text.into_string();
            assert!(!text.contains("NaN") && !text.contains("bar-of"), "{text}");
        }
    }
}
