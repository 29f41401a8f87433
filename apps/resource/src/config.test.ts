import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { formatSettingsTable } from '@plainpath/http/settings'
import { afterAll, describe, expect, test } from 'vitest'
import { createKeyFolder } from '../test/key-folder.ts'
import { ConfigError, loadConfig, loadMigrationConfig, readSettings } from './config.ts'
import { SETTINGS } from './settings.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const keyFolder = createKeyFolder(resources)
const VALID_ENV = {
  RESOURCE_ORIGIN: 'https://plainpath.example',
  RESOURCE_DATABASE_URL: 'postgres://resource_app:hunter2@db/resource',
  RESOURCE_AUTH_URL: 'http://auth:8091',
  RESOURCE_CLIENT_ID: 'resource-api',
  RESOURCE_CLIENT_SECRET_FILE: path.join(keyFolder, 'client-secret'),
  RESOURCE_KEK_FILE: path.join(keyFolder, 'kek'),
  RESOURCE_HASH_KEY_FILE: path.join(keyFolder, 'hash-key'),
  RESOURCE_SMTP_URL: 'smtp://mail.example.org',
}
/** Lists the mistakes that `loadConfig` finds in valid settings with this change: the lines of its error after the first. */
const listMistakes = (change: Record<string, string | undefined>): string[] => {
  try {
    loadConfig({ ...VALID_ENV, ...change })
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n  ').slice(1)
    throw error
  }
  return []
}

