import { loadGuides } from '@plainpath/guides'
import { createLog } from '@plainpath/http'
import { type Database, openPool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../migrations.ts'
import { followGuides } from './follow-guides.ts'
import { publishGuides } from './publish-guides.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const NOBODY_LISTENS = 'postgres://nobody@127.0.0.1:1/none'
const packaged = loadGuides()
const [guide] = packaged
if (!guide) throw new Error('there are no guides')
/** The guides, the first of them with another title, as the release after so many others has them. */
const titled = (title: string, later = 1) => [
  { ...guide, title, version: guide.version + later },
  ...packaged.slice(1),
]
const soon = { interval: 10 }

/** A database that can be cut off, polled every 20 ms, whose notifications never arrive. */
async function follow(options: { down?: boolean } = {}) {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  const pool = opening.use(openPool(database.appUrl, { max: 2 }))
  const state = { down: options.down ?? false, reads: 0 }
  const db: Database = {
    async query(text, values) {
      state.reads += 1
      if (state.down) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      return pool.query(text, values)
    },
  }
  const lines: string[] = []
  const log = createLog({ service: 'test', write: (line) => lines.push(line) })
  const guides = opening.use(
    await followGuides({ db, url: NOBODY_LISTENS, releaseGuides: packaged, now: () => NOW, log, pollMs: 20 }),
  )
  const resources = opening.move()
  return {
    pool,
    guides,
    state,
    lines,
    title: () => guides.current().find(guide?.slug ?? '')?.title,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

test('polling finds a change when no notification arrives', async () => {
  await using followed = await follow()
  expect(followed.title()).toBe(guide.title)
  await publishGuides(followed.pool, titled('Found'), NOW)
  await expect.poll(followed.title, soon).toBe('Found')
})

test('keeps the guides in memory while the database is down, logs that once, and follows again afterwards', async () => {
  await using followed = await follow()
  await publishGuides(followed.pool, titled('Before'), NOW)
  await expect.poll(followed.title, soon).toBe('Before')
  followed.state.down = true
  await publishGuides(followed.pool, titled('Meanwhile', 2), NOW)
  const reads = followed.state.reads
  await expect.poll(() => followed.state.reads, soon).toBeGreaterThan(reads + 3)
  expect(followed.title()).toBe('Before')
  expect(followed.lines.filter((line) => line.includes('those in memory are served'))).toHaveLength(1)
  followed.state.down = false
  await expect.poll(followed.title, soon).toBe('Meanwhile')
})

test('a database that is down at the start is polled until it responds', async () => {
  await using followed = await follow({ down: true })
  expect(followed.guides.current().size).toBe(packaged.length)
  await publishGuides(followed.pool, titled('Later'), NOW)
  followed.state.down = false
  await expect.poll(followed.title, soon).toBe('Later')
})

test('guides that did not change stay the same objects', async () => {
  await using followed = await follow()
  const other = packaged[1]?.slug ?? ''
  const before = followed.guides.current().find(other)
  await publishGuides(followed.pool, titled('Changed'), NOW)
  await expect.poll(followed.title, soon).toBe('Changed')
  expect(followed.guides.current().find(other)).toBe(before)
})
