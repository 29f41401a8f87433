import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
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
const start = (program = PROGRAM) =>
  spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'pipe'] })
const linesOf = (output: string) =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; line?: number; lines?: number })

test('F-34 logs without waiting for the reader, and counts dropped lines', async () => {
  const child = start()
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toContain('went on')
  const lines = linesOf(await text(child.stdout))
  const kept = lines.filter(({ msg }) => msg === 'a line')
  const reports = lines.filter(({ msg }) => msg.startsWith('log lines were dropped'))
  expect(reports.length).toBeGreaterThan(0)
  expect(kept.length).toBeLessThan(LINES)
  expect(kept.length + reports.reduce((sum, { lines: dropped = 0 }) => sum + dropped, 0)).toBe(LINES)
}, 60_000)

test('F-34 writes every line in order to a reader, to the last one', async () => {
  const child = start()
  child.stderr.resume()
  const lines = linesOf(await text(child.stdout))
  const kept = lines.flatMap(({ line }) => line ?? [])
  expect(kept).toEqual(kept.toSorted((a, b) => a - b))
  if (lines.every(({ msg }) => msg === 'a line')) expect(kept).toHaveLength(LINES)
  expect(lines.at(-1)).toBeDefined()
}, 60_000)

const logging = (rest: string) => `
import { createLog } from ${JSON.stringify(LOG)}
const log = createLog({ service: 'test' })
log.info('the first line')
${rest}
`

test('writes a line while the process stays idle', async () => {
  const child = start(logging('setInterval(() => undefined, 1_000)'))
  try {
    const [output] = (await once(child.stdout, 'data')) as [Buffer]
    expect(linesOf(output.toString())).toMatchObject([{ msg: 'the first line' }])
  } finally {
    child.kill()
  }
})

test.for([
  ['comes to its end', ''],
  ['calls exit', 'process.exit(3)'],
  ['fails', "throw new Error('nobody caught this')"],
])('loses no line of a process that %s', async ([, rest]) => {
  const child = start(logging(`log.info('the last line')\n${rest}`))
  child.stderr.resume()
  const lines = linesOf(await text(child.stdout))
  expect(lines.map(({ msg }) => msg)).toEqual(['the first line', 'the last line'])
})

test('loses no flushed line of a process that is killed right after', async () => {
  const child = start(logging("await log.flush()\nprocess.kill(process.pid, 'SIGKILL')"))
  expect(linesOf(await text(child.stdout))).toMatchObject([{ msg: 'the first line' }])
})

test('F-34 neither exits nor blocks when the disk of the log is full', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', full, 'pipe'],
  })
  closeSync(full)
  const [[code], said] = await Promise.all([once(child, 'exit'), text(child.stderr as Readable)])
  expect([code, said]).toEqual([0, 'went on'])
})

test('F-34 ends a flush after a second when nobody reads', async () => {
  const rest = `for (let line = 0; line < ${LINES}; line += 1) log.info('a line')\nawait log.flush()\nprocess.stderr.write('went on')`
  const child = start(logging(rest))
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toBe('went on')
  child.kill('SIGKILL')
}, 60_000)
