//! Lines and points.

use plotters::element::{Circle, PathElement};
use plotters::style::Color;

use super::plane::{XAxis, axes};
use super::scale::Scale;
use super::{Area, DrawResult, Value, colour};

type Points = (String, Vec<(f64, f64)>);

pub(super) fn steps(
    area: &Area,
    title: &str,
    places: &[String],
    series: &[(String, Vec<Value>)],
) -> DrawResult {
    let ends = series.iter().flat_map(|(_, v)| v.iter().flat_map(|v| [v.least, v.most]));
    let scale = Scale::of(ends);
    axes(area, title, series, &XAxis::Names(places), &scale, |to_pixel| {
        for (nth, (_, values)) in series.iter().enumerate() {
            let points = values.iter().enumerate().filter(|(_, v)| v.mean.is_finite());
            let points: Vec<(i32, i32)> =
                points.map(|(at, v)| to_pixel(at as f64 + 0.5, scale.position(v.mean))).collect();
            area.draw(&PathElement::new(points.clone(), colour(nth).stroke_width(2)))?;
            for &point in &points {
                area.draw(&Circle::new(point, 3, colour(nth).filled()))?;
            }
            for (at, value) in values.iter().enumerate().filter(|(_, v)| v.mean.is_finite()) {
                let ends = [value.least, value.most];
                let range = ends.map(|y| to_pixel(at as f64 + 0.5, scale.position(y)));
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
) -> DrawResult {
    let scale = Scale::of(y_values(series));
    let marks = if only_points { Marks::Points } else { Marks::Line };
    draw_series(area, title, &XAxis::Numbers(x_scale(series), x_label), &scale, series, marks)
}

/// Draws dots, with the names of both axes.
pub(super) fn dots(
    area: &Area,
    title: &str,
    (x_label, y_label): (&str, &str),
    linear: bool,
    dots: &[(f64, f64)],
) -> DrawResult {
    let series = [(String::new(), dots.to_vec())];
    let scale = match linear {
        true => Scale::linear(y_values(&series).fold(0.0, f64::max)),
        false => Scale::of(y_values(&series)),
    };
    super::plane::y_axis_label(area, y_label)?;
    draw_series(
        area,
        title,
        &XAxis::Numbers(x_scale(&series), x_label),
        &scale,
        &series,
        Marks::Points,
    )
}

pub(super) fn course(area: &Area, title: &str, x_label: &str, series: &[Points]) -> DrawResult {
    let scale = Scale::linear(y_values(series).fold(0.0, f64::max));
    draw_series(area, title, &XAxis::Numbers(x_scale(series), x_label), &scale, series, Marks::Line)
}

pub(super) fn decades(area: &Area, title: &str, x_label: &str, series: &[Points]) -> DrawResult {
    let x_scale = Scale::decades(series.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)));
    let scale = Scale::linear(y_values(series).fold(0.0, f64::max));
    draw_series(area, title, &XAxis::Numbers(x_scale, x_label), &scale, series, Marks::Both)
}

/// How points are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Points,
    Line,
    Both,
}

fn y_values(series: &[Points]) -> impl Iterator<Item = f64> {
    series.iter().flat_map(|(_, points)| points.iter().map(|p| p.1))
}

fn x_scale(series: &[Points]) -> Scale {
    let xs = series.iter().flat_map(|(_, points)| points.iter().map(|p| p.0));
    Scale::to(xs.fold(0.0, f64::max) * 1.02)
}

fn draw_series(
    area: &Area,
    title: &str,
    x_axis: &XAxis,
    scale: &Scale,
    series: &[Points],
    marks: Marks,
) -> DrawResult {
    axes(area, title, series, x_axis, scale, |to_pixel| {
        for (nth, (_, points)) in series.iter().enumerate() {
            let finite = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            let pixels: Vec<(i32, i32)> =
                finite.map(|&(x, y)| to_pixel(x, scale.position(y))).collect();
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
