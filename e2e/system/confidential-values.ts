import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool } from '@plainpath/postgres'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { json } from '../send.ts'
import type { System } from './open-system.ts'

/** Matches files that contain only the service's own keys and secrets. `findConfidential` does not report them. */
const KEY_FILE_PATTERN =
  /(^|\/)(auth-kek|auth-hash-key|resource-kek|resource-hash-key|resource-client-secret|resource-server\.json|database-passwords\.json|redis-\d+\.acl)$/

/**
 * Tests that no confidential value of the earlier tests is in the databases, Redis, the data directory or a log. Must
 * run after all other tests.
 */
export function describeConfidentialValues(getSystem: () => System): void {
  describe('the tokens, secrets, e-mail addresses and agent names that the tests used', () => {
    test('are not in PostgreSQL, Redis, the data directory or a log', {
      timeout: 120_000,
    }, async () => {
      const system = getSystem()
      system.confidential.add(system.apiSecret)
      // No log may contain the query string.
      await system.createSender({ from: '127.0.0.40' }).send({
        path: `/api/guides?access_token=${encodeURIComponent([...system.confidential].join(' ').slice(0, 4_000))}`,
      })
      await sendQuestions(system, `cousin${randomUUID()}`)
      await using dump = await dumpEverything(system)
      // Fewer values would mean that the tests before this one did not run.
      expect(system.confidential.size).toBeGreaterThan(60)
      process.stdout.write(
        `searched for ${system.confidential.size} confidential values in ${dump.files.length} files and folders\n`,
      )
      expect(await findConfidential(system, dump.folders)).toEqual([])
    })

    test.for([
      ['a table', /postgres-auth$/, (value, system) => plantInTable(system.adminUrls.auth, value)],
      [
        'a table, as bytes',
        /postgres-auth$/,
        (value, system) => plantInTable(system.adminUrls.auth, `\\x${Buffer.from(value).toString('hex')}`),
      ],
      [
        'the other database',
        /postgres-resource$/,
        (value, system) => plantInTable(system.adminUrls.resource, value),
      ],
      [
        'the files of the database',
        /postgres\/pg_wal\//,
        (value, system) => plantInTable(system.adminUrls.resource, value),
      ],
      ['a key of Redis', /redis$/, (value, system) => plantInRedis(system, [`auth:${value}`, '1'])],
      ['a value of Redis', /redis$/, (value, system) => plantInRedis(system, ['resource:planted', value])],
      [
        'a log',
        /auth-1\.log$/,
        (value, system) => plantInFile(path.join(system.folder, 'auth-1.log'), `{"planted":"${value}"}\n`),
      ],
      [
        'the data directory, in base64',
        /planted$/,
        (value, system) =>
          plantInFile(path.join(system.folder, 'planted'), Buffer.from(`x:${value}`).toString('base64')),
      ],
    ] satisfies [string, RegExp, (value: string, system: System) => Promise<AsyncDisposable>][])(
      'are found if one is planted in %s',
      { timeout: 120_000 },
      async ([_where, filePattern, plant]) => {
        const system = getSystem()
        const value = [...system.confidential].find((candidate) => candidate.startsWith('ppt_')) ?? ''
        expect(value).not.toBe('')
        await using _planted = await plant(value, system)
        await using dump = await dumpEverything(system)
        expect(await findConfidential(system, dump.folders)).toContainEqual(
          expect.stringMatching(filePattern),
        )
      },
    )

    test('remain only in the files of PostgreSQL after planted values are removed', {
      timeout: 120_000,
    }, async () => {
      const system = getSystem()
      await using dump = await dumpEverything(system)
      const files = await findConfidential(system, dump.folders)
      expect(files.filter((file) => !file.startsWith(system.stack.postgres.dir))).toEqual([])
    })
  })
}

/**
 * Sends valid and invalid questions to `/api/answers`, `/api/mcp` and `/ask`.
 *
 * @param word occurs in each question
 */
