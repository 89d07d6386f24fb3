//! The models stay where they were put.

use shingle_drive::measure::{Role, anchors};

/// Rows known to miss their aim, by how they begin. A row that leaves this list is good news.
const MISSES: [&str; 2] = ["4 KB random writes over 2 GB: ", "8 KB random writes over 56 GB"];

#[test]
fn every_anchor_holds_but_those_known_not_to() {
    let rows = anchors(&mut |_| ());
    assert!(rows.iter().any(|row| row.role == Role::Fit));
    for row in rows.iter().filter(|row| row.holds() == Some(false)) {
        let known = MISSES.iter().any(|start| row.quantity.starts_with(start));
        assert!(known, "{} {}: {:.0} %", row.anchor, row.quantity, row.deviation() * 100.0);
    }
}
