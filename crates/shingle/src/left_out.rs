//! Commands and options that a build may leave out, and the features that add them.

use clap::error::{ContextKind, ContextValue};

/// A feature of this crate, whether it is enabled, and its commands and options.
type Feature = (&'static str, bool, &'static [&'static str]);

const FEATURES: &[Feature] = &[
    ("store", cfg!(store), &["replay", "follow", "store", "model", "probe", "zoned"]),
    ("papers", cfg!(feature = "papers"), &["reproduce"]),
    ("manual", cfg!(feature = "manual"), &["completions", "man"]),
    ("pictures", cfg!(feature = "pictures"), &["--html", "--svg"]),
    ("png", cfg!(feature = "png"), &["--png"]),
    ("parquet", cfg!(feature = "parquet"), &["--parquet"]),
];

/// Returns a hint if the command line uses what this build leaves out.
pub(crate) fn hint(error: &clap::Error) -> Option<String> {
    let named = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let word = named.into_iter().find_map(|kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    })?;
    let (feature, ..) =
        FEATURES.iter().find(|(_, there, words)| !there && words.contains(&word))?;
    if cfg!(all(feature = "store", not(store))) && *feature == "store" {
        return Some(format!("`{word}` needs Linux"));
    }
    Some(format!(
        "`{word}` was left out of this build; the feature `{feature}` of the crate shingle puts it in"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn what_features_have_is_on_the_command_line_and_nothing_else_is() {
        let command = Arguments::command();
        let run = command.find_subcommand("run").expect("it is always there");
        for &(feature, there, words) in FEATURES {
            for word in words {
                let found = match word.strip_prefix("--") {
                    Some(option) => run.get_arguments().any(|arg| arg.get_long() == Some(option)),
                    None => command.find_subcommand(word).is_some(),
                };
                assert_eq!(found, there, "{word} of {feature}");
                let told =
                    Arguments::command().try_get_matches_from(match word.strip_prefix("--") {
                        Some(_) => vec!["shingle", "run", word, "x"],
                        None => vec!["shingle", word],
                    });
                let hint = told.err().and_then(|error| hint(&error));
                assert_eq!(hint.is_some(), !there, "{word} of {feature}: {hint:?}");
            }
        }
    }
}
