"""What a search shows, and in which order."""

from __future__ import annotations

import unicodedata
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from shapewise.ui.find.ranking import MOST_OF_KIND, Place, fold, grouped, ranked

NAMES = st.text("aàbÄß_ é", min_size=1, max_size=8).filter(str.strip)
PLACES = st.lists(
    st.builds(Place, st.sampled_from(["Models", "Features", "Boards"]), NAMES, st.just("shapes"),
              also=NAMES | st.just("")),
    min_size=1, max_size=30,
)  # fmt: skip


def bare(text):
    """A text as somebody types it whose keyboard has no accents."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


@given(PLACES, st.data())
def test_a_name_is_first_where_it_is_asked_for_in_whatever_case_and_without_accents(places, data):
    place = data.draw(st.sampled_from(places))
    for asked in (place.name, place.name.upper(), bare(place.name), f" {place.name.lower()} "):
        assert fold(ranked(places, asked)[0].name) == fold(place.name)


@given(PLACES, NAMES, NAMES)
def test_more_letters_never_bring_more(places, asked, more):
    assert Counter(map(id, ranked(places, asked + more))) <= Counter(map(id, ranked(places, asked)))


@given(PLACES, NAMES)
def test_all_and_only_what_has_the_words_is_listed_once(places, asked):
    texts = {id(place): fold(f"{place.name} {place.also}") for place in places}
    has = [place for place in places if all(word in texts[id(place)] for word in fold(asked).split())]
    assert Counter(map(id, ranked(places, asked))) == Counter(map(id, has))


@given(PLACES, NAMES)
def test_names_come_before_what_is_only_beside_them_and_beginnings_before_middles(places, asked):
    wanted = fold(asked)

    def level(place):
        name = fold(place.name)
        return 0 if name == wanted else 1 if name.startswith(wanted) else 2 if wanted in name else 3

    levels = [level(place) for place in ranked(places, asked)]
    assert levels == sorted(levels)


@given(PLACES, NAMES)
def test_groups_are_a_short_part_of_the_same_order(places, asked):
    groups = grouped(places, asked)
    order = [id(place) for place in ranked(places, asked)]
    firsts = [order.index(id(group.places[0])) for group in groups]
    assert firsts == sorted(firsts)
    assert sum(group.total for group in groups) == len(order)
    for group in groups:
        assert len(group.places) == min(group.total, MOST_OF_KIND)
        assert {place.kind for place in group.places} == {group.kind}
        at = [order.index(id(place)) for place in group.places]
        assert at == sorted(at)


def test_of_two_alike_the_shorter_and_then_the_earlier_is_first():
    places = [Place("Features", name, "shapes") for name in ("age of car", "age at", "age on", "page", "old_age")]
    assert [place.name for place in ranked(places, "age")] == ["age at", "age on", "age of car", "old_age", "page"]
    assert ranked(places, "  ") == []
