//! Bars, side by side or stacked.

use plotters::element::{PathElement, Rectangle};
use plotters::style::Color;

use super::plane::{XAxis, axes};
use super::scale::Scale;
use super::{Area, DrawResult, INK, Value, colour};

pub(super) fn side_by_side(
    area: &Area,
    title: &str,
    groups: &[String],
    series: &[(String, Vec<Value>)],
) -> DrawResult {
    let ends = series.iter().flat_map(|(_, v)| v.iter().flat_map(|v| [v.least, v.most]));
    let scale = Scale::of(ends);
    axes(area, title, series, &XAxis::Names(groups), &scale, |to_pixel| {
        let count = series.len() as f64;
        let width = (0.8 / count).min(0.4);
        for (nth, (_, values)) in series.iter().enumerate() {
            for (group, value) in values.iter().enumerate().filter(|(_, v)| v.mean.is_finite()) {
                // A single bar is narrower than its group.
                let left = group as f64 + 0.5 + width * (nth as f64 - count / 2.0);
                let bar =
                    [(left, scale.bottom()), (left + width * 0.92, scale.position(value.mean))];
                let bar = bar.map(|(x, y)| to_pixel(x, y));
                area.draw(&Rectangle::new(bar, colour(nth).filled()))?;
                let middle = left + width * 0.46;
                let range = [value.least, value.most].map(|y| to_pixel(middle, scale.position(y)));
                area.draw(&PathElement::new(range, INK))?;
            }
        }
        Ok(())
    })
}

pub(super) fn stacked(
    area: &Area,
    title: &str,
    groups: &[String],
    series: &[(String, Vec<Value>)],
) -> DrawResult {
    let total = |group: usize| series.iter().map(|(_, v)| v[group].mean).sum::<f64>();
    let scale = Scale::linear((0..groups.len()).map(total).fold(0.0, f64::max));
    axes(area, title, series, &XAxis::Names(groups), &scale, |to_pixel| {
        for group in 0..groups.len() {
            let (mut below, left) = (0.0, group as f64 + 0.2);
            for (nth, (_, values)) in series.iter().enumerate() {
                let above = below + values[group].mean;
                let bar = [to_pixel(left, below), to_pixel(left + 0.6, above)];
                area.draw(&Rectangle::new(bar, colour(nth).filled()))?;
                below = above;
            }
        }
        Ok(())
    })
}
