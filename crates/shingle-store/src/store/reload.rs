//! The changes that new options make to a serving process.

use std::fmt;

use shingle_device::is_same;
use thiserror::Error;

use super::options::CacheOptions;

/// Why nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum ReloadError {
    #[error("export `{0}` is there twice")]
    Name(String),
    /// Two exports share an SSD, a disk or a block device, or the SSD of one is the disk of the
    /// other.
    #[error("exports `{one}` and `{two}` both use {path}")]
    Shared { one: String, two: String, path: String },
    #[error("`tls` stays as it is while a server runs: put it back, or restart to change it")]
    Tls,
    #[error(
        "export `{name}`: {path} is served as `{served}`, with another SSD, disk or block device; take that export \
         out, reload, put the new one in, and reload again"
    )]
    InUse { name: String, served: String, path: String },
    /// Clients that connect again would get other data.
    #[error(
        "export `{0}` is served, or being opened, with another SSD and disk; take it out, reload, put it in again, and reload again"
    )]
    Other(String),
}

/// The changes of a reload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Exports that are served now.
    pub begun: Vec<String>,
    /// Exports that cannot be served, of which notices say why.
    pub not_served: Vec<String>,
    /// Exports whose devices have not answered yet: they are served as soon as that has happened.
    pub awaited: Vec<String>,
    /// Exports that are not served any more.
    pub ended: Vec<String>,
    /// Exports with another name or minimum block size: their clients have to connect again.
    pub changed: Vec<String>,
    /// New addresses, and addresses that are closed.
    pub addresses: (Vec<String>, Vec<String>),
    /// Addresses that accept no connections because the system gave no thread, with the error.
    pub failed_addresses: Vec<String>,
    /// Whether the users of TCP have changed.
    pub users: bool,
    /// Whether certificates open other exports.
    pub certificates: bool,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes { begun, not_served, awaited, ended, changed, users, certificates, .. } = self;
        let (more, fewer) = &self.addresses;
        let failed_addresses = &self.failed_addresses;
        let lists = [
            ("begun", begun),
            ("not served (see above)", not_served),
            ("still being opened", awaited),
            ("ended", ended),
            ("changed", changed),
            ("listens at", more),
            ("no longer at", fewer),
            ("cannot listen at", failed_addresses),
        ];
        let mut parts: Vec<String> = lists
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(what, list)| format!("{what} {}", list.join(", ")))
            .collect();
        if *users {
            parts.push("other users may connect".to_owned());
        }
        if *certificates {
            parts.push("certificates open other exports".to_owned());
        }
        match parts.is_empty() {
            true => write!(f, "nothing has changed"),
            false => write!(f, "{}", parts.join("; ")),
        }
    }
}

/// What to do with each cache, by index in the two lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Plan {
    /// Served caches that are no longer wanted.
    pub(super) end: Vec<usize>,
    /// Served and wanted caches that are the same, with another name or block size.
    pub(super) change: Vec<(usize, usize)>,
    /// Wanted caches that have to be opened.
    pub(super) begin: Vec<usize>,
}

/// Checks that these caches can be served together.
pub(super) fn check(wanted: &[CacheOptions]) -> Result<(), ReloadError> {
    for (at, one) in wanted.iter().enumerate() {
        for two in &wanted[..at] {
            if one.name == two.name {
                return Err(ReloadError::Name(one.name.clone()));
            }
            if let Some(path) = shared(one, two) {
                let (one, two) = (two.name.clone(), one.name.clone());
                return Err(ReloadError::Shared { one, two, path });
            }
        }
    }
    Ok(())
}

/// What both use, with both names if there are two.
fn shared(one: &CacheOptions, two: &CacheOptions) -> Option<String> {
    for path in [&one.ssd, &one.disk] {
        if let Some(other) = [&two.ssd, &two.disk].into_iter().find(|other| is_same(path, other)) {
            let name = path.display().to_string();
            let both = format!("{name} ({} by another name)", other.display());
            return Some(if path == other { name } else { both });
        }
    }
    let number = one.ublk.filter(|_| one.ublk == two.ublk)?;
    Some(number.path().display().to_string())
}

