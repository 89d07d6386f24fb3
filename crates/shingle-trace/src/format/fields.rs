//! Splits a line into columns.

/// Returns the first `N` columns between commas; the last of them ends at a comma or with the line.
#[inline]
pub(super) fn commas<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut fields: [&[u8]; N] = [b""; N];
    let mut from = 0;
    let mut commas = memchr::memchr_iter(b',', line);
    for (index, field) in fields.iter_mut().enumerate() {
        let end = match commas.next() {
            Some(end) => end,
            None if index + 1 == N => line.len(),
            None => return None,
        };
        *field = &line[from..end];
        from = end + 1;
    }
    Some(fields)
}

/// Returns the first `N` words between runs of blanks.
#[inline]
pub(super) fn words<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    words_and_rest(line).map(|(words, _)| words)
}

/// Returns the first `N` words, and the text after them.
#[inline]
pub(super) fn words_and_rest<const N: usize>(line: &[u8]) -> Option<([&[u8]; N], &[u8])> {
    let mut words: [&[u8]; N] = [b""; N];
    let mut rest = line;
    for word in &mut words {
        *word = next_word(&mut rest)?;
    }
    Some((words, rest))
}

/// Removes a word from the front of `rest` and returns it.
#[inline]
pub(super) fn next_word<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let from = rest.iter().position(|&byte| !is_blank(byte))?;
    let word = &rest[from..];
    let end = word.iter().position(|&byte| is_blank(byte)).unwrap_or(word.len());
    *rest = &word[end..];
    Some(&word[..end])
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_between_commas_or_blanks() {
        assert_eq!(commas::<2>(b"a,,c"), Some([&b"a"[..], b""]));
        assert_eq!(commas::<3>(b"a,,"), Some([&b"a"[..], b"", b""]));
        assert_eq!(commas::<3>(b"a,b"), None);
        assert_eq!(words::<2>(b" a\t \tb"), Some([&b"a"[..], b"b"]));
        assert_eq!(words::<2>(b" a "), None);
        assert_eq!(words_and_rest::<1>(b"a  b c"), Some(([&b"a"[..]], &b"  b c"[..])));
    }
}
