import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const LOG = fileURLToPath(new URL('log.ts', import.meta.url))
const LINES = 40_000

/** Logs much more than a pipe and the log hold, and says on standard error that it went on. */
const PROGRAM = `
import { createLog } from ${JSON.stringify(LOG)}
const log = createLog({ service: 'test' })
for (let line = 0; line < ${LINES}; line += 1) {
  log.info('a line', { line, text: 'x'.repeat(200) })
  if (line % 100 === 0) await new Promise(setImmediate)
}
process.stderr.write('went on')
`
const start = () =>
  spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], { stdio: ['ignore', 'pipe', 'pipe'] })
const linesOf = (output: string) =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; line?: number; lines?: number })

test('F-34 who logs does not wait for whoever reads; what nobody read in time is counted', async () => {
  const child = start()
  const [said] = (await once(child.stderr, 'data')) as [Buffer]
  expect(said.toString()).toContain('went on')
  const lines = linesOf(await text(child.stdout))
  const kept = lines.filter(({ msg }) => msg === 'a line')
  const told = lines.filter(({ msg }) => msg.startsWith('log lines were dropped'))
  expect(told.length).toBeGreaterThan(0)
  expect(kept.length).toBeLessThan(LINES)
  expect(kept.length + told.reduce((sum, { lines: dropped = 0 }) => sum + dropped, 0)).toBe(LINES)
}, 60_000)

test('F-34 everything that is read is there, in order, to the last line', async () => {
  const child = start()
  child.stderr.resume()
  const lines = linesOf(await text(child.stdout))
  const kept = lines.flatMap(({ line }) => line ?? [])
  expect(kept).toEqual(kept.toSorted((a, b) => a - b))
  if (lines.every(({ msg }) => msg === 'a line')) expect(kept).toHaveLength(LINES)
  expect(lines.at(-1)).toBeDefined()
}, 60_000)
