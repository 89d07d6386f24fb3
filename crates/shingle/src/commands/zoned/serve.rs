//! `shingle zoned serve`: serves a formatted disk as a block device.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use shingle_core::size::show_blocks;
use shingle_device::{Device, Mark, deleted, start_thread};
use shingle_live::ServedVolume;
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::server::{Event, Limits, Served, Server};
use shingle_store::backend::Watch;
use shingle_store::store::control::{self, Answer, Request, Telling};
use shingle_translated::{LiveDisk, Status};
use uuid::Uuid;

use super::Which;
use super::check::NO_SPARE;
use crate::cli::Global;
use crate::commands::listening::{self, Listening, MinimumBlock};
use crate::commands::signals::Ending;
use crate::log::{FlushOnDrop, Lines};
use crate::output::note;

/// How long clients' requests may take when the process stops.
const GRACE: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    listening: Listening,
    #[command(flatten)]
    minimum_block: MinimumBlock,
    /// Serve a disk of a cache without its SSD, and give up what only the SSD holds. From then on
    /// that SSD is refused.
    #[arg(long)]
    without_ssd: bool,
}

/// A request to stop, with the connection of the operator who gets the answer, if there is one.
type Stop = Option<Arc<UnixStream>>;

pub(super) fn execute(args: &Serve, global: &Global) -> anyhow::Result<()> {
    let (addresses, users) = (args.listening.addresses()?, args.listening.users()?);
    let minimum_block = args.minimum_block.bytes()?;
    let disk = shingle_zoned::open(&args.which.disk)?;
    let live = Arc::new(LiveDisk::open(disk)?);
    warn(&live.status());
    let uuid = Uuid::from_bytes(live.uuid());
    let control = Arc::new(bind_control(uuid, &args.which.disk)?);
    // (After the control socket: a client that can connect can ask for the status.)
    let tls = args.listening.tls("")?;
    let listeners = Listening::bind(&addresses, &users, tls.as_ref())?;
    // (This is the last check that can fail: no SSD is given up for nothing.)
    check_cache(&live, &args.which.disk, args.without_ssd)?;
    let output = Output::begin(global.quiet)?;
    let _flushed = FlushOnDrop(output.lines.clone());
    let of_disk = output.lines.clone();
    let volume = ServedVolume::start(live.clone(), Box::new(move |line| of_disk.say(&line)))?;
    let volume = Arc::new(volume);
    let served = Served {
        name: String::new(),
        description: format!("shingle {uuid}"),
        minimum_block,
        export: volume.clone(),
    };
    let of_clients = output.clone();
    let tell = move |event: Event| of_clients.remark(&event.to_string());
    let server = Server::start_at(listeners, vec![served], Limits::default(), tell)?;
    let (stop, stops) = channel();
    stop_on_signals(output.clone(), stop.clone())?;
    let end = End { watch: Watch::new(&live), step: Arc::default() };
    let of_operators = end.clone();
    control::listen(control.clone(), move |stream| answer(stream, &of_operators, &stop))?;
    for address in server.addresses() {
        output.remark(&format!("{uuid}: served at {address}"));
    }
    for remark in listening::remarks(&server.addresses(), &users, tls.is_some()) {
        output.remark(&remark.to_string());
    }
    if let Some(tls) = tls {
        let of_tls = output.clone();
        listening::look_after(tls, move |text| of_tls.warning(text))?;
    }
    let operator = stops.recv().unwrap_or(None);
    let telling = end.tell(output.clone(), operator.clone());
    end.begins(CLIENTS);
    server.stop(GRACE);
    end.begins(IO);
    if live.backing().is_some_and(Device::is_deleted) {
        output.warning(&deleted(live.name(), "all that it held is lost"));
    }
    let ended = volume.end().map_err(anyhow::Error::from).and_then(|()| Ok(live.close()?));
    control.close();
    telling.end();
    if let Some(operator) = operator {
        let answer = match &ended {
            Ok(()) => Answer::Done(()),
            Err(error) => Answer::Failed(error.to_string()),
        };
        // The operator may be gone.
        let _ = control::say(&operator, &answer);
    }
    ended
}

/// What the end waits for, step by step; before it begins, nothing.
const CLIENTS: u8 = 1;
const IO: u8 = 2;

/// The end of the server, which takes long if the disk hangs.
#[derive(Clone)]
struct End {
    watch: Watch,
    step: Arc<AtomicU8>,
}

impl End {
    fn begins(&self, step: u8) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// What it waits for, if it has begun.
    fn waits_for(&self) -> Option<String> {
        let first = match self.step.load(Ordering::Relaxed) {
            CLIENTS => "requests of clients, which are cut off after 30 s",
            IO => "I/O that is under way",
            _ => return None,
        };
        let pace = self.watch.status().and_then(|status| status.pace);
        let stuck = pace.map(|pace| pace.stuck_seconds).filter(|&seconds| seconds > 0);
        let stuck = stuck.map(|seconds| format!(" (the disk has had one I/O for {seconds} s)"));
        Some(format!(
            "it is ending, and waits for {first}{}; if that takes long the disk hangs: see dmesg",
            stuck.unwrap_or_default()
        ))
    }

