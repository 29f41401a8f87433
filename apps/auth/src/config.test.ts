import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ConfigError, type Environment, formatSettingsTable, listSettingRows } from '@plainpath/http/settings'
import { generateHashKey, generateKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig, SETTINGS } from './config.ts'
import { createResourceServer } from './resource-servers/resource-servers.ts'

let folder: string
/** Settings that `loadConfig` accepts: the required ones and AUTH_SMTP_URL, which an https origin requires. */
let validSettings: Record<string, string>
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'plainpath-auth-config-'))
  const createFile = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text)
    return path.join(folder, name)
  }
  const { server } = createResourceServer('rs_api', 'https://plainpath.example/api')
  validSettings = {
    AUTH_ORIGIN: 'https://plainpath.example',
    AUTH_DATABASE_URL: 'postgres://auth@127.0.0.1/auth',
    AUTH_KEK_FILE: createFile('kek', generateKeyEncryptionKey()),
    AUTH_HASH_KEY_FILE: createFile('hash', generateHashKey()),
    AUTH_RESOURCE_SERVERS_FILE: createFile('servers.json', JSON.stringify([server])),
    AUTH_SMTP_URL: 'smtp://mail.example.org',
  }
  createFile('bad.json', '[{"client_id":"rs_api","audience":"Canary-7f3","secrets":["Canary-7f3"]}]')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns the mistakes that `loadConfig` reports; none for valid settings. */
function listMistakes(env: Environment): readonly string[] {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}

test('treats an empty variable as absent, because Compose and shells set one for a missing value', () => {
  const emptySettings = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']))
  expect(loadConfig({ ...emptySettings, ...validSettings })).toMatchObject({
    redisUrl: undefined,
    public: { port: 8081 },
  })
  expect(listMistakes({ ...validSettings, AUTH_ORIGIN: '', AUTH_KEK_FILE: '' })).toEqual([
    'AUTH_ORIGIN is missing',
    'AUTH_KEK_FILE is missing',
  ])
})

test('accepts the required settings alone, and uses defaults for others', () => {
  const { sealer, hashKey, resourceServers, trustedProxies, ...values } = loadConfig(validSettings)
  expect(values).toMatchObject({
    origin: 'https://plainpath.example',
    public: { port: 8081, host: '0.0.0.0' },
    internal: { port: 8091, host: '127.0.0.1' },
    operations: { port: 9081, host: '127.0.0.1' },
    databaseUrl: 'postgres://auth@127.0.0.1/auth',
    migrationDatabaseUrl: undefined,
    redisUrl: undefined,
    corsOrigins: [],
    additionalHosts: [],
    clientDocumentTestHosts: [],
    limitsFactor: 1,
    drainSeconds: 20,
  })
  expect(sealer.unseal(sealer.seal('x', 'here'), 'here').toString()).toBe('x')
  expect(hashKey.hash('client-secret', 'x')).toHaveLength(32)
  expect(resourceServers).toHaveLength(1)
  expect(trustedProxies.has('127.0.0.1')).toBe(false)
})

test('parses ports, lists, networks, hosts, factors and URLs', () => {
  const config = loadConfig({
    ...validSettings,
    AUTH_ORIGIN: 'http://localhost:8080',
    AUTH_PORT: '0',
    AUTH_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    AUTH_CORS_ORIGINS: 'https://a.example, https://b.example',
    AUTH_ALSO_ACCEPT_HOSTS: '127.0.0.1:8080,[::1]:8080',
    AUTH_CLIENT_DOCUMENT_TEST_HOSTS: 'agent.example.org:8443, localhost:8444',
    AUTH_LIMITS_FACTOR: '0.5',
    AUTH_REDIS_URL: 'redis://127.0.0.1:6379/1',
    AUTH_OTLP_URL: 'http://collector:4318',
  })
  expect(config).toMatchObject({
    public: { port: 0 },
    corsOrigins: ['https://a.example', 'https://b.example'],
    additionalHosts: ['127.0.0.1:8080', '[::1]:8080'],
    clientDocumentTestHosts: ['agent.example.org:8443', 'localhost:8444'],
    limitsFactor: 0.5,
    redisUrl: 'redis://127.0.0.1:6379/1',
    otlpUrl: 'http://collector:4318',
  })
  expect(['10.1.2.3', '::1', '11.0.0.1'].map((address) => config.trustedProxies.has(address))).toEqual([
    true,
    true,
    false,
  ])
})

test('ignores variables without the prefix AUTH_', () => {
  expect(listMistakes({ ...validSettings, PATH: '/bin', RESOURCE_ORIGIN: 'x', AUTHORITY: 'x' })).toEqual([])
})

test('names every missing required setting in one error', () => {
  const { AUTH_SMTP_URL: _smtp, ...required } = validSettings
  expect(listMistakes({})).toEqual(Object.keys(required).map((name) => `${name} is missing`))
})

test('requires a mail server for an https origin, and has an outbox for a loopback origin', () => {
  const { AUTH_SMTP_URL: _smtp, ...settingsWithoutSmtp } = validSettings
  expect(listMistakes(settingsWithoutSmtp)).toEqual([
    expect.stringMatching(/^AUTH_SMTP_URL is missing: an https origin needs a mail server/),
  ])
  expect(loadConfig({ ...settingsWithoutSmtp, AUTH_ORIGIN: 'http://localhost:8080' }).mail).toEqual({
    smtpUrl: undefined,
    from: 'no-reply@localhost',
    outboxDirectory: '.data/outbox',
  })
  expect(loadConfig({ ...validSettings, AUTH_MAIL_FROM: 'help@plainpath.example' }).mail).toMatchObject({
    smtpUrl: 'smtp://mail.example.org',
    from: 'help@plainpath.example',
  })
})

