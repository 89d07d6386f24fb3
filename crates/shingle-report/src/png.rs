//! Renders pictures as PNG with an embedded font, so that they look the same on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use thiserror::Error;

/// Pixels of the PNG for each pixel of the picture.
const SCALE: f32 = 2.0;

/// A rendering error, which is a bug, because the picture comes from this crate.
#[derive(Clone, Debug, Error)]
#[error("cannot draw a picture as PNG: {0}")]
pub struct PngError(String);

/// Renders a picture's SVG ([`crate::chart::Picture::svg`]) as PNG, on white.
///
/// # Errors
/// If it is not SVG, or has no size.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let failed = |error: &dyn std::fmt::Display| PngError(error.to_string());
    let mut fonts = Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|f| f.0.clone());
    let family = family.ok_or_else(|| PngError("the font has no name".into()))?;
    fonts.set_sans_serif_family(&family);
    let options = Options { font_family: family, fontdb: Arc::new(fonts), ..Options::default() };
    let ink = svg.replace("currentColor", "#222");
    let tree = Tree::from_str(&ink, &options).map_err(|error| failed(&error))?;
    let size = tree.size().to_int_size();
    let size = size.scale_by(SCALE).unwrap_or(size);
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| PngError("it has no size".into()))?;
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Kind, Picture, Value};

    #[test]
    fn a_png_has_bars_and_letters() {
        let draw = |title: &str| {
            let series = vec![("a".into(), vec![Value::one(3.0)])];
            let kind = Kind::Bars { groups: vec!["b".into()], series, stacked: false };
            let svg = Picture { title: title.into(), kind }.svg().expect("it can be drawn");
            let png = png(&svg).expect("it can be drawn");
            Pixmap::decode_png(&png).expect("it is a PNG")
        };
        let (with, without) = (draw("A title"), draw(""));
        assert_eq!((with.width(), with.height()), (1240, 660));
        let dark = |of: &Pixmap| of.pixels().iter().filter(|p| p.red() < 128).count();
        assert!(dark(&with) > dark(&without) + 200, "the title is there");
        assert!(without.pixels().iter().any(|p| (p.red(), p.green()) == (0, 114)), "the bar is");
    }
}
