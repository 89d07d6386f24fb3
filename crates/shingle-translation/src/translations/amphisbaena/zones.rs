//! The state of zones that were touched.

use shingle_core::parts::List;

const NONE: u32 = u32::MAX;

/// One zone, with the number of its blocks in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZoneState {
    pub(super) zone: u32,
    /// Its frames in the LFB, and its chunks with a block in them.
    pub(super) frames: List,
    pub(super) chunks: u32,
    /// Its blocks in the LFB.
    pub(super) cold: u32,
    /// Of these, those below the write pointer.
    pub(super) below: u32,
    /// An upper bound of the offsets of `cold` blocks: the highest plus one, if `tight`.
    pub(super) end: u32,
    pub(super) tight: bool,
    /// Its blocks in the HFB.
    pub(super) hot: u32,
    /// The same as in [`crate::parts::Native`], copied because counts here depend on it.
    pub(super) write_pointer: u32,
    /// Blocks below the write pointer that hold data, as far as a count can say: see [`kept`].
    pub(super) native: u32,
    /// Whether its weight must be recomputed.
    changed: bool,
}

/// Returns how many native blocks stay valid when `below` blocks below the write pointer are merged
/// with them: the others are replaced. A map of valid blocks would take 8 KiB per zone; a count of
/// four bytes gives the number replaced if valid blocks and merged ones are distributed alike, and
/// exactly if all blocks below the write pointer are valid.
pub(super) fn kept(native: u32, below: u32, write_pointer: u32) -> u32 {
    if write_pointer == 0 {
        return 0;
    }
    let replaced = u64::from(native) * u64::from(below) / u64::from(write_pointer);
    native - replaced as u32
}

/// The touched zones, numbered in the order of their first touch.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    numbers: Box<[u32]>,
    states: Vec<ZoneState>,
    changed: Vec<u32>,
    /// Zones with a block in the buffer.
    held: u64,
}

impl Zones {
    pub(super) fn new(zones: u32) -> Zones {
        let numbers = vec![NONE; zones as usize].into();
        Zones { numbers, states: Vec::new(), changed: Vec::new(), held: 0 }
    }

    /// Touches `zone`, and returns its number.
    #[inline]
    pub(super) fn touch(&mut self, zone: u32) -> u32 {
        let number = self.numbers[zone as usize];
        if number == NONE { self.add(zone) } else { number }
    }

    #[cold]
    fn add(&mut self, zone: u32) -> u32 {
        let number = self.states.len() as u32;
        self.numbers[zone as usize] = number;
        self.states.push(ZoneState {
            zone,
            frames: List::default(),
            chunks: 0,
            cold: 0,
            below: 0,
            end: 0,
            tight: true,
            hot: 0,
            write_pointer: 0,
            native: 0,
            changed: false,
        });
        // Room to mark each zone, so that marking never allocates.
        self.changed.reserve(self.states.capacity() - self.changed.len());
        number
    }

    pub(super) fn len(&self) -> u32 {
        self.states.len() as u32
    }

    pub(super) fn get(&self, number: u32) -> &ZoneState {
        &self.states[number as usize]
    }

    /// Returns a zone to change anything but the counts of its blocks.
    pub(super) fn get_mut(&mut self, number: u32) -> &mut ZoneState {
        self.mark(number);
        &mut self.states[number as usize]
    }

    fn mark(&mut self, number: u32) {
        if !core::mem::replace(&mut self.states[number as usize].changed, true) {
            self.changed.push(number);
        }
    }

    /// Returns a zone whose weight must be recomputed, and unmarks it.
    pub(super) fn take_changed(&mut self) -> Option<u32> {
        let number = self.changed.pop()?;
        self.states[number as usize].changed = false;
        Some(number)
    }

    /// Counts that the block at `offset` enters (`true`) or leaves the LFB.
    #[inline]
    pub(super) fn count_cold(&mut self, number: u32, offset: u32, enters: bool) {
        self.mark(number);
        let state = &mut self.states[number as usize];
        let was_held = state.cold + state.hot > 0;
        let below = u32::from(offset < state.write_pointer);
        if enters {
            state.cold += 1;
            state.below += below;
            if offset >= state.end {
                (state.end, state.tight) = (offset + 1, true);
            }
        } else {
            state.cold -= 1;
            state.below -= below;
            state.tight &= offset + 1 != state.end;
        }
        self.count_held(was_held, number);
    }

    /// Counts that a block enters (`true`) or leaves the HFB.
    #[inline]
    pub(super) fn count_hot(&mut self, number: u32, enters: bool) {
        let state = &mut self.states[number as usize];
        let was_held = state.cold + state.hot > 0;
        state.hot = if enters { state.hot + 1 } else { state.hot - 1 };
        self.count_held(was_held, number);
    }

    fn count_held(&mut self, was_held: bool, number: u32) {
        let state = &self.states[number as usize];
        self.held += u64::from(state.cold + state.hot > 0);
        self.held -= u64::from(was_held);
    }

    /// Returns the number of zones with a block in the buffer.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ZoneState> {
        self.states.iter()
    }

    pub(super) fn bytes(&self) -> usize {
        self.numbers.len() * size_of::<u32>()
            + self.states.capacity() * size_of::<ZoneState>()
            + self.changed.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_merged_replace_native_ones_in_proportion() {
        // All valid: each of the 20 replaces one. Six of ten valid: 12 of 20 do. None: none.
        assert_eq!([kept(100, 20, 100), kept(60, 20, 100), kept(0, 20, 100)], [80, 48, 0]);
        assert_eq!([kept(100, 100, 100), kept(0, 0, 0)], [0, 0]);
    }
}
