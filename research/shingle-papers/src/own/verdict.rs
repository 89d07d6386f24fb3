//! The goals of the policy, evaluated over the workloads that were named before they were run.

use serde::Serialize;

use super::{Cell, Kind, Measured, Role};

/// A goal and its evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// Description.
    pub aim: &'static str,
    /// Number of cells that count.
    pub cells: usize,
    /// Number of cells that reach the goal with every seed.
    pub reached: usize,
    /// The part of the cells that must reach it.
    pub wanted: f64,
    /// Whether that part does; false if no cell counts.
    pub met: bool,
}

/// A goal: disk, mode, the systems to compare with, the figure, the factor, and the part of the
/// cells.
struct Aim {
    says: &'static str,
    disk: Option<&'static str>,
    mode: Option<&'static str>,
    against: Kind,
    figure: fn(&Measured) -> &[f64],
    times: f64,
    on: f64,
}

const TWO_THIRDS: f64 = 2.0 / 3.0;
const RW: Option<&str> = Some("rw");
const W: Option<&str> = Some("w");
/// The tolerance for response times, which are known to two digits.
const SAME: f64 = 0.99;

/// The default goal: with every seed at most the time of the best published policy.
const AIM: Aim = Aim {
    says: "",
    disk: None,
    mode: None,
    against: Kind::Published,
    figure: |measured| &measured.seconds,
    times: 1.0,
    on: 1.0,
};

/// Makes goals of a description and the fields that differ from [`AIM`].
macro_rules! aims {
    ($($says:literal: $($field:ident: $value:expr),*;)*) => {
        &[$(Aim { says: $says, $($field: $value,)* ..AIM }),*]
    };
}

const AIMS: &[Aim] = aims! {
    "streams, reads and writes: 1.15 times less time than the best published of each on two thirds":
        disk: Some("streams"), mode: RW, times: 1.15, on: TWO_THIRDS;
    "streams, reads and writes: 1.4 times less on a third":
        disk: Some("streams"), mode: RW, times: 1.4, on: 1.0 / 3.0;
    "streams, reads and writes: never more than 1.05 times above":
        disk: Some("streams"), mode: RW, times: 1.0 / 1.05;
    "streams, writes only: 1.5 times less on two thirds":
        disk: Some("streams"), mode: W, times: 1.5, on: TWO_THIRDS;
    "plain: 1.1 times less on half": disk: Some("plain"), times: 1.1, on: 0.5;
    "emulator: never worse": disk: Some("emulator");
    "emulator: 1.05 times less on half": disk: Some("emulator"), times: 1.05, on: 0.5;
    "host-aware, reads and writes: 1.15 times less on two thirds":
        disk: Some("host-aware"), mode: RW, times: 1.15, on: TWO_THIRDS;
    "host-aware, writes only: 1.5 times less on two thirds":
        disk: Some("host-aware"), mode: W, times: 1.5, on: TWO_THIRDS;
    "host-aware: never more than 1.05 times above": disk: Some("host-aware"), times: 1.0 / 1.05;
    "streams: ahead of the published ones with whole bands on two thirds":
        disk: Some("streams"), against: Kind::Widened, on: TWO_THIRDS;
    "host-aware: ahead of the published ones with whole bands on two thirds":
        disk: Some("host-aware"), against: Kind::Widened, on: TWO_THIRDS;
    "log, reads and writes: 1.15 times less on two thirds":
        disk: Some("log"), mode: RW, times: 1.15, on: TWO_THIRDS;
    "log, reads and writes: 1.4 times less on a third":
        disk: Some("log"), mode: RW, times: 1.4, on: 1.0 / 3.0;
    "log: never more than 1.05 times above": disk: Some("log"), times: 1.0 / 1.05;
    "log, writes only: 1.5 times less on two thirds":
        disk: Some("log"), mode: W, times: 1.5, on: TWO_THIRDS;
    "log: ahead of the published ones over a log, too, on two thirds":
        disk: Some("log"), against: Kind::Widened, on: TWO_THIRDS;
    "host-aware-log, reads and writes: 1.15 times less on two thirds":
        disk: Some("host-aware-log"), mode: RW, times: 1.15, on: TWO_THIRDS;
    "host-aware-log, writes only: 1.5 times less on two thirds":
        disk: Some("host-aware-log"), mode: W, times: 1.5, on: TWO_THIRDS;
    "host-aware-log: never more than 1.05 times above":
        disk: Some("host-aware-log"), times: 1.0 / 1.05;
    "host-managed: fewer bytes written on the disk than with the best published, on two thirds":
        disk: Some("host-managed"), figure: |measured| &measured.bytes_per_byte, on: TWO_THIRDS;
    "host-managed: p99.9 no worse than that of the best published, on two thirds":
        disk: Some("host-managed"), figure: |measured| &measured.p999_us, times: SAME, on: TWO_THIRDS;
    "host-managed: less time than the best published, on two thirds":
        disk: Some("host-managed"), on: TWO_THIRDS;
    "reads and writes: p99 of reads no worse than that of the best published of each":
        mode: RW, figure: |measured| &measured.p99_us, times: SAME;
    "reads and writes: p99.9 of reads no worse than that of the best published of each":
        mode: RW, figure: |measured| &measured.p999_us, times: SAME;
};

