//! Losses: a flush of the disk or the SSD failed, and acknowledged writes may be lost. The next FLUSH
//! of each connection reports it, once, as fsync does once on each open file of Linux.

use hashbrown::{HashMap, HashSet};

use crate::bugs::{Bug, Seeded};

/// A connection of a client, by a number that is never reused. Number 0 is this process itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Connection(pub u64);

/// Losses, and how many of them were reported to each connection.
#[derive(Clone, Default)]
pub(super) struct Losses {
    count: u64,
    /// The number of losses that were reported to any connection.
    reported: u64,
    /// For each open connection, the number of losses that were reported to it, or came before it.
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

    /// The number of losses that were reported to a connection, or came before it. Opens the
    /// connection if needed: tests, and programs in the same process, need not do so.
    pub(super) fn reported_to(&mut self, connection: Connection) -> u64 {
        if let Some((last, reported)) = self.last
            && last == connection
        {
            return reported;
        }
        // A loss that was reported to no connection is reported to the next one that connects.
        let first = if self.reported < self.count { self.count - 1 } else { self.count };
        let reported = *self.connections.entry(connection).or_insert(first);
        self.last = Some((connection, reported));
        reported
    }

    /// For a seeded bug.
    pub(super) fn writes(&mut self, connection: Connection) {
        self.writers.insert(connection);
    }

    pub(super) fn has_written(&self, connection: Connection) -> bool {
        self.writers.contains(&connection)
    }

    /// Opens a connection. Losses from now on are reported to it, and an earlier one that was
    /// reported to no other connection.
    pub(super) fn connection_opened(&mut self, connection: Connection, bugs: Seeded) {
        self.reported_to(connection);
        if bugs.has(Bug::OpenerUntold) {
            self.connections.insert(connection, self.count);
            self.last = None;
        }
    }

    pub(super) fn connection_closed(&mut self, connection: Connection) {
        self.connections.remove(&connection);
        self.last = None;
    }

    /// Called when a FLUSH is about to be answered, with the number of losses that were reported to
    /// its connection when it arrived. Returns whether it has to report that writes may be lost.
    pub(super) fn must_report(
        &mut self,
        connection: Connection,
        reported: u64,
        bugs: Seeded,
    ) -> bool {
        if reported == self.count {
            return false;
        }
        self.last = None;
        // A closed connection gets no reply: the loss is reported to another one.
        if let Some(reported) = self.connections.get_mut(&connection) {
            (*reported, self.reported) = (self.count, self.count);
        }
        if bugs.has(Bug::ToldOneForAll) {
            self.connections.values_mut().for_each(|reported| *reported = self.count);
        }
        true
    }
}

#[cfg(feature = "bugs")]
impl Losses {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Hashes everything that decides which connections get a report.
    pub(super) fn hash_state<H: std::hash::Hasher + Default>(&self, into: &mut H) {
        use std::hash::Hash;

        let Losses { count, reported, connections, last: _, writers } = self;
        (count - reported).hash(into);
        super::super::state::unordered(connections.iter(), into, |(connection, reported), into| {
            (connection, count - reported).hash(into);
        });
        super::super::state::unordered(writers.iter(), into, |writer, into| writer.hash(into));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The connection is closed while its FLUSH is in flight, which fails later: the loss is
    /// reported to the next one that connects.
    #[test]
    fn a_report_to_a_closed_connection_does_not_count() {
        let (mut losses, bugs) = (Losses::default(), Seeded::default());
        let (one, other, third) = (Connection(1), Connection(2), Connection(3));
        losses.connection_opened(one, bugs);
        let reported = losses.reported_to(one);
        losses.connection_closed(one);
        losses.add_loss();
        assert!(losses.must_report(one, reported, bugs));
        losses.connection_opened(other, bugs);
        let reported = losses.reported_to(other);
        assert!(losses.must_report(other, reported, bugs), "no report has arrived before");
        losses.connection_opened(third, bugs);
        let reported = losses.reported_to(third);
        assert!(!losses.must_report(third, reported, bugs), "the other one has it");
    }
}
