import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type ConnectionOptions, connect, createServer } from 'node:tls'
import { loadConfig as loadAuthConfig } from '@plainpath/auth/config'
import { MIGRATIONS } from '@plainpath/auth/stores'
import { migrate, openPool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { loadConfig as loadResourceConfig } from '@plainpath/resource/config'
import { COMPOSE_ENV_FILES, createComposeSecrets } from '@plainpath/stack/compose-secrets'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPods } from './pods.ts'
import { readCompose, readInfra, readVariables } from './read-manifests.ts'

/** The error code of PostgreSQL for a missing privilege. */
const INSUFFICIENT_PRIVILEGE = '42501'

const resources = new AsyncDisposableStack()
let folder: string
let createdFiles: string[]
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-compose-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  createdFiles = await createComposeSecrets(folder, 'http://localhost:8080')
})
afterAll(() => resources.disposeAsync())

const readCreatedFile = (file: string) => readFileSync(path.join(folder, file), 'utf8')
/**
 * Reads an environment file with one line. Element 1 of the result is the variable, and element 2 its value. The result is empty
 * if the file has another form.
 */
const matchVariable = (file: string) => /^([A-Z_]+)=(.+)\n$/.exec(readCreatedFile(file)) ?? []

test('createComposeSecrets creates every file that compose.yaml names, in a folder that only its owner can enter', () => {
  const { services, secrets } = readCompose()
  const namedFiles = [
    ...Object.values(secrets).map(({ file }) => file),
    ...Object.values(services).flatMap((service) => service.env_file),
  ].map((file) => path.basename(file))
  const existingFiles = readdirSync(folder)
  expect(namedFiles.filter((file) => !existingFiles.includes(file))).toEqual([])
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  for (const [file, names] of Object.entries(COMPOSE_ENV_FILES))
    expect([matchVariable(file)[1]], file).toEqual(names)
})

test('createComposeSecrets returns the names of the files that it created', () => {
  expect(createdFiles).toEqual(expect.arrayContaining(['auth-kek', 'auth-database.env', 'redis.acl']))
})

test('createComposeSecrets changes nothing if it runs again', async () => {
  const filesBefore = readdirSync(folder).map((file) => [file, readCreatedFile(file)])
  expect(await createComposeSecrets(folder, 'http://localhost:8080')).toEqual([])
  expect(readdirSync(folder).map((file) => [file, readCreatedFile(file)])).toEqual(filesBefore)
})

test.for([
  ['auth-1', loadAuthConfig],
  ['auth-migrate', loadAuthConfig],
  ['auth-keys', loadAuthConfig],
  ['resource-1', loadResourceConfig],
] as const)('createComposeSecrets completes the configuration of %s', ([name, load]) => {
  const { services, secrets } = readCompose()
  const service = services[name]!
  const environment = Object.entries(service.environment).map(([variable, value]) => {
    const secret = /^\/run\/secrets\/(.+)$/.exec(value ?? '')?.[1]
    return [variable, secret ? path.join(folder, path.basename(secrets[secret]!.file)) : value] as const
  })
  const fromFiles = service.env_file.map((file) => {
    const [, variable = '', value = ''] = matchVariable(path.basename(file))
    return [variable, value] as const
  })
  expect(() => load(Object.fromEntries([...environment, ...fromFiles]))).not.toThrow()
})

const LOAD_CONFIG = { auth: loadAuthConfig, resource: loadResourceConfig } as const
/** The files that each app has of its own. In the folder, which both apps share, their names begin with the app's name. */
const APP_FILES = ['kek', 'hash-key', 'client-secret']
const CONFIGURED_CONTAINERS = readPods().flatMap(({ name: pod, containers }) =>
  containers
    .filter(({ image, envFrom }) => image.startsWith('plainpath/') && envFrom.length > 0)
    .map((container) => ({ pod, container, name: container.name })),
)

test.for(CONFIGURED_CONTAINERS)(
  'createComposeSecrets, with a mail server, completes the configuration of $pod, container $name, on Kubernetes',
  ({ container }) => {
    const app = container.image === 'plainpath/auth' ? 'auth' : 'resource'
    const readSecret = (key: string): string => {
      if (key === 'smtp-url') return 'smtp://plainpath:password@mail.plainpath.example:587'
      const [file] = Object.entries(COMPOSE_ENV_FILES).find(
        ([, [variable]]) => variable === `${app}-${key}`.replaceAll('-', '_').toUpperCase(),
      )!
      return matchVariable(file)[2] ?? ''
    }
    const settings = Object.entries(readVariables(`kubernetes/base/${app}.env`)).map(([name, value]) => {
      const file = /^\/run\/plainpath\/(.+)$/.exec(value)?.[1]
      return [
        name,
        file ? path.join(folder, APP_FILES.includes(file) ? `${app}-${file}` : file) : value,
      ] as const
    })
    const secrets = container.env.map(({ name, valueFrom }) => [name, readSecret(valueFrom.secretKeyRef.key)])
    const environment = Object.fromEntries([...settings, ...secrets]) as Record<string, string>
    expect(() => LOAD_CONFIG[app](environment)).not.toThrow()
    // An https origin, as on Kubernetes, needs a mail server.
    const { [`${app.toUpperCase()}_SMTP_URL`]: _url, ...withoutMail } = environment
    expect(() => LOAD_CONFIG[app](withoutMail)).toThrow('_SMTP_URL')
  },
)