/// Evaluates all goals. Cells that were tuned on do not count, nor cells where next to nothing
/// happens.
#[must_use]
pub fn goals(cells: &[Cell]) -> Vec<Goal> {
    AIMS.iter().map(|aim| goal(aim, cells)).collect()
}

fn goal(aim: &Aim, cells: &[Cell]) -> Goal {
    let counts = |cell: &&Cell| {
        aim.disk.is_none_or(|disk| disk == cell.disk)
            && aim.mode.is_none_or(|mode| mode == cell.mode)
            && cell.role != Role::Tuned
            && !cell.too_little
    };
    let counted: Vec<&Cell> = cells.iter().filter(counts).collect();
    let reached = |cell: &&&Cell| {
        cell.less_than(aim.against, aim.figure).iter().all(|&times| times >= aim.times)
    };
    let (cells, reached) = (counted.len(), counted.iter().filter(reached).count());
    let met = cells > 0 && reached as f64 >= aim.on * cells as f64 - 1e-9;
    Goal { aim: aim.says, cells, reached, wanted: aim.on, met }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::own::Measured;
    use shingle_result::ByCause;

    pub(in crate::own) fn measured(system: &'static str, kind: Kind, seconds: &[f64]) -> Measured {
        Measured {
            system,
            kind,
            batch: "1",
            seconds: seconds.to_vec(),
            by_cause: vec![ByCause::default(); seconds.len()],
            disk_rewrites: vec![0; seconds.len()],
            host_rewrites: vec![0; seconds.len()],
            bytes_per_byte: vec![0.0; seconds.len()],
            p99_us: vec![0.0; seconds.len()],
            p999_us: vec![0.0; seconds.len()],
        }
    }

    /// Makes a cell on the emulator.
    pub(in crate::own) fn cell(role: Role, own: &[f64], published: &[f64]) -> Cell {
        Cell {
            workload: "synth:zipf".into(),
            role,
            disk: "emulator",
            mode: "rw",
            cache: "1%",
            cache_blocks: 1,
            buffer_blocks: 1,
            too_little: false,
            least_seconds: vec![1.0; own.len()],
            systems: vec![
                measured("disk-time", Kind::Own, own),
                measured("most", Kind::Published, published),
                measured("sac", Kind::Published, &vec![1e9; own.len()]),
            ],
        }
    }

    /// The worst seed decides, and cells that were tuned on do not count.
    #[test]
    fn an_aim_is_reached_with_every_seed_or_not_at_all() {
        let cells = [
            cell(Role::Named, &[100.0, 100.0], &[120.0, 106.0]),
            cell(Role::Given, &[100.0, 100.0], &[120.0, 99.0]),
            cell(Role::Tuned, &[100.0, 100.0], &[1.0, 1.0]),
        ];
        let goals = goals(&cells);
        let of = |words: &str| goals.iter().find(|goal| goal.aim.contains(words)).expect("an aim");
        let never = of("emulator: never worse");
        assert_eq!((never.cells, never.reached, never.met), (2, 1, false));
        let half = of("emulator: 1.05");
        assert_eq!((half.cells, half.reached, half.met), (2, 1, true));
        assert!(!of("plain").met, "no cell counts");
    }
}
