//! Prints published measurements beside the models: `cargo run --release -p shingle-drive --example anchors`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use shingle_drive::anchors::anchors;

fn main() {
    let rows = anchors(&mut |next| eprintln!("{next} …"));
    for row in rows {
        let held = row.holds().map_or("", |held| if held { "ok" } else { "MISS" });
        println!(
            "{:13} {:12} {:52} {:>9.2} {:>9.2} {:6} {:>+5.0} % {:12} {held:4} {}",
            row.anchor,
            row.drive,
            row.quantity,
            row.measured,
            row.model,
            row.unit,
            row.deviation() * 100.0,
            row.role,
            row.note,
        );
    }
}
