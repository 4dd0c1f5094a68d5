"""Templates see a row and nothing else, and none of them runs away."""

import time
from typing import Any

import pytest

from helmsite.errors import ScenarioError
from helmsite.scenarios import sandbox
from helmsite.scenarios.sandbox import Sandbox
from helmsite.scenarios.templates import Template, renderer

ROW: dict[str, Any] = {
    "question": "What?",
    "choices": ["a", "b"],
    "items": "a field called items",
    "Best Answer": "yes",
    "_id": 3,
    "nothing": None,
    "score": "1.5",
    "nested": {"values": [1, 2]},
    "result": "r",
    "big": "a" * 1_000_000,
    "many": ["x"] * 5_000,
}


def value(source: str) -> Any:
    seen = {**ROW, "row": ROW, "parameters": {"subject": "anatomy"}}
    return Template(source, Sandbox()).value(seen)


def fails(source: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        value(source)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("ends\n", "ends\n"),
        ("{{ question }}", "What?"),
        ("Q: {{ question }}\nA:", "Q: What?\nA:"),
        ("{{ choices }}", ["a", "b"]),
        ("{{ result | upper }}{{ result }}", "Rr"),
        ("{{ result | upper }}", "R"),
        ("{{ choices[1] }}", "b"),
        ("{{ nothing }}", None),
        ("{{ nothing | default('-', true) }}", "-"),
        ("{{ hint | default('-') }}", "-"),
        ("{{ row['Best Answer'] }}", "yes"),
        ("{{ row.items }} {{ row._id }}", "a field called items 3"),
        ("{{ nested['values'] }}", [1, 2]),
        ("{{ nested.values }}", [1, 2]),
        ("{{ score | float * 2 }}", 3.0),
        ("{{ score | float > 1 }}", True),
        ("{{ '7' | int }}", 7),
        ("{{ question | int(-1) }}", -1),
        ("{{ nothing | float(0.5) }}", 0.5),
        ("{{ choices | map('upper') }}", ["A", "B"]),
        ("{{ choices | join(', ') }}", "a, b"),
        ("{{ ', '.join(choices) }}", "a, b"),
        ("{{ choices | tojson }} <>", '["a", "b"] <>'),
        ("{{ '<ä>' | tojson }}", '"<ä>"'),
        ("{{ question.replace('W', 'w') ~ 1 }}", "what?1"),
        ("{{ question | replace('W', 'w') }}", "what?"),
        ("{{ question[::-1] }}", "?tahW"),
        ("{{ choices + ['c'] }}", ["a", "b", "c"]),
        ("{{ choices | sum(start=[]) if false else [1, 2] | sum }}", 3),
        ("{{ 2.567 | round(1) }}", 2.6),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ {'a': choices}.items() | list }}", [["a", ["a", "b"]]]),
        ("{{ {'a': (1, 2)} }}", {"a": [1, 2]}),
        ("{{ 'values' in nested }}", True),
        ("{{ 'a' in choices }}", True),
        ("{{ 'A' if question is string else 'B' }}", "A"),
        ("{{ nested.items() }}", [["values", [1, 2]]]),
        ("{{ choices | select('in', ['b']) }}", ["b"]),
        ("{% for c in choices %}{{ loop.index }}{{ c }}{{ '' if loop.last else ' ' }}{% endfor %}", "1a 2b"),
        ("{% set n = 3 %}{{ n + 1 }}", "4"),
        ("{{ parameters.subject }}", "anatomy"),
        ("{{ '{{' }} {x}", "{{ {x}"),
    ],
)  # fmt: skip
def test_what_templates_give(source: str, expected: Any) -> None:
    assert value(source) == expected
    assert type(value(source)) is type(expected)


