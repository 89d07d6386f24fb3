//! The traces of the papers, held as packed accesses.

use std::path::PathBuf;

use shingle_core::units::BLOCK_BYTES;
use shingle_sim::requests::Packed;
use shingle_trace::papers::{LONG, Papers, Trace, free_parameters};
use shingle_trace::synth::ParameterKind;
use shingle_trace::zones::ZONE_BLOCKS;
use shingle_trace::{Mode, Summary, TraceError};

/// A trace that runs want.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wanted {
    /// A volume, `long` or `mix`.
    pub name: &'static str,
    /// The requests that count.
    pub mode: Mode,
    /// Copies of which `long` and `mix` are made.
    pub copies: u32,
    /// Keep one zone of so many.
    pub every_zone: u64,
}

impl Wanted {
    fn trace(&self) -> Trace<'static> {
        trace(self.name, self.copies)
    }
}

fn trace(name: &'static str, copies: u32) -> Trace<'static> {
    match name {
        "long" => Trace::Long { copies },
        "mix" => Trace::Mix { copies },
        name => Trace::Volume(volume(name)),
    }
}

/// The volume that SAC and PORE call by its server alone.
fn volume(name: &'static str) -> &'static str {
    let of_server = |full: &&&str| full.split_once('_').is_some_and(|(server, _)| server == name);
    match name {
        "src" => "src1_2",
        _ => LONG.iter().find(of_server).copied().unwrap_or(name),
    }
}

/// A trace in memory.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Accesses to blocks, packed.
    pub blocks: Vec<u64>,
    /// Counts and ranges; different blocks are not counted.
    pub summary: Summary,
}

impl Held {
    /// The first `count` accesses.
    #[must_use]
    pub fn first(&self, count: usize) -> Packed<'_> {
        Packed(&self.blocks[..count.min(self.blocks.len())])
    }
}

/// Values of free parameters by their names.
pub type Free = Vec<(String, String)>;

/// Where traces come from.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// A directory with the traces as SNIA ships them; without one they are made.
    pub directory: Option<PathBuf>,
    /// Free parameters of made traces that differ from their defaults.
    pub free: Free,
}

impl Traces {
    /// The volumes for a seed.
    ///
    /// # Errors
    /// If the directory cannot be read, or a free parameter is none.
    pub fn of_seed(&self, seed: u64) -> Result<Papers, TraceError> {
        if let Some(directory) = &self.directory {
            return Papers::recorded(seed, directory);
        }
        let free: Vec<(&str, &str)> =
            self.free.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Papers::generated(seed, &free)
    }

