//! A straight line through points, by least squares.

/// `y = slope · x + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Change of `y` for each `x`.
    pub slope: f64,
    /// `y` at 0.
    pub intercept: f64,
    /// Coefficient of determination, R²: the part of the variance of `y` that the line explains.
    pub r_squared: f64,
}

/// The line with the least sum of squared vertical distances; `None` if the points have not two
/// different `x`.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let (mut count, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
    for &(x, y) in points {
        count += 1.0;
        sum_x += x;
        sum_y += y;
    }
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for &(x, y) in points {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    if xx.is_nan() || xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    // Points at one height lie on their line.
    let r_squared = if yy > 0.0 { xy * xy / (xx * yy) } else { 1.0 };
    Some(Line { slope, intercept: mean_y - slope * mean_x, r_squared })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(line: Option<Line>, slope: f64, intercept: f64, r_squared: f64) {
        let line = line.expect("a line");
        assert!((line.slope - slope).abs() < 1e-9, "{line:?}");
        assert!((line.intercept - intercept).abs() < 1e-9, "{line:?}");
        assert!((line.r_squared - r_squared).abs() < 1e-9, "{line:?}");
    }

    #[test]
    fn lines_by_hand() {
        near(line(&[(500.0, 800.0), (1500.0, 1528.0)]), 0.728, 436.0, 1.0);
        near(line(&[(1.0, 4.0), (2.0, 4.0), (3.0, 4.0)]), 0.0, 4.0, 1.0);
        // Means 2 and 3; xx = 2, xy = 2, yy = 3.5: slope 1, intercept 1, R² = 4 / 7.
        near(line(&[(1.0, 2.5), (2.0, 2.0), (3.0, 4.5)]), 1.0, 1.0, 4.0 / 7.0);
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(1.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
