//! JSON whose text is equal when its meaning is: members sorted by name, no white space.
//!
//! Attributes are stored as such text, so that "has it changed" is a comparison of text on both
//! databases (PostgreSQL's `jsonb` would reorder members, SQLite has none).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

/// A JSON object in canonical text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attributes(String);

impl Attributes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0 == "{}"
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The members, to be read one by one.
    pub fn to_map(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

/// No attributes: `{}`.
impl Default for Attributes {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl From<Map<String, Value>> for Attributes {
    fn from(members: Map<String, Value>) -> Self {
        // Sorted by hand: whether the map sorts itself depends on a feature of another crate.
        Self(sorted(Value::Object(members)).to_string())
    }
}

/// The text is no JSON object.
#[derive(Debug, thiserror::Error)]
#[error("attributes are a JSON object, and this text is none")]
pub struct NotAnObject;

impl std::str::FromStr for Attributes {
    type Err = NotAnObject;

    fn from_str(text: &str) -> Result<Self, NotAnObject> {
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Ok(members.into()),
            _ => Err(NotAnObject),
        }
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members
                .into_iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As an object, not as text within text.
impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(members) => Ok(members.into()),
            _ => Err(D::Error::custom(NotAnObject)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_meaning_is_equal_text() {
        let a: Attributes = r#"{"b": [1, {"y": null, "x": "ü"}], "a": 1.5}"#.parse().unwrap();
        let b: Attributes = r#"{"a":1.5,"b":[1,{"x":"\u00fc","y":null}]}"#.parse().unwrap();
        assert_eq!(a, b);
        assert_eq!(a.as_str(), r#"{"a":1.5,"b":[1,{"x":"ü","y":null}]}"#);
        assert_eq!(serde_json::to_string(&a).unwrap(), a.as_str());
    }

    #[test]
    fn only_objects_are_attributes() {
        assert!("[1]".parse::<Attributes>().is_err());
        assert!("{".parse::<Attributes>().is_err());
        assert!(Attributes::default().is_empty());
    }
}
