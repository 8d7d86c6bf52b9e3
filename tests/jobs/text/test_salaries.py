"""What a listing pays a year: forms of numbers, currencies and periods; and money that is no pay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.text.salaries import Salary, salary_of

K = 1_000


def usd(low: int | None, high: int | None) -> Salary:
    return Salary(low, high, "USD")


@pytest.mark.parametrize(
    ("text", "salary"),
    [
        ("The salary range is $120,000 - $150,000.", usd(120 * K, 150 * K)),
        ("Base salary: $120k-$150k plus equity", usd(120 * K, 150 * K)),
        ("Pay: $120-150k", usd(120 * K, 150 * K)),
        ("Pay Range$159,000—$211,666.67 USDWe're committed", usd(159 * K, 211_667)),
        ("range for this position is $94,550.00 - $151,170.00. Actual", usd(94_550, 151_170)),
        ("Based Salary range for this role is: 140,000-200,000 USD/Year", usd(140 * K, 200 * K)),
        ("$245,000 - $345,000/year + benefits", usd(245 * K, 345 * K)),
        ("base salary for this position is $139,900 to $199,300 per year", usd(139_900, 199_300)),
        ("Salary: $150,000", usd(150 * K, 150 * K)),
        ("You earn $130,000 per year.", usd(130 * K, 130 * K)),
        ("Salary from $130,000, or more", usd(130 * K, None)),
        ("Salary: $130k+", usd(130 * K, None)),
        ("Pay of up to $130k", usd(None, 130 * K)),
        ("Compensation: $45 - $60 per hour", usd(45 * 2_080, 60 * 2_080)),
        ("Rate: $55/hr", usd(55 * 2_080, 55 * 2_080)),
        ("The hourly pay range is $25.50 to $31.25", usd(53_040, 65 * K)),
        ("Salary $6,000 - $8,000 per month", usd(72 * K, 96 * K)),
        ("Gehalt: 60.000 € - 75.000 € pro Jahr", Salary(60 * K, 75 * K, "EUR")),
        ("€75–90k OTE, uncapped", Salary(75 * K, 90 * K, "EUR")),
        ("Salary £50,000 - £60,000", Salary(50 * K, 60 * K, "GBP")),
        ("CAN$168,000—$177,500 CAD", Salary(168 * K, 177_500, "CAD")),
        ("salary ₹12,00,000 - ₹18,00,000 per annum", Salary(1_200 * K, 1_800 * K, "INR")),
        ("Salary: CHF 110'000 - 130'000", Salary(110 * K, 130 * K, "CHF")),
        ("Vergütung: 4.000 - 5.000 EUR / Monat", Salary(48 * K, 60 * K, "EUR")),
        ("Pay: 500 - 600 USD per day", usd(130 * K, 156 * K)),
    ],
)
def test_pay(text: str, salary: Salary) -> None:
    assert salary_of(None, text) == salary


@pytest.mark.parametrize(
    ("text", "country", "salary"),
    [
        ("Estimated annual salary of $122,000.00 - $168,000.00\n\nEquity\n\nThis role", None, usd(122 * K, 168 * K)),
        ("Base pay: $122,000 - $168,000\n\nBonus\n\nA bonus of 10 %.", None, usd(122 * K, 168 * K)),
        ("Salary range: $90,000-$110,000\nStock options and benefits", None, usd(90 * K, 110 * K)),
        ("Pay: $850 - $1,150 per week", None, usd(44_200, 59_800)),
        ("Rate £700 - £1,050 per day", "GB", Salary(182 * K, 273 * K, "GBP")),
        ("Compensation 120-150,000 USD", None, usd(120 * K, 150 * K)),
        ("Vergütung ab 52.000 EUR jährlich", "DE", Salary(52 * K, None, "EUR")),
        ("Stundenlohn: 21,50 Euro pro Stunde", "DE", Salary(44_720, 44_720, "EUR")),
        ("Monatsgehalt 3.200,00 € brutto pro Monat (14x)", "AT", Salary(44_800, 44_800, "EUR")),
        ("Bruttojahresgehalt: 55.000 bis 68.000 Euro", "DE", Salary(55 * K, 68 * K, "EUR")),
        ("Rémunération : entre 42 000 € et 50 000 € bruts annuels", "FR", Salary(42 * K, 50 * K, "EUR")),
        ("Salaire 45-55 K€", "FR", Salary(45 * K, 55 * K, "EUR")),
        ("Salaire : 3 500 € brut par mois", "FR", Salary(42 * K, 42 * K, "EUR")),
        ("Salario: 2.500 € - 3.000 € brutos al mes", "ES", Salary(30 * K, 36 * K, "EUR")),
        ("Banda salarial: hasta 48.000 € anuales", "ES", Salary(None, 48 * K, "EUR")),
        ("Faixa salarial: R$ 9.000 a R$ 12.000 mensais", "BR", Salary(108 * K, 144 * K, "BRL")),
        ("Salaris: €3.800 tot €5.200 bruto per maand", "NL", Salary(45_600, 62_400, "EUR")),
        ("Wynagrodzenie: 18 000 - 24 000 PLN netto + VAT miesięcznie", "PL", Salary(216 * K, 288 * K, "PLN")),
        ("Stawka 150 - 190 zł/h", "PL", Salary(312 * K, 395_200, "PLN")),
        ("RAL fino a 45.000 €", "IT", Salary(None, 45 * K, "EUR")),
        ("Stipendio: 2.200 euro lordi mensili", "IT", Salary(26_400, 26_400, "EUR")),
        ("CTC: 12-18 LPA", "IN", Salary(1_200 * K, 1_800 * K, "INR")),
        ("Salary: ₹ 6 lakh - 9 lakh per annum", "IN", Salary(600 * K, 900 * K, "INR")),
        ("Pay: ₹12L - ₹15L", "IN", Salary(1_200 * K, 1_500 * K, "INR")),
        ("Salary of INR 1.2 crore per annum", "IN", Salary(12_000 * K, 12_000 * K, "INR")),
        ("年収600万円〜900万円", "JP", Salary(6_000 * K, 9_000 * K, "JPY")),
        ("月給 45万円", "JP", Salary(5_400 * K, 5_400 * K, "JPY")),
        ("Salary: 45,000 - 60,000 AED per month", "AE", Salary(540 * K, 720 * K, "AED")),
        ("Gaji: MYR 6,000 - 9,000 per month", "MY", Salary(72 * K, 108 * K, "MYR")),
        ("Salary NT$ 1,200,000 - 1,600,000 a year", "TW", Salary(1_200 * K, 1_600 * K, "TWD")),
    ],
)
def test_pay_as_it_is_written_elsewhere(text: str, country: str | None, salary: Salary) -> None:
    assert salary_of(None, text, country) == salary


def test_money_of_a_named_currency_is_never_dollars() -> None:
    for code in ("PKR", "THB", "CNY", "NGN", "VND", "KES", "EGP"):
        for text in (f"Salary: {code} 900,000 - 1,200,000 per month", f"Pay 900,000 - 1,200,000 {code} a month"):
            found = salary_of(None, text)
            assert found is None or found.currency == code, text


@pytest.mark.parametrize(
    "text",
    [
        "Tools that save between $100,000 and $500,000 for our clients.",
        "You own a book of business of $2,000,000 – $3,000,000.",
        "Our tellers process $120,000 – $180,000 in payments.",
        "We try 100,000 - 200,000 hypotheses and all 50,000 pass.",
        "We match your 401k up to 5% and offer a 401(k) plan.",
        "Having surpassed $300M ARR and continuing to grow",
        "We raised $30,000,000 - $40,000,000 in funding.",
        "disrupt the $300 billion ticketing industry",
        "Learning stipend: $500 - $750 a year, $200/mo for wellness, $25k towards family building",
        "A sign-on bonus of $10,000 - $20,000",
        "You will manage budgets of $500,000 - $1,000,000 for our clients.",
        "Founded in 2010 - 2012, with 100-200 employees and 50,000 - 60,000 customers.",
        "We serve 120,000 - 150,000 restaurants.",
        "Call 555-123-4567 and see pages 100-200.",
        "Deal sizes of $100k - $250k ACV",
        "portfolio of $50,000-$100,000 assets",
        "Referral bonus $5,000; equipment budget: $3,000",
        "",
    ],
)
def test_money_that_is_no_pay(text: str) -> None:
    assert salary_of(None, text) is None


def test_a_k_of_something_else_multiplies_nothing() -> None:
    assert salary_of(None, "Salary: $95,000 - $110,000. 401k, 20k users and a 10k run.") == usd(95 * K, 110 * K)


def test_the_widest_of_several_ranges_counts() -> None:
    zones = "US Zone 2$162,200—$219,400 USDUS Zone 3$144,200—$195,000 USD"
    assert salary_of(None, "Salary/OTE is listed for each zone. " + zones) == usd(144_200, 219_400)


def test_dollars_of_the_united_states_before_other_money() -> None:
    text = "Salary\nCanada: $128,000-$174,000 CAD\nBrazil: R$562,000-R$702,000 BRL\nArgentina: $103,000-$128,000 USD"
    assert salary_of(None, text) == usd(103 * K, 128 * K)


def test_a_range_counts_before_single_amounts() -> None:
    text = "The salary is $90,000 to $110,000. A first-year salary of $200,000 was paid to one of us."
    assert salary_of(None, text) == usd(90 * K, 110 * K)


@pytest.mark.parametrize(
    ("field", "salary"),
    [
        ("USD 130200-211400", usd(130_200, 211_400)),
        ("USD 150000.00-200000.00", usd(150 * K, 200 * K)),
        ("$196,900 - $246,100", usd(196_900, 246_100)),
        ("120000", usd(120 * K, 120 * K)),
        ("EUR 55000 - 70000 a year", Salary(55 * K, 70 * K, "EUR")),
        ("$40 - $50 an hour", usd(40 * 2_080, 50 * 2_080)),
        ("Up to $150,000", usd(None, 150 * K)),
        ("up to £120,000 a year", Salary(None, 120 * K, "GBP")),
        ("from €90,000 a year", Salary(90 * K, None, "EUR")),
        ("102,800 CAD - 137,000 CAD a year", Salary(102_800, 137 * K, "CAD")),
        ("$45 - $60.50 an hour", usd(93_600, 125_840)),
    ],
)
def test_a_field_of_a_board(field: str, salary: Salary) -> None:
    assert salary_of(field, "The salary range is $1,000,000 - $1,200,000.") == salary


def test_a_field_without_an_amount_leaves_it_to_the_text() -> None:
    assert salary_of("Competitive", "Salary: $120,000 - $150,000") == usd(120 * K, 150 * K)


def test_which_dollar_follows_from_the_country() -> None:
    assert salary_of(None, "Salary: $120,000 - $150,000", "CA") == Salary(120 * K, 150 * K, "CAD")
    assert salary_of(None, "Salary: $120,000 - $150,000 USD", "CA") == usd(120 * K, 150 * K)


def test_money_without_a_sign_is_that_of_the_country() -> None:
    assert salary_of(None, "Gehalt: 60-80k", "DE") == Salary(60 * K, 80 * K, "EUR")
    assert salary_of(None, "Salary: $60-80k", "DE") == usd(60 * K, 80 * K)
    assert salary_of(None, "Salary: 60-80k", None) == usd(60 * K, 80 * K)


@pytest.mark.parametrize(
    "text", ["Salary: 120,000 - 150,000 $\n\nBonus", "Pay: 90,000 USD\n- 110,000", "Pay fr. 90'000: \n"]
)
def test_signs_at_the_end_of_a_line_are_read(text: str) -> None:
    found = salary_of(None, text)
    assert found is not None
    assert found.currency in {"USD", "CHF"}


@given(st.text(alphabet="0123456789 ,.$€-k\n:RsFtLlpaz\u0142\u4e07\u5186", max_size=60))
def test_no_text_is_refused(text: str) -> None:
    for written in (text, f"Salary: {text}"):
        found = salary_of(written, written, "DE")
        assert found is None or len(found.currency) == 3


def test_every_place_of_a_table_counts() -> None:
    table = (
        "CA, NY",
        "$199,000 - $209,500 USD",
        "WA, CO",
        "$184,000 - $194,000 USD",
        "Elsewhere",
        "$174,000 - $183,000",
    )
    text = "\n".join(["The base pay is:", *table])
    assert salary_of(None, text) == usd(174_000, 209_500)


def test_the_least_and_the_most_under_their_own_words() -> None:
    assert salary_of(None, "Salary minimum: $90,000 Maximum: $120,000") == usd(90_000, 120_000)
    assert salary_of(None, "Up to PHP 183,000 per month") == Salary(None, 2_196_000, "PHP")


@pytest.mark.parametrize(
    ("text", "country", "salary"),
    [
        ("Expected pay: $110k-$160k/year ($53-$77/hour).", None, usd(110_000, 160_000)),
        ("On a contract basis, ranging **$140-180k/year**", None, usd(140_000, 180_000)),
        ("Salary: up to PHP 150,000", None, Salary(None, 1_800_000, "PHP")),
        ("Wynagrodzenie: 15 000 zł", None, Salary(180_000, 180_000, "PLN")),
        ("Salary: ₹12,00,000", None, Salary(1_200_000, 1_200_000, "INR")),
    ],
)
def test_pay_that_is_told_twice_or_without_its_period(text: str, country: str | None, salary: Salary) -> None:
    assert salary_of(None, text, country) == salary


@pytest.mark.parametrize(
    ("text", "country", "salary"),
    [
        ("Gehalt bei EUR 3.100,00 (14x jährlich), mit Bereitschaft zur Überzahlung", "AT", Salary(43_400, None, "EUR")),
        ("Mindestgehalt: 3.500 Euro (14 mal) brutto", "AT", Salary(49 * K, None, "EUR")),
        ("a gross monthly salary starting at EUR 4.000", "AT", Salary(48 * K, None, "EUR")),
        ("Een bruto maandsalaris tussen € 3.700,- en € 5.300,- per 36 uur", "NL", Salary(44_400, 63_600, "EUR")),
        ("a bonus of EUR 4.000 monthly", "AT", None),
        ("Salary: $90,000 and up", None, Salary(90 * K, None, "USD")),
        ("Base of $90,000 a year", None, usd(90 * K, 90 * K)),
        ("an employee base of over 4000, a 3 lakh+ strong independent fleet of drivers", "IN", None),
        ("a customer base of 12 lakh people in 3 states", "IN", None),
        ("CTC: 3 lakh for the first year", "IN", Salary(300 * K, 300 * K, "INR")),
    ],
)  # fmt: skip
def test_payments_a_year_and_numbers_of_people(text: str, country: str | None, salary: Salary | None) -> None:
    assert salary_of(None, text, country) == salary
