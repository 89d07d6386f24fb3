//! The common parts of most pictures: title, legend, two axes and their names.

use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, TextStyle};

use super::scale::Scale;
use super::{Area, DrawResult, INK, SIZE, colour};

/// The x axis.
pub(super) enum XAxis<'a> {
    /// Names at equal distances: the first covers 0 to 1.
    Names(&'a [String]),
    /// Numbers, and the name of the axis.
    Numbers(Scale, &'a str),
}

impl XAxis<'_> {
    /// Returns the position of `x` on the axis, from 0 to 1.
    fn fraction(&self, x: f64) -> f64 {
        match self {
            XAxis::Names(names) => x / names.len().max(1) as f64,
            XAxis::Numbers(scale, _) => {
                (scale.position(x) - scale.bottom()) / (scale.top() - scale.bottom())
            }
        }
    }
}

/// Mean width of a character of size 12, in pixels.
const CHARACTER: i32 = 7;
/// Height of a line of a legend, in pixels.
const LEGEND_LINE: i32 = 16;
/// Top of a legend, in pixels.
const LEGEND_TOP: i32 = 31;

/// Returns the style of text of `size` pixels in the colour of the page.
pub(super) fn style(size: u32, h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK).pos(Pos::new(h, v))
}

/// Estimates the width of `text`, in pixels.
pub(super) fn width(text: &str) -> i32 {
    CHARACTER * text.chars().count() as i32
}

/// Returns the position of the name of each series in the legend: x in pixels, and line. Series
/// without a name take no space.
fn legend_positions<T>(series: &[(String, T)]) -> Vec<(i32, i32)> {
    let (mut at, mut line) = (8, 0);
    let positions = series.iter().map(|(name, _)| {
        if name.is_empty() {
            return (at, line);
        }
        let wide = 32 + width(name);
        if at > 8 && at + wide > SIZE.0 as i32 {
            (at, line) = (8, line + 1);
        }
        let position = (at, line);
        at += wide;
        position
    });
    positions.collect()
}

/// Returns the height of the lines of a legend after the first, in pixels.
pub(super) fn legend_growth<T>(series: &[(String, T)]) -> i32 {
    legend_positions(series).last().map_or(0, |&(_, line)| line * LEGEND_LINE)
}

/// Returns the height of a picture of `series`, in pixels.
pub(super) fn height<T>(series: &[(String, T)]) -> u32 {
    SIZE.1 + legend_growth(series) as u32
}

/// Draws the title and the legend, in which `of` gives the colour of each series.
pub(super) fn heading<T>(
    area: &Area,
    title: &str,
    series: &[(String, T)],
    of: fn(usize) -> RGBColor,
) -> DrawResult {
    area.draw(&Text::new(title, (8, 6), style(15, HPos::Left, VPos::Top)))?;
    for (nth, ((name, _), (at, line))) in series.iter().zip(legend_positions(series)).enumerate() {
        if name.is_empty() {
            continue;
        }
        let top = LEGEND_TOP + line * LEGEND_LINE;
        area.draw(&Rectangle::new([(at, top), (at + 10, top + 10)], of(nth).filled()))?;
        let style = style(12, HPos::Left, VPos::Center);
        area.draw(&Text::new(name.as_str(), (at + 15, top + 5), style))?;
    }
    Ok(())
}

/// Draws the name of the y axis above it, at the position of a legend.
pub(super) fn y_axis_label(area: &Area, label: &str) -> DrawResult {
    area.draw(&Text::new(format!("↑ {label}"), (8, LEGEND_TOP), style(12, HPos::Left, VPos::Top)))?;
    Ok(())
}

/// Draws heading and axes; `inside` draws the rest, with a function from values to pixels.
pub(super) fn axes<T>(
    area: &Area,
    title: &str,
    series: &[(String, T)],
    x_axis: &XAxis,
    scale: &Scale,
    inside: impl FnOnce(&dyn Fn(f64, f64) -> (i32, i32)) -> DrawResult,
) -> DrawResult {
    heading(area, title, series, colour)?;
    let growth = legend_growth(series);
    let (wide, high) = (SIZE.0 as i32, SIZE.1 as i32 + growth);
    let (left, right, top, bottom) = (70, wide - 12, 62 + growth, high - 48);
    let to_pixel = |x: f64, y: f64| {
        let right_of = (x_axis.fraction(x) * f64::from(right - left)).round() as i32;
        let share = (y - scale.bottom()) / (scale.top() - scale.bottom());
        (left + right_of, bottom - (share * f64::from(bottom - top)).round() as i32)
    };
    for tick in scale.ticks() {
        let y = to_pixel(0.0, scale.position(tick)).1;
        area.draw(&PathElement::new([(left, y), (right, y)], INK.mix(0.15)))?;
        let style = style(11, HPos::Right, VPos::Center);
        area.draw(&Text::new(scale.label(tick), (left - 6, y), style))?;
    }
    inside(&to_pixel)?;
    area.draw(&PathElement::new([(left, top), (left, bottom), (right, bottom)], INK))?;
    let names: Vec<(f64, String)> = match x_axis {
        XAxis::Names(names) => {
            let named = names.iter().enumerate();
            named.map(|(at, name)| (at as f64 + 0.5, name.clone())).collect()
        }
        XAxis::Numbers(scale, _) => {
            scale.ticks().into_iter().map(|tick| (tick, scale.label(tick))).collect()
        }
    };
    // If not all names fit, some are left out.
    let widest = names.iter().map(|(_, name)| width(name) + 4).max().unwrap_or(1);
    let fit = ((right - left) / widest.max(1)).max(1) as usize;
    for (at, name) in names.iter().step_by(names.len().div_ceil(fit).max(1)) {
        let (x, _) = to_pixel(*at, scale.bottom());
        let style = style(11, HPos::Center, VPos::Top);
        area.draw(&Text::new(name.as_str(), (x, bottom + 6), style))?;
    }
    if let XAxis::Numbers(_, label) = x_axis {
        let style = style(12, HPos::Center, VPos::Top);
        area.draw(&Text::new(*label, (i32::midpoint(left, right), bottom + 24), style))?;
    }
    Ok(())
}
