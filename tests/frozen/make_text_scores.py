"""Scores of text pairs by HELM's own functions, frozen in text_scores.json.

The pairs are written for this project: each is a way in which an answer may differ from
a reference. They are scored by crfm-helm, which is never imported by the project, so
this runs in an environment of its own:

    python -m venv helm-env
    helm-env/bin/pip install crfm-helm==0.5.16 rouge-score
    helm-env/bin/python -m nltk.downloader punkt_tab
    helm-env/bin/python tests/frozen/make_text_scores.py

Each pair is scored by every metric, so that a set metric also sees plain text and the
other way round. The tests compare our figures with these.
"""

import json
import warnings
from importlib.metadata import version
from pathlib import Path

from helm.benchmark.metrics import (  # type: ignore[import-not-found]
    evaluate_reference_metrics as helm,
)
from helm.benchmark.scenarios.math_scenario import (  # type: ignore[import-not-found]
    is_equiv,
    is_equiv_chain_of_thought,
)

METRICS = (
    "exact_match",
    "quasi_exact_match",
    "quasi_leave_articles_exact_match",
    "prefix_exact_match",
    "quasi_prefix_exact_match",
    "exact_match_indicator",
    "f1_score",
    "exact_set_match",
    "iou_set_match",
    "f1_set_match",
    "final_number_exact_match",
    "absolute_value_difference",
    "math_equiv",
    "math_equiv_chain_of_thought",
    "rouge_1",
    "rouge_2",
    "rouge_l",
    "bleu_1",
    "bleu_4",
)
OTHERS = {
    "math_equiv": is_equiv,
    "math_equiv_chain_of_thought": is_equiv_chain_of_thought,
    "rouge_1": helm.get_rouge_function("rouge1"),
    "rouge_2": helm.get_rouge_function("rouge2"),
    "rouge_l": helm.get_rouge_function("rougeL"),
}

