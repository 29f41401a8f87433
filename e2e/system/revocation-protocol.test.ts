import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { expect, test } from 'vitest'

/**
 * How many requests each API process of the model makes, besides the one of its `Straggler`, which is an introspection that another
 * request began. Before a release, run this test with REVOCATION_REQUESTS=2, which takes a minute and 1.5 GB of memory.
 */
const REQUESTS_PER_PROCESS = Number(process.env['REVOCATION_REQUESTS'] ?? 1)
const MODEL = fileURLToPath(new URL('../../docs/revocation/revocation.pml', import.meta.url))
const SEARCH_TIMEOUT_MS = REQUESTS_PER_PROCESS * 150_000
const runProgram = promisify(execFile)

/**
 * Searches all states of the model with Spin.
 *
 * @param optimization `-O2` for a full search. `-O0` compiles faster, for a search that stops at its first error
 * @param spinFlags definitions that change the model, such as -DNO_LEASE
 * @returns the output of the search, without the lines about its progress
 */
async function searchStates(optimization: '-O0' | '-O2', ...spinFlags: string[]): Promise<string> {
  const { gcc, spin } = await findDebianPrograms(['gcc', 'spin'], process.env['PATH'] ?? '')
  const cwd = await mkdtemp(path.join(tmpdir(), 'plainpath-spin-'))
  try {
    await runProgram(spin, [...spinFlags, `-DK=${REQUESTS_PER_PROCESS}`, '-a', MODEL], { cwd })
    // MEMLIM is in MB. SAFETY leaves out the search for cycles, which only liveness needs.
    await runProgram(gcc, [optimization, '-w', '-DSAFETY', '-DMEMLIM=3072', '-o', 'pan', 'pan.c'], { cwd })
    // -m is the maximum search depth.
    const { stdout } = await runProgram('./pan', ['-m100000'], {
      cwd,
      timeout: SEARCH_TIMEOUT_MS,
      maxBuffer: 1 << 24,
    })
    return stdout.replaceAll(/^Depth=.*\n/gm, '')
  } finally {
    await rm(cwd, { recursive: true })
  }
}

// R-LIN: no request that begins after a confirmed revocation succeeds with what was revoked. See docs/revocation/README.md.
test('the revocation protocol satisfies R-LIN in every state of its model, and never deadlocks', {
  timeout: SEARCH_TIMEOUT_MS + 30_000,
}, async () => {
  const output = await searchStates('-O2')
  expect(output).toMatch(/errors: 0$/m)
  expect(output).not.toMatch(/Search not completed|max search depth too small|out of memory/)
  process.stdout.write(`\nrevocation.pml: ${/^.*states, stored$/m.exec(output)?.[0].trim()}\n`)
})

// The opening comment of the model lists the options, one per line: the name, then the effect.
const safeguardRemovals = [
  ...(await readFile(MODEL, 'utf8')).matchAll(/^ {5}([A-Z_]{5,}) {2,}(\S.*)$/gm),
].map(([, name = '', effect = '']) => ({ name, effect }))

test('the model names ten options that each remove a safeguard', () => {
  expect(safeguardRemovals.length).toBe(10)
})

test.concurrent.for(safeguardRemovals)(
  'R-LIN is violated with $name: $effect',
  { timeout: SEARCH_TIMEOUT_MS + 30_000 },
  async ({ name }) => {
    expect(await searchStates('-O0', `-D${name}`)).toContain('assertion violated')
  },
)
