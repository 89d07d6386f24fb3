//! `store serve --config FILE`: several caches in one server, each an export with a name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use shingle_nbd::listen::Address;
use shingle_nbd::users::Users;
use shingle_store::store::serve::{CacheOptions, Options};
use shingle_store::ublk::Number;

use crate::Usage;
use crate::commands::listening;
use crate::log::{Format, Level};

/// The contents of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    /// Where clients connect; a service manager may hand over other sockets.
    #[serde(default, deserialize_with = "addresses")]
    listen: Vec<Address>,
    #[serde(default, deserialize_with = "users")]
    allow_users: Users,
    /// A folder with certificate and key, and the clients that may connect: as --tls and
    /// --tls-allow. A reload does not change the folder.
    tls: Option<PathBuf>,
    #[serde(default, deserialize_with = "one_or_many")]
    tls_allow: Vec<String>,
    /// Address for metrics. A reload changes neither this, nor the next option, nor the format of
    /// the log.
    #[serde(default, deserialize_with = "address")]
    metrics: Option<Address>,
    /// A folder that keeps counters over restarts.
    counters: Option<PathBuf>,
    #[serde(default)]
    log: LogOptions,
    /// By name. (Without an export, the error says what to write.)
    #[serde(default)]
    export: BTreeMap<String, Export>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LogOptions {
    pub(super) level: Level,
    pub(super) format: Format,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Export {
    cache: PathBuf,
    disk: PathBuf,
    #[serde(default = "bytes", deserialize_with = "minimum_block")]
    minimum_block: u32,
    #[serde(default)]
    trust_disk: bool,
    /// N of /dev/ublkbN.
    ublk: Option<u32>,
}

/// All options of a server.
pub(super) struct Given {
    pub(super) options: Options,
    pub(super) metrics: Option<Address>,
    pub(super) log: LogOptions,
}

/// Returns the folder that keeps counters over restarts: by default, if metrics are served, the
/// usual folder for state.
pub(super) fn counters(given: Option<PathBuf>, fetched: bool) -> Option<PathBuf> {
    let folder =
        |name| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let usual = || {
        let user = || folder("HOME").map(|home| home.join(".local/state"));
        let state = || folder("XDG_STATE_HOME").or_else(user).map(|state| state.join("shingle"));
        folder("STATE_DIRECTORY").or_else(state)
    };
    given.or_else(|| usual().filter(|_| fetched))
}

impl File {
    /// Reads and checks a file. Errors are one line.
    pub(super) fn read(path: &Path) -> anyhow::Result<File> {
        crate::config::read::<File>(path)?.checked(path)
    }

    fn checked(self, path: &Path) -> anyhow::Result<File> {
        let file = self;
        let wrong = |why: &str| Usage(format!("{}: {why}", path.display()));
        if file.export.is_empty() {
            bail!(wrong("nothing is served; write [export.NAME] with `cache` and `disk`"));
        }
        if let Some(name) = file.export.keys().find(|name| !is_name(name)) {
            bail!(wrong(&format!(
                "{name:?} is no name of an export: it has 1 to 255 bytes and no control characters"
            )));
        }
        if let Some(error) =
            file.listen.iter().find_map(|a| listening::allowed(a, file.tls.is_some()).err())
        {
            bail!(wrong(&error.to_string()));
        }
        listening::check_distinct(file.listen.iter().chain(&file.metrics))
            .map_err(|why| wrong(&why))?;
        if file.tls.is_none() && !file.tls_allow.is_empty() {
            bail!(wrong(
                "`tls-allow` says who may connect with certificates, and `tls` is not given"
            ));
        }
        Ok(file)
    }

    pub(super) fn given(&self) -> anyhow::Result<Given> {
        let (metrics, log) = (self.metrics.clone(), self.log);
        let exports: Vec<&str> = self.export.keys().map(String::as_str).collect();
        let tls =
            self.tls.as_deref().map(|folder| listening::tls(folder, &self.tls_allow, &exports));
        Ok(Given { options: Options { tls: tls.transpose()?, ..self.options() }, metrics, log })
    }

    fn options(&self) -> Options {
        let caches = self.export.iter().map(|(name, export)| CacheOptions {
            name: name.clone(),
            ssd: export.cache.clone(),
            disk: export.disk.clone(),
            minimum_block: export.minimum_block,
            trust_disk: export.trust_disk,
            control: None,
            ublk: export.ublk.map(Number),
        });
        Options {
            caches: caches.collect(),
            addresses: self.listen.clone(),
            users: self.allow_users.clone(),
            tls: None,
            counters: counters(self.counters.clone(), self.metrics.is_some()),
        }
    }
}

/// Reads any text as such a file. Errors are one line.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzzed(text: &str) {
    let path = Path::new("store.toml");
    let read = crate::config::parse::<File>(text, path).and_then(|file| file.checked(path));
    match read {
        Ok(file) => {
            let Options { caches, .. } = file.options();
            assert!(!caches.is_empty() && caches.iter().all(|cache| is_name(&cache.name)));
        }
        Err(error) => {
            let line = format!("{error:#}");
            assert!(line.starts_with("store.toml: ") && !line.contains('\n'), "{line}");
        }
    }
}

