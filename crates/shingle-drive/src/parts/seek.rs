//! Seek times over a distance: a fitted curve, or a table of points.

use serde::Deserialize;

/// The part of a sheet that describes seeks.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum SeekValues {
    /// `base + sqrt·√x + linear·x` with `x` the part of all tracks, or, below `short` tracks,
    /// another square root if that is less.
    Curve {
        seek_base_ms: f64,
        seek_sqrt_ms: f64,
        seek_linear_ms: f64,
        seek_short_base_ms: f64,
        seek_short_sqrt_ms: f64,
        seek_short_tracks: u64,
    },
    /// Linear between points (cylinders, milliseconds). All tracks together are `cylinders`, and a
    /// move over less than one of them is a head switch.
    Table { seek_points: Vec<(u64, f64)>, cylinders: u64 },
}

impl SeekValues {
    /// Returns the time of a seek over `distance` of all `tracks`, in nanoseconds. `switch_us` is
    /// the time of a head switch.
    pub(crate) fn time(&self, distance: u64, tracks: u64, switch_us: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        let ms = match self {
            SeekValues::Curve {
                seek_base_ms,
                seek_sqrt_ms,
                seek_linear_ms,
                seek_short_base_ms,
                seek_short_sqrt_ms,
                seek_short_tracks,
            } => {
                let x = distance as f64 / tracks as f64;
                let ms = seek_base_ms + seek_sqrt_ms * x.sqrt() + seek_linear_ms * x;
                if distance < *seek_short_tracks {
                    let short = (distance as f64 / *seek_short_tracks as f64).sqrt();
                    ms.min(seek_short_base_ms + seek_short_sqrt_ms * short)
                } else {
                    ms
                }
            }
            SeekValues::Table { seek_points, cylinders } => {
                let over = distance as f64 * *cylinders as f64 / tracks as f64;
                if over < 1.0 { switch_us as f64 / 1e3 } else { between(seek_points, over) }
            }
        };
        // Only operations that round the same on every machine: sums, products and square roots.
        (ms * 1e6).round().max(0.0) as u64
    }

    /// Returns the time from a track to the next while data streams, in nanoseconds. With
    /// cylinders, the mean over the tracks of one: head switches, and one seek to the next
    /// cylinder.
    pub(crate) fn next_track(&self, tracks: u64, switch_us: u64) -> u64 {
        let switch = switch_us * 1000;
        match self {
            SeekValues::Curve { .. } => switch.max(self.time(1, tracks, switch_us)),
            SeekValues::Table { seek_points, cylinders } => {
                let seeks = (*cylinders as f64 / tracks as f64).min(1.0);
                let seek = between(seek_points, 1.0) * 1e6;
                switch.max((seek * seeks + switch as f64 * (1.0 - seeks)).round() as u64)
            }
        }
    }
}

/// The line through the two points around `x`, or through the first or last two beyond them.
fn between(points: &[(u64, f64)], x: f64) -> f64 {
    let Some(last) = points.len().checked_sub(2) else {
        return points.first().map_or(0.0, |point| point.1);
    };
    let after = points.partition_point(|point| point.0 as f64 <= x);
    let at = after.saturating_sub(1).min(last);
    let ((x0, y0), (x1, y1)) = (points[at], points[at + 1]);
    y0 + (y1 - y0) * (x - x0 as f64) / (x1 - x0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_linear_between_its_points() {
        let seek_points = vec![(1, 0.5), (5, 0.9), (25, 2.9)];
        let table = SeekValues::Table { seek_points, cylinders: 50 };
        // 400 tracks: eight of them are a cylinder.
        let time = |tracks| table.time(tracks, 400, 165);
        assert_eq!([time(0), time(1), time(7)], [0, 165_000, 165_000]);
        assert_eq!([time(8), time(24), time(40)], [500_000, 700_000, 900_000]);
        assert_eq!([time(120), time(200), time(280)], [1_900_000, 2_900_000, 3_900_000]);
        // Seven head switches and a seek, over eight tracks.
        assert_eq!(table.next_track(400, 165), (7 * 165_000 + 500_000) / 8);
    }
}
