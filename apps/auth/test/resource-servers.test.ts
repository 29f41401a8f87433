import { chmod, copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hashSecret, toFingerprint } from '../src/resource-servers/resource-servers.ts'
import { ACCEPT_SIGNED, basicAuth, getToken, register } from './agent-client.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { ORIGIN, type RunningAuth, startInstance } from './start-auth.ts'
import { waitForCommandPolls } from './wait-for-command-polls.ts'

/** Lets instances report often, so that the commands need not wait for the default lease of 15 s. */
const SHORT_INTERVALS = { AUTH_KEYS_POLL_SECONDS: '0.2', AUTH_KEYS_LEASE_SECONDS: '2' }

let resources: AsyncDisposableStack
let testbed: AuthTestbed
let env: Record<string, string>
let folder: string
let serversFile: string
let secretFile: string
beforeEach(async () => {
  resources = new AsyncDisposableStack()
  testbed = resources.use(await openAuthTestbed())
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-credential-'))
  resources.defer(() => rm(folder, { recursive: true }))
  env = { ...(await testbed.createSettings(ORIGIN)), ...SHORT_INTERVALS }
  serversFile = env['AUTH_RESOURCE_SERVERS_FILE'] ?? ''
  secretFile = path.join(folder, 'client-secret')
  await writeFile(secretFile, `${testbed.secrets.rs_api}\n`, { mode: 0o600 })
})
afterEach(() => resources.disposeAsync())

const start = async () =>
  resources.use(
    await startInstance(testbed, { env: { ...SHORT_INTERVALS, AUTH_RESOURCE_SERVERS_FILE: serversFile } }),
  )
/** Runs a command of `auth resource-servers`. `FILE` in the arguments stands for the secret file. */
async function run(args: string) {
  const words = ['resource-servers', ...args.replace('FILE', secretFile).split(' ')]
  const { code, printed, errors } = await runAuth(words, env)
  const lines = errors.split('\n')
  const errorLines = lines.filter((line) => !line.startsWith('{'))
  return { code, printed, errors: errorLines.join('\n'), events: parseSecurityEvents(lines) }
}
const createSecurityEvent = (event: string, secret: string) => ({
  event,
  resource_server: 'rs_api',
  fingerprint: toFingerprint(hashSecret(secret)),
  by: 'operator',
  user: userInfo().username,
  host: hostname(),
})
const readSecret = async () => (await readFile(secretFile, 'utf8')).trim()
const readServersFile = () => readFile(serversFile, 'utf8')
/** Requests an introspection with this secret of the API, and returns the status of the response. */
async function getIntrospectionStatus(auth: RunningAuth, secret: string, token = `ppt_${'A'.repeat(43)}`) {
  const response = await send(auth.internalUrl, {
    method: 'POST',
    path: '/oauth/introspect',
    headers: { ...ACCEPT_SIGNED, ...basicAuth('rs_api', secret) },
    body: new URLSearchParams({ token }),
  })
  return response.status
}
const ROTATE = 'rotate rs_api --secret-file FILE --replace'
/** Makes a command give up soon. By default it waits for a lease and 10 s. */
const SHORT_TIMEOUT = '--timeout 0.5'

test('an instance accepts both secrets after rotate, and only the newer secret after finish', async () => {
  const [instance, otherInstance] = [await start(), await start()]
  const token = await getToken(instance, await register(instance))
  const oldSecret = testbed.secrets.rs_api
  const rotateResult = await run(ROTATE)
  const newSecret = await readSecret()
  expect(rotateResult).toMatchObject({
    code: 0,
    errors: '',
    events: [createSecurityEvent('api-secret-added', newSecret)],
  })
  expect(newSecret).toMatch(/^rss_[A-Za-z0-9_-]{43}$/)
  for (const text of [rotateResult.printed, await readServersFile(), ...instance.logged])
    expect(text).not.toContain(newSecret.slice('rss_'.length))
  for (const auth of [instance, otherInstance])
    expect([
      await getIntrospectionStatus(auth, oldSecret, token),
      await getIntrospectionStatus(auth, newSecret, token),
    ]).toEqual([200, 200])
  expect(await run('finish rs_api')).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/has been known for|was used .* s ago/),
    events: [],
  })
  await expect
    .poll(() => run('finish rs_api'))
    .toMatchObject({ code: 0, events: [createSecurityEvent('api-secret-ended', oldSecret)] })
  for (const auth of [instance, otherInstance])
    expect([
      await getIntrospectionStatus(auth, oldSecret, token),
      await getIntrospectionStatus(auth, newSecret, token),
    ]).toEqual([401, 200])
  expect(await run('finish rs_api')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('only one secret'),
  })
})