/// (An empty name stands for a single export, whatever its name.)
fn is_name(name: &str) -> bool {
    (1..256).contains(&name.len()) && !name.chars().any(char::is_control)
}

fn bytes() -> u32 {
    1
}

fn minimum_block<'de, D: Deserializer<'de>>(value: D) -> Result<u32, D::Error> {
    let bytes = u32::deserialize(value)?;
    listening::minimum_block(bytes)
        .map_err(|why| D::Error::custom(format!("minimum-block = {bytes}: {why}")))
}

fn address<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Address>, D::Error> {
    listening::metrics_address(&String::deserialize(value)?).map(Some).map_err(D::Error::custom)
}

/// One address, or a list of them.
fn addresses<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Address>, D::Error> {
    let texts = one_or_many(value)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

fn users<'de, D: Deserializer<'de>>(value: D) -> Result<Users, D::Error> {
    let names = one_or_many(value)?.join(",");
    listening::users(Some(&names).filter(|names| !names.is_empty()).map(String::as_str))
        .map_err(D::Error::custom)
}

fn one_or_many<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text, or a list of texts")]
    enum Given {
        One(One),
        Many(Vec<One>),
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum One {
        Text(String),
        Number(u32),
    }
    let text = |one| match one {
        One::Text(text) => text,
        One::Number(number) => number.to_string(),
    };
    Ok(match Given::deserialize(value)? {
        Given::One(one) => vec![text(one)],
        Given::Many(many) => many.into_iter().map(text).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<File, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.toml");
        std::fs::write(&path, text).expect("written");
        File::read(&path).map_err(|error| {
            let told = error.to_string();
            told.strip_prefix(&format!("{}: ", path.display())).expect("where").to_owned()
        })
    }

    #[test]
    fn a_file_has_exports_by_name() {
        let file = read(
            "listen = [\"unix:/run/shingle/nbd.sock\", \"tcp:127.0.0.1:10809\"]\n\
             allow-users = [\"root\", 1001]\n\
             [log]\nlevel = \"warn\"\n\
             [export.home]\ncache = \"/dev/fast\"\ndisk = \"/dev/slow\"\n\
             [export.\"my mail\"]\ncache = \"a\"\ndisk = \"b\"\nminimum-block = 4096\ntrust-disk = true\n",
        );
        let file = file.expect("right");
        assert_eq!(file.log.level, Level::Warn);
        let Options { caches, addresses, users, .. } = file.options();
        assert_eq!(users, Users::Own(vec![0, 1001]));
        assert_eq!(addresses.len(), 2);
        let [home, mail] = &caches[..] else { panic!("{caches:?}") };
        assert_eq!((&*home.name, &*home.ssd), ("home", Path::new("/dev/fast")));
        assert_eq!((home.minimum_block, home.trust_disk), (1, false));
        assert_eq!((&*mail.name, mail.minimum_block, mail.trust_disk), ("my mail", 4096, true));
        let one = "listen = \"unix:x\"\nallow-users = \"any\"\n[export.x]\ncache=\"a\"\ndisk=\"b\"";
        assert_eq!(read(one).expect("right").options().users, Users::Any);
    }

    #[test]
    fn what_is_wrong_is_one_line_that_says_where() {
        let export = "[export.x]\ncache = \"a\"\ndisk = \"b\"\n";
        for (text, told) in [
            ("", "nothing is served; write [export.NAME] with `cache` and `disk`"),
            ("[export]\n", "nothing is served; write [export.NAME]"),
            ("[export.x]\ncache = \"a\"\n", "line 1: missing field `disk`"),
            (
                &format!("listn = \"x\"\n{export}"),
                "line 1: there is no option `listn`; the nearest are `listen`",
            ),
            (&format!("listen = \"here\"\n{export}"), "line 1: \"here\" is no address"),
            (&format!("\nlisten = \"tcp:192.0.2.1\"\n{export}"), "192.0.2.1:10809 is refused"),
            (&format!("listen = [[1]]\n{export}"), "line 1: expected a text, or a list of texts"),
            (
                &format!("allow-users = \"nobody-of-this-name\"\n{export}"),
                "line 1: there is no user",
            ),
            (
                &format!("{export}minimum-block = 3\n"),
                "line 4: minimum-block = 3: a power of two up to 4096",
            ),
            (&format!("{export}[export.x]\n"), "line 4: "),
            (
                &format!("{export}[export.\"\"]\ncache=\"a\"\ndisk=\"b\""),
                "\"\" is no name of an export",
            ),
            (&format!("{export}[log]\nlevel = \"loud\"\n"), "line 5: "),
            (
                &format!("listen = \"unix:x\"\nmetrics = \"unix:./x\"\n{export}"),
                "unix:./x is named twice: clients and metrics need",
            ),
        ] {
            let error = read(text).expect_err(told);
            assert!(error.starts_with(told) && !error.contains('\n'), "{text:?}: {error}");
        }
    }
}
