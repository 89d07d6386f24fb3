//! How `collect_reads_max` and `collect_rotations` of the ST8000AS0002 were fitted: the pair with the
//! least misfit on the 8 GB and 128 GB rows of the raw runs, everything else as published.
//! `cargo run --release -p shingle-drive --example fit_collect`

#![allow(clippy::print_stdout)]

use shingle_drive::anchors::misfit;
use shingle_drive::registry::{Overrides, Settings};

fn main() {
    let mut best = (f64::INFINITY, String::new());
    for hundredths in (20..=48).step_by(2) {
        let rotations = format!("0.{hundredths}");
        for reads in (90..=170).step_by(4) {
            let overrides = Overrides::new()
                .with("collect_rotations", &rotations)
                .with("collect_reads_max", &reads.to_string());
            let misfit = misfit(&Settings { overrides, ..Settings::default() });
            let text = format!("{rotations} rotations, at most {reads} reads");
            if misfit < best.0 {
                best = (misfit, text);
            }
        }
        println!("so far: {}: {:.1} % off", best.1, best.0 * 100.0);
    }
}