test('finish is refused while no API uses the newer secret, and removes that secret with --call-off', async () => {
  const instance = await start()
  const oldSecret = testbed.secrets.rs_api
  expect((await run(ROTATE)).code).toBe(0)
  const newSecret = await readSecret()
  await expect
    .poll(async () => (await run('finish rs_api --json')).printed)
    .toMatch(/^{"ok":false,"reason":"Nobody has used/)
  expect((await run('finish rs_api --call-off')).code).toBe(1)
  expect(await getIntrospectionStatus(instance, oldSecret)).toBe(200)
  await expect
    .poll(() => run('finish rs_api --call-off'))
    .toMatchObject({
      code: 0,
      printed: expect.stringContaining('If the file of the API has the removed secret'),
      events: [createSecurityEvent('api-secret-ended', newSecret)],
    })
  expect([
    await getIntrospectionStatus(instance, oldSecret),
    await getIntrospectionStatus(instance, newSecret),
  ]).toEqual([200, 401])
})

test('finish --call-off is refused once the newer secret was used, even if that was longer than a lease ago', async () => {
  const instance = await start()
  // Otherwise the older secret, which would remain, counts as unused.
  expect(await getIntrospectionStatus(instance, testbed.secrets.rs_api)).toBe(200)
  expect((await run(ROTATE)).code).toBe(0)
  const newSecret = await readSecret()
  expect(await getIntrospectionStatus(instance, newSecret)).toBe(200)
  const readLastUse = async () =>
    JSON.parse((await run('list --json')).printed).resource_servers[0].secrets[1].used_seconds_ago ?? 0
  await expect.poll(readLastUse, { timeout: 20_000 }).toBeGreaterThan(2)
  expect(await run('finish rs_api --call-off')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('cannot be called off'),
    events: [],
  })
  expect(await getIntrospectionStatus(instance, newSecret)).toBe(200)
})

describe('a rotation with --servers-file, which is for a served file that cannot be written,', () => {
  let copyPath: string
  let rotateArgs: string
  let finishArgs: string
  beforeEach(() => {
    copyPath = path.join(folder, 'copy.json')
    rotateArgs = `${ROTATE} --servers-file ${copyPath}`
    finishArgs = `finish rs_api --servers-file ${copyPath}`
  })
  const createAdvice = () => `Put ${copyPath} in place of ${serversFile}. Run the same command again.`

  test('continues each time after the copy replaces the served file', async () => {
    const instance = await start()
    const [oldSecret, servedText] = [testbed.secrets.rs_api, await readServersFile()]
    expect(await run(`${rotateArgs} --dry-run`)).toMatchObject({ code: 0 })
    await expect(stat(copyPath)).rejects.toThrow('ENOENT')
    const incomplete = await run(`${rotateArgs} ${SHORT_TIMEOUT}`)
    expect(incomplete).toMatchObject({ code: 1, errors: expect.stringContaining(createAdvice()) })
    expect(incomplete.events).toMatchObject([{ event: 'api-secret-added', copy: true }])
    expect([await readServersFile(), await readSecret()]).toEqual([servedText, oldSecret])
    await copyFile(copyPath, serversFile)
    expect(await run(rotateArgs)).toMatchObject({ code: 0, errors: '', events: [] })
    const newSecret = await readSecret()
    const bothStatuses = async () => [
      await getIntrospectionStatus(instance, oldSecret),
      await getIntrospectionStatus(instance, newSecret),
    ]
    const finishWith = async (options: string) => {
      expect(await bothStatuses()).toEqual([200, 200])
      return (await run(`${finishArgs}${options}`)).errors
    }
    await expect.poll(() => finishWith('')).toContain('after a leak, add --even-if-used')
    expect(await finishWith(` --even-if-used ${SHORT_TIMEOUT}`)).toContain(createAdvice())
    await copyFile(copyPath, serversFile)
    expect(await run(finishArgs)).toMatchObject({ code: 0, errors: '', events: [] })
    expect(await bothStatuses()).toEqual([401, 200])
  })

  test('does not report success before the copy replaces the served file, even if no instance runs', async () => {
    expect(await run(`${rotateArgs} ${SHORT_TIMEOUT}`)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(createAdvice()),
    })
    expect(await readSecret()).toBe(testbed.secrets.rs_api)
    await copyFile(copyPath, serversFile)
    expect((await run(rotateArgs)).code).toBe(0)
  })

  test('is not continued after another change of the served secrets', async () => {
    expect((await run(`${rotateArgs} ${SHORT_TIMEOUT}`)).code).toBe(1)
    const copyText = await readFile(copyPath, 'utf8')
    await rm(`${secretFile}.next`)
    expect((await run(`rotate rs_api --secret-file FILE-elsewhere`)).code).toBe(0)
    await expect(run(rotateArgs)).resolves.toMatchObject({
      code: 1,
      errors: expect.stringMatching(/was copied before other changes to .*Remove the copy, and start/),
    })
    expect(await readFile(copyPath, 'utf8')).toBe(copyText)
  })
})

