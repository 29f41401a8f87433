import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runBlock } from './run-block.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'block-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const env = { PATH: process.env['PATH'] ?? '', WORD: 'hello' }

it('runs a block as it stands, in its folder', async () => {
  const run = await runBlock('echo "$WORD from $PWD"\n', folder, env)
  expect(run).toEqual({ output: `hello from ${folder}\n`, answers: [] })
})

it.each(['false\necho unreached', 'false | cat', 'echo "$UNSET"'])(
  'fails at the first command that fails: %j',
  async (block) => {
    await expect(runBlock(block, folder, env)).rejects.toThrow(/^The commands failed \(exit code 1\)\.\n\n/)
  },
)

it('tells how each call of curl was answered, as curl reports it when its settings ask for that', async () => {
  const curl = `#!/bin/sh
test -f "$CURL_HOME/.curlrc" || exit 1
echo "answer to $*"
printf '\\ncurl: GET %s 200\\n' "$*" >&2`
  writeFileSync(path.join(folder, 'curl'), curl, { mode: 0o755 })
  const run = await runBlock('curl http://localhost:8080/one?two\n', folder, {
    ...env,
    PATH: `${folder}:${env.PATH}`,
  })
  expect(run).toEqual({ output: 'answer to http://localhost:8080/one?two\n', answers: ['GET /one 200'] })
})
