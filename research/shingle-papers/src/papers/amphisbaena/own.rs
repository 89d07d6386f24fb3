//! Figures that are not in the paper: they test why results differ from the published ones.

use super::reasons::{HARDLY_COLLECTED, LARGER_BUFFER, NONE_RETURNS, NOTHING_COLLECTED};
use super::systems::{
    BY_HISTORY, BY_SMALL_CHUNK, HISTORIES, OTHERS as OTHER_TRANSLATIONS, OTHERWISE,
};
use crate::experiment::{Chart, Figure, Source};
use crate::papers::amphisbaena::compare::{grows, lowest, lowest_of, mean_range};
use crate::papers::amphisbaena::systems::EIGHT;
use crate::papers::compare::two;
use crate::papers::metrics::{
    ABORTED, BUFFER_HITS, IDLE_CLEANED, PADDED, RESPONSE, RMW, TO_COLD, TO_HOT, VICTIM, WAF,
    WRITE_BACKS,
};
use crate::papers::rows::rows;

pub(super) const DECISIONS: Figure = Figure {
    id: "decisions",
    title: "What the text leaves open, each the other way",
    how: "Equation 4 read as chunks ÷ FL; a demoted SUP block put at the MRU end of the filter list; a shadow \
          that counts only if the write is labelled hot; collecting that stops for any queued write to the zone, \
          or for none; an LFB that is full when its blocks are, not its chunks; a chunk that returns only if none of its blocks was updated in a period; a read for each \
          run of blocks of a chunk; no cleaning in idle time.",
    source: Source::Runs(&[OTHERWISE]),
    charts: &[Chart::ByTrace(&[
        RESPONSE,
        RMW,
        WAF,
        BUFFER_HITS,
        VICTIM,
        PADDED,
        ABORTED,
        TO_HOT,
        TO_COLD,
        IDLE_CLEANED,
    ])],
    rows: rows! {
        "§5.3, equation 4" {
            order: "victims weighed by chunks × FL need fewer RMWs than by chunks ÷ FL",
                |c| lowest(c, RMW, &["weight ÷ FL"]), HARDLY_COLLECTED;
        }
        "§5.2.3" {
            order: "chunks return if any block in them is not updated: more of them than if none may be, in all together",
                |c| {
                    let sum = |system: &str| -> f64 {
                        EIGHT.iter().map(|trace| c.at(TO_COLD, trace, system, "")).sum()
                    };
                    let (none, any) = ("returns if none", "Amphisbaena");
                    vec![two("", (none, sum(none)), (any, sum(any)))]
                }, NONE_RETURNS;
        }
        "§6.3" {
            order: "lower space utilization in the LFB … the increased number of LFB cleanups: fewer RMWs if it is full \
                    of blocks",
                |c| lowest_of(c, "LFB of blocks", RMW, &["Amphisbaena"]), NOTHING_COLLECTED;
            order: "collecting a chunk does not involve multiple read operations: shorter response times than with \
                    a read for each run",
                |c| lowest(c, RESPONSE, &["a read a run"]), HARDLY_COLLECTED;
        }
        "§5.2.2" {
            order: "a shadow that is written again enters the HFB: longer response times than if only writes labelled \
                    hot bring it in",
                |c| lowest_of(c, "shadows need hot", RESPONSE, &["Amphisbaena"]);
        }
        "§5.3" {
            order: "stopping for queued writes shortens response times",
                |c| lowest(c, RESPONSE, &["never aborts"]), HARDLY_COLLECTED;
            order: "cleaning in idle time shortens response times",
                |c| lowest(c, RESPONSE, &["never idle"]), NOTHING_COLLECTED;
        }
    },
};

pub(super) const SMALL: Figure = Figure {
    id: "small",
    title: "Smaller chunks than the paper has",
    how: "Fluid_loop, which has no chunks, is the same at each point.",
    source: Source::Runs(&[BY_SMALL_CHUNK]),
    charts: &[Chart::ByPoint(&[RESPONSE, RMW, VICTIM])],
    rows: rows! {
        "§6.3" {
            order: "larger chunks lower the utilization of the LFB: more RMWs with 64 KB than with 8 KB",
                |c| grows(c, RMW, &["8 KB", "64 KB"]), NOTHING_COLLECTED;
        }
    },
};

pub(super) const HISTORY: Figure = Figure {
    id: "history",
    title: "How many ghosts and shadows are remembered",
    how: "At most so many times the blocks of the HFB; the paper bounds them only by the last SUP block.",
    source: Source::Runs(&[BY_HISTORY]),
    charts: &[Chart::ByPoint(&[BUFFER_HITS, RESPONSE, RMW])],
    rows: rows! {
        "§5.1.2" {
            percent 0.0: "ghosts and shadows beyond the bound matter: points of write hits between least and most, on average",
                |c| mean_range(c, BUFFER_HITS, HISTORIES);
        }
    },
};

pub(super) const OTHERS: Figure = Figure {
    id: "others",
    title: "dm-zoned and µCache, which the paper names and does not run",
    how: "The buffer is 10 % of the zones written, not 1 %: dm-zoned needs two zones at least. µCache is a \
          reconstruction.",
    source: Source::Runs(&[OTHER_TRANSLATIONS]),
    charts: &[Chart::ByTrace(&[RESPONSE, RMW, WRITE_BACKS, WAF])],
    rows: rows! {
        "§2.2" {
            order: "coarse units trigger cleanup frequently: dm-zoned and µCache have more write-backs",
                |c| lowest(c, WRITE_BACKS, &["dm-zoned", "µCache"]), LARGER_BUFFER;
        }
    },
};
