//! Sparklines: a figure over the last periods as SVG, using only what the Content Security Policy allows (attributes,
//! no styles).

use std::fmt::Write as _;

use maud::{Markup, html};

/// Width and height of a chart, in its own units.
const SIZE: (f64, f64) = (120.0, 32.0);

/// Renders a line over the periods, with gaps where there is no value. `top` is the maximum possible value.
pub(super) fn line(label: &str, values: &[Option<f64>], top: f64) -> Markup {
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
        let x = across(at, values.len());
        let Some(value) = value else {
            close(&mut area, pen_down.take(), last);
            continue;
        };
        let y = height(*value, top);
        let command = if pen_down.is_some() { 'L' } else { 'M' };
        let at_here = format!("{} {}", short(x), short(y));
        path.push(command);
        path.push_str(&at_here);
        if pen_down.is_none() {
            let _ = write!(area, "M{} {}", short(x), short(SIZE.1));
        }
        // A point without neighbours has no visible line, so it is drawn as a dot.
        if !there(at.checked_sub(1)) && !there(at.checked_add(1)) {
            let _ = write!(dots, "M{at_here}h0");
        }
        let _ = write!(area, "L{at_here}");
        pen_down.get_or_insert(x);
        last = x;
    }
    close(&mut area, pen_down, last);
    html! {
        svg.spark viewBox={ "0 -2 " (SIZE.0) " " (SIZE.1 + 4.0) } preserveAspectRatio="none" role="img" aria-label=(label) {
            @if !path.is_empty() { path.area d=(area) {} path.line d=(path) {} }
            @if !dots.is_empty() { path.points d=(dots) {} }
        }
    }
}

/// Renders bars over the periods.
pub(super) fn bars(label: &str, values: &[u64]) -> Markup {
    let top = values.iter().copied().max().unwrap_or(0).max(1);
    let each = SIZE.0 / float(values.len().max(1));
    let wide = short(each * 0.8);
    let mut path = String::new();
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let high = short(SIZE.1 * number(*value) / number(top));
        let (x, foot) = (short(each * float(at)), short(SIZE.1));
        let _ = write!(path, "M{x} {foot}v-{high}h{wide}v{high}z");
    }
    html! {
        svg.spark viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } preserveAspectRatio="none" role="img" aria-label=(label) {
            @if !path.is_empty() { path.bar-of d=(path) {} }
        }
    }
}

fn close(area: &mut String, from: Option<f64>, to: f64) {
    if from.is_some() {
        let _ = write!(area, "L{} {}Z", short(to), short(SIZE.1));
    }
}

/// Formats a coordinate with as few characters as the drawing needs.
fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn across(at: usize, many: usize) -> f64 {
    match many {
        ..=1 => SIZE.0 / 2.0,
        many => SIZE.0 * float(at) / float(many - 1),
    }
}

fn height(value: f64, top: f64) -> f64 {
    SIZE.1 * (1.0 - (value / top).clamp(0.0, 1.0))
}

/// Converts a count for drawing; beyond 4 billion the difference would not be visible.
fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_gaps_and_an_area() {
        let drawn = line("x", &[Some(0.0), Some(100.0), None, Some(50.0)], 100.0);
        let text = drawn.into_string();
        assert!(text.contains("M0 32L40 0M120 16\""), "{text}");
        assert!(text.contains("M120 16h0"), "one alone is a dot: {text}");
        assert_eq!(text.matches('Z').count(), 2, "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn bars_stand_on_the_ground() {
        let text = bars("x", &[4, 0, 1]).into_string();
        assert!(
            text.contains("d=\"M0 32v-32h32v32zM80 32v-8h32v8z\""),
            "{text}"
        );
    }

    #[test]
    fn a_single_period_is_a_dot_in_the_middle() {
        let text = line("x", &[Some(100.0)], 100.0).into_string();
        assert!(text.contains("class=\"points\" d=\"M60 0h0\""), "{text}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        for text in [line("x", &[], 1.0), bars("x", &[]), bars("x", &[0, 0])] {
            let text = text.into_string();
            assert!(!text.contains("NaN") && !text.contains("bar-of"), "{text}");
        }
    }
}
