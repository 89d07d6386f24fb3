//! Ablation: what each part of the policy contributes.

use super::page::spread;
use super::{Cell, DISKS, Kind, Own, SYSTEMS, System};

/// The policy without one of its parts, on a disk.
#[derive(Clone, Debug)]
pub struct Without {
    /// [`System::label`].
    pub part: &'static str,
    /// [`super::Disk::name`].
    pub disk: &'static str,
    /// Its time relative to that of the whole policy, for each cell and seed.
    pub times: Vec<f64>,
}

impl Without {
    /// Formats part, disk and figures for a table.
    #[must_use]
    pub fn row(&self) -> [String; 3] {
        [self.part.to_owned(), self.disk.to_owned(), spread(&self.times, 2)]
    }
}

impl Own {
    /// Evaluates all systems that lack a part of the policy.
    #[must_use]
    pub fn without(&self) -> Vec<Without> {
        let parts = SYSTEMS.iter().filter(|system| system.kind == Kind::Part);
        let on_disks =
            |part: &'static System| DISKS.iter().map(move |disk| (part.label, disk.name));
        parts
            .flat_map(on_disks)
            .map(|(part, disk)| {
                let counts = |cell: &&Cell| cell.disk == disk && !cell.too_little;
                let cells = self.cells.iter().filter(counts);
                Without { part, disk, times: cells.flat_map(|cell| cell.times_of(part)).collect() }
            })
            .filter(|without| !without.times.is_empty())
            .collect()
    }
}

impl Cell {
    /// The time of a system relative to the policy, for each seed.
    fn times_of(&self, label: &str) -> Vec<f64> {
        let (Some(own), Some(other)) = (self.system("disk-time"), self.system(label)) else {
            return Vec::new();
        };
        own.seconds.iter().zip(&other.seconds).map(|(own, other)| other / own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::verdict::tests::{cell, measured};
    use crate::own::{Role, SCHEMA};

    #[test]
    fn a_part_is_held_against_the_whole_policy_where_something_happens() {
        let mut with_part = cell(Role::Given, &[100.0, 200.0], &[300.0, 300.0]);
        with_part.systems.push(measured("nothing stays", Kind::Part, &[150.0, 100.0]));
        let idle = Cell { too_little: true, ..with_part.clone() };
        let (cells, left_out) = (vec![with_part, idle], Vec::new());
        let (seeds, goals, sensitivity) = (vec![1, 2], Vec::new(), Vec::new());
        let own = Own { schema: SCHEMA, seeds, requests: 1, cells, left_out, goals, sensitivity };
        let without = own.without();
        assert_eq!(without.len(), 1);
        assert_eq!((without[0].part, without[0].disk), ("nothing stays", "emulator"));
        assert_eq!(without[0].times, [1.5, 0.5]);
    }
}
