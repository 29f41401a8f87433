import { chmod, copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hashSecret, toFingerprint } from '../src/resource-servers/resource-servers.ts'
import { basic, getToken, register, SIGNED } from './agent-client.ts'
import { commandWaits } from './command-waits.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import { runAuth } from './run-auth.ts'
import { securityEventsIn } from './security-events-in.ts'
import { send } from './send.ts'
import { ORIGIN, type RunningAuth, startInstance } from './start-auth.ts'

const SHORT = { AUTH_KEYS_POLL_SECONDS: '0.2', AUTH_KEYS_LEASE_SECONDS: '2' }

let resources: AsyncDisposableStack
let stores: AuthStores
let env: Record<string, string>
let folder: string
let serversFile: string
let secretFile: string
beforeEach(async () => {
  resources = new AsyncDisposableStack()
  stores = resources.use(await openAuthStores())
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-credential-'))
  resources.defer(() => rm(folder, { recursive: true }))
  env = { ...(await stores.settingsFor(ORIGIN)), ...SHORT }
  serversFile = env['AUTH_RESOURCE_SERVERS_FILE'] ?? ''
  secretFile = path.join(folder, 'client-secret')
  await writeFile(secretFile, `${stores.secrets.rs_api}\n`, { mode: 0o600 })
})
afterEach(() => resources.disposeAsync())

const start = async () =>
  resources.use(await startInstance(stores, { env: { ...SHORT, AUTH_RESOURCE_SERVERS_FILE: serversFile } }))
async function run(args: string) {
  const words = ['resource-servers', ...args.replace('FILE', secretFile).split(' ')]
  const { code, printed, errors } = await runAuth(words, env)
  const lines = errors.split('\n')
  const errorLines = lines.filter((line) => !line.startsWith('{'))
  return { code, printed, errors: errorLines.join('\n'), events: securityEventsIn(lines) }
}
const securityEvent = (event: string, secret: string) => ({
  event,
  resource_server: 'rs_api',
  fingerprint: toFingerprint(hashSecret(secret)),
  by: 'operator',
  user: userInfo().username,
  host: hostname(),
})
const secretNow = async () => (await readFile(secretFile, 'utf8')).trim()
const textNow = () => readFile(serversFile, 'utf8')
async function introspects(auth: RunningAuth, secret: string, token = `ppt_${'A'.repeat(43)}`) {
  const response = await send(auth.internalUrl, {
    method: 'POST',
    path: '/oauth/introspect',
    headers: { ...SIGNED, ...basic('rs_api', secret) },
    body: new URLSearchParams({ token }),
  })
  return response.status
}
const ROTATE = 'rotate rs_api --secret-file FILE --replace'
/** A time-out for commands that must give up; by default they wait for a lease and 10 s. */
const SOON = '--timeout 0.5'

test('accepts both secrets after rotate, and only the newer after finish', async () => {
  const [one, two] = [await start(), await start()]
  const token = await getToken(one, await register(one))
  const old = stores.secrets.rs_api
  const rotated = await run(ROTATE)
  const next = await secretNow()
  expect(rotated).toMatchObject({ code: 0, errors: '', events: [securityEvent('api-secret-added', next)] })
  expect(next).toMatch(/^rss_[A-Za-z0-9_-]{43}$/)
  for (const text of [rotated.printed, await textNow(), ...one.logged])
    expect(text).not.toContain(next.slice(4))
  for (const auth of [one, two])
    expect([await introspects(auth, old, token), await introspects(auth, next, token)]).toEqual([200, 200])
  expect(await run('finish rs_api')).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/has been known for|was used .* s ago/),
    events: [],
  })
  await expect
    .poll(() => run('finish rs_api'))
    .toMatchObject({ code: 0, events: [securityEvent('api-secret-ended', old)] })
  for (const auth of [one, two])
    expect([await introspects(auth, old, token), await introspects(auth, next, token)]).toEqual([401, 200])
  expect(await run('finish rs_api')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('only one secret'),
  })
})

