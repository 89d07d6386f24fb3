//! What is written of a band, and what it costs to hold it back.

/// A write of a block of a band, and its data. Times are counted in accesses of the whole trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// When.
    pub(super) at: u64,
    /// When its data was read last.
    pub(super) read: u64,
    /// The data counts until then: the next write or trim of the block ends it.
    pub(super) until: u64,
    /// The longest run that can have one entry of the map with it.
    pub(super) run: u64,
}

/// The data counts to the end.
pub(super) const NEVER: u64 = u64::MAX;

/// The writes of a band, in their order.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub(super) writes: Vec<Write>,
    /// Them by [`Write::read`], and by [`Write::until`].
    pub(super) by_read: Vec<u32>,
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

/// What room costs.
pub(super) struct Costs {
    /// Of a place for an access, in rewrites.
    pub(super) price: f64,
    /// Places that a block takes, by the longest run it can be in.
    pub(super) by_run: Vec<f64>,
    /// Reads of what is held are paid for: it takes no place until the last of them.
    pub(super) reads_paid: bool,
}

impl Costs {
    /// From when on the data of a write takes a place.
    pub(super) fn from(&self, write: &Write) -> u64 {
        if self.reads_paid { write.read } else { write.at }
    }

    pub(super) fn places(&self, write: &Write) -> f64 {
        self.by_run[write.run as usize]
    }

    /// What the data of a write costs that is held as long as it counts.
    pub(super) fn held(&self, write: &Write) -> f64 {
        self.price * self.places(write) * (write.until - self.from(write)) as f64
    }
}
