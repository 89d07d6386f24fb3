//! Phase one of the classification (Amphisbaena §5.1.1, equation 1): a request is hot if it is
//! smaller than the mean of the requests before it.

/// The sizes of the last write requests, in blocks.
#[derive(Clone, Debug)]
pub(super) struct Window {
    sizes: Box<[u32]>,
    /// Index of the next size.
    next: usize,
    /// How many of `sizes` are in use.
    filled: usize,
    sum: u64,
}

impl Window {
    /// Creates a window over `length` requests, at least one.
    pub(super) fn new(length: usize) -> Window {
        Window { sizes: vec![0; length.max(1)].into(), next: 0, filled: 0, sum: 0 }
    }

    /// Returns whether a write of `blocks` is hot, and then adds it to the window: the threshold is
    /// the mean of the earlier requests, as many as there are until the window is full. The first
    /// request, and one as large as the mean, is cold ("less than").
    pub(super) fn hot(&mut self, blocks: u64) -> bool {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        let hot = u64::from(blocks) * (self.filled as u64) < self.sum;
        let oldest = core::mem::replace(&mut self.sizes[self.next], blocks);
        self.sum = self.sum + u64::from(blocks) - u64::from(oldest);
        self.filled = (self.filled + 1).min(self.sizes.len());
        self.next = (self.next + 1) % self.sizes.len();
        hot
    }

    pub(super) fn bytes(&self) -> usize {
        self.sizes.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn smaller_than_the_mean_of_those_before_is_hot() {
        let mut window = Window::new(4);
        // Means before each: none, 8, 5, 4, 4, then of 2 2 4 4 = 3, of 2 4 4 2 = 3.
        let sizes = [8, 2, 2, 4, 4, 2, 3];
        let hot = sizes.map(|blocks| window.hot(blocks));
        assert_eq!(hot, [false, true, true, false, false, true, false]);
    }

    proptest! {
        #[test]
        fn the_threshold_is_the_mean_of_the_window(
            length in 1usize..9, sizes in prop::collection::vec(1u64..40, 0..60),
        ) {
            let mut window = Window::new(length);
            for (at, &size) in sizes.iter().enumerate() {
                let before = &sizes[at.saturating_sub(length)..at];
                let below = size * (before.len() as u64) < before.iter().sum();
                prop_assert_eq!(window.hot(size), below);
            }
        }
    }
}
