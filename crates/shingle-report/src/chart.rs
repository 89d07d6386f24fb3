//! Charts: bars, lines and heat maps, drawn as SVG. Text and axes take the colour of the page, so
//! one picture suits light pages, dark pages and paper.

mod bars;
mod heat;
mod lines;
mod plane;
mod rows;
mod scale;

use plotters::coord::Shift;
use plotters::prelude::*;
use thiserror::Error;

/// A picture, not yet drawn.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The title.
    pub title: String,
    /// The kind of chart, and its data.
    pub kind: Kind,
}

/// The kind of a chart, with its data.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A group of bars for each name, with a colour for each series.
    Bars {
        /// Names below the groups.
        groups: Vec<String>,
        /// Name and a value for each group.
        series: Vec<(String, Vec<Value>)>,
        /// Whether series are stacked rather than side by side.
        stacked: bool,
    },
    /// A horizontal bar for each name, made of all series; for long names, or many.
    Rows {
        /// Names to the left of the bars, from the top.
        names: Vec<String>,
        /// Name and unit of the x axis.
        x_label: String,
        /// Name and a value for each bar.
        series: Vec<(String, Vec<f64>)>,
    },
    /// Lines over names at equal distances.
    Steps {
        /// Names on the x axis.
        places: Vec<String>,
        /// Name, and a value for each name on the x axis.
        series: Vec<(String, Vec<Value>)>,
    },
    /// Points or lines over numbers.
    Numbers {
        /// Name and unit of the x axis.
        x_label: String,
        /// Name and points.
        series: Vec<(String, Vec<(f64, f64)>)>,
        /// Whether points are drawn without lines.
        points: bool,
    },
    /// Dots over numbers, with a linear x axis and names at both axes.
    Dots {
        /// Name and unit of the x axis.
        x_label: String,
        /// Name and unit of the y axis.
        y_label: String,
        /// Whether the y axis is linear, as for addresses; else it is logarithmic if values differ
        /// much.
        linear: bool,
        /// The dots.
        dots: Vec<(f64, f64)>,
    },
    /// Lines over numbers with a linear y axis from zero, as for a course over time.
    Course {
        /// Name and unit of the x axis.
        x_label: String,
        /// Name and points.
        series: Vec<(String, Vec<(f64, f64)>)>,
    },
    /// Lines over positive numbers of different magnitudes: the x axis is logarithmic.
    Decades {
        /// Name and unit of the x axis.
        x_label: String,
        /// Name and points.
        series: Vec<(String, Vec<(f64, f64)>)>,
    },
    /// A heat map: time on the x axis, addresses on the y axis; darker cells have more.
    Heat {
        /// Name and unit of the x axis.
        x_label: String,
        /// The end of the last column; the first begins at 0.
        x_end: f64,
        /// Names of the rows, from the bottom; only a few are shown.
        rows: Vec<String>,
        /// For each column, a value for each row.
        columns: Vec<Vec<u64>>,
        /// The unit of the values.
        unit: String,
        /// The value of the darkest shade, if it is not the maximum of this map: maps with the same
        /// value can be compared.
        darkest: Option<u64>,
    },
}

/// A mean, with least and greatest value over the seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Value {
    /// Mean over the seeds.
    pub mean: f64,
    /// Value of the seed with the least.
    pub least: f64,
    /// Value of the seed with the greatest.
    pub most: f64,
}

