//! Pictures: bars and lines, drawn as SVG. Text and axes take the colour of the page they stand on,
//! so that one picture serves light, dark and paper.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use thiserror::Error;

/// A picture, not yet drawn.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// What is drawn.
    pub kind: Kind,
}

/// Bars or lines.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A group of bars for each name; a colour each series.
    Bars {
        /// Names below the groups.
        groups: Vec<String>,
        /// Name and a value for each group.
        series: Vec<(String, Vec<Value>)>,
        /// Series stand on one another, not side by side.
        stacked: bool,
    },
    /// Lines over named places at equal distances.
    Steps {
        /// Names of the places.
        places: Vec<String>,
        /// Name and a value for each place.
        series: Vec<(String, Vec<Value>)>,
    },
    /// Points or lines over numbers.
    Numbers {
        /// What goes to the right, with its unit.
        x_label: String,
        /// Name and points.
        series: Vec<(String, Vec<(f64, f64)>)>,
        /// Points alone, not joined.
        points: bool,
    },
}

/// A mean, with least and most over the seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Value {
    /// Of all seeds.
    pub mean: f64,
    /// Of the least seed.
    pub least: f64,
    /// Of the most.
    pub most: f64,
}

impl Value {
    /// Over seeds. Not a number if there are none.
    #[must_use]
    pub fn over(values: &[f64]) -> Value {
        Value {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// A picture could not be drawn: a bug, as all it needs is memory.
#[derive(Clone, Debug, Error)]
#[error("cannot draw `{0}`: {1}")]
pub struct DrawError(String, String);

/// Width and height of every picture.
const SIZE: (u32, u32) = (620, 330);

/// Stands for the colour of the text around, which SVG can name and the drawing library cannot.
const INK: RGBColor = RGBColor(1, 2, 3);
const INK_TEXT: &str = "#010203";

/// Told apart by most colour-blind people (Okabe and Ito), light and dark enough for both pages.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(140, 140, 140),
];

/// From this quotient of most to least on, the axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 60.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

impl Picture {
    /// As SVG.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg(&self) -> Result<String, DrawError> {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let drawn = self.draw(&area).and_then(|()| Ok(area.present()?));
        drop(area);
        drawn.map_err(|error| DrawError(self.title.clone(), error.to_string()))?;
        // Scales with the page; a fixed size would not.
        let fixed = format!("<svg width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1);
        let title = escaped(&self.title);
        let scaling = format!("<svg role=\"img\" aria-label=\"{title}\" width=\"100%\"");
        Ok(text.replacen(&fixed, &scaling, 1).replace(INK_TEXT, "currentColor"))
    }

    fn draw(&self, area: &Area) -> Drawn {
        match &self.kind {
            Kind::Bars { groups, series, stacked: false } => self.bars(area, groups, series),
            Kind::Bars { groups, series, stacked: true } => self.stacked(area, groups, series),
            Kind::Steps { places, series } => self.steps(area, places, series),
            Kind::Numbers { x_label, series, points } => {
                self.numbers(area, x_label, series, *points)
            }
        }
    }

    fn bars(&self, area: &Area, groups: &[String], series: &[(String, Vec<Value>)]) -> Drawn {
        let scale =
            Scale::of(series.iter().flat_map(|(_, v)| v.iter().flat_map(|v| [v.least, v.most])));
        let names = |at: f64| named(groups, at);
        self.plane(area, groups.len() as f64, &scale, "", &names, &legend(series), |to_pixel| {
            let count = series.len() as f64;
            let width = (0.8 / count).min(0.4);
            for (nth, (_, values)) in series.iter().enumerate() {
                for (group, value) in values.iter().enumerate().filter(|(_, v)| v.mean.is_finite())
                {
                    // A single bar need not fill its group.
                    let left = group as f64 + 0.5 + width * (nth as f64 - count / 2.0);
                    let bar = [(left, scale.bottom()), (left + width * 0.92, scale.up(value.mean))];
                    let bar = bar.map(|(x, y)| to_pixel(x, y));
                    area.draw(&Rectangle::new(bar, colour(nth).filled()))?;
                    let middle = left + width * 0.46;
                    let range = [value.least, value.most].map(|y| to_pixel(middle, scale.up(y)));
                    area.draw(&PathElement::new(range, INK))?;
                }
            }
            Ok(())
        })
    }

    fn stacked(&self, area: &Area, groups: &[String], series: &[(String, Vec<Value>)]) -> Drawn {
        let total = |group: usize| series.iter().map(|(_, v)| v[group].mean).sum::<f64>();
        let scale = Scale::linear((0..groups.len()).map(total).fold(0.0, f64::max));
        let names = |at: f64| named(groups, at);
        self.plane(area, groups.len() as f64, &scale, "", &names, &legend(series), |to_pixel| {
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

    fn steps(&self, area: &Area, places: &[String], series: &[(String, Vec<Value>)]) -> Drawn {
        let scale =
            Scale::of(series.iter().flat_map(|(_, v)| v.iter().flat_map(|v| [v.least, v.most])));
        let names = |at: f64| named(places, at);
        self.plane(area, places.len() as f64, &scale, "", &names, &legend(series), |to_pixel| {
            for (nth, (_, values)) in series.iter().enumerate() {
                let points = values.iter().enumerate().filter(|(_, v)| v.mean.is_finite());
                let points: Vec<(i32, i32)> =
                    points.map(|(at, v)| to_pixel(at as f64 + 0.5, scale.up(v.mean))).collect();
                area.draw(&PathElement::new(points.clone(), colour(nth).stroke_width(2)))?;
                for &point in &points {
                    area.draw(&Circle::new(point, 3, colour(nth).filled()))?;
                }
                for (at, value) in values.iter().enumerate().filter(|(_, v)| v.mean.is_finite()) {
                    let ends = [value.least, value.most];
                    let range = ends.map(|y| to_pixel(at as f64 + 0.5, scale.up(y)));
                    area.draw(&PathElement::new(range, colour(nth)))?;
                }
            }
            Ok(())
        })
    }

    fn numbers(
        &self,
        area: &Area,
        x_label: &str,
        series: &[(String, Vec<(f64, f64)>)],
        only_points: bool,
    ) -> Drawn {
        let scale = Scale::of(series.iter().flat_map(|(_, points)| points.iter().map(|p| p.1)));
        let xs = series.iter().flat_map(|(_, points)| points.iter().map(|p| p.0));
        let end = xs.fold(0.0, f64::max) * 1.02;
        let axis = Scale { low: 0.0, high: end, logarithmic: false };
        let names = |at: f64| axis.label(at);
        self.plane(area, end, &scale, x_label, &names, &legend(series), |to_pixel| {
            for (nth, (_, points)) in series.iter().enumerate() {
                let pixels: Vec<(i32, i32)> =
                    points.iter().map(|&(x, y)| to_pixel(x, scale.up(y))).collect();
                if only_points {
                    for &pixel in &pixels {
                        area.draw(&Circle::new(pixel, 2, colour(nth).filled()))?;
                    }
                } else {
                    area.draw(&PathElement::new(pixels, colour(nth).stroke_width(2)))?;
                }
            }
            Ok(())
        })
    }

    /// Title, legend, axes and their labels; `inside` draws the rest, given the way from values to
    /// pixels.
    #[allow(clippy::too_many_arguments)]
    fn plane(
        &self,
        area: &Area,
        x_end: f64,
        scale: &Scale,
        x_label: &str,
        x_name: &dyn Fn(f64) -> String,
        legend: &[String],
        inside: impl FnOnce(&dyn Fn(f64, f64) -> (i32, i32)) -> Drawn,
    ) -> Drawn {
        let (width, height) = (SIZE.0 as i32, SIZE.1 as i32);
        let (left, right, top, bottom) = (70, width - 12, 62, height - 48);
        let to_pixel = |x: f64, y: f64| {
            let across = (x / x_end * f64::from(right - left)).round() as i32;
            let share = (y - scale.bottom()) / (scale.top() - scale.bottom());
            (left + across, bottom - (share * f64::from(bottom - top)).round() as i32)
        };
        let style = |size: u32, h, v| {
            TextStyle::from(("sans-serif", size).into_font()).color(&INK).pos(Pos::new(h, v))
        };
        area.draw(&Text::new(self.title.as_str(), (8, 6), style(15, HPos::Left, VPos::Top)))?;
        let mut at = 8;
        for (nth, name) in legend.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            area.draw(&Rectangle::new([(at, 31), (at + 10, 41)], colour(nth).filled()))?;
            let style = style(12, HPos::Left, VPos::Center);
            area.draw(&Text::new(name.as_str(), (at + 15, 36), style))?;
            at += 32 + 7 * name.chars().count() as i32;
        }
        for tick in scale.ticks() {
            let (_, y) = to_pixel(0.0, scale.up(tick));
            area.draw(&PathElement::new([(left, y), (right, y)], INK.mix(0.15)))?;
            area.draw(&Text::new(
                scale.label(tick),
                (left - 6, y),
                style(11, HPos::Right, VPos::Center),
            ))?;
        }
        inside(&to_pixel)?;
        area.draw(&PathElement::new([(left, top), (left, bottom), (right, bottom)], INK))?;
        let whole = x_end.fract() == 0.0 && x_end <= 40.0;
        let places: Vec<f64> = if whole {
            (0..x_end as usize).map(|at| at as f64 + 0.5).collect()
        } else {
            Scale { low: 0.0, high: x_end, logarithmic: false }.ticks()
        };
        for place in places {
            let (x, _) = to_pixel(place, scale.bottom());
            let style = style(11, HPos::Center, VPos::Top);
            area.draw(&Text::new(x_name(place), (x, bottom + 6), style))?;
        }
        let style = style(12, HPos::Center, VPos::Top);
        area.draw(&Text::new(x_label, (i32::midpoint(left, right), bottom + 24), style))?;
        Ok(())
    }
}

fn colour(nth: usize) -> RGBColor {
    COLOURS[nth % COLOURS.len()]
}

fn legend<T>(series: &[(String, T)]) -> Vec<String> {
    series.iter().map(|(name, _)| name.clone()).collect()
}

/// The name of the place at `at`, which lies between whole numbers.
fn named(names: &[String], at: f64) -> String {
    names.get(at as usize).cloned().unwrap_or_default()
}

/// Text for SVG and HTML.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The upward axis, linear from zero or logarithmic.
struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite()) {
            high = high.max(value);
            if value > 0.0 {
                low = low.min(value);
            }
        }
        if high / low < LOGARITHMIC_FROM || !low.is_finite() {
            return Scale::linear(high);
        }
        let whole = |power: f64| 10f64.powf(power);
        Scale { low: whole(low.log10().floor()), high: high * 1.3, logarithmic: true }
    }

    fn linear(high: f64) -> Scale {
        Scale { low: 0.0, high: if high > 0.0 { high * 1.08 } else { 1.0 }, logarithmic: false }
    }

    fn up(&self, value: f64) -> f64 {
        if self.logarithmic { value.max(self.low).log10() } else { value }
    }

    fn bottom(&self) -> f64 {
        self.up(self.low)
    }

    fn top(&self) -> f64 {
        self.up(self.high)
    }

    /// A tick in as few digits as tell it from its neighbours.
    fn label(&self, tick: f64) -> String {
        let step = if self.logarithmic { tick } else { self.step() };
        match step {
            step if step >= 1.0 => crate::numbers::grouped(tick),
            step => format!("{tick:.*}", (-step.log10().floor()).max(0.0) as usize),
        }
    }

    /// 1, 2 or 5 times a power of ten, for about five ticks.
    fn step(&self) -> f64 {
        let rough = self.high / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
        step.unwrap_or(power * 10.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let powers = self.bottom() as i32..=self.top().floor() as i32;
            return powers.map(|power| 10f64.powi(power)).collect();
        }
        let step = self.step();
        (0..=(self.high / step) as usize).map(|at| at as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(mean: f64) -> Value {
        Value { mean, least: mean * 0.9, most: mean * 1.1 }
    }

    #[test]
    fn pictures_are_svg_in_the_ink_of_the_page() {
        let series = vec![
            ("LRU".into(), vec![value(1.0), value(f64::NAN)]),
            ("<SAC>".into(), vec![value(500.0), value(3.0)]),
        ];
        let groups = vec!["a&b".into(), "c".into()];
        let kinds = [
            Kind::Bars { groups: groups.clone(), series: series.clone(), stacked: false },
            Kind::Steps { places: groups, series },
            Kind::Numbers {
                x_label: "s".into(),
                series: vec![("x".into(), vec![(0.0, 1.0), (3.0, 2.0)])],
                points: true,
            },
        ];
        for kind in kinds {
            let picture = Picture { title: "A \"title\"".into(), kind };
            let svg = picture.svg().expect("it can be drawn");
            assert!(svg.contains("currentColor") && !svg.contains(INK_TEXT), "{svg}");
            assert!(svg.contains("aria-label=\"A &quot;title&quot;\""));
            assert!(!svg.contains("NaN") && !svg.contains("<SAC>"), "{svg}");
        }
    }

    #[test]
    fn axes_start_at_zero_or_at_a_power_of_ten() {
        let linear = Scale::of([1.0, 9.3].into_iter());
        assert!(!linear.logarithmic);
        assert_eq!(linear.ticks(), [0.0, 5.0, 10.0]);
        assert_eq!(
            linear.ticks().iter().map(|&tick| linear.label(tick)).collect::<Vec<_>>(),
            ["0", "5", "10"]
        );
        let wide = Scale::of([0.02, 700.0].into_iter());
        assert!(wide.logarithmic);
        assert_eq!(wide.ticks().len(), 5);
        assert_eq!(Scale::of([].into_iter()).high, 1.0);
    }
}
