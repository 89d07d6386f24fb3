//! Fingerprints of states, and a set of them.

use std::hash::Hasher;

/// A 64-bit hash: one folded multiplication for each word.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

const BEGIN: u64 = 0x243F_6A88_85A3_08D3;
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const OTHER: u64 = 0xD1B5_4A32_D192_ED03;

impl Default for Digest {
    fn default() -> Digest {
        Digest(BEGIN)
    }
}

impl Digest {
    /// Hashes items independent of their order, each with `each`.
    pub fn unordered<T>(
        &mut self,
        things: impl IntoIterator<Item = T>,
        each: impl Fn(T, &mut Digest),
    ) {
        let sum = things.into_iter().fold(0_u64, |sum, thing| {
            let mut one = Digest::default();
            each(thing, &mut one);
            sum.wrapping_add(one.finish())
        });
        self.write_u64(sum);
    }
}

#[inline]
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for Digest {
    #[inline]
    fn finish(&self) -> u64 {
        // Never 0, which marks an empty entry.
        folded(self.0 ^ OTHER, FACTOR).max(1)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = folded(self.0 ^ word, FACTOR).wrapping_add(OTHER).rotate_left(17);
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// A set of fingerprints, each with a byte. An entry takes only nine bytes, as there are millions.
#[derive(Default)]
pub struct Fingerprints {
    /// An open-addressing table; 0 marks an empty entry.
    places: Vec<u64>,
    bytes: Vec<u8>,
    count: u64,
}

impl Fingerprints {
    /// The number of fingerprints.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The memory of the table, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<u64>() + self.bytes.capacity()) as u64
    }

    fn place(&self, fingerprint: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = fingerprint as usize & mask;
        while self.places[at] != 0 && self.places[at] != fingerprint {
            at = (at + 1) & mask;
        }
        at
    }

    /// Inserts a fingerprint and returns whether it is new. A known one keeps its byte.
    pub fn insert(&mut self, fingerprint: u64, byte: u8) -> bool {
        if self.count as usize * 4 >= self.places.len() * 3 {
            self.grow();
        }
        let at = self.place(fingerprint);
        let new = self.places[at] == 0;
        if new {
            (self.places[at], self.bytes[at]) = (fingerprint, byte);
            self.count += 1;
        }
        new
    }

    /// The byte of a fingerprint.
    #[must_use]
    pub fn get(&self, fingerprint: u64) -> Option<u8> {
        if self.places.is_empty() {
            return None;
        }
        let at = self.place(fingerprint);
        (self.places[at] != 0).then(|| self.bytes[at])
    }

    /// Replaces the byte of a known fingerprint.
    pub fn set(&mut self, fingerprint: u64, byte: u8) {
        let at = self.place(fingerprint);
        debug_assert_eq!(self.places[at], fingerprint, "it is known");
        self.bytes[at] = byte;
    }

    fn grow(&mut self) {
        let places = (self.places.len() * 2).max(1 << 10);
        let old = std::mem::replace(&mut self.places, vec![0; places]);
        let bytes = std::mem::replace(&mut self.bytes, vec![0; places]);
        for (fingerprint, byte) in old.into_iter().zip(bytes).filter(|(one, _)| *one != 0) {
            let at = self.place(fingerprint);
            (self.places[at], self.bytes[at]) = (fingerprint, byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_known() {
        let mut set = Fingerprints::default();
        let of = |n: u64| {
            let mut digest = Digest::default();
            digest.write_u64(n);
            digest.finish()
        };
        for n in 0..10_000 {
            assert!(set.insert(of(n), n as u8) && !set.insert(of(n), 1), "{n}");
        }
        assert_eq!((set.len(), set.get(of(4_711)), set.get(of(10_000))), (10_000, Some(103), None));
    }
}
