"""Names of organisations that cannot be taken for one another: written, spelled or drawn alike counts as the same.

Receipts carry the name of who signed. So a name is compared by two texts: what is left when width, case and blanks are
ignored (``folded``), and what is left when letters are replaced by those they look like (``skeleton``, after Unicode
Technical Standard 39). Names that mix alphabets are refused: no honest name needs a Cyrillic letter among Latin ones.
"""

from __future__ import annotations

import re
import unicodedata

from pydplib.errors import ParameterError

MOST_LETTERS = 120

# From Unicode's confusables.txt: letters of the recommended alphabets that are drawn like a Latin letter. Both cases
# stand here on their own, because they look like different letters (Greek capital Eta like H, small eta like none).
_CYRILLIC = (
    "Ѕ:S І:I Ј:J А:A В:B Е:E К:K М:M Н:H О:O Р:P С:C Т:T У:Y Х:X Ь:b а:a г:r е:e о:o р:p с:c у:y х:x ѕ:s і:i ј:j ѡ:w "
    "Ѵ:V ѵ:v Ү:Y ү:y һ:h ҽ:e Ӏ:I ӏ:l ԁ:d Ԍ:G ԛ:q Ԝ:W ԝ:w ꙇ:i"
)
_GREEK = (
    "Ϳ:J Α:A Β:B Ε:E Ζ:Z Η:H Ι:I Κ:K Μ:M Ν:N Ο:O Ρ:P Τ:T Υ:Y Χ:X α:a γ:y ι:i ν:v ο:o ρ:p σ:o υ:u ϒ:Y Ϝ:F ϱ:p ϲ:c ϳ:j "
    "Ϲ:C Ϻ:M"
)
_ARMENIAN = "Ս:U Տ:S Օ:O ա:w գ:q զ:q հ:h ո:n ռ:n ս:u ց:g ք:f օ:o"
# Drawn like these in most typefaces, small or capital, though they are no cognates.
_WITHOUT_MARKS = "ı:i ł:l ø:o đ:d ħ:h ŧ:t ɑ:a ɡ:g ɩ:i ʟ:l ƙ:k ß:b æ:ae œ:oe þ:p Ɛ:E ɛ:e ə:e"
_EAST_ASIAN = "〇:o 口:o ロ:o 丨:l 工:l エ:l ー:- 一:- ノ:/ 丿:/ 亅:l 丶:-"
_LOOKS = {
    ord(pair[0]): pair[2:]
    for table in (_CYRILLIC, _GREEK, _ARMENIAN, _WITHOUT_MARKS, _EAST_ASIAN)
    for pair in table.split(" ")
}
_STROKES = str.maketrans({"1": "l", "i": "l", "|": "l", "!": "l", "0": "o", "+": "t"})
_PAIRS = (("rn", "m"), ("vv", "w"))

_TOGETHER = frozenset(
    ["LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"]
)
"""Alphabets that stand in one name in practice: Latin, Chinese, Japanese and Korean writing."""

_RECOMMENDED = _TOGETHER | frozenset(
    (  # noqa: SIM905 - a list of words, not of punctuation
        "ARABIC ARMENIAN BENGALI CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI HEBREW KANNADA KHMER "
        "LAO MALAYALAM MYANMAR ORIYA SINHALA TAMIL TELUGU THAANA THAI TIBETAN"
    ).split()
)
"""The alphabets of everyday writing (Unicode Standard Annex 31, table 5); others are made of look-alikes."""

_EVERYDAY_LATIN = frozenset("ƏəƆɔƐɛƁɓƊɗƉɖƎǝƑƒƓɠƔɣƖƗƘƙƝɲƤƥƬƭƲʋƳƴƵƶƷʒɨʉ")
"""Letters of living languages with no plain letter inside, above U+017F. Other ones (small capitals, clicks, letters of
phonetic writing) are drawn like plain letters or strokes."""

_SIGNS = frozenset(" .,:;'\"&+-–/()#!|’‘“”„«»·・、「」")
"""What may stand between letters and digits. Other signs are drawn like letters (℮, ×, ∣, ○), or replace them ($)."""

_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters, marks and signs that show nothing, whatever their category says."""


def tidy(name: str) -> str:
    """Return a name as it is stored: compatible forms made plain, runs of blanks made one.

    Examples:
        >>> tidy("  St.  Example ")
        'St. Example'
    """
    return " ".join(unicodedata.normalize("NFKC", name).split())


def folded(name: str) -> str:
    """Return what is left of a name without width, case and kinds of blanks.

    Examples:
        >>> folded("ＳＴ. Example") == folded("St. EXAMPLE")
        True
    """
    return unicodedata.normalize("NFKC", tidy(name).casefold())


def skeleton(name: str) -> str:
    """Return how a name looks: equal for two names that a reader could take for one another.

    Examples:
        >>> skeleton("Hоspital 1") == skeleton("Hospital I"), skeleton("Hospital 1") == skeleton("Hospital 2")
        (True, False)
    """
    drawn = unicodedata.normalize("NFKC", name).translate(_LOOKS).casefold()
    plain = unicodedata.normalize("NFKD", drawn).translate(_LOOKS)
    letters = re.sub(r"[\W_]", "", "".join(c for c in plain if not unicodedata.combining(c)).translate(_STROKES))
    for pair, one in _PAIRS:
        letters = letters.replace(pair, one)
    return letters


def check_name(name: str) -> str:
    """Return the name as it is stored; raise ``ParameterError`` if no organisation may be called so."""
    tidied = tidy(name)
    if not skeleton(tidied):
        raise ParameterError("A name needs letters or digits.")
    if len(tidied) > MOST_LETTERS:
        raise ParameterError(f"A name has {MOST_LETTERS} letters at most.")
    if any(_is_unseen(letter) for letter in tidied):
        raise ParameterError("The name holds characters that nobody can see. Type it again.")
    if strange := [letter for letter in tidied if not (letter.isalnum() or _is_mark(letter) or letter in _SIGNS)]:
        raise ParameterError(f"A name has letters, digits and everyday punctuation. Leave out: {' '.join(strange[:5])}")
    alphabets = {unicodedata.name(c, "UNKNOWN").split(" ")[0] for c in tidied if c.isalpha()}
    mixed = len(alphabets) > 1 and not alphabets <= _TOGETHER
    if not alphabets <= _RECOMMENDED or mixed or ("LATIN" in alphabets and any(_passes_for_latin(c) for c in tidied)):
        raise ParameterError("The name mixes letters of several alphabets that look alike. Type it in one alphabet.")
    return tidied


def _is_mark(letter: str) -> bool:
    """Return whether a sign belongs to the letter before it, as vowels of Indian writing do."""
    return unicodedata.category(letter) in ("Mn", "Mc")


def _is_unseen(letter: str) -> bool:
    category = unicodedata.category(letter)
    return letter in _UNSEEN or category in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def _passes_for_latin(letter: str) -> bool:
    """Return whether a sign has no place in a Latin name but to be taken for one that has."""
    if letter.isascii():
        return False
    if unicodedata.category(letter) in ("Nd", "Nl", "No"):
        return True
    kind = unicodedata.name(letter, "")
    if kind.startswith(("HANGUL CHOSEONG", "HANGUL JUNGSEONG", "HANGUL JONGSEONG", "BOPOMOFO")):
        return True  # parts of syllables: strokes and circles
    plain = unicodedata.normalize("NFD", letter)[0]
    return kind.startswith("LATIN") and plain > "\u017f" and plain not in _EVERYDAY_LATIN
