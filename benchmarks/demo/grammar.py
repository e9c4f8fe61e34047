"""The demo's training text: short Korean passages drawn from a small grammar.

Nothing here is the benchmarks' text. A passage is a scene: a handful of nouns that come back
from sentence to sentence, so a masked noun usually stands elsewhere in the passage. Part of the
nouns and of the words between them are invented from random syllables: such a noun can be
filled in only by finding it again in the passage, which is the skill that Real@K measures.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Syllables frequent in Korean that the word lists happen to miss.
EXTRA_SYLLABLES = (
    "밖깼꽁덟삿섰얀찼슛했됨쨌훗켜쏜뭐밋빚껄괜꽤쫙촌뎌"
    "갉갚갛갱걱겠겪곁곱괴굳긁긋긍깎깐깜깡깥깬꼈꼬꼭꼴꽂꽉꿔꿰끄끊낌낑납낯넉넋넜넸녔녕놨눌눕늦늪닌닝닮닳닿댁댐댓덜덮돋됐될듯딘딩딪딱땀땄땠떤떴떻떼똑뜨뜬뜯띄띠랬랭략량렇렌렬렷령록롯룻륙륵"
    "릅맘맙맞맡맨맸맺멈멋몇몽묘묶묻묽므믿및밑밟뱃벅볏볕봐봤붙브빚빡뺨뻗뽀뽑뾰뿐뿔삐삭삯샘섭센셈셉셔셨솟쇄숨숯싫싶쌍썩쏘쏟쏠쐐쑤쓸씩씬않앓앵얇얕얗얹엄엇엮엷옳왁왼웅윗응잇잘잣잦잿젖젤좀좁"
    "좇좌죄줍줘즉즙짖짚짜짝쩍쩔쯤찍찔찜찢착찮챙척쳐촉총최춥충춰췄츠층칸캄캐컸켜켠콘쾌쿠쿨클탬탱턱털텀텅툼튀튕틈틔팠팡펴펼푹푼핏헤혔혹홀확훌훑훔훨휩흉흘흠흡흥흩힌"
)
# Josa after a final consonant / after a vowel.
JOSA = {
    "은": ("은", "는"),
    "이": ("이", "가"),
    "을": ("을", "를"),
    "와": ("과", "와"),
    "로": ("으로", "로"),
    "이다": ("이다", "다"),
    "이라고": ("이라고", "라고"),
    "이나": ("이나", "나"),
    "이었다": ("이었다", "였다"),
}
ENDINGS: tuple[str, ...] = ("", *"은는을를이에로고어한던다", "면서", "지만")
# A pattern's word is a role and what follows it, a word of a list (@), or plain text. Roles:
# S a person or animal, P a place, O M N any noun of the scene. `O!f` is an object's predicate
# and `O?f` a subject's, in its adnominal (a), connective (c) or final (f) form.
PATTERNS = """
@time S은 P에서 O을 O!f
S은 O을 O!c M을 M!f
S은 @manner O을 O!f
O은 @manner O?f
O은 O?c M도 M?f
S이 O!a O은 @manner O?f
S이 P에서 O!a O을 M!f
P에는 @quality O이 많다
P에서는 O을 O!a S을 볼 수 있다
O은 M의 한 종류이다
@link S은 O와 M을 O!f
@link O이 O?f
사람들은 O을 M이라고 부른다
S은 O 때문에 P까지 갔다
@time S은 P로 갔다
S은 P에 도착해 O을 O!f
O 덕분에 M이 M?f
O이 없으면 M도 없다
O은 P에서 처음 만들어졌다
P은 O으로 유명하다
O보다 M이 더 인기가 있었다
O을 O!a 사람은 S이다
P 앞에 @quality O이 있었다
S은 O을 P에 두었다
S의 O은 @manner O?f
O 위에 M을 올렸다
S은 O 안에서 M을 찾았다
@quality O이 있으면 M을 더 쉽게 얻을 수 있다
O의 M은 @manner M?f
S은 S을 위해 O을 O!f
@time O이 O?c P은 P?f
O에 M을 넣고 @manner 기다렸다
S은 O이 O?c M이 M?a P을 P!f
O은 P의 자랑이다
P에 사는 S은 O을 O!f
@link @time S은 O부터 O!f
O이나 M을 O!a 날에는 N도 N!f
@link M이 M?a 까닭은 O이었다
S은 O에 대해 자세히 설명했다
P을 P!a S은 O을 M에 비유했다
O마다 M이 달랐다
S은 O만 O!f
O 가게 앞에 @quality M이 있었다
O 속의 M은 @manner M?f
S은 O 뒤를 @manner 따라갔다
O 사람들은 M을 M!f
O 이야기를 들은 S은 M을 M!f
@time O 값이 오르자 M도 M?f
P에 가면 O와 M을 볼 수 있다
S에게 O은 M처럼 중요했다
O에서 나온 M이 @manner M?f
O 끝에는 M이 놓여 있다
""".strip().split("\n")
_ROLE = re.compile(r"([SPOMN])([!?][acf]|[^!?,]*)")
_KINDS = {"food": 5, "place": 2, "animal": 2, "plant": 2, "thing": 5, "nature": 2, "art": 2,
          "event": 3, "idea": 4, "person": 1}  # fmt: skip
_FORMS = "acf"


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and where its nouns stand: `[start, end)` characters of each mention, in order."""

    text: str
    mentions: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Words:
    """The word lists of `words_ko.toml`; predicates are (adnominal, connective, final)."""

    nouns: dict[str, tuple[str, ...]]
    object_verbs: dict[str, tuple[tuple[str, ...], ...]]
    subject_verbs: dict[str, tuple[tuple[str, ...], ...]]
    fillers: dict[str, tuple[str, ...]]
    syllables: tuple[str, ...]


