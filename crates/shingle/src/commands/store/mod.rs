//! `shingle store`: creates, serves, administers and detaches a real cache.

mod check;
mod salvage;
pub(crate) mod serve;
mod status;
mod top;
mod whatif;

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use shingle_core::registry::Registry;
use shingle_core::size::show_blocks;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::{is_locked, open_unlocked};
use shingle_engine::recover::NO_CACHE;
use shingle_engine::settings::Settings;
use shingle_store::backend::{Tell, open_pair};
use shingle_store::store::control::{self, Answer, Request};
use shingle_store::store::create::{Consent, CreateError, create};
use shingle_store::store::leave::{self, Offline};
use shingle_store::store::unserved;
use uuid::Uuid;

use super::uuid_given;
use crate::Usage;
use crate::cli::Global;
use crate::output::{note, print};
use crate::progress::Progress;

#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Create a cache on an SSD for a disk. The data of the disk stays.
    #[command(
        after_help = "Example: shingle store create --cache cache.img --disk disk.img --policy sac"
    )]
    Create(Create),
    /// Serve a cached disk as a block device, over NBD.
    #[command(after_help = "Example: shingle store serve --cache cache.img --disk disk.img --nbd \
                            unix:disk.sock")]
    Serve(Box<serve::Serve>),
    /// Show the state of a cache. If it is not served: what the SSD says, which is not changed.
    #[command(after_help = "Example: shingle store status --cache cache.img")]
    Status(status::AskStatus),
    /// Show what served caches do, every few seconds: rates, latencies, hits, and how much is dirty
    /// and for how long.
    #[command(after_help = "Example: shingle store top -n 1")]
    Top(top::Top),
    /// Write all dirty blocks to the disk, while clients are served.
    #[command(after_help = "Example: shingle store flush --cache cache.img")]
    Flush(Ask),
    /// Set the mode, the policy or parameters. All of it takes effect at once.
    #[command(after_help = "Example: shingle store set --cache cache.img mode=write-around")]
    Set(Set),
    /// Show the mode, the policy and parameters of a cache, served or not.
    #[command(after_help = "Example: shingle store get --cache cache.img")]
    Get(status::Get),
    /// Replace the SSD, which may have failed, with a new one, while clients are served. Dirty
    /// blocks are written to the disk first; the cache on the new SSD starts empty.
    #[command(after_help = "Example: shingle store replace --cache cache.img --with new.img")]
    Replace(Replace),
    /// Use all of an SSD or a disk that has grown, while clients are served. If the SSD has grown,
    /// dirty blocks are written to the disk first, and the cache starts empty.
    #[command(after_help = "Example: shingle store grow --cache cache.img")]
    Grow(Ask),
    /// Estimate what other policies and cache sizes would have done with the clients' requests:
    /// hits and bands rewritten, from a sample, and the error of the estimate.
    #[command(
        after_help = "Example: shingle store whatif --cache cache.img --policy most,lru --seconds 1"
    )]
    Whatif(whatif::WhatIf),
    /// Stop serving. Dirty blocks stay in the cache.
    #[command(after_help = "Example: shingle store stop --cache cache.img")]
    Stop(Ask),
    /// Read all of a cache that is not served, and verify its checksums. Changes nothing.
    #[command(after_help = "Example: shingle store check --cache cache.img --disk disk.img")]
    Check(check::Check),
    /// Write all dirty blocks to the disk, without serving.
    #[command(after_help = "Example: shingle store export --cache cache.img --disk disk.img")]
    Export(Export),
    /// Write all dirty blocks to the disk, and remove the cache. The disk then needs no SSD.
    #[command(after_help = "Example: shingle store detach --cache cache.img --disk disk.img")]
    Detach(Detach),
}