# gold text → predictions
PLAIN: dict[str, list[str]] = {
    "": ["", " ", "a", "the", "...", "Nothing.", "word", "\n"],
    " ": ["", " ", "x"],
    "the": ["The", "a", "", "an apple", "the the"],
    "a": ["A", "an", "a.", "A!", "b a"],
    "Paris": [
        "Paris",
        "paris",
        "PARIS",
        " Paris ",
        "Paris.",
        "Paris, France",
        "The Paris",
        "Par is",
        "Parisian",
        "In Paris",
        "London",
        "",
        "P\u0430ris",  # a Cyrillic letter
        "Paris\u00a0",
        "Paris\u200b",
        "\ufeffParis",
    ],
    "New York City": [
        "New York",
        "new york city",
        "New  York  City",
        "New\u00a0York\u00a0City",
        "New-York-City",
        "City of New York",
        "York York New",
        "the New York City!",
        "New York City is large and loud.",
        "New\tYork\nCity",
    ],
    "an apple a day": ["apple day", "Apple, day", "day apple", "the apple", "apples"],
    "-5": ["5", "-5", "\u22125", "- 5", "-5.0", "minus five", "--5"],
    "1.5": ["15", "1.50", "1,5", "1.5", "1 5", "1.5 m"],
    "1,000,000": ["1000000", "1,000,000", "1 000 000", "1.000.000", "one million"],
    "50%": ["50", "50 %", "50 percent", "$50", "50\uff05"],
    "U.S.": ["US", "us", "U. S.", "U.S.A.", "the U.S."],
    "l'eau": ["l\u2019eau", "leau", "l'eau", "eau", "L'EAU"],
    "\u201cyes\u201d": [
        '"yes"',
        "yes",
        "\u201cYes\u201d",
        "\u00abyes\u00bb",
        "yes\u201d",
    ],
    "don't know": ["dont know", "don\u2019t know", "do not know", "Don't know."],
    "cat cat sat": ["cat sat", "cat", "sat cat cat cat", "cats sat", "the cat sat"],
    "one two three four": [
        "one two",
        "four three two one",
        "one two three four five six",
        "one, two; three: four",
        "one one one one",
        "five",
    ],
    "Stra\u00dfe": ["strasse", "STRASSE", "stra\u00dfe", "Stra\u00dfen"],
    "\u0130stanbul": ["istanbul", "\u0130STANBUL", "i\u0307stanbul", "Istanbul"],
    "caf\u00e9": ["cafe", "cafe\u0301", "CAF\u00c9", "caf\u00e9 noir", "the caf\u00e9"],
    "\u5317\u4eac": [
        "\u5317\u4eac",
        "\u5317\u4eac\u3002",
        "\u5317 \u4eac",
        "\u5317\u4eac\u5e02",
        "\u4eac\u5317",
        "\u5317\u4eac\u3000",
    ],
    "\u6771\u4eac \u5927\u962a": [
        "\u5927\u962a \u6771\u4eac",
        "\u6771\u4eac",
        "\u6771\u4eac\u3001\u5927\u962a",
    ],
    "\u041c\u043e\u0441\u043a\u0432\u0430": [
        "\u043c\u043e\u0441\u043a\u0432\u0430",
        "\u041c\u043e\u0441\u043a\u0432\u0430!",
        "\u041c\u043e\u0441\u043a\u0432\u044b",
    ],
    "\u0645\u0631\u062d\u0628\u0627": [
        "\u0645\u0631\u062d\u0628\u0627",
        "\u0645\u0631\u062d\u0628\u0627\u061f",
        "\u0645\u0640\u0631\u062d\u0628\u0627",
    ],
    "\U0001f600": ["\U0001f600", "\U0001f600!", ":)", "\U0001f600\U0001f600"],
    "x = a + b": ["x=a+b", "x  b", "x = A + B", "x = b + a"],
    "the a an": ["an", "", "a the", "theaan"],
    "A": ["A", "a", "A.", "A)", "(A)", "B", "Answer: A", "A\nB", "Apple"],
    ") )": [") )", "] )", ")", " ) )", ") ) )", "))", ") ]", "( )"],
    "Because of x and y, the answer is ## 42": [
        "## 42",
        "42",
        "Given reasons, ## 42",
        "the answer is ##42",
        "The answer is ## 42.",
        "because of x and y the answer is 42",
    ],
    "last word": [
        "word",
        "another word",
        "word ",
        "word\n",
        "word\tword",
        "last  word",
    ],
    "e.g. this_one": ["eg thisone", "this_one", "e.g. this one", "eg this_one"],
    "tab\tseparated": ["tab separated", "tabseparated", "tab\tseparated"],
    "back\\slash": ["backslash", "back\\slash", "back/slash"],
    "half\u2013open\u2014range": [
        "halfopenrange",
        "half-open-range",
        "half\u2013open\u2014range",
    ],
}
SETS: dict[str, list[str]] = {
    "Nothing.": [
        "Nothing.",
        "Nothing",
        "nothing.",
        "Nothing. ",
        " Nothing.",
        "",
        "Nothing.\nMore.",
        "The cat is red.",
    ],
    "The cat is red and small.": [
        "The cat is red and small.",
        "The cat is small and red.",
        "The dog is red and small",
        "red and small",
        "The cat is red.",
        "The cat is red and small and wet.",
        "The cat is red and small.\nThe dog is wet.",
        "It is said that it is red and small.",
        "The cat is red  and small.",
        "The cat is Red and Small.",
        "The cat is red, small.",
        "Nothing.",
        "",
        "The cat is",
        "The cat is ",
        "The cat isred and small.",
        "The cat is red and red and small.",
    ],
    "Things that are true: it is a and b and c.": [
        "is a and b and c",
        " is a and b",
        " is c and b and a.",
        "a and b and c",
        "it is d.",
        "x is a and y is b and c",
    ],
    "is": ["is", " is ", "is.", "isis"],
    " and ": [" and ", "and", "", "a and ", " and a"],
    "1.5 and 2": ["15 and 2", "1.5 and 2", "2 and 1.5.", "1.5 & 2"],
    "\u7ea2 and \u5c0f": [
        "\u5c0f and \u7ea2",
        "\u7ea2 and \u5c0f\u3002",
        "\u7ea2and\u5c0f",
    ],
    "x is a\u00a0and b": ["x is a and b", "x is a\u00a0and b", "b"],
}


