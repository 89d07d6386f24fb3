//! The parameters, and the settings that follow from them for a given buffer.

use super::chunks::Geometry;
use super::hot::Returns;
use super::index::IDS_MAX;
use super::record::BLOCK_MAX;
use super::resize::{HOT_MAX, HOT_MIN};
use super::roles::Sizes;
use super::victim::Reading;
use crate::translation::Layout;
use shingle_core::param;
use shingle_core::params::{Param, Params};

pub(super) const PARAMS: &[Param] = &[
    param!("lambda": Ratio = "0.1",
        "part of the HFB for LUP blocks, at least a block (paper §5.1.2, §6.4)"),
    param!("chunk": Blocks = "64KiB", "unit of the LFB and of reallocation (paper §6.2)"),
    param!("window": Count = "1024",
        "write requests over whose mean size hot is decided (paper §6.1)"),
    param!("period": Count = "10000",
        "write requests between reallocations, 0 for none (paper §6.1)"),
    param!("returns": Choice(&["any", "none"]) = "any",
        "a chunk returns to the LFB if any of its blocks was not updated in a period in which the HFB does not \
         grow (paper §5.2.3, to the letter), or if none was"),
    param!("hot_share": Ratio = "0.25",
        "part of the buffer that is HFB at first, 0.25 to 0.75 (paper §6.3)"),
    param!("weight": Choice(&["times", "over"]) = "times",
        "victims by chunks times or over fragmentation level (paper, equation 4, read twice)"),
    param!("sup_demote": Choice(&["lru", "mru"]) = "lru",
        "end of the filter list for SUP blocks that become LUP (paper: lru; LIRS: mru)"),
    param!("shadow_needs_hot": Switch = "off",
        "ghosts and shadows return by requests labelled hot only (paper unclear)"),
    param!("history": Ratio = "2",
        "ghosts and shadows remembered, in sizes of the HFB at first; 0 is no limit (own)"),
    param!("idle": Switch = "on", "clean the LFB in idle time (paper §5.3)"),
    param!("idle_free": Ratio = "0.1", "part of the LFB that idle time frees (own)"),
    param!("lfb": Choice(&["frames", "blocks"]) = "frames",
        "what fills the LFB: chunks, however little is in them (paper §5.2.1), or the blocks in it"),
    param!("collect": Choice(&["span", "runs"]) = "span",
        "a chunk is read at once from its first to its last live block (paper §6.3, figure 10b), or in a read \
         for each run of them"),
    param!("abort": Choice(&["victim", "zone", "off"]) = "victim",
        "stop collecting when a write waits for a chunk of the victim (paper §5.3), or for any block of its \
         zone"),
];

/// Which waiting writes end a collection (paper §5.3, "write requests for the current victim").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Abort {
    /// Those to a chunk of the victim: they may replace what is being written back.
    Victim,
    /// Those to any block of its zone.
    Zone,
    /// None.
    Never,
}

/// The fixed settings of a translation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) geometry: Geometry,
    /// Thousandths.
    pub(super) lambda: u64,
    pub(super) period: u64,
    pub(super) reading: Reading,
    pub(super) shadow_needs_hot: bool,
    pub(super) idle: bool,
    /// Thousandths.
    pub(super) idle_free: u64,
    pub(super) abort: Abort,
    pub(super) returns: Returns,
    /// Whether a chunk is one read.
    pub(super) collects_spans: bool,
    /// Frames of the buffer.
    pub(super) frames: u32,
    /// Frames of the HFB initially, and at its largest size.
    pub(super) hot_first: u32,
    pub(super) hot_max: u32,
    pub(super) roles: Sizes,
}

/// How the buffer is divided, in frames.
struct Division {
    frame_blocks: u64,
    frames: u64,
    hot_first: u64,
    hot_max: u64,
    /// Ghosts and shadows remembered, in blocks.
    history: u64,
}

impl Division {
    fn new(params: &Params, buffer_blocks: u64) -> Result<Division, String> {
        let chunk = params.blocks("chunk");
        let share = params.thousandths("hot_share");
        if !(HOT_MIN..=HOT_MAX).contains(&share) {
            return Err("amphisbaena: give hot_share between 0.25 and 0.75".into());
        }
        let frame_blocks = if params.choice("lfb") == "blocks" { 1 } else { chunk };
        let frames = buffer_blocks / frame_blocks;
        let least = (2 * chunk).max(4);
        if frames * frame_blocks < least {
            return Err(format!(
                "amphisbaena needs a buffer of two chunks and four blocks, {least} blocks here; it has \
                 {buffer_blocks}"
            ));
        }
        let hot_max = (frames * HOT_MAX / 1000).clamp(1, frames - 1);
        // The HFB needs two blocks: one SUP, one LUP.
        let hot_first =
            ((frames * share + 500) / 1000).max(2u64.div_ceil(frame_blocks)).min(hot_max);
        let hot_blocks = hot_first * frame_blocks;
        let history = match params.thousandths("history") {
            0 => 2 * hot_blocks,
            thousandths => (hot_blocks * thousandths).div_ceil(1000),
        };
        Ok(Division { frame_blocks, frames, hot_first, hot_max, history })
    }