impl Value {
    /// Computes a value over seeds. The mean is NaN if there are none.
    #[must_use]
    pub fn over(values: &[f64]) -> Value {
        Value {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// Creates a value from a single figure.
    #[must_use]
    pub fn one(value: f64) -> Value {
        Value { mean: value, least: value, most: value }
    }
}

/// A drawing error, which is a bug, because drawing only needs memory.
#[derive(Clone, Debug, Error)]
#[error("cannot draw `{0}`: {1}")]
pub struct DrawError(String, String);

/// Width of every picture, and height of most with one line of legend, in pixels.
const SIZE: (u32, u32) = (620, 330);

/// Placeholder for the text colour of the page, which SVG can name but the drawing library cannot.
const INK: RGBColor = RGBColor(1, 2, 3);
const INK_TEXT: &str = "#010203";

/// Colours that most colour-blind people can distinguish (Okabe and Ito), visible on light and dark
/// pages.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(140, 140, 140),
];

/// Colours of the parts of a bar. They differ from `COLOURS`, which mean the same in all pictures
/// of a page.
const PART_COLOURS: [RGBColor; 6] = [
    RGBColor(153, 153, 51),
    RGBColor(170, 68, 153),
    RGBColor(221, 204, 119),
    RGBColor(122, 110, 200),
    RGBColor(190, 70, 90),
    RGBColor(190, 190, 190),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawResult = Result<(), Box<dyn std::error::Error>>;

impl Picture {
    /// Draws the picture as SVG.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg(&self) -> Result<String, DrawError> {
        let size = (SIZE.0, self.height());
        let mut text = String::new();
        let mut cells = String::new();
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let drawn = self.draw(&area, &mut cells).and_then(|()| Ok(area.present()?));
        drop(area);
        drawn.map_err(|error| DrawError(self.title.clone(), error.to_string()))?;
        // The picture scales with the page, which a fixed size would prevent.
        let fixed = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
        let title = escaped(&self.title);
        let scaling = format!("<svg role=\"img\" aria-label=\"{title}\" width=\"100%\"");
        let text = text.replacen(&fixed, &scaling, 1).replace(INK_TEXT, "currentColor");
        Ok(text.replace("</svg>", &(cells + "</svg>")))
    }

    fn height(&self) -> u32 {
        match &self.kind {
            Kind::Rows { names, series, .. } => rows::height(names.len(), series),
            Kind::Bars { series, .. } | Kind::Steps { series, .. } => plane::height(series),
            Kind::Numbers { series, .. }
            | Kind::Course { series, .. }
            | Kind::Decades { series, .. } => plane::height(series),
            Kind::Dots { .. } | Kind::Heat { .. } => SIZE.1,
        }
    }

    /// Draws on `area`, and appends to `more` the SVG that the drawing library cannot draw.
    fn draw(&self, area: &Area, more: &mut String) -> DrawResult {
        let title = self.title.as_str();
        match &self.kind {
            Kind::Bars { groups, series, stacked: false } => {
                bars::side_by_side(area, title, groups, series)
            }
            Kind::Bars { groups, series, stacked: true } => {
                bars::stacked(area, title, groups, series)
            }
            Kind::Rows { names, x_label, series } => {
                rows::draw(area, title, names, x_label, series)
            }
            Kind::Steps { places, series } => lines::steps(area, title, places, series),
            Kind::Numbers { x_label, series, points } => {
                lines::numbers(area, title, x_label, series, *points)
            }
            Kind::Dots { x_label, y_label, linear, dots } => {
                lines::dots(area, title, (x_label, y_label), *linear, dots)
            }
            Kind::Course { x_label, series } => lines::course(area, title, x_label, series),
            Kind::Decades { x_label, series } => lines::decades(area, title, x_label, series),
            Kind::Heat { x_label, x_end, rows, columns, unit, darkest } => {
                let map =
                    heat::Map { x_label, x_end: *x_end, rows, columns, unit, darkest: *darkest };
                heat::draw(area, title, &map, more)
            }
        }
    }
}

/// Returns the colours of series in their order, as `#rrggbb`, for pictures drawn by other means.
#[must_use]
pub fn colours() -> Vec<String> {
    COLOURS.iter().map(hex).collect()
}

/// Returns the colours of the parts of a bar, as [`colours`] does.
#[must_use]
pub fn part_colours() -> Vec<String> {
    PART_COLOURS.iter().map(hex).collect()
}

fn hex(&RGBColor(red, green, blue): &RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn colour(nth: usize) -> RGBColor {
    COLOURS[nth % COLOURS.len()]
}

fn part_colour(nth: usize) -> RGBColor {
    PART_COLOURS[nth % PART_COLOURS.len()]
}

/// Makes a picture a standalone file: without a page to inherit a colour from, it gets a background
/// of its own, which follows the viewer's preference for light or dark.
#[must_use]
pub fn alone(svg: &str) -> String {
    let (head, rest) = svg.split_once('>').unwrap_or((svg, ""));
    format!("{head} color=\"#222\">{PAPER}{rest}")
}

/// Viewers without support for preferences, or for styles, show the light one.
const PAPER: &str = "<style>@media(prefers-color-scheme:dark)\
    {:root{color:#ddd}#paper{fill:#17181a}}</style>\
    <rect id=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>";

/// Escapes text for SVG and HTML.
#[must_use]
pub fn escaped(text: &str) -> String {
    // XML has no control characters: a file with one is not displayed.
    let text = text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(mean: f64) -> Value {
        Value { mean, least: mean * 0.9, most: mean * 1.1 }
    }

    #[test]
    fn a_file_of_its_own_has_ink_and_paper() {
        let kind = Kind::Rows { names: vec!["a".into()], x_label: "s".into(), series: Vec::new() };
        let svg = Picture { title: "a > b".into(), kind }.svg().expect("it can be drawn");
        let alone = alone(&svg);
        let (head, rest) = alone.split_once('>').expect("an element");
        assert!(head.starts_with("<svg ") && head.ends_with(" color=\"#222\""), "{head}");
        assert!(rest.starts_with("<style>@media(prefers-color-scheme:dark){"), "{rest}");
        let drawn = rest.split_once("fill=\"#fff\"/>").expect("paper").1;
        assert_eq!(drawn, svg.split_once('>').expect("an element").1);
    }

    #[test]
    fn parts_of_a_bar_have_none_of_the_colours_of_lines() {
        let shared = PART_COLOURS.iter().find(|part| COLOURS.contains(part));
        assert_eq!(shared, None);
    }

    #[test]
    fn maps_with_the_same_darkest_value_can_be_compared() {
        let map = |value: u64, darkest: Option<u64>| {
            let (x_label, unit) = ("requests".to_owned(), "blocks".to_owned());
            let (rows, columns) = (vec!["0".into()], vec![vec![value]]);
            let kind = Kind::Heat { x_label, x_end: 1.0, rows, columns, unit, darkest };
            Picture { title: "map".into(), kind }.svg().expect("it can be drawn")
        };
        let cell = |svg: &str| {
            let opacity = svg.split("fill-opacity=\"").nth(1).expect("there is a cell");
            opacity[..4].to_owned()
        };
        assert_eq!(cell(&map(10, None)), "1.00");
        assert_ne!(cell(&map(10, Some(1000))), "1.00");
        assert!(map(10, Some(1000)).contains("darkest: 1,000 blocks"));
    }

    /// The elements of a name in a picture, without the axes and the legend.
    fn elements(kind: Kind, name: &str) -> Vec<String> {
        let svg = Picture { title: "drawn".into(), kind }.svg().expect("it can be drawn");
        let is_one = |line: &&str| line.starts_with(&format!("<{name} "));
        let is_legend = |line: &str| line.contains("width=\"10\" height=\"10\"");
        let is_axis =
            |line: &str| line.contains("stroke=\"currentColor\"") && line.contains("70,282");
        svg.lines()
            .filter(|line| {
                is_one(line) && !is_legend(line) && !is_axis(line) && !line.contains("0.15")
            })
            .map(str::to_owned)
            .collect()
    }

    fn attribute(line: &str, name: &str) -> i32 {
        let value = line.split_once(&format!(" {name}=\"")).expect("it has one").1;
        value.split_once('"').expect("its end").0.parse().expect("a number")
    }

    fn points(line: &str) -> Vec<(i32, i32)> {
        let points = line.split_once("points=\"").expect("points").1;
        let points = points.split_once('"').expect("their end").0.split_whitespace();
        let number = |text: &str| text.parse().expect("a number");
        points
            .map(|at| at.split_once(',').expect("x and y"))
            .map(|(x, y)| (number(x), number(y)))
            .collect()
    }

    fn near(one: i32, other: i32) -> bool {
        one.abs_diff(other) <= 1
    }

    fn bars(stacked: bool) -> Kind {
        let series = vec![("a".into(), vec![value(2.0)]), ("b".into(), vec![value(4.0)])];
        Kind::Bars { groups: vec!["g".into()], series, stacked }
    }

    #[test]
    fn bars_are_as_high_as_their_mean_with_a_line_from_least_to_most() {
        let rects = elements(bars(false), "rect");
        let [low, high] = &rects[..] else { panic!("{rects:?}") };
        let of = |name| [low, high].map(|bar| attribute(bar, name));
        let ([x, next], [width, same_width], [y, above], [height, twice]) =
            (of("x"), of("width"), of("y"), of("height"));
        assert!(near(twice, 2 * height) && y + height == above + twice, "{rects:?}");
        assert!(width == same_width && x + width <= next, "side by side: {rects:?}");
        let place = next - x;
        assert!(near(x - 70, 608 - next - place), "in the middle of the group: {rects:?}");
        let ranges = elements(bars(false), "polyline");
        let [_, range] = &ranges[..] else { panic!("{ranges:?}") };
        let [(at, least), (_, most)] = points(range)[..] else { panic!("{range}") };
        assert!(near(at, next + width / 2), "{range}");
        // From 3.6 to 4.4, where the bar of 4 is so many pixels high.
        assert!(near(least, above + twice / 10) && near(most, above - twice / 10), "{range}");
    }

    #[test]
    fn parts_of_a_bar_stand_on_each_other() {
        let rects = elements(bars(true), "rect");
        let [below, upon] = &rects[..] else { panic!("{rects:?}") };
        assert_eq!(attribute(below, "x"), attribute(upon, "x"));
        assert!(near(attribute(upon, "height"), 2 * attribute(below, "height")), "{rects:?}");
        assert_eq!(attribute(upon, "y") + attribute(upon, "height"), attribute(below, "y"));
    }

    #[test]
    fn parts_of_a_row_follow_each_other() {
        let series = vec![("a".into(), vec![1.0, f64::NAN]), ("b".into(), vec![3.0, 2.0])];
        let names = vec!["p".into(), "q".into()];
        let rects = elements(Kind::Rows { names, x_label: "s".into(), series }, "rect");
        let [first, second, alone] = &rects[..] else { panic!("{rects:?}") };
        let [x, next, start] = [first, second, alone].map(|part| attribute(part, "x"));
        let [one, three, two] = [first, second, alone].map(|part| attribute(part, "width"));
        assert!(near(three, 3 * one) && near(two, 2 * one), "{rects:?}");
        assert!(x + one == next && x == start, "{rects:?}");
        assert!(attribute(alone, "y") > attribute(first, "y"), "a row of its own: {rects:?}");
    }

    #[test]
    fn steps_mark_the_mean_of_each_place() {
        let series = vec![("a".into(), vec![value(2.0), value(4.0)])];
        let steps = || Kind::Steps { places: vec!["p".into(), "q".into()], series: series.clone() };
        let marks: Vec<(i32, i32)> = elements(steps(), "circle")
            .iter()
            .map(|mark| (attribute(mark, "cx"), attribute(mark, "cy")))
            .collect();
        let [(_, low), (_, high)] = marks[..] else { panic!("{marks:?}") };
        assert!(near(282 - high, 2 * (282 - low)), "{marks:?}");
        let lines = elements(steps(), "polyline");
        assert_eq!(points(&lines[0]), marks);
        let [(_, least), (_, most)] = points(&lines[2])[..] else { panic!("{lines:?}") };
        assert!(
            near(2 * high, least + most) && most < least,
            "a line from least to most: {lines:?}"
        );
    }

    #[test]
    fn a_course_is_a_line_and_numbers_may_be_points() {
        let series = vec![("a".into(), vec![(1.0, 1.0), (2.0, 2.0), (4.0, f64::NAN)])];
        let x_label = String::from("x");
        let numbers =
            |points| Kind::Numbers { x_label: x_label.clone(), series: series.clone(), points };
        let course = || Kind::Course { x_label: x_label.clone(), series: series.clone() };
        let circles = |kind| elements(kind, "circle").len();
        assert_eq!([numbers(true), numbers(false), course()].map(circles), [2, 0, 0]);
        assert!(elements(numbers(true), "polyline").is_empty());
        let lines = elements(course(), "polyline");
        let [(left, low), (right, high)] = points(&lines[0])[..] else { panic!("{lines:?}") };
        assert!(lines.len() == 1 && near(right - 70, 2 * (left - 70)), "{lines:?}");
        assert!(near(282 - high, 2 * (282 - low)), "{lines:?}");
    }

    #[test]
    fn pictures_are_svg_in_the_ink_of_the_page() {
        let series = vec![
            ("LRU".into(), vec![value(1.0), value(f64::NAN)]),
            ("<SAC>".into(), vec![value(500.0), value(3.0)]),
        ];
        let groups = vec!["a&b".into(), "c".into()];
        let points = vec![("x".into(), vec![(0.0, 1.0), (3.0, 2.0)])];
        let x_label = String::from("s");
        let kinds = [
            Kind::Bars { groups: groups.clone(), series: series.clone(), stacked: false },
            Kind::Steps { places: groups.clone(), series },
            Kind::Numbers { x_label: x_label.clone(), series: points.clone(), points: true },
            Kind::Course { x_label: x_label.clone(), series: points.clone() },
            Kind::Dots {
                x_label: x_label.clone(),
                y_label: "<b>".into(),
                linear: true,
                dots: vec![(0.0, 0.0), (3.0, 1e6)],
            },
            Kind::Decades { x_label: x_label.clone(), series: points },
            Kind::Decades { x_label: x_label.clone(), series: vec![("none".into(), vec![])] },
            Kind::Rows {
                names: groups,
                x_label: x_label.clone(),
                series: vec![("<a>".into(), vec![1.0, 0.0]), ("b".into(), vec![0.5, f64::NAN])],
            },
            Kind::Heat {
                x_label,
                x_end: 9.0,
                rows: vec!["0".into(), "<1>".into()],
                columns: vec![vec![0, 1], vec![0, 0], vec![1000, 10]],
                unit: "blocks".into(),
                darkest: None,
            },
        ];
        for kind in kinds {
            let picture = Picture { title: "A \"title\"".into(), kind };
            let svg = picture.svg().expect("it can be drawn");
            assert!(svg.contains("currentColor") && !svg.contains(INK_TEXT), "{svg}");
            assert!(svg.contains("aria-label=\"A &quot;title&quot;\""));
            assert!(!svg.contains("NaN") && !svg.contains("<SAC>"), "{svg}");
            assert!(!svg.contains("<1>") && !svg.contains("<a>"), "{svg}");
        }
    }
}