test('finish can be repeated until the last instance has loaded the file', async () => {
  const otherFile = path.join(folder, 'mounted-elsewhere.json')
  await copyFile(serversFile, otherFile)
  const instance = resources.use(
    await startInstance(testbed, { env: { ...SHORT_INTERVALS, AUTH_RESOURCE_SERVERS_FILE: otherFile } }),
  )
  expect((await run(`${ROTATE} ${SHORT_TIMEOUT}`)).code).toBe(1)
  await copyFile(serversFile, otherFile)
  expect((await run(ROTATE)).code).toBe(0)
  const newSecret = await readSecret()
  const tryToFinish = async () => {
    expect(await getIntrospectionStatus(instance, newSecret)).toBe(200)
    return (await run(`finish rs_api ${SHORT_TIMEOUT}`)).errors
  }
  await expect
    .poll(tryToFinish)
    .toMatch(/these instances may still accept it: .*\. Run the same command again\.$/)
  const resumedFinish = run('finish rs_api')
  await waitForCommandPolls(testbed.db)
  await copyFile(serversFile, otherFile)
  expect(await resumedFinish).toMatchObject({ code: 0, errors: '' })
  expect(await getIntrospectionStatus(instance, testbed.secrets.rs_api)).toBe(401)
  expect((await run('finish rs_api')).errors).toContain('rs_api has only one secret')
})

test('rotate resumes, with the same secret, a rotation that was killed before it wrote the secret file', async () => {
  await start()
  const servers = JSON.parse(await readServersFile()) as { client_id: string; secrets: string[] }[]
  const pendingSecret = `rss_${'B'.repeat(43)}`
  // A rotation stores the new secret here, then adds its hash to the servers file, and finally replaces the secret file.
  await writeFile(`${secretFile}.next`, `${pendingSecret}\n`, { mode: 0o600 })
  for (const each of servers) if (each.client_id === 'rs_api') each.secrets.push(hashSecret(pendingSecret))
  await writeFile(serversFile, JSON.stringify(servers))
  const rotateResult = await run(`${ROTATE} --json`)
  expect(rotateResult.code).toBe(0)
  expect(JSON.parse(rotateResult.printed)).toMatchObject({ done: true, resumed: true })
  expect(await readSecret()).toBe(pendingSecret)
  await expect(stat(`${secretFile}.next`)).rejects.toThrow('ENOENT')
})

test('rotate starts anew after a rotation that was killed before it changed the servers file', async () => {
  await writeFile(`${secretFile}.next`, 'rss_of a rotation that came to nothing\n', { mode: 0o600 })
  expect((await run(ROTATE)).code).toBe(0)
  expect(await readSecret()).toMatch(/^rss_[A-Za-z0-9_-]{43}$/)
})

test('rotate keeps the modes of existing files, and creates a secret file that only its owner can read', async () => {
  await chmod(secretFile, 0o640)
  await chmod(serversFile, 0o644)
  expect((await run(ROTATE)).code).toBe(0)
  expect([(await stat(secretFile)).mode & 0o777, (await stat(serversFile)).mode & 0o777]).toEqual([
    0o640, 0o644,
  ])
  await run('rotate rs_other --secret-file FILE-other')
  expect((await stat(`${secretFile}-other`)).mode & 0o777).toBe(0o600)
})

