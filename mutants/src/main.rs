//! Mistakes of a kind that any program can have, put into a crate all at once: each asks an environment variable
//! whether it is to be made. So a crate is built once, and its tests are run once for each mistake. One that no test
//! notices, a survivor, is a line that nothing holds.
//!
//! ```text
//! shingle-mutants make CRATE FILE…       changes these files of the crate (below src) where they are
//! shingle-mutants run LIST REASONS PROGRAM TEST… [-- PROGRAM TEST…]…
//!                                        runs programs of tests for each, test by test, until one fails
//! ```
//!
//! `.ci/mutants` does both, with a copy of the project.

mod make;
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["make", krate, ref files @ ..] if !files.is_empty() => make::make(krate, files),
        ["run", list, reasons, ref rest @ ..]
            if rest.split(|word| *word == "--").all(|one| one.len() > 1) =>
        {
            let programs = rest.split(|word| *word == "--").map(|one| (one[0], &one[1..]));
            run::run(list, reasons, &programs.collect::<Vec<_>>())
        }
        _ => {
            eprintln!(
                "usage: shingle-mutants make CRATE FILE… | run LIST REASONS PROGRAM TEST… [-- PROGRAM TEST…]…"
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(1)
        }
    }
}
