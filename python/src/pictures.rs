//! The pictures of a page as data, for those who draw them by other means.

use pyo3::prelude::*;
use serde_json::{Value, json};
use shingle_report::chart::{self, Kind};
use shingle_result::Report;

/// All pictures of `report`: `name`, `title`, `kind`, and what is drawn.
pub(crate) fn json(report: &Report) -> String {
    let pictures = shingle::api::pictures(report).into_iter();
    let all: Vec<Value> = pictures
        .map(|(name, picture)| {
            let mut value = drawn(&picture.kind);
            value["name"] = name.into();
            value["title"] = picture.title.into();
            value
        })
        .collect();
    Value::from(all).to_string()
}

fn drawn(kind: &Kind) -> Value {
    match kind {
        Kind::Rows { names, x_label, series } => {
            json!({ "kind": "rows", "names": names, "x_label": x_label, "series": series })
        }
        Kind::Steps { places, series } | Kind::Bars { groups: places, series, .. } => {
            let series: Vec<(&str, Vec<[f64; 3]>)> = series
                .iter()
                .map(|(name, values)| {
                    (name.as_str(), values.iter().map(|v| [v.mean, v.least, v.most]).collect())
                })
                .collect();
            json!({ "kind": "steps", "places": places, "series": series })
        }
        Kind::Course { x_label, series } | Kind::Numbers { x_label, series, .. } => {
            json!({ "kind": "course", "x_label": x_label, "series": series })
        }
        Kind::Decades { x_label, series } => {
            json!({ "kind": "decades", "x_label": x_label, "series": series })
        }
        Kind::Dots { x_label, y_label, dots, .. } => {
            json!({ "kind": "dots", "x_label": x_label, "y_label": y_label, "dots": dots })
        }
        Kind::Heat { x_label, x_end, rows, columns, unit, darkest } => json!({
            "kind": "heat", "x_label": x_label, "x_end": x_end, "rows": rows, "columns": columns,
            "unit": unit, "darkest": darkest,
        }),
    }
}

/// The colours of series, and those of the parts of a bar.
#[pyfunction]
pub(crate) fn colours() -> (Vec<String>, Vec<String>) {
    (chart::colours(), chart::part_colours())
}
