//! Text and tables that fit the terminal. A wider table leaves out columns, the least informative
//! first, and a line below names them.

use std::fmt;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, ContentArrangement, Table};

use crate::cli::Color;

/// Characters per line where stdout is no terminal: documents quote such output.
pub(crate) const PIPED_WIDTH: usize = 100;

/// Narrower widths are ignored.
const LEAST_WIDTH: usize = 40;

/// Characters that a column takes besides its widest cell, and the table besides its columns.
const AROUND_CELL: usize = 3;
const AROUND_TABLE: usize = 1;

/// Returns the characters per line: of the terminal, or else of `COLUMNS`, or a fixed number.
pub(crate) fn width() -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = Table::new().width().map(usize::from).or_else(columns);
    width.filter(|&width| width >= LEAST_WIDTH).unwrap_or(PIPED_WIDTH)
}

/// Creates a table as wide as a line, in colour or not.
pub(super) fn table(color: Color) -> Table {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width()).unwrap_or(u16::MAX));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match color {
        Color::Always => {
            table.enforce_styling();
        }
        Color::Auto if !plain => {}
        Color::Auto | Color::Never => {
            table.force_no_tty();
        }
    }
    table
}

/// Wraps the lines of `text` between words where they are too wide, and never between a number and its unit.
pub(crate) fn wrapped(text: &str) -> String {
    wrapped_to(text, width())
}

/// [`wrapped`] for lines of `width` characters.
pub(crate) fn wrapped_to(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        // Continuation lines keep the indentation.
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        let mut begun = String::new();
        for word in unbroken(line) {
            let fits = begun.chars().count() + 1 + word.chars().count() <= width;
            if !begun.is_empty() && fits {
                begun.push(' ');
            } else {
                if !begun.is_empty() {
                    lines.push(std::mem::take(&mut begun));
                }
                begun.push_str(indent);
            }
            begun.push_str(&word);
        }
        lines.push(begun);
    }
    lines.join("\n")
}

/// Units that stand behind a number and a space, and those that another number follows, as in `3 h 26 min`.
const UNITS: &[&str] = &[
    "%", "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "ns", "us", "µs", "ms", "s",
    "min", "h", "times",
];
const COMPOUND: &[&str] = &["min", "h"];

