"""What the names of columns say: the words in them, and what people mean by these, in several languages.

A list of words is no proof. `roles` weighs what a name says against what the values say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final
from unicodedata import combining, normalize

UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa", "ł": "l"})


def _words(text: str) -> frozenset[str]:
    """Return words, also as they are written where letters have no marks: Kündigung, Kuendigung and Kundigung."""
    words = text.split()
    bare = ("".join(c for c in normalize("NFKD", word) if not combining(c)) for word in words)
    return frozenset((*words, *bare, *(word.translate(UMLAUTS) for word in words)))


ASKED: Final = _words(
    "y target label labels class outcome outcomes response responses dependent depvar resp dv out yvar truth "
    "groundtruth ziel zielvariable cible objetivo obiettivo alvo klasse classe clase"
)
"""What modellers call the column to predict."""

FATES: Final = _words(
    "sold churn churned attrition default defaulted dlq dlqin delinquent delinquency fraud fraudulent converted "
    "conversion renew renewed renewal survived survive survival survives died death dead mortality alive "
    "recurrence relapse remission readmitted readmission cancelled canceled lapsed lapse purchased bought clicked "
    "responded respond subscribed accept accepted admit admitted admission approve approved convicted arrested "
    "recidivism failure failed fail success passed win won overdrawn ontime vote voted turnout register "
    "registered participation participate lfp inlf choice chosen plan mode decision answer verdict stance opinion "
    "intention event censored cens diagnosis malignant infected positive result results hired promoted left quit "
    "closed call callback smoker disorder satisfied satisfaction support agree kündigung gekündigt "
    "storniert storno ausfall ausgefallen résilié défaut impayé baja abandono impago morosidad abbandono "
    "inadimplente cancelamento opzegging killed case affected cancer tumor tumour stroke diabetes diabetic "
    "infection infarction asthma wheeze seizure pregnant pregnancy premature preterm premie lowbirthweight "
    "complication complications bleeding discharged hospitalized hospitalised presence present pres absence noyes "
    "yesno occurrence occurred injury injured damage damaged broken fault faulty defective anomaly outlier spam "
    "ham phishing malware attack intrusion bankrupt bankruptcy insolvent repaid prepaid graduate graduated "
    "graduation dropout reoffend reoffended recid rearrest rearrested complaint complaints refund refunded ruling "
    "guilty acquitted granted selected elected reelected partic bmprison incarcerated effect prognosis cured "
    "abgeschlossen überlebt gestorben verstorben krank betrug décédé fraude fallecido murio enfermo muerte "
    "morte malato óbito overleden correct volunteer volunteered donate donated donor relapsed exacerbation "
    "readmit noshow signedup unsubscribed upsell lead reordered toxic toxicity mutagenic spoiled rejected "
    "resigned fired status "
    "retourniert wiederkauf bestanden durchgefallen genesen résiliation acheté achat vendu réussi échec réadmis "
    "cancelado cancelación compra comprado vendido aprobado reprobado supervivencia acquisto acquistato venduto "
    "disdetta approvato sopravvissuto rinnovo comprou cancelou aprovado reprovado sobreviveu evasão opgezegd "
    "gekocht verkocht geslaagd rezygnacja śmierć zgon uppsagd köpt købt hit hits released immunized immunised takeup "
    "searched abuse headache undercount getroffen entlassen geimpft missbrauch kopfschmerz vacciné libéré vacunado"
)
"""What happened in the end, or was chosen."""

AMOUNTS: Final = _words(
    "price prices pricing salary salaries wage wages earnings earns earn pay revenue revenues sales sold turnover "
    "spend spent spending expend expenditure expenditures amount cost costs profit profits yield demand "
    "consumption ridership traffic passengers production strength score scores gpa mpg rent rental fare bid "
    "premium charges losses loss severity claim claims nclaims claimnb frequency freq visits deaths fatalities "
    "casualties incidents accidents crimes births cases seizures defects absences absent affairs los kwh emission "
    "emissions salesprice saleprice medv tip biomass speed tppd tpbi unemployment employment gdp gnp productivity "
    "delay preis umsatz absatz gehalt lohn kosten schaden schäden schadenzahl verbrauch betrag anzahl "
    "prix salaire ventes montant coût sinistre sinistres nombre precio ventas salario coste costo importe "
    "monto prezzo vendite stipendio preço vendas custo valor sinistro prijs omzet loon sat act exam "
    "testscore scr ach math maths reading read points calories trips arrivals departures bookings reservations "
    "downloads views likes shares retweets stars lifeexp lifeexpectancy prevalence incidence co2 nox no2 so2 pm "
    "pm2 pm10 ozone aqi hardness toughness viscosity throughput latency runtime subs subscriptions citations "
    "cites patents articles arrests narr convictions investment invest inv attendance votes voteshare uptake "
    "germinated survivors eggs offspring abundance richness diversity vis lw lnw logw bodyfat sleep vocabulary "
    "killed goals wins runs gallons energieverbrauch einkommen revenu ingreso ingresos reddito renda rendimento "
    "ertrag noten note output fatal probability prob ampl amplitude prize payout winnings reward angle viral vl "
    "errors mistakes rt reaction accuracy absorbance solubility logp efficiency conductivity thickness roughness "
    "rul downtime scrap leads signups registrations orders ltv clv nps csat tickets absenteeism overtime "
    "valuation rainfall volatility lesions relapses exacerbations qol pain wellbeing stress anxiety milk "
    "mortality generation perf performance "
    "birthweight bweight bwght bwt miete mietpreis kaltmiete warmmiete kaufpreis verkaufspreis absatzmenge "
    "nachfrage gewinn verlust auslastung besucher unfälle todesfälle punkte punktzahl ausgaben einnahmen "
    "schadenhöhe schadenaufwand schadensumme verspätung verweildauer loyer bénéfice demande rendement dépenses "
    "recettes décès retard alquiler ganancia beneficio demanda rendimiento gasto gastos muertes accidentes puntaje "
    "puntuación calificación retraso producción siniestros consumo affitto canone guadagno spesa spese incidenti "
    "decessi punteggio ritardo produzione sinistri fatturato aluguel lucro despesa despesas acidentes pontuação "
    "atraso produção produtividade faturamento huur huurprijs winst opbrengst uitgaven ongevallen schade "
    "schadebedrag vertraging verbruik cena wynagrodzenie płaca przychód sprzedaż koszt szkoda szkody zysk "
    "försäljning intäkt kostnad skada salg omsætning løn hyra husleje forbruk spell spells longevity lifespan "
    "lifetime eval evaluation happiness happy murder murders homicide homicides suicide suicides robberies cigarettes "
    "cigs packs strikes bids lebensdauer bewertung zufriedenheit morde gebote longévité évaluation bonheur homicidio "
    "homicidios longevidad evaluación felicidad longevità valutazione omicidi felicità"
)
"""What is measured or counted in the end."""

MEASURES: Final = _words(
    "value values rate ratio count counts size weight wt height length volume growth logsize density duration "
    "time tte status current rating happiness depression energy load grade level return returns share percent "
    "number quantity stay profit points test read math reading conc concentration protein iq fat wgt hgt mass "
    "activity area intensity intensities sum total overall index composite mean average"
)
"""What may be measured in the end, or be known before."""

GIVEN: Final = _words(
    "age ages agecat agegroup sex gender female male man woman race ethnicity ethnic black white hispanic hisp "
    "afam asian marital married marr single divorced education educ edu school schooling schools college degree "
    "exper exp experience tenure occupation occ industry ind sector job region state country nation county city "
    "town district commune community municipality zip zipcode postcode postal address street area location site "
    "lat latitude long lon lng longitude coord north south east west urban rural year years yr month day week "
    "weekday hour quarter season date period wave round term trend id name names type kind category group cluster "
    "block rank order no nr code index row sample study parents father mother kids children child siblings "
    "household hh family baseline base initial previous prior past before lag lagged history parity religion "
    "religious language party population pop ht bmi vehicle car brand model make fuel power engine cyl cylinders "
    "income hours capital labor taxes tax pweight dweight fweight aweight anweight pspwght fnlwgt alter "
    "geschlecht jahr monat tag datum bundesland ort plz beruf sexe âge annee année mois jour ville région pays "
    "edad sexo año mes día ciudad provincia país età sesso anno mese città idade ano mês cidade leeftijd geslacht "
    "minute minutes second seconds stratum strata batch lot plot rep replicate replication run session trial "
    "phase instar diet manufacturer carrier airline origin dest destination depth elevation altitude slope aspect "
    "northing easting xmin xmax ymin ymax lunch minority minrty ses nsibs insurance privins medicaid enrol enroll "
    "enrollment enrolled department dept faculty marketing channel notes comment comments remarks description "
    "title opponent league division team home away browser device platform source medium referrer species genus "
    "taxs ppi cpi interest unit units lstat momeduc fatheduc motheduc smsa metro citizen immigrant foreign native "
    "veteran disability widowed separated cohab urbanicity rooms bedrooms bathrooms floor floors sqft garage "
    "familienstand filiale kanal produkt hersteller marke modell profession marque modele sucursal canal producto "
    "marca modelo filial produto vestiging kanaal product products sku store stores branch currency temperature "
    "temp "
    "wohnfläche zimmer baujahr stadtteil bezirk kanton gemeinde laufzeit zahlart surface pièces quartier "
    "département ancienneté superficie habitaciones barrio antigüedad stanze quartiere comune anzianità quartos "
    "bairro município oppervlakte kamers wijk gemeente bouwjaar wiek płeć województwo miasto powierzchnia pokoje "
    "ålder kön kommun"
)
"""What is known of a row from the start: who, where and when."""

KINDS: Final = _words(
    "type kind group category species variety breed cultivar genotype art sorte espèce especie specie soort"
)
"""What things are told apart by."""

FATE_LEVELS: Final = _words(
    "renew drop churn churned stayed left won lost good bad pass passed fail failed alive dead died survived "
    "success failure approved rejected declined accepted cancelled paid unpaid default defaulted fraud malignant "
    "benign converted bought"
)
"""What happened in the end, as a level of a column."""

SPLITS: Final = _words("train training test testing valid validation val dev holdout")
"""What the parts of a table are called that somebody dealt for learning."""

LAGGED: Final = re.compile(r"(?:lag|prev)[_.]?\w+|\w+[_.]?lag\d*", re.I)
"""Names of earlier values of a column."""

DUMMY: Final = re.compile(r"[a-z]\d{1,4}", re.I)
"""Names of 0/1 columns that stand for the levels of another, such as d88 or c3."""

ARMS: Final = _words(
    "arm variant version treatment treatments treated treat trt ttt treat1 trta bucket campaign experiment "
    "experimental randomized randomised allocation assignment intervention condition testgroup abgroup behandlung "
    "gruppe variante traitement tratamiento tratamento trattamento "
    "behandeling behandling traité tratado trattato"
)
"""What tells who got what."""

MAYBE_ARMS: Final = _words(
    "group segment cell test grant program programme training train dose drug placebo offer exposed assigned "
    "fertilizer participation enroll enrolled diet question policy incentive coupon email mailing promo message "
    "treatmentgroup control task plan card recipe method procedure scenario vignette priming prime framing "
    "stimulus therapy regimen vaccine vaccinated supplement workshop reminder nudge letter fert fertiliser "
    "spacing manip manipulation bedingung dünger law laws repeal reform ban warning transplant transplanted voucher "
    "limit speedlimit "
    "subsidy tutoring coaching surgery spray insecticide herbicide gesetz reforma reforme loi legge ley "
    "groupe grupo gruppo groep grupa grupp"
)

CONTROLS: Final = frozenset({
    "control", "ctrl", "holdout", "hold", "base", "baseline", "old", "none", "no", "off", "before", "a", "0", "false",
    "placebo", "untreated", "kontrolle", "témoin", "untr", "usual",
    "normal", "standard", "regular",
})  # fmt: skip
"""Words in what the level of those is called who got nothing new."""

TREATED: Final = frozenset({
    "treat", "treated", "treatment", "test", "variant", "new", "on", "yes", "exposed", "campaign", "b", "1", "true",
})  # fmt: skip
"""Words in what the level of those is called who got something."""

OUTCOMES: Final = _words(
    "visit visits visited conversion converted convert click clicks clicked spend spent revenue sales purchase "
    "purchased bought order orders churn churned retention retained renewed open opened response responded "
    "outcome y signup subscribed return returned reactivated upgraded"
)
"""What a test is to move."""

BEFORE: Final = _words("before past prior previous pre earlier historic history baseline base pret pretest last")
"""What a column is called that was known before, whatever else it is called."""

EXPOSURES: Final = _words(
    "exposure exposures exposition expo exp_days expdays exppdays expyears earned earnedexposure policyyears "
    "insuredyears personyears personyear pyears pyrs manyears atrisk offset expected vehicleyears jahreseinheiten "
    "exposición esposizione exposição jaareenheden"
)
"""What counts and amounts are divided by."""

MAYBE_EXPOSURES: Final = _words(
    "population pop popn n trials total totals miles mileage vehicmiles service reporting insured enrolled atrisk "
    "effort sweptarea"
)
"""What counts may be divided by."""

HOW_MANY: Final = _words(
    "size sample sampled number count tested tests examined screened inspected exposed observed attempts shots games "
    "births animals anzahl getestet geprüft untersucht nombre testés examinés número probados numero testati"
)
"""What counts may be of, where it is never below them."""

IDS: Final = _words(
    "id ids uuid guid key ident identifier idno idnr idcode cusip isin gvkey permno ticker symbol lei ein ssn "
    "iban vin imei ean upc isbn asin orcid iso iso2c iso3c iso2 iso3 obsno patno "
    "address adresse dirección indirizzo endereço phone telephone telefon"
)
"""Words for what names a row or a thing, wherever they stand in a name."""

ROW_NAMES: Final = _words("rownames rowname rownum rownumber rowid rowindex unnamed0")
"""What software calls the names of rows that it writes as a column."""

NUMBERED: Final = ROW_NAMES | _words("nr no number num row index obs case record rank seq serial")
"""Words for what counts rows, at the end of a name."""

COUNTING: Final = re.compile(r"seq\w{0,3}|[^\W\d_]{2,7}(?:no|nr|num|nbr|seq)")
"""Words that are put together with these, such as seqn, caseno and kundennr."""

PEOPLE: Final = _words(
    "subject subjects patient person participant respondent individual customer client user employee policyholder "
    "household family student pupil couple animal rat mouse rabbit chick cow pig dog tree litter twin kunde kundennr "
    "patientin cliente paciente"
)
"""Whom or what several rows may be of."""

THINGS: Final = _words(
    "school hospital clinic practice firm company plant store shop branch county district town village municipality "
    "station site plot field farm ship machine device sensor policy contract account order invoice ticket house "
    "schule klinik firma filiale vertrag école entreprise magasin escuela empresa tienda scuola azienda "
    "kid child baby mother mom father community comm commune district region state country city class cluster stratum "
    "bank team kind mutter vater bezirk gemeinde enfant mère père hijo madre padre niño bambino criança"
)
"""What is numbered by a column in which each row, or each of many groups of rows, has a number of its own."""

COUNTED: Final = _words("n num number count size income age type kind mean share")
"""Words that make a number of people an amount: `household_size`."""

ENDING: Final = re.compile(r"[a-z]{1,6}id|[a-z]{1,4}code?")
NO_IDS: Final = _words(
    "paid said avid acid amid arid void rigid solid fluid humid valid rapid grid bid kid lid aid covid liquid "
    "unpaid code decode encode lipid thyroid steroid opioid hybrid orchid pyramid squid rabid vivid timid turbid "
    "frigid livid lucid morbid stupid tepid candid colloid diploid haploid plasmid typhoid mastoid keloid "
    "asteroid tabloid centroid geoid fibroid sarcoid amyloid myeloid mermaid braid raid maid laid afraid druid "
    "david madrid mid rid skid slid medicaid avoid steroids prepaid repaid outbid splendid hominid bifid tabid "
    "acarid aphid lapid barcode episode"
)
"""Words that end as IDs do."""

PLACES: Final = _words("zip zipcode postcode postal plz cp puma fips statefip statefips tract township")
CODES: Final = _words("code codes cd sic naics icd soc")
"""Places and kinds that are written as numbers."""

ORDERED: Final = _words(
    "rating ratings grade grades level levels score scores rank ranks class stage severity priority scale degree "
    "quality satisfaction likert stars risk tier"
)
"""What has an order, also where it is written as codes."""

NEVER_ZERO: Final = _words(
    "age alter âge edad età idade height weight bmi glucose bloodpressure pressure bp pulse year insulin cholesterol"
)
"""Quantities that are not 0 in anybody."""

AFTER: Final = _words("post posttest after final followup endline endpoint nach après despues después dopo depois")
"""What is measured once more in the end."""

CALENDAR: Final = _words("year years yr jahr année annee anno año ano jaar rok år")
AGES: Final = _words("age alter âge edad età idade leeftijd")

ENDINGS: Final = _words(
    "tppd tpbi wage wages price prices vote salary cost costs earn earnings sales score spend deaths claims "
    "visits educ age weights gpa exam ach mpg cancer killed vis affairs income wt yield rate"
)
COUNTED_AS: Final = re.compile(r"(?:num|no|nb|n|tot|total|avg|mean|med|cum|sum|log|ln)(\w{4,})")
NO_ENDINGS: Final = _words(
    "mileage average damage coverage usage voltage storage image stage package language engage skilled unskilled "
    "separate moderate generate operate accurate each beach reach coach teach peach approach"
)
LONGEST_START: Final = 4
"""Words that others end in, to be read as them; words that only seem to; and most letters before such an ending."""

_CAMEL: Final = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zà-ÿ])")
_PARTS: Final = re.compile(r"[^\W\d_]+|\d+")


def words_in(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a column's name in their order, in lower case: `numClaims2` has three."""
    return tuple(part.lower() for part in _PARTS.findall(_CAMEL.sub(" ", normalize("NFC", name))))


