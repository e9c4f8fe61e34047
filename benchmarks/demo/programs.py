"""Small Python functions with docstrings, made from templates: what the demo's code model reads.

A program is a signature, a docstring with a sentence and up to two examples, and a body. Sentences,
conditions and conversions combine freely, so that a model has to read the sentence instead of
remembering it. The problems of `samples/problems.jsonl` are other functions with other sentences.
"""

from __future__ import annotations

import keyword
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INDENT = " " * 4


@dataclass(frozen=True, slots=True)
class Program:
    """One function.

    Attributes:
        sentence: the docstring's first line, ending in a full stop.
        body: the statements, without indentation.
        calls: arguments of the examples, as they are written in a call.
    """

    name: str
    parameters: tuple[str, ...]
    sentence: str
    body: tuple[str, ...]
    calls: tuple[str, ...]

    @property
    def head(self) -> str:
        """The signature with its colon."""
        return f"def {self.name}({', '.join(self.parameters)}):"

    @property
    def code(self) -> str:
        """The indented body, ending in a line feed."""
        return "".join(f"{INDENT}{line}\n" for line in self.body)

    @property
    def prompt(self) -> str:
        """The signature and the docstring, as a model is asked to go on from."""
        if not self.calls:
            return f'{self.head}\n{INDENT}"""{self.sentence}"""\n'
        scope: dict[str, Any] = {}
        exec(f"{self.head}\n{self.code}", scope)
        lines = [self.sentence, ""]
        for call in self.calls:
            result = eval(f"{self.name}({call})", scope)
            lines += [f">>> {self.name}({call})", repr(result)]
        docstring = "\n".join(f"{INDENT}{line}" if line else "" for line in lines)
        return f'{self.head}\n{INDENT}"""{docstring.lstrip()}\n{INDENT}"""\n'

    @property
    def text(self) -> str:
        """The whole function."""
        return self.prompt + self.code


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words and the expression they mean; `{K}` is a small constant, `{x}` the thing itself."""

    words: str
    expression: str
    name: str


_VERBS = ("Return", "Return", "Return", "Give", "Compute", "Find")
_SYLLABLES = (
    *("a", "an", "ar", "ba", "be", "bi", "ca", "ch", "co", "cu", "da", "de", "di", "do"),
    *("e", "ed", "en", "er", "es", "fa", "fi", "ge", "gh", "gi", "ha", "he", "ho", "i"),
    *("in", "is", "it", "ke", "la", "le", "li", "lo", "ma", "me", "mi", "mo", "na", "ne"),
    *("ni", "no", "o", "on", "or", "ou", "pa", "pe", "po", "qu", "ra", "re", "ri", "ro"),
    *("sa", "se", "sh", "si", "so", "ta", "te", "th", "ti", "to", "tu", "u", "un", "up"),
    *("ur", "va", "ve", "vo", "wa", "we", "wi", "y", "ze"),
)
_CONDITIONS = (
    _Phrase("even", "{x} % 2 == 0", "even"),
    _Phrase("odd", "{x} % 2 == 1", "odd"),
    _Phrase("positive", "{x} > 0", "positive"),
    _Phrase("negative", "{x} < 0", "negative"),
    _Phrase("greater than {K}", "{x} > {K}", "above"),
    _Phrase("less than {K}", "{x} < {K}", "below"),
    _Phrase("divisible by {K}", "{x} % {K} == 0", "divisible"),
    _Phrase("equal to {K}", "{x} == {K}", "equal"),
)
_CONVERSIONS = (
    _Phrase("squares", "{x} * {x}", "squares"),
    _Phrase("cubes", "{x} ** 3", "cubes"),
    _Phrase("doubles", "2 * {x}", "doubles"),
    _Phrase("absolute values", "abs({x})", "sizes"),
    _Phrase("negatives", "-{x}", "negated"),
    _Phrase("remainders by {K}", "{x} % {K}", "remainders"),
)
_NUMBER_CHANGES = (
    _Phrase("{x} plus {K}", "{x} + {K}", "plus"),
    _Phrase("{x} minus {K}", "{x} - {K}", "minus"),
    _Phrase("{x} times {K}", "{x} * {K}", "times"),
    _Phrase("{x} multiplied by {K}", "{x} * {K}", "multiplied"),
    _Phrase("{x} divided by {K}, rounded down", "{x} // {K}", "divided"),
    _Phrase("the remainder of {x} divided by {K}", "{x} % {K}", "remainder"),
    _Phrase("the square of {x}", "{x} * {x}", "square"),
    _Phrase("the cube of {x}", "{x} ** 3", "cube"),
    _Phrase("twice {x}", "2 * {x}", "twice"),
    _Phrase("half of {x}, rounded down", "{x} // 2", "half"),
    _Phrase("the absolute value of {x}", "abs({x})", "absolute"),
    _Phrase("the negative of {x}", "-{x}", "negative"),
)
_PAIR_CHANGES = (
    _Phrase("the sum of {a} and {b}", "{a} + {b}", "sum"),
    _Phrase("the difference of {a} and {b}", "{a} - {b}", "difference"),
    _Phrase("the product of {a} and {b}", "{a} * {b}", "product"),
    _Phrase("the larger of {a} and {b}", "max({a}, {b})", "larger"),
    _Phrase("the smaller of {a} and {b}", "min({a}, {b})", "smaller"),
    _Phrase("the average of {a} and {b}", "({a} + {b}) / 2", "average"),
    _Phrase("{a} to the power of {b}", "{a} ** {b}", "power"),
    _Phrase("the sum of the squares of {a} and {b}", "{a} * {a} + {b} * {b}", "squares"),
)
_WHOLE_LISTS = (
    _Phrase("the sum of {x}", "sum({x})", "sum"),
    _Phrase("the number of elements in {x}", "len({x})", "size"),
    _Phrase("the length of {x}", "len({x})", "length"),
    _Phrase("the largest number in {x}", "max({x})", "largest"),
    _Phrase("the smallest number in {x}", "min({x})", "smallest"),
    _Phrase("the first element of {x}", "{x}[0]", "first"),
    _Phrase("the last element of {x}", "{x}[-1]", "last"),
    _Phrase("{x} in reverse order", "{x}[::-1]", "reverse"),
    _Phrase("{x} in increasing order", "sorted({x})", "increasing"),
    _Phrase("{x} in decreasing order", "sorted({x}, reverse=True)", "decreasing"),
    _Phrase("the first {K} elements of {x}", "{x}[:{K}]", "head"),
    _Phrase("{x} without the first element", "{x}[1:]", "rest"),
    _Phrase("{x} without the last element", "{x}[:-1]", "front"),
    _Phrase("the number of different elements in {x}", "len(set({x}))", "different"),
    _Phrase("the sum of the first and the last element of {x}", "{x}[0] + {x}[-1]", "ends"),
)
_TEXTS = (
    _Phrase("{x} in upper case", "{x}.upper()", "upper"),
    _Phrase("{x} in lower case", "{x}.lower()", "lower"),
    _Phrase("{x} in reverse order", "{x}[::-1]", "reverse"),
    _Phrase("the length of {x}", "len({x})", "length"),
    _Phrase("the first character of {x}", "{x}[0]", "first"),
    _Phrase("the last character of {x}", "{x}[-1]", "last"),
    _Phrase("{x} without spaces", "{x}.replace(' ', '')", "dense"),
    _Phrase("the list of words in {x}", "{x}.split()", "words"),
    _Phrase("the number of words in {x}", "len({x}.split())", "word_count"),
    _Phrase("{x} repeated {K} times", "{x} * {K}", "repeated"),
    _Phrase("the first {K} characters of {x}", "{x}[:{K}]", "head"),
    _Phrase("the number of times '{C}' appears in {x}", "{x}.count('{C}')", "letter_count"),
    _Phrase("{x} with every '{C}' replaced by '{D}'", "{x}.replace('{C}', '{D}')", "replaced"),
    _Phrase("the sorted list of characters in {x}", "sorted({x})", "sorted_letters"),
)
_TEXT_TESTS = (
    _Phrase("starts with '{C}'", "{x}.startswith('{C}')", "starts"),
    _Phrase("ends with '{C}'", "{x}.endswith('{C}')", "ends"),
    _Phrase("contains '{C}'", "'{C}' in {x}", "contains"),
    _Phrase("is empty", "{x} == ''", "empty"),
    _Phrase("reads the same backwards", "{x} == {x}[::-1]", "mirror"),
    _Phrase("is in upper case", "{x} == {x}.upper()", "upper"),
)
_WORDS = ("apple", "banana", "level", "river", "stone", "cloud", "noon", "Paper", "TEA", "green")
_LETTERS = "abcdefglmnoprst"


def _filled(phrase: _Phrase, draw: random.Random, **names: str) -> _Phrase:
    letters = draw.sample(_LETTERS, 2)
    known: Mapping[str, str] = {
        "K": str(draw.randint(2, 9)),
        "C": letters[0],
        "D": letters[1],
        **names,
    }
    return _Phrase(phrase.words.format(**known), phrase.expression.format(**known), phrase.name)


def _numbers(draw: random.Random) -> str:
    return repr([draw.randint(-5, 12) for _ in range(draw.randint(3, 5))])


def _text(draw: random.Random) -> str:
    return repr(" ".join(draw.sample(_WORDS, draw.randint(1, 2))))


def _program(
    draw: random.Random,
    name: str,
    parameters: Sequence[str],
    what: str,
    body: Sequence[str],
    argument: Callable[[random.Random], str],
) -> Program:
    if draw.random() < 0.75:
        name = _made_up_name(draw)
    calls = tuple(
        ", ".join(argument(draw) for _ in parameters) for _ in range(draw.choice((0, 1, 2, 2)))
    )
    return Program(name, tuple(parameters), f"{what}.", tuple(body), calls)


def _made_up_name(draw: random.Random) -> str:
    """A name that says nothing: what counts is the sentence."""
    words = range(draw.choice((1, 1, 2, 2, 3)))
    name = "_".join("".join(draw.choices(_SYLLABLES, k=draw.randint(1, 4))) for _ in words)
    return f"{name}_" if keyword.iskeyword(name) else name


def _on_number(draw: random.Random) -> Program:
    x = draw.choice(("n", "x", "number", "value"))
    phrase = _filled(draw.choice(_NUMBER_CHANGES), draw, x=x)
    what = f"{draw.choice(_VERBS)} {phrase.words}"
    body = [f"return {phrase.expression}"]
    return _program(draw, f"{phrase.name}_of", [x], what, body, lambda d: str(d.randint(-9, 20)))


def _test_of_number(draw: random.Random) -> Program:
    x = draw.choice(("n", "x", "number", "value"))
    phrase = _filled(draw.choice(_CONDITIONS), draw, x=x)
    what = f"{draw.choice(('Return True if', 'Return whether', 'Check if'))} {x} is {phrase.words}"
    body = [f"return {phrase.expression}"]
    return _program(draw, f"is_{phrase.name}", [x], what, body, lambda d: str(d.randint(-9, 20)))


def _on_pair(draw: random.Random) -> Program:
    a, b = draw.choice((("a", "b"), ("x", "y"), ("left", "right"), ("m", "n")))
    phrase = _filled(draw.choice(_PAIR_CHANGES), draw, a=a, b=b)
    what = f"{draw.choice(_VERBS)} {phrase.words}"
    body = [f"return {phrase.expression}"]
    return _program(draw, f"{phrase.name}_both", [a, b], what, body, lambda d: str(d.randint(1, 6)))


def _on_list(draw: random.Random) -> Program:
    x = draw.choice(_LISTS)
    phrase = _filled(draw.choice(_WHOLE_LISTS), draw, x=x)
    what = f"{draw.choice(_VERBS)} {phrase.words}"
    return _program(draw, f"{phrase.name}_in", [x], what, [f"return {phrase.expression}"], _numbers)


_LISTS = ("xs", "values", "nums", "items", "data")


def _chosen(draw: random.Random) -> Program:
    """Something of the elements that meet a condition."""
    x = draw.choice(_LISTS)
    condition = _filled(draw.choice(_CONDITIONS), draw, x="v")
    test = condition.expression
    short, start, update, words = draw.choice(
        (
            ("sum(v for v in {x} if {test})", "0", "result += v", "the sum of the {}"),
            ("sum(1 for v in {x} if {test})", "0", "result += 1", "the number of {}"),
            ("[v for v in {x} if {test}]", "[]", "result.append(v)", "the list of {}"),
            ("[v for v in {x} if {test}]", "[]", "result.append(v)", "the {}"),
        )
    )
    one_word = " " not in condition.words
    kind = f"{condition.words} numbers" if one_word else f"numbers {condition.words}"
    verb = draw.choice(_VERBS)
    what = f"{verb} {words.format(kind)} in {x}"
    body = [f"return {short.format(x=x, test=test)}"]
    if draw.random() < 0.25:
        body = _loop(x, start, [f"if {test}:", f"{INDENT}{update}"])
    return _program(draw, f"{condition.name}_{_noun(words)}", [x], what, body, _numbers)


def _noun(words: str) -> str:
    return next((noun for noun in ("sum", "number", "list") if noun in words), "ones")


def _loop(x: str, start: str, steps: Sequence[str]) -> list[str]:
    lines = [f"{INDENT}{step}" for step in steps]
    return [f"result = {start}", f"for v in {x}:", *lines, "return result"]


def _converted(draw: random.Random) -> Program:
    """Every element converted, added up or listed."""
    x = draw.choice(_LISTS)
    change = _filled(draw.choice(_CONVERSIONS), draw, x="v")
    made = change.expression
    summed = draw.random() < 0.4
    verb = draw.choice(_VERBS)
    of = f"the {change.words} of {draw.choice(('the numbers in ', 'all numbers in ', ''))}{x}"
    if summed:
        short, start, update = f"sum({made} for v in {x})", "0", f"result += {made}"
        what = f"{verb} the sum of {of}"
    else:
        short, start, update = f"[{made} for v in {x}]", "[]", f"result.append({made})"
        what = f"{verb} {draw.choice((of, f'the list of {of}'))}"
    body = [f"return {short}"] if draw.random() < 0.75 else _loop(x, start, [update])
    return _program(
        draw, f"{change.name}_{'total' if summed else 'all'}", [x], what, body, _numbers
    )


def _chosen_and_converted(draw: random.Random) -> Program:
    x = draw.choice(_LISTS)
    change = _filled(draw.choice(_CONVERSIONS), draw, x="v")
    condition = _filled(draw.choice(_CONDITIONS), draw, x="v")
    one_word = " " not in condition.words
    kind = f"{condition.words} numbers" if one_word else f"numbers {condition.words}"
    inner = f"{change.expression} for v in {x} if {condition.expression}"
    what = f"the {change.words} of the {kind} in {x}"
    if draw.random() < 0.4:
        body, what = [f"return sum({inner})"], f"the sum of {what}"
    else:
        body = [f"return [{inner}]"]
    name = f"{condition.name}_{change.name}"
    return _program(draw, name, [x], f"{draw.choice(_VERBS)} {what}", body, _numbers)


def _on_text(draw: random.Random) -> Program:
    x = draw.choice(("s", "text", "word", "line"))
    phrase = _filled(draw.choice(_TEXTS), draw, x=x)
    what = f"{draw.choice(_VERBS)} {phrase.words}"
    return _program(draw, f"{phrase.name}_str", [x], what, [f"return {phrase.expression}"], _text)


def _test_of_text(draw: random.Random) -> Program:
    x = draw.choice(("s", "text", "word", "line"))
    phrase = _filled(draw.choice(_TEXT_TESTS), draw, x=x)
    what = f"{draw.choice(('Return True if', 'Return whether', 'Check if'))} {x} {phrase.words}"
    return _program(draw, f"{phrase.name}_str", [x], what, [f"return {phrase.expression}"], _text)


_FAMILIES = (
    _on_number,
    _test_of_number,
    _on_pair,
    _on_list,
    _on_list,
    _chosen,
    _chosen,
    _converted,
    _chosen_and_converted,
    _on_text,
    _on_text,
    _test_of_text,
)


def programs(seed: int) -> Iterator[Program]:
    """Programs without end, the same for the same seed."""
    draw = random.Random(seed)
    while True:
        yield draw.choice(_FAMILIES)(draw)
