//! Shorthand for statements: `order!(where, says, chains)`, `factor!(where, says, published, ours)`
//! and `percent!` alike, each with a reason at the end if ours disagrees and it is known why.

macro_rules! order {
    ($at:expr, $says:expr, $chains:expr $(, $reason:expr)?) => {
        $crate::experiment::Row {
            at: $at,
            says: $says,
            check: $crate::experiment::Check::Order($chains),
            reason: $crate::papers::rows::reason(&[$($reason)?]),
        }
    };
}

macro_rules! factor {
    ($at:expr, $says:expr, $published:expr, $ours:expr $(, $reason:expr)?) => {
        $crate::experiment::Row {
            at: $at,
            says: $says,
            check: $crate::experiment::Check::Factor { published: $published, ours: $ours },
            reason: $crate::papers::rows::reason(&[$($reason)?]),
        }
    };
}

macro_rules! percent {
    ($at:expr, $says:expr, $published:expr, $ours:expr $(, $reason:expr)?) => {
        $crate::experiment::Row {
            at: $at,
            says: $says,
            check: $crate::experiment::Check::Percent { published: $published, ours: $ours },
            reason: $crate::papers::rows::reason(&[$($reason)?]),
        }
    };
}

/// The table of volumes that both papers have: four statements a line.
macro_rules! volumes_table {
    ($at:literal: $($trace:literal $requests:literal $writes:literal $written:literal
     $accessed:literal;)*) => {
        &[$(
            factor!($at, concat!($trace, ": requests (M)"), $requests,
                |c| c.number(concat!($trace, ": requests (M)"))),
            percent!($at, concat!($trace, ": writes (%)"), $writes,
                |c| c.number(concat!($trace, ": writes (%)"))),
            factor!($at, concat!($trace, ": written (GB)"), $written,
                |c| c.number(concat!($trace, ": written (GB)"))),
            factor!($at, concat!($trace, ": accessed (GB)"), $accessed,
                |c| c.number(concat!($trace, ": accessed (GB)"))),
        )*]
    };
}

/// Statements on each of ROCO's volumes, which the paper lists in this order: percentages of what the
/// host writes, a line a system, with a reason for each volume; then others.
macro_rules! by_volume {
    ($($at:literal $metric:ident $what:literal $system:literal
       [$proj:literal $prn:literal $src2:literal $stg:literal $src1:literal] $reason:expr;)*
     $(and: $($other:expr),* $(,)?)?) => {
        &[$(
            by_volume!(one $at $metric $what $system "proj_0" $proj $reason[0]),
            by_volume!(one $at $metric $what $system "prn_0" $prn $reason[1]),
            by_volume!(one $at $metric $what $system "src2_2" $src2 $reason[2]),
            by_volume!(one $at $metric $what $system "stg_0" $stg $reason[3]),
            by_volume!(one $at $metric $what $system "src1_2" $src1 $reason[4]),
        )* $($($other),*)?]
    };
    (one $at:literal $metric:ident $what:literal $system:literal $trace:literal $value:literal
     $reason:expr) => {
        percent!($at, concat!($trace, ": ", $what, " of ", $system), $value,
            |c| c.at($metric, $trace, $system, ""), $reason)
    };
}

/// The reason, if there is one.
pub(super) const fn reason(given: &[&'static str]) -> &'static str {
    match given {
        [reason, ..] => reason,
        [] => "",
    }
}

pub(super) use {by_volume, factor, order, percent, volumes_table};
