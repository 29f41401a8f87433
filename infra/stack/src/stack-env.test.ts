import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { formatEnv, writeStackEnv } from './stack-env.ts'

/** Settings, of which one has characters that are special in such a file, and one is empty. */
const ENV = {
  AUTH_ORIGIN: 'http://localhost:8080',
  AUTH_REDIS_URL: 'redis://auth:p"#$w\\d@127.0.0.1:1',
  AUTH_CORS_ORIGINS: '',
}

test('Node reads the same settings from the written file, which only its owner may read', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-stack-env-'))
  try {
    const file = await writeStackEnv(folder, ENV)
    // A later start replaces the file.
    await writeStackEnv(folder, ENV)
    expect(parseEnv(await readFile(file, 'utf8'))).toEqual(ENV)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test.for(["it's", 'two\nlines'])('formatEnv rejects the value %j, and names its setting', (value) => {
  expect(() => formatEnv({ AUTH_X: value })).toThrow('the value of AUTH_X cannot be written')
})