def words_of(name: str) -> frozenset[str]:
    """Return the words of a column's name, with the whole name in one, so that `exp_days` is also found as expdays."""
    parts = words_in(name)
    return frozenset(parts) | {"".join(parts)}


def shares_word(name: str, known: frozenset[str]) -> str:
    """Return the last word of a name that is among some, or ends as a long one of them does (`hrwage`, `AHCAvote`);
    empty without one. The last word says what it is: an `area_price` is a price."""
    parts = words_in(name)
    whole = "".join(parts)
    if whole in known:
        return whole
    alone = all(part.isdigit() for part in parts[1:])  # y and y2 are the target, and birth_y is a year
    exact = next((part for part in reversed(parts) if part in known and (len(part) > 1 or alone)), "")
    ends = (end for part in (*reversed(parts), whole) for end in (_ending(part), _counted(part)))
    return exact or next((end for end in ends if end in known), "")


def _ending(word: str) -> str:
    """Return the ending of a word that is a word of its own: `hrwage` is a wage, and `momage` an age."""
    ends = [end for end in ENDINGS if word.endswith(end) and 0 < len(word) - len(end) <= LONGEST_START]
    return max(ends, key=len, default="") if word not in NO_ENDINGS else ""


def _counted(word: str) -> str:
    """Return the word behind how something was counted or summed up: `numbids` and `avgwage`; empty for no such."""
    match = COUNTED_AS.fullmatch(word)
    return match[1] if match and word not in NO_ENDINGS else ""