async function sendQuestions(system: System, word: string): Promise<void> {
  system.confidential.add(word)
  const client = system.createSender({ from: '127.0.0.41' })
  const question = `My ${word} was arrested. Can he renew his green card?`
  const call = { name: 'answer_question', arguments: { question } }
  const form = new URLSearchParams({ question, 'long-absence': 'yes' }).toString()
  const requests: [path: string, body: object, status: number][] = [
    ['/api/answers?explain=true', json({ question }), 200],
    ['/api/answers', json({ question, facts: { [word]: true } }), 400],
    ['/api/answers', json({ question: `${question}${'x'.repeat(1_000)}` }), 400],
    ['/api/mcp', json({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }), 200],
    ['/ask', { body: form, headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 200],
  ]
  for (const [endpoint, body, status] of requests) {
    const accept = { accept: 'application/json, text/event-stream, text/html' }
    const { headers = {}, ...content } = body as { headers?: object }
    const response = await client.send({
      method: 'POST',
      path: endpoint,
      ...content,
      headers: { ...accept, ...headers },
    })
    expect(response.status, endpoint).toBe(status)
  }
}

/**
 * Dumps both databases and Redis to text files. Returns the folders with the dumps, the data and the logs, and the
 * names of all files and folders in them. Disposing deletes the dumps.
 */
export async function dumpEverything(system: System) {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-dump-'))
  for (const [name, url] of Object.entries(system.adminUrls))
    await writeFile(path.join(folder, `postgres-${name}`), await dumpDatabase(url))
  await writeFile(path.join(folder, 'redis'), await dumpRedis(system.stack.redis.adminUrl))
  // The database's files are in the data directory, or elsewhere if the database's user cannot reach that directory.
  const folders = [folder, system.folder, system.stack.postgres.dir]
  const files = (await Promise.all(folders.map((each) => readdir(each, { recursive: true })))).flat()
  return { folders, files, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** Reads every row of every table as text, with bytes in hex. */
async function dumpDatabase(url: string): Promise<string> {
  await using db = openPool(url, { max: 1 })
  const { rows } = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const lines = []
  for (const { name } of rows) {
    const { rows: textRows } = await db.query<{ text: string }>(`select t::text as text from ${name} t`)
    lines.push(name, ...textRows.map(({ text }) => text))
  }
  return lines.join('\n')
}

async function dumpRedis(url: string): Promise<string> {
  const redis = new Redis(url)
  try {
    const lines: string[] = []
    for await (const keys of redis.scanStream({ count: 1_000 }))
      for (const key of keys as string[]) lines.push(key, await readValue(redis, key))
    return lines.join('\n')
  } finally {
    redis.disconnect()
  }
}

async function readValue(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key)
  const readers: Record<string, () => Promise<unknown>> = {
    string: async () => (await redis.getBuffer(key))?.toString('latin1'),
    hash: () => redis.hgetall(key),
    set: () => redis.smembers(key),
    zset: () => redis.zrange(key, '0', '-1'),
    list: () => redis.lrange(key, '0', '-1'),
    stream: () => redis.xrange(key, '-', '+'),
  }
  const value = await readers[type]?.()
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Finds the files that contain a confidential value in one of its spellings. Does not return the values. */
export async function findConfidential(system: System, folders: readonly string[]): Promise<string[]> {
  const patternFolder = await mkdtemp(path.join(tmpdir(), 'plainpath-patterns-'))
  try {
    const file = path.join(patternFolder, 'patterns')
    await writeFile(file, [...new Set([...system.confidential].flatMap(listSpellings))].join('\n'))
    // Without a mail server, mails are written to `outbox`. They may contain the values.
    const options = ['-r', '-a', '-F', '-l', '--exclude-dir=outbox', '-f', file]
    const { status, stdout, stderr } = spawnSync('grep', [...options, ...folders], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
      maxBuffer: 16 * 1024 * 1024,
      timeout: 90_000,
    })
    // Status 1 means no match. Status 2 is an error, which is harmless if grep missed a file that was just deleted.
    if (status === null || (status === 2 && !/No such file/.test(stderr)))
      throw new Error(stderr || 'grep took too long')
    return [...new Set(stdout.split('\n'))].filter((name) => name !== '' && !KEY_FILE_PATTERN.test(name))
  } finally {
    await rm(patternFolder, { recursive: true, force: true })
  }
}

/**
 * Lists spellings of a value that have at least 12 characters: plain, in lower case, without its prefix, in hex,
 * URL-encoded, and in both base64 alphabets at each of the three offsets.
 */
function listSpellings(value: string): string[] {
  const bytes = Buffer.from(value)
  const base64 = [0, 1, 2].flatMap((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes])
    // Removes the characters at both ends that depend on adjacent bytes.
    return (['base64', 'base64url'] as const).map((alphabet) =>
      shifted
        .toString(alphabet)
        .replace(/=+$/, '')
        .slice(offset === 0 ? 0 : offset + 1, -1),
    )
  })
  const hex = bytes.toString('hex')
  const withoutPrefix = value.replace(/^(ppt|pps|rss)_/, '')
  return [
    value,
    withoutPrefix,
    value.toLowerCase(),
    hex,
    hex.toUpperCase(),
    encodeURIComponent(value),
    ...base64,
  ].filter((spelling) => spelling.length >= 12)
}

async function plantInTable(url: string, value: string) {
  const db = openPool(url, { max: 1 })
  const type = value.startsWith('\\x') ? 'bytea' : 'text'
  await db.query(`create table planted as select $1::${type} as value`, [value])
  await db.query('insert into planted select value from planted')
  return {
    async [Symbol.asyncDispose]() {
      await db.query('drop table planted')
      await db[Symbol.asyncDispose]()
    },
  }
}

async function plantInRedis(system: System, [key, value]: [string, string]) {
  const redis = new Redis(system.stack.redis.adminUrl)
  await redis.set(key, value)
  return {
    async [Symbol.asyncDispose]() {
      await redis.del(key)
      redis.disconnect()
    },
  }
}

async function plantInFile(file: string, text: string) {
  await appendFile(file, text)
  return {
    async [Symbol.asyncDispose]() {
      await writeFile(file, (await readFile(file, 'utf8')).replace(text, ''))
    },
  }
}
