"""Names of countries, their parts and large cities, with their time zones.

Offsets are hours from UTC in winter (standard time); none where a country has several. Only what job boards write
often: a place that is not here is kept as it is written.
"""

from __future__ import annotations

COUNTRIES = """
US: united states|united states of america|usa|u.s.|u.s.a.|us|america
CA: canada|can
MX -6: mexico|méxico|mex
BR -3: brazil|brasil|bra
AR -3: argentina|arg
CL -4: chile
CO -5: colombia
PE -5: peru|perú
UY -3: uruguay
CR -6: costa rica
PA -5: panama
EC -5: ecuador
DO -4: dominican republic
GT -6: guatemala
PR -4: puerto rico
GB 0: united kingdom|uk|u.k.|great britain|england|scotland|wales|northern ireland|gbr
IE 0: ireland|irl
FR 1: france|fra
DE 1: germany|deutschland|deu
AT 1: austria|österreich
CH 1: switzerland|schweiz|suisse
NL 1: netherlands|the netherlands|nederland|holland|nld
BE 1: belgium|belgië|belgique
LU 1: luxembourg
ES 1: spain|españa|esp
PT 0: portugal|prt
IT 1: italy|italia|ita
PL 1: poland|polska|pol
CZ 1: czech republic|czechia|czech
SK 1: slovakia
HU 1: hungary
RO 2: romania
BG 2: bulgaria
GR 2: greece
HR 1: croatia
SI 1: slovenia
RS 1: serbia
UA 2: ukraine
MD 2: moldova
LT 2: lithuania
LV 2: latvia
EE 2: estonia
FI 2: finland
SE 1: sweden|sverige
NO 1: norway|norge
DK 1: denmark|danmark
IS 0: iceland
CY 2: cyprus
MT 1: malta
TR 3: turkey|türkiye|turkiye
IL 2: israel
AE 4: united arab emirates|uae|u.a.e.
SA 3: saudi arabia
QA 3: qatar
EG 2: egypt
MA 1: morocco
NG 1: nigeria
KE 3: kenya
GH 0: ghana
ZA 2: south africa
IN 5.5: india|ind
PK 5: pakistan
BD 6: bangladesh
LK 5.5: sri lanka
NP 5.75: nepal
CN 8: china
HK 8: hong kong
TW 8: taiwan
JP 9: japan|jpn
KR 9: south korea|korea
SG 8: singapore|sgp
MY 8: malaysia
TH 7: thailand
VN 7: vietnam|viet nam
PH 8: philippines
ID 7: indonesia
AU: australia|aus
NZ 12: new zealand
GE 4: georgia
AM 4: armenia
KZ 5: kazakhstan
AL 1: albania
MK 1: north macedonia
BA 1: bosnia and herzegovina|bosnia
"""

REGIONS = """
US AL -6: alabama
US AK -9: alaska
US AZ -7: arizona
US AR -6: arkansas
US CA -8: california|calif
US CO -7: colorado
US CT -5: connecticut
US DE -5: delaware
US DC -5: district of columbia
US FL -5: florida
US GA -5: georgia
US HI -10: hawaii
US ID -7: idaho
US IL -6: illinois
US IN -5: indiana
US IA -6: iowa
US KS -6: kansas
US KY -5: kentucky
US LA -6: louisiana
US ME -5: maine
US MD -5: maryland
US MA -5: massachusetts
US MI -5: michigan
US MN -6: minnesota
US MS -6: mississippi
US MO -6: missouri
US MT -7: montana
US NE -6: nebraska
US NV -8: nevada
US NH -5: new hampshire
US NJ -5: new jersey
US NM -7: new mexico
US NY -5: new york state
US NC -5: north carolina
US ND -6: north dakota
US OH -5: ohio
US OK -6: oklahoma
US OR -8: oregon|ore
US PA -5: pennsylvania
US RI -5: rhode island
US SC -5: south carolina
US SD -6: south dakota
US TN -6: tennessee
US TX -6: texas
US UT -7: utah
US VT -5: vermont
US VA -5: virginia
US WA -8: washington|washington state
US WV -5: west virginia
US WI -6: wisconsin
US WY -7: wyoming
CA ON -5: ontario
CA BC -8: british columbia
CA AB -7: alberta
CA QC -5: quebec|québec
CA MB -6: manitoba
CA SK -6: saskatchewan
CA NS -4: nova scotia
CA NB -4: new brunswick
CA NL -3.5: newfoundland and labrador|newfoundland
CA PE -4: prince edward island
AU NSW 10: new south wales
AU VIC 10: victoria
AU QLD 10: queensland
AU WA 8: western australia
AU SA 9.5: south australia
AU ACT 10: australian capital territory
IN KA 5.5: karnataka
IN MH 5.5: maharashtra
IN TN 5.5: tamil nadu
IN TG 5.5: telangana
IN HR 5.5: haryana
"""

