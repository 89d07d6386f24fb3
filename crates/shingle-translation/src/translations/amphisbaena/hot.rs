//! The high-frequency buffer (HFB, Amphisbaena §5.2.1): slots of a block each, in chunks that it was
//! given. Any block may be in any slot.

/// A chunk of the buffer that the HFB has, or may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owned(u32);

/// No chunk.
const UNUSED: Owned = Owned(u32::MAX >> 2);
/// It came from the LFB by reallocation.
const OBTAINED: u32 = 1 << 31;
/// A block in it was updated in this period.
const UPDATED: u32 = 1 << 30;

impl Owned {
    #[inline]
    fn chunk(self) -> u32 {
        self.0 & !(OBTAINED | UPDATED)
    }
}

/// Where the slots lie.
#[derive(Clone, Debug)]
pub(super) struct Hot {
    chunk_blocks: u32,
    owned: Box<[Owned]>,
    chunks: u32,
}

impl Hot {
    /// Room for `chunks_max` chunks; none yet.
    pub(super) fn new(chunk_blocks: u32, chunks_max: u32) -> Hot {
        Hot { chunk_blocks, owned: vec![UNUSED; chunks_max as usize].into(), chunks: 0 }
    }

    pub(super) fn chunks(&self) -> u32 {
        self.chunks
    }

    pub(super) fn is_full(&self) -> bool {
        self.chunks as usize == self.owned.len()
    }

    pub(super) fn blocks(&self) -> u32 {
        self.chunks * self.chunk_blocks
    }

    /// Takes `chunk` of the buffer. Returns its slots.
    pub(super) fn add(&mut self, chunk: u32, obtained: bool) -> core::ops::Range<u32> {
        let at = self.owned.iter().position(|&owned| owned == UNUSED);
        let at = at.expect("no room for another chunk");
        self.owned[at] = Owned(if obtained { chunk | OBTAINED } else { chunk });
        self.chunks += 1;
        self.slots(at)
    }

    fn slots(&self, at: usize) -> core::ops::Range<u32> {
        let first = at as u32 * self.chunk_blocks;
        first..first + self.chunk_blocks
    }

    /// The slots of a chunk that was obtained and in which no block was updated in this period.
    pub(super) fn idle(&self) -> Option<core::ops::Range<u32>> {
        self.owned
            .iter()
            .position(|owned| owned.0 & (OBTAINED | UPDATED) == OBTAINED)
            .map(|at| self.slots(at))
    }

    /// Gives up the chunk whose slots begin with `slot`.
    pub(super) fn remove(&mut self, slot: u32) -> u32 {
        self.chunks -= 1;
        core::mem::replace(&mut self.owned[(slot / self.chunk_blocks) as usize], UNUSED).chunk()
    }

    /// Where `slot` lies in the buffer.
    #[inline]
    pub(super) fn place(&self, slot: u32) -> u64 {
        let chunk = self.owned[(slot / self.chunk_blocks) as usize].chunk();
        u64::from(chunk) * u64::from(self.chunk_blocks) + u64::from(slot % self.chunk_blocks)
    }

    /// The block in `slot` is written again.
    #[inline]
    pub(super) fn update(&mut self, slot: u32) {
        self.owned[(slot / self.chunk_blocks) as usize].0 |= UPDATED;
    }

    /// A period begins.
    pub(super) fn begin_period(&mut self) {
        self.owned.iter_mut().for_each(|owned| owned.0 &= !UPDATED);
    }

    pub(super) fn bytes(&self) -> usize {
        self.owned.len() * size_of::<Owned>()
    }
}
