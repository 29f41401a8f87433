import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const LOG = fileURLToPath(new URL('log.ts', import.meta.url))
const LINES = 40_000

/** Logs much more than a pipe and the log's buffer hold. Then writes to standard error, to show that it was not blocked. */
const PROGRAM = `
import { createLog } from ${JSON.stringify(LOG)}
const log = createLog({ service: 'test' })
for (let line = 0; line < ${LINES}; line += 1) {
  log.info('a line', { line, text: 'x'.repeat(200) })
  if (line % 100 === 0) await new Promise(setImmediate)
}
process.stderr.write('went on')
`
const startProgram = (program = PROGRAM) =>
  spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'pipe'] })
const parseLines = (output: string) =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; line?: number; lines?: number })

test('F-34 logs without waiting for the reader, and counts dropped lines', async () => {
  const child = startProgram()
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toContain('went on')
  const lines = parseLines(await text(child.stdout))
  const writtenLines = lines.filter(({ msg }) => msg === 'a line')
  const reports = lines.filter(({ msg }) => msg.startsWith('log lines were dropped'))
  expect(reports.length).toBeGreaterThan(0)
  expect(writtenLines.length).toBeLessThan(LINES)
  expect(writtenLines.length + reports.reduce((sum, { lines: dropped = 0 }) => sum + dropped, 0)).toBe(LINES)
}, 60_000)

test('F-34 writes the lines in order, and all of them unless it reports dropped ones', async () => {
  const child = startProgram()
  child.stderr.resume()
  const lines = parseLines(await text(child.stdout))
  const writtenLines = lines.flatMap(({ line }) => line ?? [])
  expect(writtenLines).toEqual(writtenLines.toSorted((a, b) => a - b))
  if (lines.every(({ msg }) => msg === 'a line')) expect(writtenLines).toHaveLength(LINES)
  expect(lines.at(-1)).toBeDefined()
}, 60_000)

const createProgram = (statements: string) => `
import { createLog } from ${JSON.stringify(LOG)}
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
  ['runs to its end', ''],
  ['calls exit', 'process.exit(3)'],
  ['fails', "throw new Error('nobody caught this')"],
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

test('F-34 neither exits nor blocks when the disk of the log is full', async () => {
  const fullDisk = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', fullDisk, 'pipe'],
  })
  closeSync(fullDisk)
  const [[code], errorOutput] = await Promise.all([once(child, 'exit'), text(child.stderr as Readable)])
  expect([code, errorOutput]).toEqual([0, 'went on'])
})

test('F-34 ends a flush after a second when nobody reads', async () => {
  const statements = `for (let line = 0; line < ${LINES}; line += 1) log.info('a line')\nawait log.flush()\nprocess.stderr.write('went on')`
  const child = startProgram(createProgram(statements))
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toBe('went on')
  child.kill('SIGKILL')
}, 60_000)
