//! Lines and points.

use plotters::element::{Circle, PathElement};
use plotters::style::Color;

use super::plane::{Across, plane};
use super::scale::Scale;
use super::{Area, Drawn, Value, colour};

type Points = (String, Vec<(f64, f64)>);

pub(super) fn steps(
    area: &Area,
    title: &str,
    places: &[String],
    series: &[(String, Vec<Value>)],
) -> Drawn {
    let ends = series.iter().flat_map(|(_, v)| v.iter().flat_map(|v| [v.least, v.most]));
    let scale = Scale::of(ends);
    plane(area, title, series, &Across::Places(places), &scale, |to_pixel| {
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

pub(super) fn numbers(
    area: &Area,
    title: &str,
    x_label: &str,
    series: &[Points],
    only_points: bool,
) -> Drawn {
    let scale = Scale::of(ys(series));
    let marks = if only_points { Marks::Points } else { Marks::Line };
    over(area, title, &Across::Along(along(series), x_label), &scale, series, marks)
}

/// Draws dots, with the names of both axes.
pub(super) fn dots(
    area: &Area,
    title: &str,
    (x_label, y_label): (&str, &str),
    linear: bool,
    dots: &[(f64, f64)],
) -> Drawn {
    let series = [(String::new(), dots.to_vec())];
    let scale = match linear {
        true => Scale::linear(ys(&series).fold(0.0, f64::max)),
        false => Scale::of(ys(&series)),
    };
    super::plane::upward(area, y_label)?;
    over(area, title, &Across::Along(along(&series), x_label), &scale, &series, Marks::Points)
}

pub(super) fn course(area: &Area, title: &str, x_label: &str, series: &[Points]) -> Drawn {
    let scale = Scale::linear(ys(series).fold(0.0, f64::max));
    over(area, title, &Across::Along(along(series), x_label), &scale, series, Marks::Line)
}

pub(super) fn decades(area: &Area, title: &str, x_label: &str, series: &[Points]) -> Drawn {
    let along = Scale::decades(series.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)));
    let scale = Scale::linear(ys(series).fold(0.0, f64::max));
    over(area, title, &Across::Along(along, x_label), &scale, series, Marks::Both)
}

/// How points are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Points,
    Line,
    Both,
}

fn ys(series: &[Points]) -> impl Iterator<Item = f64> {
    series.iter().flat_map(|(_, points)| points.iter().map(|p| p.1))
}

fn along(series: &[Points]) -> Scale {
    let xs = series.iter().flat_map(|(_, points)| points.iter().map(|p| p.0));
    Scale::to(xs.fold(0.0, f64::max) * 1.02)
}

fn over(
    area: &Area,
    title: &str,
    across: &Across,
    scale: &Scale,
    series: &[Points],
    marks: Marks,
) -> Drawn {
    plane(area, title, series, across, scale, |to_pixel| {
        for (nth, (_, points)) in series.iter().enumerate() {
            let finite = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            let pixels: Vec<(i32, i32)> = finite.map(|&(x, y)| to_pixel(x, scale.up(y))).collect();
            if marks != Marks::Line {
                for &pixel in &pixels {
                    area.draw(&Circle::new(pixel, 2, colour(nth).filled()))?;
                }
            }
            if marks != Marks::Points {
                area.draw(&PathElement::new(pixels, colour(nth).stroke_width(2)))?;
            }
        }
        Ok(())
    })
}
