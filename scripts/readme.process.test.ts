import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createShellEnvironment, readBlock, runBlock } from './readme.ts'

it('creates the environment of a shell, without the variables of npm, the bootstrap and our settings', () => {
  const env = {
    HOME: '/home/ana',
    PATH: '/clone/node_modules/.bin:/npm/node-gyp-bin:/usr/bin:/bin',
    npm_lifecycle_event: 'check',
    INIT_CWD: '/clone',
    AUTH_REDIS_URL: 'redis://elsewhere',
    TEST_POSTGRES_URL: 'postgresql://elsewhere',
    PORT: '1',
    UNSET: undefined,
  }
  expect(createShellEnvironment(env)).toEqual({ HOME: '/home/ana', PATH: '/usr/bin:/bin' })
})

const README = `# One

<!-- ci:test -->
\`\`\`bash
npm test
\`\`\`

<!-- ci:prose -->
Words first.

\`\`\`sh
npm start
\`\`\`

<!-- ci:twice -->
<!-- ci:twice -->
`

it('reads the block of commands after its comment', () => {
  expect(readBlock(README, 'ci:test')).toBe('npm test\n')
})

it.each([
  ['ci:none', 'README.md has no comment <!-- ci:none -->'],
  ['ci:prose', 'README.md has no block of commands right after <!-- ci:prose -->'],
  ['ci:twice', 'README.md has the comment <!-- ci:twice --> more than once'],
])('reading a block throws for the comment %s', (marker, message) => {
  expect(() => readBlock(README, marker)).toThrow(message)
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'block-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const env = { PATH: process.env['PATH'] ?? '', WORD: 'hello' }

it('runs a block unchanged, in its folder', async () => {
  const run = await runBlock('echo "$WORD from $PWD"\n', folder, env)
  expect(run).toEqual({ output: `hello from ${folder}\n`, responses: [] })
})

it.each(['false\necho unreached', 'false | cat', 'echo "$UNSET"'])(
  'a block fails at its first command that fails: %j',
  async (block) => {
    await expect(runBlock(block, folder, env)).rejects.toThrow(/^The commands failed \(exit code 1\)\.\n\n/)
  },
)

it('returns the method, path and status of each call of curl', async () => {
  const curl = `#!/bin/sh
test -f "$CURL_HOME/.curlrc" || exit 1
echo "answer to $*"
printf '\\ncurl: GET %s 200\\n' "$*" >&2`
  writeFileSync(path.join(folder, 'curl'), curl, { mode: 0o755 })
  const run = await runBlock('curl http://localhost:8080/one?two\n', folder, {
    ...env,
    PATH: `${folder}:${env.PATH}`,
  })
  expect(run).toEqual({ output: 'answer to http://localhost:8080/one?two\n', responses: ['GET /one 200'] })
})
