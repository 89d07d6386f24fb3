//! One file a command.

mod anchors;
pub(crate) mod bound;
pub(crate) mod compare;
#[cfg(feature = "manual")]
pub(crate) mod completions;
pub(crate) mod curve;
mod disks;
#[cfg(store)]
pub(crate) mod follow;
pub(crate) mod list;
#[cfg(store)]
mod listening;
#[cfg(feature = "manual")]
pub(crate) mod man;
#[cfg(store)]
pub(crate) mod model;
#[cfg(store)]
pub(crate) mod probe;
#[cfg(store)]
pub(crate) mod replay;
#[cfg(feature = "papers")]
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod setup;
#[cfg(store)]
mod signals;
#[cfg(store)]
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod traces;
#[cfg(store)]
pub(crate) mod zoned;

/// The UUID of a cache or a disk, where that is given in place of its path.
#[cfg(store)]
fn uuid_given(path: &std::path::Path) -> Option<uuid::Uuid> {
    let uuid = uuid::Uuid::try_parse(path.to_str()?).ok()?;
    (!path.exists()).then_some(uuid)
}

/// The error of an answer that no server of this version gives.
#[cfg(store)]
fn unexpected(answer: &impl std::fmt::Debug) -> anyhow::Error {
    anyhow::anyhow!("the server gave an unexpected answer: {answer:?}; is it of another version?")
}
