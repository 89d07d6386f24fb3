//! Who knows that answered writes may be lost, because a flush of the disk failed, or the SSD did. Only a
//! FLUSH tells, once on each connection, as fsync does once on each open file of Linux.

use hashbrown::{HashMap, HashSet};

use crate::bugs::{Bug, Seeded};

/// A connection of a client, by a number that no other one ever has. Number 0 is this process itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Connection(pub u64);

/// Losses, and which of them each connection was told of.
#[derive(Clone, Default)]
pub(super) struct Losses {
    /// Losses so far.
    count: u64,
    /// Somebody was told of losses up to this one.
    known: u64,
    /// Losses that each open connection was told of, or that are not its affair.
    connections: HashMap<Connection, u64>,
    /// Of them the one that was asked about last.
    last: Option<(Connection, u64)>,
    /// For a seeded bug: who has written anything.
    writers: HashSet<Connection>,
}

impl Losses {
    /// Answered writes may be lost from now on.
    pub(super) fn lost(&mut self) {
        self.count += 1;
    }

    /// What a command that comes now knows of losses. One more reason to open the connection: tests and
    /// programs in the same process need not say that they are there.
    pub(super) fn knows(&mut self, connection: Connection) -> u64 {
        if let Some((last, told)) = self.last
            && last == connection
        {
            return told;
        }
        // A loss that nobody was told of is told to whoever comes next.
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

    /// A client has connected. It is told of losses from now on, and of one before that nobody was told of.
    pub(super) fn opened(&mut self, connection: Connection, bugs: Seeded) {
        self.knows(connection);
        if bugs.has(Bug::OpenerUntold) {
            self.connections.insert(connection, self.count);
            self.last = None;
        }
    }

    /// It has left.
    pub(super) fn closed(&mut self, connection: Connection) {
        self.connections.remove(&connection);
        self.last = None;
    }

    /// A FLUSH is about to be answered that knew of so many losses when it came. Returns whether it has
    /// to say that writes may be lost.
    pub(super) fn tells(&mut self, connection: Connection, knew: u64, bugs: Seeded) -> bool {
        if knew == self.count {
            return false;
        }
        self.last = None;
        // (One that was cut off hears nothing: somebody else has to be told.)
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

    /// All that decides who is told from now on.
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

    /// Its FLUSH was under way when it was cut off, and failed later: whoever connects then has to be told.
    #[test]
    fn who_was_cut_off_is_not_told() {
        let (mut losses, bugs) = (Losses::default(), Seeded::default());
        let (one, other, third) = (Connection(1), Connection(2), Connection(3));
        losses.opened(one, bugs);
        let knew = losses.knows(one);
        losses.closed(one);
        losses.lost();
        assert!(losses.tells(one, knew, bugs));
        losses.opened(other, bugs);
        let knew = losses.knows(other);
        assert!(losses.tells(other, knew, bugs), "nobody was told before");
        losses.opened(third, bugs);
        let knew = losses.knows(third);
        assert!(!losses.tells(third, knew, bugs), "the other one was");
    }
}