test('createComposeSecrets creates a certificate for the mail catcher that only clients that trust it accept', async () => {
  const key = readCreatedFile('mail-key.pem')
  const cert = readCreatedFile('mail-certificate.pem')
  const server = createServer({ key, cert }, (socket) => socket.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const tryConnect = async (options: ConnectionOptions) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'mail', ...options })
    try {
      await once(socket, 'secureConnect')
      return 'trusted'
    } catch (error) {
      return (error as { code?: string }).code
    } finally {
      socket.destroy()
    }
  }
  expect(await tryConnect({ ca: cert })).toBe('trusted')
  expect(await tryConnect({})).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
  expect(await tryConnect({ ca: cert, servername: 'other' })).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  server.close()
})

test('createComposeSecrets creates a password for the administrator of Grafana, which reads it from a file', () => {
  const { services, secrets } = readCompose()
  const grafana = services['grafana']!
  const file = grafana.environment['GF_SECURITY_ADMIN_PASSWORD__FILE'] ?? ''
  const secret = path.basename(file)
  expect(file).toBe(`/run/secrets/${secret}`)
  expect(grafana.secrets).toContain(secret)
  expect(grafana.environment).not.toHaveProperty('GF_SECURITY_ADMIN_PASSWORD')
  // Grafana's default is `Viewer`.
  expect(grafana.environment['GF_AUTH_ANONYMOUS_ORG_ROLE'] ?? 'Viewer').toBe('Viewer')
  expect(readCreatedFile(path.basename(secrets[secret]!.file))).toMatch(/^[\w-]{32}$/)
})

test('roles.sql creates an app role that can use the tables, but not alter them or connect to other databases', async () => {
  await using server = await openTestDatabase({ folder: MIGRATIONS, name: 'roles' })
  // The names begin with `plainpath_test_` and the id of the test run, like those of every database and role of the run.
  const prefix = `${server.name.split('_').slice(0, 3).join('_')}_sql_`
  const passwords = new Map(
    Array.from(readCreatedFile('role-passwords.psql').matchAll(/\\set (\S+) '(.+)'/g), ([, name, value]) => [
      name,
      value,
    ]),
  )
  expect([...passwords.keys()]).toEqual(['auth_owner', 'auth_app', 'resource_owner', 'resource_app'])
  const sql = readInfra('postgres/roles.sql')
    .replaceAll(/^--.*$/gm, '')
    .replaceAll(/:'(\w+)'/g, (_, name: string) => `'${passwords.get(name)}'`)
    .replaceAll(/plainpath_/g, prefix)
    // Other tests may share the server, so a database of this test, open to all roles, replaces the default databases.
    .replace('database postgres, template1', `database "${server.name}"`)
  const databaseUrl = (database: string) => server.adminUrl.replace(/\/[^/]+$/, `/${database}`)
  {
    await using admin = openPool(databaseUrl(server.name), { max: 1 })
    await admin.query(`grant connect, temporary on database "${server.name}" to public`)
  }
  // `\connect` is a command of psql, not SQL. Each section after one begins with the name of its database.
  const sections = sql.split(/^\\connect /m)
  for (const [index, section] of sections.entries()) {
    const [database = '', ...lines] = index === 0 ? [server.name, section] : section.split('\n')
    await using admin = openPool(databaseUrl(database), { max: 1 })
    for (const statement of lines
      .join('\n')
      .split(';')
      .map((each) => each.trim()))
      if (statement) await admin.query(statement)
  }
  /** Reads a database URL from an environment file, with the names and the server of this test. */
  const readTestUrl = (file: string, base: string) => {
    const url = new URL((matchVariable(file)[2] ?? '').replaceAll('plainpath_', prefix))
    const baseUrl = new URL(base)
    url.host = baseUrl.host
    url.search = baseUrl.search
    return url.href
  }
  const ownerUrl = readTestUrl('auth-owner.env', server.adminUrl)
  const appRole = `${prefix}auth_app`
  await expect(migrate({ url: ownerUrl, folder: MIGRATIONS, appRole })).resolves.toHaveProperty(
    'applied.length',
  )
  await using app = openPool(readTestUrl('auth-database.env', server.adminUrl), { max: 1 })
  const tryStatement = (text: string) =>
    app.query(text).then(
      () => 'done',
      (error: unknown) => (error as { code?: string }).code,
    )
  expect(await tryStatement('select from agents')).toBe('done')
  expect(await tryStatement('alter table agents add column more text')).toBe(INSUFFICIENT_PRIVILEGE)
  expect(await tryStatement('create table mine (id int)')).toBe(INSUFFICIENT_PRIVILEGE)
  for (const database of [`${prefix}resource`, server.name]) {
    const otherUrl = new URL(readTestUrl('auth-database.env', server.adminUrl))
    otherUrl.pathname = `/${database}`
    await using other = openPool(otherUrl.href, { max: 1 })
    await expect(other.query('select 1'), database).rejects.toMatchObject({
      code: INSUFFICIENT_PRIVILEGE,
    })
  }
})
