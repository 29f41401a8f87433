import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/* `F-34` in a title is the number of a fault in `e2e/faults/RESULTS.md`: nobody reads the log. */

const LOG_MODULE = fileURLToPath(new URL('log.ts', import.meta.url))
const LINE_COUNT = 40_000

/**
 * Logs much more than a pipe and the log's buffer hold, and lets the log write after every 100 lines. Then writes to standard
 * error, to show that it was not blocked.
 */
const PROGRAM = `
import { createLog } from ${JSON.stringify(LOG_MODULE)}
const log = createLog({ service: 'test' })
for (let number = 0; number < ${LINE_COUNT}; number += 1) {
  log.info('a line', { number, text: 'x'.repeat(200) })
  if (number % 100 === 0) await new Promise(setImmediate)
}
process.stderr.write('went on')
`
const startProgram = (program = PROGRAM) =>
  spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'pipe'] })
const parseLines = (output: string) =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; number?: number; lines?: number })

test('F-34 logs without waiting for the reader, and counts dropped lines', async () => {
  const child = startProgram()
  // Nobody reads standard output until the program has logged all its lines.
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toContain('went on')
  const lines = parseLines(await text(child.stdout))
  const writtenLines = lines.filter(({ msg }) => msg === 'a line')
  const reports = lines.filter(({ msg }) => msg.startsWith('log lines were dropped'))
  expect(reports.length).toBeGreaterThan(0)
  expect(writtenLines.length).toBeLessThan(LINE_COUNT)
  expect(writtenLines.length + reports.reduce((sum, { lines: dropped = 0 }) => sum + dropped, 0)).toBe(
    LINE_COUNT,
  )
}, 60_000)

test('F-34 writes the lines in order, and omits none without a report of dropped lines', async () => {
  const child = startProgram()
  child.stderr.resume()
  const lines = parseLines(await text(child.stdout))
  const writtenNumbers = lines.flatMap(({ number }) => number ?? [])
  expect(writtenNumbers).toEqual(writtenNumbers.toSorted((a, b) => a - b))
  // Lines may be dropped here too, if this process reads too slowly. Then there is a report.
  if (lines.every(({ msg }) => msg === 'a line')) expect(writtenNumbers).toHaveLength(LINE_COUNT)
  expect(lines.at(-1)).toBeDefined()
}, 60_000)

/** Creates a program that logs one line and then runs the statements. */
const createProgram = (statements: string) => `
import { createLog } from ${JSON.stringify(LOG_MODULE)}
const log = createLog({ service: 'test' })
log.info('the first line')
${statements}
`

test('writes a line while the process stays idle', async () => {
  const child = startProgram(createProgram('setInterval(() => undefined, 1_000)'))
  try {
    const [output] = (await once(child.stdout, 'data')) as [Buffer]
    expect(parseLines(output.toString())).toMatchObject([{ msg: 'the first line' }])
  } finally {
    child.kill()
  }
})

test.for([
  ['ends normally', ''],
  ['calls process.exit', 'process.exit(3)'],
  ['throws an uncaught error', "throw new Error('nobody caught this')"],
])('loses no line of a process that %s', async ([, statements]) => {
  const child = startProgram(createProgram(`log.info('the last line')\n${statements}`))
  child.stderr.resume()
  const lines = parseLines(await text(child.stdout))
  expect(lines.map(({ msg }) => msg)).toEqual(['the first line', 'the last line'])
})

test('loses no flushed line of a process that is killed immediately afterwards', async () => {
  const child = startProgram(createProgram("await log.flush()\nprocess.kill(process.pid, 'SIGKILL')"))
  expect(parseLines(await text(child.stdout))).toMatchObject([{ msg: 'the first line' }])
})

test('F-34 neither crashes nor blocks when the disk for the log is full', async () => {
  const fullDisk = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', fullDisk, 'pipe'],
  })
  closeSync(fullDisk)
  const [[code], errorOutput] = await Promise.all([once(child, 'exit'), text(child.stderr as Readable)])
  expect([code, errorOutput]).toEqual([0, 'went on'])
})

test('F-34 ends a flush even when nobody reads', async () => {
  const statements = `for (let number = 0; number < ${LINE_COUNT}; number += 1) log.info('a line')\nawait log.flush()\nprocess.stderr.write('went on')`
  const child = startProgram(createProgram(statements))
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toBe('went on')
  child.kill('SIGKILL')
}, 60_000)