describe('refuses, with exit code 1 unless the title says otherwise,', () => {
  test.for([
    ['a secret file that exists, without --replace', 'rotate rs_api --secret-file FILE', /already exists/],
    ['an unknown API', 'rotate rs_none --secret-file FILE --replace', /There is no resource server/],
    [
      'a missing folder',
      'rotate rs_api --secret-file FILE/none/x',
      /^A file cannot be read or written: .*\/none\/x\.next \(EN/,
    ],
    ['to finish without a rotation', 'finish rs_api', /rs_api has only one secret/],
    ['to cancel without a rotation', 'finish rs_api --call-off', /rs_api has only one secret/],
  ] as const)('%s, changing neither file', async ([, args, says]) => {
    const filesBefore = [await readSecret(), await readServersFile()]
    const refusal = await run(args)
    expect([refusal.code, refusal.printed]).toEqual([1, ''])
    expect(refusal.errors).toMatch(says)
    expect([await readSecret(), await readServersFile()]).toEqual(filesBefore)
  })

  test('a third secret', async () => {
    expect((await run(ROTATE)).code).toBe(0)
    expect(await run(ROTATE)).toMatchObject({ code: 1, errors: expect.stringContaining('has two secrets') })
  })

  test('to replace the secret of the API while an instance has not loaded the new file', async () => {
    const text = await readServersFile()
    const otherFile = path.join(folder, 'mounted-elsewhere.json')
    await writeFile(otherFile, text)
    resources.use(
      await startInstance(testbed, { env: { ...SHORT_INTERVALS, AUTH_RESOURCE_SERVERS_FILE: otherFile } }),
    )
    const refusal = await run(`${ROTATE} ${SHORT_TIMEOUT}`)
    expect(refusal).toMatchObject({
      code: 1,
      errors: expect.stringContaining('The API still uses the old secret.'),
    })
    expect(await readSecret()).toBe(testbed.secrets.rs_api)
    await writeFile(otherFile, await readServersFile())
    expect((await run(ROTATE)).code).toBe(0)
    expect(await readSecret()).not.toBe(testbed.secrets.rs_api)
  })

  test.for([
    'rotate rs_api',
    'rotate api --secret-file x',
    'finish',
    'list extra',
    'finish rs_api --call-off --even-if-used',
    'finish rs_api --timeout soon',
    'finish rs_api --timeout 3601',
  ])('invalid arguments, with exit code 2: %s', async (args) => {
    expect((await run(args)).code).toBe(2)
  })
})

test('a dry run of rotate changes nothing', async () => {
  const filesBefore = [await readSecret(), await readServersFile()]
  expect(await run(`${ROTATE} --dry-run`)).toMatchObject({
    code: 0,
    printed: expect.stringMatching(/^Would give/),
  })
  expect([await readSecret(), await readServersFile()]).toEqual(filesBefore)
})

test('list shows when each secret was first accepted and last used, and which instances are late, but no secret', async () => {
  const auth = await start()
  expect(await getIntrospectionStatus(auth, testbed.secrets.rs_api)).toBe(200)
  await run(ROTATE)
  const listJson = async () =>
    JSON.parse((await run('list --json')).printed) as {
      resource_servers: {
        client_id: string
        secrets: { used_seconds_ago: number | null }[]
        behind: string[]
      }[]
      instances: unknown[]
    }
  await expect
    .poll(async () =>
      (await listJson()).resource_servers[0]?.secrets.map((each) => each.used_seconds_ago !== null),
    )
    .toEqual([true, false])
  const list = await listJson()
  expect(list.resource_servers.map(({ client_id, behind }) => [client_id, behind])).toEqual([
    ['rs_api', []],
    ['rs_other', []],
  ])
  expect(list.instances).toHaveLength(1)
  const { printed } = await run('list')
  expect(printed).toMatch(
    /rs_api {2}https:\/\/plainpath\.example\/api {2}2 secrets\n {4}[\w-]{12} {2}first accepted .* s ago, last used .* s ago/,
  )
  for (const digest of (await readServersFile()).match(/sha256:[\w-]{43}/g) ?? [])
    expect(printed).not.toContain(digest)
})
