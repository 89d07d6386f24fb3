//! Reasons to distrust a disk, and how they are reported to an operator.

use std::fmt;
use std::path::PathBuf;

use shingle_core::units::Block;
use thiserror::Error;
use uuid::Uuid;

/// A reason to distrust a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// It was changed since the cache was shut down.
    Changed,
    /// It is another zoned disk than that of the cache, or was formatted since.
    NotIt,
    /// Blocks that are cached as clean differ on the disk.
    Differs {
        /// The blocks that differ.
        blocks: Vec<Block>,
        /// The number of blocks compared.
        compared: usize,
    },
    /// It was used with the same cache later.
    Later {
        /// The edition of the superblock in the mark of the disk.
        disk: u64,
        /// The edition of the cache.
        cache: u64,
    },
    /// The cache was used later, without this disk.
    Earlier {
        /// The edition of the superblock in the mark of the disk.
        disk: u64,
        /// The edition of the last start of the cache.
        cache: u64,
    },
    /// It was last used with another cache.
    Another(Uuid),
    /// A cache was detached from it, or it was served alone, on behalf of an operator who gave up
    /// its SSD.
    Alone,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Changed => write!(f, "was written without its cache since that was shut down"),
            Doubt::NotIt => {
                write!(
                    f,
                    "is not the disk of this cache, or was formatted since the cache was made"
                )
            }
            Doubt::Differs { blocks, compared } => {
                const NAMED: usize = 5;
                let named: Vec<String> =
                    blocks.iter().take(NAMED).map(|block| block.0.to_string()).collect();
                let more = match blocks.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(
                    f,
                    "was written without its cache, or this is an older copy of the cache: of \
                     {compared} blocks compared these are not as they are cached: {}{more}",
                    named.join(", ")
                )
            }
            Doubt::Later { disk, cache } => write!(
                f,
                "was used with a newer copy of this cache, or with the SSD that takes its place (edition {disk}; this one has {cache})"
            ),
            Doubt::Earlier { disk, cache } => write!(
                f,
                "is an older copy of the disk, or not the one that this cache was used with last: it knows edition {disk} of the cache, which \
                 was used since as edition {cache}"
            ),
            Doubt::Alone => {
                write!(
                    f,
                    "belongs to no cache any more: one was detached from it since, or it was served without its SSD (`zoned serve \
                     --without-ssd`)"
                )
            }
            Doubt::Another(uuid) => write!(f, "was last used with another cache, {uuid}"),
        }
    }
}

/// The error for a disk that is not written unless the operator confirms that it is the right one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct Distrusted {
    /// The disk.
    pub disk: PathBuf,
    /// The cache.
    pub uuid: Uuid,
    /// The reason.
    pub doubt: Doubt,
    /// The number of dirty blocks.
    pub dirty_blocks: u64,
}

impl fmt::Display for Distrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Distrusted { disk, uuid, doubt, dirty_blocks } = self;
        let only = match dirty_blocks {
            0 => String::new(),
            1 => ", and 1 block is on the SSD only".to_owned(),
            n => format!(", and {n} blocks are on the SSD only"),
        };
        let nothing_dirty = *dirty_blocks == 0;
        let create = format!("`create --destroy {uuid}` makes a new cache for it");
        let gives_up = if nothing_dirty { "" } else { " and gives that up" };
        let trust = |first: &str, writes: &str| {
            let writes = if nothing_dirty { "" } else { writes };
            format!("{first} --trust-disk uses it nevertheless{writes}; {create}{gives_up}")
        };
        const TO_IT: &str = " and writes that to it";
        // What loses nothing comes first.
        let advice = match doubt {
            Doubt::Changed | Doubt::Differs { .. } if nothing_dirty => format!(
                "If it is the right disk, {create}, in which nothing is stale; --trust-disk is for a copy of the disk that lacks \
                 blocks, and serves what is cached"
            ),
            Doubt::Changed | Doubt::Differs { .. } => format!(
                "If it is the right disk, `detach --trust-disk` writes that to it and ends the cache, so that nothing stale is \
                 served; `serve --trust-disk` is for a copy of the disk that lacks blocks, and serves what is cached; \
                 {create}{gives_up}"
            ),
            Doubt::Later { .. } => {
                trust("Serve that one. Only if it is lost,", " and writes that over newer data")
            }
            Doubt::Earlier { .. } => {
                trust("Use the disk of its last start. Only if that is lost,", TO_IT)
            }
            Doubt::Another(_) => trust(
                "`shingle store status --cache SSD` tells which cache an SSD has: bring together what belongs together. Only if it \
                 is the right disk,",
                TO_IT,
            ),
            Doubt::NotIt | Doubt::Alone => trust("If it is the right disk,", TO_IT),
        };
        write!(f, "{}: {doubt}; what is cached may be stale{only}. {advice}", disk.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(doubt: Doubt, dirty_blocks: u64) -> String {
        Distrusted { disk: "d".into(), uuid: Uuid::nil(), doubt, dirty_blocks }.to_string()
    }

    /// To trust the disk is no way out if it is right and the SSD is an old copy: that writes old
    /// data over newer data.
    #[test]
    fn what_loses_nothing_is_named_first() {
        let old = told(Doubt::Later { disk: 2, cache: 1 }, 3);
        assert!(old.contains("3 blocks are on the SSD only. Serve that one. Only if it is lost, "));
        assert!(old.contains("--trust-disk uses it nevertheless and writes that over newer data;"));
        let old = told(Doubt::Earlier { disk: 1, cache: 2 }, 0);
        assert!(old.contains("Use the disk of its last start. Only if that is lost, --trust-disk"));
        let another = told(Doubt::Another(Uuid::max()), 1);
        let status = another.find("`shingle store status --cache SSD`").expect("to find the SSD");
        assert!(status < another.find("--trust-disk").expect("what is left"), "{another}");
        // Trusted, a disk that was mounted alone is served with what was cached before.
        let changed = told(Doubt::Changed, 2);
        assert!(
            changed.contains("If it is the right disk, `detach --trust-disk` writes that to it")
        );
        let changed = told(Doubt::Changed, 0);
        assert!(changed.contains("If it is the right disk, `create --destroy 00000000-"));
    }
}
