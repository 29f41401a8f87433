import { bodyBlocks } from '../body-blocks.ts'
import type { PackagedGuide } from '../packaged-guide.ts'
import { sentencesOf } from '../reading-grade.ts'
import type { GuideCheck } from './guide-check.ts'

const sentencesOfGuide = ({ summary, talkToAnAttorneyWhen, body }: PackagedGuide) =>
  [summary, ...talkToAnAttorneyWhen, ...bodyBlocks(body).map(({ text }) => text)].flatMap(sentencesOf)

const sentencesThat =
  (...patterns: readonly RegExp[]): GuideCheck =>
  (guide) =>
    sentencesOfGuide(guide).filter((sentence) => patterns.every((pattern) => pattern.test(sentence)))

/** `$710`, `710 dollars`, `USD 710`. */
export const statedFees = sentencesThat(/\$\s?\d|\bUSD\b|\b\d[\d,.]*\s+(?:US\s+)?dollars?\b/i)

const MONTH =
  '(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)'

/** Days and years of the calendar, also as a Visa Bulletin writes them (`22JUL19`): they go out of date with the page they came from. */
export const statedDates = sentencesThat(
  new RegExp(
    String.raw`\b${MONTH}\.? \d|\b\d{1,2} ${MONTH}\b|\b\d{1,2}[A-Z]{3}\d{2}\b|\b\d{1,4}[/-]\d{1,2}[/-]\d{1,4}\b|\b(?:19|20)\d\d\b`,
  ),
)

/** A length of time next to a word about how long the government takes; lengths that the law fixes pass. */
export const statedProcessingTimes = sentencesThat(
  /\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|few|several|many)\b[ -](?:business |working )?(?:day|week|month|year)s?\b/i,
  /\b(?:process\w*|takes?|took|usual(?:ly)?|typical(?:ly)?|average|normal(?:ly)?|current(?:ly)?|wait(?:s|ing)?|about how long|(?:answers?|decides?|approves?|arrives?) (?:in|within))\b/i,
)