CITIES = """
US NY -5: new york|new york city|nyc|brooklyn|manhattan
US CA -8: san francisco|sf|los angeles|san diego|san jose|oakland|palo alto|mountain view|sunnyvale|menlo park
US CA -8: santa clara|santa monica|irvine|sacramento|san mateo|redwood city|cupertino|culver city|bay area
US CA -8: san francisco bay area|sf bay area|berkeley
US WA -8: seattle|bellevue|redmond|kirkland|spokane|tacoma
US TX -6: austin|dallas|houston|san antonio|plano|fort worth|frisco
US IL -6: chicago
US MA -5: boston|cambridge ma|somerville
US CO -7: denver|boulder|colorado springs
US GA -5: atlanta
US FL -5: miami|tampa|orlando|jacksonville|fort lauderdale
US DC -5: washington dc
US PA -5: philadelphia|pittsburgh
US AZ -7: phoenix|scottsdale|tempe
US UT -7: salt lake city|lehi
US MN -6: minneapolis|saint paul
US MI -5: detroit|ann arbor
US NC -5: raleigh|charlotte|durham
US TN -6: nashville|memphis
US OH -5: cincinnati|cleveland
US MO -6: st. louis|saint louis
US NV -8: las vegas|reno
US MD -5: baltimore|bethesda
US VA -5: arlington|reston|mclean|herndon
US IN -5: indianapolis
US OK -6: oklahoma city|tulsa
US LA -6: new orleans|shreveport
US HI -10: honolulu
CA ON -5: toronto|ottawa|mississauga|waterloo|kitchener
CA QC -5: montreal|montréal|quebec city
CA BC -8: vancouver|burnaby
CA AB -7: calgary|edmonton
GB - 0: london|manchester|edinburgh|bristol|glasgow|leeds|oxford|belfast|liverpool
IE - 0: dublin|cork|galway
FR - 1: paris|lyon|toulouse|nantes|bordeaux|lille|marseille|grenoble
DE - 1: berlin|munich|münchen|hamburg|cologne|köln|frankfurt|stuttgart|düsseldorf|leipzig|dresden|nuremberg|nürnberg
DE - 1: karlsruhe|hannover|bonn|freiburg
AT - 1: vienna|wien|graz|linz|salzburg
CH - 1: zurich|zürich|geneva|lausanne|basel|bern
NL - 1: amsterdam|rotterdam|utrecht|eindhoven|the hague|den haag|delft
BE - 1: brussels|antwerp|ghent|leuven
ES - 1: madrid|barcelona|valencia|málaga|malaga|seville
PT - 0: lisbon|lisboa|porto|braga
IT - 1: milan|milano|rome|roma|turin|torino|bologna
PL - 1: warsaw|warszawa|krakow|kraków|wrocław|wroclaw|gdansk|gdańsk|poznan|poznań|łódź
CZ - 1: prague|praha|brno
HU - 1: budapest
RO - 2: bucharest|cluj-napoca|cluj|iasi|timisoara
BG - 2: sofia
GR - 2: athens|thessaloniki
RS - 1: belgrade|novi sad
HR - 1: zagreb
SI - 1: ljubljana
UA - 2: kyiv|kiev|lviv
LT - 2: vilnius|kaunas
LV - 2: riga
EE - 2: tallinn
FI - 2: helsinki
SE - 1: stockholm|gothenburg|göteborg|malmö
NO - 1: oslo
DK - 1: copenhagen|københavn|aarhus
TR - 3: istanbul|ankara
IL - 2: tel aviv|tel aviv-yafo|haifa|jerusalem|herzliya
AE - 4: dubai|abu dhabi
SA - 3: riyadh
EG - 2: cairo
GE - 4: tbilisi
AM - 4: yerevan
NG - 1: lagos
KE - 3: nairobi
ZA - 2: cape town|johannesburg
IN KA 5.5: bangalore|bengaluru
IN MH 5.5: mumbai|pune
IN TG 5.5: hyderabad
IN TN 5.5: chennai
IN HR 5.5: gurgaon|gurugram
IN - 5.5: delhi|new delhi|noida|kolkata|ahmedabad
PK - 5: karachi|lahore
CN - 8: beijing|shanghai|shenzhen|guangzhou
HK - 8: hong kong
TW - 8: taipei
JP - 9: tokyo|osaka
KR - 9: seoul
SG - 8: singapore
MY - 8: kuala lumpur
TH - 7: bangkok
VN - 7: ho chi minh city|hanoi
PH - 8: manila|makati
ID - 7: jakarta
AU NSW 10: sydney
AU VIC 10: melbourne
AU QLD 10: brisbane
AU WA 8: perth
AU SA 9.5: adelaide
NZ - 12: auckland|wellington
MX - -6: mexico city|ciudad de méxico|cdmx|guadalajara|monterrey
BR - -3: são paulo|sao paulo|rio de janeiro|belo horizonte|curitiba|campinas|porto alegre|florianópolis
AR - -3: buenos aires|córdoba
CL - -4: santiago
CO - -5: bogota|bogotá|medellín|medellin
PE - -5: lima
UY - -3: montevideo
"""

AREAS = frozenset(
    "americas|north america|south america|latin america|latam|nam|europe|eu|emea|emeia|apac|asia|asia pacific|africa"
    "|middle east|mena|oceania"
    "|nordics|dach|benelux|uki|worldwide|any|global|world|anywhere|earth|international|northeast|southeast|northwest"
    "|southwest|midwest|east coast"
    "|west coast|east|west|north|south|central|eastern|western|usca|us east|us west|amer|european union|any location"
    "|anywhere in the world".split("|")
)
"""Parts of the world and of countries, and all of it."""