NUMBERS: dict[str, list[str]] = {
    "The answer is 15.": [
        "The answer is 15 eggs.",
        "15",
        "15.0",
        "1 5",
        "-15",
        "So 10 + 5 = 15",
        "15 of 20",
        "fifteen",
        "",
    ],
    "1,234": ["1234", "1,234.", "1.234", "1 234", "12,34", ",1234", "1234,", "1_234"],
    "#### 18": ["18", "#### 18", "#### 18.0", "It costs $18", "18%", "(18)", "18x5"],
    "-3": ["-3", "3", "- 3", "\u22123", "minus 3", "--3", "+3", " -3 "],
    "2.50": ["2.5", "2.50", "2,50", "2:50", "$2.50", "2.500", "2.50.", "250"],
    "7": ["7", "8", "-7", "seven", "7.0", "07", "7\n", "1,000,007", "9" * 25, "\u0667"],
    "no number": ["", "none", "3", ",", "-", ",,5,"],
}

FORMULAS: dict[str, list[str]] = {
    "\\frac{1}{2}": [
        "\\frac{1}{2}",
        "\\frac12",
        "\\dfrac{1}{2}",
        "\\tfrac12",
        "1/2",
        " 1 / 2 ",
        "0.5",
        ".5",
        "0.50",
        "\\frac1{2}",
        "\\frac{1}2",
        "\\frac{2}{4}",
        "x = \\frac{1}{2}",
        "k=1/2",
        "\\frac",
        "\\frac1",
        "",
    ],
    "-\\frac{3}{4}": ["-3/4", "-\\frac34", "-0.75", "\\frac{-3}{4}", "\\dfrac{-3}{4}"],
    "2\\sqrt{3}": [
        "2\\sqrt3",
        "2\\sqrt{3}",
        "2 \\sqrt 3",
        "\\sqrt{12}",
        "2\\sqrt",
        "2\\sqrt{3}\\text{ cm}",
        "2\\sqrt{3}\\text{cm}",
    ],
    "50": [
        "50\\%",
        "50%",
        "\\$50",
        "$50$",
        "50\\text{ miles}",
        "50\\text{ miles} or 50\\text{ km}",
        "50^\\circ",
        "50^{\\circ}",
        "x=50",
        "x = 50",
        "xy=50",
        "xyz=50",
        "a=b=50",
        "5\\!0",
        "5 0",
        "50.",
        "50.0",
        "5\n0",
    ],
    "\\left(1, \\frac{2}{3}\\right)": [
        "(1, 2/3)",
        "(1,\\frac{2}{3})",
        "(1, \\frac23)",
        "\\left( 1,\\dfrac23 \\right)",
        "(1,\\frac{2}{3}]",
    ],
    "0.3": [".3", "0.3", "{.3}", " .3", "\\frac{3}{10}", "3/10", "0,3"],
    "x^2+1": ["x^2 + 1", "x^{2}+1", "1+x^2", "f = x^2+1", "f(x)=x^2+1", "X^2+1"],
    "So it is $\\boxed{\\frac{1}{2}}$.": [
        "Thus \\boxed{0.5}",
        "\\boxed{1/2}",
        "\\boxed{2} and then \\boxed{\\frac12}",
        "\\boxed{\\frac12} and then \\boxed{2}",
        "\\fbox{1/2}",
        "\\boxed 1/2",
        "\\boxed{1/2",
        "\\boxed{}",
        "\\boxed",
        "1/2",
        "",
    ],
    "no box": ["no box", "none", "\\boxed{1}", "\\fbox{1}", "\\boxed}{1}"],
    "\\boxed{\\{1, 2\\}}": [
        "\\boxed{\\{1,2\\}}",
        "\\boxed{{1,2}}",
        "\\boxed{\\{2,1\\}}",
    ],
    "11\\frac{1}{2}\\\\": ["11\\frac{1}{2}\\", "11\\frac12\\\\", "11.5", "23/2"],
}