def _predicates(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(form.strip() for form in predicate.split("/")) for predicate in text.split(",")
    )


@cache
def words() -> Words:
    """The word lists, read once."""
    source = Path(__file__).with_name("words_ko.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(source)
    hangul = sorted(set(re.findall(r"[가-힣]", source + EXTRA_SYLLABLES)))
    return Words(
        nouns={kind: tuple(dict.fromkeys(text.split())) for kind, text in tables["nouns"].items()},
        object_verbs={kind: _predicates(text) for kind, text in tables["object_verbs"].items()},
        subject_verbs={kind: _predicates(text) for kind, text in tables["subject_verbs"].items()},
        fillers={name: tuple(text.split()) for name, text in tables["fillers"].items()},
        syllables=tuple(hangul),
    )


def with_josa(noun: str, josa: str) -> str:
    """The noun followed by the josa's form that suits its last sound."""
    if josa not in JOSA:
        return noun + josa
    final = (ord(noun[-1]) - 0xAC00) % 28 if "가" <= noun[-1] <= "힣" else 0
    closed = final != 0 and not (josa == "로" and final == 8)
    return noun + JOSA[josa][0 if closed else 1]


class _Scene:
    """The nouns of one passage by kind; it hands out known ones more often than new ones."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.known: dict[str, list[str]] = {}
        kinds = random_.choice((1, 2, 3))
        self.kinds = random_.choices(list(_KINDS), list(_KINDS.values()), k=kinds)
        self.reuse = random_.uniform(0.4, 0.75)
        self.invented = random_.choice((0.0, 0.0, 0.1, 0.4))
        self.noise = random_.choice((0.0, 0.15, 0.3, 0.45))

    def invent(self, lengths: tuple[int, ...]) -> str:
        return "".join(self.random.choices(words().syllables, k=self.random.choice(lengths)))

    def noun(self, kind: str, taken: set[str]) -> str:
        known = [noun for noun in self.known.get(kind, ()) if noun not in taken]
        if known and self.random.random() < self.reuse:
            return self.random.choice(known)
        if self.random.random() < self.invented:
            noun = self.invent((2, 2, 2, 3, 3, 4))
        else:
            noun = self.random.choice(words().nouns[kind])
        if noun in taken:
            return self.noun(kind, taken)
        self.known.setdefault(kind, []).append(noun)
        return noun

    def other_word(self) -> str:
        """A word that does not belong to the pattern: of any Korean text, or invented."""
        if self.random.random() < 0.6:
            return self.random.choice(words().fillers["general"])
        return self.invent((1, 2, 3)) + self.random.choice(ENDINGS)

    def kind_of(self, role: str) -> str:
        if role == "S":
            return "person" if self.random.random() < 0.9 else "animal"
        if role == "P":
            return "place"
        return self.random.choice(self.kinds)

    def sentence(self, pattern: str) -> list[tuple[str, str]]:
        """The sentence's words, each as (noun or "", the whole word)."""
        roles: dict[str, tuple[str, str]] = {}
        taken: set[str] = set()
        made: list[tuple[str, str]] = []
        for word in pattern.split():
            if made and self.random.random() < self.noise:
                made.append(("", self.other_word()))
            role = _ROLE.fullmatch(word)
            if word.startswith("@"):
                made.append(("", self.random.choice(words().fillers[word[1:]])))
            elif role is None:
                made.append(("", word))
            else:
                name, after = role.groups()
                is_predicate = after[:1] in ("!", "?")
                if name not in roles or (name == "S" and not is_predicate):
                    kind = self.kind_of(name)
                    roles[name] = kind, self.noun(kind, taken)
                    taken.add(roles[name][1])
                kind, noun = roles[name]
                if is_predicate:
                    made.append(("", self.predicate(kind, after)))
                else:
                    made.append((noun, with_josa(noun, after)))
        return made

    def predicate(self, kind: str, form: str) -> str:
        """A predicate of an object (`!`) or a subject (`?`) in its a, c or f form."""
        verbs = words().object_verbs if form[0] == "!" else words().subject_verbs
        return self.random.choice(verbs[kind])[_FORMS.index(form[1])]

    def passage(self, sentences: int) -> Passage:
        """A text of so many sentences."""
        text = ""
        mentions: list[tuple[int, int]] = []
        for number in range(sentences):
            for place, (noun, word) in enumerate(self.sentence(self.random.choice(PATTERNS))):
                text += " " if number or place else ""
                if noun:
                    mentions.append((len(text), len(text) + len(noun)))
                text += word
            text += "."
        return Passage(text, tuple(mentions))


def passages(seed: int, sentences: tuple[int, ...] = (2, 3, 4)) -> Iterator[Passage]:
    """Passages without end, the same for the same seed; each has one of these sentence counts."""
    random_ = random.Random(seed)
    while True:
        yield _Scene(random_).passage(random_.choice(sentences))
