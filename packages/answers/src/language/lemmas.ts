/**
 * Each line has a lemma and its other forms, some of which are synonyms (`kid`) or mistakes (`catched`). The list also has
 * regular words, whose forms then have no other lemma.
 */
const IRREGULAR_FORMS = `
be am is are was were been being
have has had having
do does did done doing
go goes went gone going
take takes took taken taking
come comes came coming
get gets got gotten getting
give gives gave given giving
say says said saying
tell tells told telling
see sees saw seen seeing
make makes made making
know knows knew known knowing
think thinks thought thinking
leave leaves left leaving
lose loses lost losing
pay pays paid payed paying
find finds found finding
hold holds held holding
keep keeps kept keeping
catch catches caught catching catched
drive drives drove driven driving
bring brings brought bringing
send sends sent sending
buy buys bought buying
sell sells sold selling
hit hits hitting
hurt hurts hurting
beat beats beaten beating
break breaks broke broken breaking
throw throws threw thrown throwing
shoot shoots shot shooting
steal steals stole stolen stealing
fight fights fought fighting
forget forgets forgot forgotten forgetting
write writes wrote written writing writed
run runs ran running
die dies died dying
lie lies lied lying
hide hides hid hidden hiding
feel feels felt feeling
sleep sleeps slept sleeping
put puts putting
cut cuts cutting
let lets letting
set sets setting
quit quits quitting
sign signs signed signing
swim swims swam swum swimming
fly flies flew flown flying
grow grows grew grown growing
become becomes became becoming
begin begins began begun beginning
choose chooses chose chosen choosing
swear swears swore sworn swearing
wear wears wore worn wearing
show shows showed shown showing
meet meets met meeting
spend spends spent spending
lend lends lent lending
owe owes owed owing
own owns owned owning
use uses used using
marry marries married marrying
study studies studied studying
deny denies denied denying
apply applies applied applying
try tries tried trying
cry cries cried crying
carry carries carried carrying
bury buries buried burying
overstay overstays overstayed overstaying
stay stays stayed staying
rape rapes raped raping
stab stabs stabbed stabbing
rob robs robbed robbing
grab grabs grabbed grabbing
slap slaps slapped slapping
drop drops dropped dropping
stop stops stopped stopping
plan plans planned planning
travel travels traveled travelled traveling travelling
child children kid kids
man men
woman women
wife wives
person people persons
life lives
`
const LEMMAS_BY_FORM = new Map<string, string[]>()
for (const line of IRREGULAR_FORMS.trim().split('\n')) {
  const [lemma = '', ...forms] = line.split(' ')
  for (const form of [lemma, ...forms]) LEMMAS_BY_FORM.set(form, [...(LEMMAS_BY_FORM.get(form) ?? []), lemma])
}

/**
 * Lists the possible lemmas of a word. For a form in `IRREGULAR_FORMS`, these are its lemmas there; for any other word, the word
 * itself and what remains without a regular ending. Some of these are not real words, but no pattern uses them.
 */
export function findLemmas(word: string): readonly string[] {
  const irregularLemmas = LEMMAS_BY_FORM.get(word)
  if (irregularLemmas) return irregularLemmas
  const lemmas = [word]
  for (const ending of ['s', 'es', 'ed', 'ing']) {
    if (!word.endsWith(ending)) continue
    const stem = word.slice(0, -ending.length)
    if (stem.length < 2) continue
    lemmas.push(stem)
    if (ending === 'ed' || ending === 'ing') lemmas.push(`${stem}e`)
    if ((ending === 'ed' || ending === 'ing') && stem.at(-1) === stem.at(-2)) lemmas.push(stem.slice(0, -1))
    if ((ending === 'ed' || ending === 'es') && stem.endsWith('i')) lemmas.push(`${stem.slice(0, -1)}y`)
  }
  return lemmas
}
