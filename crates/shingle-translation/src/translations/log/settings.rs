//! The parameters, and the constructor of the log.

use super::clean::Cleaner;
use super::group::Grouping;
use super::packed::NONE;
use super::paged::Paged;
use super::victim::Victim;
use super::zones::{Keeps, Zones};
use super::{GROUPS_MAX, Log};
use crate::parts::countable;
use crate::translation::{Counters, Layout, Make, SavedMap, Work};
use shingle_core::param;
use shingle_core::params::{Param, Params};

/// In thousandths, and in zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Share of garbage above which writes pay for cleaning, and above which idle time cleans.
    pub(super) garbage: u64,
    pub(super) idle: u64,
    /// Free zones at which writes pay for cleaning.
    pub(super) reserve: u32,
}

impl Make for Log {
    const NAME: &'static str = "log";
    const ABOUT: &'static str = "everything appended, a map of blocks, zones cleaned for room (LFS 1991, as SMRSTORE 2023 and CSAL)";
    const PARAMS: &'static [Param] = &[
        param!("victim": Choice(&["greedy", "cost-benefit", "price"]) = "greedy",
            "the zone cleaned next: fewest live blocks, or most of (1-u)*age/(1+u) (LFS §3.5), or by the price \
             of the policy disk-time (this project)"),
        param!("group": Choice(&["none", "moved", "sepbit"]) = "sepbit",
            "blocks that go to a zone together: all, those written and those moved by cleaning, or six classes \
             by how long they are expected to live (SepBIT, FAST 2022, §3)"),
        param!("spare": Ratio = "0.2",
            "share of the zones kept from the host, less than 1 (the default of SPDK's FTL, which is CSAL's)"),
        param!("garbage": Ratio = "0.15",
            "share of full zones beyond which garbage is cleaned as fast as it is made, if there is a zone's worth \
             (SepBIT's experiments); 1: only when room runs out"),
        param!("reserve": Count = "5",
            "free zones at which the same begins (SPDK's FTL); half of those to spare at most"),
        param!("idle": Ratio = "0.1",
            "share of garbage down to which idle time cleans (design choice); 1: never"),
        param!("open": Count = "6",
            "zones open at a time at most, and two fewer than are spare, but two in any case; the last groups share one"),
    ];
    const SURVIVES_POWER_CUTS: bool = true;
    const HAS_BUFFER: bool = false;

    fn new(params: &Params, layout: Layout) -> Result<Self, String> {
        // (A number meant as percent would leave the host one zone.)
        if params.thousandths("spare") >= 1000 {
            return Err("spare: it is a share of the zones, less than 1, such as 0.2".to_owned());
        }
        Log::made(params, layout)
    }

    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        Log::made(params, layout)?.opened(layout, saved)
    }
}

impl Log {
    fn made(params: &Params, layout: Layout) -> Result<Log, String> {
        countable(Self::NAME, layout)?;
        let Layout { zone_blocks, zones, .. } = layout;
        if u64::from(zones).saturating_mul(zone_blocks) >= NONE {
            return Err(format!("{} counts to {NONE} blocks: fewer zones, please", Self::NAME));
        }
        let victim = match params.choice("victim") {
            "greedy" => Victim::Greedy,
            "price" => Victim::Price,
            _ => Victim::CostBenefit,
        };
        let share = params.part_of("spare", zones);
        // Small disks have fewer groups, so that these need no more spare zones than others.
        let open = params.count("open").min(share.saturating_sub(2).max(2)).max(1);
        let grouping = Grouping::new(if open == 1 { "none" } else { params.choice("group") });
        let groups = u64::from(grouping.groups()).min(open) as u32;
        // Besides the open zones, one that cleaning writes to and one that guarantees a victim.
        let needed = groups + 2;
        if zones <= needed {
            return Err(format!(
                "{} keeps at least {needed} zones from the host: it needs more than that, not {zones}",
                Self::NAME
            ));
        }
        let spare = share.clamp(needed.into(), u64::from(zones) - 1) as u32;
        let reserve = params.count("reserve").clamp(1, u64::from((spare - groups) / 2).max(1));
        let keeps = Keeps {
            times: victim == Victim::CostBenefit || grouping.asks_times(),
            deaths: victim == Victim::Price,
        };
        let blocks = u64::from(zones - spare) * zone_blocks;
        Ok(Log {
            blocks,
            map: Paged::new(blocks),
            zones: Zones::new(zone_blocks, zones, keeps),
            open: [None; GROUPS_MAX],
            groups: groups as u8,
            grouping,
            victim,
            limits: Limits {
                garbage: params.thousandths("garbage"),
                idle: params.thousandths("idle"),
                reserve: reserve as u32,
            },
            now: 0,
            work: Work::Idle,
            written: 0,
            owed: 0,
            before: [None; 2],
            cleaner: Cleaner::new(),
            cleans_first: false,
            counters: Counters::default(),
        })
    }
}