describe('loadConfig', () => {
  test('applies defaults, and ignores variables without the prefix RESOURCE_', () => {
    expect(loadConfig({ ...VALID_ENV, PATH: '/bin', AUTH_PORT: 'x' })).toMatchObject({
      origin: 'https://plainpath.example',
      public: { port: 8082, host: '0.0.0.0' },
      operations: { port: 9082, host: '127.0.0.1' },
      redisUrl: undefined,
      mcpPublicOrigin: undefined,
      corsOrigins: [],
      additionalHosts: [],
      limitsFactor: 1,
      drainSeconds: 20,
    })
  })

  test('parses values, reads the client secret from its file, and returns a frozen object', () => {
    const config = loadConfig({
      ...VALID_ENV,
      RESOURCE_PORT: '0',
      RESOURCE_CORS_ORIGINS: 'https://a.example, http://localhost:3000 ,',
      RESOURCE_ALSO_ACCEPT_HOSTS: '127.0.0.1:8080,[::1]:8080',
      RESOURCE_TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::/32',
      RESOURCE_LIMITS_FACTOR: '0.5',
      RESOURCE_REDIS_URL: '',
      RESOURCE_OTLP_URL: 'http://collector:4318',
      RESOURCE_MCP_PUBLIC_ORIGIN: 'https://mcp.plainpath.example',
    })
    expect(config).toMatchObject({
      public: { port: 0 },
      mcpPublicOrigin: 'https://mcp.plainpath.example',
      corsOrigins: ['https://a.example', 'http://localhost:3000'],
      additionalHosts: ['127.0.0.1:8080', '[::1]:8080'],
      limitsFactor: 0.5,
      otlpUrl: 'http://collector:4318',
      redisUrl: undefined,
    })
    expect(config.trustedProxies.has('10.1.2.3')).toBe(true)
    expect(config.clientSecret).toBe(readFileSync(path.join(keyFolder, 'client-secret'), 'utf8').trim())
    expect(Object.isFrozen(config)).toBe(true)
  })

  test('requires a mail server for an https origin, and derives mail addresses from the origin', () => {
    expect(listMistakes({ RESOURCE_SMTP_URL: undefined })).toEqual([
      expect.stringMatching(/^RESOURCE_SMTP_URL is missing: an https origin needs a mail server/),
    ])
    const localEnv = { ...VALID_ENV, RESOURCE_SMTP_URL: '', RESOURCE_ORIGIN: 'http://localhost:8080' }
    expect(loadConfig(localEnv)).toMatchObject({
      mail: { smtpUrl: undefined, from: 'no-reply@localhost', outboxDirectory: '.data/outbox' },
      staffInbox: 'desk@localhost.invalid',
    })
    expect(loadConfig(VALID_ENV)).toMatchObject({
      mail: { smtpUrl: 'smtp://mail.example.org', from: 'no-reply@plainpath.example' },
      staffInbox: 'desk@plainpath.example',
    })
  })

  test('accepts another host or port for the public MCP origin, unless the main origin accepts that host too', () => {
    const listOriginMistakes = (change: Record<string, string>) =>
      listMistakes({ RESOURCE_MCP_PUBLIC_ORIGIN: 'https://mcp.plainpath.example', ...change })
    expect(listOriginMistakes({})).toEqual([])
    expect(listOriginMistakes({ RESOURCE_MCP_PUBLIC_ORIGIN: 'https://plainpath.example:8443' })).toEqual([])
    const sameHost = { RESOURCE_ALSO_ACCEPT_HOSTS: '127.0.0.1:8082,mcp.plainpath.example' }
    expect(listOriginMistakes(sameHost)).toEqual([
      expect.stringMatching(/^RESOURCE_MCP_PUBLIC_ORIGIN must have another host or port/),
    ])
  })

  test('treats empty variables as absent', () => {
    const emptyEnv = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']))
    expect(loadConfig({ ...emptyEnv, ...VALID_ENV })).toMatchObject({
      redisUrl: undefined,
      public: { port: 8082 },
    })
  })

  test('converts the hold from minutes to milliseconds, with ten minutes as the default', () => {
    const readHoldMs = (minutes?: string) =>
      loadConfig({ ...VALID_ENV, RESOURCE_CONTACT_HOLD: minutes }).contactHoldMs
    expect([readHoldMs(), readHoldMs('0'), readHoldMs('60')]).toEqual([600_000, 0, 3_600_000])
  })

  test('reports all mistakes together, by name and without values', () => {
    const mistakes = listMistakes({
      RESOURCE_ORIGIN: undefined,
      RESOURCE_CLIENT_ID: '',
      RESOURCE_PORT: 'canary',
      RESOURCE_KEK_FILE: '/canary',
      // A misspelt name, which is not a setting.
      RESOURCE_PROT: 'canary',
    })
    expect(mistakes).toEqual([
      'RESOURCE_PROT is not a setting',
      'RESOURCE_ORIGIN is missing',
      'RESOURCE_PORT must be a whole number',
      'RESOURCE_KEK_FILE names a file that cannot be read (ENOENT)',
      'RESOURCE_CLIENT_ID is missing',
    ])
    expect(listMistakes({ RESOURCE_PORT: 'canary', RESOURCE_SMTP_URL: undefined })).toEqual([
      'RESOURCE_PORT must be a whole number',
      expect.stringMatching(/^RESOURCE_SMTP_URL is missing/),
    ])
  })

  test.for([
    [
      'RESOURCE_ORIGIN',
      [
        'http://plainpath.example',
        'https://plainpath.example/',
        'https://plainpath.example/x',
        'plainpath.example',
        'https://u@plainpath.example',
      ],
    ],
    [
      'RESOURCE_MCP_PUBLIC_ORIGIN',
      [
        'http://plainpath.example',
        'https://mcp.plainpath.example/mcp',
        'mcp.plainpath.example',
        'https://plainpath.example',
        'http://localhost:8081',
      ],
    ],
    ['RESOURCE_PORT', ['-1', '65536', '80.5', '1e3', 'tcp://10.0.0.1:80', ' 80']],
    ['RESOURCE_OPERATIONS_PORT', ['x']],
    ['RESOURCE_DATABASE_URL', ['mysql://db/x', 'db', 'https://db']],
    ['RESOURCE_MIGRATION_DATABASE_URL', ['db']],
    ['RESOURCE_REDIS_URL', ['http://redis', 'redis']],
    [
      'RESOURCE_OTLP_URL',
      ['grpc://collector:4317', 'http://u:p@collector', 'http://collector/', 'collector:4318'],
    ],
    [
      'RESOURCE_AUTH_URL',
      [
        'auth:8091',
        'http://auth:8091/',
        'http://auth?x',
        'http://auth#x',
        'http://u:p@auth',
        'ftp://auth',
        ',',
        'http://auth,auth',
      ],
    ],
    ['RESOURCE_CLIENT_ID', ['a b', 'a:b', 'x'.repeat(101)]],
    ['RESOURCE_TRUSTED_PROXIES', ['10.0.0.0/33', 'proxy', '10.0.0.0/8;::1']],
    ['RESOURCE_CORS_ORIGINS', ['*', 'https://a.example/', 'a.example', 'null']],
    ['RESOURCE_ALSO_ACCEPT_HOSTS', ['http://a', 'a b', '*']],
    ['RESOURCE_SMTP_URL', ['http://mail', 'smtp://', 'smtp://u@mail', 'smtp://mail/x', 'mail']],
    [
      'RESOURCE_MAIL_FROM',
      ['x', 'a@b\r\nBcc: c@d.example', 'A <a@example.org>', 'a@example.org,b@example.org'],
    ],
    ['RESOURCE_DESK_ADDRESS', ['x', 'a@localhost', 'a@example.org, b@example.org']],
    ['RESOURCE_CONTACT_HOLD', ['-1', '61', '1.5', 'x']],
    ['RESOURCE_LIMITS_FACTOR', ['0', '-1', 'x', 'Infinity', '1e9', '0x10']],
    ['RESOURCE_DRAIN_DELAY_SECONDS', ['-1', '100', 'x', '1.5']],
    ['RESOURCE_DRAIN_SECONDS', ['-1', '301', 'x', '1.5']],
  ] as const)('rejects invalid values of %s', ([name, values]) => {
    for (const value of values) {
      const mistakes = listMistakes({ [name]: value })
      expect(mistakes.length).toBeGreaterThan(0)
      for (const mistake of mistakes) expect(mistake.startsWith(`${name} `)).toBe(true)
    }
  })

  test.for([
    ['RESOURCE_KEK_FILE', 'kek-1:canary\n'],
    ['RESOURCE_KEK_FILE', ''],
    ['RESOURCE_HASH_KEY_FILE', 'canary'],
    ['RESOURCE_CLIENT_SECRET_FILE', 'canary'],
    ['RESOURCE_CLIENT_SECRET_FILE', 'canary canary canary canary'],
  ] as const)('rejects %s if the file contains %j, and quotes neither path nor content', ([name, text]) => {
    const invalidFile = path.join(keyFolder, 'bad')
    writeFileSync(invalidFile, text)
    const mistakes = listMistakes({ [name]: invalidFile })
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toMatch(new RegExp(`^${name} `))
    expect(mistakes[0]).not.toContain(invalidFile)
    expect(mistakes[0]).not.toContain('canary')
  })
})

