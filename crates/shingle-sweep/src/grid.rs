//! The axes of a sweep, from options and `--vary`, and the cells they span.

use shingle_core::params::nearest;
use shingle_core::registry::Registry;
use shingle_result::{Axis, Pacing};
use shingle_sim::experiment::{Assignment, DEFAULT_POLICIES, Options, check_names};
use shingle_translation::translations;

use crate::SweepError;
use crate::values::{Plain, expand};

/// Axes that are no settings, outermost first. Cache and policy come after the settings, so that
/// what is compared most often is adjacent.
const OUTER: [&str; 6] = ["trace", "seed", "pacing", "drive", "translation", "ssd"];
const INNER: [&str; 2] = ["cache", "policy"];

const MOST_CELLS: usize = 100_000;

/// All axes, also those with a single value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) axes: Vec<Axis>,
    /// For each axis, whether the user did not name its values, but `all` of them or none: values
    /// that work with nothing are left out then.
    pub(crate) unnamed: Vec<bool>,
}

impl Grid {
    /// Creates the axes of `options`, with the values of `--vary` in place of theirs.
    pub(crate) fn new(
        options: &Options,
        trace: &str,
        vary: &[String],
        registry: &Registry,
    ) -> Result<Grid, SweepError> {
        let varied = parse(vary).map_err(SweepError::Usage)?;
        let settings = varied.iter().map(|axis| axis.name.as_str()).filter(|n| is_setting(n));
        let names: Vec<&str> = OUTER.into_iter().chain(settings).chain(INNER).collect();
        let (mut axes, mut unnamed) = (Vec::new(), Vec::new());
        for name in names {
            let given = match name {
                "trace" => vec![trace.to_owned()],
                "seed" => vec![options.seed.to_string()],
                "pacing" => vec![options.pacing.name().to_owned()],
                "drive" => options.drives.clone(),
                "translation" => options.translations.clone(),
                "ssd" => vec![options.ssd.clone()],
                "cache" => options.caches.clone(),
                "policy" => options.policies.clone(),
                _ => Vec::new(),
            };
            let varied = varied.iter().find(|axis| axis.name == name);
            let mut values = varied.map_or(given, |axis| axis.values.clone());
            unnamed.push(match name {
                "policy" if values.is_empty() => {
                    values = DEFAULT_POLICIES.map(str::to_owned).to_vec();
                    true
                }
                "policy" => spell_out(&mut values, registry.entries().iter().map(|e| e.name)),
                "translation" => spell_out(&mut values, translations::ALL.iter().map(|e| e.name)),
                _ => false,
            });
            dedup(&mut values);
            axes.push(Axis { name: name.into(), values });
        }
        let grid = Grid { axes, unnamed };
        let cells = grid.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
        if cells.is_none_or(|cells| cells > MOST_CELLS) {
            let why = format!("the grid has more than {MOST_CELLS} cells: vary less at a time");
            return Err(SweepError::Usage(why));
        }
        grid.check(options, registry)?;
        Ok(grid)
    }

    pub(crate) fn values(&self, name: &str) -> &[String] {
        self.axes.iter().find(|axis| axis.name == name).map_or(&[], |axis| &axis.values)
    }

    /// Checks that all names exist, before a trace is read and whatever the combinations are.
    fn check(&self, options: &Options, registry: &Registry) -> Result<(), SweepError> {
        for value in self.values("seed") {
            let why = "give a whole number from 0 to 2^64 - 1";
            let _: u64 = value.parse().map_err(|_| wrong("seed", value, why))?;
        }
        for value in self.values("pacing") {
            pacing(value).ok_or_else(|| wrong("pacing", value, "give closed or trace"))?;
        }
        for ssd in self.values("ssd") {
            let mut all = options.clone();
            all.ssd.clone_from(ssd);
            all.policies = self.values("policy").to_vec();
            all.drives = self.values("drive").to_vec();
            all.translations = self.values("translation").to_vec();
            for axis in self.axes.iter().filter(|axis| is_setting(&axis.name)) {
                let set = |value: &String| assignment(&axis.name, value);
                all.sets.extend(axis.values.iter().map(set));
            }
            check_names(&all, registry)?;
        }
        Ok(())
    }

