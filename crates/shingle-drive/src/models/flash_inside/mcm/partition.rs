//! Random or sequential, by bands (MCM §III-B.a).
//!
//! Three or more consecutive writes in one band are sequential, all of them: what the first two are
//! is known only when the third has come. So a drive holds up to two writes of one band (the
//! look-ahead) until it knows. With less look-ahead the first writes of each run count as random.

use shingle_core::units::Zone;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Random,
    Sequential,
}

/// What is known after a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    /// Number of held writes, from the oldest on, that are now known to be of `class`.
    pub(super) released: usize,
    pub(super) class: Class,
    /// Class of the write itself; `None`: it is held.
    pub(super) now: Option<Class>,
}

#[derive(Clone, Debug)]
pub(super) struct Partition {
    /// Number of writes that make a run, and most held writes.
    run_min: u64,
    look_ahead: usize,
    /// The band of the last write, and the number of consecutive writes in it (the counter k of the
    /// paper).
    band: Option<Zone>,
    run: u64,
    held: usize,
}

impl Partition {
    pub(super) fn new(run_min: u64, look_ahead: usize) -> Partition {
        Partition { run_min, look_ahead, band: None, run: 0, held: 0 }
    }

    pub(super) fn write(&mut self, band: Zone) -> Verdict {
        self.run = if self.band == Some(band) { self.run + 1 } else { 1 };
        let same = self.band.replace(band) == Some(band);
        if self.run >= self.run_min {
            let released = std::mem::take(&mut self.held);
            return Verdict { released, class: Class::Sequential, now: Some(Class::Sequential) };
        }
        let released = if !same {
            std::mem::take(&mut self.held)
        } else {
            // No room to hold another one.
            let full = self.held > 0 && self.held == self.look_ahead;
            self.held -= usize::from(full);
            usize::from(full)
        };
        let holds = self.held < self.look_ahead;
        self.held += usize::from(holds);
        Verdict { released, class: Class::Random, now: (!holds).then_some(Class::Random) }
    }

    /// Returns whether the last write was in another band than the one before.
    pub(super) fn begins_run(&self) -> bool {
        self.run == 1
    }

    /// Releases all held writes as random and returns their number; the run continues.
    pub(super) fn release(&mut self) -> usize {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes of writes to these bands, once all is known.
    fn classes(bands: &[u32], look_ahead: usize) -> String {
        let mut partition = Partition::new(3, look_ahead);
        let (mut all, mut held) = (vec!['?'; bands.len()], Vec::new());
        let letter = |class| if class == Class::Random { 'r' } else { 's' };
        for (at, &band) in bands.iter().enumerate() {
            let verdict = partition.write(Zone(band));
            for at in held.drain(..verdict.released) {
                all[at] = letter(verdict.class);
            }
            match verdict.now {
                Some(class) => all[at] = letter(class),
                None => held.push(at),
            }
            assert!(held.len() <= look_ahead);
        }
        assert_eq!(partition.release(), held.len());
        held.into_iter().for_each(|at| all[at] = 'r');
        all.into_iter().collect()
    }

    /// §III-B.a: bands of 120 sectors, band 1 from sector 1 on. The paper does not say what E is;
    /// k = 1 makes it random.
    #[test]
    fn the_papers_sequence() {
        // A to K, of which the paper leaves F, G, I and J out.
        let sectors = [101, 201, 202, 203, 301, 380, 390];
        let bands = sectors.map(|sector: u32| (sector - 1) / 120 + 1);
        assert_eq!(bands, [1, 2, 2, 2, 3, 4, 4]);
        assert_eq!(classes(&bands, 2), "rsssrrr");
    }

    #[test]
    fn less_look_ahead_calls_the_start_of_a_run_random() {
        let bands = [1, 2, 2, 2, 2, 3, 4, 4, 4];
        assert_eq!(classes(&bands, 2), "rssssrsss");
        assert_eq!(classes(&bands, 1), "rrsssrrss");
        assert_eq!(classes(&bands, 0), "rrrssrrrs");
    }
}
