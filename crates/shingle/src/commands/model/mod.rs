//! `shingle model`: drive models as block devices, for testing other programs.

mod made;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use shingle_core::size::{show_blocks, show_bytes};
use shingle_core::units::BLOCK_BYTES;
use shingle_drive::Counters;
use shingle_live::{Contents, DriveClock, ServedModel};
use shingle_nbd::server::{Event, Limits, Served, Server};
use shingle_nbd::url::Url;

pub(crate) use self::made::drive;
use super::listening::Listening;
use super::signals::Ending;
use crate::Usage;
use crate::cli::{self, DriveTiming, Global};
use crate::output::{note, print};

#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// Serve a drive model as a block device, over NBD, as slow as the drive.
    #[command(
        after_help = "Example: shingle model serve --model st8000as0002 --nbd unix:slow.sock"
    )]
    Serve(Box<Serve>),
}

/// A model serves one I/O at a time, in order of arrival, and cleans in idle time, if the model
/// does. Its URL is printed when clients may connect.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The model: a drive or SSD of `shingle list`.
    #[arg(long, value_name = "NAME")]
    model: String,
    #[command(flatten)]
    listening: Listening,
    /// Speed relative to the drive. The overhead of this machine, some tens of microseconds a
    /// request, is multiplied, too, in the drive's time.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = cli::factor)]
    speed: u64,
    /// Set a parameter of the drive, as in drive.pb=64MiB or drive.idle_cleaning=off.
    #[arg(long, value_name = "drive.NAME=VALUE", value_parser = cli::assignment)]
    set: Vec<(String, String)>,
    /// Timing of the drive. [default: as it prefers]
    #[arg(long, value_enum)]
    drive_timing: Option<DriveTiming>,
    /// Serve only this much from the start of the drive. [default: all]
    #[arg(long, value_name = "SIZE", value_parser = cli::bytes)]
    size: Option<u64>,
    /// Do not keep written data: everything reads as zeroes. Otherwise it is kept in an unnamed
    /// file in the folder for temporary files (TMPDIR), which takes as much room as was written.
    #[arg(long)]
    forget: bool,
}

pub(crate) fn execute(command: &Model, global: &Global) -> anyhow::Result<()> {
    match command {
        Model::Serve(args) => serve(args, global),
    }
}

fn serve(args: &Serve, global: &Global) -> anyhow::Result<()> {
    let (addresses, users) = (args.listening.addresses()?, args.listening.users()?);
    // By default, disks do not clean in idle time; here there is real idle time.
    let drive = drive(&args.model, &args.set, args.drive_timing, true)?;
    let size = size(args, drive.description().disk_blocks * BLOCK_BYTES)?;
    let contents = if args.forget { Contents::without_data() } else { kept(size)? };
    let mut ending = Ending::new()?;
    let model = Arc::new(ServedModel::start(drive, contents, size, DriveClock::new(args.speed))?);
    let quiet = global.quiet;
    let served = Served {
        name: args.model.clone(),
        description: format!("a model of {}, {}", args.model, show_bytes(size)),
        minimum_block: BLOCK_BYTES as u32,
        export: Arc::clone(&model) as _,
    };
    let tell = move |event: Event| note(&event.to_string(), quiet);
    let tls = args.listening.tls(&args.model)?;
    let listeners = Listening::bind(&addresses, &users, tls.as_ref())?;
    let server = Server::start_at(listeners, vec![served], Limits::default(), tell)?;
    for address in server.addresses() {
        print(&Url::of(&address, &args.model).to_string())?;
    }
    Listening::warn(&server.addresses(), &users, tls.is_some(), quiet);
    ending.wait();
    // Requests that take longer are cut off: the user wants the model to end.
    const GRACE: Duration = Duration::from_secs(1);
    server.stop(GRACE);
    note(&told(&model.counters()), quiet);
    Ok(())
}

/// Creates the file for the data of a drive of this size.
fn kept(bytes: u64) -> anyhow::Result<Contents> {
    Contents::with_data(bytes).with_context(|| {
        let folder = std::env::temp_dir();
        format!(
            "{}: cannot hold a sparse file of {bytes} bytes; set TMPDIR to another folder, or serve less with \
             --size, or keep nothing with --forget",
            folder.display()
        )
    })
}

/// Returns the served size of a drive.
fn size(args: &Serve, drive_bytes: u64) -> Result<u64, Usage> {
    let asked = args.size.unwrap_or(drive_bytes);
    if !(BLOCK_BYTES..=drive_bytes).contains(&asked) {
        let (asked, has) = (show_bytes(asked), show_bytes(drive_bytes));
        return Err(Usage(format!(
            "--size {asked}: {} has {has}; name a size from 4 KiB to that",
            args.model
        )));
    }
    Ok(asked - asked % BLOCK_BYTES)
}

fn told(counters: &Counters) -> String {
    format!(
        "{} read, {} written; {} bands cleaned, {:.3} s of it in idle time",
        show_blocks(counters.read_blocks),
        show_blocks(counters.written_blocks),
        counters.rmw + counters.rmw_free,
        counters.idle_clean_time.as_secs_f64()
    )
}
