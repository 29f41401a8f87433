import { ATTORNEY_HEADING, listGuideSections, loadGuides, type PackagedGuide } from '@plainpath/guides'
import type { Database } from '@plainpath/postgres'
import { waitForBlockedSessions } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { turnOffInTransaction } from '../src/guides/answer-switches.ts'
import { lockGuides, publishFirstGuides, publishGuides } from '../src/guides/publish-guides.ts'
import { runResource } from './run-resource.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const POLL_OPTIONS = { timeout: 15_000, interval: 20 }
const NOTICE = 'We took the text of this section out'
const SLUG = 'renew-green-card'
const HEADING = '## Why a valid card matters\n'
const SECTION = `${SLUG}#why-a-valid-card-matters`
const EARLIER_HEADING = '## Why the card matters\n'
const EARLIER_SECTION = `${SLUG}#why-the-card-matters`

const releaseGuides = loadGuides()
const releaseGuide = findGuide()
/** The guide of the release under the preceding version number, in which a heading over the same text was another. */
const earlierGuide: PackagedGuide = {
  ...releaseGuide,
  version: releaseGuide.version - 1,
  body: releaseGuide.body.replace(HEADING, EARLIER_HEADING),
}
/** The same, with the heading of the release. Another section was different. */
const earlierGuideWithHeading: PackagedGuide = {
  ...earlierGuide,
  body: releaseGuide.body.replace('## If USCIS says no\n', '## If the answer is no\n'),
}
const sections = listGuideSections(releaseGuide)
const wrongSentence = readFirstSentence('why-a-valid-card-matters')
const otherSentence = readFirstSentence('if-uscis-says-no')

function findGuide(): PackagedGuide {
  const guide = releaseGuides.find(({ slug }) => slug === SLUG)
  if (!guide?.body.includes(HEADING)) throw new Error(`${SLUG} has no section ${HEADING}`)
  return guide
}