ESCAPES = [
    "{{ ''.__class__.__mro__ }}",
    "{{ ''['__class__'] }}",
    "{{ question | attr('__class__') }}",
    "{{ choices | map(attribute='__class__') | list }}",
    "{{ (question.upper).__self__ }}",
    "{{ question.format.__globals__ }}",
    "{{ '{0.__class__}'.format(question) }}",
    "{{ '%s' % question }}",
    "{{ range.__init__ }}",
    "{{ range }}",
    "{{ self.__init__ }}",
    "{{ self }}",
    "{{ cycler.__init__.__globals__.os }}",
    "{{ lipsum() }}",
    "{{ namespace() }}",
    "{{ choices.append('c') }}",
    "{{ row.update(question='') }}",
    "{{ row.pop('question') }}",
    "{% include 'secret' %}",
    "{% import 'os' as os %}",
    "{% extends 'x' %}",
    "{% macro m() %}{% endmacro %}",
    "{% call x() %}{% endcall %}",
    "{% filter upper %}x{% endfilter %}",
    "{% set x %}y{% endset %}",
    "{% for c in choices recursive %}{{ loop([]) }}{% endfor %}",
    "{% for c in choices %}{{ loop.cycle(1, 2) }}{% endfor %}",
    "{{ question() }}",
    "{{ (question.encode)() }}",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_no_template_reaches_python(source: str) -> None:
    before = {k: str(v) for k, v in ROW.items()}
    fails(source)
    assert {k: str(v) for k, v in ROW.items()} == before


BOMBS = [
    "{{ range(1000000000) }}",
    "{{ range(10 ** 9) }}",
    "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}",
    "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}",
    "{% for a in range(10000) %}{{ big }}{% endfor %}",
    "{% for a in range(10000) %}{% if 'z' in many %}{% endif %}{% endfor %}",
    "{{ range(10000) | map('upper') | map('replace', '0', big) | join }}",
    "{{ 'a' * 1000000000 }}",
    "{{ 1000000000 * [1] }}",
    "{{ big | replace('a', big) }}",
    "{{ big.replace('a', big) }}",
    "{{ big.replace('', big) }}",
    "{{ big.join(many) }}",
    "{{ many | join(big) }}",
    "{{ " + " ~ ".join(["big"] * 30) + " }}",
    "{{ " + " + ".join(["big"] * 30) + " }}",
    "{{ " + " * ".join(["99999999"] * 200) + " }}",
    "{{ 2 ** 1000000000 }}",
    "{{ 7 | round(1000000000, 'ceil') }}",
    "{{ question | center(1000000000) }}",
    "{{ question.ljust(1000000000) }}",
    "{{ question.expandtabs(1000000000) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
]


@pytest.mark.parametrize("source", BOMBS, ids=range(len(BOMBS)))
def test_no_template_runs_away(source: str) -> None:
    start = time.process_time()
    fails(source)
    assert time.process_time() - start < 3


def test_the_budget_is_for_each_value() -> None:
    seen: dict[str, Any] = {"row": {}, "parameters": {}}
    template = Template("{{ 'a' * 15000000 }}", Sandbox())
    for _ in range(3):
        assert len(template.value(seen)) == 15_000_000


def test_a_round_of_loops_within_the_budget_works() -> None:
    steps = sandbox.BUDGET // sandbox.STEP
    source = "{% for a in range(N) %}x{% endfor %}".replace("N", str(steps // 2))
    assert value(source) == "x" * (steps // 2)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ qustion }}", "there is no field 'qustion'. Did you mean 'question'?"),
        ("{{ row.qustion }}", "there is no field 'qustion'. Did you mean 'question'?"),
        ("{{ row['Best Anser'] }}", "no field 'Best Anser'. Did you mean 'Best Answer'"),
        ("{{ parameters.subjet }}", "no field 'subjet'. Did you mean 'subject'"),
        ("{{ choices[7] }}", "list object has no element 7."),
        ("{{ question.nope }}", "'str object' has no attribute 'nope'."),
        ("[{{ nothing }}]", "it would print a null"),
        ("[{{ choices }}]", "it would print a list or an object"),
        ("{{ [hint] }}", "there is no field 'hint'"),
        ("{{ 1 / 0 }}", "division by zero."),
        ("{% for x in hint %}{% endfor %}", "there is no field 'hint'"),
        ("{{ score | int }}", "'1.5' is not a whole number."),
        ("{{ question | float }}", "'What?' is not a number."),
        ("{{ question", "unexpected end of template"),
        ("{% if question %}", "Unexpected end of template"),
        ("{{ question | uper }}", "no filter 'uper'. Did you mean 'upper'"),
        ("{{ question is strin }}", "no test 'strin'. Did you mean 'string'"),
        ("{{ choices | map('nope') | list }}", "No filter named 'nope'."),
        ("{% include 'a' %}", "'include' is not allowed here."),
        ("{{ ''.__class__ }}", "the attribute '__class__' is not allowed."),
        ("{{ range(20000) }}", "a range may have 10,000 numbers at most."),
        ("{{ 'a' * 99999999 }}", "it computes too much for one value."),
    ],
)  # fmt: skip
def test_messages_say_what_is_wrong(source: str, message: str) -> None:
    assert message in fails(source)


def test_an_unknown_field_lists_the_fields_there_are() -> None:
    template = Template("{{ qustion }}", Sandbox())
    row = {"question": "?", "answer": "!"}
    with pytest.raises(ScenarioError, match="Fields of this row: question, answer"):
        template.value({**row, "row": row, "parameters": {}})


@pytest.mark.parametrize("source", ["{{ nothing }}", "{{ choices }}", "{{ nested }}"])
def test_text_is_text_or_a_number(source: str) -> None:
    seen = {**ROW, "row": ROW, "parameters": {}}
    with pytest.raises(ScenarioError, match="must be text, but is"):
        Template(source, Sandbox()).text(seen)
    assert Template("{{ _id }}", Sandbox()).text(seen) == "3"


def test_names_and_parameters_of_a_template_are_known() -> None:
    template = Template("{{ a }} {{ parameters.b }} {% for c in d %}{{ c }}{% endfor %}", Sandbox())  # fmt: skip
    assert template.names == {"a", "parameters", "d"}
    assert template.parameters == {"b"}
    assert not template.is_expression
    assert Template("{{ a }}", Sandbox()).is_expression


def test_a_renderer_sees_parameters_alone() -> None:
    render = renderer({"subject": "anatomy"})
    assert render("About {{ parameters.subject }}\n") == "About anatomy\n"
    with pytest.raises(ScenarioError, match="no field 'question'"):
        render("{{ question }}")


NESTED = (
    "{% set a = [1] * 1000 %}{% set b = [a] * 1000 %}{% set x = [[b] * 1000] * 1000 %}"
    "{% set c = [1] * 1000 %}{% set d = [c] * 1000 %}{% set y = [[d] * 1000] * 1000 %}"
)


@pytest.mark.parametrize(
    "expression",
    [
        *("x == y", "x != y", "x < y", "1 < 2 == (x < y)", "x is eq y", "x in [y]"),
        *("[x] | select('eq', y) | list | length", "[x, y] | max", "[x, y] | sort"),
        *("[[x], [y]] | map('first') | max", "[x].index(y)", "[x].count(y)"),
        *("x | string", "x | lower", "x is lower", "[8].index(x)", "x | wordcount"),
        *("question[x]", "x | int", "x | tojson", "[x] | join", "x"),
        *("{'a': x} == {'a': y}", "{'a': x}.values() | max", "row.get((x, 1))"),
        "(['x' * 9000] * 200000) | tojson | length",
    ],
)
def test_lists_that_grow_by_nesting_do_not_escape_the_budget(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "BUDGET", sandbox.BUDGET // 10)
    before = time.process_time()
    fails(f"{NESTED}{{% if true %}}{{{{ {expression} }}}}{{% endif %}}")
    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ {('a', 1): 2} }}", "the key of an object is a text or a number"),
        ("{{ choices | string }}", "would print a list"),
        ("{{ choices | int }}", "a list is not a whole number"),
        ("{{ choices | dictsort }}", "has no attribute 'items'"),
        ("{{ choices[choices] }}", "a list is no index"),
    ],
)
def test_what_python_would_do_with_lists_is_refused(source: str, expected: str) -> None:
    assert expected in fails(source)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("choices == ['a', 'b']", True),
        ("'a' in choices and 'c' not in choices", True),
        ("'question' in row and row.keys() | max == 'score'", True),
        ("many | select('eq', 'x') | list | length", 5000),
        ("choices | map('upper') | max", "B"),
        ("{'k': score}.k | string", "1.5"),
        ("nothing | string", "None"),
    ],
)
def test_comparing_lists_and_texts_works(expression: str, expected: Any) -> None:
    assert value(f"{{{{ {expression} }}}}") == expected