def numbers_rows(name: str) -> bool:
    """Return whether a column is called as software calls the names of rows, whatever these look like."""
    return "".join(words_in(name)) in ROW_NAMES


def is_id(name: str) -> bool:
    """Return whether a column is called like an ID, of rows or of something else."""
    words = words_in(name)
    if not words:
        return False
    last = {words[-1], "".join(words)}
    return is_id_of_several(name) or bool(last & (NUMBERED | THINGS | CODES)) or any(map(COUNTING.fullmatch, last))


def is_id_of_several(name: str) -> bool:
    """Return whether a column is called like the ID of somebody or something, which may have several rows."""
    words = set(words_in(name))
    return _is_called_id(name) or bool(words & PEOPLE and not words & COUNTED)


def numbers_things(name: str) -> bool:
    """Return whether a column is called like what may be numbered, or like the numbers themselves."""
    words = words_in(name)
    return bool({*words[-1:], "".join(words)} & (THINGS | NUMBERED)) and not set(words) & (COUNTED - NUMBERED)


def is_code(name: str) -> bool:
    """Return whether a column is called like codes without an order."""
    words = set(words_in(name))
    return not words & ORDERED and (bool(words & (PLACES | CODES | IDS)) or _is_called_id(name))


def _is_called_id(name: str) -> bool:
    words = words_in(name)
    if set(words) & PLACES or (words[1:] and words[-1] in CODES):
        return False
    ends = any(ENDING.fullmatch(word) and word not in NO_IDS for word in words)
    return ends or bool({*words, "".join(words)} & IDS)