test('loadMigrationConfig ignores settings other than the database URLs, and rejects missing and unknown ones', () => {
  const ownerUrl = 'postgres://resource_owner:x@db/resource'
  const { RESOURCE_DATABASE_URL } = VALID_ENV
  const env = { RESOURCE_DATABASE_URL, RESOURCE_MIGRATION_DATABASE_URL: ownerUrl }
  const migrationConfig = { url: ownerUrl, appRole: 'resource_app' }
  expect(loadMigrationConfig(env)).toEqual(migrationConfig)
  expect(loadMigrationConfig({ ...env, RESOURCE_PORT: 'x' })).toEqual(migrationConfig)
  expect(() => loadMigrationConfig({ ...env, RESOURCE_PROT: '1' })).toThrow('RESOURCE_PROT is not a setting')
  expect(() => loadMigrationConfig({})).toThrow('RESOURCE_DATABASE_URL is missing')
})

test('readSettings returns only the requested settings', () => {
  const { RESOURCE_DATABASE_URL } = VALID_ENV
  expect(readSettings(VALID_ENV, ['RESOURCE_DATABASE_URL'])).toEqual({ RESOURCE_DATABASE_URL })
})

test('README.md contains the current settings table', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  expect(readme).toContain(formatSettingsTable(SETTINGS))
  expect(Object.keys(SETTINGS).filter((name) => !readme.includes(name))).toEqual([])
})
