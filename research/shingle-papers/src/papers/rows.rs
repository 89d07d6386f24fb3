//! Macros for the statements of papers. Each group has its place in the paper, then its statements:
//!
//! - `order: says, chains;` is an order.
//! - `factor PUBLISHED: says, ours;` is a ratio, time or count, and `percent` a percentage.
//!
//! The last element is the reason, if our result disagrees and the reason is known. A named
//! [`Row`](crate::experiment::Row), for use in several figures, stands between the groups.

macro_rules! rows {
    (one $at:literal order: $says:expr, $chains:expr $(, $reason:expr)?) => {
        rows!(row $at, $says, $crate::experiment::Check::Order($chains) $(, $reason)?)
    };
    (one $at:literal factor $published:literal: $says:expr, $ours:expr $(, $reason:expr)?) => {
        rows!(row $at, $says,
            $crate::experiment::Check::Factor { published: $published, ours: $ours } $(, $reason)?)
    };
    (one $at:literal percent $published:literal: $says:expr, $ours:expr $(, $reason:expr)?) => {
        rows!(row $at, $says,
            $crate::experiment::Check::Percent { published: $published, ours: $ours } $(, $reason)?)
    };
    (row $at:expr, $says:expr, $check:expr) => {
        rows!(row $at, $says, $check, "")
    };
    (row $at:expr, $says:expr, $check:expr, $reason:expr) => {
        $crate::experiment::Row { at: $at, says: $says, check: $check, reason: $reason }
    };
    // Appends more rows to the ones already made.
    (after [$($row:expr,)*]) => {
        &[$($row),*]
    };
    (after [$($row:expr,)*] $named:ident; $($more:tt)*) => {
        rows!(after [$($row,)* $named,] $($more)*)
    };
    (after [$($row:expr,)*] $at:literal {
        $($kind:ident $($published:literal)?: $says:expr, $of:expr $(, $reason:expr)?;)*
    } $($more:tt)*) => {
        rows!(after [
            $($row,)*
            $(rows!(one $at $kind $($published)?: $says, $of $(, $reason)?),)*
        ] $($more)*)
    };
    ($($all:tt)*) => {
        rows!(after [] $($all)*)
    };
}

/// Makes claims: place in the paper, metric, words, and chains of systems.
macro_rules! claims {
    ($($at:literal $metric:ident: $says:literal, $chains:expr;)*) => {
        &[$($crate::experiment::Claim { at: $at, says: $says, metric: $metric, chains: $chains }),*]
    };
}

/// Makes the table of volumes of PORE and SAC: four statements for each line.
macro_rules! volumes_table {
    ($at:literal: $($trace:literal $requests:literal $writes:literal $written:literal
     $accessed:literal;)*) => {
        rows! { $at { $(
            factor $requests: concat!($trace, ": requests (M)"),
                |c| c.number(concat!($trace, ": requests (M)"));
            percent $writes: concat!($trace, ": writes (%)"),
                |c| c.number(concat!($trace, ": writes (%)"));
            factor $written: concat!($trace, ": written (GB)"),
                |c| c.number(concat!($trace, ": written (GB)"));
            factor $accessed: concat!($trace, ": accessed (GB)"),
                |c| c.number(concat!($trace, ": accessed (GB)"));
        )* } }
    };
}

/// Makes statements on ROCO's volumes, in the paper's order: percentages of the blocks that the
/// host writes, with a line for each system and a reason for each volume; then other statements.
macro_rules! by_volume {
    ($($at:literal $metric:ident $what:literal $system:literal
       [$proj:literal $prn:literal $src2:literal $stg:literal $src1:literal] $reason:expr;)*
     $(and: $($others:tt)*)?) => {
        rows! {
            $($at {
                percent $proj: concat!("proj_0: ", $what, " of ", $system),
                    |c| c.at($metric, "proj_0", $system, ""), $reason[0];
                percent $prn: concat!("prn_0: ", $what, " of ", $system),
                    |c| c.at($metric, "prn_0", $system, ""), $reason[1];
                percent $src2: concat!("src2_2: ", $what, " of ", $system),
                    |c| c.at($metric, "src2_2", $system, ""), $reason[2];
                percent $stg: concat!("stg_0: ", $what, " of ", $system),
                    |c| c.at($metric, "stg_0", $system, ""), $reason[3];
                percent $src1: concat!("src1_2: ", $what, " of ", $system),
                    |c| c.at($metric, "src1_2", $system, ""), $reason[4];
            })*
            $($($others)*)?
        }
    };
}

pub(super) use {by_volume, claims, rows, volumes_table};
