//! Statistics that the papers use.

/// Pearson's correlation coefficient (SAC §3, Table 1). NaN if one side does not vary.
#[must_use]
pub fn pearson(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let (mut both, mut x, mut y) = (0.0, 0.0, 0.0);
    for point in points {
        let (dx, dy) = (point.0 - mean_x, point.1 - mean_y);
        both += dx * dy;
        x += dx * dx;
        y += dy * dy;
    }
    both / (x * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_correlate_fully_and_the_published_table_as_computed_by_hand() {
        assert!((pearson(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) - 1.0).abs() < 1e-12);
        assert!((pearson(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]) + 1.0).abs() < 1e-12);
        assert!(pearson(&[(1.0, 1.0), (1.0, 2.0)]).is_nan());
        // SAC, Table 1: RMWs and seconds of the ten volumes; it gives 0.82.
        let table = [
            (1784.0, 673.0),
            (2403.0, 470.0),
            (5792.0, 960.0),
            (1598.0, 354.0),
            (4377.0, 928.0),
            (6677.0, 894.0),
            (4442.0, 700.0),
            (4520.0, 684.0),
            (2778.0, 488.0),
            (5022.0, 710.0),
        ];
        assert!((pearson(&table) - 0.817).abs() < 0.001);
    }
}