def by_lower_case(names: Collection[str]) -> Mapping[str, str]:
    """Return columns by their names in lower case."""
    return {name.lower(): name for name in names}


def square_of(name: str, columns: Mapping[str, str]) -> str:
    """Return the column that another is the square of, by their names; empty for none. columns : `by_lower_case`."""
    return _base(name, columns, [name.lower().removesuffix(end) for end in ("sq", "2", "^2", "_sq", "squared")])


def changed_from(name: str, columns: Mapping[str, str]) -> str:
    """Return the column that another is the logarithm or the change of, as in `square_of`."""
    low = name.lower()
    starts = ("l", "ln", "log", "log_", "ln_", "z_", "d", "c", "cl", "g")
    return _base(name, columns, [low.removeprefix(start) for start in starts] + [low.removesuffix(".log")])


def earlier_of(name: str, columns: Mapping[str, str]) -> str:
    """Return the column that another is an earlier value of, as in `square_of`."""
    return _base(name, columns, [re.sub(r"(?:[_.]?lag\d*|_\d{1,2})$", "", name.lower())])


def part_of(name: str, columns: Mapping[str, str]) -> str:
    """Return the column that another is numbered as a part of (fatal1517 of fatal), as in `square_of`; with two numbers
    it is a change."""
    low = name.lower()
    bases = (low[:k] for k in range(4, len(low)) if re.fullmatch(r"[_.]?\d[\d_.]*", low[k:]))
    return next((columns[base] for base in bases if base in columns and not base[-1].isdigit()), "")


def _base(name: str, columns: Mapping[str, str], bases: list[str]) -> str:
    own = name.lower()
    return next((columns[base] for base in bases if base != own and len(base) > 1 and base in columns), "")


def in_years(names: list[str]) -> Mapping[str, tuple[str, int]]:
    """Return what columns of one quantity in several years have in common, and the year: re74, re75 and re78."""
    parts = {name: match for name in names if (match := re.fullmatch(r"(.*?[^\d])((?:19|20)?\d\d)", name))}
    stems: dict[str, list[str]] = {}
    for name, match in parts.items():
        stems.setdefault(match[1], []).append(name)
    return {name: (stem, _year(parts[name][2])) for stem, same in stems.items() if len(same) > 1
            for name in same if all(_is_year(parts[other][2]) for other in same)}  # fmt: skip


def _year(text: str) -> int:
    number = int(text)
    return number if number > 99 else 1900 + number if number > 30 else 2000 + number


def _is_year(text: str) -> bool:
    return len(text) == 4 or int(text) >= 40 or text.startswith("0") or 10 <= int(text) <= 30
