import { splitWords } from '@plainpath/guides'

/** Frequent words of each language, without accents, and some that are typical of immigration questions. */
const COMMON_WORDS = {
  en: `the an i my is are was were to of in for with do does did can could how what when where which who why but not have
    has had it they he she we you your this that these those and or if will would need want get got on at from about after
    before because been be our their his her im dont cant there here now please help all any`,
  es: `el la los las de del que y en un una unos unas por para con mi mis su sus es esta estan estoy soy somos tengo tiene
    tenemos tienen puedo puede pueden como cuando donde cual cuanto cuantos si se lo le les al pero mas ya hay porque quiero
    quiere necesito debo fue ser hacer hace sin sobre desde hasta nos muy tambien este esto eso ella ellos yo tu usted ha he
    han cuesta renovar pasa sigue solicitar`,
  pt: `os as do da dos das que em um uma por para com meu minha seu sua nao voce esta estou sou tenho tem posso pode como
    quando onde qual quanto se mas mais ja ha porque quero preciso foi fazer faco sem sobre ate muito tambem ele ela eu`,
  fr: `le les des du un une et est dans pour avec mon ma mes son sa ses je suis nous vous ils elle que qui quoi comment quand
    ou combien ne pas sur au aux ce cette ai avez peut peux puis faire sans depuis mais tres plus`,
  ht: `mwen ou li nou yo nan pou ki sa se pa gen te ap pral kijan kile ki kote poukisa avek yon epi paske fe kapab bezwen
    vle anpil tout`,
  de: `der die das und ist ich mein meine nicht ein eine zu mit auf fur wie wann wo was wer kann muss haben habe sind wir sie
    von dem den im auch aber oder`,
  vi: `toi cua co khong la va de lam sao nao duoc bao nguoi nay cho mot nhung voi khi nhu the chong vo con phai can gia han xanh`,
  tl: `ang ng mga sa ako ko ba po paano kailan pwede ano hindi nang na ay may kung asawa siya kami natin namin mag`,
  it: `il lo la gli di del della e un una per con mio mia sono ho hai puo posso come quando dove quanto che non si anche`,
} as const

export type QuestionLanguage = 'en' | 'es' | 'other'

type KnownLanguage = keyof typeof COMMON_WORDS

const COMMON_WORD_SETS = Object.entries(COMMON_WORDS).map(
  ([language, words]) => [language as KnownLanguage, new Set(words.split(/\s+/))] as const,
)

/**
 * Words that do not show that a text is English: terms that people use in every language, words that English shares with another
 * language, and names of places.
 */
const SHARED_WORDS = new Set(
  `green card visa daca tps uscis opt status no me a social legal app online email ice parole sponsor stem ead final general
  error hospital total federal asylum u f i san los angeles miami texas houston california florida mexico`.split(
    /\s+/,
  ),
)

const MAX_WORDS = 200
/** A question that mixes languages counts as English if it has this many distinct words of the guides that are only English. */
const MIN_ENGLISH_WORDS = 2

/**
 * Detects whether a question is in English, Spanish or another language. A question that mixes English with another language
 * counts as English, because many people mix languages and the English part is enough to find a guide. A question that shows no
 * language also counts as English. Words after the first 200 are ignored.
 *
 * @param isGuideWord returns whether the English guides use a word, in lower case and without accents
 */
export function detectLanguage(question: string, isGuideWord: (word: string) => boolean): QuestionLanguage {
  const letterCount = question.match(/\p{L}/gu)?.length ?? 0
  const latinCount = question.match(/\p{Script=Latin}/gu)?.length ?? 0
  // Most letters are of another script. Fewer than four letters show no language.
  if (letterCount >= 4 && latinCount < letterCount / 2) return 'other'
  const words = splitWords(question).slice(0, MAX_WORDS)
  const counts = COMMON_WORD_SETS.map(([language, languageWords]) => ({
    language,
    count: words.filter((word) => languageWords.has(word)).length,
  }))
  const englishCount = counts.find(({ language }) => language === 'en')?.count ?? 0
  const [strongestOther] = counts
    .filter(({ language }) => language !== 'en')
    .toSorted((a, b) => b.count - a.count)
  // Another language needs at least two words, more than twice as many as English, and at least a sixth of all words.
  if (strongestOther === undefined || strongestOther.count < 2 || strongestOther.count <= englishCount * 2)
    return 'en'
  if (strongestOther.count < words.length / 6) return 'en'
  const foreignWords = COMMON_WORD_SETS.find(([language]) => language === strongestOther.language)?.[1]
  const englishWords = new Set(
    words.filter((word) => isGuideWord(word) && !SHARED_WORDS.has(word) && foreignWords?.has(word) !== true),
  )
  if (englishWords.size >= MIN_ENGLISH_WORDS) return 'en'
  return strongestOther.language === 'es' ? 'es' : 'other'
}
