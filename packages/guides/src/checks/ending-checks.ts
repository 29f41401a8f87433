import { type Block, bodyBlocks } from '../body-blocks.ts'
import { ATTORNEY_HEADING, ATTORNEY_LISTS, CHANGES_HEADING, DISCLAIMER } from '../fixed-wording.ts'
import { isOfficial } from '../official-hosts.ts'
import type { GuideCheck } from './guide-check.ts'
import { linksOf } from './link-checks.ts'

const inSection = (body: string, heading: string): readonly Block[] =>
  bodyBlocks(body).filter(({ kind, section }) => kind !== 'heading' && section === heading)

const sectionsOf = (body: string) => [...new Set(bodyBlocks(body).flatMap(({ section }) => section ?? []))]

export const missingAttorneySection: GuideCheck = ({ body }) =>
  sectionsOf(body).at(-1) === ATTORNEY_HEADING ? [] : [`the last section is not "${ATTORNEY_HEADING}"`]

/** The section lists exactly the triggers of the front matter; the other items there are links. */
export const differingTriggers: GuideCheck = ({ body, talkToAnAttorneyWhen }) => {
  const listed = inSection(body, ATTORNEY_HEADING).filter(
    ({ kind, text }) => kind === 'item' && linksOf(text).length === 0,
  )
  const texts = listed.map(({ text }) => text)
  return [
    ...talkToAnAttorneyWhen
      .filter((trigger) => !texts.includes(trigger))
      .map((trigger) => `not in the body: ${trigger}`),
    ...texts
      .filter((text) => !talkToAnAttorneyWhen.includes(text))
      .map((text) => `not in the front matter: ${text}`),
  ]
}

export const missingAttorneyLists: GuideCheck = ({ body }) => {
  const linked = inSection(body, ATTORNEY_HEADING).flatMap(({ text }) => linksOf(text))
  return ATTORNEY_LISTS.filter((list) => !linked.includes(list))
}

export const missingDisclaimer: GuideCheck = ({ body }) =>
  bodyBlocks(body).at(-1)?.text === DISCLAIMER ? [] : ['the body does not end with the disclaimer']

/** What changes often is never stated: the section before the last one links the official page of each such thing. */
export const missingChangesSection: GuideCheck = ({ body }) => {
  if (sectionsOf(body).at(-2) !== CHANGES_HEADING)
    return [`the last section but one is not "${CHANGES_HEADING}"`]
  const items = inSection(body, CHANGES_HEADING).filter(({ kind }) => kind === 'item')
  if (items.length === 0) return [`"${CHANGES_HEADING}" lists nothing`]
  return items
    .filter(({ text }) => !linksOf(text).some(isOfficial))
    .map(({ text }) => `links no official page: ${text}`)
}
