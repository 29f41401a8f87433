import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeAll, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '..')
const SOURCE = 'packages/one/src/planted.ts'
const TEST = 'packages/one/src/planted.test.ts'
/** A file in a folder whose code must take its random numbers from a seed. */
const SEEDED = 'e2e/faults/planted.ts'

/**
 * At least one violation for each rule that the project depends on, with the rule's name as `oxlint` prints it. `.oxlintrc.json`
 * allows 200 lines in a function, 300 in a source file and 400 in a test. `write` adds the line that is too much to the files.
 */
const PLANTED: [rule: string, file: string, line: string][] = [
  ['eslint(eqeqeq)', SOURCE, `export const same = (a: string, b: string) => a == b`],
  ['eslint(no-console)', SOURCE, `console.log('secret')`],
  ['eslint(no-empty)', SOURCE, `try { JSON.parse('') } catch {}`],
  ['eslint(max-params)', SOURCE, `export const five = (a: 1, b: 1, c: 1, d: 1, e: 1) => a + b + c + d + e`],
  ['eslint(max-lines-per-function)', SOURCE, `export function long() {\n${'  void 0\n'.repeat(201)}}`],
  ['eslint(no-unused-vars)', SOURCE, `import { readFileSync } from 'node:fs'`],
  ['eslint(preserve-caught-error)', SOURCE, `try { JSON.parse('') } catch (cause) { throw new Error('no') }`],
  [
    'import(no-cycle)',
    'packages/one/src/left.ts',
    `import { right } from './right.ts'\nexport const left = () => right`,
  ],
  ['typescript(ban-ts-comment)', SOURCE, `// @ts-ignore\nexport const one: number = 1`],
  ['typescript(no-explicit-any)', SOURCE, `export const thing = (value: any) => String(value)`],
  ['typescript(no-floating-promises)', SOURCE, `Promise.reject(new Error('lost'))`],
  [
    'typescript(no-misused-promises)',
    SOURCE,
    `process.on('SIGTERM', async () => { await Promise.resolve() })`,
  ],
  ['typescript(no-non-null-assertion)', SOURCE, `export const first = (list: string[]) => list[0]!`],
  ['typescript(no-unsafe-assignment)', SOURCE, `export const parsed: { id: string } = JSON.parse('{}')`],
  ['typescript(no-unsafe-member-access)', SOURCE, `export const id = JSON.parse('{}').id as string`],
  ['typescript(only-throw-error)', SOURCE, `export const fail = () => { throw 'words' }`],
  ['typescript(prefer-promise-reject-errors)', SOURCE, `export const fail = () => Promise.reject('words')`],
  [
    'typescript(return-await)',
    SOURCE,
    `export async function f() { try { return Promise.resolve() } catch { return undefined } }`,
  ],
  [
    'typescript(switch-exhaustiveness-check)',
    SOURCE,
    `export function f(x: 'a' | 'b') { switch (x) { case 'a': return 1 } return 2 }`,
  ],
  ['unicorn(prefer-node-protocol)', SOURCE, `export { join } from 'path'`],
  ['eslint(max-lines)', SOURCE, 'void 0\n'.repeat(300)],
  ['eslint(max-lines)', TEST, 'void 0\n'.repeat(400)],
  ['eslint(no-restricted-globals)', TEST, `await new Promise((resolve) => setTimeout(resolve, 50))`],
  ['eslint(no-restricted-imports)', TEST, `import { setTimeout as pause } from 'node:timers/promises'`],
  ['eslint(no-restricted-imports)', SOURCE, `import { scryptSync } from 'node:crypto'`],
  ['eslint(no-restricted-imports)', SOURCE, `import { hash } from 'bcryptjs'`],
  ['eslint(no-restricted-imports)', SOURCE, `import { jwtDecrypt } from 'jose'`],
  ['eslint(no-restricted-properties)', SOURCE, `export const now = () => Date.now()`],
  [
    'eslint(no-restricted-properties)',
    SOURCE,
    `export const f = (env: NodeJS.ProcessEnv) => env['NODE_ENV']`,
  ],
  ['eslint(no-restricted-properties)', SEEDED, `export const delay = 50 * Math.random()`],
  ['eslint(no-warning-comments)', SOURCE, `// TODO: redact`],
  ['node(no-process-env)', SOURCE, `export const port = process.env['AUTH_PORT']`],
  ['unicorn(filename-case)', 'packages/one/src/readBody-planted.ts', ''],
  ...['mock', 'doMock', 'spyOn'].map((name): [string, string, string] => [
    'vitest(no-restricted-vi-methods)',
    TEST,
    `import { vi } from 'vitest'\nvi.${name}('./one.ts')`,
  ]),
  ['vitest(no-disabled-tests)', TEST, `import { it } from 'vitest'\nit.skip('later', () => {})`],
  ['vitest(no-focused-tests)', TEST, `import { it } from 'vitest'\nit.only('mine', () => {})`],
  ['vitest(expect-expect)', TEST, `import { it } from 'vitest'\nit('says nothing', () => {})`],
]

