//! `shingle trace targets`: compares the workloads of published volumes with what papers print of
//! them.

use clap::Args;
use serde_json::{Value, json};
use shingle_trace::volumes::{
    Compared, LARGE, Measured, Quantity, Tolerance, Trait, VOLUMES, Volume, described,
};

use crate::cli::{Global, whole};
use crate::output::{note, print};
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Targets {
    /// Volumes, such as wdev_0, or long, mix. [default: all]
    volumes: Vec<String>,
    /// Seed of the workloads.
    #[arg(long, value_parser = whole::<u64>, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(args: &Targets, global: &Global) -> anyhow::Result<()> {
    let volumes: Vec<&Volume> = if args.volumes.is_empty() {
        VOLUMES.iter().chain(&*LARGE).collect()
    } else {
        args.volumes.iter().map(|name| described(name)).collect::<Result<_, _>>()?
    };
    let mut text = String::new();
    let mut values = Vec::new();
    let (mut aimed, mut held) = (0, 0);
    for volume in volumes {
        note(&format!("generating: {}", volume.name), global.quiet);
        let Measured { rows, predicted, traits } = volume.compare(args.seed);
        let aims = rows.iter().filter(|row| row.figure.unused.is_none()).map(Compared::holds);
        let aims: Vec<bool> = aims.chain(traits.iter().map(|(of, made)| of.holds(*made))).collect();
        aimed += aims.len();
        held += aims.iter().filter(|holds| **holds).count();
        values.extend(rows.iter().map(|row| value(volume, row)));
        values.extend(predicted.iter().map(|&(quantity, made)| {
            json!({
                "volume": volume.name, "quantity": quantity.about(), "unit": quantity.unit(),
                "published": null, "generated": made, "source": null, "unused": null, "holds": null,
            })
        }));
        values.extend(traits.iter().map(|&(of, made)| {
            json!({
                "volume": volume.name, "quantity": of.about(), "unit": null, "published": null,
                "range": of.range(), "generated": made, "source": RECORDED, "unused": null, "holds": of.holds(made),
            })
        }));
        text += &one_volume(volume, &rows, &predicted, &traits, global);
    }
    if args.json {
        return print(&serde_json::to_string_pretty(&values)?);
    }
    print(&format!("{text}Within tolerance: {held} of {aimed} figures that are aimed at."))
}

/// The source of ranges.
const RECORDED: &str = "recorded traces (docs/workloads.md)";

fn one_volume(
    volume: &Volume,
    rows: &[Compared],
    predicted: &[(Quantity, f64)],
    traits: &[(Trait, f64)],
    global: &Global,
) -> String {
    let predictions = predicted.iter().map(|&(quantity, made)| {
        let [none, source] = ["-", "not published: a prediction (docs/workloads.md)"];
        let made = shown(quantity, made);
        [quantity.about(), none, &made, none, none, source].map(str::to_owned)
    });
    let common = traits.iter().map(|&(of, made)| {
        let (least, most) = of.range();
        let within = if of.holds(made) { "within" } else { "within MISSED" };
        let [range, made] = [format!("{least} to {most}"), format!("{made:.2}")];
        [of.about(), &range, &made, "-", within, RECORDED].map(str::to_owned)
    });
    let cells: Vec<[String; 6]> = rows.iter().map(cells).chain(predictions).chain(common).collect();
    let header = ["", "published", "generated", "deviation", "tolerance", "source"];
    let table = table::rows(header, &cells, global.color);
    let mut text = format!("{}: {}\n{table}\n", volume.workload, volume.about);
    for (row, why) in rows.iter().filter_map(|row| Some((row, row.figure.unused.as_ref()?))) {
        let figure = row.figure;
        let value = shown(figure.quantity, figure.value);
        text += &format!("  not {value} ({}): {why}\n", figure.source);
    }
    text + "\n"
}

fn cells(row: &Compared) -> [String; 6] {
    let figure = row.figure;
    let quantity = figure.quantity;
    let (deviation, tolerance) = match quantity.tolerance() {
        Tolerance::Percent(percent) => {
            (format!("{:+.1} %", 100.0 * (row.made / figure.value - 1.0)), format!("{percent} %"))
        }
        Tolerance::Points(points) => {
            (format!("{:+.1} points", row.made - figure.value), format!("{points} points"))
        }
        Tolerance::Factor(factor) => {
            (format!("× {:.2}", row.made / figure.value), format!("× {factor}"))
        }
    };
    let tolerance = match (&figure.unused, row.holds()) {
        (Some(_), _) => "not used".to_owned(),
        (None, true) => tolerance,
        (None, false) => format!("{tolerance} MISSED"),
    };
    let generated = shown(quantity, row.made);
    let published = shown(quantity, figure.value);
    let source = figure.source.clone();
    [quantity.about().to_owned(), published, generated, deviation, tolerance, source]
}

/// Formats a value with the short form of its unit.
fn shown(quantity: Quantity, value: f64) -> String {
    let unit = quantity.unit();
    match quantity {
        Quantity::Blocks
        | Quantity::Requests
        | Quantity::StartPages
        | Quantity::ReuseMean
        | Quantity::Reuse70
        | Quantity::Reuse80
        | Quantity::Reuse90 => shingle_result::verdict::count(value.round() as u64),
        Quantity::WrittenLarge => format!("{value:.0}"),
        Quantity::WriteSectors => format!("{value:.1} sectors"),
        _ => format!("{value:.2} {}", unit.split(' ').next().unwrap_or(unit)),
    }
}

fn value(volume: &Volume, row: &Compared) -> Value {
    let figure = row.figure;
    json!({
        "volume": volume.name, "quantity": figure.quantity.about(),
        "unit": figure.quantity.unit(), "published": figure.value, "generated": row.made,
        "source": figure.source, "unused": figure.unused, "holds": row.holds(),
    })
}
