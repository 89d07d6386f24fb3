//! The memory for payload that all connections of a server share, beyond what each has for itself.
//! A connection that needs some waits in line, and reads nothing meanwhile; no other connection
//! waits for it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a waiting connection looks for an idle one that can give way.
const RECHECK_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Pool {
    bytes: i64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Negative while a request that is larger than the pool is accepted alone.
    free: i64,
    /// The waiting connections, in order.
    queue: VecDeque<u64>,
}

/// What one connection needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// This number of bytes, now or later.
    Bytes(u64),
    /// Nothing any more: the connection is abandoned.
    Nothing,
}

impl Pool {
    pub(crate) fn new(bytes: u64) -> Pool {
        let bytes = bytes as i64;
        let state = State { free: bytes, queue: VecDeque::new() };
        Pool { bytes, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what a connection needs, which may decrease while it waits. `want` is called again
    /// after each change, and `took` with the result before it can change once more. `stalls` is
    /// called repeatedly while it waits, the first time at once. False if the connection needs
    /// nothing any more.
    ///
    /// `want` and `took` are called under the lock of the pool: a caller must not hold a lock that
    /// they take.
    pub(crate) fn take(
        &self,
        connection: u64,
        want: impl Fn() -> Want,
        took: impl FnOnce(u64),
        mut stalls: impl FnMut(),
    ) -> bool {
        let mut state = self.lock();
        let mut looks = true;
        loop {
            let wanted = want();
            let is_next = state.queue.front().is_none_or(|first| *first == connection);
            // A request larger than the pool is accepted alone.
            let fits = |bytes: u64| bytes as i64 <= state.free || state.free == self.bytes;
            let taken = match wanted {
                Want::Nothing => None,
                // The connection's own memory has become free.
                Want::Bytes(0) => Some(0),
                Want::Bytes(bytes) if is_next && fits(bytes) => Some(bytes),
                Want::Bytes(_) => {
                    if !state.queue.contains(&connection) {
                        state.queue.push_back(connection);
                    }
                    if std::mem::take(&mut looks) {
                        drop(state);
                        stalls();
                        state = self.lock();
                        continue;
                    }
                    let waited = self.changed.wait_timeout(state, RECHECK_EVERY);
                    let timed_out;
                    (state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
                    looks = timed_out.timed_out();
                    continue;
                }
            };
            if let Some(at) = state.queue.iter().position(|one| *one == connection) {
                state.queue.remove(at);
                // The next one in line may find enough, too.
                self.changed.notify_all();
            }
            let Some(taken) = taken else { return false };
            state.free -= taken as i64;
            took(taken);
            return true;
        }
    }

    /// Returns memory, and wakes the waiting connections, which check what they need.
    pub(crate) fn give_back(&self, bytes: u64) {
        let mut state = self.lock();
        state.free += bytes as i64;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn take(pool: &Pool, connection: u64, bytes: u64) -> bool {
        pool.take(connection, || Want::Bytes(bytes), |took| assert_eq!(took, bytes), || {})
    }

    fn free(pool: &Pool) -> i64 {
        pool.lock().free
    }

    /// Waits until these connections stand in line.
    fn line(pool: &Pool, wanted: &[u64]) {
        while pool.lock().queue != wanted {
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_wants_much_is_not_overtaken_by_who_wants_little() {
        let pool = Pool::new(10);
        assert!(take(&pool, 1, 6));
        std::thread::scope(|scope| {
            let large = scope.spawn(|| take(&pool, 2, 8));
            line(&pool, &[2]);
            let small = scope.spawn(|| take(&pool, 3, 1));
            line(&pool, &[2, 3]);
            pool.give_back(2);
            line(&pool, &[2, 3]);
            pool.give_back(4);
            assert!(large.join().expect("no panic") && small.join().expect("no panic"));
        });
        assert_eq!((free(&pool), pool.lock().queue.len()), (1, 0));
    }

    #[test]
    fn who_wants_more_than_there_is_comes_alone() {
        let pool = Pool::new(10);
        assert!(take(&pool, 1, 25));
        std::thread::scope(|scope| {
            let next = scope.spawn(|| take(&pool, 2, 1));
            line(&pool, &[2]);
            pool.give_back(15);
            line(&pool, &[2]);
            pool.give_back(10);
            assert!(next.join().expect("no panic"));
        });
        assert_eq!(free(&pool), 9);
    }

    #[test]
    fn who_waits_may_find_room_of_its_own_or_give_up() {
        let pool = Pool::new(10);
        assert!(take(&pool, 1, 10));
        for last in [Want::Bytes(0), Want::Nothing] {
            let (asked, stalls) = (Cell::new(0), Cell::new(0));
            let want = || {
                asked.set(asked.get() + 1);
                if asked.get() < 3 { Want::Bytes(4) } else { last }
            };
            let count = || stalls.set(stalls.get() + 1);
            assert_eq!(
                pool.take(2, want, |took| assert_eq!(took, 0), count),
                last != Want::Nothing
            );
            assert!(stalls.get() >= 1 && pool.lock().queue.is_empty());
        }
        assert_eq!(free(&pool), 0);
    }
}