/// What becomes of caches that are served, or being opened.
pub(super) fn plan(served: &[&CacheOptions], wanted: &[CacheOptions]) -> Result<Plan, ReloadError> {
    check(wanted)?;
    let same = |one: &CacheOptions, two: &CacheOptions| {
        (&one.control, one.ublk) == (&two.control, two.ublk)
            && is_same(&one.ssd, &two.ssd)
            && is_same(&one.disk, &two.disk)
    };
    let end = (0..served.len())
        .filter(|&at| !wanted.iter().any(|wanted| same(served[at], wanted)))
        .collect();
    let mut plan = Plan { end, ..Plan::default() };
    for (to, wanted) in wanted.iter().enumerate() {
        match served.iter().position(|served| same(served, wanted)) {
            Some(at) => {
                let now = served[at];
                if (&now.name, now.minimum_block) != (&wanted.name, wanted.minimum_block) {
                    plan.change.push((at, to));
                }
            }
            None => {
                for served in served {
                    if let Some(path) = shared(wanted, served) {
                        let (name, served) = (wanted.name.clone(), served.name.clone());
                        return Err(ReloadError::InUse { name, served, path });
                    }
                }
                if plan.end.iter().any(|&at| served[at].name == wanted.name) {
                    return Err(ReloadError::Other(wanted.name.clone()));
                }
                plan.begin.push(to);
            }
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ublk;

    fn cache(name: &str, ssd: &str, disk: &str) -> CacheOptions {
        CacheOptions {
            name: name.to_owned(),
            ssd: ssd.into(),
            disk: disk.into(),
            minimum_block: 1,
            trust_disk: false,
            control: None,
            ublk: None,
        }
    }

    #[test]
    fn only_what_differs_is_touched() {
        let [one, two] = [cache("one", "s1", "d1"), cache("two", "s2", "d2")];
        let three = cache("three", "s3", "d3");
        let plan = |served: &[&CacheOptions], wanted: &[&CacheOptions]| {
            plan(served, &wanted.iter().map(|&wanted| wanted.clone()).collect::<Vec<_>>())
        };
        assert_eq!(plan(&[&one, &two], &[&two, &one]), Ok(Plan::default()));
        let trusted = CacheOptions { trust_disk: true, ..one.clone() };
        assert_eq!(plan(&[&one], &[&trusted]), Ok(Plan::default()), "it counts at the next start");
        let expected = Plan { end: vec![0], begin: vec![1], ..Plan::default() };
        assert_eq!(plan(&[&one, &two], &[&two, &three]), Ok(expected));
        let renamed = cache("other", "s1", "d1");
        let blocks = CacheOptions { minimum_block: 4096, ..two.clone() };
        let expected = Plan { change: vec![(1, 0), (0, 1)], ..Plan::default() };
        assert_eq!(plan(&[&one, &two], &[&blocks, &renamed]), Ok(expected));
        // Two exports that swap their names.
        let swapped = [cache("two", "s1", "d1"), cache("one", "s2", "d2")];
        let expected = Plan { change: vec![(0, 0), (1, 1)], ..Plan::default() };
        assert_eq!(plan(&[&one, &two], &[&swapped[0], &swapped[1]]), Ok(expected));
        let end = Plan { end: vec![0, 1], ..Plan::default() };
        assert_eq!(plan(&[&one, &two], &[]), Ok(end));
    }

    #[test]
    fn a_device_is_the_same_under_another_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["s1", "d1", "s2", "d2"] {
            std::fs::write(path(name), "").expect("made");
        }
        std::os::unix::fs::symlink("s1", path("fast")).expect("made");
        std::fs::hard_link(path("d1"), path("slow")).expect("made");
        let cache = |name, ssd, disk| CacheOptions {
            ssd: path(ssd),
            disk: path(disk),
            ..cache(name, "", "")
        };
        let one = cache("one", "s1", "d1");
        for (ssd, disk, at) in [("fast", "d2", "fast (s1 "), ("s2", "slow", "slow (d1 ")] {
            let two = cache("two", ssd, disk);
            let told = check(&[one.clone(), two]).expect_err("refused").to_string();
            let told = told.replace(&format!("{}/", folder.path().display()), "");
            assert_eq!(told, format!("exports `one` and `two` both use {at}by another name)"));
        }
        // Other paths to the same devices change nothing.
        assert_eq!(plan(&[&one], &[cache("one", "fast", "slow")]), Ok(Plan::default()));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let one = cache("one", "s1", "d1");
        let refused = |served: &[&CacheOptions], wanted: &[CacheOptions]| {
            plan(served, wanted).expect_err("refused").to_string()
        };
        assert_eq!(
            refused(&[], &[one.clone(), cache("one", "s2", "d2")]),
            "export `one` is there twice"
        );
        for (ssd, disk, path) in [("s1", "d2", "s1"), ("s2", "d1", "d1"), ("d1", "d2", "d1")] {
            let told = format!("exports `one` and `two` both use {path}");
            assert_eq!(refused(&[], &[one.clone(), cache("two", ssd, disk)]), told);
        }
        let [two, three] = [("two", "s2", "d2"), ("three", "s3", "d3")].map(|(name, ssd, disk)| {
            CacheOptions { ublk: Some(ublk::Number(7)), ..cache(name, ssd, disk) }
        });
        let told = "exports `two` and `three` both use /dev/ublkb7";
        assert_eq!(refused(&[], &[two, three]), told);
        let told = refused(&[&one], &[cache("one", "s2", "d2")]);
        assert!(
            told.starts_with("export `one` is served, or being opened, with another"),
            "{told}"
        );
        let told = refused(&[&one], &[cache("one", "s2", "d1")]);
        assert!(told.starts_with("export `one`: d1 is served as `one`, with another"), "{told}");
    }
}
