//! The writes of a band, and the cost of holding them back.

/// A write of a block of a band, and its data. Times are counted in accesses of the whole trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) at: u64,
    /// Time of the last read of its data.
    pub(super) read: u64,
    /// End of the data's validity: the next write or trim of the block.
    pub(super) until: u64,
    /// Longest run that can share one map entry with it.
    pub(super) run: u64,
}

/// The data is valid to the end.
pub(super) const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Band {
    pub(super) writes: Vec<Write>,
    /// Indices of writes, sorted by [`Write::read`].
    pub(super) by_read: Vec<u32>,
    /// Indices of writes, sorted by [`Write::until`].
    pub(super) by_until: Vec<u32>,
}

impl Band {
    pub(super) fn new(writes: Vec<Write>) -> Band {
        let sorted = |key: fn(&Write) -> u64| {
            let mut numbers: Vec<u32> = (0..writes.len() as u32).collect();
            numbers.sort_by_key(|&number| key(&writes[number as usize]));
            numbers
        };
        let (by_read, by_until) = (sorted(|write| write.read), sorted(|write| write.until));
        Band { writes, by_read, by_until }
    }
}

pub(super) struct Costs {
    /// Price of a place per access, in rewrites.
    pub(super) price: f64,
    /// Places that a block takes, by the longest run it can be part of.
    pub(super) by_run: Vec<f64>,
    /// Whether the price of reads already pays for held data: then it takes no place before its
    /// last read.
    pub(super) reads_paid: bool,
}

impl Costs {
    /// Returns the time from which on the data of a write takes a place.
    pub(super) fn from(&self, write: &Write) -> u64 {
        if self.reads_paid { write.read } else { write.at }
    }

    pub(super) fn places(&self, write: &Write) -> f64 {
        self.by_run[write.run as usize]
    }

    /// Returns the cost of holding the data of a write for as long as it is valid.
    pub(super) fn held(&self, write: &Write) -> f64 {
        self.price * self.places(write) * (write.until - self.from(write)) as f64
    }
}
