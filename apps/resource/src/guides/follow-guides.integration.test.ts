import { loadGuides } from '@plainpath/guides'
import { createLog } from '@plainpath/http'
import { type Database, openPool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../migrations.ts'
import { ALL_ANSWERS, turnOff } from './answer-switches.ts'
import { followGuides } from './follow-guides.ts'
import { publishGuides } from './publish-guides.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
/** At this URL, no connection for notifications is possible. Nothing listens on port 1. */
const UNREACHABLE_URL = 'postgres://nobody@127.0.0.1:1/none'
const releaseGuides = loadGuides()
const [guide] = releaseGuides
if (!guide) throw new Error('there are no guides')
/**
 * Creates the guides of a later release, in which the first guide has another title.
 *
 * @param addedVersions by how many versions the first guide is ahead of this release
 */
const createLaterRelease = (title: string, addedVersions = 1) => [
  { ...guide, title, version: guide.version + addedVersions },
  ...releaseGuides.slice(1),
]
const POLL_OPTIONS = { interval: 10 }

/** Follows the guides of a database that a test can take down. Polls the database every 20 ms, and receives no notifications. */
async function startFollowing(options: { isDown?: boolean } = {}) {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  const pool = opening.use(openPool(database.appUrl, { max: 2 }))
  const state = { isDown: options.isDown ?? false, queryCount: 0 }
  const db: Database = {
    async query(text, values) {
      state.queryCount += 1
      if (state.isDown) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      return pool.query(text, values)
    },
  }
  const logLines: string[] = []
  const log = createLog({ service: 'test', write: (line) => logLines.push(line) })
  const guides = opening.use(
    await followGuides({ db, url: UNREACHABLE_URL, releaseGuides, now: () => NOW, log, pollMs: 20 }),
  )
  const resources = opening.move()
  return {
    pool,
    guides,
    state,
    logLines,
    readTitle: () => guides.current().find(guide?.slug ?? '')?.title,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

test('finds a change of the guides by polling when no notification arrives', async () => {
  await using followed = await startFollowing()
  expect(followed.readTitle()).toBe(guide.title)
  await publishGuides(followed.pool, createLaterRelease('Found'), NOW)
  await expect.poll(followed.readTitle, POLL_OPTIONS).toBe('Found')
})

test('serves the guides in memory while the database is down, and logs the failure once', async () => {
  await using followed = await startFollowing()
  await publishGuides(followed.pool, createLaterRelease('Before'), NOW)
  await expect.poll(followed.readTitle, POLL_OPTIONS).toBe('Before')
  followed.state.isDown = true
  await publishGuides(followed.pool, createLaterRelease('Meanwhile', 2), NOW)
  const { queryCount } = followed.state
  // Waits for several failed polls, of which only the first is logged.
  await expect.poll(() => followed.state.queryCount, POLL_OPTIONS).toBeGreaterThan(queryCount + 3)
  expect(followed.readTitle()).toBe('Before')
  expect(followed.logLines.filter((line) => line.includes('those in memory are served'))).toHaveLength(1)
  followed.state.isDown = false
  await expect.poll(followed.readTitle, POLL_OPTIONS).toBe('Meanwhile')
})

test('polls a database that is down at startup until it responds', async () => {
  await using followed = await startFollowing({ isDown: true })
  expect(followed.guides.current().size).toBe(releaseGuides.length)
  await publishGuides(followed.pool, createLaterRelease('Later'), NOW)
  followed.state.isDown = false
  await expect.poll(followed.readTitle, POLL_OPTIONS).toBe('Later')
})

test('follows the switches of operators even if it cannot read a guide that a later release published', async () => {
  await using followed = await startFollowing()
  const { pool, guides } = followed
  await publishGuides(pool, releaseGuides, NOW)
  // The later release added a member that the schema of this release refuses.
  await pool.query(
    `insert into guide_versions (slug, version, content, published_at)
     select slug, version + 1, content || '{"memberOfLaterRelease": true}', published_at from guide_versions where slug = $1`,
    [guide.slug],
  )
  await pool.query('update guides set version = version + 1 where slug = $1', [guide.slug])
  const act = { actor: 'test', now: NOW }
  await turnOff(pool, ALL_ANSWERS, { ...act, action: 'answers pause' })
  await turnOff(pool, { kind: 'section', target: guide.slug }, { ...act, action: 'guides withdraw' })
  await expect
    .poll(() => guides.current().switches, POLL_OPTIONS)
    .toMatchObject({ paused: true, withdrawnSections: [guide.slug] })
  expect(guides.current().find(guide.slug)?.body).toContain('We took the text of this section out')
})

test('reuses the objects of guides that did not change', async () => {
  await using followed = await startFollowing()
  const otherSlug = releaseGuides[1]?.slug ?? ''
  const before = followed.guides.current().find(otherSlug)
  await publishGuides(followed.pool, createLaterRelease('Changed'), NOW)
  await expect.poll(followed.readTitle, POLL_OPTIONS).toBe('Changed')
  expect(followed.guides.current().find(otherSlug)).toBe(before)
})