    /// Checks that the numbers of blocks, chunks and zones fit into those of the maps.
    fn check_fits(&self, layout: &Layout, chunk: u64) -> Result<(), String> {
        let zones = u64::from(layout.zones);
        let too_large = self.frames * self.frame_blocks > IDS_MAX / 2
            || self.history + self.hot_max * self.frame_blocks > IDS_MAX / 2
            || zones * layout.zone_blocks > BLOCK_MAX
            || zones * layout.zone_blocks.div_ceil(chunk) >= u64::from(u32::MAX)
            || layout.zone_blocks.max(chunk) >= u64::from(u32::MAX);
        if too_large {
            return Err("amphisbaena can number 2^27 blocks of buffer and history, zones of 2^32 \
                        blocks, 2^32 chunks and 64 TiB: this is more"
                .into());
        }
        Ok(())
    }
}

impl Settings {
    pub(super) fn new(params: &Params, layout: Layout) -> Result<Settings, String> {
        if params.thousandths("lambda") > 1000 {
            return Err("amphisbaena: give lambda between 0 and 1".into());
        }
        let chunk = params.blocks("chunk");
        let division = Division::new(params, layout.buffer_blocks)?;
        division.check_fits(&layout, chunk)?;
        Ok(Settings {
            geometry: Geometry {
                zone_blocks: layout.zone_blocks as u32,
                chunk_blocks: chunk as u32,
                frame_blocks: division.frame_blocks as u32,
            },
            lambda: params.thousandths("lambda"),
            period: params.count("period"),
            reading: match params.choice("weight") {
                "times" => Reading::Times,
                _ => Reading::Over,
            },
            shadow_needs_hot: params.switch("shadow_needs_hot"),
            idle: params.switch("idle"),
            idle_free: params.thousandths("idle_free").min(1000),
            abort: match params.choice("abort") {
                "victim" => Abort::Victim,
                "zone" => Abort::Zone,
                _ => Abort::Never,
            },
            returns: match params.choice("returns") {
                "any" => Returns::Any,
                _ => Returns::None,
            },
            collects_spans: params.choice("collect") == "span",
            frames: division.frames as u32,
            hot_first: division.hot_first as u32,
            hot_max: division.hot_max as u32,
            roles: Sizes {
                slots: (division.hot_max * division.frame_blocks) as u32,
                history: division.history as u32,
                grows: params.thousandths("history") == 0,
                demote_to_mru: params.choice("sup_demote") == "mru",
            },
        })
    }

    /// Returns how many of `hot_blocks` may be SUP: all but the filter list, which has at least one
    /// block.
    pub(super) fn sup_max(&self, hot_blocks: u32) -> u32 {
        let filter = u64::from(hot_blocks) * self.lambda / 1000;
        hot_blocks - (filter as u32).clamp(1, hot_blocks - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn division(sets: &[(&str, &str)], buffer_blocks: u64) -> Result<Division, String> {
        let mut params = Params::new(PARAMS);
        for (name, value) in sets {
            params.set(name, value).expect("a parameter");
        }
        Division::new(&params, buffer_blocks)
    }

    #[test]
    fn the_hfb_has_its_share_of_the_frames_and_room_for_two_blocks() {
        let made = division(&[], 160).expect("ten chunks");
        assert_eq!((made.frame_blocks, made.frames), (16, 10));
        assert_eq!((made.hot_first, made.hot_max, made.history), (3, 7, 96), "2.5 of 10 are 3");
        let made = division(&[("lfb", "blocks")], 160).expect("160 blocks");
        assert_eq!((made.frame_blocks, made.frames, made.hot_first), (1, 160, 40));
        let made = division(&[("chunk", "4KiB"), ("history", "0.3")], 4).expect("four blocks");
        assert_eq!((made.hot_first, made.hot_max, made.history), (2, 3, 1), "0.6 blocks are one");
        assert_eq!(division(&[("history", "0")], 160).expect("no limit").history, 96);
        let error = division(&[], 31).err().expect("less than two chunks");
        assert!(
            error.ends_with("two chunks and four blocks, 32 blocks here; it has 31"),
            "{error}"
        );
    }

    #[test]
    fn more_than_the_maps_can_number_is_refused() {
        let layout = |zones| Layout { zones, zone_blocks: 65_536, buffer_blocks: 0 };
        let fits = |zones, history, buffer_blocks| {
            let sets = [("chunk", "4KiB"), ("history", history)];
            let made = division(&sets, buffer_blocks).expect("it is not small");
            made.check_fits(&layout(zones), 1).is_ok()
        };
        let most = IDS_MAX / 2;
        assert!(fits(100, "1", most) && !fits(100, "1", most + 1), "a quarter and three quarters");
        assert!(!fits(100, "1.01", most), "and a bit more");
        let zones = u32::try_from(u64::from(u32::MAX) / 65_536).expect("few");
        assert!(fits(zones, "1", 4) && !fits(zones + 1, "1", 4), "2^32 chunks of a block");
    }
}
