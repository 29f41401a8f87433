import { bodyBlocks } from '../body-blocks.ts'
import { readingGrade } from '../reading-grade.ts'
import type { GuideCheck } from './guide-check.ts'

/** We write for grade 8; up to 9 is let pass, for the words that have no plainer twin. */
const HIGHEST_GRADE = 9

export const gradeTooHigh: GuideCheck = ({ body }) => {
  const grade = readingGrade(body)
  return grade > HIGHEST_GRADE ? [`grade ${grade.toFixed(1)}, at most ${HIGHEST_GRADE}`] : []
}

const inOneForm = (summary: string) =>
  summary
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()

/** Names the guides before this one that have its summary, so that a pair is reported once. */
export const repeatedSummary: GuideCheck = (guide, { guides }) =>
  guides
    .slice(0, guides.indexOf(guide))
    .filter(({ summary }) => inOneForm(summary) === inOneForm(guide.summary))
    .map(({ slug }) => `the same as ${slug}`)

/** Headings of level 2 and 3, paragraphs, flat lists, bold and links are all that a guide uses. */
export const otherMarkup: GuideCheck = ({ body }) => {
  const lines = body.split('\n').filter((line) => /^(?:# |#{4,}|\s+\S|>|\||```|===|---)|<|!\[|`/.test(line))
  const levels =
    bodyBlocks(body)[0]?.kind === 'heading' && body.startsWith('### ')
      ? ['begins with a level-3 heading']
      : []
  return [...levels, ...lines]
}
