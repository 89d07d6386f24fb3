//! The comparator of SAC over orders that know nothing of shingling ("Generality of CDC", SAC
//! §4.4): clean and dirty blocks are ordered separately, and the group that costs less disk time
//! for each block really released leaves.
//!
//! `lru+cdc` uses LRU on both sides. `cdc` takes any two orders, LRU by default: `--set
//! cdc.dirty=NAME`, `--set cdc.clean=NAME`. The paper leaves open what the worst dirty blocks of an
//! order are. Here they are the first that the order returns, as many as a clean group has, priced
//! by the zones they are in (Equation 5). A clean block that is written, or a dirty one that is
//! cleaned in idle time, moves to the other order.
//!
//! The dirty blocks still leave in an order that scatters them over the disk. The comparator knows
//! what that costs and evicts clean blocks instead, but cannot make it cheaper: choose `most+cdc`
//! or `sac` for that.

use crate::cdc::held::Held;
use crate::cdc::{CLEAN_PART, COST, Cdc, Pair, WINDOW, group_blocks};
use crate::order::Order;
use crate::param;
use crate::params::{Param, Params};
use crate::policies::lru::Lru;
use crate::policies::{AnyOrder, ORDER_NAMES};
use crate::policy::ZONE;
use crate::slots::Slots;

/// LRU on both sides.
pub type LruCdc = Cdc<Lrus>;
/// Any order on either side.
pub type AnyCdc = Cdc<Any>;

/// The sides of [`LruCdc`].
#[derive(Clone, Debug)]
pub struct Lrus;

impl Pair for Lrus {
    const NAME: &'static str = "lru+cdc";
    const ABOUT: &'static str = "LRU for clean and for dirty blocks, balanced by cost (SAC §4.4)";
    const PARAMS: &'static [Param] = &[ZONE, WINDOW, CLEAN_PART, COST];
    type Clean = Held<Lru>;
    type Dirty = Held<Lru>;

    fn sides(params: &Params, slots: &Slots) -> (Held<Lru>, Held<Lru>) {
        let group = group_blocks(params, slots);
        let order = || Lru::new(params, slots);
        (Held::clean(order(), group, slots), Held::dirty(order(), group, slots))
    }
}

/// The sides of [`AnyCdc`].
#[derive(Clone, Debug)]
pub struct Any;

impl Pair for Any {
    const NAME: &'static str = "cdc";
    const ABOUT: &'static str =
        "any order for clean and any for dirty blocks, balanced by cost (SAC §4.4)";
    const PARAMS: &'static [Param] = &[
        ZONE,
        WINDOW,
        CLEAN_PART,
        COST,
        param!("dirty": Choice(ORDER_NAMES) = "lru", "the order of the dirty blocks"),
        param!("clean": Choice(ORDER_NAMES) = "lru", "the order of the clean blocks"),
    ];
    type Clean = Held<AnyOrder>;
    type Dirty = Held<AnyOrder>;

    fn sides(params: &Params, slots: &Slots) -> (Self::Clean, Self::Dirty) {
        let group = group_blocks(params, slots);
        let order = |side| AnyOrder::named(params.choice(side), slots);
        (Held::clean(order("clean"), group, slots), Held::dirty(order("dirty"), group, slots))
    }
}