    /// Returns all cells in grid order: for each axis, the index of its value.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let count: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        (0..count).map(|number| {
            let mut rest = number;
            let mut cell: Vec<usize> = Vec::with_capacity(self.axes.len());
            for axis in self.axes.iter().rev() {
                cell.push(rest % axis.values.len());
                rest /= axis.values.len();
            }
            cell.reverse();
            cell
        })
    }

    /// Returns the configuration of `cell`, without its trace.
    pub(crate) fn options(&self, cell: &[usize], base: &Options) -> Options {
        let mut options = base.clone();
        for (axis, &at) in self.axes.iter().zip(cell) {
            let value = axis.values[at].clone();
            match axis.name.as_str() {
                "trace" => {}
                "seed" => options.seed = value.parse().expect("checked"),
                "pacing" => options.pacing = pacing(&value).expect("checked"),
                "drive" => options.drives = vec![value],
                "translation" => options.translations = vec![value],
                "ssd" => options.ssd = value,
                "cache" => options.caches = vec![value],
                "policy" => options.policies = vec![value],
                setting => options.sets.push(assignment(setting, &value)),
            }
        }
        options
    }
}

fn wrong(axis: &str, value: &str, why: &str) -> SweepError {
    SweepError::Usage(format!("--vary {axis}={value}: {why}"))
}

fn pacing(value: &str) -> Option<Pacing> {
    [Pacing::Closed, Pacing::Open].into_iter().find(|pacing| pacing.name() == value)
}

fn assignment(setting: &str, value: &str) -> Assignment {
    Assignment::new(setting, value).expect("a setting has a dot")
}

fn is_setting(axis: &str) -> bool {
    axis.contains('.')
}

/// Replaces `all` with `names`. Returns whether it was there.
fn spell_out<'a>(values: &mut Vec<String>, names: impl Iterator<Item = &'a str>) -> bool {
    let all = values.iter().position(|value| value == "all");
    if let Some(at) = all {
        values.splice(at..=at, names.map(str::to_owned));
    }
    all.is_some()
}

fn dedup(values: &mut Vec<String>) {
    let mut seen = Vec::new();
    values.retain(|value| {
        let fresh = !seen.contains(value);
        if fresh {
            seen.push(value.clone());
        }
        fresh
    });
}

/// Parses `--vary NAME=VALUES,NAME=VALUES`. A part between commas that begins like an axis is one;
/// any other is another value of the axis before.
fn parse(vary: &[String]) -> Result<Vec<Axis>, String> {
    let mut axes: Vec<Axis> = Vec::new();
    for option in vary {
        let mut open = None;
        for item in option.split(',') {
            let (name, value) = match (item.split_once('='), open) {
                (Some((name, value)), _) if begins_an_axis(name) => (name.trim(), value),
                (_, Some(at)) => {
                    let at: usize = at;
                    let name = axes[at].name.clone();
                    let more = values(&name, item)?;
                    axes[at].values.extend(more);
                    continue;
                }
                _ => {
                    return Err(format!(
                        "--vary {option}: write NAME=VALUES, as in cache=1%..10%,policy.zone=10M,40M"
                    ));
                }
            };
            if !is_setting(name) && !OUTER.iter().chain(&INNER).any(|known| *known == name) {
                let names = nearest(name, OUTER.into_iter().chain(INNER)).join(", ");
                return Err(format!(
                    "--vary {name}: there is no such axis; there are {names}, and OWNER.NAME as for --set"
                ));
            }
            if axes.iter().any(|axis| axis.name == name) {
                return Err(format!("--vary {name}: it is there twice"));
            }
            axes.push(Axis { name: name.to_owned(), values: values(name, value)? });
            open = Some(axes.len() - 1);
        }
    }
    Ok(axes)
}

