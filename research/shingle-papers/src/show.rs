//! Makes the presentation of a figure from its cells: verdicts, numbers, pictures.

use std::collections::BTreeSet;

use shingle_trace::Mode;

use crate::cells::Cells;
use crate::experiment::{Chart, Figure, Source};
use crate::grid::{Grid, Metric, Point, System};
use crate::result::{FigureResult, Numbers, RowResult};
use crate::scale::{Scale, Scaled};
use crate::verdict::Finding;
use shingle_report::chart::{DrawError, Kind, Picture, Value};

pub(crate) fn judge(
    figure: &Figure,
    seeds: &[Cells],
    scale: Option<Scale>,
) -> Result<FigureResult, DrawError> {
    let rows = figure.rows.iter().map(|row| {
        let Finding { verdict, published, unit, ours, shown } = row.check.judge(seeds);
        let reason = if verdict.agrees() { "" } else { row.reason };
        RowResult { at: row.at, says: row.says, published, unit, ours, shown, verdict, reason }
    });
    let mut scales: Vec<String> = match figure.source {
        Source::Measured(_) => vec!["as described".into()],
        Source::Runs(_) => Vec::new(),
    };
    for grid in figure.grids() {
        let words = Scaled::new(grid, scale).words(grid);
        if !scales.contains(&words) {
            scales.push(words);
        }
    }
    scales.extend(seeds.first().into_iter().flat_map(|cells| cells.notes.iter().cloned()));
    let mut pictures = Vec::new();
    for chart in figure.charts {
        for picture in draw(figure, chart, seeds) {
            pictures.push((picture.title.clone(), picture.svg()?));
        }
    }
    Ok(FigureResult {
        id: figure.id,
        title: figure.title,
        how: figure.how,
        scale: scales,
        rows: rows.collect(),
        numbers: numbers(figure, seeds),
        pictures,
    })
}

/// All metrics in the charts of a figure, for the table of its numbers.
fn metrics(figure: &Figure) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for chart in figure.charts {
        match chart {
            Chart::ByTrace(metrics) | Chart::ByPoint(metrics) | Chart::Stacked(_, metrics) => {
                all.extend_from_slice(metrics);
            }
            Chart::Own(_) => {}
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|metric| seen.insert(metric.name));
    all
}

fn numbers(figure: &Figure, seeds: &[Cells]) -> Vec<Numbers> {
    let mut all = Vec::new();
    for grid in figure.grids() {
        for trace in grid.traces {
            for point in grid.points {
                for system in grid.systems {
                    let value = |metric: Metric, cells: &Cells| {
                        cells.at(metric, trace, system.label, point.label)
                    };
                    let values = metrics(figure).into_iter().map(|metric| {
                        let of_seeds = seeds.iter().map(|cells| value(metric, cells));
                        (metric.name.to_owned(), of_seeds.collect())
                    });
                    all.push(Numbers {
                        trace: (*trace).into(),
                        point: point.label.into(),
                        system: system.label.into(),
                        values: values.collect(),
                    });
                }
            }
        }
    }
    if let Some(first) = seeds.first() {
        let names = first.measured.numbers.keys();
        let values: Vec<(String, Vec<f64>)> = names
            .map(|name| (name.clone(), seeds.iter().map(|cells| cells.number(name)).collect()))
            .collect();
        if !values.is_empty() {
            let none = String::new;
            all.push(Numbers { trace: none(), point: none(), system: none(), values });
        }
    }
    all
}

/// Draws a chart: a picture for each metric, or one for all stacked metrics, for each grid of the
/// figure. Pictures without a value are left out. (Without reads, for example, the time of a read
/// is NaN.)
fn draw(figure: &Figure, chart: &Chart, seeds: &[Cells]) -> Vec<Picture> {
    let (metrics, per_picture) = match chart {
        Chart::ByTrace(metrics) | Chart::ByPoint(metrics) => (metrics, 1),
        Chart::Stacked(_, parts) => (parts, parts.len()),
        Chart::Own(name) => {
            let own = seeds.first().and_then(|cells| cells.measured.pictures.get(name));
            return own.cloned().into_iter().collect();
        }
    };
    let pictures = metrics.chunks(per_picture).flat_map(|metrics| {
        figure.grids().iter().filter_map(|grid| draw_grid(grid, chart, metrics, seeds))
    });
    pictures.filter(has_values).collect()
}

fn has_values(picture: &Picture) -> bool {
    match &picture.kind {
        Kind::Bars { series, .. } | Kind::Steps { series, .. } => {
            series.iter().flat_map(|(_, values)| values).any(|value| value.mean > 0.0)
        }
        _ => true,
    }
}

fn draw_grid(grid: &Grid, chart: &Chart, metrics: &[Metric], seeds: &[Cells]) -> Option<Picture> {
    let value = |metric: Metric, trace: &str, system: &System, point: &Point| {
        let of_seeds = seeds.iter().map(|cells| cells.at(metric, trace, system.label, point.label));
        Value::over(&of_seeds.collect::<Vec<f64>>())
    };
    let names = |labels: Vec<&str>| labels.into_iter().map(String::from).collect::<Vec<_>>();
    let mode = match grid.mode {
        Mode::ReadWrite => "reads and writes",
        Mode::Write => "writes only",
        Mode::Read => "reads only",
    };
    let (first_trace, first_point) = (*grid.traces.first()?, grid.points.first()?);
    let metric = *metrics.first()?;
    match chart {
        Chart::ByTrace(_) => {
            let series = grid.systems.iter().map(|system| {
                let values = grid.traces.iter().map(|t| value(metric, t, system, first_point));
                (system.label.to_owned(), values.collect())
            });
            let groups = names(grid.traces.to_vec());
            Some(Picture {
                title: format!("{}, {mode}", metric.name),
                kind: Kind::Bars { groups, series: series.collect(), stacked: false },
            })
        }
        Chart::ByPoint(_) => {
            if grid.points.len() < 2 {
                return None;
            }
            let series = grid.systems.iter().map(|system| {
                let values = grid.points.iter().map(|p| value(metric, first_trace, system, p));
                (system.label.to_owned(), values.collect())
            });
            let places = names(grid.points.iter().map(|point| point.label).collect());
            Some(Picture {
                title: format!("{}, {first_trace}, {mode}", metric.name),
                kind: Kind::Steps { places, series: series.collect() },
            })
        }
        Chart::Stacked(title, _) => {
            let groups = names(grid.systems.iter().map(|system| system.label).collect());
            let series = metrics.iter().map(|metric| {
                let values =
                    grid.systems.iter().map(|s| value(*metric, first_trace, s, first_point));
                (metric.name.to_owned(), values.collect())
            });
            Some(Picture {
                title: format!("{title}, {first_trace}, {mode}"),
                kind: Kind::Bars { groups, series: series.collect(), stacked: true },
            })
        }
        Chart::Own(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_without_a_value_is_left_out() {
        let bars = |values: &[f64]| Picture {
            title: String::new(),
            kind: Kind::Bars {
                groups: vec![String::new(); values.len()],
                series: vec![("one".into(), values.iter().map(|&v| Value::one(v)).collect())],
                stacked: false,
            },
        };
        assert!(!has_values(&bars(&[f64::NAN, 0.0])));
        assert!(has_values(&bars(&[f64::NAN, 0.5])));
    }
}
