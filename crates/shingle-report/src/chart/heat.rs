//! Heat maps with eight shades of one colour; the values grow by a constant factor from shade to
//! shade.

use std::fmt::Write;

use plotters::element::{PathElement, Text};
use plotters::style::text_anchor::{HPos, VPos};

use super::plane::{heading, style};
use super::scale::Scale;
use super::{Area, COLOURS, DrawResult, INK, SIZE, colour};
use crate::numbers::grouped;

pub(super) struct Map<'a> {
    pub(super) x_label: &'a str,
    pub(super) x_end: f64,
    pub(super) rows: &'a [String],
    pub(super) columns: &'a [Vec<u64>],
    pub(super) unit: &'a str,
    pub(super) darkest: Option<u64>,
}

const SHADES: u32 = 8;
const LEFT: i32 = 78;
const TOP: i32 = 54;
/// The most names of rows that are shown.
const NAMES: usize = 6;

pub(super) fn draw(area: &Area, title: &str, map: &Map, cells: &mut String) -> DrawResult {
    let (right, bottom) = (SIZE.0 as i32 - 12, SIZE.1 as i32 - 48);
    heading::<()>(area, title, &[], colour)?;
    let most = map.columns.iter().flatten().copied().max().unwrap_or(0);
    let caption = match most {
        0 => "nothing".to_owned(),
        most => {
            let darkest = grouped(map.darkest.unwrap_or(most) as f64);
            format!("darkest: {darkest} {} a cell; upward: address, without gaps", map.unit)
        }
    };
    let most = map.darkest.unwrap_or(most);
    area.draw(&Text::new(caption, (8, 36), style(12, HPos::Left, VPos::Center)))?;
    let high = f64::from(bottom - TOP) / map.rows.len().max(1) as f64;
    let wide = f64::from(right - LEFT) / map.columns.len().max(1) as f64;
    let step = map.rows.len().div_ceil(NAMES).max(1);
    for (row, name) in map.rows.iter().enumerate().step_by(step) {
        let y = bottom - (row as f64 * high) as i32;
        area.draw(&PathElement::new([(LEFT - 4, y), (LEFT, y)], INK))?;
        area.draw(&Text::new(name.as_str(), (LEFT - 7, y), style(11, HPos::Right, VPos::Center)))?;
    }
    let x_scale = Scale::to(map.x_end);
    for tick in x_scale.ticks() {
        let x = LEFT + (tick / x_scale.top() * f64::from(right - LEFT)) as i32;
        area.draw(&Text::new(
            x_scale.label(tick),
            (x, bottom + 6),
            style(11, HPos::Center, VPos::Top),
        ))?;
    }
    area.draw(&PathElement::new([(LEFT, TOP), (LEFT, bottom), (right, bottom)], INK))?;
    let middle = (i32::midpoint(LEFT, right), bottom + 24);
    area.draw(&Text::new(map.x_label, middle, style(12, HPos::Center, VPos::Top)))?;

    // One path for each shade: thousands of rectangles would be most of a page.
    let (r, g, b) = (COLOURS[0].0, COLOURS[0].1, COLOURS[0].2);
    for shade in 1..=SHADES {
        let mut path = String::new();
        for (at, column) in map.columns.iter().enumerate() {
            let mut row = 0;
            while row < column.len() {
                let same_shade = |value: &&u64| shade_of(**value, most) == shade;
                let count = column[row..].iter().take_while(same_shade).count();
                if count > 0 {
                    let (x, y) = (f64::from(LEFT) + at as f64 * wide, f64::from(bottom));
                    let (y, h) = (y - (row + count) as f64 * high, count as f64 * high);
                    let _ = write!(path, "M{x:.1} {y:.1}h{wide:.1}v{h:.1}h-{wide:.1}z");
                }
                row += count.max(1);
            }
        }
        if !path.is_empty() {
            let opacity = f64::from(shade) / f64::from(SHADES);
            let _ = write!(
                cells,
                "<path fill=\"#{r:02x}{g:02x}{b:02x}\" fill-opacity=\"{opacity:.2}\" d=\"{path}\"/>"
            );
        }
    }
    Ok(())
}

/// Returns the shade of `value`, by its logarithm; 0 is no shade.
fn shade_of(value: u64, most: u64) -> u32 {
    match (value, most) {
        (0, _) => 0,
        (_, 1) => SHADES,
        _ => {
            let share = libm::log1p(value as f64) / libm::log1p(most as f64);
            ((share * f64::from(SHADES)).ceil() as u32).clamp(1, SHADES)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_none_to_full() {
        assert_eq!([0, 1, 1000].map(|value| shade_of(value, 1000)), [0, 1, SHADES]);
        assert_eq!([0, 1].map(|value| shade_of(value, 1)), [0, SHADES]);
    }
}
