//! Laws of every reader: nothing panics, sloppy values never refuse a file, what is exported imports.

use loader_core::{
    character::CardSpec,
    format::{
        card::{self, Container},
        persona, preset,
    },
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use crate::fixture;

const CARD_KEYS: &[&str] = &[
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "alternate_greetings",
    "group_only_greetings",
    "tags",
    "creator",
    "character_version",
    "nickname",
    "assets",
    "extensions",
    "character_book",
];
const PRESET_KEYS: &[&str] = &[
    "prompts",
    "prompt_order",
    "temperature",
    "openai_max_context",
    "openai_max_tokens",
    "seed",
    "stop",
    "names_behavior",
    "names_in_completion",
    "wi_format",
    "squash_system_messages",
    "main_prompt",
    "extensions",
    "reasoning_effort",
    "custom_url",
    "anything",
];
const PROMPT_KEYS: &[&str] = &[
    "identifier",
    "id",
    "name",
    "role",
    "content",
    "system_prompt",
    "marker",
    "enabled",
    "injection_position",
    "injection_depth",
    "injection_order",
    "injection_trigger",
];

/// Any value, small.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "\\PC{0,12}".prop_map(Value::from),
        select(&["", "1", " 2 ", "-1", "true", "model", "1e999", "{{char}}"][..])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let list = vec(inner.clone(), 0..4).prop_map(Value::from);
        let object = vec(("[a-z_]{1,12}", inner), 0..4);
        prop_oneof![list, object.prop_map(|fields| Value::Object(fields.into_iter().collect()))]
    })
}

/// An object of some of the keys with values of any type.
fn sloppy(keys: &'static [&'static str]) -> impl Strategy<Value = Map<String, Value>> {
    vec((select(keys), any_json()), 0..keys.len())
        .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A file with some of its bytes changed, or cut.
fn damaged(name: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let whole = fixture(name);
    let length = whole.len();
    (vec((0..length, any::<u8>()), 0..8), 0..=length).prop_map(move |(changes, cut)| {
        let mut bytes = whole.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes.truncate(if cut % 3 == 0 { cut } else { length });
        bytes
    })
}

proptest! {
    #[test]
    fn a_card_of_sloppy_values_still_imports(mut data in sloppy(CARD_KEYS), spec in select(&["chara_card_v2", "chara_card_v3", "x"][..])) {
        data.insert("name".to_owned(), json!("A"));
        let document = json!({"spec": spec, "data": data}).to_string();
        let imported = card::read(document.as_bytes(), None).expect("sloppy is not refused");
        prop_assert_eq!(imported.character.name.as_str(), "A");
        prop_assert_eq!(imported.document, document.into_bytes());
    }

    #[test]
    fn a_preset_of_sloppy_values_still_imports(root in sloppy(PRESET_KEYS), prompts in vec(sloppy(PROMPT_KEYS), 0..5)) {
        let mut root = root;
        root.insert("prompts".to_owned(), json!(prompts));
        let imported = preset::read(json!(root).to_string().as_bytes()).expect("sloppy is not refused");
        prop_assert!(imported.preset.prompts.len() >= prompts.len());
        prop_assert!(imported.preset.prompts.iter().all(|prompt| !prompt.identifier.is_empty()));
    }

    #[test]
    fn any_value_is_read_or_refused(value in any_json()) {
        let bytes = value.to_string().into_bytes();
        let _ = card::read(&bytes, Some("x.json"));
        let _ = preset::read(&bytes);
        let _ = persona::read(&bytes);
    }

    #[test]
    fn a_damaged_picture_is_read_or_refused(bytes in damaged("card_png_ccv3_over_chara_min.png")) {
        let _ = card::read(&bytes, None);
    }

    #[test]
    fn a_damaged_compressed_picture_is_read_or_refused(bytes in damaged("fuzz_png_itxt_compressed.png")) {
        let _ = card::read(&bytes, None);
    }

    #[test]
    fn a_damaged_archive_is_read_or_refused(bytes in damaged("fuzz_charx_jpeg_prefix.charx")) {
        let _ = card::read(&bytes, None);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..400), picture: bool) {
        let head: &[u8] = if picture { b"\x89PNG\r\n\x1a\n" } else { b"{" };
        let _ = card::read(&[head, &bytes].concat(), None);
        let _ = preset::read(&bytes);
    }

    #[test]
    fn what_is_put_into_a_file_comes_back(name in "\\PC{1,20}", v3: bool) {
        prop_assume!(!name.trim().is_empty());
        let spec = if v3 { CardSpec::V3 } else { CardSpec::V2 };
        let document = json!({"spec": format!("chara_card_{}", spec.name()), "data": {"name": name}});
        let document = document.to_string().into_bytes();
        for (container, original) in [
            (Container::Json, Vec::new()),
            (Container::Png, fixture("card_png_ccv3_over_chara_min.png")),
            (Container::Charx, fixture("fuzz_charx_jpeg_prefix.charx")),
        ] {
            let file = card::embed(container, &original, &document, spec).expect("a good original");
            let again = card::read(&file, None).expect("what was exported imports");
            prop_assert_eq!((again.container, &again.document), (container, &document));
            prop_assert_eq!(&again.character.name, &name);
        }
    }
}