/// Splits a line into words, each number with its unit as one word.
fn unbroken(line: &str) -> Vec<String> {
    let is_number =
        |word: &str| word.trim_start_matches(['(', '±']).starts_with(|c: char| c.is_ascii_digit());
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let last = words.last().and_then(|words| words.rsplit(' ').next()).unwrap_or_default();
        let joins = is_number(last) && UNITS.contains(&bare(word))
            || is_number(word) && COMPOUND.contains(&last);
        match words.last_mut() {
            Some(words) if joins => *words += &format!(" {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Removes punctuation behind a word.
fn bare(word: &str) -> &str {
    word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%')
}

/// A table of figures. Cells are never wrapped: a number broken in two would read as two numbers.
pub(super) struct Figures {
    color: Color,
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
    dispensable: &'static [&'static str],
}

impl Figures {
    /// Creates a table that leaves out columns of these names, in this order, where it is too wide.
    pub(super) fn new(color: Color, dispensable: &'static [&'static str]) -> Figures {
        Figures { color, header: Vec::new(), rows: Vec::new(), dispensable }
    }

    pub(super) fn set_header<T: Into<String>>(&mut self, names: impl IntoIterator<Item = T>) {
        self.header = names.into_iter().map(Into::into).collect();
    }

    pub(super) fn add_row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns for each column whether it is shown in `room` characters.
    fn shown(&self, room: usize) -> Vec<bool> {
        let widths: Vec<usize> = self
            .header
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                let widest = cells.map(|cell| cell.content().chars().count()).max().unwrap_or(0);
                widest.max(name.chars().count()) + AROUND_CELL
            })
            .collect();
        let mut shown = vec![true; widths.len()];
        let mut wide = AROUND_TABLE + widths.iter().sum::<usize>();
        let at = |name: &&str| self.header.iter().position(|column| column == name);
        let dispensable: Vec<usize> = self.dispensable.iter().filter_map(at).collect();
        for &column in &dispensable {
            if wide > room {
                shown[column] = false;
                wide -= widths[column];
            }
        }
        // A narrow column may fit after a wide one was left out.
        for &column in dispensable.iter().rev() {
            if !shown[column] && wide + widths[column] <= room {
                shown[column] = true;
                wide += widths[column];
            }
        }
        shown
    }

    fn within(&self, room: usize) -> String {
        let shown = self.shown(room);
        let mut table = table(self.color);
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.load_style(UTF8_FULL_CONDENSED);
        let kept = |at: &usize| shown.get(*at).copied().unwrap_or(true);
        let header = self.header.iter().enumerate().filter(|(at, _)| kept(at));
        table.set_header(header.map(|(_, name)| name));
        for row in &self.rows {
            let cells = row.iter().enumerate().filter(|(at, _)| kept(at));
            table.add_row(cells.map(|(_, cell)| cell.clone()));
        }
        let mut text = table.to_string();
        let left_out = self.header.iter().zip(&shown).filter(|(_, shown)| !**shown);
        let left_out: Vec<&str> = left_out.map(|(name, _)| name.as_str()).collect();
        if !left_out.is_empty() {
            let told = format!(
                "Not shown for want of room: {}. A wider terminal shows them, and --json has them.",
                left_out.join(", ")
            );
            text = format!("{text}\n{}", wrapped_to(&told, room));
        }
        text
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.within(width()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_keep_their_indent() {
        assert_eq!(wrapped_to("one two three", 7), "one two\nthree");
        assert_eq!(wrapped_to("one two three", 13), "one two three");
        assert_eq!(wrapped_to("  one two", 7), "  one\n  two");
        assert_eq!(wrapped_to("a\n\nunbreakable b\n", 5), "a\n\nunbreakable\nb\n");
        assert_eq!(wrapped_to("äöü äöü", 7), "äöü äöü", "characters count, not bytes");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        for (text, width, lines) in [
            ("zones of 3.7 GiB, seed 1", 14, "zones of\n3.7 GiB, seed\n1"),
            ("it takes 3 h 26 min, or 5 s.", 14, "it takes\n3 h 26 min, or\n5 s."),
            ("a share (69.4 %) of it", 12, "a share\n(69.4 %) of\nit"),
            ("policy 2 serves", 8, "policy 2\nserves"),
            ("a 12345 MiB", 5, "a\n12345 MiB"),
        ] {
            assert_eq!(wrapped_to(text, width), lines);
        }
    }

    #[test]
    fn the_least_telling_columns_go_first_and_are_named() {
        let mut table = Figures::new(Color::Never, &["reads", "writes", "absent"]);
        table.set_header(["policy", "reads", "writes", "time"]);
        table.add_row(["lru", "123,456", "7", "1.0 s"]);
        let wide = table.within(200);
        assert!(wide.contains("123,456") && !wide.contains("Not shown"), "{wide}");
        // Exactly as wide as the table is enough.
        let needed = wide.lines().next().expect("a line").chars().count();
        assert_eq!(table.within(needed), wide);
        let narrow = table.within(needed - 1);
        assert!(!narrow.contains("123,456") && narrow.contains("writes"), "{narrow}");
        assert!(narrow.replace('\n', " ").contains("room: reads. A wider"), "{narrow}");
        // What is left of the room goes to what fits into it.
        let mut other = Figures::new(Color::Never, &["a", "wide column"]);
        other.set_header(["policy", "a", "wide column"]);
        let given_back = other.within(14);
        assert!(given_back.contains("┆ a") && !given_back.contains("column │"), "{given_back}");
        // What nothing may leave out stays, however narrow it is.
        let least = table.within(10);
        assert!(least.contains("lru") && least.contains("1.0 s"), "{least}");
        assert!(least.replace('\n', " ").contains("reads, writes."), "{least}");
    }
}
