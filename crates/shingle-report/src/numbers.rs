//! Formats numbers for people.

/// Formats a range from least to greatest, or the only figure.
#[must_use]
pub fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (least, most) = (figure(least), figure(most));
    if values.is_empty() {
        "nothing".into()
    } else if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// Formats a number with three digits, and counts with all digits.
#[must_use]
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "none".into();
    }
    match value.abs() {
        size if size >= 100.0 => grouped(value),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Formats a whole number with thousands separators.
#[must_use]
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_or_are_counts() {
        let shown = [1_234_567.0, 123.4, 12.34, 1.234, 0.01234, 0.0, f64::NAN].map(figure);
        assert_eq!(shown, ["1,234,567", "123", "12.3", "1.23", "0.0123", "0.00", "none"]);
    }
}
