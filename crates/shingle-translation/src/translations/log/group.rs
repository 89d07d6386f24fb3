//! Groups blocks that go to the same zone.
//!
//! `sepbit` follows Wang, Li, Lee and others, *Separating Data via Block Invalidation Time Inference for Write
//! Amplification Reduction in Log-Structured Storage*, FAST 2022, §3 and Algorithm 1. A block that the host
//! writes is expected to live as long as the copy lived that it replaces: classes 1 and 2 are those below and
//! above ℓ, the mean time between opening and cleaning of the last 16 zones of class 1. A block that cleaning
//! moves out of class 1 goes to class 3, any other by its age: class 4 below 4ℓ, class 5 below 16ℓ, class 6.
//! Times are in blocks that the host has written. ℓ is infinite at first; what is written for the first time
//! lives for ever.
//!
//! Departures: the paper infers from a FIFO of recent addresses whether the old copy lived less
//! than ℓ; here its time is known. A zone of class 1 without live blocks counts at that moment, as
//! it is freed without being cleaned.

/// ℓ is the mean over this many zones of class 1.
const ZONES: u64 = 16;

/// See the module.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Grouping {
    None,
    Moved,
    Sepbit(Lifespan),
}

/// ℓ.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Lifespan {
    /// `None` means infinite.
    mean: Option<u64>,
    zones: u64,
    sum: u64,
}

impl Grouping {
    pub(super) fn new(name: &str) -> Grouping {
        match name {
            "none" => Grouping::None,
            "moved" => Grouping::Moved,
            _ => Grouping::Sepbit(Lifespan::default()),
        }
    }

    pub(super) fn groups(&self) -> u8 {
        match self {
            Grouping::None => 1,
            Grouping::Moved => 2,
            Grouping::Sepbit(_) => 6,
        }
    }

    /// Returns whether it needs the times at which blocks were written.
    pub(super) fn asks_times(&self) -> bool {
        matches!(self, Grouping::Sepbit(_))
    }

    /// Returns the group of a block that the host writes; `lived` is how long its old copy, if any,
    /// has lived.
    pub(super) fn written(&self, lived: Option<u64>) -> u8 {
        match (self, lived) {
            (Grouping::None | Grouping::Moved, _) => 0,
            (Grouping::Sepbit(_), None) => 1,
            (Grouping::Sepbit(span), Some(lived)) => {
                u8::from(span.mean.is_some_and(|mean| lived >= mean))
            }
        }
    }

    /// Returns the group of a block of age `age` that is moved out of a zone of group `from`.
    pub(super) fn moved(&self, from: u8, age: u64) -> u8 {
        match (self, from) {
            (Grouping::None, _) => 0,
            (Grouping::Moved, _) => 1,
            (Grouping::Sepbit(_), 0) => 2,
            (Grouping::Sepbit(span), _) => match span.mean {
                Some(mean) if age >= 16 * mean => 5,
                Some(mean) if age >= 4 * mean => 4,
                _ => 3,
            },
        }
    }

    /// Records that a zone of `group` was cleaned, or freed, at this `age` since it was opened.
    pub(super) fn ended(&mut self, group: u8, age: u64) {
        if let (Grouping::Sepbit(span), 0) = (self, group) {
            span.zones += 1;
            span.sum += age;
            if span.zones == ZONES {
                *span = Lifespan { mean: Some(span.sum / ZONES), zones: 0, sum: 0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_groups_there_are_one_or_two() {
        let (none, moved) = (Grouping::new("none"), Grouping::new("moved"));
        assert_eq!((none.written(Some(3)), none.moved(0, 3), none.groups()), (0, 0, 1));
        assert_eq!((moved.written(None), moved.moved(0, 3), moved.groups()), (0, 1, 2));
    }

    /// Sixteen zones of class 1 that lived for 85 to 115 blocks: ℓ is 100.
    #[test]
    fn sepbit_sorts_by_the_mean_life_of_sixteen_zones() {
        let mut sepbit = Grouping::new("sepbit");
        assert_eq!(sepbit.written(None), 1, "new: class 2");
        assert_eq!(sepbit.written(Some(1 << 39)), 0, "as long as no mean is known: class 1");
        assert_eq!((sepbit.moved(0, 9), sepbit.moved(1, 1 << 39)), (2, 3));
        for zone in 0..16 {
            sepbit.ended(1, 1 << 30);
            assert_eq!(sepbit.written(Some(1 << 39)), 0, "{zone} zones are not enough");
            sepbit.ended(0, 85 + 2 * zone);
        }
        assert_eq!((sepbit.written(Some(99)), sepbit.written(Some(100))), (0, 1));
        assert_eq!(sepbit.moved(0, 1 << 39), 2, "class 3, whatever its age");
        let by_age = [399, 400, 1599, 1600].map(|age| sepbit.moved(3, age));
        assert_eq!(by_age, [3, 4, 4, 5]);
        for _ in 0..15 {
            sepbit.ended(0, 7);
        }
        assert_eq!(sepbit.written(Some(99)), 0, "the mean is that of the last sixteen");
        sepbit.ended(0, 7);
        assert_eq!(sepbit.written(Some(99)), 1);
    }
}
