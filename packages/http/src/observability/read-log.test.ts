import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { watchClock } from '../readiness/watch-clock.ts'
import { createLog, readLog, selectLinesSince } from './log.ts'

const BACKUP_AT = new Date('2026-11-25T03:00:00Z')

/** Returns the times of the lines that are selected since the backup, from a log with a line at each of `times`. */
async function selectTimes(...times: Date[]): Promise<(string | undefined)[]> {
  async function* createLines() {
    for (const time of times) yield { msg: 'security event', time: time.toISOString() }
  }
  const selectedTimes: (string | undefined)[] = []
  for await (const line of selectLinesSince(createLines(), BACKUP_AT))
    selectedTimes.push((line as { time?: string }).time)
  return selectedTimes
}

test('selects what an instance logged after the backup with the slowest clock under which it still accepts changes', async () => {
  const slowBy = (ms: number) => new Date(BACKUP_AT.getTime() - ms)
  let behindMs = 0
  await using clock = watchClock({
    readTime: async () => BACKUP_AT,
    log: createLog({ service: 'test', write: () => undefined }),
    readWallMs: () => BACKUP_AT.getTime() - behindMs,
    // No time passes, so that only the wall clock changes the skew.
    readMonotonicMs: () => 0,
  })
  // An instance accepts changes up to a skew of 30 s.
  behindMs = 29_000
  expect(clock.isSynchronised()).toBe(true)
  expect(await selectTimes(slowBy(behindMs))).toEqual([slowBy(behindMs).toISOString()])
})

test('does not select lines from long before the backup', async () => {
  // Lines are selected up to a minute before the backup.
  const hourBefore = new Date(BACKUP_AT.getTime() - 3_600_000)
  expect(await selectTimes(hourBefore, BACKUP_AT)).toEqual([BACKUP_AT.toISOString()])
})

test('reads a log line in which a text contains line and paragraph separators', async () => {
  // JSON may contain these separators, but `node:readline` would end the line at them.
  const reason = 'copied\u2028from a\u2029chat'
  let text = ''
  const log = createLog({ service: 'test', write: (line) => void (text += line) })
  log.info('security event', { reason })
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-log-'))
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
  const file = path.join(folder, 'log')
  await writeFile(file, text)
  expect(text).toContain(reason)
  expect(await Readable.from(readLog(file)).toArray()).toEqual([expect.objectContaining({ reason })])
})
