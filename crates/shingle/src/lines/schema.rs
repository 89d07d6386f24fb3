//! The figures of a run and their types, from the JSON Schema of the result.

use serde_json::Value;

/// The type of a column; any value may be null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// A whole number.
    Whole,
    /// Any other number.
    Fraction,
    /// True or false.
    Truth,
    /// A name or a sentence.
    Text,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) enum Field {
    Figure {
        path: Vec<String>,
        holds: Holds,
    },
    /// Parameters, whose names depend on what was run.
    Settings {
        path: Vec<String>,
    },
}

/// Returns the fields of an entry of `runs`, in their order, without lists.
pub(super) fn fields_of_a_run() -> Vec<Field> {
    let schema = shingle_result::schema().to_value();
    let mut fields = Vec::new();
    walk(&schema, &schema["$defs"]["RunResult"], &mut Vec::new(), &mut fields);
    fields
}

fn walk(root: &Value, given: &Value, path: &mut Vec<String>, fields: &mut Vec<Field>) {
    let schema = resolved(root, given);
    if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            path.push(name.clone());
            walk(root, property, path, fields);
            path.pop();
        }
        return;
    }
    let holds = match kind(schema) {
        "array" => return,
        "object" => return fields.push(Field::Settings { path: path.clone() }),
        "integer" => Holds::Whole,
        "number" => Holds::Fraction,
        "boolean" => Holds::Truth,
        _ => Holds::Text,
    };
    fields.push(Field::Figure { path: path.clone(), holds });
}

/// Resolves `given`: follows a reference, and of two alternatives takes the one that is not null.
fn resolved<'a>(root: &'a Value, given: &'a Value) -> &'a Value {
    if let Some(name) = given["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return resolved(root, &root["$defs"][name]);
    }
    let mut either = given["anyOf"].as_array().into_iter().flatten();
    match either.find(|schema| kind(schema) != "null") {
        Some(schema) => resolved(root, schema),
        None => given,
    }
}

/// Returns the type of a value that is not null.
fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|&kind| kind != "null").unwrap_or_default()
        }
        kind => kind.as_str().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_the_type_of_its_field() {
        let fields = fields_of_a_run();
        let figure = |name: &str, holds| {
            let path = name.split('.').map(str::to_owned).collect();
            assert!(fields.contains(&Field::Figure { path, holds }), "{name} is no {holds:?}");
        };
        figure("policy", Holds::Text);
        figure("knows_bands", Holds::Truth);
        figure("cache_blocks", Holds::Whole);
        // These may be null, or all that they belong to may be.
        figure("translation", Holds::Text);
        figure("warm_from", Holds::Whole);
        figure("all.wa_flash", Holds::Fraction);
        figure("all.drive_io.rmw", Holds::Whole);
        figure("queue.overloaded", Holds::Truth);
        figure("flash.lifetime.even_bytes", Holds::Fraction);
        let settings = |name: &str| Field::Settings { path: vec![name.to_owned()] };
        for name in ["parameters", "drive_parameters", "translation_parameters"] {
            assert!(fields.contains(&settings(name)), "{name}");
        }
        let named = |field: &Field| match field {
            Field::Figure { path, .. } | Field::Settings { path } => path[0].clone(),
        };
        assert!(!fields.iter().any(|field| named(field) == "series"), "lists are left out");
    }
}
