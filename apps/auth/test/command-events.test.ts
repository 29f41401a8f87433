import { readFile, writeFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { newKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { getToken } from './agent-client.ts'
import { type ClaimsUnderTest, confirmed, startClaims } from './claim-client.ts'
import { openAuthStores } from './open-auth-stores.ts'
import { runAuth } from './run-auth.ts'
import { securityEventsIn } from './security-events-in.ts'
import { ORIGIN } from './start-auth.ts'

vi.setConfig({ testTimeout: 60_000 })

const SHORT = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '0.1',
  AUTH_KEYS_POLL_SECONDS: '0.2',
  AUTH_KEYS_OVERLAP_SECONDS: '0',
  AUTH_KEYS_LEASE_SECONDS: '1',
}
const OPERATOR = { by: 'operator', user: userInfo().username, host: hostname() }

const resources = new AsyncDisposableStack()
let under: ClaimsUnderTest
let env: Record<string, string>
beforeAll(async () => {
  under = resources.use(await startClaims({ env: SHORT }))
  env = { ...(await under.stores.settingsFor(ORIGIN)), ...SHORT }
})
afterAll(() => resources.disposeAsync())

/** Runs a command. @returns its output, and the events that it emitted */
async function run(command: string, more: Record<string, string> = {}) {
  const { code, printed, errors } = await runAuth(command.split(' '), { ...env, ...more })
  return { code, printed, events: securityEventsIn(errors.split('\n')) }
}

interface Subject {
  readonly client_id: string
  readonly registration_id: string
  readonly kid: string
}
async function newSubject(): Promise<Subject> {
  const { agent, registrationId } = await confirmed(under)
  await getToken(under.auth, agent)
  const { keys } = JSON.parse((await run('keys list --json')).printed) as {
    keys: { kid: string; state: string }[]
  }
  const kid = keys.find(({ state }) => state === 'signing')?.kid ?? ''
  return { client_id: agent.client_id, registration_id: registrationId, kid }
}

const anyKid = expect.stringMatching(/^[\w-]{20,}$/)
/**
 * In this order: a row may stand on the one before it. Words in capitals are of the subject. The credential of an API is
 * in resource-servers.test.ts.
 */
const COMMANDS: [command: string, event: (of: Subject) => object][] = [
  ['agents disable CLIENT', ({ client_id }) => ({ event: 'client-ended', client_id, how: 'disabled' })],
  ['agents enable CLIENT', ({ client_id }) => ({ event: 'client-enabled', client_id })],
  ['claims revoke CLAIM', ({ registration_id }) => ({ event: 'claim-ended', registration_id })],
  [
    'stop --client CLIENT --reason x',
    ({ client_id }) => ({ event: 'tokens-stopped', scope: 'client', client_id }),
  ],
  ['stop --all-tokens --reason x', () => ({ event: 'tokens-stopped', scope: 'all-tokens', epoch: 1 })],
  [
    'stop --issued-before 2026-01-01T00:00:00Z --reason x',
    () => ({ event: 'tokens-stopped', scope: 'issued-before', epoch: 1 }),
  ],
  ['agents block blocked.example --reason x', () => ({ event: 'domain-blocked', domain: 'blocked.example' })],
  [
    'agents unblock blocked.example --reason x',
    () => ({ event: 'domain-unblocked', domain: 'blocked.example' }),
  ],
  ['agents delete CLIENT', ({ client_id }) => ({ event: 'client-ended', client_id, how: 'deleted' })],
  ['keys generate', () => ({ event: 'signing-keys-changed', step: 'generate', kids: [anyKid] })],
  [
    'keys revoke KID --reason x',
    ({ kid }) => ({ event: 'signing-keys-changed', step: 'revoke', kids: expect.arrayContaining([kid]) }),
  ],
]

test('emits an event that names the operator for each command that revokes or changes something', async () => {
  const subject = await newSubject()
  const named = (command: string) =>
    command
      .replace('CLIENT', subject.client_id)
      .replace('CLAIM', subject.registration_id)
      .replace('KID', subject.kid)
  for (const [command, event] of COMMANDS) {
    if (!/^(claims|stop --all)/.test(command)) {
      const tried = await run(`${named(command)} --dry-run`)
      expect([command, tried.code, tried.events]).toEqual([command, 0, []])
    }
    const done = await run(named(command))
    expect([command, done.code, done.events]).toEqual([command, 0, [{ ...event(subject), ...OPERATOR }]])
  }
  for (const again of ['agents delete CLIENT', 'claims revoke CLAIM', 'agents enable CLIENT'])
    expect(await run(named(again))).toMatchObject({ code: 1, events: [] })
  expect(await run(named('keys revoke KID --reason x'))).toMatchObject({ code: 0, events: [] })
})

test('emits one event for re-encrypting keys', async () => {
  // Without an instance, which would have to have the new key first.
  await using stores = await openAuthStores()
  const instanceSettings: Record<string, string> = { ...(await stores.settingsFor(ORIGIN)), ...SHORT }
  const old = await readFile(instanceSettings['AUTH_KEK_FILE'] ?? '', 'utf8')
  const AUTH_KEK_FILE = `${instanceSettings['AUTH_KEK_FILE']}-of-commands`
  await writeFile(AUTH_KEK_FILE, `${newKeyEncryptionKey()}\n${old}`)
  const rewrap = (...more: string[]) =>
    run(['keys rewrap --json', ...more].join(' '), { ...instanceSettings, AUTH_KEK_FILE })
  expect((await rewrap('--dry-run')).events).toEqual([])
  const done = await rewrap()
  const { keys: kids } = JSON.parse(done.printed) as { keys: string[] }
  expect(kids.length).toBeGreaterThan(0)
  expect(done.events).toEqual([{ event: 'signing-keys-changed', step: 'rewrap', kids, ...OPERATOR }])
  expect((await rewrap()).events).toEqual([])
})

/**
 * `update` and `rewrap` of the key store emit for all `keys` commands; the others are rows above, or tested in grants-command.integration.test.ts,
 * resource-servers.test.ts, replay.test.ts and url-client-commands.test.ts.
 */
const TOLD = [
  ...['init', 'generate', 'publish', 'activate', 'retire', 'rotate', 'revoke', 'rewrap'].map(
    (step) => `keys ${step}`,
  ),
  ...['agents disable', 'agents enable', 'agents delete', 'claims revoke', 'stop'],
  ...['grants revoke', 'grants revoke-host'],
  ...['agents block', 'agents refresh', 'agents unblock'],
  ...['resource-servers rotate', 'resource-servers finish', 'replay', 'restore'],
]
/** They change nothing that runs: `create` writes a secret that no server knows yet. */
const NOT_TOLD = [
  ...[
    'serve',
    'migrate',
    'backup',
    'config check',
    'config list',
    'keys list',
    'keys verify',
    'keys audit',
    'stops',
  ],
  ...[
    'agents blocks',
    'agents list',
    'agents show',
    'agents stats',
    'claims list',
    'claims show',
    'grants list',
    'hosts list',
    'resource-servers list',
    'resource-servers create',
  ],
]

test('every command emits an event or changes nothing in operation', async () => {
  const named = async (group: string) => {
    const [, commands = ''] = (await run(`${group} --help`.trim())).printed.split('Commands:\n')
    return Array.from(commands.matchAll(/^ {2}([a-z-]+)/gm), ([, name = '']) => name).filter(
      (name) => name !== 'help',
    )
  }
  const all: string[] = []
  for (const group of await named('')) {
    const within = await named(group)
    all.push(...(within.length > 0 ? within.map((name) => `${group} ${name}`) : [group]))
  }
  expect(all.toSorted()).toEqual([...TOLD, ...NOT_TOLD].toSorted())
})
