//! Figures that the paper has not: they test why its own come out as they do here.

use super::reasons::{DECISIONS as AS_THE_OTHERS, LAMBDA as SHARES, STAYS};
use super::systems::{
    BY_HISTORY, BY_SMALL_CHUNK, HISTORIES, OTHERS as OTHER_TRANSLATIONS, OTHERWISE, RIVALS,
    STAY_HOT,
};
use crate::experiment::{Chart, Figure, Source};
use crate::papers::amphisbaena::compare::{average_saved, grows, highest, lowest, unlike};
use crate::papers::metrics::{
    ABORTED, BUFFER_HITS, IDLE_CLEANED, PADDED, RESPONSE, RMW, VICTIM, WAF, WRITE_BACKS,
};
use crate::papers::rows::{order, percent};

pub(super) const DECISIONS: Figure = Figure {
    id: "decisions",
    title: "What the text leaves open, each the other way",
    how: "Equation 4 read as chunks ÷ FL; a demoted SUP block put at the MRU end of the filter list; a shadow \
          that counts only if the write is labelled hot; collecting that stops for any queued write to the zone, \
          or for none; no cleaning in idle time.",
    source: Source::Runs(&[OTHERWISE]),
    charts: &[
        Chart::ByTrace(RESPONSE),
        Chart::ByTrace(RMW),
        Chart::ByTrace(WAF),
        Chart::ByTrace(BUFFER_HITS),
        Chart::ByTrace(VICTIM),
        Chart::ByTrace(PADDED),
        Chart::ByTrace(ABORTED),
        Chart::ByTrace(IDLE_CLEANED),
    ],
    rows: &[
        order!(
            "§5.3, equation 4",
            "victims weighed by chunks × FL need fewer RMWs than by chunks ÷ FL",
            |c| lowest(c, RMW, &["weight ÷ FL"]),
            AS_THE_OTHERS
        ),
        order!(
            "§5.3",
            "stopping for queued writes shortens response times",
            |c| lowest(c, RESPONSE, &["never aborts"]),
            AS_THE_OTHERS
        ),
        order!(
            "§5.3",
            "cleaning in idle time shortens response times",
            |c| lowest(c, RESPONSE, &["never idle"]),
            AS_THE_OTHERS
        ),
    ],
};

pub(super) const HOT: Figure = Figure {
    id: "hot",
    title: "Figures 12 to 17 again, over zones that stay hot",
    how: "Workloads whose hot zones take 1,000 accesses to each of their blocks, not 2 (free parameter dwell).",
    source: Source::Runs(&[STAY_HOT]),
    charts: &[
        Chart::ByTrace(RESPONSE),
        Chart::ByTrace(BUFFER_HITS),
        Chart::ByTrace(WAF),
        Chart::ByTrace(RMW),
        Chart::ByTrace(WRITE_BACKS),
        Chart::ByTrace(PADDED),
        Chart::ByTrace(VICTIM),
        Chart::ByTrace(ABORTED),
    ],
    rows: &[
        percent!(
            "abstract, Figure 12",
            "response time saved against Fluid_loop on average (%)",
            29.9,
            |c| average_saved(c, RESPONSE, "Fluid_loop"),
            STAYS
        ),
        order!(
            "§6.2, Figure 12",
            "reduces the response latency compared to Fluid_loop, on each trace",
            |c| lowest(c, RESPONSE, &["Fluid_loop"]),
            STAYS
        ),
        order!(
            "§6.2, Figure 13",
            "the write-hit rate of Amphisbaena is higher than that of its competitors in all traces",
            |c| highest(c, BUFFER_HITS, RIVALS),
            STAYS
        ),
        order!(
            "§6.2, Figure 15",
            "has the lowest number of RMW operations",
            |c| lowest(c, RMW, RIVALS),
            STAYS
        ),
        percent!(
            "abstract, §6.2",
            "RMWs saved against Fluid_loop on average (%)",
            37.0,
            |c| average_saved(c, RMW, "Fluid_loop"),
            STAYS
        ),
    ],
};

pub(super) const SMALL: Figure = Figure {
    id: "small",
    title: "Smaller chunks than the paper has",
    how: "Fluid_loop, which has no chunks, is the same at each point.",
    source: Source::Runs(&[BY_SMALL_CHUNK]),
    charts: &[Chart::ByPoint(RESPONSE), Chart::ByPoint(RMW), Chart::ByPoint(VICTIM)],
    rows: &[order!(
        "§6.3",
        "larger chunks lower the utilization of the LFB: more RMWs with 64 KB than with 8 KB",
        |c| grows(c, RMW, &["8 KB", "64 KB"])
    )],
};

pub(super) const HISTORY: Figure = Figure {
    id: "history",
    title: "How many ghosts and shadows are remembered",
    how: "At most so many times the blocks of the HFB; the paper bounds them only by the last SUP block.",
    source: Source::Runs(&[BY_HISTORY]),
    charts: &[Chart::ByPoint(BUFFER_HITS), Chart::ByPoint(RESPONSE), Chart::ByPoint(RMW)],
    rows: &[percent!(
        "§5.1.2",
        "ghosts and shadows beyond the bound matter: points of write hits between least and most, on average",
        0.0,
        |c| unlike(c, BUFFER_HITS, HISTORIES),
        SHARES
    )],
};

pub(super) const OTHERS: Figure = Figure {
    id: "others",
    title: "dm-zoned and µCache, which the paper names and does not run",
    how: "The buffer is 10 % of the zones written, not 1 %: dm-zoned needs two zones at least. µCache is a \
          reconstruction.",
    source: Source::Runs(&[OTHER_TRANSLATIONS]),
    charts: &[
        Chart::ByTrace(RESPONSE),
        Chart::ByTrace(RMW),
        Chart::ByTrace(WRITE_BACKS),
        Chart::ByTrace(WAF),
    ],
    rows: &[order!(
        "§2.2",
        "coarse units trigger cleanup frequently: dm-zoned and µCache have more write-backs",
        |c| lowest(c, WRITE_BACKS, &["dm-zoned", "µCache"]),
        AS_THE_OTHERS
    )],
};
