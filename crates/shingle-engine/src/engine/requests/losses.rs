//! Which connections were told that acknowledged writes may be lost, because a flush of the disk or
//! the SSD failed. Only a FLUSH tells, once on each connection, as fsync does once on each open
//! file of Linux.

use hashbrown::{HashMap, HashSet};

use crate::bugs::{Bug, Seeded};

/// A connection of a client, by a number that is never reused. Number 0 is this process itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Connection(pub u64);

/// Losses, and how many of them each connection was told of.
#[derive(Clone, Default)]
pub(super) struct Losses {
    /// The number of losses so far.
    count: u64,
    /// The number of losses that any connection was told of.
    known: u64,
    /// The number of losses that each open connection was told of, or that came before it.
    connections: HashMap<Connection, u64>,
    /// The connection that was looked up last, with its number.
    last: Option<(Connection, u64)>,
    /// For a seeded bug: the connections that have written anything.
    writers: HashSet<Connection>,
}

impl Losses {
    /// Counts a loss: acknowledged writes may be lost.
    pub(super) fn add_loss(&mut self) {
        self.count += 1;
    }

    /// The number of losses that a command arriving now knows of. Opens the connection if needed:
    /// tests, and programs in the same process, need not do so.
    pub(super) fn known_by(&mut self, connection: Connection) -> u64 {
        if let Some((last, told)) = self.last
            && last == connection
        {
            return told;
        }
        // A loss that no connection was told of is reported to the next one that connects.
        let first = if self.known < self.count { self.count - 1 } else { self.count };
        let told = *self.connections.entry(connection).or_insert(first);
        self.last = Some((connection, told));
        told
    }

    /// For a seeded bug.
    pub(super) fn writes(&mut self, connection: Connection) {
        self.writers.insert(connection);
    }

    pub(super) fn has_written(&self, connection: Connection) -> bool {
        self.writers.contains(&connection)
    }

    /// Opens a connection. It is told of losses from now on, and of an earlier one that no other
    /// connection was told of.
    pub(super) fn connection_opened(&mut self, connection: Connection, bugs: Seeded) {
        self.known_by(connection);
        if bugs.has(Bug::OpenerUntold) {
            self.connections.insert(connection, self.count);
            self.last = None;
        }
    }

    /// Closes a connection.
    pub(super) fn connection_closed(&mut self, connection: Connection) {
        self.connections.remove(&connection);
        self.last = None;
    }

    /// Called when a FLUSH is about to be answered that knew of `knew` losses when it arrived.
    /// Returns whether it has to report that writes may be lost.
    pub(super) fn must_report(&mut self, connection: Connection, knew: u64, bugs: Seeded) -> bool {
        if knew == self.count {
            return false;
        }
        self.last = None;
        // A closed connection hears nothing: another one has to be told.
        if let Some(told) = self.connections.get_mut(&connection) {
            (*told, self.known) = (self.count, self.count);
        }
        if bugs.has(Bug::ToldOneForAll) {
            self.connections.values_mut().for_each(|told| *told = self.count);
        }
        true
    }
}

#[cfg(feature = "bugs")]
impl Losses {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Hashes everything that decides which connections are told.
    pub(super) fn hash_state<H: std::hash::Hasher + Default>(&self, into: &mut H) {
        use std::hash::Hash;

        let Losses { count, known, connections, last: _, writers } = self;
        (count - known).hash(into);
        super::super::state::unordered(connections.iter(), into, |(connection, told), into| {
            (connection, count - told).hash(into);
        });
        super::super::state::unordered(writers.iter(), into, |writer, into| writer.hash(into));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The connection is closed while its FLUSH is in flight, which fails later: the next one to
    /// connect has to be told.
    #[test]
    fn who_was_cut_off_is_not_told() {
        let (mut losses, bugs) = (Losses::default(), Seeded::default());
        let (one, other, third) = (Connection(1), Connection(2), Connection(3));
        losses.connection_opened(one, bugs);
        let knew = losses.known_by(one);
        losses.connection_closed(one);
        losses.add_loss();
        assert!(losses.must_report(one, knew, bugs));
        losses.connection_opened(other, bugs);
        let knew = losses.known_by(other);
        assert!(losses.must_report(other, knew, bugs), "nobody was told before");
        losses.connection_opened(third, bugs);
        let knew = losses.known_by(third);
        assert!(!losses.must_report(third, knew, bugs), "the other one was");
    }
}
