import type { Repository } from '../repository.ts'
import { AGENT_CASES } from './agent-cases.ts'
import type { Case, CaseGroup } from './case.ts'
import { CLAIM_CASES } from './claim-cases.ts'
import { collectTests, type NamedTest } from './collect-tests.ts'
import { HARDENING_CASES } from './hardening-cases.ts'
import { HTTP_CASES } from './http-cases.ts'
import { MAIL_CASES } from './mail-cases.ts'
import { TEXT_CASES } from './text-cases.ts'

export const REQUIREMENTS_PAGE = 'docs/requirements.md'
export const CASE_GROUPS: readonly CaseGroup[] = [
  ...AGENT_CASES,
  ...CLAIM_CASES,
  ...HTTP_CASES,
  ...TEXT_CASES,
  ...MAIL_CASES,
  ...HARDENING_CASES,
]

/** More are counted, not listed. */
const MOST_LISTED = 3

const PREFACE = `# Requirements

What must not work, or must work in one way only, and the test that holds it. Titles of tests and of the rows of their
tables begin with the number of the case. After each of them one piece of code, \`packages/http/test/sound-answer.ts\`, asserts what
holds whatever was asked: no failure of ours, an error in the form of its path without a word about how we are made, the
headers of every answer, nothing confidential said back; what was refused has stored nothing, and its good twin succeeds.

This page is made by \`npm run generate\`; \`npm run check\` fails when it is not as the tests are, or when a case has none.
Tests below \`e2e/system\` run with \`npm run test:system\`, all others with \`npm test\`.`

/** The page as it must be. */
export function requirementsPage(repository: Repository): string {
  const tests = collectTests(repository)
  const sections = CASE_GROUPS.map(({ title, cases }) => {
    const rows = cases.map(
      (each) => `| ${each.id} | ${each.tried} | ${heldBy(each, tests.get(each.id) ?? [])} |`,
    )
    return `## ${title}\n\n| case | what is tried | held by |\n|---|---|---|\n${rows.join('\n')}`
  })
  return `${[PREFACE, ...sections].join('\n\n')}\n`
}

/** @returns the cases that no test names and no rule overrules */
export function casesWithoutTest(repository: Repository): string[] {
  const tests = collectTests(repository)
  return CASE_GROUPS.flatMap(({ cases }) => cases)
    .filter(({ id, overruled }) => overruled === undefined && !tests.has(id))
    .map(({ id, tried }) => `${id} (${tried}): no test has it in its title`)
}

function heldBy({ overruled }: Case, tests: readonly NamedTest[]): string {
  const listed = tests.slice(0, MOST_LISTED)
  const more = new Set(tests.slice(MOST_LISTED).map(({ title }) => title)).size
  return [
    ...(overruled === undefined ? [] : [`*${overruled}*`]),
    ...[...Map.groupBy(listed, ({ file }) => file)].map(
      ([file, titles]) => `[${file}](../${file}): ${titles.map(({ title }) => plain(title)).join('; ')}`,
    ),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('<br>')
}

/** Nothing of a title may be read as Markdown, and what is put into it at run time is left out. */
const plain = (title: string) =>
  title
    .replaceAll(/\$\{[^{}]*\}/g, '…')
    .replaceAll(/\\(.)/g, '$1')
    .replaceAll(/[&<>|[\]*`\\]/g, (character) => `&#${character.charCodeAt(0)};`)
