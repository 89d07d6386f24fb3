//! The choice of the volumes of a trace. Addresses of different disks are never mixed silently.

use crate::error::{Kind, Problem, shown};

/// `--volume`: the volumes to read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// The only volume of the trace; a second one is an error.
    #[default]
    Only,
    /// These volumes; several lie side by side, in the order of their first requests.
    Named(Vec<String>),
    /// All volumes, side by side.
    All,
}

impl Choice {
    /// Parses `NAME`, `NAME,NAME,…`, or `*` for all.
    #[must_use]
    pub fn parse(text: &str) -> Choice {
        match text {
            "*" => Choice::All,
            names => Choice::Named(names.split(',').map(str::to_owned).collect()),
        }
    }

    /// Returns whether several volumes may appear, so that they need a layout.
    pub(crate) fn several(&self) -> bool {
        match self {
            Choice::Only => false,
            Choice::Named(names) => names.len() > 1,
            Choice::All => true,
        }
    }
}

impl core::fmt::Display for Choice {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Choice::Only => Ok(()),
            Choice::Named(names) => f.write_str(&names.join(",")),
            Choice::All => f.write_str("*"),
        }
    }
}

/// Selects the requests of the chosen volumes, and numbers these volumes.
#[derive(Debug)]
pub(crate) struct Volumes {
    choice: Choice,
    /// Names of the selected volumes seen so far, by number.
    selected: Vec<Vec<u8>>,
    /// Number of the volume seen last: most requests are of the same volume as the one before.
    last: u32,
    /// Numbers by name; never iterated.
    numbers: hashbrown::HashMap<Vec<u8>, u32>,
    /// Names of the first few volumes that were not selected, for the error if a chosen one is
    /// missing.
    skipped: Vec<Vec<u8>>,
}

impl Volumes {
    const NAMED_MAX: usize = 8;

    pub(crate) fn new(choice: &Choice) -> Self {
        Volumes {
            choice: choice.clone(),
            selected: Vec::new(),
            last: 0,
            numbers: hashbrown::HashMap::new(),
            skipped: Vec::new(),
        }
    }

    /// Returns the number of `volume`, or `None` if it is not selected.
    #[inline]
    pub(crate) fn select(&mut self, volume: &[u8]) -> Result<Option<u32>, Problem> {
        if self.selected.get(self.last as usize).is_some_and(|last| last == volume) {
            return Ok(Some(self.last));
        }
        self.select_new(volume)
    }

    fn select_new(&mut self, volume: &[u8]) -> Result<Option<u32>, Problem> {
        if let Some(&number) = self.numbers.get(volume) {
            self.last = number;
            return Ok(Some(number));
        }
        match &self.choice {
            Choice::All => {}
            Choice::Named(names) if names.iter().any(|name| name.as_bytes() == volume) => {}
            Choice::Named(_) => {
                if self.skipped.len() < Self::NAMED_MAX
                    && !self.skipped.iter().any(|other| other == volume)
                {
                    self.skipped.push(volume.to_vec());
                }
                return Ok(None);
            }
            Choice::Only => {
                if let Some(selected) = self.selected.first() {
                    let problem = second_volume_error(selected, volume);
                    // A caller that reads on after the error does so to count the volumes.
                    self.choice = Choice::All;
                    self.add(volume)?;
                    return Err(problem);
                }
            }
        }
        self.add(volume).map(Some)
    }

    fn add(&mut self, volume: &[u8]) -> Result<u32, Problem> {
        let number = u32::try_from(self.selected.len()).map_err(|_| {
            Problem::new(Kind::Volume, "more than 2³² volumes; choose with --volume")
        })?;
        self.selected.push(volume.to_vec());
        self.numbers.insert(volume.to_vec(), number);
        self.last = number;
        Ok(number)
    }

    /// Returns the names of the selected volumes, by number.
    pub(crate) fn names(&self) -> &[Vec<u8>] {
        &self.selected
    }

    /// Returns a problem if a chosen volume never appeared.
    pub(crate) fn missing(&self) -> Option<Problem> {
        let Choice::Named(names) = &self.choice else { return None };
        let wanted = names.iter().find(|name| !self.numbers.contains_key(name.as_bytes()))?;
        let seen = if self.selected.is_empty() { &self.skipped } else { &self.selected };
        let mut seen: Vec<String> =
            seen.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if seen.len() >= Self::NAMED_MAX {
            seen.truncate(Self::NAMED_MAX);
            seen.push("…".to_owned());
        }
        Some(Problem::usage(format!(
            "no request of volume {}; there are: {}",
            shown(wanted.as_bytes()),
            seen.join(", ")
        )))
    }
}

/// Volumes whose names have two parts, such as `hm.1` or `8:0`.
#[derive(Debug)]
pub(crate) struct Pairs {
    volumes: Volumes,
    separator: u8,
    /// The name seen last; `number` is the result for it.
    name: Vec<u8>,
    number: Option<u32>,
}