test('refuses finish while nobody uses the newer secret, and allows the rotation to be cancelled', async () => {
  const one = await start()
  const old = stores.secrets.rs_api
  expect((await run(ROTATE)).code).toBe(0)
  const next = await secretNow()
  await expect
    .poll(async () => (await run('finish rs_api --json')).printed)
    .toMatch(/^{"ok":false,"reason":"Nobody has used/)
  expect((await run('finish rs_api --call-off')).code).toBe(1)
  expect(await introspects(one, old)).toBe(200)
  await expect
    .poll(() => run('finish rs_api --call-off'))
    .toMatchObject({ code: 0, events: [securityEvent('api-secret-ended', next)] })
  expect([await introspects(one, old), await introspects(one, next)]).toEqual([200, 401])
})

describe('a rotation in a copy of the file, if the served file cannot be written,', () => {
  let copy: string
  let rotate: string
  let finish: string
  beforeEach(() => {
    copy = path.join(folder, 'copy.json')
    rotate = `${ROTATE} --servers-file ${copy}`
    finish = `finish rs_api --servers-file ${copy}`
  })
  const putInPlace = () => `Put ${copy} in place of ${serversFile}. Run the same command again.`

  test('continues after each time that the copy is put in place', async () => {
    const one = await start()
    const [old, served] = [stores.secrets.rs_api, await textNow()]
    expect(await run(`${rotate} --dry-run`)).toMatchObject({ code: 0 })
    await expect(stat(copy)).rejects.toThrow('ENOENT')
    const begun = await run(`${rotate} ${SOON}`)
    expect(begun).toMatchObject({ code: 1, errors: expect.stringContaining(putInPlace()) })
    expect(begun.events).toMatchObject([{ event: 'api-secret-added', copy: true }])
    expect([await textNow(), await secretNow()]).toEqual([served, old])
    await copyFile(copy, serversFile)
    expect(await run(rotate)).toMatchObject({ code: 0, errors: '', events: [] })
    const next = await secretNow()
    const uses = async () => [await introspects(one, old), await introspects(one, next)]
    const finishing = async (more: string) => {
      expect(await uses()).toEqual([200, 200])
      return (await run(`${finish}${more}`)).errors
    }
    await expect.poll(() => finishing('')).toContain('After a leak: --even-if-used')
    expect(await finishing(` --even-if-used ${SOON}`)).toContain(putInPlace())
    await copyFile(copy, serversFile)
    expect(await run(finish)).toMatchObject({ code: 0, errors: '', events: [] })
    expect(await uses()).toEqual([401, 200])
  })

  test('does not report success while no instance runs and the copy is not in place', async () => {
    expect(await run(`${rotate} ${SOON}`)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(putInPlace()),
    })
    expect(await secretNow()).toBe(stores.secrets.rs_api)
    await copyFile(copy, serversFile)
    expect((await run(rotate)).code).toBe(0)
  })

  test('is not continued after another change of the served secrets', async () => {
    expect((await run(`${rotate} ${SOON}`)).code).toBe(1)
    const begun = await readFile(copy, 'utf8')
    await rm(`${secretFile}.next`)
    expect((await run(`rotate rs_api --secret-file FILE-elsewhere`)).code).toBe(0)
    await expect(run(rotate)).resolves.toMatchObject({
      code: 1,
      errors: expect.stringMatching(/is a copy from before other changes of .*Remove it, and start again\.$/),
    })
    expect(await readFile(copy, 'utf8')).toBe(begun)
  })
})

test('finish resumes when an instance had not loaded the file', async () => {
  const elsewhere = path.join(folder, 'mounted-elsewhere.json')
  await copyFile(serversFile, elsewhere)
  const one = resources.use(
    await startInstance(stores, { env: { ...SHORT, AUTH_RESOURCE_SERVERS_FILE: elsewhere } }),
  )
  expect((await run(`${ROTATE} ${SOON}`)).code).toBe(1)
  await copyFile(serversFile, elsewhere)
  expect((await run(ROTATE)).code).toBe(0)
  const next = await secretNow()
  const finishing = async () => {
    expect(await introspects(one, next)).toBe(200)
    return (await run(`finish rs_api ${SOON}`)).errors
  }
  await expect.poll(finishing).toMatch(/may still be accepted by: .*\. Run the same command again\.$/)
  const resumed = run('finish rs_api')
  await commandWaits(stores.db)
  await copyFile(serversFile, elsewhere)
  expect(await resumed).toMatchObject({ code: 0, errors: '' })
  expect(await introspects(one, stores.secrets.rs_api)).toBe(401)
  expect((await run('finish rs_api')).errors).toContain('rs_api has only one secret')
})

test('resumes a rotation that was killed before it wrote the secret, with the same secret', async () => {
  await start()
  const servers = JSON.parse(await textNow()) as { client_id: string; secrets: string[] }[]
  const begun = `rss_${'B'.repeat(43)}`
  await writeFile(`${secretFile}.next`, `${begun}\n`, { mode: 0o600 })
  for (const each of servers) if (each.client_id === 'rs_api') each.secrets.push(hashSecret(begun))
  await writeFile(serversFile, JSON.stringify(servers))
  const resumed = await run(`${ROTATE} --json`)
  expect(resumed.code).toBe(0)
  expect(JSON.parse(resumed.printed)).toMatchObject({ done: true, resumed: true })
  expect(await secretNow()).toBe(begun)
  await expect(stat(`${secretFile}.next`)).rejects.toThrow('ENOENT')
})

test('restarts a rotation that was killed before it changed the file', async () => {
  await writeFile(`${secretFile}.next`, 'rss_of a rotation that came to nothing\n', { mode: 0o600 })
  expect((await run(ROTATE)).code).toBe(0)
  expect(await secretNow()).toMatch(/^rss_[A-Za-z0-9_-]{43}$/)
})

test('keeps the mode of files, and lets only the owner read a new secret', async () => {
  await chmod(secretFile, 0o640)
  await chmod(serversFile, 0o644)
  expect((await run(ROTATE)).code).toBe(0)
  expect([(await stat(secretFile)).mode & 0o777, (await stat(serversFile)).mode & 0o777]).toEqual([
    0o640, 0o644,
  ])
  await run('rotate rs_other --secret-file FILE-other')
  expect((await stat(`${secretFile}-other`)).mode & 0o777).toBe(0o600)
})

describe('is refused, exit code 1, and changes nothing:', () => {
  test.for([
    ['a secret file that is there', 'rotate rs_api --secret-file FILE', /is there already/],
    [
      'an API that is not in the file',
      'rotate rs_none --secret-file FILE --replace',
      /There is no resource server/,
    ],
    [
      'a folder that is not there',
      'rotate rs_api --secret-file FILE/none/x',
      /A file cannot be written \(EN/,
    ],
    ['nothing to finish', 'finish rs_api', /rs_api has only one secret/],
    ['nothing to call off', 'finish rs_api --call-off', /rs_api has only one secret/],
  ] as const)('%s', async ([, args, says]) => {
    const before = [await secretNow(), await textNow()]
    const refused = await run(args)
    expect([refused.code, refused.printed]).toEqual([1, ''])
    expect(refused.errors).toMatch(says)
    expect([await secretNow(), await textNow()]).toEqual(before)
  })

  test('a third secret', async () => {
    expect((await run(ROTATE)).code).toBe(0)
    expect(await run(ROTATE)).toMatchObject({ code: 1, errors: expect.stringContaining('has two secrets') })
  })

  test('an instance that cannot read its file, and the API keeps its secret', async () => {
    const text = await textNow()
    const elsewhere = path.join(folder, 'mounted-elsewhere.json')
    await writeFile(elsewhere, text)
    resources.use(await startInstance(stores, { env: { ...SHORT, AUTH_RESOURCE_SERVERS_FILE: elsewhere } }))
    const refused = await run(`${ROTATE} ${SOON}`)
    expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('The API keeps the old one.') })
    expect(await secretNow()).toBe(stores.secrets.rs_api)
    await writeFile(elsewhere, await textNow())
    expect((await run(ROTATE)).code).toBe(0)
    expect(await secretNow()).not.toBe(stores.secrets.rs_api)
  })

  test.for([
    ...['rotate rs_api', 'rotate api --secret-file x', 'finish', 'list extra'],
    'finish rs_api --call-off --even-if-used',
    ...['finish rs_api --timeout soon', 'finish rs_api --timeout 3601'],
  ])('wrong usage, exit code 2: %s', async (args) => {
    expect((await run(args)).code).toBe(2)
  })
})

