//! Horizontal bars made of parts, with their names to the left.

use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::plane::{heading, legend_growth, style, width};
use super::scale::Scale;
use super::{Area, DrawResult, INK, SIZE, part_colour};

/// Distance of two bars, in pixels.
const BAR: i32 = 20;
const ABOVE: i32 = 56;
const BELOW: i32 = 46;

pub(super) fn height<T>(names: usize, series: &[(String, T)]) -> u32 {
    (ABOVE + legend_growth(series) + BAR * names as i32 + BELOW) as u32
}

pub(super) fn draw(
    area: &Area,
    title: &str,
    names: &[String],
    x_label: &str,
    series: &[(String, Vec<f64>)],
) -> DrawResult {
    heading(area, title, series, part_colour)?;
    // Unknown values take no space.
    let part = |values: &[f64], row: usize| {
        values.get(row).copied().filter(|value| value.is_finite()).unwrap_or(0.0)
    };
    let total = |row: usize| series.iter().map(|(_, values)| part(values, row)).sum::<f64>();
    let scale = Scale::linear((0..names.len()).map(total).fold(0.0, f64::max));
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let left = (widest + 14).min(SIZE.0 as i32 / 2);
    let (right, top) = (SIZE.0 as i32 - 24, ABOVE + legend_growth(series));
    let bottom = top + BAR * names.len() as i32;
    let to_x = |value: f64| left + (value / scale.top() * f64::from(right - left)).round() as i32;
    for tick in scale.ticks() {
        let x = to_x(tick);
        area.draw(&PathElement::new([(x, top), (x, bottom)], INK.mix(0.15)))?;
        let style = style(11, HPos::Center, VPos::Top);
        area.draw(&Text::new(scale.label(tick), (x, bottom + 6), style))?;
    }
    for (row, name) in names.iter().enumerate() {
        let y = top + BAR * row as i32;
        let style = style(12, HPos::Right, VPos::Center);
        area.draw(&Text::new(name.as_str(), (left - 6, y + BAR / 2), style))?;
        let mut so_far = 0.0;
        for (nth, (_, values)) in series.iter().enumerate() {
            let end = so_far + part(values, row);
            let bar = [(to_x(so_far), y + 3), (to_x(end), y + BAR - 3)];
            if bar[0].0 < bar[1].0 {
                area.draw(&Rectangle::new(bar, part_colour(nth).filled()))?;
            }
            so_far = end;
        }
    }
    area.draw(&PathElement::new([(left, top), (left, bottom), (right, bottom)], INK))?;
    let style = style(12, HPos::Center, VPos::Top);
    area.draw(&Text::new(x_label, (i32::midpoint(left, right), bottom + 24), style))?;
    Ok(())
}