impl AsRef<Volumes> for Volumes {
    fn as_ref(&self) -> &Volumes {
        self
    }
}

impl AsRef<Volumes> for Pairs {
    fn as_ref(&self) -> &Volumes {
        &self.volumes
    }
}

impl Pairs {
    pub(crate) fn new(choice: &Choice, separator: u8) -> Self {
        Pairs { volumes: Volumes::new(choice), separator, name: Vec::new(), number: None }
    }

    /// Selects as [`Volumes::select`] does.
    #[inline]
    pub(crate) fn select(&mut self, first: &[u8], second: &[u8]) -> Result<Option<u32>, Problem> {
        if self.is_last(first, second) {
            return Ok(self.number);
        }
        self.select_new(first, second)
    }

    #[inline]
    fn is_last(&self, first: &[u8], second: &[u8]) -> bool {
        let (before, behind) = self.name.split_at(first.len().min(self.name.len()));
        before == first && behind.split_first() == Some((&self.separator, second))
    }

    fn select_new(&mut self, first: &[u8], second: &[u8]) -> Result<Option<u32>, Problem> {
        self.name.clear();
        self.name.extend_from_slice(first);
        self.name.push(self.separator);
        self.name.extend_from_slice(second);
        let number = self.volumes.select(&self.name);
        match &number {
            Ok(number) => self.number = *number,
            Err(_) => self.name.clear(),
        }
        number
    }
}

/// Writes why a trace of several volumes is refused, and names the largest, by `requests` of each.
pub(crate) fn several_message(names: &[Vec<u8>], requests: &[u64]) -> String {
    const NAMED_MAX: usize = 5;
    let mut largest: Vec<usize> = (0..names.len()).collect();
    largest.sort_by_key(|&at| core::cmp::Reverse(requests[at]));
    let name = |at: usize| String::from_utf8_lossy(&names[at]);
    let named = largest.iter().take(NAMED_MAX);
    let mut listed: Vec<String> =
        named.map(|&at| format!("{} ({})", name(at), requests[at])).collect();
    if names.len() > NAMED_MAX {
        listed.push("…".to_owned());
    }
    let first = largest.first().map_or_else(String::new, |&at| name(at).into_owned());
    format!(
        "{} volumes, by requests {}: addresses of different disks cannot be mixed; choose one, e.g. \
         --volume {first}, or lay all side by side with --volume '*'; `shingle trace volumes` \
         lists them",
        names.len(),
        listed.join(", ")
    )
}

#[cold]
fn second_volume_error(selected: &[u8], volume: &[u8]) -> Problem {
    let (selected, volume) = (String::from_utf8_lossy(selected), shown(volume));
    Problem::new(
        Kind::Volume,
        format!(
            "a second volume, {volume}, after '{selected}': addresses of different disks cannot be \
             mixed; choose one, e.g. --volume {selected}, or lay all side by side with --volume '*'"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_volume_is_taken_and_a_second_refused() {
        let mut any = Volumes::new(&Choice::Only);
        assert_eq!(any.select(b"hm.0").expect("first"), Some(0));
        assert_eq!(any.select(b"hm.0").expect("again"), Some(0));
        assert!(any.select(b"hm.1").expect_err("second").message.contains("--volume hm.0"));
        let mut one = Volumes::new(&Choice::parse("hm.1"));
        assert_eq!(one.select(b"hm.0").expect("passed over"), None);
        assert!(one.missing().expect("not met").message.contains("there are: hm.0"));
        assert_eq!(one.select(b"hm.1").expect("wanted"), Some(0));
        assert!(one.missing().is_none());
    }

    #[test]
    fn names_of_two_parts_are_put_together() {
        let mut pairs = Pairs::new(&Choice::parse("8:0,8:16"), b':');
        let numbers = [("8", "16"), ("8", "0"), ("8", "0"), ("81", "6"), ("8", "16")]
            .map(|(major, minor)| pairs.select(major.as_bytes(), minor.as_bytes()).expect("valid"));
        assert_eq!(numbers, [Some(0), Some(1), Some(1), None, Some(0)]);
        assert_eq!(pairs.as_ref().names(), [&b"8:16"[..], b"8:0"]);
    }

    #[test]
    fn volumes_are_numbered_as_they_come() {
        let mut all = Volumes::new(&Choice::parse("*"));
        let numbers = [&b"b"[..], b"a", b"b", b"c", b"a"].map(|v| all.select(v).expect("taken"));
        assert_eq!(numbers, [0, 1, 0, 2, 1].map(Some));
        let mut two = Volumes::new(&Choice::parse("c,a"));
        let numbers = [&b"b"[..], b"a", b"c", b"a"].map(|v| two.select(v).expect("taken"));
        assert_eq!(numbers, [None, Some(0), Some(1), Some(0)]);
        assert_eq!(two.names(), [b"a", b"c"]);
    }
}