#[derive(Debug, Args)]
pub(crate) struct Places {
    /// The SSD: a file or block device.
    #[arg(long, value_name = "FILE|DEV")]
    cache: PathBuf,
    /// The disk behind it.
    #[arg(long, value_name = "FILE|DEV")]
    disk: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    places: Places,
    /// The policy.
    #[arg(short, long, value_name = "NAME", default_value = "sac")]
    policy: String,
    /// Set a parameter, or the mode, as in sac.zone=40M or mode=write-through.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Plan with what `shingle probe` measured of the disk: buffer size, zone size, costs. The
    /// cache keeps these values; the file is not needed later.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Destroy the cache with this UUID, to which the SSD or the disk belongs, and its dirty data.
    /// May be repeated.
    #[arg(long, value_name = "UUID")]
    destroy: Vec<Uuid>,
    /// Destroy a file system, partition table or the like on the SSD, or the data of a file.
    #[arg(long)]
    overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The SSD: a file or block device. If the cache is served, its UUID works, too.
    #[arg(long, value_name = "FILE|DEV")]
    cache: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Replace {
    #[command(flatten)]
    ask: Ask,
    /// The new SSD: a file or block device.
    #[arg(long, value_name = "FILE|DEV")]
    with: PathBuf,
    /// Destroy the cache with this UUID, to which the new SSD belongs, as its SSD or its disk, and
    /// its dirty data. May be repeated.
    #[arg(long, value_name = "UUID")]
    destroy: Vec<Uuid>,
    /// Destroy a file system, partition table or the like on the new SSD, or the data of a file.
    #[arg(long)]
    overwrite: bool,
    /// Give up the dirty blocks that the SSD cannot read any more (`status` lists them): reads
    /// return what the disk holds.
    #[arg(long)]
    accept_lost: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    ask: Ask,
    /// Settings, as in mode=write-around, policy=most or sac.zone=40M.
    #[arg(required_unless_present = "profile", value_name = "NAME=VALUE")]
    what: Vec<String>,
    /// Plan with what `shingle probe` measured of the disk.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    places: Places,
    /// Write to the disk although it is not known to be the right one, or was written without its cache.
    #[arg(long)]
    trust_disk: bool,
    /// Write what can be read although pages of the metadata are lost. What is missing is listed, and is an error
    /// at the end. The SSD is only read.
    #[arg(long)]
    salvage: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Detach {
    #[command(flatten)]
    ask: Ask,
    /// The disk; needed if the cache is not served.
    #[arg(long, value_name = "FILE|DEV")]
    disk: Option<PathBuf>,
    /// Write to the disk although it is not known to be the right one, or was written without its cache.
    #[arg(long, requires = "disk")]
    trust_disk: bool,
}

pub(crate) fn execute(command: &Store, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    match command {
        Store::Create(args) => make(args, global, registry),
        Store::Serve(args) => serve::execute(args, global, registry),
        Store::Status(args) => status::execute(args, registry),
        Store::Get(args) => status::get(args, registry),
        Store::Top(args) => top::execute(args),
        Store::Flush(args) => ask(&args.cache, &Request::Flush, global),
        Store::Set(args) => {
            let (_, mut what) = profiled(args.profile.as_deref())?;
            what.extend(args.what.iter().cloned());
            check_set(&args.ask.cache, &what, registry)?;
            ask(&args.ask.cache, &Request::Set { what }, global)
        }
        Store::Replace(args) => {
            let with = std::fs::canonicalize(&args.with)
                .map_err(|error| anyhow!("{}: {error}", args.with.display()))?;
            let Replace { overwrite, accept_lost, .. } = *args;
            let destroy = args.destroy.iter().map(Uuid::to_string).collect();
            let replace = Request::Replace { with, destroy, overwrite, accept_lost };
            ask(&args.ask.cache, &replace, global)
        }
        Store::Grow(args) => ask(&args.cache, &Request::Grow, global),
        Store::Whatif(args) => whatif::execute(args, global, registry),
        Store::Stop(args) => ask(&args.cache, &Request::Stop, global),
        Store::Detach(args) => detach(args, global, registry),
        Store::Check(args) => check::execute(args, global),
        Store::Export(args) if args.salvage => salvage::execute(args, global),
        Store::Export(Export { places: Places { cache, disk }, trust_disk, .. }) => {
            let cache = offline(cache, disk, *trust_disk, registry);
            Ok(leave::export(cache, &mut writing(global.quiet))?)
        }
    }
}

fn make(args: &Create, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let mut settings = Settings::new(&args.policy);
    let (probed, known) = profiled(args.profile.as_deref())?;
    let mut sets = known.iter().chain(&args.set);
    sets.try_for_each(|text| settings.set(text)).map_err(|e| Usage(e.to_string()))?;
    let (ssd, disk) = open_pair(&args.places.cache, &args.places.disk)?;
    if let Some(blocks) = probed.map(|bytes| bytes / BLOCK_BYTES)
        && blocks != disk.blocks()
    {
        let [other, this] = [blocks, disk.blocks()].map(show_blocks);
        note(
            &format!("the profile is of a disk of {other}, and this one has {this}"),
            global.quiet,
        );
    }
    let consent = Consent { destroy: &args.destroy, overwrite: args.overwrite };
    let made = create(&ssd, &*disk, &settings, registry, consent).map_err(|error| match error {
        CreateError::Settings(_) => anyhow!(Usage(error.to_string())),
        _ => anyhow!(error),
    })?;
    let uuid = Uuid::from_bytes(made.uuid);
    print(&uuid.to_string())?;
    let slots = made.layout.slots;
    let room = show_blocks(slots);
    let text = format!("a cache for {room} ({slots} blocks) under {}", settings.policy);
    note(&text, global.quiet);
    Ok(())
}

/// Returns the size of the disk that a profile describes, and the settings that follow from it.
fn profiled(file: Option<&Path>) -> anyhow::Result<(Option<u64>, Vec<String>)> {
    let Some(file) = file else { return Ok((None, Vec::new())) };
    let profile = shingle_drive::profile::read(file)?;
    let set = |(name, value)| format!("drive.{name}={value}");
    Ok((Some(profile.bytes), profile.plan().known().map(set).collect()))
}

/// Returns the control socket of the server of a cache. The SSD holds the cache's UUID; one that is
/// dead, gone or overwritten does not, and then the running servers are asked. `cache` may be the
/// UUID itself.
fn socket(cache: &Path) -> anyhow::Result<PathBuf> {
    if let Some(uuid) = uuid_given(cache) {
        return Ok(control::socket(uuid));
    }
    let why = match unserved::superblock(cache) {
        Ok(Some(superblock)) => return Ok(control::socket(Uuid::from_bytes(superblock.uuid))),
        Ok(None) => {
            anyhow!("{}: {NO_CACHE}", cache.display())
        }
        Err(error) => error.into(),
    };
    control::socket_of_ssd(cache)?.ok_or(why)
}

/// Sends `request` to the server of the cache, and waits until it is done. A server that cannot be
/// reached from here is an error, and does not count as “not served”.
fn ask(ssd: &Path, request: &Request, global: &Global) -> anyhow::Result<()> {
    let held = || open_unlocked(ssd).is_ok_and(|file| is_locked(&file));
    ask_server(ssd, request, global).map_err(|error| match error.downcast_ref() {
        Some(control::ControlError::NotServed(_)) if held() => {
            unserved::UnservedError::Held(ssd.to_owned()).into()
        }
        _ => error,
    })
}

fn ask_server(ssd: &Path, request: &Request, global: &Global) -> anyhow::Result<()> {
    let mut show = writing(global.quiet);
    let mut told = |answer: &Answer| match answer {
        Answer::DirtyBlocks(left) => show(*left),
        Answer::Stuck(why) => note(&format!("the disk takes nothing: {why}"), false),
        Answer::Waits(why) => note(why, false),
        _ => {}
    };
    let last = control::ask(&socket(ssd)?, &mut told, request)?;
    match last {
        Answer::Failed(why) => bail!(why),
        Answer::Said(text) => {
            note(&text, global.quiet);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Checks names and values: unknown ones are wrong usage, which what the store refuses is not.
fn check_set(ssd: &Path, what: &[String], registry: &Registry) -> anyhow::Result<()> {
    let mut settings = status::of(ssd)?.to_settings()?;
    let set = what.iter().try_for_each(|text| settings.set(text));
    set.and_then(|()| settings.all(registry)).map_err(|error| Usage(error.to_string()))?;
    Ok(())
}

/// Shows the progress of writing dirty blocks; it is called with the number of blocks left.
fn writing(quiet: bool) -> impl FnMut(u64) {
    let mut progress = None;
    let mut most = 0;
    move |left| {
        most = most.max(left);
        let bar = progress.get_or_insert_with(|| Progress::new("writing", most, quiet));
        bar.set(most - left, most);
    }
}

/// Detaches in the server of the cache; if it is not served, in this process.
fn detach(args: &Detach, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let ssd = &args.ask.cache;
    let outcome = ask_server(ssd, &Request::Detach, global);
    let Err(error) = &outcome else { return outcome };
    let alone = matches!(error.downcast_ref(), Some(control::ControlError::NotServed(_)));
    let disk = match (alone, &args.disk) {
        (true, Some(disk)) => disk,
        (true, None) => {
            bail!(
                "this cache is not served: give its disk with --disk, and it is detached without a server"
            )
        }
        (false, _) => return outcome,
    };
    let cache = offline(ssd, disk, args.trust_disk, registry);
    Ok(leave::detach(cache, &mut writing(global.quiet))?)
}

/// Opens a cache that this process itself writes back.
fn offline<'a>(
    ssd: &'a Path,
    disk: &'a Path,
    trust_disk: bool,
    registry: &'a Registry,
) -> Offline<'a> {
    let tell: Tell = Box::new(|failed| note(&failed.to_string(), false));
    let warn = &|text: &str| note(text, false);
    Offline { ssd, disk, trust_disk, registry, tell: Some(tell), warn }
}
