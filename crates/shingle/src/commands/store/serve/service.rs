//! What a service manager is told, and what it hands over: the protocols of systemd, which others speak, too.

use std::thread;
use std::time::Duration;

use listenfd::ListenFd;
use sd_notify::NotifyState;
use shingle_device::start_thread;
use shingle_nbd::listen::Listener;
use shingle_store::store::serve::Roster;

/// Sockets that were made before the process was.
pub(super) fn inherited() -> anyhow::Result<Vec<Listener>> {
    let mut sockets = ListenFd::from_env();
    let mut listeners = Vec::new();
    for at in 0..sockets.len() {
        let listener = match sockets.take_unix_listener(at) {
            Ok(Some(socket)) => Listener::inherit_unix(socket)?,
            _ => match sockets.take_tcp_listener(at)? {
                Some(socket) => Listener::inherit_tcp(socket)?,
                None => continue,
            },
        };
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Tells whoever started the process, if that wants to know.
fn tell(states: &[NotifyState<'_>]) {
    // (Nobody to tell is not worth a word, nor is one who does not listen.)
    let _ = sd_notify::notify(states);
}

/// All is served.
pub(super) fn ready(exports: usize) {
    let word = if exports == 1 { "export" } else { "exports" };
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("serving {exports} {word}"))]);
}

/// All is served as before.
pub(super) fn still_ready() {
    tell(&[NotifyState::Ready]);
}

/// Options are read again, until [`ready`].
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// It ends.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Counters are saved now and then, and devices that hang are told of, also if nobody asks.
pub(super) fn look_after(roster: Roster) -> std::io::Result<()> {
    const EVERY: Duration = Duration::from_secs(60);
    start_thread("shingle-look", move || {
        loop {
            thread::sleep(EVERY);
            roster.look_after();
        }
    })?;
    Ok(())
}

/// From now on it is told that the process is well, as long as every store answers, twice in the time in which it
/// wants to hear that.
pub(super) fn watch(roster: Roster) -> std::io::Result<()> {
    let Some(within) = sd_notify::watchdog_enabled() else { return Ok(()) };
    let step = (within / 2).max(Duration::from_millis(1));
    start_thread("shingle-watchdog", move || {
        loop {
            if roster.all_answer(step) {
                tell(&[NotifyState::Watchdog]);
            }
            thread::sleep(step);
        }
    })?;
    Ok(())
}