test('changes nothing in a dry run', async () => {
  const before = [await secretNow(), await textNow()]
  expect(await run(`${ROTATE} --dry-run`)).toMatchObject({
    code: 0,
    printed: expect.stringMatching(/^Would give/),
  })
  expect([await secretNow(), await textNow()]).toEqual(before)
})

test('list shows the age of each secret and which instances accept it, but no secret', async () => {
  const auth = await start()
  expect(await introspects(auth, stores.secrets.rs_api)).toBe(200)
  await run(ROTATE)
  const json = async () =>
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
      (await json()).resource_servers[0]?.secrets.map((each) => each.used_seconds_ago !== null),
    )
    .toEqual([true, false])
  const listed = await json()
  expect(listed.resource_servers.map(({ client_id, behind }) => [client_id, behind])).toEqual([
    ['rs_api', []],
    ['rs_other', []],
  ])
  expect(listed.instances).toHaveLength(1)
  const { printed } = await run('list')
  expect(printed).toMatch(
    /rs_api {2}https:\/\/plainpath\.example\/api {2}2 secrets\n {4}[\w-]{12} {2}known since .* s ago, used .* s ago/,
  )
  for (const digest of (await textNow()).match(/sha256:[\w-]{43}/g) ?? [])
    expect(printed).not.toContain(digest)
})
