import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpole import units
from longpole.errors import UsageError


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (850, "850 ns"),
        (1_000, "1.00 us"),
        (12_300_000, "12.3 ms"),
        (123_456_000, "123 ms"),
        (999_960_000, "1.00 s"),
        (12_310_000_000, "12.3 s"),
        (99_940_000_000, "99.9 s"),
        (99_960_000_000, "1 min 40 s"),
        (3_599_600_000_000, "1 h 0 min"),
        (5_400_000_000_000, "1 h 30 min"),
        (-2_500_000, "-2.50 ms"),
    ],
)
def test_duration_is_three_figures_and_one_unit(ns: int, text: str) -> None:
    assert units.duration(ns) == text


def test_sizes_and_rates_are_decimal() -> None:
    assert units.size(0) == "0 B"
    assert units.size(999) == "999 B"
    assert units.size(8_600_000_000) == "8.60 GB"
    assert units.size(-2_000) == "-2.00 kB"
    assert units.rate(55.4e9) == "55.4 GB/s"
    assert units.rate(3.35e12) == "3.35 TB/s"
    assert units.rate(12) == "12.0 B/s"


def test_percent_keeps_small_ones_visible() -> None:
    assert [units.percent(f) for f in (0, 0.0001, 0.004, 0.0994, 0.0996, 0.61, 1)] == [
        "0 %", "< 0.1 %", "0.4 %", "9.9 %", "10 %", "61 %", "100 %",
    ]  # fmt: skip


def test_factor_says_no_more_than_it_knows() -> None:
    assert [units.factor(f) for f in (1.0, 1.28, 1.996, 2.56, 5.0, 5.01, None)] == [
        "1.00x", "1.28x", "2.0x", "2.6x", "5.0x", "more than 5x", "without bound",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("26ms", 26_000_000),
        ("1.5 s", 1_500_000_000),
        ("250us", 250_000),
        ("250 µs", 250_000),
        (" 7 ns ", 7),
        ("0.1ms", 100_000),
        (".5h", 1_800_000_000_000),
        ("9007199254740993 ns", 9007199254740993),  # one above what a float can hold
    ],
)
def test_durations_are_parsed_exactly(text: str, ns: int) -> None:
    assert units.parse_duration(text) == ns


def test_sizes_are_parsed_exactly() -> None:
    assert units.parse_size("512MiB") == 512 * 2**20
    assert units.parse_size("8.6 GB") == 8_600_000_000
    assert units.parse_size("1b") == 1


@pytest.mark.parametrize(
    "text", ["", "26", "ms", "1,5 s", "-3ms", "1e3ms", "1 fortnight", "0.5ns", "nan s", "1 s 2 ms", "٣ s"]
)
def test_what_is_no_duration_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        units.parse_duration(text)
    assert "\n" not in str(caught.value)
    assert repr(text) in str(caught.value)


@given(st.integers(0, 10**18))
def test_a_whole_number_of_ns_survives(ns: int) -> None:
    assert units.parse_duration(f"{ns}ns") == ns


@given(st.integers(1, 10**12))
def test_formatted_durations_are_near(ns: int) -> None:
    text = units.duration(ns)
    if "min" not in text:
        assert abs(units.parse_duration(text) - ns) <= ns * 0.005 + 1
