//! What becomes of the pages of an I/O: most I/Os have one, and need no list for it.

use super::Completion;

/// One a page, or one of an I/O without pages.
#[derive(Clone)]
pub(in super::super) enum Completions {
    One(Completion),
    Many(Vec<Completion>),
}

impl Completions {
    pub(super) fn as_slice(&self) -> &[Completion] {
        match self {
            Completions::One(one) => std::slice::from_ref(one),
            Completions::Many(many) => many,
        }
    }

    /// A page follows. `spare` are empty lists.
    pub(super) fn push(&mut self, next: Completion, spare: &mut Vec<Vec<Completion>>) {
        match self {
            Completions::One(one) => {
                let mut many = spare.pop().unwrap_or_default();
                many.extend([*one, next]);
                *self = Completions::Many(many);
            }
            Completions::Many(many) => many.push(next),
        }
    }
}