describe('refuses, without showing the value,', () => {
  test.for([
    ['AUTH_ORIGIN', 'http://plainpath.example'],
    ['AUTH_ORIGIN', 'https://plainpath.example/'],
    ['AUTH_ORIGIN', 'https://plainpath.example/Canary-7f3'],
    ['AUTH_PORT', ' '],
    ['AUTH_PORT', '65536'],
    ['AUTH_PORT', '80.5'],
    ['AUTH_PORT', '0x50'],
    ['AUTH_PORT', 'tcp://10.0.0.1:8081'],
    ['AUTH_DATABASE_URL', 'mysql://Canary-7f3@127.0.0.1/auth'],
    ['AUTH_DATABASE_URL', 'Canary-7f3'],
    ['AUTH_REDIS_URL', 'http://Canary-7f3@127.0.0.1'],
    ['AUTH_KEK_FILE', '/nowhere/Canary-7f3'],
    ['AUTH_HASH_KEY_FILE', ''],
    ['AUTH_HASH_KEY_FILE', tmpdir()],
    ['AUTH_TRUSTED_PROXIES', 'Canary-7f3'],
    ['AUTH_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['AUTH_CORS_ORIGINS', '*'],
    ['AUTH_CORS_ORIGINS', 'https://Canary-7f3.example/path'],
    ['AUTH_ALSO_ACCEPT_HOSTS', 'Canary-7f3/'],
    // A valid value, which is refused because the origin is not on loopback.
    ['AUTH_CLIENT_DOCUMENT_TEST_HOSTS', 'canary-7f3.example:8443'],
    ['AUTH_CLIENT_DOCUMENT_TEST_HOSTS', 'canary-7f3.example'],
    ['AUTH_CLIENT_DOCUMENT_TEST_HOSTS', 'canary-7f3.example:443'],
    ['AUTH_CLIENT_DOCUMENT_TEST_HOSTS', '*:8443'],
    ['AUTH_LIMITS_FACTOR', '0'],
    ['AUTH_LIMITS_FACTOR', '-1'],
    ['AUTH_LIMITS_FACTOR', 'Infinity'],
    ['AUTH_OTLP_URL', 'grpc://Canary-7f3:4317'],
    ['AUTH_OTLP_URL', 'http://Canary-7f3@collector:4318'],
    ['AUTH_OTLP_URL', 'http://collector:4318/?Canary-7f3'],
    ['AUTH_OTLP_URL', 'http://collector:4318/'],
    ['AUTH_SMTP_URL', 'http://Canary-7f3'],
    ['AUTH_SMTP_URL', 'smtp://Canary-7f3@mail.example.org'],
    ['AUTH_SMTP_URL', ''],
    ['AUTH_MAIL_FROM', 'Canary-7f3'],
    ['AUTH_MAIL_FROM', 'a@example.org\r\nBcc: Canary-7f3@example.org'],
    ['AUTH_DRAIN_DELAY_SECONDS', '100'],
    ['AUTH_DRAIN_SECONDS', '601'],
    ['AUTH_SECRET', 'Canary-7f3'],
    ['AUTH_', 'Canary-7f3'],
  ] satisfies [string, string][])('%s=%s', ([name, value]) => {
    const mistakes = listMistakes({ ...validSettings, [name]: value })
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toMatch(new RegExp(`^${name} `))
    expect(mistakes[0]).not.toMatch(/canary-7f3/i)
  })

  test.for([
    ['AUTH_KEK_FILE', 'bad kek file: line 1 is not kek-<id>:<base64url of 32 bytes>'],
    ['AUTH_HASH_KEY_FILE', 'bad hash file: line 1 is not hash-<id>:<base64url of 32 bytes>'],
    ['AUTH_RESOURCE_SERVERS_FILE', 'is not a list of resource servers'],
  ] as const)('the wrong kind of file as %s', ([name, mistake]) => {
    const env = { ...validSettings, [name]: path.join(folder, 'bad.json') }
    expect(listMistakes(env)).toEqual([`${name} ${mistake}`])
  })
})

test('reports all mistakes in one error', () => {
  const listInvalidSettings = (env: Environment) => listMistakes(env).map((mistake) => mistake.split(' ')[0])
  const badSettings = { AUTH_PORT: 'x', AUTH_ORIGIN: 'x', AUTH_LIMITS_FACTOR: 'x', AUTH_OTHER: 'x' }
  expect(listInvalidSettings({ ...validSettings, ...badSettings })).toEqual([
    'AUTH_OTHER',
    'AUTH_ORIGIN',
    'AUTH_PORT',
    'AUTH_LIMITS_FACTOR',
  ])
  // The lease must be at least twice the polling interval.
  const badCombination = { AUTH_PORT: 'x', AUTH_KEYS_POLL_SECONDS: '10', AUTH_KEYS_LEASE_SECONDS: '15' }
  const noMailServer = { AUTH_ORIGIN: 'https://plainpath.example', AUTH_SMTP_URL: undefined }
  expect(listInvalidSettings({ ...validSettings, ...badCombination, ...noMailServer })).toEqual([
    'AUTH_PORT',
    'AUTH_KEYS_LEASE_SECONDS',
    'AUTH_SMTP_URL',
  ])
})

test('README.md contains the table of settings', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  expect(readme).toContain(`\n${formatSettingsTable(SETTINGS)}\n`)
})

test('describes every setting in at least ten characters', () => {
  expect(listSettingRows(SETTINGS).filter(({ description }) => description.length < 10)).toEqual([])
})
