//! Remarks in a result, each sentence with the runs it is about.

use schemars::JsonSchema;
use serde::Serialize;

/// A verdict, a warning or a note. Runs are numbers of entries of `runs`, from 0.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Said {
    /// The kind of remark.
    pub kind: SaidKind,
    /// One sentence or a few, on one line.
    pub text: String,
    /// The runs that are compared with each other: those of one seed, drive and cache size. Empty
    /// for a note.
    pub compared: Vec<usize>,
    /// The runs it is about: for a verdict all that are compared, for a warning those with doubtful
    /// figures. Empty for a note on what was not run.
    pub runs: Vec<usize>,
}

/// Kinds of remarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Kind")]
pub enum SaidKind {
    /// Which run is best, by how much, and why; or that this cannot be said.
    Verdict,
    /// Why figures are doubtful.
    Warning,
    /// How runs were set up: what was scaled or left out.
    Note,
}

/// A note on how runs are set up, before they begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One sentence.
    pub text: String,
    /// Numbers of the jobs it is about. Empty if it is about what is not run.
    pub jobs: Vec<usize>,
}

impl From<Note> for Said {
    fn from(note: Note) -> Said {
        Said { kind: SaidKind::Note, text: note.text, compared: Vec::new(), runs: note.jobs }
    }
}

/// Notes, each text only once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(pub Vec<Note>);

impl Notes {
    /// Adds a note about `jobs`, or `jobs` to the note that says the same.
    pub fn add(&mut self, text: String, jobs: impl IntoIterator<Item = usize>) {
        let at = self.0.iter().position(|note| note.text == text).unwrap_or_else(|| {
            self.0.push(Note { text, jobs: Vec::new() });
            self.0.len() - 1
        });
        let known = &mut self.0[at].jobs;
        known.extend(jobs);
        known.sort_unstable();
        known.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_twice_stands_once_with_all_its_jobs() {
        let mut notes = Notes::default();
        notes.add("scaled".into(), 0..2);
        notes.add("left out".into(), []);
        notes.add("scaled".into(), 1..4);
        let shown: Vec<(&str, &[usize])> =
            notes.0.iter().map(|note| (note.text.as_str(), &note.jobs[..])).collect();
        assert_eq!(shown, [("scaled", &[0, 1, 2, 3][..]), ("left out", &[])]);
    }
}
