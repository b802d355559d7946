"""Texts of all scripts, as Hypothesis makes them."""

from __future__ import annotations

from hypothesis import strategies as st

# Pieces where a cut can go wrong: case pairs whose lower case is longer, marks on nothing, invisible joiners
# between letters, scripts without spaces, digits of other scripts, lone surrogates, control characters.
PIECES = (
    "the", "Don't", "ÉCOLE", "e\u0301", "İstanbul", "ẞ", "ΣΑΣ", "ﬁ", "K", "\u0301", "\u20dd", "1984", "x2",
    "½", "Ⅳ", "हिन्दी", "क्\u200dष", "ไทย", "ที่", "ລາວ", "ខ្មែរ", "မြန်", "中文", "字a", "a字", "カタカナ", "ー",
    "한국어", "\u1112\u1161\u11ab", "العربية", "\u200f", "שָׁלוֹם", "٣٤", "๔", "\u200d", "\u200b", "\ufeff",
    "\u00ad", "👩\u200d🚀", "👍🏽", "🇮🇹", "\ud800", "\udfff", "\ud83d\ude00", "\x00", "\x1c", "\x85",
    "\u2028", "\u3000", "\t\n ", "_", "-", "'", ".", "<b>", "&amp;", "\ue000", "\U0010ffff", "\u0378",
    "\u1e9b", "\u01c5", "\u2160", "\U00010400", "\U00020000",
)  # fmt: skip

any_character = st.characters(exclude_categories=())  # lone surrogates and unassigned code points as well
texts = st.lists(
    st.sampled_from(PIECES) | st.text(any_character, max_size=6) | st.sampled_from([" ", "a", "B", "\u0300"]),
    max_size=25,
).map("".join)