    /// Settings of the free parameters of these traces: as they are, then each halved and doubled,
    /// as far as it goes.
    ///
    /// # Errors
    /// If there is no such trace.
    pub fn variants(&self, names: &[&'static str]) -> Result<Vec<(String, Free)>, TraceError> {
        let mut variants = vec![("as it is".to_owned(), self.free.clone())];
        let mut seen: Vec<&str> = Vec::new();
        for &name in names {
            for parameter in free_parameters(trace(name, 1))? {
                if seen.contains(&parameter.name) {
                    continue;
                }
                seen.push(parameter.name);
                let (low, high) = match parameter.kind {
                    ParameterKind::Share => (0.0, 1.0),
                    ParameterKind::Number(low, high) => (low, high),
                    _ => continue, // not a matter of shape
                };
                let default: f64 = parameter.default.parse().unwrap_or(low);
                for factor in [0.5, 2.0] {
                    let value = (default * factor).clamp(low, high);
                    if value != default {
                        let mut free = self.free.clone();
                        free.push((parameter.name.into(), value.to_string()));
                        variants.push((format!("{} {value}", parameter.name), free));
                    }
                }
            }
        }
        Ok(variants)
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.directory {
            Some(directory) => format!("those in {}", directory.display()),
            None => "synthetic workloads, shaped by the published figures of each volume".into(),
        }
    }
}

/// Makes or reads a trace; no more than the first `most` accesses that count.
///
/// # Errors
/// If it cannot be.
pub fn hold(papers: &Papers, wanted: &Wanted, most: Option<u64>) -> Result<Held, TraceError> {
    let every = wanted.every_zone.max(1);
    // What is left out is not known beforehand, so more is read.
    let most_read = most.map_or(u64::MAX, |most| most.saturating_mul(every));
    let mut blocks = papers.read(wanted.trace(), wanted.mode, most_read)?.blocks;
    if every > 1 {
        keep_zones(&mut blocks, every);
    }
    blocks.truncate(usize::try_from(most.unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
    blocks.shrink_to_fit();
    Ok(Held { name: wanted.name.into(), summary: summary(&blocks), blocks })
}

/// Accesses of a whole trace, without making it.
///
/// # Errors
/// If it cannot be opened.
pub fn length(papers: &Papers, wanted: &Wanted) -> Result<u64, TraceError> {
    Ok(papers.stream(wanted.trace())?.remaining())
}

/// Keeps every so-manieth zone, and packs what is kept.
fn keep_zones(blocks: &mut Vec<u64>, every: u64) {
    blocks.retain(|packed| ((packed >> 1) / ZONE_BLOCKS).is_multiple_of(every));
    for packed in blocks {
        let (block, write) = (*packed >> 1, *packed & 1);
        let (zone, place) = (block / ZONE_BLOCKS, block % ZONE_BLOCKS);
        *packed = (zone / every * ZONE_BLOCKS + place) << 1 | write;
    }
}

/// Counts and ranges. Zones alone: to count different blocks takes as long as making them.
fn summary(blocks: &[u64]) -> Summary {
    let end = blocks.iter().map(|packed| (packed >> 1) + 1).max().unwrap_or(0);
    let zones = usize::try_from(end.div_ceil(ZONE_BLOCKS)).unwrap_or(usize::MAX);
    let mut touched = vec![0u8; zones]; // bit 0: accessed, bit 1: written
    let mut writes = 0;
    for packed in blocks {
        let write = packed & 1;
        writes += write;
        touched[((packed >> 1) / ZONE_BLOCKS) as usize] |= 1 | (write as u8) << 1;
    }
    let with = |bit: u8| touched.iter().filter(|zone| *zone & bit != 0).count() as u64;
    let mut summary = Summary {
        read_blocks: blocks.len() as u64 - writes,
        write_blocks: writes,
        accessed_zones: with(1),
        written_zones: with(2),
        end_bytes: end * BLOCK_BYTES,
        ..Summary::default()
    };
    (summary.requests.read, summary.requests.write) = (summary.read_blocks, writes);
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_trace::papers::packed;

    #[test]
    fn servers_are_volumes() {
        assert_eq!([volume("src"), volume("web"), volume("rsrch")], ["src1_2", "web_0", "rsrch_0"]);
    }

    #[test]
    fn every_second_zone_is_half_the_range() {
        let mut blocks = vec![packed(7, true), packed(5_003, false), packed(10_001, false)];
        keep_zones(&mut blocks, 2);
        assert_eq!(blocks, [packed(7, true), packed(5_001, false)]);
        let found = summary(&blocks);
        assert_eq!((found.accessed_zones, found.written_zones), (2, 1));
        assert_eq!((found.read_blocks, found.write_blocks), (1, 1));
        assert_eq!(found.end_bytes, 5_002 * 4096);
    }

    #[test]
    fn each_free_parameter_is_halved_and_doubled_once() {
        let variants = Traces::default().variants(&["wdev", "ts"]).expect("known volumes");
        let labels: Vec<&str> = variants.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels[0], "as it is");
        assert!(labels.contains(&"zone-skew 16") && labels.contains(&"zone-skew 64"), "{labels:?}");
        let mut once = labels.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), labels.len());
    }
}
