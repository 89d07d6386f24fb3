//! Histograms with bins of powers of two.

/// Counts of values by bin: 0, 1, 2 to 3, 4 to 7 and so on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// Counts of 0 and of the values by their number of bits.
    bins: [u64; 65],
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { bins: [0; 65] }
    }
}

/// A bin of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bin {
    /// Its least value.
    pub from: u64,
    /// Its greatest value.
    pub to: u64,
    /// Number of values in it.
    pub count: u64,
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.bins[(u64::BITS - value.leading_zeros()) as usize] += 1;
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Returns the bins from the first non-empty one to the last; those between may be empty.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        let held = |count: &u64| *count > 0;
        let first = self.bins.iter().position(held).unwrap_or(0);
        let end = self.bins.iter().rposition(held).map_or(0, |last| last + 1);
        (first..end).map(|bits| Bin {
            from: if bits == 0 { 0 } else { 1 << (bits - 1) },
            to: if bits == 0 { 0 } else { u64::MAX >> (64 - bits) },
            count: self.bins[bits],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_by_hand() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.bins().count(), 0);
        for value in [3, 2, 8, u64::MAX] {
            histogram.add(value);
        }
        let bins: Vec<_> = histogram.bins().collect();
        assert_eq!(bins[0], Bin { from: 2, to: 3, count: 2 });
        assert_eq!(bins[1], Bin { from: 4, to: 7, count: 0 });
        assert_eq!(bins[2], Bin { from: 8, to: 15, count: 1 });
        assert_eq!(bins[bins.len() - 1], Bin { from: 1 << 63, to: u64::MAX, count: 1 });
        assert_eq!(histogram.count(), 4);
        histogram.add(0);
        assert_eq!(histogram.bins().next(), Some(Bin { from: 0, to: 0, count: 1 }));
    }
}