/** Returns the beginning of a section's text, up to the first source marker or line break. */
function readFirstSentence(key: string): string {
  const [sentence = ''] = sections.find((section) => section.key === key)?.markdown.split(/\[\^|\n/) ?? []
  if (sentence.length < 20) throw new Error(`the section ${key} begins with no sentence`)
  return sentence
}

const resources = new AsyncDisposableStack()
let api: RunningResource
beforeAll(async () => {
  api = resources.use(await startResource())
})
afterAll(() => resources.disposeAsync())
beforeEach(() =>
  api.db.query('truncate guides, guide_versions, guide_reviews, answer_switches, desk_audit cascade'),
)

const run = (...args: string[]) =>
  runResource(['guides', ...args], { RESOURCE_DATABASE_URL: api.databaseUrl })
const withdraw = (section: string) => run('withdraw', section, '--reason', 'wrong')

/** Publishes an earlier version of the guide, and the other guides of the release. */
async function publishEarlier(guide: PackagedGuide): Promise<void> {
  const others = releaseGuides.filter(({ slug }) => slug !== SLUG)
  expect(await publishGuides(api.db, [guide, ...others], NOW)).toMatchObject({ ok: true })
}

/** Reads the stored versions of the guide, and the served one. */
async function readStoredVersions() {
  const { rows } = await api.db.query<{ version: number; isServed: boolean }>(
    `select v.version, v.version = g.version as "isServed"
    from guide_versions v join guides g on g.slug = v.slug where v.slug = $1 order by v.version`,
    [SLUG],
  )
  return rows.map(({ version, isServed }) => (isServed ? `${version} is served` : String(version)))
}
const ONLY_EARLIER = [`${earlierGuide.version} is served`]
const BOTH = [String(earlierGuide.version), `${releaseGuide.version} is served`]

const readGuide = async (path: string, accept = 'application/json') =>
  sendRequest(api.origin, { path: `/api/guides/${SLUG}${path}`, headers: { accept } })

/** Waits until the API serves a version of the guide, and either withholds or shows the wrong sentence. */
const waitUntilServed = (version: number, { withheld }: { withheld: boolean }) =>
  expect
    .poll(async () => {
      const { body, json } = await readGuide('')
      return [json()['version'], !body.includes(wrongSentence)]
    }, POLL_OPTIONS)
    .toEqual([version, withheld])

describe('guides publish', () => {
  const REFUSAL = `${SLUG}  version ${releaseGuide.version} lacks the withdrawn section ${EARLIER_SECTION}: keep its heading, or first run "guides restore ${EARLIER_SECTION}"`

  test('refuses a version without a withdrawn section, as diff reports, until the section is restored', async () => {
    await publishEarlier(earlierGuide)
    expect((await withdraw(EARLIER_SECTION)).code).toBe(0)
    await waitUntilServed(earlierGuide.version, { withheld: true })

    expect(await run('publish')).toEqual({ code: 1, out: '', errors: `Nothing was published.\n${REFUSAL}` })
    expect(await readStoredVersions()).toEqual(ONLY_EARLIER)
    const { code, out } = await run('diff')
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual([
      REFUSAL,
      `Would publish 0 guides. Unchanged: ${releaseGuides.length - 1}.`,
      '1 guide cannot be published. Nothing will be published until this is resolved.',
    ])
    expect(JSON.parse((await run('diff', '--json')).out)['guides']).toContainEqual(
      expect.objectContaining({
        slug: SLUG,
        step: 'withdrawn-section-missing',
        missingSections: [EARLIER_SECTION],
      }),
    )
    await waitUntilServed(earlierGuide.version, { withheld: true })

    expect((await run('restore', EARLIER_SECTION)).code).toBe(0)
    expect(await run('publish')).toMatchObject({ code: 0, errors: '' })
    expect(await readStoredVersions()).toEqual(BOTH)
    await waitUntilServed(releaseGuide.version, { withheld: false })
  })

  test('publishes a version that has the withdrawn section, which stays withdrawn', async () => {
    await publishEarlier(earlierGuideWithHeading)
    expect((await withdraw(SECTION)).code).toBe(0)
    expect(await run('publish')).toMatchObject({ code: 0, errors: '' })
    expect(await readStoredVersions()).toEqual(BOTH)
    await waitUntilServed(releaseGuide.version, { withheld: true })
  })

  test('refuses a version without a withdrawn introduction, until the introduction is restored', async () => {
    await api.db.transaction((tx) => insertWithdrawal(tx, SLUG))
    const body = releaseGuide.body.slice(releaseGuide.body.indexOf('## '))
    const refusal = await publishGuides(api.db, [{ ...releaseGuide, body }], NOW)
    expect(refusal).toMatchObject({ ok: false, error: [{ missingSections: [SLUG] }] })
    expect((await run('restore', `${SLUG}#intro`)).code).toBe(0)
    expect(await publishGuides(api.db, [{ ...releaseGuide, body }], NOW)).toMatchObject({ ok: true })
  })

  test('refuses the first publication, too, until the section is restored', async () => {
    await api.db.transaction((tx) => insertWithdrawal(tx, EARLIER_SECTION))
    await expect(publishFirstGuides(api.databaseUrl, NOW)).rejects.toThrow(
      `The guides of this release cannot be published: ${SLUG}. To see why, run "guides diff".`,
    )
    expect((await api.db.query('select from guide_versions')).rowCount).toBe(0)
    expect((await run('restore', EARLIER_SECTION)).code).toBe(0)
    expect(await publishFirstGuides(api.databaseUrl, NOW)).toBe(releaseGuides.length)
  })
})

describe('while another command is not committed', () => {
  test('a publication waits for a withdrawal, and is refused', async () => {
    await publishEarlier(earlierGuide)
    const publication = await api.db.transaction(async (tx) => {
      await lockGuides(tx)
      await insertWithdrawal(tx, EARLIER_SECTION)
      const started = run('publish')
      await waitForBlockedSessions(api.db, 1, POLL_OPTIONS.timeout)
      return { started }
    })
    expect(await publication.started).toMatchObject({ code: 1, out: '' })
    expect(await readStoredVersions()).toEqual(ONLY_EARLIER)
  })

  test('a withdrawal waits for a publication, and is refused if that removes the section', async () => {
    await publishEarlier(earlierGuide)
    const { version } = releaseGuide
    const withdrawal = await api.db.transaction(async (tx) => {
      await lockGuides(tx)
      await tx.query(
        'insert into guide_versions (slug, version, content, published_at) values ($1, $2, $3, $4)',
        [SLUG, version, JSON.stringify(releaseGuide), NOW],
      )
      await tx.query('update guides set version = $2 where slug = $1', [SLUG, version])
      const started = withdraw(EARLIER_SECTION)
      await waitForBlockedSessions(api.db, 1, POLL_OPTIONS.timeout)
      return { started }
    })
    const { code, errors } = await withdrawal.started
    expect(code).toBe(1)
    expect(errors).toContain(`There is no section ${EARLIER_SECTION}. The sections of ${SLUG} are: `)
    expect((await api.db.query('select from answer_switches')).rowCount).toBe(0)
    expect(await withdraw(SECTION)).toMatchObject({ code: 0, errors: '' })
  })
})

const insertWithdrawal = (tx: Database, target: string) =>
  turnOffInTransaction(
    tx,
    { kind: 'section', target },
    { actor: 'test', action: 'guides withdraw', now: NOW },
  )

test('the notice of a withdrawn section is not a statement, and no search finds it', async () => {
  await run('publish')
  await waitUntilServed(releaseGuide.version, { withheld: false })
  const readStatements = async () => {
    const { stale, statements, staleStatements } = (await readGuide('')).json()
    return { stale, statements: Number(statements), staleStatements: Number(staleStatements) }
  }
  const readSnippet = async (text: string) => {
    // With the number of its form, the guide is among the best matches.
    const query = encodeURIComponent(`I-90 ${text}`)
    const { body } = await sendRequest(api.origin, { path: `/api/guides?q=${query}` })
    const { guides } = JSON.parse(body) as { guides: { slug: string; snippet: string }[] }
    return guides.find(({ slug }) => slug === SLUG)?.snippet
  }
  const before = await readStatements()
  expect(await readSnippet(wrongSentence)).toContain(wrongSentence.trim())

  expect((await withdraw(SECTION)).code).toBe(0)
  await waitUntilServed(releaseGuide.version, { withheld: true })
  const after = await readStatements()
  expect(after.statements).toBeLessThan(before.statements)
  expect([after.stale, after.staleStatements]).toEqual([before.stale, before.staleStatements])
  const page = await sendRequest(api.origin, { path: `/guides/${SLUG}` })
  for (const { body } of [await readGuide('', 'text/markdown'), page]) {
    expect(body).toContain(NOTICE)
    expect(body).not.toContain('We have not checked this')
  }
  for (const text of [wrongSentence, NOTICE]) {
    const snippet = await readSnippet(text)
    expect(snippet).toMatch(/\w/)
    expect(snippet).not.toContain(wrongSentence.trim())
    expect(snippet).not.toContain(NOTICE)
  }

  expect((await run('restore', SECTION)).code).toBe(0)
  await waitUntilServed(releaseGuide.version, { withheld: false })
  expect(await readStatements()).toEqual(before)
})

describe('an earlier version', () => {
  const version = `?version=${earlierGuide.version}`
  const formats = [
    ['JSON', version, 'application/json'],
    ['Markdown', version, 'text/markdown'],
    ['Markdown at .md', `.md${version}`, '*/*'],
  ] as const

  test.for(formats)(
    'without a withdrawn section has no text of any section, in %s',
    async ([, path, accept]) => {
      await publishEarlier(earlierGuide)
      await run('publish')
      expect((await withdraw(SECTION)).code).toBe(0)
      await waitUntilServed(releaseGuide.version, { withheld: true })
      const { status, body } = await readGuide(path, accept)
      expect(status).toBe(200)
      expect(body).toContain(EARLIER_HEADING.trim())
      expect(body).not.toContain(wrongSentence)
      expect(body).not.toContain(otherSentence)
      expect(body.split(NOTICE)).toHaveLength(sections.length + 1)
      // The section about attorneys cannot be withdrawn.
      expect(body).toContain(`## ${ATTORNEY_HEADING}`)
      expect(body).toContain(releaseGuide.disclaimer)

      expect((await run('restore', SECTION)).code).toBe(0)
      await waitUntilServed(releaseGuide.version, { withheld: false })
      const restored = (await readGuide(path, accept)).body
      expect(restored).toContain(wrongSentence)
      expect(restored).not.toContain(NOTICE)
    },
  )

  test.for(formats)(
    'with the withdrawn section has the text of the others, in %s',
    async ([, path, accept]) => {
      await publishEarlier(earlierGuideWithHeading)
      await run('publish')
      expect((await withdraw(SECTION)).code).toBe(0)
      await waitUntilServed(releaseGuide.version, { withheld: true })
      const { status, body } = await readGuide(path, accept)
      expect(status).toBe(200)
      expect(body).not.toContain(wrongSentence)
      expect(body).toContain(otherSentence)
      expect(body.split(NOTICE)).toHaveLength(2)
    },
  )
})