/** Files that look similar but violate no rule. */
const CLEAN: [file: string, content: string][] = [
  [
    'packages/one/src/clean.ts',
    `export const isBlank = (text: string | null) => text == null || text.trim() === ''`,
  ],
  ['packages/one/src/say-command.ts', `console.log('a command line may print')`],
  ['scripts/say.ts', `console.log('so may a script')`],
  ['packages/one/src/main.ts', `export const port = process.env['PORT']`],
  [
    'packages/one/src/long.ts',
    Array.from({ length: 299 }, (_, n) => `export const line${n} = ${n}`).join('\n'),
  ],
  [
    'packages/one/src/turn.test.ts',
    `import { setImmediate as turn } from 'node:timers/promises'\nawait turn()`,
  ],
  [
    'packages/one/src/poll.test.ts',
    `import { expect, it, vi } from 'vitest'\nit('waits', async () => { await expect.poll(vi.fn()).toBe(1) })`,
  ],
]

/** A comment in two parts, so that no linter takes it for a comment of this file. */
const SWITCHED_OFF = ['// oxlint', 'disable-next-line no-console\nexport const one = 1'].join('-')

/** The violated rules of each file, from one run. */
let rulesByFile: Map<string, string[]>
/** Gives each planted file a name of its own. */
const addIndexToName = (file: string, index: number) => file.replace('planted', `planted-${index}`)

beforeAll(() => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'lint-'))
  const write = (file: string, content: string) => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), `${content}\n`)
  }
  copyFileSync(path.join(ROOT, '.oxlintrc.json'), path.join(folder, '.oxlintrc.json'))
  const compilerOptions = { typeRoots: [path.join(ROOT, 'node_modules/@types')] }
  const base = path.join(ROOT, 'tsconfig.base.json')
  write(
    'tsconfig.json',
    JSON.stringify({ extends: base, compilerOptions, include: ['packages', 'scripts', 'e2e'] }),
  )
  write('packages/one/src/right.ts', `import { left } from './left.ts'\nexport const right = () => left`)
  write('packages/one/src/switched-off.ts', SWITCHED_OFF)
  for (const [index, [, file, content]] of PLANTED.entries()) write(addIndexToName(file, index), content)
  for (const [file, content] of CLEAN) write(file, content)

  const oxlint = path.join(ROOT, 'node_modules/oxlint/bin/oxlint')
  const { stdout } = spawnSync(process.execPath, [oxlint, '-f', 'unix', 'packages', 'scripts', 'e2e'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 20_000,
  })
  // A line is `file:line:column: message [Error/rule]`, or `[Error]` alone for a comment that disables a rule without need.
  const violations = stdout.split('\n').map((line) => /^(.+?):\d+:\d+: .* \[Error(?:\/(.+))?\]$/.exec(line))
  rulesByFile = new Map()
  for (const [, file = '', rule = ''] of violations.filter((violation) => violation !== null))
    rulesByFile.set(file, [...(rulesByFile.get(file) ?? []), rule])
  rmSync(folder, { recursive: true })
})

it.each(PLANTED.map(([rule, file], index) => ({ rule, file: addIndexToName(file, index) })))(
  'a violation of $rule is reported',
  ({ rule, file }) => {
    expect(rulesByFile.get(file)).toContain(rule)
  },
)

it.each(CLEAN)('nothing is reported for %s', (file) => {
  expect(rulesByFile.get(file)).toBeUndefined()
})

it('a comment that disables a rule without a violation is reported', () => {
  expect(rulesByFile.get('packages/one/src/switched-off.ts')).toHaveLength(1)
})
