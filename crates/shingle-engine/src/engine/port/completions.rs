//! The completions of the pages of an I/O. Most I/Os have one page, and need no list for it.

use super::Completion;

/// One completion a page, or one for an I/O without pages.
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

    /// Adds a page. `spare` are empty lists to use.
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
