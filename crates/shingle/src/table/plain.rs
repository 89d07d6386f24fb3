//! Generic tables.

use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment};

use super::fit::{Figures, table};
use crate::cli::Color;

/// Formats names and their values.
pub(crate) fn pairs(rows: &[(impl ToString, String)], color: Color) -> String {
    let mut table = table(color);
    table.load_style(NOTHING);
    for (name, text) in rows {
        table.add_row(vec![
            Cell::new(name.to_string()).add_attribute(Attribute::Bold),
            Cell::new(text),
        ]);
    }
    table.trim_fmt()
}

/// Formats a plain table.
pub(crate) fn rows<const N: usize>(
    header: [&str; N],
    rows: &[[String; N]],
    color: Color,
) -> String {
    let mut table = table(color);
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}

/// Formats a table of figures with a name for each row.
pub(crate) fn figure_rows<const N: usize>(
    header: [&str; N],
    rows: &[[String; N]],
    color: Color,
) -> String {
    let mut table = Figures::new(color, &[]);
    table.set_header(header);
    for row in rows {
        let cell = |(at, text): (usize, &String)| {
            let side = if at == 0 { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(side)
        };
        table.add_row(row.iter().enumerate().map(cell));
    }
    table.to_string()
}
