//! What most pictures have: title, legend, two axes and their names.

use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, TextStyle};

use super::scale::Scale;
use super::{Area, Drawn, INK, SIZE, colour};

/// What goes to the right.
pub(super) enum Across<'a> {
    /// Names at equal distances: the first lies from 0 to 1.
    Places(&'a [String]),
    /// Numbers, and what they are.
    Along(Scale, &'a str),
}

impl Across<'_> {
    /// How far to the right `x` lies, from 0 to 1.
    fn share(&self, x: f64) -> f64 {
        match self {
            Across::Places(names) => x / names.len().max(1) as f64,
            Across::Along(scale, _) => {
                (scale.up(x) - scale.bottom()) / (scale.top() - scale.bottom())
            }
        }
    }
}

/// Pixels of a character of the size 12, on average.
const CHARACTER: i32 = 7;
/// Pixels from one line of a legend to the next.
const LEGEND_LINE: i32 = 16;
/// Where a legend begins.
const LEGEND_TOP: i32 = 31;

/// Text of `size` pixels in the colour of the page.
pub(super) fn style(size: u32, h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK).pos(Pos::new(h, v))
}

/// About how wide `text` is, in pixels.
pub(super) fn width(text: &str) -> i32 {
    CHARACTER * text.chars().count() as i32
}

/// Where the name of each series stands, from the left and in which line. Series without a name have
/// no place.
fn places<T>(series: &[(String, T)]) -> Vec<(i32, i32)> {
    let (mut at, mut line) = (8, 0);
    let places = series.iter().map(|(name, _)| {
        if name.is_empty() {
            return (at, line);
        }
        let wide = 32 + width(name);
        if at > 8 && at + wide > SIZE.0 as i32 {
            (at, line) = (8, line + 1);
        }
        let place = (at, line);
        at += wide;
        place
    });
    places.collect()
}

/// The pixels that lines of a legend take beyond the first.
pub(super) fn more_lines<T>(series: &[(String, T)]) -> i32 {
    places(series).last().map_or(0, |&(_, line)| line * LEGEND_LINE)
}

/// Height of a picture of `series`.
pub(super) fn height<T>(series: &[(String, T)]) -> u32 {
    SIZE.1 + more_lines(series) as u32
}

/// The title, and the colour that `of` gives each series.
pub(super) fn heading<T>(
    area: &Area,
    title: &str,
    series: &[(String, T)],
    of: fn(usize) -> RGBColor,
) -> Drawn {
    area.draw(&Text::new(title, (8, 6), style(15, HPos::Left, VPos::Top)))?;
    for (nth, ((name, _), (at, line))) in series.iter().zip(places(series)).enumerate() {
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

/// The name of the axis upward, above it: where a legend would begin.
pub(super) fn upward(area: &Area, label: &str) -> Drawn {
    area.draw(&Text::new(format!("↑ {label}"), (8, LEGEND_TOP), style(12, HPos::Left, VPos::Top)))?;
    Ok(())
}

/// Heading and axes; `inside` draws the rest, given the way from values to pixels.
pub(super) fn plane<T>(
    area: &Area,
    title: &str,
    series: &[(String, T)],
    across: &Across,
    scale: &Scale,
    inside: impl FnOnce(&dyn Fn(f64, f64) -> (i32, i32)) -> Drawn,
) -> Drawn {
    heading(area, title, series, colour)?;
    let more = more_lines(series);
    let (wide, high) = (SIZE.0 as i32, SIZE.1 as i32 + more);
    let (left, right, top, bottom) = (70, wide - 12, 62 + more, high - 48);
    let to_pixel = |x: f64, y: f64| {
        let right_of = (across.share(x) * f64::from(right - left)).round() as i32;
        let share = (y - scale.bottom()) / (scale.top() - scale.bottom());
        (left + right_of, bottom - (share * f64::from(bottom - top)).round() as i32)
    };
    for tick in scale.ticks() {
        let y = to_pixel(0.0, scale.up(tick)).1;
        area.draw(&PathElement::new([(left, y), (right, y)], INK.mix(0.15)))?;
        let style = style(11, HPos::Right, VPos::Center);
        area.draw(&Text::new(scale.label(tick), (left - 6, y), style))?;
    }
    inside(&to_pixel)?;
    area.draw(&PathElement::new([(left, top), (left, bottom), (right, bottom)], INK))?;
    let names: Vec<(f64, String)> = match across {
        Across::Places(names) => {
            let named = names.iter().enumerate();
            named.map(|(at, name)| (at as f64 + 0.5, name.clone())).collect()
        }
        Across::Along(scale, _) => {
            scale.ticks().into_iter().map(|tick| (tick, scale.label(tick))).collect()
        }
    };
    // Where all do not fit, some do.
    let widest = names.iter().map(|(_, name)| width(name) + 4).max().unwrap_or(1);
    let fit = ((right - left) / widest.max(1)).max(1) as usize;
    for (at, name) in names.iter().step_by(names.len().div_ceil(fit).max(1)) {
        let (x, _) = to_pixel(*at, scale.bottom());
        let style = style(11, HPos::Center, VPos::Top);
        area.draw(&Text::new(name.as_str(), (x, bottom + 6), style))?;
    }
    if let Across::Along(_, label) = across {
        let style = style(12, HPos::Center, VPos::Top);
        area.draw(&Text::new(*label, (i32::midpoint(left, right), bottom + 24), style))?;
    }
    Ok(())
}
