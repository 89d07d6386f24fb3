//! Sensitivity: the advantage of the policy if one condition differs from the study, such as the
//! buffer, the cache, the size of zones, costs, or batches. One condition at a time, over all
//! workloads and modes of the order.

use serde::Serialize;

use super::Disk;
use super::page::spread;

/// A condition that differs from the study.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// What differs: `buffer`.
    pub of: &'static str,
    /// How, in words: `x 1/2`.
    pub is: &'static str,
    /// Size of the buffer, in quarters of the study's.
    pub(super) buffer_quarters: u64,
    /// Size of the cache, in place of the study's.
    pub(super) cache: Option<&'static str>,
    /// Size of zones, if they are not the bands.
    pub(super) zone: Option<&'static str>,
    /// A cost and its factor. The name is that of the sheet without its `cost_` or `measured_`.
    pub(super) cost: Option<(&'static str, f64)>,
    /// The batch of all policies, in place of the better of two.
    pub(super) batch: Option<&'static str>,
}

/// The condition of the study itself.
pub(super) const AS_IT_IS: Condition = Condition {
    of: "as it is",
    is: "",
    buffer_quarters: 4,
    cache: None,
    zone: None,
    cost: None,
    batch: None,
};

const fn buffer(is: &'static str, buffer_quarters: u64) -> Condition {
    Condition { of: "buffer", is, buffer_quarters, ..AS_IT_IS }
}

const fn cache(cache: &'static str) -> Condition {
    Condition { of: "cache", is: cache, cache: Some(cache), ..AS_IT_IS }
}

const fn zones(is: &'static str, zone: &'static str) -> Condition {
    Condition { of: "zones", is, zone: Some(zone), ..AS_IT_IS }
}

const fn cost(of: &'static str, is: &'static str, name: &'static str, times: f64) -> Condition {
    Condition { of, is, cost: Some((name, times)), ..AS_IT_IS }
}

const fn batch(batch: &'static str) -> Condition {
    Condition { of: "batch", is: batch, batch: Some(batch), ..AS_IT_IS }
}

/// All conditions, that of the study first.
pub const CONDITIONS: &[Condition] = &[
    AS_IT_IS,
    buffer("x 1/4", 1),
    buffer("x 1/2", 2),
    buffer("x 2", 8),
    buffer("x 4", 16),
    cache("0.5%"),
    cache("2%"),
    cache("10%"),
    cache("20%"),
    zones("of 1,250 blocks", "1250b"),
    zones("of 2,500 blocks", "2500b"),
    zones("of 10,000 blocks", "10000b"),
    zones("of 20,000 blocks", "20000b"),
    cost("a read's cost", "x 1/2", "read_us", 0.5),
    cost("a read's cost", "x 2", "read_us", 2.0),
    cost("a rewrite's cost", "x 1/2", "rmw_base_us", 0.5),
    cost("a rewrite's cost", "x 2", "rmw_base_us", 2.0),
    batch("1"),
    batch("16"),
    batch("256"),
];

impl Condition {
    /// Whether the condition applies to a disk: zones that are the bands have a fixed size, over a log
    /// there are other zones and costs, and a host-managed disk has no buffer.
    #[must_use]
    pub fn fits(&self, disk: &Disk) -> bool {
        let buffer = self.buffer_quarters != AS_IT_IS.buffer_quarters;
        (self.zone.is_none() || !disk.bands && !disk.log)
            && (self.cost.is_none() || !disk.log)
            && !(buffer && disk.host_managed)
    }

    /// Converts the cost to a setting of a disk. On disks timed by mechanics, costs only guide
    /// hosts. On others they also determine the time of I/O.
    pub(super) fn cost_of(&self, disk: &Disk) -> Option<(String, String)> {
        let (name, times) = self.cost?;
        let parameters = shingle_drive::entry(disk.drive).expect("of the study").parameters();
        let kinds = ["measured", "cost"].map(|kind| format!("{kind}_{name}"));
        kinds.into_iter().find_map(|name| {
            let parameter = parameters.iter().find(|one| one.name == name)?;
            let value: f64 = parameter.value.to_string().parse().ok()?;
            Some((format!("drive.{name}"), format!("{:.0}", value * times)))
        })
    }
}

/// The results of a condition on a disk, over all workloads, modes, caches and seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Varied {
    /// [`Condition::of`].
    pub of: &'static str,
    /// [`Condition::is`].
    pub is: &'static str,
    /// [`Disk::name`].
    pub disk: &'static str,
    /// The time of the best published policy ÷ that of the policy, for each place where more than
    /// next to nothing happens.
    pub ahead: Vec<f64>,
}

impl Varied {
    /// Formats condition, disk and figures for a table.
    #[must_use]
    pub fn row(&self) -> [String; 3] {
        [format!("{} {}", self.of, self.is), self.disk.to_owned(), spread(&self.ahead, 2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::DISKS;

    fn disk(name: &str) -> &'static Disk {
        DISKS.iter().find(|disk| disk.name == name).expect("a disk")
    }

    #[test]
    fn a_cost_is_that_of_the_disks_sheet_times_so_much() {
        let doubled = cost("a read's cost", "x 2", "read_us", 2.0);
        let of = |name| doubled.cost_of(disk(name)).expect("a setting");
        // Measured: 16,036 us. The emulator has 14,000 us, and nothing measured.
        assert_eq!(of("plain"), ("drive.measured_read_us".into(), "32072".into()));
        assert_eq!(of("emulator"), ("drive.cost_read_us".into(), "28000".into()));
        assert_eq!(AS_IT_IS.cost_of(disk("plain")), None);
    }

    #[test]
    fn zones_have_another_size_only_where_they_are_not_the_bands() {
        let fits = |name: &str| CONDITIONS.iter().filter(|one| one.fits(disk(name))).count();
        assert_eq!(fits("streams"), CONDITIONS.len() - 4);
        assert_eq!(fits("plain"), CONDITIONS.len());
        assert_eq!(fits("log"), CONDITIONS.len() - 8);
        assert_eq!(fits("host-managed"), CONDITIONS.len() - 12);
    }

    /// Otherwise the condition would set another parameter, or none.
    #[test]
    fn every_cost_is_one_of_every_disk() {
        for condition in CONDITIONS.iter().filter(|condition| condition.cost.is_some()) {
            for disk in DISKS.iter().filter(|disk| condition.fits(disk)) {
                assert!(condition.cost_of(disk).is_some(), "{} of {}", condition.of, disk.name);
            }
        }
    }
}
