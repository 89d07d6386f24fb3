//! The worth of keeping a block cached, learned from the history of similar blocks.
//!
//! Blocks have kinds. The age of a block is the number of accesses since its last one. For each
//! kind it is counted how many blocks reached an age, how many were used at that age, and how much
//! disk time that saved. A slot that holds a block from now until some later age costs slot ·
//! accesses, and saves the disk time of the uses by then. The best such quotient over all later
//! ages is the block's worth, in nanoseconds of disk time per slot and access. This is the Gittins
//! index of a job of unknown length (Gittins, 1979), with ages as steps. So a kind that returns
//! after a pause, as a scan does, is worth more shortly before its return than long before.

/// Number of age classes: half octaves.
const AGES: usize = 64;
/// Number of blocks of a kind from which on its figures count.
const KNOWN_MIN: f32 = 30.0;
/// Counts are multiplied by this each time the worth is recomputed.
const FADE: f32 = 0.8;
/// Worth of a kind without figures: the chance that a block is used again before its age has
/// doubled (a third).
const UNKNOWN: f32 = 0.3;

#[derive(Clone, Debug)]
struct Kind {
    /// Number of blocks whose age began.
    begun: f32,
    used: [f32; AGES],
    saved: [f32; AGES],
    /// Nanoseconds per slot and access, by age.
    worth: [f32; AGES],
}

/// The figures of all kinds.
#[derive(Clone, Debug)]
pub struct Worth {
    kinds: Vec<Kind>,
    /// Accesses until the worth is recomputed.
    due: u32,
    every: u32,
}

/// Returns the half octave of an age.
#[inline]
fn place(age: u32) -> usize {
    let age = u64::from(age.max(1));
    let octave = 63 - age.leading_zeros();
    let half = (age << 1 >> octave) & 1;
    2 * octave as usize + half as usize
}

/// Returns the first age of a half octave.
fn first(place: usize) -> f32 {
    ((2 + place as u64 % 2) << (place / 2)) as f32 / 2.0
}

impl Worth {
    /// Creates it for `kinds` kinds without figures. The worth is recomputed every `every`
    /// accesses; until then, a use counts as saving `read_ns`.
    #[must_use]
    pub fn new(kinds: usize, every: u32, read_ns: f32) -> Worth {
        let worth = core::array::from_fn(|age| UNKNOWN * read_ns / first(age));
        let kind = Kind { begun: 0.0, used: [0.0; AGES], saved: [0.0; AGES], worth };
        Worth { kinds: vec![kind; kinds], due: every, every }
    }

    /// Returns the worth of a block of this kind and age: nanoseconds of disk time that its slot
    /// saves with each access for which it still holds the block.
    #[must_use]
    #[inline]
    pub fn of(&self, kind: u8, age: u32) -> f32 {
        self.kinds[usize::from(kind)].worth[place(age)]
    }

    /// Notes that the age of a block of this kind begins: an access. Recomputes the worth, if due.
    #[inline]
    pub fn begin(&mut self, kind: u8) {
        self.kinds[usize::from(kind)].begun += 1.0;
        self.due = self.due.saturating_sub(1);
        if self.due == 0 {
            self.due = self.every;
            self.kinds.iter_mut().for_each(Kind::settle);
        }
    }

    /// Notes that a block of this kind, cached or not, was used at this age, and what its being
    /// cached saves.
    #[inline]
    pub fn used(&mut self, kind: u8, age: u32, saved_ns: f32) {
        let (kind, at) = (&mut self.kinds[usize::from(kind)], place(age));
        kind.used[at] += 1.0;
        kind.saved[at] += saved_ns;
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.kinds.capacity() * size_of::<Kind>()
    }
}

impl Kind {
    fn settle(&mut self) {
        if self.begun < KNOWN_MIN {
            return;
        }
        // Slot · accesses that all blocks of the kind spend in each half octave.
        let (mut left, mut spent) = (self.begun, [0.0; AGES]);
        for (age, spent) in spent.iter_mut().enumerate().take(AGES - 1) {
            let staying = (left - self.used[age] / 2.0).max(0.0);
            *spent = staying * (first(age + 1) - first(age));
            left = (left - self.used[age]).max(0.0);
        }
        let last = (0..AGES).rev().find(|&age| self.used[age] > 0.0).map_or(0, |last| last + 1);
        for age in 0..AGES {
            let (mut saved, mut taken, mut best) = (0.0f32, 0.0f32, 0.0f32);
            for (later_saved, later_spent) in self.saved.iter().zip(&spent).take(last).skip(age) {
                saved += later_saved;
                taken += later_spent;
                if taken > 0.0 {
                    best = best.max(saved / taken);
                }
            }
            self.worth[age] = best;
        }
        self.begun *= FADE;
        self.used.iter_mut().chain(&mut self.saved).for_each(|count| *count *= FADE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_octaves_begin_where_the_last_one_ends() {
        let places: Vec<usize> = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, u32::MAX].map(place).into();
        assert_eq!(places, [0, 2, 3, 4, 4, 5, 5, 6, 6, 7, 63]);
        for age in 2..10_000 {
            let at = place(age);
            assert!(first(at) <= age as f32 && (age as f32) < first(at + 1), "{age}");
        }
    }

    /// Of 100 blocks a half is used at age 6, which saves 1,000 ns each, the others never: held to the end of that half
    /// octave, 100 take 5 accesses each until age 6 and 75 on average 2 from there on.
    #[test]
    fn worth_by_hand() {
        let mut worth = Worth::new(1, 100, 900.0);
        (0..50).for_each(|_| worth.used(0, 6, 1_000.0));
        (0..99).for_each(|_| worth.begin(0));
        assert_eq!(worth.of(0, 1), 270.0, "not known yet");
        worth.begin(0);
        let [young, before, at, behind] = [1, 5, 6, 8].map(|age| worth.of(0, age));
        // Age 1 fills the first two half octaves (1 to 2), 2 to 4 the next two, 4 to 6, and 6 to 8.
        assert_eq!(young, 50_000.0 / (100.0 * 5.0 + 75.0 * 2.0));
        assert_eq!(before, 50_000.0 / (100.0 * 2.0 + 75.0 * 2.0));
        assert_eq!(at, 50_000.0 / (75.0 * 2.0));
        assert_eq!(behind, 0.0, "no block ever came back so late");
    }
}
