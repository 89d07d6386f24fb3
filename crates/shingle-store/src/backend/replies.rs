//! Who waits for an answer, and the threads that send what was answered: each is woken once for many replies.

use hashbrown::HashMap;
use shingle_engine::Reply;
use shingle_nbd::export::Wake;

use super::handle::Answer;

/// Replies that wait at most while there is more to do.
const UNSENT_MAX: usize = 16;

/// Answers that are due, and replies that are on their way.
#[derive(Default)]
pub(super) struct Replies {
    answers: HashMap<u64, Answer>,
    numbers: u64,
    /// Who sends what was given since replies were sent last.
    wakes: Vec<Wake>,
    unsent: usize,
}

impl Replies {
    /// Somebody waits; returns the number of his command.
    pub(super) fn expect(&mut self, answer: Answer) -> u64 {
        let number = self.numbers;
        self.numbers += 1;
        self.answers.insert(number, answer);
        number
    }

    /// Gives what was answered to those who wait for it.
    pub(super) fn give(&mut self, replies: &mut Vec<Reply>) {
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

    /// What was given goes out. To be called before the thread may sleep, or takes its time.
    pub(super) fn send(&mut self) {
        self.wakes.clear();
        self.unsent = 0;
    }
}