PROSE: dict[str, list[str]] = {
    "The ferry crosses the fjord twice a day. It carries cars.": [
        "The ferry crosses the fjord twice a day. It carries cars.",
        "The ferry crosses the fjord twice a day.",
        "It carries cars. The ferry crosses the fjord twice a day.",
        "Ferries crossed the fjord, carrying a car.",
        "the ferry crosses the fjord twice a day . it carries cars .",
        "The ferry crosses the fjord twice a day It carries cars",
        "Twice a day the ferry crosses.",
        "The train stops here.",
        "The the the the the",
        "ferry",
        ".",
        "",
    ],
    "Dr. Moe arrived at 5 p.m. on Friday.": [
        "Dr. Moe arrived at 5 p.m. on Friday.",
        "Dr Moe arrived at 5 pm on Friday",
        "Dr. Moe came at 5 p.m. He left.",
        "On Friday, Dr. Moe arrived.",
        "Moe arrived at 5 p.m.",
    ],
    "It's the U.S. team's 3rd win, isn't it?": [
        "It's the U.S. team's 3rd win, isn't it?",
        "It is the U.S. team's third win, is it not?",
        "The U.S. The team's 3rd win.",
        "It's \"the\" U.S. team's 3rd win (isn't it).",
        "its the us teams 3rd win isnt it",
    ],
    "Bread, butter and jam": [
        "bread butter jam",
        "Bread, butter, and jam",
        "jam and butter, bread",
        "breads butters jams",
        "Bread & butter & jam",
        "bread-butter-jam",
        "br\u00f8d, sm\u00f8r og syltet\u00f8y",
    ],
    "one two three four five six seven eight": [
        "one two three four five six seven eight",
        "one two three four",
        "five six seven eight one two three four",
        "one three two four six five eight seven",
        "one two three four five six seven eight nine ten eleven",
        "one  two\tthree\nfour",
        "one two three",
        "one one one one one",
    ],
    "\u5317\u4eac is big. \u00c5lesund is small!": [
        "\u5317\u4eac is big.",
        "\u00c5lesund is small!",
        "is big. is small!",
        "\u5317 \u4eac is big. \u00e5lesund is small!",
    ],
    "No. 5 cost $3.50, i.e. too much; see p. 12 etc.": [
        "No. 5 cost $3.50, i.e. too much; see p. 12 etc.",
        "No. 5 cost $3.50. I.e. too much. See p. 12 etc",
        "Number 5 cost 3.50 dollars...",
        "no... 5 cost -- too much",
    ],
}


def score(name: str, gold: str, prediction: str) -> float:
    function = OTHERS.get(name) or getattr(helm, name)
    return function(gold, prediction)  # type: ignore[no-any-return]


def main() -> None:
    warnings.simplefilter("ignore")  # of the BLEU of short texts
    pairs = [
        [gold, prediction, [score(name, gold, prediction) for name in METRICS]]
        for table in (PLAIN, SETS, NUMBERS, FORMULAS, PROSE)
        for gold, predictions in table.items()
        for prediction in predictions
    ]
    lines = ",\n".join(json.dumps(pair) for pair in pairs)
    place = Path(__file__).with_name("text_scores.json")
    place.write_text(
        f'{{"source": "crfm-helm {version("crfm-helm")}",\n'
        f'"metrics": {json.dumps(METRICS)},\n"pairs": [\n{lines}\n]}}\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
