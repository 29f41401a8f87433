import type { QuestionType } from '@plainpath/guides'

/** Matches the words with which people ask for each type of information, in lower case, without accents and apostrophes. */
const WORDINGS: readonly (readonly [QuestionType, RegExp])[] = [
  [
    'cost',
    /\b(?:how much (?:is|does|do|it|will|are|to|the|for)|what does it cost|costs?|(?:is there|what is|whats|what s) (?:a|the) fee|fee for|price|cuanto cuesta)\b/,
  ],
  [
    'amount',
    /\b(?:how many(?! (?:days|weeks|months|years|time))|how much (?:money|income|english|do (?:i|we|you) (?:need|have to) (?:make|earn))|minimum|maximum)\b/,
  ],
  [
    'duration',
    /\b(?:how long (?:does|do|is|are|will|until|it|to|for|before|b4|after|can|would|must|the)|how many (?:days|weeks|months|years)|processing time|takes? (?:so |too )?long|within (?:how long|what time)|how long (?:time|after)|how much (?:longer|time)|waiting time|wait time)\b/,
  ],
  [
    'validity',
    /\b(?:expire[sd]?|valid|still good|good for|good until|extension|extended|runs? out|cuanto dura)\b/,
  ],
  [
    'when',
    /\b(?:when|within how long|how many (?:days|weeks|months|years)|how long (?:after|before|time)|how (?:soon|early|late)|deadline|what (?:day|date)|too (?:early|late|soon)|by when|cuando)\b/,
  ],
  [
    'where',
    /\b(?:where|which (?:office|website|page|site|agency|court)|what (?:address|website|site|office)|website|donde)\b/,
  ],
  ['form', /\b(?:(?:which|what) (?:is the )?(?:forms?|application|paper)|form number|what forma?)\b/],
  [
    'proof',
    /\b(?:proofs?|evidence|documents? (?:do|does|to|i|we|should)|what (?:papers|documents|docs|paperwork)|which (?:papers|documents)|prove|need to (?:bring|send|show)|(?:do|should|to|i) (?:i )?bring)\b/,
  ],
  ['who', /\b(?:who|eligible|eligibility|qualif(?:y|ies)|requirements?|require|exempt|allowed)\b/],
  [
    'may',
    /\b(?:can (?:i|we|us|he|she|they|my|a|an|the|you|it|someone|somebody|people|her|his|u)|may (?:i|we|he|she)|(?:am|is|are) (?:i|he|she|we|they|it) (?:allowed|able|ok|okay)|is it (?:ok|okay|possible|legal|safe|allowed|true|real|fine)|could (?:i|we|he|she)|puedo)\b/,
  ],
  [
    'consequence',
    /\b(?:what (?:happens?|will happen|would happen|if)|what s next|happens (?:if|when|after)|(?:is it|be) a problem|in trouble|lose|denied|will (?:it|this|that|they|i|he|she) (?:hurt|affect|lose|deny|cancel)|affect|hurt my|que pasa)\b/,
  ],
  ['reason', /\b(?:why|how come|porque|for what reason)\b/],
  [
    'definition',
    /\b(?:what (?:is|s|are|does|do (?:they|you) mean)|meaning|means?|explain|difference|stands? for|que es)\b/,
  ],
  [
    'latest',
    /\b(?:new (?:rules?|law|fees?|test|edition)|this (?:year|month|week)|these days|news|changed|latest|currently|nowadays)\b/,
  ],
  ['contact', /\b(?:phone|number to call|call|hotline|talk to (?:a|some)|contact|reach)\b/],
  [
    'how',
    /\b(?:how (?:do|does|can|to|should|would|did|i|we|is|are)|steps?|process|what (?:do|should|can|must) (?:i|we|he|she|they|you) (?:do|need|file)|way to|como)\b/,
  ],
]

/** Detects the types of information that a question asks for: none, one or several. */
export function detectQuestionTypes(question: string): ReadonlySet<QuestionType> {
  const plainText = question
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/['’´`]/g, '')
    .replace(/\bwhats\b/g, 'what s')
    .replace(/\s+/g, ' ')
  return new Set(WORDINGS.filter(([, wording]) => wording.test(plainText)).map(([type]) => type))
}

const AUXILIARY = '(?:am|are|can|could|did|do|does|is|may|must|should|will|would)'
const SUBJECT = '(?:he|i|it|my|she|that|the|there|they|this|we|you)'
/** Matches a further question in the same sentence, such as ", and when does it expire" or "or do I need a lawyer". */
const JOINED_QUESTION = new RegExp(
  `\\w[,;]?\\s(?:also|and|or|plus),? (?:if (?:so|not|yes|no),? )?(?:how|what|when|where|which|who|why|${AUXILIARY} ${SUBJECT})\\b`,
  'gi',
)

/** Counts the sentences that end in a question mark, and the further questions that are joined to them. */
export function countQuestions(question: string): number {
  // A sentence ends before `.`, `!` or a line break, or after `?`. Several question marks in a row end one sentence.
  const sentences = question.split(/[.!\n]|(?<=\?)(?!\?)/).filter((sentence) => sentence.endsWith('?'))
  let count = 0
  for (const sentence of sentences) count += 1 + (sentence.match(JOINED_QUESTION)?.length ?? 0)
  return count
}
