//! Pending replies, and the threads that send them to clients: each is woken once for many replies.

use hashbrown::HashMap;
use shingle_engine::Reply;
use shingle_nbd::export::Wake;

use super::handle::Answer;

/// The highest number of replies that are held back while there is more to do.
const UNSENT_MAX: usize = 16;

/// Callbacks of pending commands, and threads to be woken.
#[derive(Default)]
pub(super) struct Replies {
    answers: HashMap<u64, Answer>,
    numbers: u64,
    /// Wakes of the threads that send the replies delivered since the last wake-up.
    wakes: Vec<Wake>,
    unsent: usize,
}

impl Replies {
    /// Registers the callback of a command, and returns the number for the command.
    pub(super) fn register(&mut self, answer: Answer) -> u64 {
        let number = self.numbers;
        self.numbers += 1;
        self.answers.insert(number, answer);
        number
    }

    /// Delivers replies to their callbacks.
    pub(super) fn deliver(&mut self, replies: &mut Vec<Reply>) {
        for reply in replies.drain(..) {
            if let Some(answer) = self.answers.remove(&reply.id) {
                self.wakes.extend(answer(reply.result));
                self.unsent += 1;
            }
        }
        if self.unsent >= UNSENT_MAX {
            self.send();
        }
    }

    /// Wakes the sending threads. Call it before the thread may sleep, or before long work.
    pub(super) fn send(&mut self) {
        self.wakes.clear();
        self.unsent = 0;
    }
}
