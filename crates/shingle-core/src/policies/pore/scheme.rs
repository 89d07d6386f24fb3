//! The schemes of PORE: which zones open first (§IV-C.3).

use core::cmp::Ordering;

use crate::policies::pore::region::Record;

/// Ranks zones: which open first (§IV-C.3).
pub trait Scheme: Clone + Send + 'static {
    /// Name of the policy.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;

    /// Compares two zones: the one that opens first is less.
    fn compare(a: &Record, b: &Record) -> Ordering;
    /// Returns the rank as the prototype computes it; the lowest opens first.
    fn thousandths(record: &Record) -> u64;
}

/// CF: the highest coverage rate, dirty blocks ÷ size of the zone.
#[derive(Clone, Debug)]
pub struct CoverageFirst;

impl Scheme for CoverageFirst {
    const NAME: &'static str = "pore-cf";
    const ABOUT: &'static str = "dirty blocks leave from the fullest zones only (PORE §IV, CF)";

    fn compare(a: &Record, b: &Record) -> Ordering {
        (b.blocks * a.size).cmp(&(a.blocks * b.size))
    }

    fn thousandths(record: &Record) -> u64 {
        u64::MAX - record.blocks
    }
}

/// PF: the fewest accesses for each block.
#[derive(Clone, Debug)]
pub struct PopularityFirst;

impl Scheme for PopularityFirst {
    const NAME: &'static str = "pore-pf";
    const ABOUT: &'static str = "dirty blocks leave from the coldest zones only (PORE §IV, PF)";

    fn compare(a: &Record, b: &Record) -> Ordering {
        (a.uses * b.blocks).cmp(&(b.uses * a.blocks))
    }

    fn thousandths(record: &Record) -> u64 {
        record.uses * 1000 / record.blocks
    }
}

/// BL: the fewest accesses for each block, divided by the coverage rate.
#[derive(Clone, Debug)]
pub struct Balanced;

impl Scheme for Balanced {
    const NAME: &'static str = "pore";
    const ABOUT: &'static str =
        "dirty blocks leave from cold and full zones only, over any order (PORE §IV, BL)";

    fn compare(a: &Record, b: &Record) -> Ordering {
        // uses / blocks / (blocks / size), multiplied out
        let product = |a: &Record, b: &Record| {
            u128::from(a.uses * a.size).saturating_mul(u128::from(b.blocks * b.blocks))
        };
        product(a, b).cmp(&product(b, a))
    }

    fn thousandths(record: &Record) -> u64 {
        record.uses * 1000 / record.blocks * 1000 / record.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The four quadrants of Figure 10, with zones of 8 blocks: Z1 is hot and half covered, Z2 hot
    /// and full, Z3 cold and half covered, Z4 cold and full.
    #[test]
    fn schemes_rank_the_quadrants_as_figure_10_does() {
        let record = |uses, blocks| Record { uses, blocks, size: 8 };
        let [z1, z2, z3, z4] = [record(40, 4), record(80, 8), record(4, 4), record(8, 8)];
        // CF: coverage 1/2, 1, 1/2, 1.
        assert_eq!(CoverageFirst::compare(&z2, &z1), Ordering::Less);
        assert_eq!(CoverageFirst::compare(&z2, &z4), Ordering::Equal);
        assert_eq!(CoverageFirst::compare(&z4, &z3), Ordering::Less);
        // PF: accesses a block 10, 10, 1, 1.
        assert_eq!(PopularityFirst::compare(&z3, &z4), Ordering::Equal);
        assert_eq!(PopularityFirst::compare(&z4, &z1), Ordering::Less);
        assert_eq!(PopularityFirst::compare(&z1, &z2), Ordering::Equal);
        // BL: 10 ÷ 1/2 = 20, 10, 1 ÷ 1/2 = 2, 1: "Z4 usually has the highest priority, Z1 the
        // lowest".
        let mut zones = [z1, z2, z3, z4];
        zones.sort_by(Balanced::compare);
        assert_eq!(zones, [z4, z3, z2, z1]);
        // The prototype: 40 · 1000 / 4 · 1000 / 4 and so on.
        let ranks = zones.map(|zone| Balanced::thousandths(&zone));
        assert_eq!(ranks, [125_000, 250_000, 1_250_000, 2_500_000]);
        assert_eq!(PopularityFirst::thousandths(&record(10, 3)), 3333);
        assert!(CoverageFirst::thousandths(&z2) < CoverageFirst::thousandths(&z1));
    }
}
