//! What `reproduce` says.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Attribute, Cell};
use shingle_papers::result::Reproduction;

use super::fit::table;
use crate::cli::Color;

/// The verdicts of `reproduce`, figure by figure.
pub(crate) fn reproduction(result: &Reproduction, color: Color) -> String {
    let mut text = String::new();
    let (mut statements, mut agree) = (0, 0);
    for figure in &result.figures {
        let mut table = table(color);
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["published", "theirs", "ours", "verdict"]);
        for row in &figure.rows {
            let theirs = row.published.map(shingle_report::numbers::figure).unwrap_or_default();
            let mut verdict = row.verdict.words().to_owned();
            if !row.reason.is_empty() {
                verdict += &format!(": {}", row.reason);
            }
            let attribute = if row.verdict.agrees() { Attribute::Reset } else { Attribute::Bold };
            let cells = [row.says.to_owned(), theirs, row.shown.clone()].map(Cell::new);
            table.add_row(cells.into_iter().chain([Cell::new(verdict).add_attribute(attribute)]));
        }
        statements += figure.rows.len();
        agree += figure.rows.iter().filter(|row| row.verdict.agrees()).count();
        text += &format!("{}: {}\n", shingle_papers::page::label(figure.id), figure.title);
        if !figure.scale.is_empty() {
            text += &format!("scale: {}\n", figure.scale.join("; "));
        }
        text += &format!("{table}\n\n");
    }
    text + &format!("{agree} of {statements} statements agree; seeds {:?}\n", result.seeds)
}