    /// Tells it on stderr, and an operator.
    fn tell(&self, output: Output, operator: Stop) -> Telling {
        let end = self.clone();
        Telling::begin(move || {
            let Some(why) = end.waits_for() else { return true };
            output.warning(&why);
            // (The operator may be gone; stderr is not.)
            let _ = operator.as_ref().map(|to| control::say(to, &Answer::Waits(why)));
            true
        })
    }
}

/// The lines of the server on stderr, from any thread. `--quiet` leaves out remarks, but not
/// warnings of a disk that fails.
#[derive(Clone)]
struct Output {
    lines: Lines,
    quiet: bool,
}

impl Output {
    fn begin(quiet: bool) -> io::Result<Output> {
        let lines = Lines::begin(io::stderr(), |lines, lost| {
            let why = "they were not read, or could not be written";
            lines.say(&format!("{lost} lines are lost: {why}"));
        })?;
        Ok(Output { lines, quiet })
    }

    fn remark(&self, text: &str) {
        if !self.quiet {
            self.lines.say(text);
        }
    }

    fn warning(&self, text: &str) {
        self.lines.say(&format!("warning: {text}"));
    }
}

/// Binds the socket where operators ask for this disk.
fn bind_control(uuid: Uuid, disk: &Path) -> anyhow::Result<Listener> {
    let socket = control::socket(uuid);
    control::make_folder(&socket)?;
    Listener::bind(&Address::Unix(socket)).map_err(|error| match error {
        ListenError::Live(_) => anyhow!(
            "{}: a disk of the same UUID {uuid} is served already, of which this is a copy: stop that one first",
            disk.display()
        ),
        other => other.into(),
    })
}

/// Starts a thread that requests a stop at each signal.
fn stop_on_signals(output: Output, stop: Sender<Stop>) -> io::Result<()> {
    let mut ending = Ending::new()?;
    start_thread("shingle-signals", move || {
        loop {
            output.remark(&format!("stopping: {}", ending.wait()));
            // Without a receiver the server is stopping already.
            let _ = stop.send(None);
        }
    })?;
    Ok(())
}

/// Refuses a disk of a cache unless `without_ssd` is given, as its SSD may hold newer data. The
/// disk itself records that its SSD was given up.
fn check_cache(live: &LiveDisk, disk: &Path, without_ssd: bool) -> anyhow::Result<()> {
    let uuid = live.uuid();
    let Some(cache) = live.mark().and_then(|mark| mark.cache(Some(uuid))) else { return Ok(()) };
    if !without_ssd {
        bail!(
            "{0} belongs to cache {cache}, and what was written last may be on its SSD only: serve both with `shingle store \
             serve --cache SSD --disk {0}`, or first let the disk have all with `shingle store detach`; if the SSD is lost, \
             --without-ssd serves what the disk has, and the SSD is refused from then on",
            disk.display()
        );
    }
    live.set_mark(Some(Mark::without_cache(Some(uuid))))?;
    note(&format!("what only the SSD of cache {cache} had is given up"), false);
    Ok(())
}

/// Warns of what is wrong at the start.
fn warn(status: &Status) {
    if let Some(why) = &status.failed {
        note(&format!("warning: it is only read: {why}"), false);
    }
    if status.lacks_spares() {
        note(&format!("warning: no spare zone is left: {NO_SPARE}"), false);
    }
    let lost: u64 = status.lost_ranges.iter().map(|(_, count)| count).sum();
    if lost > 0 {
        let bytes = show_blocks(lost);
        note(
            &format!("warning: {bytes} are lost, and are errors until written anew: see status"),
            false,
        );
    }
}

fn answer(stream: &Arc<UnixStream>, end: &End, stop: &Sender<Stop>) {
    // The operator may be gone.
    let _ = control::serve(stream, |request, answer| match request {
        Request::Status => answer(&match end.watch.status() {
            Some(status) => Answer::Zoned(Box::new(status)),
            None => Answer::Failed("it is busy, and has told nothing yet; ask again".to_owned()),
        }),
        Request::Stop => match end.waits_for() {
            Some(why) => answer(&Answer::Failed(why)),
            None => {
                // Without a receiver the server is stopping already.
                let _ = stop.send(Some(stream.clone()));
                Ok(())
            }
        },
        Request::Measures
        | Request::Set { .. }
        | Request::Flush
        | Request::Replace { .. }
        | Request::Grow
        | Request::Watch
        | Request::Detach => answer(&Answer::Failed("there is no cache before it".to_owned())),
    });
}
