//! The protocols between a service and its manager: those of systemd, which others implement, too.

use std::thread;
use std::time::Duration;

use listenfd::ListenFd;
use sd_notify::NotifyState;
use shingle_device::start_thread;
use shingle_nbd::listen::Listener;
use shingle_store::store::serve::Roster;

/// Returns the sockets that the service manager has opened for this process.
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

/// Notifies the service manager, if there is one.
fn tell(states: &[NotifyState<'_>]) {
    // (No manager, or one that does not listen, is no error.)
    let _ = sd_notify::notify(states);
}

/// Notifies that clients may connect.
pub(super) fn ready(roster: &Roster) {
    tell(&[NotifyState::Ready, NotifyState::Status(&status(roster))]);
}

/// Describes which exports are served.
fn status(roster: &Roster) -> String {
    let (served, missing) = (roster.served(), roster.not_served());
    let word = if served == 1 { "export" } else { "exports" };
    let names: Vec<_> = missing.iter().map(|one| one.export.as_str()).collect();
    match names.is_empty() {
        true => format!("serving {served} {word}"),
        false => format!("serving {served} {word}; not served: {}", names.join(", ")),
    }
}

/// Notifies that all exports are served as before.
pub(super) fn still_ready() {
    tell(&[NotifyState::Ready]);
}

/// Notifies that options are being read again, until [`ready`].
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// Notifies that the process is stopping.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Saves counters every minute, logs devices that hang, and notifies which exports are served, also if no client asks.
pub(super) fn look_after(roster: Roster) -> std::io::Result<()> {
    const EVERY: Duration = Duration::from_secs(60);
    start_thread("shingle-look", move || {
        loop {
            thread::sleep(EVERY);
            roster.save_and_check();
            tell(&[NotifyState::Status(&status(&roster))]);
        }
    })?;
    Ok(())
}

/// Starts watchdog notifications: two in each watchdog period, as long as every store answers.
pub(super) fn watch(roster: Roster) -> std::io::Result<()> {
    let Some(within) = sd_notify::watchdog_enabled() else { return Ok(()) };
    let step = (within / 2).max(Duration::from_millis(1));
    start_thread("shingle-watchdog", move || {
        loop {
            if roster.all_are_responsive(step) {
                tell(&[NotifyState::Watchdog]);
            }
            thread::sleep(step);
        }
    })?;
    Ok(())
}
