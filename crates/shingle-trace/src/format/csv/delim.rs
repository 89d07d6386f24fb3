//! Splits a line into fields.

/// The delimiter between columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Delim {
    Byte(u8),
    /// Any run of spaces and tabs.
    Blank,
}

impl Delim {
    /// Returns the delimiter that a line most probably uses.
    pub(super) fn of(line: &[u8]) -> Delim {
        [b',', b';', b'\t', b'|']
            .into_iter()
            .find(|delim| line.contains(delim))
            .map_or(Delim::Blank, Delim::Byte)
    }

    #[inline]
    pub(super) fn split(self, line: &[u8]) -> Fields<'_> {
        Fields { delim: self, rest: Some(line) }
    }
}

pub(super) struct Fields<'a> {
    delim: Delim,
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut rest = self.rest?;
        let end = match self.delim {
            Delim::Byte(delim) => {
                // Fields are short: a plain loop beats a call.
                let from = if rest.first() == Some(&b'"') { quoted_bytes(rest) } else { 0 };
                rest[from..].iter().position(|&byte| byte == delim).map(|end| from + end)
            }
            Delim::Blank => {
                rest = rest.trim_ascii_start();
                if rest.is_empty() {
                    self.rest = None;
                    return None;
                }
                rest.iter().position(|&byte| byte == b' ' || byte == b'\t')
            }
        };
        match end {
            Some(end) => {
                self.rest = Some(&rest[end + 1..]);
                Some(&rest[..end])
            }
            None => {
                self.rest = None;
                Some(rest)
            }
        }
    }
}

/// Returns the length of the quoted text at the start of `field`, with both quotes. Returns 0 if
/// there is no closing quote; then the quote is an ordinary character. Doubled quotes need no
/// special case: no delimiter can be between the two.
#[cold]
fn quoted_bytes(field: &[u8]) -> usize {
    let mut bytes = 0;
    while field.get(bytes) == Some(&b'"') {
        match memchr::memchr(b'"', &field[bytes + 1..]) {
            Some(end) => bytes += end + 2,
            None => return 0,
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_blanks_are_one_delimiter() {
        let fields: Vec<&[u8]> = Delim::Blank.split(b" 1 \t 22  ").collect();
        assert_eq!(fields, [&b"1"[..], b"22"]);
        let fields: Vec<&[u8]> = Delim::Byte(b',').split(b"1,,2,").collect();
        assert_eq!(fields, [&b"1"[..], b"", b"2", b""]);
        let fields: Vec<&[u8]> = Delim::Byte(b',').split(b"\"a,\"\"b,\",1,\"c,d").collect();
        assert_eq!(fields, [&b"\"a,\"\"b,\""[..], b"1", b"\"c", b"d"]);
    }
}
