import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { expect, test } from 'vitest'

/** The number of requests of each process. Before a release: 2 (a minute, 1.5 GB). */
const REQUESTS = Number(process.env['REVOCATION_REQUESTS'] ?? 1)
const MODEL = fileURLToPath(new URL('../../docs/revocation/revocation.pml', import.meta.url))
const SEARCH_MS = REQUESTS * 150_000
const run = promisify(execFile)

/**
 * Searches all states of the model with Spin.
 *
 * @param optimize `-O2` for a full search; `-O0` compiles faster, for one that stops at its first error
 * @returns the output of the search without its progress
 */
async function search(optimize: '-O0' | '-O2', ...flags: string[]): Promise<string> {
  const { gcc, spin } = await findDebianPrograms(['gcc', 'spin'], process.env['PATH'] ?? '')
  const cwd = await mkdtemp(path.join(tmpdir(), 'plainpath-spin-'))
  try {
    await run(spin, [...flags, `-DK=${REQUESTS}`, '-a', MODEL], { cwd })
    await run(gcc, [optimize, '-w', '-DSAFETY', '-DMEMLIM=3072', '-o', 'pan', 'pan.c'], { cwd })
    const { stdout } = await run('./pan', ['-m100000'], { cwd, timeout: SEARCH_MS, maxBuffer: 1 << 24 })
    return stdout.replaceAll(/^Depth=.*\n/gm, '')
  } finally {
    await rm(cwd, { recursive: true })
  }
}

test('the revocation protocol satisfies R-LIN in every state of its model, and never deadlocks', {
  timeout: SEARCH_MS + 30_000,
}, async () => {
  const found = await search('-O2')
  expect(found).toMatch(/errors: 0$/m)
  expect(found).not.toMatch(/Search not completed|max search depth too small|out of memory/)
  process.stdout.write(`\nrevocation.pml: ${/^.*states, stored$/m.exec(found)?.[0].trim()}\n`)
})

const safeguards = [...(await readFile(MODEL, 'utf8')).matchAll(/^ {5}([A-Z_]{5,}) {2,}(\S.*)$/gm)].map(
  ([, name = '', what = '']) => ({ name, what }),
)

test('the model lists its safeguards', () => {
  expect(safeguards.length).toBe(10)
})

test.concurrent.for(safeguards)(
  'R-LIN fails without the safeguard $name: $what',
  { timeout: SEARCH_MS + 30_000 },
  async ({ name }) => {
    expect(await search('-O0', `-D${name}`)).toContain('assertion violated')
  },
)
