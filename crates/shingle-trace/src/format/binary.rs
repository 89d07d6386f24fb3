//! What formats of binary records share.

use crate::error::{Kind, Problem};

#[inline]
pub(super) fn part<const N: usize>(record: &[u8], from: usize) -> [u8; N] {
    record[from..from + N].try_into().expect("the range has this length")
}

#[cold]
pub(super) fn cut_short(there: usize, size: usize) -> Problem {
    Problem::new(
        Kind::Truncated,
        format!(
            "the last record has {there} of {size} bytes: the file is cut short; copy it again, \
             or cut it to whole records with truncate"
        ),
    )
}