/// Returns whether the text before a `=` is the name of an axis, and not the start of a workload
/// such as `synth:zipf?range=1G`.
fn begins_an_axis(name: &str) -> bool {
    let mut letters = name.trim().chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
}

/// Returns the values of one part between commas.
fn values(axis: &str, item: &str) -> Result<Vec<String>, String> {
    let item = item.trim();
    if item.is_empty() {
        return Err(format!("--vary {axis}: a value is empty"));
    }
    let plain = match axis {
        "seed" => Plain::Counts,
        axis if axis == "cache" || is_setting(axis) => Plain::Doubles,
        _ => return Ok(vec![item.to_owned()]), // names
    };
    expand(item, plain).map_err(|why| format!("--vary {axis}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(vary: &[&str]) -> String {
        let vary: Vec<String> = vary.iter().map(|text| (*text).to_owned()).collect();
        let axes = parse(&vary).expect("axes");
        let axis = |axis: &Axis| format!("{}={}", axis.name, axis.values.join("|"));
        axes.iter().map(axis).collect::<Vec<_>>().join(" ")
    }

    fn refused(vary: &str) -> String {
        parse(&[vary.to_owned()]).unwrap_err()
    }

    #[test]
    fn commas_part_values_and_axes() {
        assert_eq!(
            shown(&["cache=1%..4%,8%,policy.zone=10M..40M", "seed=1..3"]),
            "cache=1%|2%|4%|8% policy.zone=10M|20M|40M seed=1|2|3"
        );
        assert_eq!(
            shown(&["trace=a/b.csv,synth:zipf?requests=1k,../c=d.csv"]),
            "trace=a/b.csv|synth:zipf?requests=1k|../c=d.csv"
        );
    }

    #[test]
    fn wrong_axes_name_the_right_ones() {
        assert!(refused("cahce=1%").contains("there are cache"));
        assert!(refused("1%").contains("NAME=VALUES"));
        assert!(refused("cache=1%,cache=2%").contains("twice"));
        assert!(refused("cache=1%,,2%").contains("empty"));
        assert!(refused("cache=1%,pacin=closed").contains("there are pacing"));
    }

    #[test]
    fn the_grid_goes_round_from_its_inner_end_and_yields_to_vary() {
        let names = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        let options = Options { policies: names(&["lru", "sac"]), ..Options::default() };
        let vary = ["cache=1%,2%".to_owned(), "sac.window=0.5,0.8".to_owned()];
        let grid = Grid::new(&options, "t", &vary, &Registry::default()).expect("a grid");
        let axis = |name: &str| grid.axes.iter().position(|axis| axis.name == name).unwrap();
        let cells: Vec<_> = grid
            .cells()
            .map(|cell| (cell[axis("sac.window")], cell[axis("cache")], cell[axis("policy")]))
            .collect();
        let all: Vec<_> = (0..8).map(|n| (n / 4, n / 2 % 2, n % 2)).collect();
        assert_eq!(cells, all);
        let last = grid.options(&grid.cells().last().unwrap(), &options);
        assert_eq!((last.policies, last.caches), (names(&["sac"]), names(&["2%"])));
        assert_eq!(last.sets.of("sac").collect::<Vec<_>>(), [("window", "0.8")]);
    }

    #[test]
    fn names_are_refused_before_anything_is_read() {
        let refused = |vary: &str| {
            let options = Options { policies: vec!["lru".into()], ..Options::default() };
            Grid::new(&options, "t", &[vary.to_owned()], &Registry::default())
                .unwrap_err()
                .to_string()
        };
        assert!(refused("policy=lru,sca").contains("sac"));
        assert!(refused("drive=st8000as0003").contains("st8000as0002"));
        assert!(refused("drive.bp=1%").contains("there are"));
        assert!(refused("ssd.pages=1").contains("`ssd.pages`"));
        assert!(refused("sac.windw=0.5").contains("window"));
        assert!(refused("seed=x").contains("whole number"));
        assert!(refused("pacing=open").contains("closed or trace"));
        assert!(refused("cache.batch=1..64,x").contains("whole number"));
    }
}
