import { readFile, writeFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { generateKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { getToken } from './agent-client.ts'
import { openAuthTestbed } from './open-auth-testbed.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import { runAuth } from './run-auth.ts'
import { ORIGIN } from './start-auth.ts'
import { confirmAgent, startVerificationSystem, type VerificationSystem } from './verification-client.ts'

const SHORT_INTERVALS = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '0.1',
  AUTH_KEYS_POLL_SECONDS: '0.2',
  AUTH_KEYS_OVERLAP_SECONDS: '0',
  AUTH_KEYS_LEASE_SECONDS: '1',
}
/** The members with which an event names the operator. */
const OPERATOR = { by: 'operator', user: userInfo().username, host: hostname() }

const resources = new AsyncDisposableStack()
let system: VerificationSystem
let env: Record<string, string>
beforeAll(async () => {
  system = resources.use(await startVerificationSystem({ env: SHORT_INTERVALS }))
  env = { ...(await system.testbed.createSettings(ORIGIN)), ...SHORT_INTERVALS }
})
afterAll(() => resources.disposeAsync())

/** Runs a command. Returns its exit code, its standard output, and the security events that it emitted. */
async function run(command: string, moreSettings: Record<string, string> = {}) {
  const { code, printed, errors } = await runAuth(command.split(' '), { ...env, ...moreSettings })
  return { code, printed, events: parseSecurityEvents(errors.split('\n')) }
}

/** The ids of what the commands change: a client, its verification, and the initial signing key. */
interface CommandTargets {
  readonly client_id: string
  readonly registration_id: string
  readonly kid: string
}
async function createTargets(): Promise<CommandTargets> {
  const { agent, registrationId } = await confirmAgent(system)
  await getToken(system.auth, agent)
  const { keys } = JSON.parse((await run('keys list --json')).printed) as {
    keys: { kid: string; state: string }[]
  }
  const kid = keys.find(({ state }) => state === 'signing')?.kid ?? ''
  return { client_id: agent.client_id, registration_id: registrationId, kid }
}

const ANY_KID = expect.stringMatching(/^[\w-]{20,}$/)
/**
 * Commands with the event that each emits. They run in this order, because some need the result of an earlier one.
 * Words in capitals stand for the ids of the targets.
 */
const COMMANDS: [command: string, createEvent: (targets: CommandTargets) => object][] = [
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
  ['keys generate', () => ({ event: 'signing-keys-changed', step: 'generate', kids: [ANY_KID] })],
  [
    'keys revoke KID --reason x',
    ({ kid }) => ({ event: 'signing-keys-changed', step: 'revoke', kids: expect.arrayContaining([kid]) }),
  ],
]

test('a command that changes something emits one event, which names the operator, and a dry run or a repetition emits none', async () => {
  const targets = await createTargets()
  const fillIn = (command: string) =>
    command
      .replace('CLIENT', targets.client_id)
      .replace('CLAIM', targets.registration_id)
      .replace('KID', targets.kid)
  for (const [command, createEvent] of COMMANDS) {
    // `claims revoke` has no dry run, and stop.contract.ts tests that of `stop --all-tokens`.
    if (!/^(claims|stop --all)/.test(command)) {
      const dryRun = await run(`${fillIn(command)} --dry-run`)
      expect([command, dryRun.code, dryRun.events]).toEqual([command, 0, []])
    }
    const result = await run(fillIn(command))
    const expectedEvent = { ...createEvent(targets), ...OPERATOR }
    expect([command, result.code, result.events]).toEqual([command, 0, [expectedEvent]])
  }
  for (const repeatedCommand of ['agents delete CLIENT', 'claims revoke CLAIM', 'agents enable CLIENT'])
    expect(await run(fillIn(repeatedCommand))).toMatchObject({ code: 1, events: [] })
  expect(await run(fillIn('keys revoke KID --reason x'))).toMatchObject({ code: 0, events: [] })
})

test('`keys rewrap` emits one event, and none in a dry run or when it is repeated', async () => {
  // No instance runs on this testbed: the command is refused until every running instance has the new key-encryption key.
  await using testbed = await openAuthTestbed()
  const instanceSettings: Record<string, string> = {
    ...(await testbed.createSettings(ORIGIN)),
    ...SHORT_INTERVALS,
  }
  const currentKeys = await readFile(instanceSettings['AUTH_KEK_FILE'] ?? '', 'utf8')
  const AUTH_KEK_FILE = `${instanceSettings['AUTH_KEK_FILE']}-of-commands`
  await writeFile(AUTH_KEK_FILE, `${generateKeyEncryptionKey()}\n${currentKeys}`)
  const rewrap = (...options: string[]) =>
    run(['keys rewrap --json', ...options].join(' '), { ...instanceSettings, AUTH_KEK_FILE })
  expect((await rewrap('--dry-run')).events).toEqual([])
  const result = await rewrap()
  const { keys: kids } = JSON.parse(result.printed) as { keys: string[] }
  expect(kids.length).toBeGreaterThan(0)
  expect(result.events).toEqual([{ event: 'signing-keys-changed', step: 'rewrap', kids, ...OPERATOR }])
  expect((await rewrap()).events).toEqual([])
})

/**
 * The commands that emit events. The `keys` commands listed here emit them in two methods of the key store, so the tests
 * above run only some of them. `agents refresh` and the commands of `grants`, `resource-servers` and `replay` are tested in
 * url-client-commands.test.ts, grants-command.integration.test.ts, resource-servers.test.ts and replay.test.ts. No test checks
 * the events of `restore`. They come from the same stores as those of `stop`, `replay` and `keys`.
 */
const EMITTING_COMMANDS = [
  ...['init', 'generate', 'publish', 'activate', 'retire', 'rotate', 'revoke', 'rewrap'].map(
    (step) => `keys ${step}`,
  ),
  'agents disable',
  'agents enable',
  'agents delete',
  'agents block',
  'agents refresh',
  'agents unblock',
  'claims revoke',
  'grants revoke',
  'grants revoke-host',
  'resource-servers rotate',
  'resource-servers finish',
  'stop',
  'replay',
  'restore',
]
/**
 * The commands that emit no event of their own. None of them makes a client, verification, key or token valid or invalid.
 * `resource-servers create` writes a secret that no server knows yet.
 */
const SILENT_COMMANDS = [
  'serve',
  'migrate',
  'backup',
  'config check',
  'config list',
  'keys list',
  'keys verify',
  'keys audit',
  'stops',
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
]

test('every command is in one of two lists: commands that emit events, and commands that emit none of their own', async () => {
  const listCommands = async (group: string) => {
    const [, commands = ''] = (await run(`${group} --help`.trim())).printed.split('Commands:\n')
    return Array.from(commands.matchAll(/^ {2}([a-z-]+)/gm), ([, name = '']) => name).filter(
      (name) => name !== 'help',
    )
  }
  const allCommands: string[] = []
  for (const group of await listCommands('')) {
    const subcommands = await listCommands(group)
    if (subcommands.length === 0) allCommands.push(group)
    else allCommands.push(...subcommands.map((name) => `${group} ${name}`))
  }
  expect(allCommands.toSorted()).toEqual([...EMITTING_COMMANDS, ...SILENT_COMMANDS].toSorted())
})
